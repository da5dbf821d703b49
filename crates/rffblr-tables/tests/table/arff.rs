//! Reading ARFF: the format's corners, its errors, and the eight Mulan files.

use std::path::PathBuf;

use crate::common::{error, levels, numbers, read_as, same, texts};
use rffblr_tables::{ReadOptions, Table, TextEncoding, Values, read};

fn arff(text: &str) -> Table {
    read_as("t.arff", text.as_bytes(), &ReadOptions::default()).unwrap()
}

fn arff_error(text: &str) -> String {
    error(read_as("t.arff", text.as_bytes(), &ReadOptions::default()))
}

#[test]
fn header_and_dense_rows() {
    let text = r#"% a comment
@RELATION 'some name'

@Attribute plain NUMERIC
@attribute	'with blank'	real [0, 10]
@attribute "it's \"so\"" integer   % count
@attribute 'don\'t' {a, 'b c', "d,e" ,'?', none}
@attribute note string
% another
@DATA

1, -2.5 ,3,a,'x, y'
?,?,?,?,?
  % not a row
1e3,.5,0,'b c',"tab\there \'q\'"
0,1,2,"d,e",plain words
4,5,6,'?','?'
7,8,9,none,''
"#;
    for text in [text.to_owned(), text.replace('\n', "\r\n"), format!("\u{feff}{text}")] {
        let table = arff(&text);
        assert_eq!(table.rows(), 6);
        assert!(same(numbers(&table, "plain"), &[1.0, f64::NAN, 1000.0, 0.0, 4.0, 7.0]));
        assert!(same(numbers(&table, "with blank"), &[-2.5, f64::NAN, 0.5, 1.0, 5.0, 8.0]));
        assert_eq!(numbers(&table, "it's \"so\"")[5], 9.0);
        assert_eq!(levels(&table, "don't"), ["a", "b c", "d,e", "?", "none"]);
        assert_eq!(texts(&table, "don't"), [Some("a"), None, Some("b c"), Some("d,e"), Some("?"), Some("none")]);
        assert_eq!(
            texts(&table, "note"),
            [Some("x, y"), None, Some("tab\there 'q'"), Some("plain words"), Some("?"), Some("")]
        );
    }
}

#[test]
fn names_quoted_twice_lose_both_pairs() {
    let table = arff("@attribute \"'a b'\" numeric\n@attribute '\"c\"' numeric\n@attribute d' numeric\n@data\n1,2,3\n");
    let names: Vec<&str> = table.columns().iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["a b", "c", "d'"]);
}

#[test]
fn sparse_rows() {
    let text = "@attribute a numeric\n@attribute b {no, yes}\n@attribute c string\n@attribute d real\n@data\n\
                {1 yes, 3 2.5}\n{}\n{ 0 ? , 2 'x, y' }\n{0 1,1 ?,2 z,3 4}\n5,yes,w,6\n";
    let table = arff(text);
    assert!(same(numbers(&table, "a"), &[0.0, 0.0, f64::NAN, 1.0, 5.0]));
    assert!(same(numbers(&table, "d"), &[2.5, 0.0, 0.0, 4.0, 6.0]));
    assert_eq!(texts(&table, "b"), [Some("yes"), Some("no"), Some("no"), None, Some("yes")]);
    assert_eq!(texts(&table, "c"), [None, None, Some("x, y"), Some("z"), Some("w")]);
}

#[test]
fn options_apply_to_declared_types() {
    let text = "@attribute a {1, 2.5, x}\n@attribute b numeric\n@attribute day date 'yyyy-MM-dd'\n@data\n\
                2.5,0.10,2020-01-01\n?,7,?\n1,?,?\n";
    let options = ReadOptions {
        numeric_columns: vec!["a".into()],
        text_columns: vec!["b".into()],
        ignored_columns: vec!["day".into()],
        ..ReadOptions::default()
    };
    let table = read_as("t.arff", text.as_bytes(), &options).unwrap();
    assert!(same(numbers(&table, "a"), &[2.5, f64::NAN, 1.0]));
    assert_eq!(texts(&table, "b"), [Some("0.1"), Some("7"), None]);
    assert_eq!(table.columns().len(), 2);
    let text = text.replace("\n1,", "\nx,");
    assert_eq!(
        error(read_as("t.arff", text.as_bytes(), &options)),
        "t.arff, data row 3, column 'a': 'x' is not a number, and this column must be numeric; correct it, or leave \
         the cell empty if the value is missing"
    );
}

#[test]
fn errors_in_the_header() {
    for (text, message) in [
        ("", "t.arff is empty; expected column names followed by one row per line"),
        ("@relation r\n@attribute a numeric\n", "t.arff, line 2: the file ends before its @data line"),
        ("@relation r\n\n@data\n1\n", "t.arff, line 3: @data before any @attribute line"),
        ("@attribute a numeric\n@data\n", "t.arff has column names but no rows of data"),
        ("a,b\n1,2\n", "t.arff, line 1: expected @relation, @attribute or @data, found 'a,b'"),
        ("@attribute a\n", "t.arff, line 1: attribute 'a': has no type; write numeric, string or {level, level}"),
        (
            "@attribute a b numeric\n",
            "t.arff, line 1: attribute 'a': type 'b' is not known; write numeric, string or {level, level}",
        ),
        (
            "@attribute a real thing\n",
            "t.arff, line 1: attribute 'a': 'thing' after the type; a name with blanks must be quoted",
        ),
        ("@attribute 'a numeric\n", "t.arff, line 1: a quote is never closed in ''a numeric'"),
        ("@attribute a {x, y\n", "t.arff, line 1: attribute 'a': the list of levels needs commas and a closing brace"),
        (
            "@attribute a {'x' y}\n",
            "t.arff, line 1: attribute 'a': the list of levels needs commas and a closing brace",
        ),
        ("@attribute a {x,,y}\n", "t.arff, line 1: attribute 'a': an empty level; quote it as ''"),
        ("@attribute a {x,y,x}\n", "t.arff, line 1: attribute 'a': level 'x' is listed twice"),
        (
            "@attribute a numeric\n@attribute a real\n@data\n1,2\n",
            "t.arff: columns 1 and 2 are both named 'a'; rename one of them",
        ),
    ] {
        assert_eq!(arff_error(text), message, "{text:?}");
    }
}

#[test]
fn errors_in_the_rows() {
    let header = "@relation r\n@attribute a numeric\n@attribute b {low, high}\n@data\n";
    let outside = "is not a column number from 0 to 1 of a sparse row; columns are counted from 0 there, in the order of \
                   their @attribute lines";
    let ragged = "columns are declared; separate cells by commas, write ? for a missing one and quote text that \
                  holds a comma";
    for (row, message) in [
        ("1", format!("1 cells where 2 {ragged}")),
        ("1,low,2", format!("3 cells where 2 {ragged}")),
        ("1,low,{5}", "instance weights in braces are not supported; remove them".into()),
        ("{0 1}, {5}", "instance weights in braces are not supported; remove them".into()),
        ("1,'low", "a quote is never closed in ''low'".into()),
        ("'1' 2,low", "text after the closing quote of cell 1".into()),
        ("{2 1}", format!("'2' {outside}")),
        ("{3 2, 0 1}", format!("'3' {outside}")),
        ("{x 1}", format!("'x' {outside}")),
        ("{-1 1}", format!("'-1' {outside}")),
        ("{18446744073709551616 1}", format!("'18446744073709551616' {outside}")),
        ("{}}", "text after the closing brace of the sparse row; remove it, or write it into a line of its own".into()),
        ("{0 1, 0 2}", "column number 0 ('a') stands twice in the row; keep one of them".into()),
        (
            "{1}",
            "no value after column number 1 ('b'); write a blank and the value after it, ? if it is missing, or leave \
             both out if it is zero"
                .into(),
        ),
        (
            "{0 1",
            "the sparse row has no closing brace after column number 0 ('a'); end the row with a brace, separate cells by \
             commas and quote text that holds a blank"
                .into(),
        ),
        (
            "{0 1} x",
            "text after the closing brace of the sparse row; remove it, or write it into a line of its own".into(),
        ),
    ] {
        let text = format!("{header}0,low\n% note\n\n{row}\n");
        assert_eq!(arff_error(&text), format!("t.arff, line 8: {message}"), "{row}");
    }
    for (row, message) in [
        ("1,hihg", "column 'b': 'hihg' is not among the declared levels; did you mean 'high'?"),
        (
            "1,medium",
            "column 'b': 'medium' is not among the declared levels; compare its spelling with the names in the file",
        ),
        (
            "{0 one}",
            "column 'a': 'one' is not a number, and this column must be numeric; correct it, or leave the cell empty \
             if the value is missing",
        ),
        (
            "one,low",
            "column 'a': 'one' is not a number, and this column must be numeric; correct it, or leave the cell empty \
             if the value is missing",
        ),
        (
            "-inf,low",
            "column 'a': '-inf' is not a finite number; correct it, leave the cell empty if the value is missing, or \
             ignore the column",
        ),
    ] {
        let message = format!("t.arff, line 5, {message}");
        assert_eq!(arff_error(&format!("{header}{row}\n")), message, "{row}");
    }
}

#[test]
fn not_plain_text() {
    let options = ReadOptions::default();
    let header = b"@attribute a string\n@data\nx\n".to_vec();
    let with = |bytes: &[u8]| error(read_as("t.arff", &[&header[..], bytes].concat(), &options));
    assert!(with(b"a\0b\n").starts_with("t.arff, line 4: found a zero byte"));
    let utf8 = ReadOptions { encoding: Some(TextEncoding::Utf8), ..ReadOptions::default() };
    let message = error(read_as("t.arff", &[&header[..], b"\xff\n"].concat(), &utf8));
    assert!(message.starts_with("t.arff, line 4: the text is not UTF-8"), "{message}");
    let long = vec![b'x'; (64 << 20) + 10];
    assert!(with(&long).starts_with("t.arff, line 4: the row that starts here has more than 64 MiB"));
}

/// Name, rows, inputs, targets, sum of all cells, sum of the last column and its name; the sums were computed
/// with Python's `math.fsum` over the split lines.
type Known = (&'static str, usize, usize, usize, f64, f64, &'static str);

const MULAN: [Known; 8] = [
    ("atp1d", 337, 411, 6, 52251450.98, 158532.0, "LBL+aUAminpA+fut_001"),
    ("atp7d", 296, 411, 6, 41852927.81, 117827.0, "LBL+aUAminpA+bt7d_000"),
    ("oes97", 334, 263, 16, 99353515.055356, 486996.513704, "53905_Teacher_Aides_and_Educational_Assistants__Clerical"),
    ("oes10", 403, 298, 16, 110799784.763187, 373206.423174, "412021_Counter_and_Rental_Clerks"),
    ("edm", 154, 16, 2, 1422.18, 2.0, "DGap"),
    ("jura", 359, 15, 3, 81657.013, 8467.184, "Cu"),
    ("wq", 1060, 16, 14, 63662.386402387216, 829.0, "37880"),
    ("enb", 768, 8, 2, 941774.21, 18883.4, "Y2"),
];

#[test]
fn the_eight_mulan_files() {
    let folder = std::env::var_os("RFFBLR_DATA")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/datasets"), PathBuf::from);
    for (name, rows, inputs, targets, sum, last_sum, last) in MULAN {
        let path = folder.join(format!("{name}.arff"));
        if !path.exists() {
            println!("skipped: {} is not there (set RFFBLR_DATA)", path.display());
            continue;
        }
        let table = read(&path, &ReadOptions::default()).unwrap();
        assert_eq!(table.rows(), rows, "{name}");
        assert_eq!(table.columns().len(), inputs + targets, "{name}");
        let mut total = 0.0;
        let mut sum_of_last = 0.0;
        for column in table.columns() {
            let Values::Numeric(values) = &column.values else {
                panic!("{name}: {} is text", column.name);
            };
            assert!(values.iter().all(|x| x.is_finite()), "{name}: {}", column.name);
            sum_of_last = values.iter().sum();
            total += sum_of_last;
        }
        assert_eq!(table.columns().last().unwrap().name, last);
        assert!((total - sum).abs() <= 1e-12 * sum, "{name}: {total} {sum}");
        assert!((sum_of_last - last_sum).abs() <= 1e-12 * last_sum, "{name}: {sum_of_last} {last_sum}");
    }
}
