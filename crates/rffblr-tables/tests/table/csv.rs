//! Reading CSV and TSV: types, quotes, delimiters, line ends.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::{csv, csv_error, levels, numbers, read_as, same, texts};
use rffblr_tables::{Format, ReadOptions, read};

#[test]
fn types_and_missing_cells() {
    let table = csv("x,y,word\n1,NA,b\n -2.5 ,?,a\n1e3,,\nnan,null,b\nN/A,None, na \n");
    assert_eq!(table.rows(), 5);
    assert!(same(numbers(&table, "x"), &[1.0, -2.5, 1000.0, f64::NAN, f64::NAN]));
    assert!(same(numbers(&table, "y"), &[f64::NAN; 5]));
    assert_eq!(texts(&table, "word"), [Some("b"), Some("a"), None, Some("b"), None]);
    assert_eq!(levels(&table, "word"), ["b", "a"]);
}

#[test]
fn a_column_may_turn_to_text_late_and_keeps_its_spelling() {
    // Numbers come first, so the column is read twice; 007 must not become 7.
    let table = csv("id,x\n007,1\n,2\n1.50,3\nabc,4\n007,5\n");
    assert_eq!(texts(&table, "id"), [Some("007"), None, Some("1.50"), Some("abc"), Some("007")]);
    assert_eq!(levels(&table, "id"), ["007", "1.50", "abc"]);
    assert_eq!(numbers(&table, "x"), [1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn quotes() {
    let table = csv("\"a,1\",b\n\"x\"\"y\",\"1\"\n \"two\nlines\" ,2\n5\" pipe,3\n\"\"\"\", \"4\"\n");
    assert_eq!(texts(&table, "a,1"), [Some("x\"y"), Some("two\nlines"), Some("5\" pipe"), Some("\"")]);
    assert_eq!(numbers(&table, "b"), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn line_ends_blank_lines_and_byte_order_mark() {
    let plain = csv("a,b\n1,x\n2,y\n");
    for text in [
        "a,b\r\n1,x\r\n2,y\r\n",
        "a,b\r1,x\r2,y",
        "a,b\n1,x\n2,y",
        "\u{feff}a,b\n1,x\n2,y",
        "\n \na,b\n\n1,x\n  \n2,y\n\n\n",
        "\u{feff}\"a\",\"b\"\r\n\"1\",\"x\"\r\n\"2\",\"y\"\r\n",
    ] {
        assert_eq!(csv(text), plain, "{text:?}");
    }
}

#[test]
fn errors_of_a_spreadsheet_are_missing_cells() {
    let table = csv("x,word\n#N/A,#REF!\n#DIV/0!,a\n1.5,#NAME?\n#VALUE!,b\n#NUM!,#NULL!\n#n/d,b\n");
    let nan = f64::NAN;
    assert!(same(numbers(&table, "x"), &[nan, nan, 1.5, nan, nan, nan]));
    assert_eq!(texts(&table, "word"), [None, Some("a"), None, Some("b"), None, Some("b")]);
}

#[test]
fn a_first_line_may_name_the_delimiter() {
    let plain = csv("a,b\n1,x\n2,y\n");
    for text in [
        "sep=;\na;b\n1;x\n2;y\n",
        "SEP=;\r\na;b\r\n1;x\r\n2;y\r\n",
        "sep=;\ra;b\r1;x\r2;y\r",
        "\u{feff}sep=\t\na\tb\n1\tx\n2\ty\n",
        "\"sep=|\"\na|b\n1|x\n2|y\n",
        "sep=:\na:b\n1:x\n2:y\n",
        "sep= \na b\n1 x\n2 y\n",
    ] {
        assert_eq!(csv(text), plain, "{text:?}");
        assert_eq!(read_as("t.tsv", text.as_bytes(), &ReadOptions::default()).unwrap(), plain, "{text:?}");
    }
    // The option wins; a column may have such a name; lines keep their numbers.
    let options = ReadOptions { delimiter: Some(b','), ..ReadOptions::default() };
    assert_eq!(read_as("t.csv", b"sep=;\na,b\n1,x\n2,y\n", &options).unwrap(), plain);
    assert_eq!(numbers(&csv("sep=,b\n1,2\n"), "sep="), [1.0]);
    assert!(csv_error("sep=;\na;b\n1;2\n1;2;3\n").starts_with("t.csv, line 4: 3 cells"));
    assert!(csv_error("sep=;\n").contains("is empty"));
}

#[test]
fn a_single_column_distinguishes_missing_cells_from_blank_lines() {
    let table = csv("a\n1\n\n\"\"\n3\n");
    assert!(same(numbers(&table, "a"), &[1.0, f64::NAN, 3.0]));
}

#[test]
fn delimiters_are_recognised() {
    let expected = csv("a,b,c\n1,2,x\n3,4,y\n");
    for delimiter in [";", "\t", "|"] {
        let text = "a,b,c\n1,2,x\n3,4,y\n".replace(',', delimiter);
        assert_eq!(csv(&text), expected, "{delimiter:?}");
    }
    // Commas inside cells, quoted or not, do not mislead.
    let table = csv("name;x\n\"Doe, Jane\";1\nRoe, Rich;2\nSmith;3\n");
    assert_eq!(texts(&table, "name"), [Some("Doe, Jane"), Some("Roe, Rich"), Some("Smith")]);
    // The tab wins over a comma that only the header has.
    let table = csv("a, first\tb\n1\t2\n");
    assert_eq!(numbers(&table, "a, first"), [1.0]);
}

#[test]
fn formats_by_name_and_by_content() {
    let tsv = "a\tb\n1,5\t2\n";
    let options = ReadOptions::default();
    assert_eq!(numbers(&read_as("t.tsv", tsv.as_bytes(), &options).unwrap(), "a"), [1.5]);
    let arff = "\n% note\n@RELATION r\n@attribute a numeric\n@data\n4\n";
    let table = read_as("t.unknown", arff.as_bytes(), &options).unwrap();
    assert_eq!(numbers(&table, "a"), [4.0]);
    let table = read_as("t.txt", b"a;b\n1;2\n", &options).unwrap();
    assert_eq!(numbers(&table, "b"), [2.0]);
    let parquet = std::fs::read(crate::common::data("required.parquet")).unwrap();
    let table = read_as("t", &parquet, &options).unwrap();
    assert_eq!(numbers(&table, "x"), [1.5, 2.5]);
    let forced = ReadOptions { format: Some(Format::Csv), delimiter: Some(b':'), ..ReadOptions::default() };
    let table = read_as("t.arff", b"a:b\n1:2\n", &forced).unwrap();
    assert_eq!(numbers(&table, "b"), [2.0]);
}

#[test]
fn options_settle_the_type_of_a_column() {
    let options = ReadOptions {
        text_columns: vec!["code".into()],
        numeric_columns: vec!["y".into()],
        ignored_columns: vec!["note".into()],
        ..ReadOptions::default()
    };
    let text = "code,note,y\n01,\u{e9},1\n1,inf,\n01,1,3\n";
    let table = read_as("t.csv", text.as_bytes(), &options).unwrap();
    assert_eq!(texts(&table, "code"), [Some("01"), Some("1"), Some("01")]);
    assert!(same(numbers(&table, "y"), &[1.0, f64::NAN, 3.0]));
    assert_eq!(table.columns().len(), 2);
}

#[test]
fn few_numbers_or_few_different_ones_may_stand_among_text() {
    // 19 of 20 cells are numbers, but only grades from 0 to 9.
    let mut text = String::from("grade,x\n");
    for i in 0..19 {
        text += &format!("{},1\n", i % 10);
    }
    text += "absent,1\n";
    assert_eq!(levels(&csv(&text), "grade").len(), 11);
    // Many different numbers, but only 88 % of the cells.
    let mut text = String::from("id,x\n");
    for i in 0..88 {
        text += &format!("{i},1\n");
    }
    for _ in 0..12 {
        text += "none given,1\n";
    }
    assert_eq!(levels(&csv(&text), "id").len(), 89);
    // Text that spells infinity is not a number in a column of text.
    assert_eq!(texts(&csv("a,b\ninf,1\nsup,1\n"), "a").len(), 2);
}

/// Larger than the pieces in which files are read, with cells that straddle them.
#[test]
fn large_files_with_quoted_line_breaks() {
    let rows = 60_000;
    let mut text = String::from("n,note,late\n");
    for i in 0..rows {
        let late = if i == rows - 1 { "x" } else { "007" };
        text += &format!("{},\"line one of \"\"{i}\"\"\nline, two\",{late}\n", i as f64 / 8.0);
    }
    assert!(text.len() > 2 << 20);
    let table = csv(&text);
    assert_eq!(table.rows(), rows);
    let n = numbers(&table, "n");
    assert!((0..rows).all(|i| n[i] == i as f64 / 8.0));
    let notes = texts(&table, "note");
    for i in [0, 1, rows / 2, rows - 1] {
        let expected = format!("line one of \"{i}\"\nline, two");
        assert_eq!(notes[i], Some(expected.as_str()));
    }
    assert!((0..rows).all(|i| notes[i].unwrap().contains(&format!("\"{i}\""))));
    assert_eq!(levels(&table, "late"), ["007", "x"]);
}

#[test]
fn numbers_are_rounded_correctly() {
    // From the test suite notes of David Gay's strtod and the limits of the format.
    let cases = [
        ("2.2250738585072011e-308", 0x000f_ffff_ffff_ffff_u64),
        ("2.2250738585072014e-308", 0x0010_0000_0000_0000),
        ("4.9406564584124654e-324", 1),
        ("1.7976931348623157e308", 0x7fef_ffff_ffff_ffff),
        ("9007199254740993", 0x4340_0000_0000_0000),
        ("9007199254740993.0000000000000000000000001", 0x4340_0000_0000_0001),
        ("-0", 0x8000_0000_0000_0000),
    ];
    for (text, bits) in cases {
        let table = csv(&format!("a,b\n{text},1\n"));
        assert_eq!(numbers(&table, "a")[0].to_bits(), bits, "{text}");
    }
}

/// Run by [`standard_input_can_be_read`] as a process of its own.
#[test]
#[ignore = "reads standard input"]
fn child_reads_standard_input() {
    match read("-", &ReadOptions::default()) {
        Ok(table) => println!("<{:?}>", table.columns()),
        Err(error) => println!("<{error}>"),
    }
}

fn through_standard_input(input: &[u8]) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "csv::child_reads_standard_input", "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (start, end) = (text.find('<').unwrap(), text.rfind('>').unwrap());
    text[start + 1..end].to_owned()
}

#[test]
fn standard_input_can_be_read() {
    // Needs the second pass as well: the first cell of 'id' is a number.
    let text = "id;x\n007;1\nabc;2\n";
    let expected = format!("{:?}", csv(text).columns());
    assert_eq!(through_standard_input(text.as_bytes()), expected);
    let parquet = std::fs::read(crate::common::data("required.parquet")).unwrap();
    assert!(through_standard_input(&parquet).contains("[1.5, 2.5]"));
    let message = through_standard_input(b"");
    assert!(message.starts_with("standard input is empty"), "{message}");
}

#[test]
fn a_lone_point_is_a_missing_cell() {
    let table = csv("x,word\n1,a\n.,.\n .5 ,b\n");
    assert!(same(numbers(&table, "x"), &[1.0, f64::NAN, 0.5]));
    assert_eq!(texts(&table, "word"), [Some("a"), None, Some("b")]);
}

/// Of columns of text that are nearly numbers the note says why, and of a stray cell where it is.
#[test]
fn text_that_is_nearly_numbers_is_named() {
    let rows = |cell: fn(usize) -> String| (0..20).map(cell).map(|cell| format!("1,\"{cell}\"\n")).collect::<String>();
    let told = |cell: fn(usize) -> String| {
        let table = csv(&format!("a,x\n{}", rows(cell)));
        table.notes().iter().map(ToString::to_string).collect::<Vec<_>>().join("|")
    };
    let stray = |n: usize| if n == 7 { "unknown".into() } else { (n % 9).to_string() };
    let expected =
        "column 'x' is text because of 'unknown' in line 9; 19 other cells are numbers; leave a missing value empty";
    assert_eq!(told(stray), expected);
    let first = |n: usize| if n < 2 { "low".into() } else { (n % 9).to_string() };
    let expected = "column 'x' is text because of 2 cells, the first 'low' in line 2; 18 other cells are numbers; leave a missing value empty";
    assert_eq!(told(first), expected);
    assert!(told(|n| format!("${n}.90")).contains("20 cells such as '$0.90' with a sign or unit; write the numbers"));
    assert!(told(|n| format!("{n},50 €")).contains("'0,50 €' with a sign or unit"));
    assert!(told(|n| format!("{n} kg")).contains("'0 kg' with a sign or unit"));
    let booked = |n: usize| if n.is_multiple_of(2) { format!("({n}.25)") } else { n.to_string() };
    assert!(told(booked).contains("10 cells such as '(0.25)' with brackets; write negative numbers with a minus"));
    // A mark in the place of more than one number in ten, where the numbers differ.
    let marked = |n: usize| if n % 4 == 1 { "-".into() } else { (n * n).to_string() };
    let expected = "column 'x' is text because of 5 cells with '-', the first in line 3; 15 other cells are numbers; leave a missing value empty";
    assert_eq!(told(marked), expected);
    assert_eq!(told(|n| if n % 4 == 1 { format!("-{}", ["", "-"][n / 4 % 2]) } else { (n * n).to_string() }), "");
    assert_eq!(told(|n| if n % 4 == 1 { "-".into() } else { (n % 7).to_string() }), "");
    // Words, codes and two units are what they are.
    let others: [fn(usize) -> String; 3] =
        [|n| format!("A{n}"), |n| ["1st", "2nd", "3rd"][n % 3].into(), |n| format!("{n} {}", ["kg", "g"][n % 2])];
    for cell in others {
        assert_eq!(told(cell), "");
    }
    // A column that was asked to be text is one.
    let text = ReadOptions { text_columns: vec!["x".into()], ..ReadOptions::default() };
    let table = read_as("t.csv", format!("a,x\n{}", rows(stray)).as_bytes(), &text).unwrap();
    assert!(table.notes().is_empty());
}
