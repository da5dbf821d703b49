//! What the weight of a row can mean.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Most rows that rows may stand for together: whole numbers are exact so far.
const MOST_REPEATS: f64 = 1e15;

/// An error about rows that count as so many if that is not one, or more than can be counted.
pub(crate) fn expect_repeats(rows: f64) -> Result<()> {
    match (1.0..=MOST_REPEATS).contains(&rows) {
        true => Ok(()),
        false => Err(Error::Weights(format!(
            "repeats are counts of rows and add up to {rows:e}, which must be 1 to {MOST_REPEATS:e}"
        ))),
    }
}

/// Weights of rows, or whatever stands for them, such as the name of their column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weights<T = Vec<f64>> {
    /// How precise a row is beside the others: the noise of a row of weight w has variance σ²/w. Only ratios count:
    /// weights are divided by the mean of those that are positive, so that σ, and with it every interval, is that of a
    /// row of average weight. Everything else of this kind may be given too, such as inverse probabilities.
    Relative(T),
    /// As how many rows a row counts: weight 2 means what writing the row twice means, exactly so where a model is
    /// learned from all rows (a kernel above 600 rows starts from a sample of them, above 1500 it ends there).
    Repeats(T),
}

impl<T> Weights<T> {
    /// What holds the weights.
    pub fn values(&self) -> &T {
        match self {
            Weights::Relative(values) | Weights::Repeats(values) => values,
        }
    }

    /// The same meaning, borrowed.
    pub fn as_ref(&self) -> Weights<&T> {
        match self {
            Weights::Relative(values) => Weights::Relative(values),
            Weights::Repeats(values) => Weights::Repeats(values),
        }
    }

    /// The same meaning for something made of what was there.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Weights<U> {
        match self {
            Weights::Relative(values) => Weights::Relative(make(values)),
            Weights::Repeats(values) => Weights::Repeats(make(values)),
        }
    }

    /// The meaning in a word: `relative` or `repeats`.
    pub fn meaning(&self) -> &'static str {
        match self {
            Weights::Relative(_) => "relative",
            Weights::Repeats(_) => "repeats",
        }
    }
}

impl Weights<()> {
    /// What a word means.
    pub fn named(word: &str) -> Option<Self> {
        [Weights::Relative(()), Weights::Repeats(())].into_iter().find(|weights| weights.meaning() == word)
    }
}

impl Weights {
    /// What a model sees. A factor of two on all relative weights gives the same bits, any other the same to rounding.
    pub(super) fn scaled(&self) -> Vec<f64> {
        let Weights::Relative(weights) = self else { return self.values().clone() };
        // Relative to the largest first, so that no sum overflows.
        let largest = weights.iter().fold(0.0f64, |most, w| most.max(*w));
        if largest == 0.0 {
            return weights.clone();
        }
        let shares: Vec<f64> = weights.iter().map(|w| w / largest).collect();
        let mean = shares.iter().sum::<f64>() / shares.iter().filter(|share| **share > 0.0).count() as f64;
        shares.iter().map(|share| share / mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_weights_have_mean_one_over_rows_of_weight() {
        let scaled = |weights: &[f64]| Weights::Relative(weights.to_vec()).scaled();
        assert_eq!(scaled(&[1.0, 0.0, 2.0, 3.0]), [0.5, 0.0, 1.0, 1.5]);
        assert_eq!(scaled(&[0.0, 0.0]), [0.0, 0.0]);
        // A sum of these would be infinite, a mean of those no number at all.
        assert_eq!(scaled(&[1.5e308, 1.5e308]), [1.0, 1.0]);
        assert_eq!(scaled(&[5e-324, 5e-324]), [1.0, 1.0]);
        let odd: Vec<f64> = (1..40).map(|n| (n as f64).sin().abs()).collect();
        for factor in [2.0, 0.125] {
            assert_eq!(scaled(&odd.iter().map(|w| factor * w).collect::<Vec<_>>()), scaled(&odd));
        }
        assert_eq!(Weights::Repeats(vec![1.0, 4.0]).scaled(), [1.0, 4.0]);
    }
}
