//! Archives (.xlsx, .ods and the like are ZIP), unpacked once without keeping anything, to see how much is in them.

use std::io::{self, Read};

use flate2::read::DeflateDecoder;

use super::TableError;
use super::packing::{Expansion, expect_modest};

/// An error if an archive unpacks to absurdly much, whatever it says itself. What is no archive passes.
pub(super) fn check(file: &str, bytes: &[u8]) -> Result<(), TableError> {
    let packed = bytes.len() as u64;
    let (mut unpacked, mut entry) = (0, directory(bytes));
    if entry == Some(ELSEWHERE) {
        return Err(large(file));
    }
    while let Some(at) = entry.filter(|at| bytes.get(*at..).is_some_and(|rest| rest.starts_with(b"PK\x01\x02"))) {
        let number = |offset: usize, length: usize| number(bytes, at + offset, length);
        if number(42, 4) == Some(ELSEWHERE) {
            return Err(large(file));
        }
        if let (Some(8), Some(start)) = (number(10, 2), number(42, 4).and_then(|local| content(bytes, local))) {
            let most = Expansion::SMALL.saturating_add(200 * packed).saturating_add(1);
            let mut content = DeflateDecoder::new(bytes.get(start..).unwrap_or_default()).take(most);
            // Damage is for the reader to find.
            unpacked += io::copy(&mut content, &mut io::sink()).unwrap_or_else(|_| content_read(most, &content));
            expect_modest(file, Expansion { packed, unpacked }, false)?;
        }
        entry = (|| Some(at + 46 + number(28, 2)? + number(30, 2)? + number(32, 2)?))();
    }
    Ok(())
}

/// Stands for a place beyond 4 GB, which is written elsewhere.
const ELSEWHERE: usize = 0xffff_ffff;

fn large(file: &str) -> TableError {
    let message = String::from("it is written as an archive beyond 4 GB");
    TableError::Workbook { file: file.to_owned(), message }
}

/// How much was read before a limit.
fn content_read<R>(most: u64, content: &io::Take<R>) -> u64 {
    most - content.limit()
}

/// Where the list of entries begins, by what stands at the end of the archive.
fn directory(bytes: &[u8]) -> Option<usize> {
    let tail = bytes.len().saturating_sub(22 + 65_535);
    let end = bytes.get(tail..)?.windows(4).rposition(|window| window == b"PK\x05\x06")?;
    number(bytes, tail + end + 16, 4)
}

/// Where the content of an entry begins, from its own header.
fn content(bytes: &[u8], local: usize) -> Option<usize> {
    Some(local + 30 + number(bytes, local.checked_add(26)?, 2)? + number(bytes, local.checked_add(28)?, 2)?)
}

/// A number of two or four bytes, the lowest first.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}
