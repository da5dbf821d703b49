//! What a user may not expect of a table, and what looks as if it would mislead the scores.

use crate::table::excerpt;
use crate::words::plural;
use std::collections::BTreeMap;
use std::fmt;

/// One thing to know about a table; the same thing about many columns is one note.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// What it is about: front ends may add by which option of theirs to follow its advice.
    pub kind: NoteKind,
    /// The columns it is about.
    pub columns: Vec<String>,
    text: String,
}

/// What a note is about, in the order in which notes are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum NoteKind {
    /// How a file was read.
    File,
    /// Limits among numbers, taken as missing.
    Limits,
    /// Rows that say nothing about any target, left out.
    NoTarget,
    /// Columns that say which rows belong together.
    Order,
    /// Targets that are the same in all rows.
    ConstantTarget,
    /// Text that is nearly all numbers, or numbers with a sign or a unit.
    NearlyNumbers,
    /// Inputs without a value in any row, left out.
    Empty,
    /// Inputs that are the same in all rows, left out.
    Constant,
    /// Texts that are different in every row, left out.
    Identifier,
    /// Numbers with gaps, filled and marked.
    Filled,
    /// Numbers of which only the gaps count.
    Presence,
    /// Dates and times, taken as numbers.
    Dates,
    /// Texts, taken as levels.
    Levels,
    /// Numbers that count the rows.
    Index,
    /// Columns that look like the names of units with several rows each.
    Units,
    /// Columns that look like times.
    Time,
    /// Rows with the inputs of an earlier row.
    Repeated,
    /// Nearly as many columns as rows, because of texts with many levels.
    Wide,
    /// Numbers far from all others in several cells, which may stand for missing values.
    Placeholder,
    /// Targets most of whose variance is one row.
    OneRow,
    /// Targets that a single input predicts nearly perfectly.
    Leak,
    /// At prediction: levels that training did not have.
    NewLevels,
    /// At prediction: gaps where training had none.
    NewGaps,
    /// At prediction: columns without a use.
    Unknown,
}

impl Note {
    /// Whether it casts doubt on scores or on what was learned, rather than say what was done.
    pub fn is_warning(&self) -> bool {
        use NoteKind::*;
        matches!(self.kind, Index | Units | Time | Repeated | Wide | Placeholder | OneRow | Leak)
    }

    /// A note about the table as a whole.
    #[doc(hidden)]
    pub fn new(kind: NoteKind, columns: Vec<String>, text: String) -> Note {
        Note { kind, columns, text }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Notes about columns, before those of one kind are put together.
#[derive(Default)]
pub(super) struct Notes(BTreeMap<NoteKind, Vec<(String, String)>>);

impl Notes {
    /// Takes note of a column; details as the sentences below have them.
    pub(super) fn add(&mut self, kind: NoteKind, column: &str, detail: impl Into<String>) {
        self.0.entry(kind).or_default().push((column.to_owned(), detail.into()));
    }

    /// A note for each kind.
    pub(super) fn told(self) -> Vec<Note> {
        let note = |(kind, about): (NoteKind, Vec<(String, String)>)| {
            let text = match &about[..] {
                [(column, detail)] => kind.of_one(&excerpt(column), detail),
                _ => kind.of_many(&about),
            };
            Note { kind, columns: about.into_iter().map(|(column, _)| column).collect(), text }
        };
        self.0.into_iter().map(note).collect()
    }
}

const HOLD_OUT_UNITS: &str = "rows of one unit are similar, so that scores mean little unless whole units are held out";
const HOLD_OUT_FUTURE: &str =
    "if the rows to predict are later ones, scores mean little unless the latest rows are held out";

impl NoteKind {
    fn of_one(self, name: &str, detail: &str) -> String {
        match self {
            NoteKind::ConstantTarget => format!("target {name} never varies, so that its R² says nothing"),
            NoteKind::Empty => format!("column {name} has no value in any row and was left out"),
            NoteKind::Constant => format!("column {name} is the same in all rows and was left out"),
            NoteKind::Identifier => format!("column {name} is different in every row and was left out"),
            NoteKind::Filled => format!("column {name}: {detail} and marked"),
            NoteKind::Presence => format!("column {name}: the same wherever present; only its {detail} count"),
            NoteKind::Dates => format!("column {name}: dates, taken as {detail}"),
            NoteKind::Index => format!("column {name} counts the rows; leave it out unless their order matters"),
            NoteKind::Units => format!("column {name} looks like the name of {detail}; {HOLD_OUT_UNITS}"),
            NoteKind::Time => format!("column {name} looks like a time{detail}; {HOLD_OUT_FUTURE}"),
            NoteKind::Placeholder => format!(
                "column {name}: {detail} stands in several cells, far from all other numbers; if it means that there is no value, \
                 leave these cells empty"
            ),
            NoteKind::OneRow => format!("{detail}: its R² says little"),
            NoteKind::Leak => {
                format!("{detail}: too well to be true, unless that input is known before the target is")
            }
            NoteKind::NewGaps => format!("column {name}: {detail}; training had none"),
            NoteKind::Unknown => format!("1 column not known to the model: {name}"),
            NoteKind::File
            | NoteKind::Limits
            | NoteKind::NearlyNumbers
            | NoteKind::NoTarget
            | NoteKind::Order
            | NoteKind::Levels
            | NoteKind::Repeated
            | NoteKind::Wide
            | NoteKind::NewLevels => {
                format!("column {name}: {detail}")
            }
        }
    }

    fn of_many(self, about: &[(String, String)]) -> String {
        let count = about.len();
        let every = || about.iter().map(|(name, _)| excerpt(name)).collect::<Vec<_>>().join(", ");
        let names = || listed(about.iter().map(|(name, _)| excerpt(name)));
        let details = || listed(about.iter().map(|(name, detail)| format!("{} ({detail})", excerpt(name))));
        match self {
            NoteKind::ConstantTarget => {
                format!("{count} targets never vary, so that their R² says nothing: {}", names())
            }
            NoteKind::Empty => format!("{count} columns have no value in any row and were left out: {}", every()),
            NoteKind::Constant => format!("{count} columns are the same in all rows and were left out: {}", names()),
            NoteKind::Identifier => {
                format!("{count} columns are different in every row and were left out: {}", names())
            }
            NoteKind::Filled => format!("gaps in {count} columns filled and marked: {}", details()),
            NoteKind::Presence => {
                format!("{count} columns are the same wherever present, so that only their gaps count: {}", details())
            }
            NoteKind::Dates => format!("{count} columns of dates: {}", details()),
            NoteKind::Levels => format!("{count} columns of text: {}", details()),
            NoteKind::Index => {
                format!("{count} columns count the rows; leave them out unless their order matters: {}", names())
            }
            NoteKind::Units => format!("{count} columns look like names of units: {}; {HOLD_OUT_UNITS}", details()),
            NoteKind::Time => format!("{count} columns look like times: {}; {HOLD_OUT_FUTURE}", names()),
            NoteKind::Placeholder => format!(
                "numbers far from all others, each in several cells of a column: {}; if they mean that there is no value, leave these \
                 cells empty",
                details()
            ),
            NoteKind::OneRow => format!(
                "one row is most of the variance of {count} targets, whose R² says little: {}",
                listed(about.iter().map(|(_, detail)| detail.clone()))
            ),
            NoteKind::Leak => format!(
                "too well to be true, unless those inputs are known before the targets are: {}",
                listed(about.iter().map(|(_, detail)| detail.clone()))
            ),
            NoteKind::NewLevels => {
                format!("{count} columns have levels that training did not have, taken as an unknown one: {}", names())
            }
            NoteKind::NewGaps => format!("gaps in {count} columns, where training had none: {}", details()),
            NoteKind::Unknown => format!("{count} columns not known to the model: {}", names()),
            NoteKind::File | NoteKind::Limits | NoteKind::NearlyNumbers | NoteKind::NoTarget | NoteKind::Order => {
                details()
            }
            NoteKind::Repeated | NoteKind::Wide => details(),
        }
    }
}

/// The first few of a list.
pub(super) fn listed(items: impl ExactSizeIterator<Item = String>) -> String {
    const SHOWN: usize = 5;
    let rest = items.len().saturating_sub(SHOWN);
    let shown = items.take(SHOWN).collect::<Vec<_>>().join(", ");
    if rest > 0 { format!("{shown} and {rest} more") } else { shown }
}

/// A number of missing cells.
pub(super) fn missing_cells(count: usize) -> String {
    plural(count, "missing cell")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forty_alike_are_one_line() {
        let mut notes = Notes::default();
        (0..40).for_each(|n| notes.add(NoteKind::Constant, &format!("c{n}"), ""));
        notes.add(NoteKind::Levels, "land", "4 levels");
        let told = notes.told();
        assert_eq!(told.len(), 2);
        let text = told[0].to_string();
        assert_eq!(
            text,
            "40 columns are the same in all rows and were left out: 'c0', 'c1', 'c2', 'c3', 'c4' and 35 more"
        );
        assert_eq!((told[0].kind, told[0].columns.len(), told[0].is_warning()), (NoteKind::Constant, 40, false));
        assert_eq!(told[1].to_string(), "column 'land': 4 levels");
    }
}
