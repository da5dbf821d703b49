//! What methods have learned as JSON, so that it can be kept and need not be learned again. Tables of numbers are packed,
//! bit for bit.

use crate::method::Predictor;
use rffblr::fourier::Basis;
use rffblr::internals::{Cholesky, doubles, from_doubles};
use rffblr::linalg::{Mat, Threads};
use rffblr::{Error, Result};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

fn wrong(problem: serde_json::Error) -> Error {
    Error::Json { what: "what a method has learned", problem: problem.to_string() }
}

/// What a predictor is made of.
pub(crate) fn stored(predictor: &impl Serialize) -> Result<Value> {
    serde_json::to_value(predictor).map_err(wrong)
}

/// The predictor that is made of this.
pub(crate) fn restored<P: Predictor + DeserializeOwned + 'static>(state: Value) -> Result<Box<dyn Predictor>> {
    Ok(Box::new(serde_json::from_value::<P>(state).map_err(wrong)?))
}

/// Rows, columns and the numbers, column after column.
#[derive(Serialize, Deserialize)]
struct Packed(usize, usize, String);

pub(super) mod matrix {
    use super::*;

    pub(in crate::baselines) fn serialize<S: Serializer>(
        table: &Mat<f64>,
        to: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        let numbers = (0..table.ncols()).flat_map(|j| table.col_as_slice(j).iter().copied());
        Packed(table.nrows(), table.ncols(), doubles(numbers)).serialize(to)
    }

    pub(in crate::baselines) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> std::result::Result<Mat<f64>, D::Error> {
        let Packed(rows, columns, text) = Packed::deserialize(from)?;
        let numbers = from_doubles(&text).filter(|numbers| rows.checked_mul(columns) == Some(numbers.len()));
        let numbers = numbers.ok_or_else(|| D::Error::custom("a table has not as many numbers as it says"))?;
        Ok(Mat::from_fn(rows, columns, |i, j| numbers[j * rows + i]))
    }
}

/// The lower triangle in a square.
pub(super) mod cholesky {
    use super::*;

    pub(in crate::baselines) fn serialize<S: Serializer>(
        factor: &Cholesky,
        to: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        matrix::serialize(factor.lower(), to)
    }

    pub(in crate::baselines) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> std::result::Result<Cholesky, D::Error> {
        Ok(Cholesky::from_lower(matrix::deserialize(from)?, Threads::current()))
    }
}

/// A factor that need not be there.
pub(super) mod some_cholesky {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Some(#[serde(with = "cholesky")] Cholesky);

    pub(in crate::baselines) fn serialize<S: Serializer>(
        factor: &Option<Cholesky>,
        to: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        factor.clone().map(Some).serialize(to)
    }

    pub(in crate::baselines) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> std::result::Result<Option<Cholesky>, D::Error> {
        Ok(Option::<Some>::deserialize(from)?.map(|found| found.0))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Basis")]
pub(super) struct StoredBasis {
    #[serde(with = "matrix")]
    directions: Mat<f64>,
    offsets: Vec<f64>,
    amplitude: f64,
    links: Vec<usize>,
}
