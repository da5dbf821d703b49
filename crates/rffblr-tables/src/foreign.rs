//! Files that are no table this crate reads: what they are, and what to do.

use super::TableError;

/// First bytes of a kind of file, what it is called, and what to do with it.
const KINDS: [(&[u8], &str, &str); 19] = [
    (
        b"FEA1",
        "a Feather file of version 1",
        "write it again, for example with pandas: pd.read_feather(…).to_feather('table.feather')",
    ),
    (b"\x89HDF", "an HDF5 file", "write the table in it as Parquet or CSV"),
    (b"CDF\x01", "a NetCDF file", "write the table in it as Parquet or CSV"),
    (b"\x93NUMPY", "a NumPy array", "write it as CSV with names in the first line"),
    (b"SQLite format 3", "an SQLite database", "export the table in it as CSV"),
    (b"RDX", "an R data file", "write the table in R with write.csv(table, 'table.csv', row.names = FALSE)"),
    (b"X\n\0\0\0", "an R data file", "write the table in R with write.csv(table, 'table.csv', row.names = FALSE)"),
    (b"A\n3\n", "an R data file", "write the table in R with write.csv(table, 'table.csv', row.names = FALSE)"),
    (b"$FL", "an SPSS file", "save it in SPSS as CSV or Excel"),
    (b"<stata_dta>", "a Stata file", "write it in Stata with export delimited"),
    (
        b"\x80\x04",
        "a Python pickle",
        "write it as Parquet or CSV, for example with df.to_csv('table.csv', index=False)",
    ),
    (
        b"\x80\x05",
        "a Python pickle",
        "write it as Parquet or CSV, for example with df.to_csv('table.csv', index=False)",
    ),
    (b"%PDF", "a PDF document", "save the table it shows as CSV or Excel"),
    (b"BZh", "a file packed by bzip2", "unpack it with bunzip2, or pack it with gzip or zstd"),
    (b"\xfd7zXZ", "a file packed by xz", "unpack it with unxz, or pack it with gzip or zstd"),
    (b"7z\xbc\xaf", "a 7-Zip archive", "unpack it and name the table in it"),
    (b"Rar!", "an RAR archive", "unpack it and name the table in it"),
    (b"\x89PNG", "a picture", "name a table"),
    (b"PK", "a ZIP archive", "unpack it and name the table in it"),
];

/// The SAS format has its mark behind twelve zeros.
const SAS: &[u8] = &[0xc2, 0xea, 0x81, 0x60];

/// An error that says what the file is, if its first bytes show that it is no table.
pub(super) fn refuse(file: &str, head: &[u8]) -> Result<(), TableError> {
    let foreign =
        |what: &'static str, remedy: &'static str| Err(TableError::Foreign { file: file.to_owned(), what, remedy });
    if head.get(12..16) == Some(SAS) {
        return foreign("a SAS file", "export it in SAS as CSV");
    }
    if let Some((_, what, remedy)) = KINDS.iter().find(|(start, ..)| head.starts_with(start)) {
        return foreign(what, remedy);
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let begins = |word: &[u8]| text.len() >= word.len() && text[..word.len()].eq_ignore_ascii_case(word);
    if begins(b"<!doctype") || begins(b"<html") || begins(b"<?xml") {
        return foreign("a web page or XML", "save the table as CSV or Excel");
    }
    // A name of a column may begin like JSON; objects have keys too.
    let object = text.strip_prefix(b"[").map_or(text, <[u8]>::trim_ascii_start).strip_prefix(b"{");
    let has_key =
        |rest: &[u8]| rest.trim_ascii_start().starts_with(b"\"") && rest.windows(2).any(|pair| pair == b"\":");
    if object.is_some_and(has_key) {
        return foreign("JSON", "write it as CSV or Parquet, for example with pandas: pd.read_json(…).to_csv(…)");
    }
    Ok(())
}
