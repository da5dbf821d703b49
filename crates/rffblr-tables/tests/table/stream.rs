//! Tables read block by block: the same rows as read at once, and what is refused.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::{data, texts};
use parquet::data_type::{BoolType, DoubleType};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use rffblr::data::{MissingInputs, RoleChoice, TrainingTable};
use rffblr::{Form, Model, Precision, Settings};
use rffblr_tables::{
    Block, Column, FileFit, FromFiles, MISSING, Parts, ReadOptions, Stage, Table, TableError, Types, Values, read,
    write_csv, write_parquet,
};

/// A cell for comparison: NaN equals NaN, and levels do not count.
#[derive(Debug, PartialEq)]
enum Cell {
    Number(u64),
    Text(String),
    Missing,
}

fn cells(tables: &[Table]) -> Vec<(String, Vec<Cell>)> {
    let names = tables[0].columns().iter().map(|column| column.name.clone());
    let column = |name: String| {
        let of_table = |table: &Table| match &table.column(&name).unwrap().values {
            Values::Numeric(numbers) => {
                let cell = |x: &f64| if x.is_nan() { Cell::Missing } else { Cell::Number(x.to_bits()) };
                numbers.iter().map(cell).collect::<Vec<_>>()
            }
            Values::Text { .. } => texts(table, &name)
                .into_iter()
                .map(|text| text.map_or(Cell::Missing, |text| Cell::Text(text.to_owned())))
                .collect(),
        };
        let cells = tables.iter().flat_map(of_table).collect();
        (name, cells)
    };
    names.map(column).collect()
}

fn part(table: &Table, rows: std::ops::Range<usize>) -> Table {
    let column = |column: &Column| {
        let values = match &column.values {
            Values::Numeric(numbers) => Values::Numeric(numbers[rows.clone()].to_vec()),
            Values::Text { levels, codes } => {
                Values::Text { levels: levels.clone(), codes: codes[rows.clone()].to_vec() }
            }
        };
        Column { name: column.name.clone(), values }
    };
    Table::new(table.columns().iter().map(column).collect()).unwrap()
}

fn save(table: &Table, path: &Path) {
    let mut bytes = Vec::new();
    match path.extension().unwrap().to_str().unwrap() {
        "csv" => write_csv(table, &mut bytes).unwrap(),
        _ => write_parquet(table, &mut bytes).unwrap(),
    }
    fs::write(path, bytes).unwrap();
}

fn open(path: &Path) -> Result<Parts, TableError> {
    Parts::open(&[path.to_owned()], &ReadOptions::default())
}

/// All blocks after the survey of types, or the first error.
fn blocks(parts: &Parts, rows: usize) -> Result<(Types, Vec<Block>), TableError> {
    let types = parts.types()?;
    let blocks = parts.blocks(&types, rows).collect::<Result<_, _>>()?;
    Ok((types, blocks))
}

/// The message of a failure, without the folder.
fn failure<T>(outcome: Result<T, TableError>, folder: &Path) -> String {
    let message = outcome.err().expect("should fail").to_string();
    message.replace(&format!("{}/", folder.display()), "")
}

fn folder_of(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn any_table() -> impl Strategy<Value = Table> {
    (1usize..5, 1usize..40).prop_flat_map(|(columns, rows)| {
        let number = prop_oneof![Just(f64::NAN), (-9i32..9).prop_map(f64::from), -1e9..1e9f64];
        let numeric = proptest::collection::vec(number, rows).prop_map(Values::Numeric);
        // The first level is a number, the others show that the column is text.
        let levels = ["7", "red", "a,b", "two\nlines", "say \"hi\"", "é"].map(String::from).to_vec();
        let code = prop_oneof![Just(MISSING), 0u32..6];
        let text = proptest::collection::vec(code, rows).prop_map(move |mut codes| {
            let last = codes.len() - 1;
            codes[last] = 1;
            Values::Text { levels: levels.clone(), codes }
        });
        proptest::collection::vec(prop_oneof![numeric, text], columns).prop_map(|values| {
            let column = |(k, values)| Column { name: format!("column {k}"), values };
            Table::new(values.into_iter().enumerate().map(column).collect()).unwrap()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn blocks_of_parts_have_the_rows_of_the_whole(
        table in any_table(),
        cuts in proptest::collection::vec(0usize..40, 0..4),
        rows in 1usize..50,
        ending in prop_oneof![Just("csv"), Just("parquet")],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (table.rows() + 1)).chain([table.rows()]).collect();
        ends.sort_unstable();
        let mut first = 0;
        for (k, end) in ends.into_iter().enumerate() {
            save(&part(&table, first..end), &folder.path().join(format!("{k}.{ending}")));
            first = end;
        }
        // The whole as one file, read at once, is what all the blocks must amount to.
        let apart = tempfile::tempdir().unwrap();
        let whole = apart.path().join(format!("whole.{ending}"));
        save(&table, &whole);
        let parts = open(folder.path()).unwrap();
        match read(&whole, &ReadOptions::default()) {
            Ok(whole) => {
                let (_, blocks) = blocks(&parts, rows).unwrap();
                let count = blocks.len();
                for (k, block) in blocks.iter().enumerate() {
                    prop_assert_eq!(block.first_row as usize, k * rows);
                    prop_assert!(block.table.rows() == rows || k + 1 == count);
                    prop_assert!(block.bytes_read <= parts.bytes());
                }
                let tables: Vec<Table> = blocks.into_iter().map(|block| block.table).collect();
                prop_assert_eq!(cells(&tables), cells(&[whole]));
            }
            Err(error) => {
                // Nothing but a column that looks wrong: the same is said about the parts, in another file.
                let kind = |error: &TableError| std::mem::discriminant(error);
                prop_assert_eq!(kind(&error), kind(&parts.types().unwrap_err()));
            }
        }
    }
}

#[test]
fn files_folders_and_patterns() {
    let files = ["b.csv", "a.csv", "c.tsv", "notes.txt", ".hidden.csv"].map(|name| (name, "x\ty\n1\t2\n"));
    let folder = folder_of(&files);
    fs::create_dir(folder.path().join("deeper.csv")).unwrap();
    let names = |paths: &[&str]| -> Vec<String> {
        let paths: Vec<PathBuf> = paths.iter().map(|name| folder.path().join(name)).collect();
        let parts = Parts::open(&paths, &ReadOptions::default()).unwrap();
        assert_eq!(
            (parts.names(), parts.bytes()),
            (&["x".to_owned(), "y".to_owned()][..], 8 * parts.files().len() as u64)
        );
        parts.files().iter().map(|file| file.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&[""]), ["a.csv", "b.csv", "c.tsv"]);
    assert_eq!(names(&["?.csv"]), ["a.csv", "b.csv"]);
    assert_eq!(names(&["notes.txt", "*.?sv", "a.csv"]), ["notes.txt", "a.csv", "b.csv", "c.tsv"]);
    assert_eq!(
        failure(open(&folder.path().join("z*")), folder.path()),
        "z* names no CSV, TSV or Parquet file; name files, a folder with some, or a pattern such as 'data/*.csv'"
    );
    assert!(failure(open(&folder.path().join("none.csv")), folder.path()).starts_with("cannot read none.csv: "));
    assert!(failure(Parts::open(&[], &ReadOptions::default()), folder.path()).contains("an empty list names no CSV"));
}

#[test]
fn what_cannot_be_read_in_blocks() {
    let folder = folder_of(&[("a.arff", "@relation r\n@attribute x numeric\n@data\n1\n"), ("b.csv", "x\n1\n")]);
    assert_eq!(
        failure(open(&folder.path().join("a.arff")), folder.path()),
        "a.arff: ARFF cannot be read block by block; write it as a CSV or Parquet file, or read it as a whole"
    );
    assert!(failure(open(Path::new("-")), folder.path()).starts_with("standard input: what can be read only once"));
    fs::copy(data("required.parquet"), folder.path().join("c.parquet")).unwrap();
    assert_eq!(
        failure(open(folder.path()), folder.path()),
        "c.parquet and b.csv are of different formats; name files of one format only, with a pattern such as \
         'data/*.parquet' if they share a folder"
    );
}

/// Text in the last row of the last file, far beyond the first block.
#[test]
fn types_that_show_late() {
    let numbers = |from: usize, to: usize| (from..to).map(|n| format!("{},{}\n", n % 7, n)).collect::<String>();
    let long = format!("x,n\n{}", numbers(0, 150_000));
    // Whether x becomes text or is refused depends on the counts of all rows: seven different numbers are few.
    let folder = folder_of(&[("a.csv", &long), ("b.csv", "x,n\nred,1\n"), ("c.csv", "n,x\n2,NA\n")]);
    let parts = open(folder.path()).unwrap();
    let mut starts = 0;
    let (types, ()) = parts.survey(|| starts += 1, |(), _| Ok(())).unwrap();
    assert_eq!((types.is_text(0), types.is_text(1), starts), (Some(true), Some(false), 2));
    let (_, summary) = parts.summarise(10, 1, |_| std::ops::ControlFlow::Continue(())).unwrap();
    assert_eq!((summary.rows(), summary.column("x").unwrap().missing), (150_002, 1));
    let last = parts.blocks(&types, 150_001).last().unwrap().unwrap();
    assert_eq!((last.first_row, texts(&last.table, "x")), (150_001, vec![None]));

    // The column n has thousands of different numbers, so that one word in it is a slip.
    let folder = folder_of(&[("a.csv", &long), ("b.csv", "x,n\n1,oops\n")]);
    assert_eq!(
        failure(open(folder.path()).unwrap().types(), folder.path()),
        "b.csv, line 2, column 'n': 'oops' is not a number, but 150000 of the 150001 values in this column are; correct \
         it, leave the cell empty if the value is missing, or list the column as text"
    );
    let folder = folder_of(&[("a.csv", &long), ("b.csv", "x,n\n1,1e999\n")]);
    assert!(
        failure(open(folder.path()).unwrap().types(), folder.path()).starts_with("b.csv, line 2, column 'n': '1e999'")
    );
}

/// Columns that `read` refuses are refused in the same words, whatever the split into files.
#[test]
fn slips_are_refused_as_in_whole_files() {
    for cells in [["5%", "6%", "7", "NA"], ["inf", "1", "2", "3"], ["1", "-inf", "NA", "3"]] {
        let row = |cell: &&str| format!("\"{cell}\",1\n");
        let (head, tail) = cells.split_at(2);
        let (head, tail): (String, String) = (head.iter().map(row).collect(), tail.iter().map(row).collect());
        let folder = folder_of(&[
            ("a.csv", &format!("x,y\n{head}")),
            ("b.csv", &format!("x,y\n{tail}")),
            ("whole", &format!("x,y\n{head}{tail}")),
        ]);
        let whole = failure(read(folder.path().join("whole"), &ReadOptions::default()), folder.path());
        let parts = failure(open(folder.path()).unwrap().types(), folder.path());
        assert_eq!(parts, whole.replace("whole", "a.csv"), "{cells:?}");
    }
}

#[test]
fn options_decide_without_a_pass() {
    let folder = folder_of(&[("a.csv", "x,y,z\n1,2,3\n"), ("b.csv", "x,y,z\n4,five,6\n")]);
    let options = |text: &[&str], numeric: &[&str], ignored: &[&str]| ReadOptions {
        text_columns: text.iter().map(|name| name.to_string()).collect(),
        numeric_columns: numeric.iter().map(|name| name.to_string()).collect(),
        ignored_columns: ignored.iter().map(|name| name.to_string()).collect(),
        ..ReadOptions::default()
    };
    let open = |options: &ReadOptions| Parts::open(&[folder.path().to_owned()], options);
    let parts = open(&options(&["x"], &["z"], &["y"])).unwrap();
    let types = parts.declared_types();
    assert_eq!((types.is_text(0), types.is_text(1), types.is_text(2)), (Some(true), None, Some(false)));
    assert_eq!(types, parts.types().unwrap());
    let block = parts.blocks(&types, 10).next().unwrap().unwrap().table;
    assert_eq!((texts(&block, "x"), block.ignored()), (vec![Some("1"), Some("4")], &["y".to_owned()][..]));
    assert_eq!(open(&options(&[], &["z"], &[])).unwrap().declared_types().is_text(0), None);
    assert_eq!(
        failure(open(&options(&["x", "z"], &["y"], &[])).and_then(|parts| blocks(&parts, 10)), folder.path()),
        "b.csv, line 2, column 'y': 'five' is not a number, and this column must be numeric; correct it, or leave the cell \
         empty if the value is missing"
    );
    assert!(failure(open(&options(&["u"], &[], &[])), folder.path()).starts_with("a.csv has no column 'u'"));
}

#[test]
fn a_flaw_deep_in_a_file() {
    let rows: String = (0..200_000).map(|n| format!("{n},{}\n", n % 3)).collect();
    let folder = folder_of(&[("a.csv", "x,y\n1,1\n"), ("b.csv", &format!("x,y\n{rows}1,2,3\n{rows}"))]);
    let parts = open(folder.path()).unwrap();
    let expected =
        "b.csv, line 200002: 3 cells where 2 columns are declared; put text that holds the delimiter in double quotes";
    assert_eq!(failure(parts.types(), folder.path()), expected);
    let types = Parts::open(&[folder.path().join("a.csv")], &ReadOptions::default()).unwrap().types().unwrap();
    // Blocks before it are handed over, and nothing after it.
    let found: Vec<Result<Block, TableError>> = parts.blocks(&types, 10_000).collect();
    let (last, before) = found.split_last().unwrap();
    assert!(before.iter().all(Result::is_ok) && (1..=20).contains(&before.len()));
    assert!(last.as_ref().unwrap_err().to_string().ends_with(expected));
}

#[test]
fn parts_with_other_columns_or_types() {
    let table = |columns: Vec<(&str, Values)>| {
        let column = |(name, values): (&str, Values)| Column { name: name.to_owned(), values };
        Table::new(columns.into_iter().map(column).collect()).unwrap()
    };
    let number = || Values::Numeric(vec![1.0, 2.0]);
    let text = || Values::Text { levels: vec!["u".into()], codes: vec![0, MISSING] };
    let folder = tempfile::tempdir().unwrap();
    let message = |ending: &str, first: &Table, second: &Table| {
        save(first, &folder.path().join(format!("a.{ending}")));
        save(second, &folder.path().join(format!("b.{ending}")));
        failure(open(&folder.path().join(format!("?.{ending}"))), folder.path())
    };
    let first = table(vec![("x", number()), ("y", text())]);
    for ending in ["csv", "parquet"] {
        assert_eq!(
            message(ending, &first, &table(vec![("x", number())])),
            format!(
                "b.{ending} has no column 'y', a.{ending} has; give both the same columns, ignore this one, or leave the \
                 file out"
            )
        );
        let more = table(vec![("y", text()), ("z", number()), ("x", number())]);
        assert!(
            message(ending, &first, &more).starts_with(&format!("b.{ending} has a column 'z', a.{ending} has not;"))
        );
    }
    assert_eq!(
        message("parquet", &first, &table(vec![("x", number()), ("y", number())])),
        "b.parquet, column 'y': numbers here, text in a.parquet; write both with one type, ignore the column, or list it \
         as text"
    );
    // The options settle it.
    let options = ReadOptions { text_columns: vec!["y".into()], ..ReadOptions::default() };
    let parts = Parts::open(&[folder.path().join("?.parquet")], &options).unwrap();
    let block = parts.blocks(&parts.types().unwrap(), 9).next().unwrap().unwrap();
    assert_eq!(texts(&block.table, "y"), [Some("u"), None, Some("1"), Some("2")]);
}

#[test]
fn empty_parts() {
    let folder = folder_of(&[("a.csv", "x,y\n"), ("b.csv", "x,y\n1,2\n"), ("c.csv", "x,y\n")]);
    let (_, found) = blocks(&open(folder.path()).unwrap(), 5).unwrap();
    assert_eq!((found.len(), found[0].table.rows()), (1, 1));
    fs::remove_file(folder.path().join("b.csv")).unwrap();
    let parts = open(folder.path()).unwrap();
    assert_eq!(failure(parts.types(), folder.path()), "a.csv has column names but no rows of data");
    fs::write(folder.path().join("b.csv"), "").unwrap();
    assert!(failure(open(folder.path()), folder.path()).starts_with("b.csv is empty"));
}

#[test]
fn files_that_change_or_vanish_between_passes() {
    let folder = folder_of(&[("a.csv", "x,y\n1,2\n"), ("b.csv", "x,y\n3,4\n")]);
    let parts = open(folder.path()).unwrap();
    let types = parts.types().unwrap();
    let second = folder.path().join("b.csv");
    let pass = || parts.blocks(&types, 1).collect::<Result<Vec<_>, _>>();
    assert_eq!(pass().unwrap().len(), 2);
    fs::write(&second, "x,y\n3,4\n5,6\n").unwrap();
    let expected = "b.csv changed while it was being read; try again once it is complete";
    assert_eq!(failure(pass(), folder.path()), expected);
    fs::remove_file(&second).unwrap();
    let expected = "b.csv is gone, although it was there at the start; put it back and start again, which goes on \
                    from the checkpoint if there is one";
    assert_eq!(failure(pass(), folder.path()), expected);
}

#[test]
fn damaged_parquet_parts() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(data("types.parquet")).unwrap();
    fs::write(folder.path().join("a.parquet"), &whole).unwrap();
    fs::write(folder.path().join("b.parquet"), &whole[..whole.len() - 1]).unwrap();
    assert!(failure(open(folder.path()), folder.path()).starts_with("b.parquet is not a readable Parquet file"));
    // Sound at its end, not in the middle; and one byte on which the decoder panics.
    let mut bytes = fs::read(data("types_plain.parquet")).unwrap();
    bytes[4..400].fill(0xff);
    let mut panics = fs::read(data("types_plain.parquet")).unwrap();
    panics[1120] = 221;
    for bytes in [bytes, panics] {
        fs::write(folder.path().join("b.parquet"), &bytes).unwrap();
        let outcome = open(folder.path()).and_then(|parts| blocks(&parts, 2));
        let message = failure(outcome, folder.path());
        assert!(message.starts_with("b.parquet is not a readable Parquet file"), "{message}");
    }
}

/// All types that can be read, in row groups that are smaller and larger than a block.
#[test]
fn parquet_types_in_blocks() {
    for name in ["types.parquet", "types_v2_zstd.parquet", "types_plain.parquet"] {
        let whole = read(data(name), &ReadOptions::default()).unwrap();
        for rows in 1..7 {
            let (_, found) = blocks(&open(&data(name)).unwrap(), rows).unwrap();
            let tables: Vec<Table> = found.into_iter().map(|block| block.table).collect();
            assert_eq!(cells(&tables), cells(std::slice::from_ref(&whole)), "{name} {rows}");
        }
    }
}

/// A pass that is given up ends its thread, also one that waits to hand over a block.
#[test]
fn passes_that_are_not_finished() {
    let rows: String = (0..100_000).map(|n| format!("{n},{}\n", n % 3)).collect();
    let folder = folder_of(&[("a.csv", &format!("x,y\n{rows}"))]);
    let parts = open(folder.path()).unwrap();
    let types = parts.types().unwrap();
    for taken in 0..50 {
        let mut pass = parts.blocks(&types, 100);
        assert_eq!(pass.by_ref().take(taken).filter(Result::is_ok).count(), taken);
    }
    let stopped = parts.summarise(10, 0, |_| std::ops::ControlFlow::Break(()));
    assert_eq!(stopped.unwrap_err().to_string(), "reading was stopped before its end");
}

#[test]
fn threads_change_nothing_of_a_pass() {
    let rows = 30_000;
    // Pages of several columns, and texts, are read side by side from one file.
    let number =
        |d: usize| (0..rows).map(move |n| if n % (97 + d) == 0 { f64::NAN } else { (n * (d + 3)) as f64 / 7.0 });
    let text = (0..rows as u32).map(|n| if n % 11 == 0 { MISSING } else { n % 5 }).collect();
    let levels = (0..5).map(|level| format!("level {level}")).collect();
    let mut columns: Vec<Column> =
        (0..9).map(|d| Column { name: format!("x{d}"), values: Values::Numeric(number(d).collect()) }).collect();
    columns.insert(4, Column { name: "text".into(), values: Values::Text { levels, codes: text } });
    let table = Table::new(columns).unwrap();
    for ending in ["csv", "parquet"] {
        let folder = tempfile::tempdir().unwrap();
        save(&part(&table, 0..17_000), &folder.path().join(format!("a.{ending}")));
        save(&part(&table, 17_000..rows), &folder.path().join(format!("b.{ending}")));
        let parts = open(folder.path()).unwrap();
        let found = [1, 2, 7].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let (_, summary) = parts.summarise(5_000, 3, |_| std::ops::ControlFlow::Continue(())).unwrap();
                let (_, blocks) = blocks(&parts, 4_096).unwrap();
                let tables: Vec<Table> = blocks.into_iter().map(|block| block.table).collect();
                (summary.to_bytes().unwrap(), cells(&tables), cells(&[summary.sample().0]))
            })
        });
        assert_eq!(found[0].1, cells(std::slice::from_ref(&table)), "{ending}");
        assert!(found[1] == found[0] && found[2] == found[0], "{ending}");
    }
}

#[test]
fn true_and_false_are_not_taken_for_numbers_of_another_part() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, kind: &str, fill: &dyn Fn(SerializedRowGroupWriter<'_, File>)| {
        let schema = format!("message m {{ REQUIRED {kind} x; }}");
        let schema = Arc::new(parse_message_type(&schema).unwrap());
        let file = File::create(folder.path().join(name)).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, Default::default()).unwrap();
        fill(writer.next_row_group().unwrap());
        writer.close().unwrap();
    };
    write("a.parquet", "DOUBLE", &|mut rows| {
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&[0.5, 2.0], None, None).unwrap();
        column.close().unwrap();
        rows.close().unwrap();
    });
    write("b.parquet", "BOOLEAN", &|mut rows| {
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<BoolType>().write_batch(&[true, false], None, None).unwrap();
        column.close().unwrap();
        rows.close().unwrap();
    });
    let open = |numeric: &[&str], name: &str| {
        let numeric_columns = numeric.iter().map(|name| (*name).to_owned()).collect();
        let options = ReadOptions { numeric_columns, ..ReadOptions::default() };
        Parts::open(&[folder.path().join(name)], &options)
    };
    // As a target, which is to be a number, too.
    for numeric in [&[][..], &["x"]] {
        assert_eq!(
            failure(open(numeric, "*.parquet"), folder.path()),
            "b.parquet, column 'x': true and false here, numbers in a.parquet; write both with one type, ignore the column, \
             or list it as text"
        );
    }
    // Alone they are one and zero.
    let parts = open(&[], "b.parquet").unwrap();
    let block = parts.blocks(&parts.types().unwrap(), 9).next().unwrap().unwrap();
    assert_eq!(block.table.column("x").unwrap().values, Values::Numeric(vec![1.0, 0.0]));
}

/// Two files, the second of which is hidden when rows are added up, and put back.
#[test]
fn a_file_that_vanishes_leaves_a_checkpoint_to_go_on_from() {
    let row = |n: usize| format!("{},{}\n", n % 97, ((n % 97) as f64 / 9.0).sin() + 0.1 * ((n * n % 13) as f64));
    let rows = |range: std::ops::Range<usize>| "x,y\n".to_owned() + &range.map(row).collect::<String>();
    let folder = folder_of(&[("a.csv", &rows(0..2500)), ("b.csv", &rows(2500..5000))]);
    let (elsewhere, there) = (tempfile::tempdir().unwrap(), folder.path().join("b.csv"));
    let (job, away) = (elsewhere.path().join("job"), elsewhere.path().join("b.csv"));
    let fit = |checkpoint: Option<&Path>, tell: &(dyn Fn(Stage<'_>) + Sync)| {
        let form = Form::Drawn { features: Some(32), precision: Precision::Tied, effort: 1.0 };
        let job = FileFit {
            choice: RoleChoice::parse(&["y".into()], &[], None).unwrap(),
            missing: MissingInputs::Impute,
            settings: Settings { form, max_iterations: 3, ..Settings::DEFAULT },
            hold_out: true,
            checkpoint: checkpoint.map(Path::to_owned),
        };
        let tell = |stage: Stage<'_>| {
            tell(stage);
            ControlFlow::Continue(())
        };
        match open(folder.path()).unwrap().fit(job, &tell)? {
            FromFiles::Model(found) => found.fitted.model.to_json(),
            FromFiles::Table(_) => unreachable!("drawn features were asked for"),
        }
    };
    let unbroken = fit(None, &|_| ()).unwrap();
    let hide = |stage: Stage<'_>| {
        if let Stage::Adding(0, _) = stage {
            fs::rename(&there, &away).unwrap();
        }
    };
    let problem = fit(Some(&job), &hide).unwrap_err().to_string();
    assert!(problem.contains("b.csv is gone") && problem.contains("goes on from the checkpoint"), "{problem}");
    fs::rename(&away, &there).unwrap();
    // Nothing is learned again.
    let again = fit(Some(&job), &|stage| assert!(!matches!(stage, Stage::Learning(_)))).unwrap();
    assert!(again == unbroken);
    // The model knows its rows, read at once and in another order, and no others.
    let model = Model::from_json(&again).unwrap();
    let known = |text: &str| {
        fs::write(&away, text).unwrap();
        let table = read(&away, &ReadOptions::default()).unwrap();
        let training =
            TrainingTable::again(table, model.table_encoder().roles().clone(), model.table_encoder().into_owned());
        let data = training.unwrap().dataset().clone();
        (model.is_fitted_to(&data), model.learned_from(data.inputs()).unwrap())
    };
    let turned = "x,y\n".to_owned() + &(0..5000).rev().map(row).collect::<String>();
    assert_eq!(known(&turned), (Some(true), 5000));
    assert_eq!(known(&rows(0..4999)), (Some(false), 0));
    assert_eq!(known(&turned.replacen(",1", ",2", 1)), (Some(false), 5000));
}
