//! What every command shares: text to standard output, tables, notes, progress, and files that are written whole.

use anyhow::{Context, Result, bail};
use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use indicatif::{ProgressBar, ProgressStyle};
use rffblr::internals::{WholeFile, folder_of, is_device, write_whole};
use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;

/// A file that grows beyond the quota of its size is then an error like a full disk, which leaves nothing half-written.
/// By default the signal that announces it ends the program.
pub fn bear_full_quotas() {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        const SIGXFSZ: i32 = 25;
        const SIG_IGN: usize = 1;
        unsafe extern "C" {
            fn signal(number: i32, handler: usize) -> usize;
        }
        // SAFETY: POSIX has this function with this signature; to ignore a signal runs no code of this program.
        unsafe { signal(SIGXFSZ, SIG_IGN) };
    }
}

/// Prints words and tables on standard output, with names that can hold anything made harmless: what goes into a pipe or a
/// file may end on a terminal. A reader that has closed the pipe is not a failure.
pub fn print(text: &str) -> Result<()> {
    put(&harmless(text))
}

/// Prints JSON, in which the same characters have another spelling.
pub fn print_json(text: &str) -> Result<()> {
    let spelled = |c: char| match commands(c) {
        true => format!("\\u{:04x}", u32::from(c)),
        false => c.to_string(),
    };
    match text.contains(commands) {
        true => put(&text.chars().map(spelled).collect::<String>()),
        false => put(text),
    }
}

/// Writes data to standard output: a file or program gets them as they are.
pub fn print_data(text: &str) -> Result<()> {
    if io::stdout().is_terminal() { print(text) } else { put(text) }
}

fn put(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("cannot write to standard output"),
        _ => Ok(()),
    }
}

/// Prints something that is not data on standard error. If that is closed, there is nowhere to report it.
pub fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{}", harmless(text));
}

/// Text whose control characters, which could command a terminal, and marks that reverse the direction of writing are
/// shown by their numbers. Names in tables and files can hold anything.
fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(commands) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| if commands(c) { c.escape_unicode().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(shown).collect())
}

fn commands(c: char) -> bool {
    let marks = ['\u{61c}', '\u{200e}', '\u{200f}'].contains(&c);
    let directions = ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c);
    (c.is_control() && c != '\n' && c != '\t') || marks || directions
}

/// Prints something the user may not expect.
pub fn note(text: &str) {
    tell(&format!("note: {text}"));
}

/// A table with a line above and below its header and one at its end; numbers to the right of the first column.
pub fn table<T: ToString>(header: impl IntoIterator<Item = T>, rows: Vec<Vec<String>>) -> Table {
    let line = LineStyle::none().fill('─').junction('─');
    let mut table = Table::new();
    table.load_style(TableStyle::new().top_border(line).header_separator(line).bottom_border(line));
    // Before the columns get their widths.
    let shown = |cell: String| harmless(&cell).into_owned();
    table.set_header(header.into_iter().map(|name| shown(name.to_string())));
    table.add_rows(rows.into_iter().map(|row| row.into_iter().map(shown)));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Four significant digits.
pub fn significant(value: f64) -> String {
    rffblr::internals::significant(value, 4)
}

/// A bar on standard error, shown only on a terminal.
pub fn progress(length: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    // The templates are constants of this program: a wrong one shows the plain bar instead.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━╸─"));
    }
    bar
}

/// An error if the file is there already and may not be replaced.
pub fn expect_free(path: &Path, force: bool) -> Result<()> {
    if !force && path.symlink_metadata().is_ok() {
        bail!("{} already exists; choose another name, or replace it with --force", path.display());
    }
    Ok(())
}

/// An error if the file could not be written later: before hours of work, not after.
pub fn expect_writable(path: &Path, force: bool) -> Result<()> {
    if is_device(path) {
        return Ok(());
    }
    if path.is_dir() {
        bail!("{} is a folder; name a file in it", path.display());
    }
    expect_free(path, force)?;
    // A name that the file system does not take, for example one that is too long.
    if let Err(problem) = path.symlink_metadata()
        && problem.kind() != ErrorKind::NotFound
    {
        return Err(problem).with_context(|| format!("cannot write {}", path.display()));
    }
    WholeFile::rehearse(path, force).with_context(|| format!("cannot write {}", path.display()))
}

/// Whether a path stands for standard input or output.
pub fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Writes a text to a file or, for -, to standard output.
pub fn deliver(text: &str, path: &Path, force: bool) -> Result<()> {
    if is_stream(path) { print_data(text) } else { save(path, force, |file| Ok(file.write_all(text.as_bytes())?)) }
}

/// An error if the file to write is one of those that are read: no force should make a command destroy its own input.
pub fn expect_apart<'a>(path: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    // Links are followed on both sides. What is not there, or no file, is nobody's input.
    let Some(target) = path.canonicalize().ok().filter(|target| target.is_file()) else {
        return Ok(());
    };
    if let Some(input) = inputs.into_iter().find(|input| input.canonicalize().is_ok_and(|input| input == target)) {
        let (path, input) = (path.display(), input.display());
        bail!(
            "{path} is the same file as the input {input}, which it would replace; choose another name for the output"
        );
    }
    Ok(())
}

/// Whether two paths name one file, which need not be there yet.
pub fn are_same(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        path.canonicalize().ok().or_else(|| Some(folder_of(path).canonicalize().ok()?.join(path.file_name()?)))
    };
    place(one).is_some_and(|one| place(other) == Some(one))
}

/// Writes a file, whole or not at all; an existing one is replaced only by force.
pub fn save(path: &Path, force: bool, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    if !is_device(path) {
        expect_free(path, force)?;
    }
    write_whole(path, force, write).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes files into a folder, each whole, in place of those that are there.
pub fn save_all(folder: &Path, files: &[(&str, &[u8])]) -> Result<()> {
    files.iter().try_for_each(|(name, bytes)| save(&folder.join(name), true, |file| Ok(file.write_all(bytes)?)))
}

/// A name as it can be typed in a shell.
pub fn shell_word(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:@".contains(c);
    if !name.is_empty() && name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_commands_a_terminal() {
        assert_eq!(harmless("a\u{1b}[31mred\u{7}"), r"a\u{1b}[31mred\u{7}");
        assert_eq!(harmless("\u{202e}gnp.exe"), r"\u{202e}gnp.exe");
        assert_eq!(harmless("a\u{9b}2J\r"), r"a\u{9b}2J\u{d}");
        assert!(matches!(harmless("R² ± σ\tµg/l\n"), Cow::Borrowed(_)));
        let shown = table(["target\u{1b}c"], vec![vec!["x\u{8}".to_owned()]]).to_string();
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
    }
}
