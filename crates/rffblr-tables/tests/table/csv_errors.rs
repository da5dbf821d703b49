//! Every way in which a CSV file can be refused, with the whole message.

use crate::common::{csv, csv_error, error, levels, read_as};
use rffblr_tables::{ReadOptions, TableError, TextEncoding, read};

#[test]
fn nothing_to_read() {
    let empty = "t.csv is empty; expected column names followed by one row per line";
    for text in ["", "\n\n", "  \n", "\u{feff}"] {
        assert_eq!(csv_error(text), empty, "{text:?}");
    }
    let message = "t.csv has column names but no rows of data";
    for text in ["a,b", "a,b\n", "a,b\n\n  \n"] {
        assert_eq!(csv_error(text), message, "{text:?}");
    }
}

#[test]
fn unreadable_paths_give_the_reason_of_the_system() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = read(folder.path().join("none.csv"), &ReadOptions::default());
    let message = outcome.unwrap_err().to_string();
    assert!(message.starts_with("cannot read "), "{message}");
    assert!(message.contains("none.csv: No such file"), "{message}");
    let message = read(folder.path(), &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(message, format!("{} is a folder, not a table; name a file", folder.path().display()));
}

#[test]
fn ragged_rows_name_the_line_even_after_quoted_line_breaks() {
    assert_eq!(
        csv_error("a,b\n1,2\n3\n"),
        "t.csv, line 3: 1 cells where 2 columns are declared; write a delimiter for every missing cell too"
    );
    assert_eq!(
        csv_error("a,b\r\n\"x\r\ny\",2\r\n\r\n1,2,3\r\n"),
        "t.csv, line 5: 3 cells where 2 columns are declared; put text that holds the delimiter in double quotes"
    );
    assert_eq!(
        csv_error("a,b\n1,2\n\"x\ny\nz\"\n3,4\n"),
        "t.csv, line 3: 1 cells where 2 columns are declared; this row runs over several lines, so look for a \
         double quote too many"
    );
    assert_eq!(
        csv_error("A title\na,b\n1,2\n"),
        "t.csv, line 2: 2 cells where 1 columns are declared; if the file starts with a title, remove it; put text \
         that holds the delimiter in double quotes"
    );
    // Far into the file, beyond the first piece that is read.
    let mut text = String::from("a,b\n");
    for _ in 0..300_000 {
        text += "\"1\n\",2\n";
    }
    text += "1\n";
    assert!(csv_error(&text).starts_with("t.csv, line 600002: 1 cells"));
}

#[test]
fn quotes_that_do_not_pair_up() {
    assert_eq!(
        csv_error("a,b\n1,2\n\"3,4\n5,6\n"),
        "t.csv, line 3: a double quote that opens in this row is never closed"
    );
    assert_eq!(
        csv_error("a,b\n\"x\n\",\"he said \"hi\"\"\n"),
        "t.csv, line 3: a double quote closes before the cell ends; write a quote inside quoted text twice"
    );
}

#[test]
fn names_must_be_there_and_differ() {
    assert_eq!(csv_error("a,b,a\n1,2,3\n"), "t.csv: columns 1 and 3 are both named 'a'; rename one of them");
}

#[test]
fn not_plain_utf8_text() {
    let options = ReadOptions::default();
    let message = error(read_as("t.csv", b"a,b\n1,2\n\0,3\n", &options));
    assert!(message.starts_with("t.csv, line 3: found a zero byte"), "{message}");
    let options = ReadOptions { encoding: Some(TextEncoding::Utf8), ..options };
    let latin = "t.csv, line 3: the text is not UTF-8; name its encoding (Latin-1 or UTF-16), or save it as UTF-8 (in a \
                 spreadsheet: 'CSV UTF-8')";
    assert_eq!(error(read_as("t.csv", b"a,b\n1,2\n\xe9,3\n", &options)), latin);
    assert_eq!(error(read_as("t.csv", b"a,b\nx,2\n\xe9,3\n", &options)), latin);
    assert_eq!(error(read_as("t.csv", b"\n\na,\xe9\n1,2\n", &options)), latin);
}

#[test]
fn lines_without_end() {
    let message = "has more than 64 MiB or 1048576 cells; look for a missing line break or a double quote that is \
                   never closed";
    let mut text = b"a,b\n1,2\n".to_vec();
    text.resize((64 << 20) + 100, b'7');
    let found = error(read_as("t.csv", &text, &ReadOptions::default()));
    assert_eq!(found, format!("t.csv, line 3: the row that starts here {message}"));
    let mut text = b"a,b\n1,\"x\n".to_vec();
    text.resize((64 << 20) + 100, b'\n');
    let found = error(read_as("t.csv", &text, &ReadOptions::default()));
    assert_eq!(found, format!("t.csv, line 2: the row that starts here {message}"));
    let commas = vec![b','; (1 << 20) + 1];
    let found = error(read_as("t.csv", &commas, &ReadOptions::default()));
    assert_eq!(found, format!("t.csv, line 1: the row that starts here {message}"));
}

#[test]
fn wrong_delimiters_are_explained() {
    assert_eq!(
        csv_error("Export of May\na;b;c\n1;2;3\n"),
        "t.csv, line 2: with ',' as the delimiter there is only one column, but this line holds 2 of ';'; choose \
         ';' as the delimiter and remove any title above the header"
    );
    let forced = |delimiter| ReadOptions { delimiter: Some(delimiter), ..ReadOptions::default() };
    let message = error(read_as("t.csv", b"a\tb\n1,5\t2,5\n", &forced(b',')));
    assert!(message.contains("with ',' as the delimiter"), "{message}");
    assert!(message.contains("holds 1 of the tab"), "{message}");
    let message = error(read_as("t.tsv", b"a,b,c\n1,2,3\n", &ReadOptions::default()));
    assert!(message.contains("with the tab as the delimiter"), "{message}");
    assert!(message.contains("2 of ','"), "{message}");
    let message = csv_error("a b c\n1 2.5 3\n");
    assert!(message.contains("line 2"), "{message}");
    assert!(message.contains("2 of the blank"), "{message}");
    for delimiter in *b"\"\r\n" {
        let outcome = read_as("t.csv", b"a,b\n1,2\n", &forced(delimiter));
        assert!(matches!(outcome, Err(TableError::BadDelimiter)));
    }
}

#[test]
fn a_slip_in_a_column_of_numbers() {
    let mut text = String::from("id,weight\n");
    for i in 0..40 {
        text += &format!("\"a\n\",{}\n", 60.5 + f64::from(i));
    }
    let good = text.clone();
    text += "b,7O.5\nc,80\n";
    let message = "t.csv, line 82, column 'weight': '7O.5' is not a number, but 41 of the 42 values in this column \
                   are; correct it, leave the cell empty if the value is missing, or list the column as text";
    assert_eq!(csv_error(&text), message);
    // The same when the slip comes before any number.
    let text = good.replacen("60.5", "6o.5", 1);
    let message = csv_error(&text);
    assert!(message.starts_with("t.csv, line 3, column 'weight': '6o.5'"), "{message}");
    assert!(message.contains("39 of the 40 values"), "{message}");
    let options = ReadOptions { text_columns: vec!["weight".into()], ..ReadOptions::default() };
    assert!(read_as("t.csv", text.as_bytes(), &options).is_ok());
}

#[test]
fn numeric_columns_take_numbers_only() {
    let options = ReadOptions { numeric_columns: vec!["y".into()], ..ReadOptions::default() };
    let message = "t.csv, line 3, column 'y': 'high' is not a number, and this column must be numeric; correct it, \
                   or leave the cell empty if the value is missing";
    for first in ["1", "NA"] {
        let text = format!("x,y\na,{first}\nb, high \nc,low\n");
        assert_eq!(error(read_as("t.csv", text.as_bytes(), &options)), message);
    }
    // The first flaw of the file is reported, not the first column's.
    let options = ReadOptions { numeric_columns: vec!["x".into(), "y".into()], ..ReadOptions::default() };
    let message = error(read_as("t.csv", b"x,y\n1,2\n1,bad\nbad,2\n", &options));
    assert!(message.starts_with("t.csv, line 3, column 'y'"), "{message}");
}

#[test]
fn infinite_values() {
    for text in ["inf", "-Infinity", "1e999"] {
        let message = csv_error(&format!("a,b\n1,2\n3,{text}\n"));
        assert_eq!(
            message,
            format!(
                "t.csv, line 3, column 'b': '{text}' is not a finite number; correct it, leave the cell empty if the \
                 value is missing, or ignore the column"
            )
        );
    }
}

#[test]
fn commas_inside_numbers() {
    // Where commas and points contradict each other; a file with commas alone is read.
    let message = "t.csv, line 3, column 'x': '1,5' has a comma inside the number; say whether the decimal mark is a comma \
                   or a point, write decimals with a point and no thousands separator, or list the column as text";
    assert_eq!(csv_error("x;y\n;2.5\n1,5;3\n-2;4\n"), message);
    assert_eq!(csv_error("x;y\n7;2.5\n1,5;3\n-2;4\n"), message);
    assert!(csv_error("x,y\n\"1,234\",1\n").contains("'1,234' has a comma"));
}

#[test]
fn percent_signs() {
    let message = csv_error("x;y\n12.3%;2\n7,5 %;3\n-2;4\n");
    let expected = "t.csv, column 'x': 2 of the 3 values are numbers with a percent sign, such as '12.3%'; remove the \
                    sign, or list the column as text";
    assert_eq!(message, expected);
    // Nearly all, and numbers first, so that the column is read twice.
    let rows: String = (0..19).map(|n| format!("{n}.5%,1\n")).collect();
    assert!(csv_error(&format!("x,y\n7,1\n{rows}low,2\n")).contains("19 of the 21 values"));
    // Words with a percentage among them are words.
    assert_eq!(levels(&csv("x,y\nlow,1\n5%,2\nhigh,3\n"), "x"), ["low", "5%", "high"]);
    let options = ReadOptions { text_columns: vec!["x".into()], ..ReadOptions::default() };
    assert!(read_as("t.csv", b"x,y\n1%,2\n2%,3\n", &options).is_ok());
}

#[test]
fn options_must_fit_the_file() {
    let options = ReadOptions { numeric_columns: vec!["wieght".into()], ..ReadOptions::default() };
    let text = b"weight,y\n1,2\n";
    assert_eq!(error(read_as("t.csv", text, &options)), "t.csv has no column 'wieght'; did you mean 'weight'?");
    let options = ReadOptions { ignored_columns: vec!["colour".into()], ..ReadOptions::default() };
    assert_eq!(error(read_as("t.csv", text, &options)), "t.csv has no column 'colour'; its columns are 'weight', 'y'");
    // A delimiter that no program would guess shows in what the only column is called.
    assert_eq!(
        error(read_as("t.csv", b"weight~colour\n1~2\n", &options)),
        "t.csv has no column 'colour'; all it has is one column, 'weight~colour': name the delimiter if this is not one name"
    );
    let many = (0..12).map(|n| format!("c{n}")).collect::<Vec<_>>().join(",");
    let told = error(read_as("t.csv", format!("{many}\n{many}\n").as_bytes(), &options));
    assert!(
        told.ends_with("; its columns are 'c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'c8', 'c9' and 2 more"),
        "{told}"
    );
    let options =
        ReadOptions { text_columns: vec!["y".into()], numeric_columns: vec!["y".into()], ..ReadOptions::default() };
    assert_eq!(
        error(read_as("t.csv", text, &options)),
        "column 'y' is listed twice, as text and as numeric; keep one of them"
    );
}

#[test]
fn long_and_odd_text_is_shown_short_and_on_one_line() {
    let text = format!("a,b\n\"{}\u{7}\nx{}\",1\n", "", "y".repeat(100));
    let options = ReadOptions { numeric_columns: vec!["a".into()], ..ReadOptions::default() };
    let message = error(read_as("t.csv", text.as_bytes(), &options));
    let shown = format!("'\\u{{7}}\\nx{}…'", "y".repeat(57));
    assert!(message.contains(&shown), "{message}");
}
