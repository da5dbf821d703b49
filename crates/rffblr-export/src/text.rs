//! Texts as literals of several languages, and names that these take.

use std::collections::HashSet;

/// A literal of C, in UTF-8 and without the mark @.
pub(crate) fn c(text: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\\' | '?' => format!("\\{c}"),
        // Three digits: what follows cannot be taken for more of them.
        c if c.is_ascii_control() || c == '@' => format!("\\{:03o}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

/// A literal of SQL.
pub(crate) fn sql(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name of SQL, as it is written.
pub(crate) fn column(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Text of XML. What XML cannot hold becomes a question mark.
pub(crate) fn xml(text: &str) -> String {
    let escaped = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\t' | '\n' => c.to_string(),
        c if c.is_control() || ['\u{fffe}', '\u{ffff}'].contains(&c) => "?".to_owned(),
        c => c.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// Lines behind the mark of a comment.
pub(crate) fn commented(text: &str, mark: &str) -> String {
    let line = |line: &str| format!("{mark} {line}").trim_end().to_owned();
    text.lines().map(line).collect::<Vec<String>>().join("\n")
}

/// A name on one line: nothing in it ends a comment.
pub(crate) fn on_one_line(name: &str) -> String {
    let breaks = |c: char| c.is_control() || ['\u{2028}', '\u{2029}'].contains(&c);
    name.chars().map(|c| if breaks(c) { ' ' } else { c }).collect()
}

/// A name made of ASCII letters, digits and underscores.
pub(crate) fn identifier(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    match name.chars().next() {
        Some(first) if !first.is_ascii_digit() => name,
        _ => format!("_{name}"),
    }
}

/// Names that are different from each other.
pub(crate) struct Names(HashSet<String>);

impl Names {
    /// None of these will be given.
    pub fn new(taken: &[&str]) -> Names {
        Names(taken.iter().map(|&name| name.to_owned()).collect())
    }

    /// An identifier that resembles a name.
    pub fn identifier(&mut self, name: &str) -> String {
        let plain = identifier(name);
        let numbered = (2..).map(|k| format!("{plain}_{k}"));
        let mut free = std::iter::once(plain.clone()).chain(numbered).filter(|name| !self.0.contains(name));
        // There is always one more number.
        let found = free.next().unwrap_or(plain);
        self.0.insert(found.clone());
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_ends_its_literal() {
        assert_eq!(c("a\"b\\c??/\u{1}2"), "\"a\\\"b\\\\c\\?\\?/\\0012\"");
        assert_eq!(c("a@b"), "\"a\\100b\"");
        assert_eq!(commented(&format!("a\n\n{}", on_one_line("b\r\nDROP")), "--"), "-- a\n--\n-- b  DROP");
        assert_eq!(sql("it's"), "'it''s'");
        assert_eq!(column("a\"b"), "\"a\"\"b\"");
        assert_eq!(xml("<a & \"b\">\u{1}"), "&lt;a &amp; &quot;b&quot;&gt;?");
    }

    #[test]
    fn identifiers_differ_and_are_no_keywords() {
        let mut names = Names::new(&["int"]);
        let found = ["int", "a b", "a-b", "2x", "", "größe"].map(|name| names.identifier(name));
        assert_eq!(found, ["int_2", "a_b", "a_b_2", "_2x", "_", "gr__e"]);
    }
}
