//! Whole groups, or the last rows, held out of a stream: two blocks and a part of a third, of which a sample knows one row in ten.

use super::super::{Accumulator, BLOCK, HeldRows, NotHeld, StreamFit, StreamPlan, Streamed};
use crate::data::{Encoder, MissingInputs, Roles, Summary};
use crate::metrics::SplitBy;
use crate::table::{Column, Table, Values};
use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};

const ROWS: usize = 2 * BLOCK + 4000;
const GROUPS: usize = 60;
const SEED: u64 = 5;

fn group(n: usize) -> usize {
    n * 7919 % GROUPS
}

/// A number of each group that looks random, which no curve through those of others predicts.
fn effect(group: usize) -> f64 {
    ((group * group + 3 * group) as f64 * 1.7).sin()
}

/// Days that do not come in order.
fn day(n: usize) -> usize {
    n * 31 % 400
}

/// The tag tells an animal from others; what is added to the target is `change`.
fn table(change: impl Fn(usize) -> f64) -> Table {
    let dose = |n: usize| ((n * 3) as f64 * 0.37).sin();
    let numeric = |name: &str, value: &dyn Fn(usize) -> f64| Column {
        name: name.to_owned(),
        values: Values::Numeric((0..ROWS).map(value).collect()),
    };
    let text = |name: &str, levels: Vec<String>, code: &dyn Fn(usize) -> usize| Column {
        name: name.to_owned(),
        values: Values::Text { levels, codes: (0..ROWS).map(|n| code(n) as u32).collect() },
    };
    let animals = (0..GROUPS).map(|group| format!("animal {group}")).collect();
    let days = (0..400).map(|day| crate::table::date_text(day as f64 * crate::table::DAY)).collect();
    let noise = |n: usize| 0.2 * ((n * 7907 % 1000) as f64 / 1000.0 - 0.5);
    Table::new(vec![
        text("animal", animals, &group),
        numeric("tag", &|n| ((group(n) * 37) % GROUPS) as f64 / GROUPS as f64),
        text("day", days, &day),
        numeric("dose", &dose),
        numeric("y", &|n| match n % 50 {
            7 => f64::NAN,
            _ => dose(n) + 2.0 * effect(group(n)) + noise(n) + change(n),
        }),
    ])
    .unwrap()
}

fn roles(group: Option<&str>, time: Option<&str>) -> Roles {
    let ignore = [("animal", group), ("day", time)].iter().map(|(name, _)| name.to_string()).collect();
    let [group, time] = [group, time].map(|name| name.map(String::from));
    Roles { group, time, ignore, ..Roles::of_targets(["y"]) }
}

fn with<T>(table: &Table, roles: &Roles, hold_out: bool, use_it: impl FnOnce(StreamFit<'_>) -> T) -> T {
    let mut summary = Summary::new(ROWS / 10, SEED);
    summary.add(table, 0).unwrap();
    let (encoder, _) = Encoder::learn_summary(&summary, roles, MissingInputs::Impute).unwrap();
    let (settings, observer) = (&super::settings(64), &|_: &_| ControlFlow::Continue(()));
    let (summary, encoder) = (&summary, &encoder);
    use_it(StreamFit { summary, seed: SEED, encoder, settings, hold_out, observer, resume: None })
}

fn stream(table: &Table, roles: &Roles) -> Streamed {
    with(table, roles, true, |fit| fit.fit(table, &mut |_, _| Ok(()))).unwrap()
}

fn r2(held: &HeldRows) -> f64 {
    let (truth, mean) = (held.predicted.truth.as_ref(), held.predicted.mean.as_ref());
    crate::metrics::task_r2(truth, mean).unwrap().overall
}

/// All rows whose number, from 0, is that of a row of this kind.
fn raised(is: impl Fn(usize) -> bool) -> impl Fn(usize) -> f64 {
    move |n| if is(n) { 1.0 } else { 0.0 }
}

#[test]
fn whole_groups_are_held_out_of_a_stream() {
    let (plain, by_animal) = (table(|_| 0.0), roles(Some("animal"), None));
    let alone = stream(&plain, &roles(None, None)).held_out.unwrap();
    let found = stream(&plain, &by_animal);
    let held = found.held_out.unwrap();
    // The tag gives an animal away where other rows of it are trained on.
    assert!(r2(&alone) > 0.5 && r2(&held) < 0.2, "{} {}", r2(&alone), r2(&held));
    assert_eq!(alone.split, SplitBy::HeldOut { seed: SEED });
    // Which animals these are shows in the standardised tag, which is as good as the name.
    let tag = |group: usize| ((group * 37) % GROUPS) as f64 / GROUPS as f64;
    let seen: BTreeSet<u64> = (0..held.inputs.nrows()).map(|i| held.inputs[(i, 0)].to_bits()).collect();
    let groups: Vec<usize> = (0..GROUPS).filter(|&group| seen.contains(&tag(group).to_bits())).collect();
    let is_held = |n: usize| groups.contains(&group(n));
    let all = (0..ROWS).filter(|&n| is_held(n) && n % 50 != 7).count();
    assert!((5..=7).contains(&groups.len()) && held.units.iter().max() == Some(&(groups.len() - 1)));
    assert_eq!(
        held.split,
        SplitBy::HeldOutGroups { column: "animal".into(), seed: SEED, groups: groups.len(), of: all }
    );
    // No row of them says anything about them, also none that the sample does not know.
    let moved = stream(&table(raised(is_held)), &by_animal);
    let after = moved.held_out.unwrap();
    assert_eq!((&held.predicted.mean, &held.predicted.std), (&after.predicted.mean, &after.predicted.std));
    assert_ne!(held.predicted.truth, after.predicted.truth);
    // The models have learned from all of them.
    assert_eq!(found.model.training_rows(), (0..ROWS).filter(|n| n % 50 != 7).count());
    assert_ne!(found.model.to_json().unwrap(), moved.model.to_json().unwrap());
    let x = held.inputs.as_ref();
    let (before, then) = (found.model.predict_mean(x).unwrap(), moved.model.predict_mean(x).unwrap());
    let mean = (0..x.nrows()).map(|i| then[(i, 0)] - before[(i, 0)]).sum::<f64>() / x.nrows() as f64;
    assert!(mean > 0.1, "{mean}");
}

#[test]
fn the_last_rows_are_held_out_of_a_stream() {
    let (plain, by_day) = (table(|_| 0.0), roles(None, Some("day")));
    let held = stream(&plain, &by_day).held_out.unwrap();
    let SplitBy::HeldOutTime { column, from, of } = &held.split else { panic!("{:?}", held.split) };
    let first = (0..400).find(|&day| crate::table::date_text(day as f64 * crate::table::DAY) == *from).unwrap();
    assert!(column == "day" && (355..=365).contains(&first), "{from}");
    let is_held = |n: usize| day(n) >= first;
    assert_eq!(*of, (0..ROWS).filter(|&n| is_held(n) && n % 50 != 7).count());
    // Scored are those of the sample, the time of each later than that of the unit before.
    let (mut summary, mut units) = (Summary::new(ROWS / 10, SEED), held.units.clone());
    summary.add(&plain, 0).unwrap();
    let scored: Vec<usize> =
        summary.sample().1.into_iter().map(|n| n as usize).filter(|&n| is_held(n) && n % 50 != 7).collect();
    assert_eq!(scored.len(), held.inputs.nrows());
    let mut days: Vec<(usize, usize)> = units.iter().copied().zip(scored.iter().map(|&n| day(n))).collect();
    days.sort_unstable();
    assert!(days.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    units.sort_unstable();
    assert!(units.into_iter().eq(0..scored.len()));
    // The future says nothing about itself.
    let moved = stream(&table(raised(is_held)), &by_day).held_out.unwrap();
    assert_eq!(held.predicted.mean, moved.predicted.mean);
    assert_ne!(held.predicted.truth, moved.predicted.truth);
}

/// Blocks that come in any order, in processes that know nothing of each other, and on any number of threads.
#[test]
fn neither_blocks_nor_threads_change_what_is_held_out() {
    let plain = table(|_| 0.0);
    for roles in [roles(Some("animal"), None), roles(None, Some("day"))] {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| stream(&plain, &roles))
        };
        let expected = on(1);
        let json = expected.model.to_json().unwrap();
        assert!(on(3).model.to_json().unwrap() == json);
        with(&plain, &roles, true, |fit| {
            let plan = fit.learn().unwrap();
            let plan = StreamPlan::from_json(&plan.to_json().unwrap()).unwrap();
            let rows = |number: usize| number * BLOCK..ROWS.min((number + 1) * BLOCK);
            let mut sums = plan.accumulator();
            for number in [2, 0, 1] {
                let (mut part, rows): (Accumulator, Range<usize>) = (plan.accumulator(), rows(number));
                plan.add(&mut part, number as u64, rows.start as u64, &plain, rows).unwrap();
                sums.merge(Accumulator::from_bytes(&part.to_bytes().unwrap()).unwrap()).unwrap();
            }
            let found = plan.finish(fit.summary, sums, 3).unwrap();
            assert!(found.model.to_json().unwrap() == json);
            let (found, expected) = (found.held_out.unwrap(), expected.held_out.as_ref().unwrap());
            assert_eq!((found.predicted.mean, found.split), (expected.predicted.mean.clone(), expected.split.clone()));
        });
    }
}

#[test]
fn a_fit_with_groups_goes_on_to_the_same_bits() {
    let (plain, roles) = (table(|_| 0.0), roles(Some("animal"), None));
    let mut kept = Vec::new();
    let mut watch = |_: u64, sums: &Accumulator| {
        kept.push(sums.to_bytes()?);
        Ok(())
    };
    let expected = with(&plain, &roles, true, |fit| fit.fit(&plain, &mut watch)).unwrap().model.to_json().unwrap();
    for bytes in kept {
        let resume = Some(Accumulator::from_bytes(&bytes).unwrap());
        let again = with(&plain, &roles, true, |fit| StreamFit { resume, ..fit }.fit(&plain, &mut |_, _| Ok(())));
        assert!(again.unwrap().model.to_json().unwrap() == expected);
    }
}

#[test]
fn where_nothing_can_be_held_out_nothing_is() {
    let plain = table(|_| 0.0);
    let roles = roles(Some("animal"), None);
    let unasked = with(&plain, &roles, false, |fit| fit.fit(&plain, &mut |_, _| Ok(()))).unwrap();
    assert_eq!(unasked.held_out.err(), Some(NotHeld::Unasked));
    let columns = plain.columns().iter().map(|column| match &column.values {
        Values::Text { levels, codes } if column.name == "animal" => Column {
            name: "animal".into(),
            values: Values::Text { levels: levels.clone(), codes: vec![3; codes.len()] },
        },
        _ => column.clone(),
    });
    let one = Table::new(columns.collect()).unwrap();
    assert_eq!(stream(&one, &roles).held_out.err(), Some(NotHeld::OneGroup("'animal'".into())));
}

/// A second target that is known in few rows.
fn with_rare(plain: &Table, is_known: impl Fn(usize) -> bool) -> Table {
    let value = |n: usize| if is_known(n) { (n as f64 * 0.3).sin() } else { f64::NAN };
    let rare = Column { name: "z".into(), values: Values::Numeric((0..ROWS).map(value).collect()) };
    Table::new(plain.columns().iter().cloned().chain([rare]).collect()).unwrap()
}

#[test]
fn no_target_is_lost_to_the_rows_that_are_held_out() {
    let plain = table(|_| 0.0);
    let of_both = |roles: Roles| Roles { targets: vec!["y".into(), "z".into()], ..roles };
    // Known in the last of 400 days alone.
    let late = with_rare(&plain, |n| day(n) >= 390);
    let by_day = of_both(roles(None, Some("day")));
    let found = stream(&late, &by_day);
    assert_eq!(found.held_out.err(), Some(NotHeld::Target("'z'".into())));
    assert_eq!(found.model.target_names(), ["y", "z"]);
    // The same rows, without an order.
    assert!(stream(&late, &of_both(roles(None, None))).held_out.is_ok());
    // Known for two animals out of those that would be held out.
    let by_animal = roles(Some("animal"), None);
    let held = stream(&plain, &by_animal).held_out.unwrap();
    let tag = |group: usize| ((group * 37) % GROUPS) as f64 / GROUPS as f64;
    let seen: BTreeSet<u64> = (0..held.inputs.nrows()).map(|i| held.inputs[(i, 0)].to_bits()).collect();
    let two: Vec<usize> = (0..GROUPS).filter(|&group| seen.contains(&tag(group).to_bits())).take(2).collect();
    let rare = with_rare(&plain, |n| two.contains(&group(n)));
    let held = stream(&rare, &of_both(by_animal)).held_out.unwrap();
    let truth = &held.predicted.truth;
    assert!((0..truth.nrows()).any(|n| !truth[(n, 0)].is_nan()));
    let of_rare: BTreeSet<u64> =
        (0..truth.nrows()).filter(|&n| !truth[(n, 1)].is_nan()).map(|n| held.inputs[(n, 0)].to_bits()).collect();
    assert!(of_rare.len() < 2);
}

/// The row that the sample has first is not the first of all.
#[test]
fn a_row_without_a_group_is_named_by_its_number() {
    let plain = table(|_| 0.0);
    let missing = |name: &str, from: usize| {
        let column = |column: &Column| match &column.values {
            Values::Text { levels, codes } if column.name == name => {
                let codes = codes.iter().enumerate().map(|(n, &code)| if n >= from { u32::MAX } else { code });
                Column { name: name.into(), values: Values::Text { levels: levels.clone(), codes: codes.collect() } }
            }
            _ => column.clone(),
        };
        Table::new(plain.columns().iter().map(column).collect()).unwrap()
    };
    for (name, roles) in [("animal", roles(Some("animal"), None)), ("day", roles(None, Some("day")))] {
        let table = missing(name, 60_000);
        let said = roles.expect_places(&table).unwrap_err().to_string();
        assert!(said.contains("data row 60001") && said.contains(name), "{said}");
        let fit = with(&table, &roles, true, |fit| fit.fit(&table, &mut |_, _| Ok(())).map(|_| ()));
        let said = fit.unwrap_err().to_string();
        let row: usize = said.split([' ', ',']).nth(2).unwrap().parse().unwrap();
        assert!(row > 60_000 && said.contains("is missing"), "{said}");
    }
}
