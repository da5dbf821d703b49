//! Reading Parquet files that pyarrow wrote (see `data/make_parquet.py`), and what is refused in them.

use crate::common::{data, error, levels, numbers, read_as, same, texts};
use rffblr_tables::{ReadOptions, Table, TableError, read};

const NAN: f64 = f64::NAN;

fn file(name: &str) -> Table {
    read(data(name), &ReadOptions::default()).unwrap()
}

#[test]
fn all_readable_types_in_all_layouts() {
    // Small row groups with dictionaries and snappy; second page version with zstd; plain and uncompressed.
    for name in ["types.parquet", "types_v2_zstd.parquet", "types_plain.parquet"] {
        expect_all_types(name, &file(name));
    }
    assert_eq!(numbers(&file("required.parquet"), "x"), [1.5, 2.5]);
}

/// The table of all readable types, however it was written.
pub fn expect_all_types(name: &str, table: &Table) {
    assert_eq!((table.rows(), table.columns().len()), (5, 13), "{name}");
    for (column, expected) in [
        ("int8", [-128.0, NAN, 127.0, 0.0, 5.0]),
        ("int32", [-2147483648.0, 2147483647.0, NAN, 0.0, 1.0]),
        ("int64", [-1099511627776.0, 1099511627776.0, 3.0, NAN, 1.0]),
        ("uint8", [0.0, 255.0, NAN, 1.0, 2.0]),
        ("uint32", [4294967295.0, 0.0, 1.0, 2.0, NAN]),
        ("uint64", [9223372036854775808.0, 0.0, 1.0, 2.0, NAN]),
        ("float", [0.5, -1.25, NAN, NAN, 1e10]),
        ("double", [0.1, 1e-300, NAN, NAN, -2.5]),
        ("bool", [1.0, 0.0, NAN, 1.0, 0.0]),
        ("nothing", [NAN; 5]),
    ] {
        assert!(same(numbers(table, column), &expected), "{name} {column}");
    }
    assert_eq!(texts(table, "text"), [Some("b"), Some("a"), None, Some(""), Some("b")]);
    assert_eq!(levels(table, "text"), ["b", "a", ""]);
    assert_eq!(texts(table, "large"), [Some("ä,\n\""), Some("x"), Some("NA"), None, Some("x")]);
    assert_eq!(texts(table, "category"), [Some("hi"), Some("lo"), Some("hi"), None, Some("lo")]);
}

/// Reads `odd.parquet` with only `column` and the sound column 'x'.
fn odd(column: &str) -> Result<Table, TableError> {
    let all = ["day", "clock", "stamp", "money", "list", "struct", "blob", "half", "fixed", "infinite"];
    let ignored = all.iter().filter(|name| **name != column);
    let options =
        ReadOptions { ignored_columns: ignored.map(|name| name.to_string()).collect(), ..ReadOptions::default() };
    read(data("odd.parquet"), &options)
}

#[test]
fn columns_without_a_place_in_a_table_are_named() {
    assert_eq!(numbers(&odd("").unwrap(), "x"), [1.0, 2.0]);
    let nested = "a nested column cannot be read; ignore the column or flatten it into plain columns";
    for (column, expected) in [
        ("money", "a decimal cannot be read; ignore the column or write it as a double"),
        ("list", nested),
        ("struct", nested),
        ("half", "a half precision number cannot be read; ignore the column or write it as a double"),
        ("fixed", "binary data cannot be read; ignore the column or write it as a double or as text"),
    ] {
        let message = odd(column).unwrap_err().to_string();
        let expected = format!("odd.parquet, column '{column}': {expected}");
        assert!(message.ends_with(&expected), "{message}");
    }
    let message = odd("blob").unwrap_err().to_string();
    assert!(message.contains("data row 2, column 'blob': the text is not UTF-8"), "{message}");
    let message = odd("infinite").unwrap_err().to_string();
    assert!(message.contains("data row 2, column 'infinite': '-inf' is not a finite number"), "{message}");
    for column in ["day", "clock", "stamp"] {
        assert!(!odd(column).unwrap().column(column).unwrap().is_numeric(), "{column}");
    }
    let old = read(data("int96.parquet"), &ReadOptions::default()).unwrap();
    assert!(texts(&old, "stamp")[0].is_some_and(|text| text.starts_with("20")), "{:?}", texts(&old, "stamp"));
}

#[test]
fn other_codecs_empty_and_damaged_files() {
    let options = ReadOptions::default();
    let failure = |name: &str| read(data(name), &options).unwrap_err().to_string();
    let message = failure("gzip.parquet");
    assert!(message.contains("column 'double': compressed with GZIP"), "{message}");
    assert!(message.ends_with("write the file with snappy, zstd or no compression"), "{message}");
    assert!(failure("no_rows.parquet").ends_with("has column names but no rows of data"));
    let whole = std::fs::read(data("types.parquet")).unwrap();
    for length in [0, 3, 4, 100, whole.len() - 1] {
        let outcome = crate::common::read_as("t.parquet", &whole[..length], &options);
        let message = outcome.unwrap_err().to_string();
        assert!(message.contains("t.parquet is not a readable Parquet file"), "{message}");
    }
}

#[test]
fn options_apply_to_stored_types() {
    let options = ReadOptions {
        text_columns: vec!["double".into()],
        numeric_columns: vec!["category".into()],
        ..ReadOptions::default()
    };
    let message = read(data("types.parquet"), &options).unwrap_err().to_string();
    assert!(message.contains("data row 1, column 'category': 'hi' is not a number"), "{message}");
    let options = ReadOptions { text_columns: vec!["double".into()], ..ReadOptions::default() };
    let table = read(data("types.parquet"), &options).unwrap();
    assert_eq!(texts(&table, "double"), [Some("0.1"), Some("1e-300"), None, None, Some("-2.5")]);
}

/// One wrong byte on which the decoder of the library panics, a negative offset.
#[test]
fn a_panic_of_the_decoder_becomes_an_error() {
    let mut bytes = std::fs::read(data("types_plain.parquet")).unwrap();
    bytes[1120] = 221;
    let outcome = crate::common::read_as("t.parquet", &bytes, &ReadOptions::default());
    let message = outcome.unwrap_err().to_string();
    assert!(message.ends_with("(its parts contradict each other); write or copy it again"), "{message}");
}

/// A file without rows whose columns, beside a plain one called x, have this description (elements of the schema).
fn described(columns: u8, elements: &[u8], count: usize) -> Vec<u8> {
    // Thrift's compact protocol: version 2; the schema, whose root has a name and children; no rows and no row groups.
    let mut bytes = vec![0x15, 4, 0x19, 0xfc];
    let mut number = count + 2;
    while number > 127 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes.extend([0x48, 1, b'r', 0x15, 2 * (columns + 1), 0]);
    bytes.extend([0x15, 10, 0x25, 0, 0x18, 1, b'x', 0]);
    bytes.extend(elements);
    bytes.extend([0x16, 0, 0x19, 0x0c, 0]);
    let length = (bytes.len() as u32).to_le_bytes();
    [b"PAR1", &bytes[..], &length, b"PAR1"].concat()
}

/// Columns inside each other, to this depth.
fn deep(levels: usize) -> Vec<u8> {
    let outer = [0x35, 0, 0x18, 1, b'a', 0x15, 2, 0].repeat(levels - 1);
    let inner = [0x15, 10, 0x25, 0, 0x18, 1, b'b', 0];
    described(1, &[&outer[..], &inner].concat(), levels)
}

#[test]
fn columns_inside_each_other_are_refused_at_any_depth() {
    let message = |bytes: &[u8], options| error(read_as("t.parquet", bytes, options));
    let plain = ReadOptions::default();
    let nested = "a nested column cannot be read; ignore the column or flatten it into plain columns";
    for levels in [2, 10, 98] {
        assert_eq!(message(&deep(levels), &plain), format!("t.parquet, column 'a': {nested}"), "{levels}");
    }
    // The stack of a thread does not hold this many.
    for levels in [200, 100_000] {
        let message = message(&deep(levels), &plain);
        assert!(message.starts_with("t.parquet is not a readable Parquet file"), "{levels}: {message}");
        assert!(message.contains("nested more than 100 levels deep") && message.ends_with("write or copy it again"));
    }
    // One of no columns at all is not left out unsaid.
    let empty = described(1, &[0x35, 0, 0x18, 1, b's', 0x15, 0, 0], 1);
    assert_eq!(message(&empty, &plain), format!("t.parquet, column 's': {nested}"));
}

/// Lists, structs and maps of lists, structs and maps: each is refused by its name, and ignored if that is asked for.
#[test]
fn nested_columns_can_be_ignored() {
    let all = ["list", "lists", "struct", "structs", "map"];
    for file in ["nested.parquet", "nested.feather"] {
        for kept in all {
            let ignored = all.iter().filter(|name| **name != kept).map(|name| name.to_string()).collect();
            let options = ReadOptions { ignored_columns: ignored, ..ReadOptions::default() };
            let message = read(data(file), &options).unwrap_err().to_string();
            assert!(message.contains(&format!("column '{kept}': a nested column cannot be read; ")), "{message}");
        }
        let options = ReadOptions { ignored_columns: all.map(String::from).to_vec(), ..ReadOptions::default() };
        let table = read(data(file), &options).unwrap();
        assert_eq!(numbers(&table, "x"), [1.0, 2.0, 3.0], "{file}");
        assert_eq!(texts(&table, "y"), [Some("p"), Some("q"), None], "{file}");
    }
}
