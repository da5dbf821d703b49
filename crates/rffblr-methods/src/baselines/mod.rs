//! Methods to compare RFF-BLR with, one file or folder each. They are reached by name through
//! [`method`](crate::method).

mod batches;
#[cfg(test)]
mod extremes;
mod fnn;
mod gorelm;
mod gp;
mod hi_vae;
mod mean;
mod mmr;
mod mtfl;
mod ridge;
mod sbelm;
mod scales;
pub(crate) mod stored;

pub use fnn::{Activation, Fnn};
pub use gorelm::GorElm;
pub use gp::GaussianProcess;
pub use hi_vae::{HiVae, Learning};
pub use mean::TrainingMean;
pub use mmr::Mmr;
pub use mtfl::Mtfl;
pub use ridge::Ridge;
pub use sbelm::{Layer, SbElm};

use rffblr::data::Dataset;
use rffblr::internals::{check_inputs, expect_count};
use rffblr::linalg::{Mat, MatRef};
use rffblr::{Error, Result};

/// Refuses what a method that needs complete, equally weighted, not too many rows cannot use.
fn require_complete(method: &'static str, data: &Dataset, most_rows: usize) -> Result<()> {
    require_observed(method, data)?;
    require_unweighted(method, data)?;
    require_few(method, data, most_rows)
}

/// Refuses missing target cells.
fn require_observed(method: &'static str, data: &Dataset) -> Result<()> {
    let targets = data.targets();
    if (0..targets.ncols()).any(|c| targets.col(c).iter().any(|y| y.is_nan())) {
        let problem = "it cannot use missing target cells; leave those rows out, or use a method that can: rffblr in \
                       all its forms, gor-elm, sb-elm, hi-vae, ridge, mean"
            .into();
        return Err(Error::Unsupported { method, problem });
    }
    Ok(())
}

/// Refuses row weights.
fn require_unweighted(method: &'static str, data: &Dataset) -> Result<()> {
    match data.weights() {
        None => Ok(()),
        Some(_) => {
            let problem = "it has no row weights; leave them out or use rffblr".into();
            Err(Error::Unsupported { method, problem })
        }
    }
}

/// Refuses more rows than a method can take.
fn require_few(method: &'static str, data: &Dataset, most_rows: usize) -> Result<()> {
    if data.rows() > most_rows {
        let problem = format!("{} rows are too many for it; it takes up to {most_rows}", data.rows());
        return Err(Error::Unsupported { method, problem });
    }
    Ok(())
}

/// Refuses inputs that are not finite or not those a model was fitted to.
fn check_question(inputs: MatRef<'_, f64>, names: &[String]) -> Result<()> {
    expect_count("the input table", "columns", inputs.ncols(), names.len())?;
    check_inputs(inputs, names)
}

/// Inputs after scaling, held within ±1e150: sums of products of such numbers do not overflow, and nothing so far out
/// says more than that it is far out.
fn within_reach(mut inputs: Mat<f64>) -> Mat<f64> {
    const FARTHEST: f64 = 1e150;
    for column in 0..inputs.ncols() {
        inputs.col_as_slice_mut(column).iter_mut().for_each(|x| *x = x.clamp(-FARTHEST, FARTHEST));
    }
    inputs
}
