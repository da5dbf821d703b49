//! Python and JavaScript: the formula as a literal that both languages read, and the same program in each.

use crate::formula::Formula;
use crate::{ExportError, Result};
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, Write};

/// One file of the standard library of Python.
pub(crate) fn python(formula: &Formula) -> Result<String> {
    // Backslashes and quotes in names must not end the text.
    let about = formula.about.replace('\\', "\\\\").replace('"', "'");
    let program = include_str!("templates/model.py");
    Ok(format!("\"\"\"{about}\n\"\"\"\n\nMODEL = {}\n\n{program}", literal(formula)?))
}

/// One module.
pub(crate) fn javascript(formula: &Formula) -> Result<String> {
    let about = crate::commented(&formula.about, "//");
    Ok(format!("{about}\nconst MODEL = {};\n\n{}", literal(formula)?, include_str!("templates/model.mjs")))
}

/// The formula in JSON. It has numbers, texts, lists and objects, which are the same in both languages.
fn literal(formula: &Formula) -> Result<String> {
    let mut text = Vec::new();
    let wrong = |problem: String| ExportError::from(rffblr::Error::Json { what: "the formula", problem });
    let lines = &mut Serializer::with_formatter(&mut text, Lines::default());
    formula.serialize(lines).map_err(|problem| wrong(problem.to_string()))?;
    let text = String::from_utf8(text).map_err(|problem| wrong(problem.to_string()))?;
    // To JavaScript of old these two end a line, and Python's escapes are those of JSON.
    Ok(text.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029"))
}

/// Lists and objects within a list, and the fields of the whole, begin lines.
#[derive(Default)]
struct Lines {
    /// Of each list or object that is open, whether it is a list.
    open: Vec<bool>,
}

impl Lines {
    fn begin<W: ?Sized + Write>(&mut self, to: &mut W, list: bool) -> io::Result<()> {
        if self.open.last() == Some(&true) {
            to.write_all(b"\n")?;
        }
        self.open.push(list);
        to.write_all(if list { b"[" } else { b"{" })
    }

    fn end<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(if self.open.pop() == Some(true) { b"]" } else { b"}" })
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.begin(to, true)
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.begin(to, false)
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.end(to)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        to.write_all(if first { b"" } else { b", " })?;
        to.write_all(if self.open.len() == 1 { b"\n" } else { b"" })
    }
}
