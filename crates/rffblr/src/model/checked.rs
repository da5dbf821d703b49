//! How well the recipe of a model does on rows it has not seen, kept with the model.

use super::{ErrorQuantiles, Model};
use crate::error::{Error, Result};
use crate::metrics::Check;
use std::sync::Arc;

impl Model {
    /// Keeps the outcome of a check, so that the model file and everything made from it can show it. Where it shows that
    /// intervals are too narrow ([`Check::wider`]), those of this model become wider; what an earlier check has made wider is
    /// undone.
    pub fn with_check(mut self, check: Check) -> Result<Model> {
        if !check.fits(self.target_names().len()) {
            let problem = "it has scores of another number of targets".into();
            return Err(Error::Foreign { what: "check", problem });
        }
        let before = self.check.as_ref().map_or(&[][..], |check| &check.wider);
        let kept = ErrorQuantiles::rewidened(self.error_quantiles.as_deref(), before, &check.wider);
        self.error_quantiles = kept.map(Arc::new);
        self.check = Some(check);
        Ok(self)
    }

    /// The outcome of a check by refits, if one is kept.
    pub fn check(&self) -> Option<&Check> {
        self.check.as_ref()
    }
}
