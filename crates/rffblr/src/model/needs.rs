//! Memory that a fit takes, asked for before it begins.

use crate::data::Dataset;
use crate::drawn::{BATCH, features_for};
use crate::error::Result;
use crate::kernel::LEARNING_ROWS;
use crate::memory::{of_doubles, require};
use crate::settings::{Form, Settings};

/// Bytes that kernel, factor and inverse of so many rows take, or the search for the kernel, which has eight matrices of its rows.
pub(crate) fn exact_bytes(rows: usize) -> f64 {
    let square = |size: usize| of_doubles(size, size);
    (10.0 * square(rows.min(LEARNING_ROWS))).max(5.0 * square(rows))
}

/// Bytes that a fit will have in use at once, about and rather more than less, beside the data themselves.
pub fn memory_of_fit(data: &Dataset, settings: &Settings) -> f64 {
    let (rows, inputs, tasks) = (data.rows(), data.inputs().ncols(), data.targets().ncols());
    let settings = settings.for_rows(rows);
    // Standardised, a part of the rows, and what a block of them is multiplied by.
    let tables = 3.0 * of_doubles(rows, inputs) + 6.0 * of_doubles(rows, tasks);
    let square = |size: usize| of_doubles(size, size);
    let kernel = exact_bytes(rows);
    tables
        + match &settings.form {
            Form::Automatic | Form::Kernel => kernel,
            Form::Sinusoids { .. } => kernel + 4.0 * square(rows),
            // Features of blocks of rows and their derivatives, which are fewer rows than a batch; sums, factors and inverses of
            // the features.
            Form::Drawn { features, effort, .. } => {
                let features = features.unwrap_or_else(|| features_for(rows as f64, 1, *effort));
                10.0 * square(rows.min(LEARNING_ROWS))
                    + 4.0 * of_doubles(rows.min(BATCH.0), features)
                    + 8.0 * square(features)
            }
            Form::Cosines(cosines) => {
                let features = cosines.feature_count(data.effective_rows()).saturating_add(inputs);
                let smaller = square(rows.min(features));
                3.0 * of_doubles(rows, features) + 6.0 * smaller
            }
        }
}

/// An error if a fit needs more memory than there is.
pub(crate) fn expect_memory(data: &Dataset, settings: &Settings) -> Result<()> {
    let (rows, inputs) = (data.rows(), data.inputs().ncols());
    let remedy = match settings.for_rows(rows).form {
        Form::Drawn { .. } | Form::Cosines(_) => "fewer features need less, by their square, and so do fewer rows",
        _ => "a sample of the rows needs less, by its square, and so does preset cosines",
    };
    Ok(require(memory_of_fit(data, settings), format!("a fit to {rows} rows and {inputs} inputs"), remedy)?)
}
