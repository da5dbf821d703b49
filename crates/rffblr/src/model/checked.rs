//! How well the recipe of a model does on rows it has not seen, kept with the model.

use super::Model;
use crate::error::{Error, Result};
use crate::metrics::Check;

impl Model {
    /// Keeps the outcome of a check by refits, so that the model file and everything made from it can show it.
    pub fn with_check(mut self, check: Check) -> Result<Model> {
        if !check.fits(self.target_names().len()) {
            let problem = "it has scores of another number of targets".into();
            return Err(Error::Foreign { what: "check", problem });
        }
        self.check = Some(check);
        Ok(self)
    }

    /// The outcome of a check by refits, if one is kept.
    pub fn check(&self) -> Option<&Check> {
        self.check.as_ref()
    }
}
