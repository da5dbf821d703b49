//! Files as people have them: workbooks, packed files, other encodings, decimal commas, limits, row names, dates.

use std::io::Write;

use crate::common::{csv, csv_error, data, error, numbers, read_as, same, texts};
use rffblr_tables::{Decimal, Parts, ReadOptions, Table, TableFile, TextEncoding, read};

fn notes(table: &Table) -> Vec<String> {
    table.notes().iter().map(ToString::to_string).collect()
}

#[test]
fn workbooks() {
    let table = read(data("visits.xlsx"), &ReadOptions::default()).unwrap();
    assert_eq!(texts(&table, "when"), [Some("2024-05-31 14:30:00"), Some("2024-06-01"), Some("1999-12-31")]);
    assert_eq!(numbers(&table, "dose"), [1.5, 2.0, -0.25]);
    assert_eq!(texts(&table, "note"), [Some("a, \"b\""), Some("two lines"), None]);
    assert_eq!(texts(&table, "seen"), [Some("true"), Some("false"), Some("true")]);
    for sheet in ["other", "2", "#2"] {
        let options = ReadOptions { sheet: Some(sheet.into()), ..ReadOptions::default() };
        assert_eq!(numbers(&read(data("visits.xlsx"), &options).unwrap(), "x"), [7.0]);
    }
    let options = ReadOptions { sheet: Some("third".into()), ..ReadOptions::default() };
    assert!(error(read(data("visits.xlsx"), &options)).contains("no sheet 'third'; it has 'visits', 'other'"));
    let table = read(data("visits.ods"), &ReadOptions::default()).unwrap();
    assert_eq!(texts(&table, "when"), [Some("2024-05-31"), Some("2024-06-01")]);
    assert!(same(numbers(&table, "dose"), &[1.5, f64::NAN]));
    // Under any name, and as it comes.
    let bytes = std::fs::read(data("visits.xlsx")).unwrap();
    assert_eq!(read_as("t.csv", &bytes, &ReadOptions::default()).unwrap().rows(), 3);
    let cut = error(read_as("t.xlsx", &bytes[..2000], &ReadOptions::default()));
    assert!(cut.starts_with("t.xlsx is not a readable workbook"), "{cut}");
    let blocks = Parts::open(&[data("visits.xlsx")], &ReadOptions::default()).err().unwrap().to_string();
    assert!(blocks.contains("a workbook cannot be read block by block"), "{blocks}");
}

#[test]
fn dates_and_decimals_of_parquet() {
    let table = read(data("times.parquet"), &ReadOptions::default()).unwrap();
    assert_eq!(texts(&table, "day"), [Some("2024-05-31"), None, Some("1969-12-31")]);
    assert_eq!(texts(&table, "ms"), [Some("2024-05-31T14:30:00.25"), Some("1970-01-01"), None]);
    for name in ["us", "ns"] {
        assert_eq!(texts(&table, name), [Some("2024-05-31T14:30:05"), None, Some("2000-01-01")], "{name}");
    }
    assert_eq!(texts(&table, "clock"), [Some("09:15:00"), Some("00:00:00"), None]);
    assert!(same(numbers(&table, "price"), &[12.34, f64::NAN, -0.05]));
    // The index of pandas.
    assert!(table.column("__index_level_0__").is_none());
    assert!(notes(&table)[0].contains("column #7 has no name"), "{:?}", table.notes());
}

#[test]
fn packed_files_alone_and_in_blocks() {
    let text = "a,b\n1,x\n2,y\n";
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    let files = [("t.csv.gz", gzip.finish().unwrap()), ("t.tsv.zst", zstd::encode_all(text.as_bytes(), 3).unwrap())];
    let comma = ReadOptions { delimiter: Some(b','), ..ReadOptions::default() };
    for (name, bytes) in &files {
        assert_eq!(read_as(name, bytes, &comma).unwrap(), csv(text), "{name}");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let parts = Parts::open(&[folder.path().join(name)], &comma).unwrap();
        let types = parts.types().unwrap();
        let block = parts.blocks(&types, 10).next().unwrap().unwrap();
        assert_eq!(block.table, csv(text), "{name}");
    }
    let parquet = std::fs::read(data("required.parquet")).unwrap();
    let packed = zstd::encode_all(&parquet[..], 3).unwrap();
    assert_eq!(numbers(&read_as("t.parquet.zst", &packed, &ReadOptions::default()).unwrap(), "x"), [1.5, 2.5]);
    let (name, bytes) = &files[0];
    assert!(error(read_as(name, &bytes[..bytes.len() - 9], &comma)).starts_with("cannot read"));
}

#[test]
fn encodings() {
    let text = "größe;café\n1;ü\n2;é\n";
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let latin1: Vec<u8> = text.chars().map(|letter| letter as u8).collect();
    let plain = csv(text);
    for bytes in [utf16(text), [&[0xff, 0xfe], &utf16(text)[..]].concat()] {
        assert_eq!(read_as("t.csv", &bytes, &ReadOptions::default()).unwrap(), plain);
    }
    let found = read_as("t.csv", &latin1, &ReadOptions::default()).unwrap();
    assert_eq!(found.columns(), plain.columns());
    assert!(notes(&found)[0].contains("read as Latin-1"), "{:?}", notes(&found));
    let options = ReadOptions { encoding: Some(TextEncoding::Latin1), ..ReadOptions::default() };
    assert_eq!(read_as("t.csv", &latin1, &options).unwrap(), plain);
    // A letter far behind the first rows.
    let mut long = b"a;b\n".to_vec();
    (0..40_000).for_each(|_| long.extend(b"1;x\n"));
    long.extend(b"1;\xfc\n");
    let found = read_as("t.csv", &long, &ReadOptions::default()).unwrap();
    assert_eq!(texts(&found, "b")[40_000], Some("ü"));
    let options = ReadOptions { encoding: Some(TextEncoding::Utf8), ..ReadOptions::default() };
    assert!(error(read_as("t.csv", &long, &options)).contains("line 40002: the text is not UTF-8"));
}

#[test]
fn decimal_commas_and_groups() {
    let german = csv("a;b;c\n1,5;1.234,50;1.234\n-0,25;12;999\n");
    assert_eq!(numbers(&german, "a"), [1.5, -0.25]);
    assert_eq!(numbers(&german, "b"), [1234.5, 12.0]);
    assert_eq!(numbers(&german, "c"), [1234.0, 999.0]);
    let english = csv("a,b\n\"1,234.5\",1\n\"1,234,567\",2\n7,3\n");
    assert_eq!(numbers(&english, "a"), [1234.5, 1_234_567.0, 7.0]);
    // Not clear: the reader asks, and does as it is told.
    let text = "a,b\n\"1,234\",1\n\"2,345\",2\n";
    assert!(csv_error(text).contains("say whether the decimal mark is a comma or a point"), "{}", csv_error(text));
    for (decimal, expected) in [(Decimal::Comma, [1.234, 2.345]), (Decimal::Point, [1234.0, 2345.0])] {
        let options = ReadOptions { decimal: Some(decimal), ..ReadOptions::default() };
        assert_eq!(numbers(&read_as("t.csv", text.as_bytes(), &options).unwrap(), "a"), expected);
    }
}

#[test]
fn limits_among_numbers_are_missing() {
    let table = csv("lead,zinc,age,state\n<0.5,1,<18,ND\n1.5,n.d.,>65,OH\n>100,3,<18,ND\n2,<LOD,>65,OH\n");
    assert!(same(numbers(&table, "lead"), &[f64::NAN, 1.5, f64::NAN, 2.0]));
    assert!(same(numbers(&table, "zinc"), &[1.0, f64::NAN, 3.0, f64::NAN]));
    // Nothing but limits, and letters that mean something else among texts.
    assert_eq!(texts(&table, "age"), [Some("<18"), Some(">65"), Some("<18"), Some(">65")]);
    assert_eq!(texts(&table, "state"), [Some("ND"), Some("OH"), Some("ND"), Some("OH")]);
    let note =
        "limits are no values and count as missing: 'lead' (2 cells such as '<0.5'), 'zinc' (2 cells such as '<LOD')";
    assert_eq!(notes(&table), [note]);
}

#[test]
fn row_names_are_skipped() {
    let plain = csv("x,y\n1,2\n3,4\n");
    for text in [
        ",x,y\n0,1,2\n1,3,4\n",
        "\"\",\"x\",\"y\"\n\"r1\",1,2\n\"r2\",3,4\n",
        "Unnamed: 0,x,y\n0,1,2\n1,3,4\n",
        // R's write.table: no cell above the names; and lines that end in a delimiter.
        "x,y\nr1,1,2\nr2,3,4\n",
        "x,y\n1,2,\n3,4,\n",
    ] {
        let found = csv(text);
        assert_eq!(found.columns(), plain.columns(), "{text}");
        assert!(notes(&found)[0].contains("has no name"), "{text}");
    }
    assert_eq!(
        csv_error("a title,,\nx,y,z\n1,2,3\n"),
        "t.csv: 2 of the 3 columns have no name; write the names into the first line, and remove any title above them"
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, "x,y\nr1,1,<2\nr2,3,4\n").unwrap();
    let mut file = TableFile::open(&path, &ReadOptions::default()).unwrap();
    assert_eq!(file.names(&ReadOptions::default()).unwrap(), ["", "x", "y"]);
    let parts = Parts::open(&[path], &ReadOptions::default()).unwrap();
    let types = parts.types().unwrap();
    let told: Vec<String> = types.notes().iter().map(ToString::to_string).collect();
    assert!(told[0].contains("column #1 has no name") && told[1].contains("'y' (1 cell such as '<2')"), "{told:?}");
    let block = parts.blocks(&types, 9).next().unwrap().unwrap();
    assert!(same(numbers(&block.table, "y"), &[f64::NAN, 4.0]) && block.table.columns().len() == 2);
}

#[test]
fn what_is_no_table_is_called_what_it_is() {
    for (name, bytes, says) in [
        (
            "t.feather",
            &b"FEA1\0\0"[..],
            "t.feather is a Feather file of version 1, which cannot be read; write it again",
        ),
        ("t.csv", b"\x89HDF\r\n", "an HDF5 file"),
        ("t.zip", b"PK\x03\x04 and more than thirty bytes of it", "a ZIP archive, which cannot be read; unpack it"),
        ("t.json", b"[{\"a\": 1}]", "is JSON"),
        ("t.csv", b"<!DOCTYPE html><html>", "a web page"),
        ("t.sav", b"$FL2@(#)", "an SPSS file"),
    ] {
        let message = error(read_as(name, bytes, &ReadOptions::default()));
        assert!(message.contains(says), "{message}");
    }
    // A name that looks like JSON is one.
    assert_eq!(numbers(&csv("[x],y\n1,2\n"), "[x]"), [1.0]);
}
