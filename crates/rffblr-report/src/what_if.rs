//! What the what-if panel computes with: the model file, as far as there is room for it.

use super::page::{json, with_field};
use rffblr::internals::file_value;
use rffblr::{Form, Model, Result};
use serde::Serialize;
use serde_json::Value;

/// Most rows whose factor a browser computes without making its user wait.
const INTERVAL_ROWS: usize = 1500;

/// What the panel computes with, or why there is none.
#[derive(Serialize)]
pub(super) struct WhatIf {
    /// The model file, whose formula the page evaluates, as JSON.
    #[serde(skip)]
    pub file: Option<String>,
    /// Why the panel is left out, or its intervals.
    pub absent: Option<String>,
    pub intervals: bool,
}

impl WhatIf {
    fn without(why: &str) -> WhatIf {
        WhatIf { file: None, absent: Some(why.into()), intervals: false }
    }

    /// With the formula, if it takes at most so many bytes.
    pub(super) fn new(model: &Model, row_data: bool, room: usize) -> Result<WhatIf> {
        let kernel = model.settings().form == Form::Kernel;
        if kernel && !row_data {
            return Ok(WhatIf::without(
                "this model is a kernel machine: its formula is made of the inputs of its training rows, and this report \
                 was asked to show no row; a model of sinusoids (sparsity) has a formula without them",
            ));
        }
        if matches!(model.settings().form, Form::Drawn { .. }) {
            return Ok(WhatIf::without(
                "cosines drawn from a learned kernel are too many for this page; a prediction from the model file \
                 evaluates them",
            ));
        }
        let mut value = file_value(model)?;
        value["training"]["trace"] = Value::Null;
        if let Some(fields) = value.as_object_mut() {
            fields.remove("check");
        }
        let mut absent = None;
        if kernel && model.training_rows() > INTERVAL_ROWS {
            absent = Some(format!(
                "Intervals are left out: with more than {INTERVAL_ROWS} training rows a browser would take too long. \
                 A prediction from the model file has them."
            ));
        }
        let mut file = json(&value)?;
        if file.len() > room
            && let Some(shapes) = shapes_of(&mut value)
        {
            shapes.clear();
            file = json(&value)?;
            absent = Some(
                "Intervals are left out: the covariance of this many terms would make this file too large. A prediction \
                 from the model file has them."
                    .into(),
            );
        }
        if file.len() > room {
            return Ok(WhatIf::without(
                "the formula of this model is too long for this page, which would take more than five million bytes; a \
                 prediction from the model file evaluates it",
            ));
        }
        if let Some(absent) = absent.as_mut().filter(|_| model.transforms().iter().any(Option::is_some)) {
            *absent += " Of a transformed target the median is shown.";
        }
        Ok(WhatIf { intervals: absent.is_none(), file: Some(file), absent })
    }

    pub(super) fn json(&self) -> Result<String> {
        Ok(with_field(json(self)?, "file", self.file.as_deref().unwrap_or("null")))
    }
}

/// The covariances of a formula of cosines.
fn shapes_of(file: &mut Value) -> Option<&mut Vec<Value>> {
    let form = file["function"].as_object_mut()?.values_mut().next()?;
    form.pointer_mut("/waves/shapes")?.as_array_mut()
}
