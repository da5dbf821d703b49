//! Description and pages of a Parquet file, looked at before they are unpacked: a few bytes can claim to hold gigabytes.

use std::io::{self, Read};

use ::parquet::file::metadata::ParquetMetaDataReader;
use ::parquet::file::reader::ChunkReader;

use super::TableError;
use super::packing::{Expansion, expect_modest};
use rffblr::memory::require;

/// An error if a file holds pages that are absurdly larger than what they are packed into, unless that is allowed, or if
/// those of all columns do not fit into memory together.
pub(super) fn check(file: &str, input: &impl ChunkReader, allowed: bool) -> Result<(), TableError> {
    check_children(file, input)?;
    let damaged = |message: String| TableError::Damaged { file: file.to_owned(), format: "Parquet", message };
    let metadata = ParquetMetaDataReader::new().parse_and_finish(input).map_err(|error| damaged(error.to_string()))?;
    for group in metadata.row_groups() {
        let mut together = 0.0;
        for chunk in group.columns() {
            let (start, length) = chunk.byte_range();
            let end = start.saturating_add(length).min(input.len());
            let (mut at, mut largest) = (start, 0);
            while at < end {
                let reader = input.get_read(at).map_err(|error| damaged(error.to_string()))?;
                let mut header = Header { input: reader, left: end - at };
                let page = header.page().map_err(|problem| damaged(format!("a page at byte {at}: {problem}")))?;
                expect_modest(file, Expansion { packed: page.packed.max(1), unpacked: page.unpacked }, allowed)?;
                largest = page.unpacked.max(largest);
                at = end - header.left;
                at = at.saturating_add(page.packed);
            }
            together += largest as f64;
        }
        let what = format!("unpacking {file}, whose columns are read side by side,");
        require(together, what, "leave out columns, or write it in smaller pages")?;
    }
    Ok(())
}

/// An error if a column is said to consist of more columns than the description has bytes, for memory is set aside for them
/// all, or if columns are nested so deeply that the stack of whoever reads the description ends.
pub(super) fn check_children(file: &str, input: &impl ChunkReader) -> Result<(), TableError> {
    const END: u64 = 8;
    let damaged = |message: String| TableError::Damaged { file: file.to_owned(), format: "Parquet", message };
    // What is wrong with a file without a description is said by who reads it.
    let Some(start) = input.len().checked_sub(END) else { return Ok(()) };
    let end = input.get_bytes(start, END as usize).map_err(|error| damaged(error.to_string()))?;
    let length = end.first_chunk().map_or(0, |length| u64::from(u32::from_le_bytes(*length)));
    let Some(start) = start.checked_sub(length).filter(|_| end.ends_with(b"PAR1")) else { return Ok(()) };
    let reader = input.get_read(start).map_err(|error| damaged(error.to_string()))?;
    let mut header = Header { input: reader, left: length };
    header.children(length).map_err(|problem| damaged(format!("its description: {problem}")))
}

/// Bytes of a page as it is stored and as it is unpacked.
struct Page {
    packed: u64,
    unpacked: u64,
}

/// The header of a page, or the description of a file: structs of Thrift's compact protocol.
struct Header<R> {
    input: R,
    /// Bytes that may still be read.
    left: u64,
}

/// Most structs inside each other.
const DEEPEST: usize = 8;
/// Most columns inside each other. No table has as many, and a file of a kilobyte can have a thousand.
const DEEPEST_COLUMN: usize = 100;
/// Kinds of fields.
const INTEGER: u8 = 5;
const TEXT: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

fn wrong_kind() -> io::Error {
    io::Error::other("a field of the wrong kind")
}

impl<R: Read> Header<R> {
    fn page(&mut self) -> io::Result<Page> {
        let (mut id, mut sizes) = (0, [None; 2]);
        while let Some(kind) = self.field(&mut id)? {
            match (id, kind) {
                // The sizes are fields 2 and 3, 32-bit numbers.
                (2 | 3, INTEGER) => sizes[usize::from(id == 3)] = Some(self.number()?),
                _ => self.skip(kind, 0)?,
            }
        }
        let size = |size: Option<u64>| {
            // Zigzag: even numbers are those that are not negative.
            let size = size.filter(|size| size % 2 == 0).map(|size| size / 2);
            size.ok_or_else(|| io::Error::other("its size is missing or negative"))
        };
        Ok(Page { unpacked: size(sizes[0])?, packed: size(sizes[1])? })
    }

    /// An error if an element of the schema has more children than this, or is too deep inside others. The schema is field 2
    /// of the description, and the number of children field 5 of each of its elements; an element is followed by its
    /// children. Whoever reads a field next takes its kind for granted: so fields must be of the kinds that they should be.
    fn children(&mut self, most: u64) -> io::Result<()> {
        let mut id = 0;
        while let Some(kind) = self.field(&mut id)? {
            match (id, kind) {
                (1, INTEGER) => self.skip(kind, 0)?,
                (2, LIST) => match self.list()? {
                    (STRUCT, count) => {
                        // How many children of each element that the next one is inside of are still to come.
                        let mut open: Vec<u64> = Vec::new();
                        for _ in 0..count {
                            let children = self.element(most)?;
                            if let Some(siblings) = open.last_mut() {
                                *siblings -= 1;
                            }
                            open.push(children);
                            while open.last() == Some(&0) {
                                open.pop();
                            }
                            if open.len() > DEEPEST_COLUMN {
                                let levels = format!("its columns are nested more than {DEEPEST_COLUMN} levels deep");
                                return Err(io::Error::other(levels));
                            }
                        }
                        return Ok(());
                    }
                    _ => return Err(wrong_kind()),
                },
                _ => return Err(wrong_kind()),
            }
        }
        Ok(())
    }

    /// The number of children of the next element.
    fn element(&mut self, most: u64) -> io::Result<u64> {
        let (mut id, mut children) = (0, 0);
        while let Some(kind) = self.field(&mut id)? {
            match (id, kind) {
                (5, INTEGER) => {
                    let number = self.number()?;
                    if number / 2 > most {
                        return Err(io::Error::other("a column of more columns than it can hold"));
                    }
                    // Zigzag: odd numbers are negative, and refused by who reads them next.
                    children = if number % 2 == 0 { number / 2 } else { 0 };
                }
                (1..=3 | 6..=9, INTEGER) | (4, TEXT) | (10, STRUCT) | (11.., _) => self.skip(kind, 0)?,
                _ => return Err(wrong_kind()),
            }
        }
        Ok(children)
    }

    /// Kind and number of the elements of a list.
    fn list(&mut self) -> io::Result<(u8, u64)> {
        let byte = self.byte()?;
        let count = if byte >> 4 == 15 { self.number()? } else { u64::from(byte >> 4) };
        Ok((byte & 15, count))
    }

    /// The kind of the next field, whose number is put into `id`; `None` at the end of a struct.
    fn field(&mut self, id: &mut i64) -> io::Result<Option<u8>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        *id = match byte >> 4 {
            0 => {
                let number = self.number()?;
                (number >> 1) as i64 ^ -((number & 1) as i64)
            }
            step => id.saturating_add(i64::from(step)),
        };
        Ok(Some(byte & 15))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> io::Result<()> {
        if depth > DEEPEST {
            return Err(io::Error::other("its header is nested too deeply"));
        }
        match kind {
            // True or false, which is all there is to them.
            1 | 2 => Ok(()),
            3 => self.bytes(1),
            4..=6 => self.number().map(drop),
            7 => self.bytes(8),
            TEXT => {
                let length = self.number()?;
                self.bytes(length)
            }
            LIST | 10 => {
                let (kind, count) = self.list()?;
                for _ in 0..count {
                    match kind {
                        // In a list these have a byte each.
                        1 | 2 => self.bytes(1)?,
                        kind => self.skip(kind, depth + 1)?,
                    }
                }
                Ok(())
            }
            STRUCT => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, depth + 1)?;
                }
                Ok(())
            }
            _ => Err(io::Error::other("its header has a field of an unknown kind")),
        }
    }

    /// A number of seven bits a byte, the lowest first.
    fn number(&mut self) -> io::Result<u64> {
        let mut number = 0u64;
        for place in 0..10 {
            let byte = self.byte()?;
            number |= u64::from(byte & 127) << (7 * place);
            if byte < 128 {
                return Ok(number);
            }
        }
        Err(io::Error::other("its header has a number that does not end"))
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.left = self.left.checked_sub(1).ok_or(io::ErrorKind::UnexpectedEof)?;
        self.input.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    fn bytes(&mut self, count: u64) -> io::Result<()> {
        self.left = self.left.checked_sub(count).ok_or(io::ErrorKind::UnexpectedEof)?;
        let read = io::copy(&mut (&mut self.input).take(count), &mut io::sink())?;
        if read == count { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(bytes: &[u8]) -> io::Result<(u64, u64, u64)> {
        let mut header = Header { input: bytes, left: bytes.len() as u64 };
        header.page().map(|page| (page.packed, page.unpacked, header.left))
    }

    #[test]
    fn sizes_are_found_among_other_fields() {
        // Kind 0; 300 unpacked (zigzag 600); 20 packed; a struct with a number, a text and a list; a truth; the end.
        let inner = [0x15, 2, 0x18, 3, b'a', b'b', b'c', 0x19, 0x25, 2, 4, 0x11, 0];
        let bytes = [&[0x15, 0, 0x15, 0xd8, 4, 0x15, 40, 0x2c][..], &inner, &[0, 9, 9]].concat();
        assert_eq!(page(&bytes).unwrap(), (20, 300, 2));
    }

    /// Version 2; a schema of two elements, of which the first has a name and some children.
    #[test]
    fn a_column_cannot_have_more_columns_than_fit() {
        let children = |count: &[u8]| {
            let bytes = [&[0x15, 4, 0x19, 0x2c, 0x48, 1, b'a', 0x15][..], count, &[0, 0x15, 2, 0, 0]].concat();
            Header { input: &bytes[..], left: bytes.len() as u64 }.children(100)
        };
        assert!(children(&[2]).is_ok() && children(&[200, 1]).is_ok());
        assert!(children(&[202, 1]).is_err() && children(&[254, 255, 255, 255, 15]).is_err());
        // A name that says it is a list.
        let bytes = [0x15, 4, 0x19, 0x1c, 0x49, 1, b'a', 0, 0];
        assert!(Header { input: &bytes[..], left: bytes.len() as u64 }.children(100).is_err());
    }

    #[test]
    fn headers_that_make_no_sense_are_refused() {
        for bytes in [
            &[][..],
            &[0],
            // A negative size; a text longer than the rest; a number without an end; structs without an end.
            &[0x15, 0, 0x15, 1, 0x15, 40, 0],
            &[0x18, 0xff, 0xff, 0xff, 0xff, 15, 0],
            &[0x15, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255],
            &[0x1c; 40],
            &[0x1d, 0],
            // A list of many structs in a few bytes.
            &[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 15, 0],
        ] {
            assert!(page(bytes).is_err(), "{bytes:?}");
        }
    }
}
