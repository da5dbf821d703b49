//! Which rows are held out until the model of all others is scored on them: rows by chance, whole groups, or the last ones.

use crate::data::order::{group_hashes, order_of, times};
use crate::data::{EncodeError, Encoder, Present, Roles, Summary, row_hash};
use crate::error::Result;
use crate::metrics::SplitBy;
use crate::table::{DateOrder, Table, Values, date_text, excerpt, number_text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most rows of the sample that are held out.
pub(super) const HELD_OUT: usize = 20_000;
/// Of fewer rows, one in so many is held out.
const ONE_IN: usize = 10;
/// Keyed hashes that are tried: with few groups, or large ones, the share of the rows that is held out differs between them.
const KEYS: u64 = 16;

/// What tells the rows that are held out from the others, wherever a row is met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) enum Rule {
    /// None is.
    Nothing(NotHeld),
    /// Rows whose number has at most this hash. All of them are in the sample.
    Rows { largest: u64 },
    /// Groups whose name has at most this hash under this key.
    Groups { key: u64, largest: u64 },
    /// Rows from a time on.
    Times { from: f64, order: DateOrder },
}

/// Why no rows were held out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum NotHeld {
    /// That was not asked for.
    #[error("that was not asked for")]
    Unasked,
    /// There are too few rows.
    #[error("there is too little to split")]
    Few,
    /// All rows are of one group.
    #[error("all of them are of one group of {0}")]
    OneGroup(String),
    /// All rows have the same time.
    #[error("all of them are of one time by {0}")]
    OneTime(String),
    /// A target would not be known in any row that is learned from.
    #[error("none can be held out so that the others have a value of target {0}")]
    Target(String),
}

/// The rows of a sample that have a target, by their hashes, rising.
pub(super) struct Dealt {
    pub(super) table: Table,
    rows: Vec<(u64, usize)>,
    /// Number of each row of the sample among all rows.
    numbers: Vec<u64>,
}

impl Dealt {
    pub(super) fn new(summary: &Summary, encoder: &Encoder, seed: u64) -> Result<Dealt> {
        let (table, numbers) = summary.sample();
        let (known, _) = encoder.roles().observed_rows(&table)?;
        let mut rows: Vec<(u64, usize)> = known.iter().map(|&row| (row_hash(seed, numbers[row]), row)).collect();
        rows.sort_unstable();
        Ok(Dealt { table, rows, numbers })
    }

    /// What holds out about one row in ten, or `HELD_OUT` of the sample. Nothing if that is no row, all of them, or leaves a
    /// target without a value in the `most` rows that are learned from.
    pub(super) fn rule(&self, summary: &Summary, roles: &Roles, seed: u64, most: usize) -> Result<Rule> {
        let observed = roles.rows_of_targets(&self.table)?;
        let rule = self.rule_by(summary, roles, seed, &observed)?;
        let (held, learned) = self.split(&rule, roles, most)?;
        let is_lost =
            |rows: &Vec<usize>| !held.is_empty() && learned.iter().all(|row| rows.binary_search(row).is_err());
        Ok(match roles.targets.iter().zip(&observed).find(|(_, rows)| is_lost(rows)) {
            Some((target, _)) => Rule::Nothing(NotHeld::Target(excerpt(target))),
            None => rule,
        })
    }

    fn rule_by(&self, summary: &Summary, roles: &Roles, seed: u64, observed: &[Vec<usize>]) -> Result<Rule> {
        let one_in_ten = usize::try_from(summary.rows()).unwrap_or(usize::MAX) / ONE_IN;
        let all = self.rows.len();
        match (&roles.group, &roles.time) {
            (Some(name), _) => {
                let hashes = |rows: &[usize]| self.placed(group_hashes(&self.table, name, rows));
                let of_targets: Vec<Vec<u64>> = observed.iter().map(|rows| hashes(rows)).collect::<Result<_>>()?;
                let rule = groups(&hashes(&self.known())?, &of_targets, HELD_OUT.min(all / ONE_IN), seed);
                Ok(rule.unwrap_or_else(|| Rule::Nothing(NotHeld::OneGroup(excerpt(name)))))
            }
            (None, Some(name)) => {
                let order = match summary.column(name).map(|column| &column.present) {
                    Some(Present::Texts(texts)) => order_of(texts.dates(), name, roles.dates)?,
                    _ => DateOrder::DayFirst,
                };
                let found = self.placed(times(&self.table, name, &self.known(), order))?;
                let rule = last(found, HELD_OUT.min(all / ONE_IN), order);
                Ok(rule.unwrap_or_else(|| Rule::Nothing(NotHeld::OneTime(excerpt(name)))))
            }
            (None, None) => {
                let count = HELD_OUT.min(one_in_ten).min(all / 2);
                let largest = self.rows[..count].last().map(|(hash, _)| *hash);
                Ok(largest.map_or(Rule::Nothing(NotHeld::Few), |largest| Rule::Rows { largest }))
            }
        }
    }

    /// The rows of the sample that are held out, and of the others those with the smallest hashes, so many; both rising.
    pub(super) fn split(&self, rule: &Rule, roles: &Roles, most: usize) -> Result<(Vec<usize>, Vec<usize>)> {
        let known = self.known();
        let is_held: Vec<bool> = match rule {
            Rule::Rows { largest } => self.rows.iter().map(|(hash, _)| hash <= largest).collect(),
            _ => self.placed(rule.are_held(roles, &self.table, &known))?,
        };
        let of = |held: bool, most: usize| {
            let chosen = known.iter().zip(&is_held).filter(|(_, is)| **is == held).take(most);
            let mut rows: Vec<usize> = chosen.map(|(row, _)| *row).collect();
            rows.sort_unstable();
            rows
        };
        Ok((of(true, usize::MAX), of(false, most)))
    }

    fn known(&self) -> Vec<usize> {
        self.rows.iter().map(|(_, row)| *row).collect()
    }

    /// An error about a row of the sample as one about that row of all.
    fn placed<T>(&self, found: std::result::Result<T, EncodeError>) -> Result<T> {
        found.map_err(|mut problem| {
            if let Some(row) = problem.row() {
                *row = self.numbers.get(row.saturating_sub(1)).map_or(*row, |number| *number as usize + 1);
            }
            problem.into()
        })
    }
}

/// The rule that holds out about so many of the rows whose groups have these hashes; none for a single group. Of the groups in
/// which a target is known, one at least is left where that can be.
fn groups(hashes: &[u64], of_targets: &[Vec<u64>], wanted: usize, seed: u64) -> Option<Rule> {
    let mut sizes: BTreeMap<u64, usize> = BTreeMap::new();
    hashes.iter().for_each(|&hash| *sizes.entry(hash).or_default() += 1);
    let mut best: Option<((bool, usize), Rule)> = None;
    for key in (0..KEYS).map(|k| row_hash(seed, u64::MAX - k)) {
        let mut order: Vec<(u64, usize)> = sizes.iter().map(|(&hash, &size)| (row_hash(key, hash), size)).collect();
        order.sort_unstable();
        order.pop();
        // From here on a target would be known in groups alone that are held out.
        let lost = of_targets.iter().filter_map(|of| of.iter().map(|&hash| row_hash(key, hash)).max()).min();
        let mut held = 0;
        for (largest, size) in order {
            held += size;
            let cost = (lost.is_some_and(|lost| largest >= lost), held.abs_diff(wanted));
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, Rule::Groups { key, largest }));
            }
            if held > wanted {
                break;
            }
        }
    }
    best.map(|(_, rule)| rule)
}

/// The rule that holds out the last of rows with these times: at most so many, as rows of one time stay together, or those of
/// the last time. None if there is only one time.
fn last(mut times: Vec<f64>, wanted: usize, order: DateOrder) -> Option<Rule> {
    times.sort_unstable_by(|a, b| b.total_cmp(a));
    let (&latest, &first) = (times.first()?, times.last()?);
    if latest == first {
        return None;
    }
    // The time before which a cut holds out no more than are wanted.
    let limit = times.get(wanted).copied().unwrap_or(first);
    let from = times.iter().copied().take_while(|time| *time > limit).last().unwrap_or(latest);
    Some(Rule::Times { from, order })
}

impl Rule {
    /// Whether rows that are held out are met only in the stream, and have to be added up apart from the others.
    pub(super) fn is_apart(&self) -> bool {
        matches!(self, Rule::Groups { .. } | Rule::Times { .. })
    }

    /// Whether each of these rows, which have a target, is held out by its group or time.
    pub(super) fn are_held(
        &self,
        roles: &Roles,
        table: &Table,
        rows: &[usize],
    ) -> std::result::Result<Vec<bool>, EncodeError> {
        match (self, &roles.group, &roles.time) {
            (Rule::Groups { key, largest }, Some(name), _) => {
                let hashes = group_hashes(table, name, rows)?;
                Ok(hashes.iter().map(|&hash| row_hash(*key, hash) <= *largest).collect())
            }
            (Rule::Times { from, order }, _, Some(name)) => {
                Ok(times(table, name, rows, *order)?.iter().map(|time| time >= from).collect())
            }
            _ => Ok(vec![false; rows.len()]),
        }
    }

    /// What the scores of some rows are worth, of which `all` were held out: the unit of each, and how they were chosen.
    pub(super) fn told(
        &self,
        roles: &Roles,
        dealt: &Dealt,
        rows: &[usize],
        (seed, all): (u64, u64),
    ) -> Result<(Vec<usize>, SplitBy)> {
        let all = usize::try_from(all).unwrap_or(usize::MAX);
        match (self, &roles.group, &roles.time) {
            (Rule::Groups { .. }, Some(name), _) => {
                let (units, groups) = ranks(dealt.placed(group_hashes(&dealt.table, name, rows))?);
                Ok((units, SplitBy::HeldOutGroups { column: name.clone(), seed, groups, of: all }))
            }
            (Rule::Times { from, order }, _, Some(name)) => {
                let found = dealt.placed(times(&dealt.table, name, rows, *order))?;
                let mut by_time: Vec<usize> = (0..rows.len()).collect();
                by_time.sort_by(|&a, &b| found[a].total_cmp(&found[b]));
                let mut units = vec![0; rows.len()];
                (0..).zip(&by_time).for_each(|(rank, &row)| units[row] = rank);
                let is_text = dealt.table.column(name).is_some_and(|c| matches!(c.values, Values::Text { .. }));
                let from = if is_text { date_text(*from) } else { number_text(*from) };
                Ok((units, SplitBy::HeldOutTime { column: name.clone(), from, of: all }))
            }
            _ => Ok(((0..rows.len()).collect(), SplitBy::HeldOut { seed })),
        }
    }
}

/// The place of each of some numbers among them, equal ones sharing theirs, and how many there are.
fn ranks(values: Vec<u64>) -> (Vec<usize>, usize) {
    let mut sorted = values.clone();
    sorted.sort_unstable();
    sorted.dedup();
    (values.iter().map(|value| sorted.partition_point(|other| other < value)).collect(), sorted.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share that is held out, by the definition of the rule.
    fn share(rule: &Rule, hashes: &[u64]) -> f64 {
        let Rule::Groups { key, largest } = rule else { panic!("{rule:?}") };
        hashes.iter().filter(|hash| row_hash(*key, **hash) <= *largest).count() as f64 / hashes.len() as f64
    }

    #[test]
    fn about_a_tenth_of_the_rows_is_held_out_in_whole_groups() {
        // 300 groups of 1 to 10 rows.
        let many: Vec<u64> = (0..300u64).flat_map(|g| vec![row_hash(9, g); 1 + (g % 10) as usize]).collect();
        // One group has six rows in ten, four have one each.
        let uneven: Vec<u64> = (0..1000u64).map(|n| row_hash(9, (n % 10).saturating_sub(5))).collect();
        for seed in 0..20 {
            let few = share(&groups(&many, &[], many.len() / 10, seed).unwrap(), &many);
            assert!((few - 0.1).abs() < 0.005, "{few}");
            assert_eq!(share(&groups(&uneven, &[], 100, seed).unwrap(), &uneven), 0.1);
            // A target that is known in two groups of the 300 alone: one of them is learned from.
            for pair in [[3, 8], [40, 41], [100, 299]].map(|pair| pair.map(|g| row_hash(9, g)).to_vec()) {
                let rule = groups(&many, std::slice::from_ref(&pair), many.len() / 10, seed).unwrap();
                assert!(share(&rule, &pair) < 1.0 && (share(&rule, &many) - 0.1).abs() < 0.01);
            }
        }
        let halves: Vec<u64> = (0..10).map(|n| n % 2).collect();
        assert_eq!(share(&groups(&halves, &[], 1, 4).unwrap(), &halves), 0.5);
        assert_eq!(groups(&[7; 10], &[], 1, 4), None);
        assert_eq!(groups(&[], &[], 0, 4), None);
    }

    #[test]
    fn the_last_rows_are_held_out_and_ties_stay_together() {
        let from = |times: &[f64], wanted| match last(times.to_vec(), wanted, DateOrder::DayFirst) {
            Some(Rule::Times { from, .. }) => Some(from),
            _ => None,
        };
        let days: Vec<f64> = (0..20).map(|n| f64::from(n * 7 % 20)).collect();
        assert_eq!(from(&days, 2), Some(18.0));
        assert_eq!(from(&days, 5), Some(15.0));
        // Of four rows with the time before, none; the last two alone.
        assert_eq!(from(&[1.0, 5.0, 5.0, 5.0, 5.0, 6.0, 6.0], 3), Some(6.0));
        assert_eq!(from(&[1.0, 5.0, 5.0, 5.0, 5.0, 6.0, 6.0], 6), Some(5.0));
        // More of the last time than were wanted, and nothing wanted.
        assert_eq!(from(&[1.0, 2.0, 6.0, 6.0, 6.0], 1), Some(6.0));
        assert_eq!(from(&[1.0, 2.0, 6.0], 0), Some(6.0));
        // Not even the first time is learned from otherwise.
        assert_eq!(from(&[1.0, 2.0], 9), Some(2.0));
        assert_eq!(from(&[3.0; 5], 2), None);
        assert_eq!(from(&[], 2), None);
    }
}
