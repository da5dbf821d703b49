//! Broken input is refused with a message, never with a panic.

use crate::common::{data, read_as};
use proptest::prelude::*;
use rffblr_tables::{Format, ReadOptions};

const CSV: &[u8] = b"a,\"b \"\"x\"\"\",c\r\n1,\"two\nlines\",NA\r\n2.5,z,7\n\n3,\"\",8\n";
const ARFF: &[u8] = b"@relation r\n@attribute 'a b' numeric\n@attribute c {x, 'y z'}\n@attribute s string\n@data\n\
                      1,x,'it\\'s'\n{0 2, 1 'y z'}\n?,?,?\n";

/// Reads the bytes in the given format; only the absence of a panic and a usable message matter.
fn attempt(format: Format, bytes: &[u8]) {
    let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
    match read_as("t", bytes, &options) {
        Ok(table) => assert!(table.rows() > 0),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Overwrites, removes and inserts bytes; the position is a fraction of the length.
fn mutate(bytes: &[u8], changes: &[(f64, u8, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for &(position, kind, byte) in changes {
        let at = (position * bytes.len() as f64) as usize;
        match kind % 4 {
            0 if at < bytes.len() => bytes[at] = byte,
            1 if at < bytes.len() => {
                bytes.remove(at);
            }
            2 => bytes.insert(at, byte),
            _ => {
                // The characters that steer the parsers.
                let special = b"\",'{}%@\n\r\\? ;\t\0\xff";
                bytes.insert(at, special[byte as usize % special.len()]);
            }
        }
    }
    bytes
}

fn changes() -> impl Strategy<Value = Vec<(f64, u8, u8)>> {
    proptest::collection::vec((0.0..1.0, any::<u8>(), any::<u8>()), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn random_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for format in [Format::Csv, Format::Tsv, Format::Arff, Format::Parquet, Format::Arrow] {
            attempt(format, &bytes);
        }
        // Without zero bytes, which end the reading of text at once.
        let text: Vec<u8> = bytes.iter().map(|byte| byte % 96 + 32).collect();
        attempt(Format::Csv, &text);
        attempt(Format::Arff, &text);
    }

    #[test]
    fn damaged_csv(changes in changes()) {
        attempt(Format::Csv, &mutate(CSV, &changes));
    }

    #[test]
    fn damaged_arff(changes in changes()) {
        attempt(Format::Arff, &mutate(ARFF, &changes));
    }

    #[test]
    fn damaged_parquet(changes in changes(), which in 0usize..3) {
        let name = ["types.parquet", "types_v2_zstd.parquet", "types_plain.parquet"][which];
        let bytes = std::fs::read(data(name)).unwrap();
        attempt(Format::Parquet, &mutate(&bytes, &changes));
    }

    /// Bytes overwritten in place keep the offsets right, so that more of the reader is reached.
    #[test]
    fn damaged_parquet_pages(
        changes in proptest::collection::vec((0.0f64..1.0, any::<u8>()), 1..4),
        which in 0usize..3,
    ) {
        let name = ["types.parquet", "types_v2_zstd.parquet", "types_plain.parquet"][which];
        let mut bytes = std::fs::read(data(name)).unwrap();
        for (position, byte) in changes {
            let at = (position * bytes.len() as f64) as usize;
            bytes[at] = byte;
        }
        attempt(Format::Parquet, &bytes);
    }

    #[test]
    fn damaged_arrow(changes in changes(), which in 0usize..3) {
        let name = ["types.feather", "types_zstd.feather", "types_plain.arrow"][which];
        let bytes = std::fs::read(data(name)).unwrap();
        attempt(Format::Arrow, &mutate(&bytes, &changes));
        let mut bytes = bytes;
        for (position, _, byte) in changes {
            let at = (position * bytes.len() as f64) as usize;
            bytes[at] = byte;
        }
        attempt(Format::Arrow, &bytes);
    }
}
