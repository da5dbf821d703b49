//! The flags that say how a file is read, shared by every command that reads a table.

use rffblr_tables::{Decimal, ReadOptions, TextEncoding};

#[derive(clap::Args)]
#[command(next_help_heading = "How the file is read")]
pub struct ReadingArguments {
    /// Character between the cells of a text file, or tab [default: recognised]
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Decimal mark of a text file, whose digits may then stand in groups of three: point or comma [default: recognised]
    #[arg(long, value_name = "MARK", value_parser = decimal)]
    decimal: Option<Decimal>,
    /// Encoding of a text file: utf-8, utf-16 or latin-1 [default: recognised]
    #[arg(long, value_name = "NAME", value_parser = encoding)]
    encoding: Option<TextEncoding>,
    /// Sheet of a workbook, by its name or number [default: the first]
    #[arg(long, value_name = "SHEET")]
    sheet: Option<String>,
    /// Read a file that unpacks to hundreds of times its size, as files made to do harm do
    #[arg(long)]
    allow_expansion: bool,
}

/// A single character, or the word for one that is hard to type.
fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" => Ok(b'\t'),
        [character] => Ok(*character),
        _ => Err("write one ASCII character, or tab".into()),
    }
}

fn decimal(text: &str) -> Result<Decimal, String> {
    match text {
        "point" | "." => Ok(Decimal::Point),
        "comma" | "," => Ok(Decimal::Comma),
        _ => Err("write point or comma".into()),
    }
}

fn encoding(text: &str) -> Result<TextEncoding, String> {
    match text.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
        "utf8" => Ok(TextEncoding::Utf8),
        "utf16" => Ok(TextEncoding::Utf16),
        "latin1" | "windows1252" | "cp1252" | "iso88591" => Ok(TextEncoding::Latin1),
        _ => Err("write utf-8, utf-16 or latin-1".into()),
    }
}

impl ReadingArguments {
    /// The same wishes for columns, read as these flags say.
    pub fn apply(&self, columns: ReadOptions) -> ReadOptions {
        let ReadingArguments { delimiter, decimal, encoding, sheet, allow_expansion } = self;
        let (delimiter, decimal, encoding, sheet) = (*delimiter, *decimal, *encoding, sheet.clone());
        ReadOptions { delimiter, decimal, encoding, sheet, allow_expansion: *allow_expansion, ..columns }
    }

    /// Without wishes for columns.
    pub fn options(&self) -> ReadOptions {
        self.apply(ReadOptions::default())
    }
}
