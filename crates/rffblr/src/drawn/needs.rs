//! Memory of the sums of a pass, asked for before it begins.

use super::accumulator::{Accumulator, BLOCK};
use crate::error::Result;
use crate::linalg::MatRef;
use crate::memory::{of_doubles, require};
use crate::words::plural;
use std::collections::BTreeSet;

/// What the sums of a group of tasks consist of.
struct Need {
    /// Features and the constant.
    columns: usize,
    /// Sets of sums: one for each pattern of observed tasks, or for each task where these are fewer.
    classes: usize,
    /// What is solved: one system for all tasks that are observed in the same rows.
    systems: usize,
}

/// The patterns of a sample's targets, restricted to some tasks; NaN is one that was not observed.
fn patterns(targets: MatRef<'_, f64>, tasks: &[usize]) -> BTreeSet<Vec<usize>> {
    let observed = |row: usize| tasks.iter().copied().filter(|&task| !targets[(row, task)].is_nan()).collect();
    let mut found: BTreeSet<Vec<usize>> = (0..targets.nrows()).map(observed).collect();
    found.remove([].as_slice());
    found
}

impl Need {
    fn new(columns: usize, tasks: &[usize], patterns: &BTreeSet<Vec<usize>>) -> Need {
        let rows_of = |task: &usize| patterns.iter().map(|pattern| pattern.contains(task)).collect::<Vec<bool>>();
        let systems = tasks.iter().map(rows_of).collect::<BTreeSet<_>>().len();
        let many = patterns.len() > tasks.len();
        let (classes, systems) = if many { (tasks.len(), tasks.len()) } else { (patterns.len(), systems) };
        Need { columns, classes, systems }
    }
}

/// Bytes of the sums over so many rows, twice of them if some rows are added apart, and of what they are solved in.
fn bytes(needs: &[Need], rows: u64, apart: bool) -> f64 {
    let blocks = rows.div_ceil(BLOCK as u64).max(1);
    // Of the tree one node for each level, and a block on its way.
    let nodes = f64::from(blocks.ilog2() + 2) * if apart { 2.0 } else { 1.0 };
    let of = |need: &Need| {
        let (classes, systems) = (need.classes as f64, need.systems as f64);
        // All nodes together; a system, at unit prior variance, and its factor.
        of_doubles(need.columns, need.columns) * (classes * (nodes + 1.0) + 3.0 * systems)
    };
    needs.iter().map(of).sum()
}

/// An error unless there is room for the sums over so many rows, in which targets are observed as in a sample.
pub(super) fn expect_room(sums: &Accumulator, targets: MatRef<'_, f64>, rows: u64, apart: bool) -> Result<()> {
    let groups: Vec<(usize, Vec<usize>)> = sums.groups().collect();
    let needs: Vec<Need> =
        groups.iter().map(|(columns, tasks)| Need::new(*columns, tasks, &patterns(targets, tasks))).collect();
    let classes = needs.iter().map(|need| need.classes).sum();
    let all = patterns(targets, &(0..targets.ncols()).collect::<Vec<_>>()).len();
    let (features, sets) = (sums.map().features(), plural(classes, "set of sums"));
    let what = format!(
        "a pass over {rows} rows with {features} features, {} of observed targets and so {sets},",
        plural(all, "pattern")
    );
    let remedy = "ask for fewer features, or fit targets that are missing in different rows to models of their own";
    Ok(require(bytes(&needs, rows, apart), what, remedy)?)
}

#[cfg(test)]
mod tests {
    use super::super::{Sums, tests::*};
    use super::*;
    use crate::device::Host;
    use crate::linalg::{Mat, Threads};

    /// As many classes and systems as sums over these rows have.
    #[test]
    fn sums_of_many_patterns_are_foreseen() {
        let gaps: [&dyn Fn(usize, usize) -> bool; 5] = [
            &|_, _| false,
            &|n, c| c == 2 && n % 4 == 1,
            // Tasks one and three are missing together.
            &|n, c| c % 2 == 1 && n % 3 == 0,
            &|n, c| (n >> c) & 1 == 1,
            &|n, c| n % 4 == c,
        ];
        for gap in gaps {
            let y = Mat::from_fn(60, 4, |n, c| if gap(n, c) { f64::NAN } else { (n * 3 + c) as f64 });
            let mut sums = Sums::new(5, 4);
            sums.add_features(&Mat::from_fn(60, 5, |i, j| ((i * 7 + j) as f64).sin()), &y, &[1.0; 60]);
            let tasks = [0, 1, 2, 3];
            let need = Need::new(5, &tasks, &patterns(y.as_ref(), &tasks));
            let systems = sums.systems(&Host(Threads::ONE)).len();
            assert_eq!((need.classes, need.systems), (sums.classes.len(), systems));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_numbers() {
        let data = data(200);
        let sums = summed(&learned(&data, 16), &data, 200, &[0]);
        expect_room(&sums, data.targets(), 1_000_000, true).unwrap();
        // 10⁶ features: 8·10¹² bytes for each of two sets.
        let tasks = [0, 1, 2];
        let need = || Need::new(1_000_000, &tasks, &patterns(data.targets(), &tasks));
        assert_eq!((need().classes, need().systems), (2, 2));
        // 31 blocks have five levels, and one is on its way.
        assert_eq!(bytes(&[need()], 1_000_000, false), 8e12 * (2.0 * 7.0 + 6.0));
        assert_eq!(bytes(&[need()], 1_000_000, true), 8e12 * (2.0 * 13.0 + 6.0));
        assert_eq!(bytes(&[need()], 1, false), 8e12 * (2.0 * 3.0 + 6.0));
    }
}
