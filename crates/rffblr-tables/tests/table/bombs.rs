//! Small files that would become very large ones are refused, unless that is allowed.

use crate::common::{error, read_as};
use rffblr_tables::{Column, ReadOptions, Table, Values, write_parquet};
use std::io::Write;

fn allowed() -> ReadOptions {
    ReadOptions { allow_expansion: true, ..ReadOptions::default() }
}

#[test]
fn text_that_unpacks_to_very_much() {
    let mut packed = zstd::Encoder::new(Vec::new(), 1).unwrap();
    packed.write_all(b"a,b\n").unwrap();
    // Blank lines, which take no memory once they are read.
    (0..70).for_each(|_| packed.write_all(&vec![b'\n'; 1 << 20]).unwrap());
    packed.write_all(b"1,2\n").unwrap();
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 100_000);
    let message = error(read_as("t.csv.zst", &packed, &ReadOptions::default()));
    assert!(message.contains("--allow-expansion"), "{message}");
    assert_eq!(read_as("t.csv.zst", &packed, &allowed()).unwrap().rows(), 1);
}

#[test]
fn rows_that_are_all_the_same() {
    let values = Values::Numeric(vec![1.5; 10_000_000]);
    let table = Table::new(vec![Column { name: "a".into(), values }]).unwrap();
    let mut file = Vec::new();
    write_parquet(&table, &mut file).unwrap();
    assert!(file.len() < 100_000, "{}", file.len());
    let message = error(read_as("t.parquet", &file, &ReadOptions::default()));
    assert!(message.contains("--allow-expansion"), "{message}");
    assert_eq!(read_as("t.parquet", &file, &allowed()).unwrap().rows(), 10_000_000);
}

/// An archive of files that are not packed.
fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let (mut out, mut list) = (Vec::new(), Vec::new());
    for (name, text) in files {
        let mut sum = flate2::Crc::new();
        sum.update(text.as_bytes());
        let size = (text.len() as u32).to_le_bytes();
        let facts = [&[0; 8][..], &sum.sum().to_le_bytes(), &size, &size, &(name.len() as u16).to_le_bytes()].concat();
        let start = (out.len() as u32).to_le_bytes();
        out.extend([b"PK\x03\x04\x14\0".as_slice(), &facts, &[0, 0], name.as_bytes(), text.as_bytes()].concat());
        list.extend([b"PK\x01\x02\x14\0\x14\0".as_slice(), &facts, &[0; 12], &start, name.as_bytes()].concat());
    }
    let (count, size, start) = (files.len() as u16, list.len() as u32, out.len() as u32);
    out.extend(list);
    out.extend([b"PK\x05\x06\0\0\0\0".as_slice(), &count.to_le_bytes(), &count.to_le_bytes()].concat());
    out.extend([&size.to_le_bytes()[..], &start.to_le_bytes(), &[0, 0]].concat());
    out
}

/// A workbook with one sheet of these cells, each with its place and its number.
fn workbook(cells: &[(&str, u32, f64)]) -> Vec<u8> {
    let row = |(place, row, number): &(&str, u32, f64)| {
        format!("<row r=\"{row}\"><c r=\"{place}{row}\"><v>{number}</v></c></row>")
    };
    let sheet = format!(
        "<worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><sheetData>{}</sheetData></worksheet>",
        cells.iter().map(row).collect::<String>()
    );
    let relation = |id: &str, kind: &str, target: &str| {
        format!(
            "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship Id=\"{id}\" \
             Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}\" Target=\"{target}\"/>\
             </Relationships>"
        )
    };
    archive(&[
        ("[Content_Types].xml", "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"/>"),
        ("_rels/.rels", &relation("r1", "officeDocument", "xl/workbook.xml")),
        (
            "xl/workbook.xml",
            "<workbook xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\" \
             xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"><sheets><sheet name=\"s\" \
             sheetId=\"1\" r:id=\"r1\"/></sheets></workbook>",
        ),
        ("xl/_rels/workbook.xml.rels", &relation("r1", "worksheet", "worksheets/sheet1.xml")),
        ("xl/worksheets/sheet1.xml", &sheet),
    ])
}

#[test]
fn cells_that_are_far_apart() {
    let near = read_as("t.xlsx", &workbook(&[("A", 1, 7.0), ("A", 2, 1.0), ("A", 4, 2.0)]), &ReadOptions::default());
    assert_eq!(near.unwrap().rows(), 2);
    let far = workbook(&[("A", 1, 7.0), ("XFD", 1_048_576, 1.0)]);
    let message = error(read_as("t.xlsx", &far, &ReadOptions::default()));
    assert!(message.contains("--allow-expansion"), "{message}");
}

/// Three bytes of a sparse row stand for a row of any length.
#[test]
fn sparse_rows_of_many_columns() {
    let table = |columns: usize, rows: usize| {
        let mut text = String::from("@relation r\n");
        (0..columns).for_each(|d| text += &format!("@attribute c{d} numeric\n"));
        text + "@data\n{0 1}\n" + &"{}\n".repeat(rows - 1)
    };
    let large = table(20_000, 1000);
    let message = error(read_as("t.arff", large.as_bytes(), &ReadOptions::default()));
    assert!(message.contains("--allow-expansion"), "{message}");
    let read = read_as("t.arff", large.as_bytes(), &allowed()).unwrap();
    assert_eq!((read.columns().len(), read.rows()), (20_000, 1000));
    // What is left out takes no memory.
    let ignored =
        ReadOptions { ignored_columns: (1..20_000).map(|d| format!("c{d}")).collect(), ..ReadOptions::default() };
    assert_eq!(read_as("t.arff", large.as_bytes(), &ignored).unwrap().rows(), 1000);
    // Some tables are sparse, and not for the worse.
    assert_eq!(read_as("t.arff", table(300, 3000).as_bytes(), &ReadOptions::default()).unwrap().rows(), 3000);
}
