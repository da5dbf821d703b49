//! The page: a template and what is put into it.

use rffblr::{Error, Result};
use serde::Serialize;

/// The template as far as the facts, and what follows them, with everything else put in.
pub(super) fn around(title: &str) -> (String, String) {
    let fill = |name: &str| match name {
        "title" => escaped(title),
        "style" => include_str!("page/style.css").into(),
        "libraries" => [include_str!("page/vendor/d3.min.js"), include_str!("page/vendor/plot.min.js")].join("\n"),
        _ => [
            include_str!("page/formula.js"),
            include_str!("page/drawing.js"),
            include_str!("page/quality.js"),
            include_str!("page/relevance.js"),
            include_str!("page/curves.js"),
            include_str!("page/single.js"),
            include_str!("page/together.js"),
            include_str!("page/inside.js"),
            include_str!("page/scenario.js"),
            include_str!("page/what_if.js"),
            include_str!("page/page.js"),
        ]
        .concat(),
    };
    let template = include_str!("page/template.html");
    let (before, after) = template.split_once("{{facts}}").unwrap_or((template, ""));
    (filled(before, fill), filled(after, fill))
}

/// JSON as it can stand in a script element: only "<" could end that.
pub(super) fn json(value: &impl Serialize) -> Result<String> {
    let wrong = |problem: serde_json::Error| Error::Json { what: "the report", problem: problem.to_string() };
    Ok(serde_json::to_string(value).map_err(wrong)?.replace('<', "\\u003c"))
}

/// A JSON object, which has a field already, with one more.
pub(super) fn with_field(mut object: String, name: &str, value: &str) -> String {
    object.pop();
    object + ",\"" + name + "\":" + value + "}"
}

/// The template with each {{name}} replaced. What is put in is not looked at again.
pub(super) fn filled(template: &str, fill: impl Fn(&str) -> String) -> String {
    let mut parts = template.split("{{");
    let mut page = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
        page += &fill(name);
        page += rest;
    }
    page
}

/// Text as it can stand in HTML.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            other => out.push(other),
        }
    }
    out
}
