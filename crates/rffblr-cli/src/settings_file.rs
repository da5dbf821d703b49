//! Settings in a TOML file.

use anyhow::{Context, Result};
use rffblr::Setting;
use std::collections::BTreeMap;

/// Names and texts of the settings in a TOML file; the error knows the line.
pub fn settings_of(text: &str) -> Result<BTreeMap<String, String>> {
    let file: BTreeMap<toml::Spanned<String>, toml::Value> = toml::from_str(text)?;
    let entry = |(name, value): (toml::Spanned<String>, toml::Value)| {
        let line = text[..name.span().start].matches('\n').count() + 1;
        let name = name.into_inner();
        let known = match name.as_str() {
            "preset" => "preset",
            name => Setting::named(name).with_context(|| format!("line {line}"))?.name,
        };
        let text =
            spelled(&value).with_context(|| format!("line {line}: what {name} is set to cannot be a setting"))?;
        Ok((known.to_string(), text))
    };
    file.into_iter().map(entry).collect()
}

/// A TOML value as a flag would have it.
fn spelled(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(truth) => Some(truth.to_string()),
        toml::Value::Array(values) => Some(values.iter().map(spelled).collect::<Option<Vec<_>>>()?.join(",")),
        toml::Value::Datetime(_) | toml::Value::Table(_) => None,
    }
}
