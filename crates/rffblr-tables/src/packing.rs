//! Bytes as they are stored: packed by gzip or zstd, and text in other encodings than UTF-8.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{TableError, TextEncoding};

/// What something packed becomes, in bytes.
pub(super) struct Expansion {
    pub(super) packed: u64,
    pub(super) unpacked: u64,
}

impl Expansion {
    /// Anything may become this large.
    pub(super) const SMALL: u64 = 64 << 20;
    /// More than tables with their many digits do; the packings themselves can reach a thousand and more.
    const MOST: u64 = 200;

    pub(super) fn is_absurd(&self) -> bool {
        self.unpacked > Expansion::SMALL && self.unpacked / Expansion::MOST > self.packed
    }
}

/// An error if something packed becomes absurdly large, unless that is allowed.
pub(super) fn expect_modest(file: &str, expansion: Expansion, allowed: bool) -> Result<(), TableError> {
    if !allowed && expansion.is_absurd() {
        let (file, Expansion { packed, unpacked }) = (file.to_owned(), expansion);
        return Err(TableError::Expansion { file, packed, unpacked });
    }
    Ok(())
}

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    /// By the first bytes.
    pub(super) fn of(head: &[u8]) -> Packing {
        match head {
            [0x1f, 0x8b, 8, ..] => Packing::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Packing::Zstd,
            _ => Packing::Plain,
        }
    }

    /// The bytes that were packed. A file may be packed in several parts, one after another.
    pub(super) fn unpack<'a>(self, input: impl Read + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
        Ok(match self {
            Packing::Plain => Box::new(input),
            Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(input)),
            Packing::Zstd => Box::new(zstd::Decoder::new(input)?),
        })
    }

    /// The same, with an end where the bytes become absurdly many.
    pub(super) fn unpack_modest<'a>(self, input: impl Read + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
        let packed = Arc::new(AtomicU64::new(0));
        let input = self.unpack(Counted { input, count: Arc::clone(&packed) })?;
        Ok(match self {
            Packing::Plain => input,
            Packing::Gzip | Packing::Zstd => Box::new(Bounded { input, packed, unpacked: 0 }),
        })
    }
}

/// Unpacked bytes, which end in an error where they become absurdly many.
pub(super) struct Bounded<R> {
    pub(super) input: R,
    pub(super) packed: Arc<AtomicU64>,
    pub(super) unpacked: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.unpacked += count as u64;
        let expansion = Expansion { packed: self.packed.load(Ordering::Relaxed), unpacked: self.unpacked };
        if expansion.is_absurd() {
            return Err(io::Error::other(TableError::expansion(expansion.packed, expansion.unpacked)));
        }
        Ok(count)
    }
}

/// Bytes that are counted as they are read.
pub(super) struct Counted<R> {
    pub(super) input: R,
    pub(super) count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// The encoding of a text, with the order of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Letters {
    Utf8,
    Utf16 { big_endian: bool },
    Latin1,
}

impl Letters {
    /// As asked for, or else by the first bytes: byte order marks, zeros in every other place, bytes that are not UTF-8.
    pub(super) fn of(head: &[u8], asked: Option<TextEncoding>) -> Letters {
        let by_mark = match head {
            [0xff, 0xfe, ..] => Some(Letters::Utf16 { big_endian: false }),
            [0xfe, 0xff, ..] => Some(Letters::Utf16 { big_endian: true }),
            _ => None,
        };
        match asked {
            Some(TextEncoding::Utf8) => Letters::Utf8,
            Some(TextEncoding::Latin1) => Letters::Latin1,
            Some(TextEncoding::Utf16) => by_mark.or(by_zeros(head)).unwrap_or(Letters::Utf16 { big_endian: false }),
            None => by_mark.or(by_zeros(head)).unwrap_or_else(|| match std::str::from_utf8(head) {
                Ok(_) => Letters::Utf8,
                // The head may end in the middle of a letter.
                Err(error) if error.error_len().is_none() && error.valid_up_to() + 4 > head.len() => Letters::Utf8,
                // What is no text at all is for others to say.
                Err(_) if head.contains(&0) => Letters::Utf8,
                Err(_) => Letters::Latin1,
            }),
        }
    }

    /// The same text as UTF-8.
    pub(super) fn decode<'a>(self, input: impl Read + Send + 'a) -> Box<dyn Read + Send + 'a> {
        match self {
            Letters::Utf8 => Box::new(input),
            letters => Box::new(Decoded { input, letters, raw: Vec::new(), out: Vec::new(), at: 0, at_end: false }),
        }
    }
}

/// Text of two bytes a letter without a mark: nearly every other byte is zero where letters are plain ones.
fn by_zeros(head: &[u8]) -> Option<Letters> {
    let start = &head[..head.len().min(1024)];
    let zeros = |parity: usize| start.iter().skip(parity).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, half) = (zeros(0), zeros(1), start.len() / 2);
    match half >= 4 {
        true if 10 * even <= half && 10 * odd >= 7 * half => Some(Letters::Utf16 { big_endian: false }),
        true if 10 * odd <= half && 10 * even >= 7 * half => Some(Letters::Utf16 { big_endian: true }),
        _ => None,
    }
}

/// Text that is turned into UTF-8 as it is read.
struct Decoded<R> {
    input: R,
    letters: Letters,
    /// Bytes that are not decoded yet.
    raw: Vec<u8>,
    out: Vec<u8>,
    at: usize,
    at_end: bool,
}

impl<R: Read> Decoded<R> {
    fn fill(&mut self) -> io::Result<()> {
        const CHUNK: u64 = 64 << 10;
        self.out.clear();
        self.at = 0;
        self.at_end = (&mut self.input).take(CHUNK).read_to_end(&mut self.raw)? == 0;
        let mut text = String::with_capacity(self.raw.len());
        match self.letters {
            Letters::Utf8 => {}
            Letters::Latin1 => text.extend(self.raw.drain(..).map(windows_1252)),
            Letters::Utf16 { big_endian } => {
                let unit = |pair: &[u8]| match (pair, big_endian) {
                    (&[a, b], false) => u16::from_le_bytes([a, b]),
                    (&[a, b], true) => u16::from_be_bytes([a, b]),
                    _ => 0xfffd,
                };
                let mut units: Vec<u16> = self.raw.chunks_exact(2).map(unit).collect();
                // The second half of a letter of four bytes may be still to come.
                if !self.at_end && units.last().is_some_and(|last| (0xd800..0xdc00).contains(last)) {
                    units.pop();
                }
                self.raw.drain(..2 * units.len());
                if self.at_end && !self.raw.is_empty() {
                    self.raw.clear();
                    units.push(0xfffd);
                }
                text.extend(char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)));
            }
        }
        self.out = text.into_bytes();
        Ok(())
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.out.len() && !self.at_end {
            self.fill()?;
        }
        let count = self.out.get(self.at..).unwrap_or(&[]).read(buffer)?;
        self.at += count;
        Ok(count)
    }
}

/// Latin-1 as Windows writes it: letters and signs where the standard has control codes.
fn windows_1252(byte: u8) -> char {
    const SIGNS: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘',
        '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9f => SIGNS[usize::from(byte - 0x80)],
        byte => char::from(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(self.1).min(buffer.len());
            self.0.read(&mut buffer[..count])
        }
    }

    fn decoded(bytes: &[u8], asked: Option<TextEncoding>) -> String {
        let mut text = String::new();
        Letters::of(bytes, asked).decode(Drip(bytes, 3)).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn encodings_are_recognised_and_decoded() {
        let text = "größe;café\n1;😀\n";
        let units: Vec<u16> = text.encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        assert_eq!(decoded(&little, None), text);
        assert_eq!(decoded(&big, None), text);
        assert_eq!(decoded(&[&[0xff, 0xfe], &little[..]].concat(), None), format!("\u{feff}{text}"));
        assert_eq!(decoded(&[&[0xfe, 0xff], &big[..]].concat(), Some(TextEncoding::Utf16)), format!("\u{feff}{text}"));
        assert_eq!(decoded(text.as_bytes(), None), text);
        assert_eq!(decoded(b"gr\xf6\xdfe;5 \x80 \x96 x", None), "größe;5 € – x");
        // A letter that the head cuts in two does not make it another encoding.
        assert_eq!(Letters::of(&text.as_bytes()[..3], None), Letters::Utf8);
        // Half a letter at the end, and halves without their other.
        assert_eq!(decoded(&[b'a', 0, 0x3d, 0xd8, b'b'], Some(TextEncoding::Utf16)), "a\u{fffd}\u{fffd}");
    }

    #[test]
    fn packed_in_parts() {
        let mut packed = Vec::new();
        for part in ["a,b\n1,", "2\n"] {
            let mut gzip = flate2::write::GzEncoder::new(&mut packed, flate2::Compression::default());
            io::Write::write_all(&mut gzip, part.as_bytes()).unwrap();
            gzip.finish().unwrap();
        }
        assert_eq!(Packing::of(&packed), Packing::Gzip);
        let mut text = String::new();
        Packing::Gzip.unpack(&packed[..]).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "a,b\n1,2\n");
    }
}
