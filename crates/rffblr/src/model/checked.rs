//! How well the recipe of a model does on rows it has not seen, kept with the model.

use super::{ErrorQuantiles, Model};
use crate::error::{Error, Result};
use crate::metrics::Check;

impl Model {
    /// Keeps the outcome of a check by refits, so that the model file and everything made from it can show it. Where it shows
    /// that intervals are too narrow ([`Check::wider`]), those of this model become wider.
    pub fn with_check(mut self, check: Check) -> Result<Model> {
        if !check.fits(self.target_names().len()) {
            let problem = "it has scores of another number of targets".into();
            return Err(Error::Foreign { what: "check", problem });
        }
        if !check.wider.is_empty() {
            self = self.with_error_quantiles(ErrorQuantiles::wider(&check.wider));
        }
        self.check = Some(check);
        Ok(self)
    }

    /// The outcome of a check by refits, if one is kept.
    pub fn check(&self) -> Option<&Check> {
        self.check.as_ref()
    }
}
