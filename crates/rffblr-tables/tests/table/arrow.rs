//! Reading Arrow files that pyarrow wrote (see `data/make_parquet.py`), and what is refused in them.

use crate::common::{data, numbers, read_as, same, texts};
use crate::parquet::expect_all_types;
use rffblr_tables::{ReadOptions, Table, read};

fn file(name: &str) -> Table {
    read(data(name), &ReadOptions::default()).unwrap()
}

#[test]
fn all_readable_types_in_all_layouts() {
    // Small batches packed by lz4, as pandas writes them; zstd; not packed.
    for name in ["types.feather", "types_zstd.feather", "types_plain.arrow"] {
        expect_all_types(name, &file(name));
    }
    let times = file("times.feather");
    assert_eq!(texts(&times, "day"), [Some("2020-01-01"), None]);
    assert_eq!(texts(&times, "clock"), [Some("12:30:00"), None]);
    assert_eq!(texts(&times, "stamp"), [Some("2020-01-01T06:30:00"), None]);
    assert_eq!(texts(&times, "second"), [Some("2020-01-01T06:30:00"), None]);
    assert_eq!(texts(&times, "view"), [Some("a"), None]);
    assert!(same(numbers(&times, "money"), &[1.5, f64::NAN]));
    assert_eq!(numbers(&times, "half"), [0.5, 2.0]);
}

#[test]
fn what_is_no_column_of_a_table_or_no_file_is_named() {
    let failure = |ignored: &str, name: &str| {
        let options = ReadOptions { ignored_columns: vec![ignored.into()], ..ReadOptions::default() };
        read(data(name), &options).unwrap_err().to_string()
    };
    let message = failure("blob", "odd.feather");
    assert!(message.contains("column 'list': a nested column cannot be read"), "{message}");
    let message = failure("list", "odd.feather");
    assert!(message.contains("column 'blob': binary data cannot be read"), "{message}");
    assert!(failure("int8", "no_rows.feather").ends_with("has column names but no rows of data"));
    let whole = std::fs::read(data("types.feather")).unwrap();
    for length in [6, 8, 100, whole.len() - 1] {
        let message = read_as("t.feather", &whole[..length], &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains("t.feather is not a readable Arrow file"), "{message}");
    }
    let message = read_as("t.feather", b"FEA1\0\0\0\0", &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.contains("Feather file of version 1"), "{message}");
}
