//! What is fuzzed: one function for each kind of file that comes from outside, and one for numbers that are learned from. `fuzz/` gives them to cargo-fuzz, and
//! [`runner`] runs them on the stable toolchain.
//!
//! Each takes any bytes and gives back what became of them in a few words, from which the runner sees that an input went
//! another way than those before. A panic, a hang and memory beyond a bound are findings.

pub mod campaign;
pub mod memory;
pub mod runner;

use rffblr::data::{Dataset, MissingInputs, RoleChoice, TrainingTable};
use rffblr::drawn::{Accumulator, FeatureMap};
use rffblr::internals::with_checksum;
use rffblr::linalg::Mat;
use rffblr::{Form, Model, Prediction, Settings, fit};
use rffblr_methods::folds::{Folds, NestedFolds};
use rffblr_methods::select::Journal;
use rffblr_tables::{Format, Parts, ReadOptions, TableError, TableFile};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Something that is fuzzed.
pub struct Target {
    /// Name, also of the folder of its seeds.
    pub name: &'static str,
    /// What is done with an input.
    pub run: fn(&[u8]) -> String,
    /// Words that mean something in such a file.
    pub words: &'static [&'static str],
    /// Inputs to begin with, beside the files.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub const TARGETS: [Target; 15] = [
    Target { name: "csv", run: csv, words: TEXT, seeds: Vec::new },
    Target { name: "tsv", run: tsv, words: TEXT, seeds: Vec::new },
    Target { name: "arff", run: arff, words: ARFF, seeds: Vec::new },
    Target { name: "parquet", run: parquet, words: &["PAR1"], seeds: parquet_seeds },
    Target { name: "arrow", run: arrow, words: &["ARROW1"], seeds: arrow_seeds },
    Target { name: "workbook", run: workbook, words: &["PK\u{3}\u{4}", "PK\u{1}\u{2}"], seeds: workbook_seeds },
    Target { name: "packed", run: packed, words: &["\u{1f}\u{8b}"], seeds: Vec::new },
    Target { name: "blocks", run: blocks, words: TEXT, seeds: blocks_seeds },
    Target { name: "dates", run: dates, words: DATES, seeds: Vec::new },
    Target { name: "settings", run: settings, words: SETTINGS, seeds: Vec::new },
    Target { name: "model", run: model, words: MODEL, seeds: model_seeds },
    Target { name: "folds", run: folds, words: JSON, seeds: Vec::new },
    Target { name: "journal", run: journal, words: JSON, seeds: Vec::new },
    Target { name: "numbers", run: numbers, words: &[], seeds: numbers_seeds },
    Target { name: "accumulator", run: accumulator, words: &[], seeds: accumulator_seeds },
];

const TEXT: &[&str] = &[
    ",",
    ";",
    "\t",
    "|",
    "\"",
    "\"\"",
    "\n",
    "\r\n",
    "\r",
    "NA",
    "nan",
    "inf",
    "-inf",
    "1e308",
    "1e-320",
    "1,5",
    "1.234,5",
    "<0.5",
    "5 %",
    "sep=;\n",
    "\u{feff}",
    "\0",
    "Unnamed: 0",
    "31.05.2024",
    "2024-05-31T14:30:05Z",
    "#N/A",
    ".",
    "'=1+1",
];
const ARFF: &[&str] = &[
    "@relation",
    "@attribute",
    "@data",
    "numeric",
    "string",
    "date",
    "{",
    "}",
    "'",
    "\\'",
    "%",
    "?",
    ",",
    "\n",
    "{0 1}",
    "relational",
    "@end",
];
const DATES: &[&str] = &[
    "31/05/2024",
    "5/31/24",
    "31 May 2024",
    "2024-W22",
    "T",
    "Z",
    "+01:00",
    "12:60",
    "pm",
    "\n",
    "9999-12-31",
    "0000-00-00",
    "-1",
    ",",
    "sept",
    "\"",
];
const SETTINGS: &[&str] = &[
    "preset",
    "=",
    "\"paper\"",
    "features",
    "seed",
    "restarts",
    "max_iterations",
    "18446744073709551615",
    "-1",
    "1e400",
    "[",
    "]",
    "{",
    "}",
    "\n",
    "input_scales",
    "bandwidth",
    "sparsity",
    "target_transform",
    "\"\"\"",
    "nan",
    "inf",
];
const JSON: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "null",
    "true",
    "-1",
    "1e308",
    "18446744073709551616",
    "\"",
    "\\u0000",
    "\n",
    "0.5",
    "\"test\"",
    "\"train\"",
];
const MODEL: &[&str] =
    &["1e308", "-1e308", "1e-320", "0", "-1", "null", "[]", "{}", "18446744073709551615", "4294967296", "\"\"", "AAAA"];

/// The first words of a message; numbers and names in it do not make it another.
fn shape(message: &str) -> String {
    let outside = message.split('\'').step_by(2).collect::<String>();
    outside.chars().filter(|letter| letter.is_ascii_alphabetic()).take(80).collect()
}

fn read(name: &str, bytes: &[u8], format: Option<Format>) -> String {
    let options = ReadOptions { format, ..ReadOptions::default() };
    let file = TableFile::of_bytes(name, bytes.to_vec(), &options);
    match file.and_then(|mut file| {
        let names = file.names(&options)?;
        Ok((names, file.read(&options)?))
    }) {
        Err(problem) => shape(&problem.to_string()),
        Ok((names, table)) => {
            assert!(table.columns().len() <= names.len());
            let texts = table.columns().iter().filter(|column| !column.is_numeric()).count();
            let learned = learned(table);
            format!("{texts} {learned}")
        }
    }
}

/// What becomes of a table whose last column is to be predicted.
fn learned(table: rffblr_tables::Table) -> String {
    let choice = RoleChoice::parse(&[String::from("last:1")], &[], None).expect("it is well formed");
    match TrainingTable::new(table, choice, MissingInputs::Impute) {
        Ok(training) => training.notes().iter().map(|note| format!("{:?}", note.kind)).collect(),
        Err(problem) => shape(&problem.to_string()),
    }
}

/// Text with commas and the like.
pub fn csv(bytes: &[u8]) -> String {
    read("t.csv", bytes, None)
}

/// Text with tabs.
pub fn tsv(bytes: &[u8]) -> String {
    read("t.tsv", bytes, Some(Format::Tsv))
}

/// ARFF.
pub fn arff(bytes: &[u8]) -> String {
    read("t.arff", bytes, Some(Format::Arff))
}

/// Arrow files.
pub fn arrow(bytes: &[u8]) -> String {
    read("t.arrow", bytes, Some(Format::Arrow))
}

/// Parquet.
pub fn parquet(bytes: &[u8]) -> String {
    read("t.parquet", bytes, Some(Format::Parquet))
}

/// Workbooks of spreadsheets.
pub fn workbook(bytes: &[u8]) -> String {
    read("t.xlsx", bytes, Some(Format::Workbook))
}

/// Text packed by gzip or zstd.
pub fn packed(bytes: &[u8]) -> String {
    read("t.csv.gz", bytes, None)
}

/// A column of lines, which may be dates.
pub fn dates(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let rows = text.lines().enumerate().map(|(n, line)| format!("\"{}\",{}\n", line.replace('"', "\"\""), n % 7));
    read("t.csv", format!("when,y\n{}", rows.collect::<String>()).as_bytes(), None)
}

/// A file of many rows, CSV or Parquet, read in blocks of a few: once to learn the types, and once more for the rows.
pub fn blocks(bytes: &[u8]) -> String {
    const ROWS: usize = 3;
    let name = if bytes.starts_with(b"PAR1") { "t.parquet" } else { "t.csv" };
    let read = || {
        let parts = Parts::open(&[kept(name, bytes)], &ReadOptions::default())?;
        let (types, summary) = parts.summarise(5, 0, |_| ControlFlow::Continue(()))?;
        let (mut rows, mut texts) = (0, 0);
        for block in parts.blocks(&types, ROWS) {
            let block = block?;
            assert!(block.first_row == rows && block.table.rows() <= ROWS);
            rows += block.table.rows() as u64;
            texts = block.table.columns().iter().filter(|column| !column.is_numeric()).count();
        }
        assert_eq!(rows, summary.rows());
        Ok::<_, TableError>((texts, rows))
    };
    match read() {
        Ok((texts, rows)) => format!("{texts} {}", rows.min(20)),
        Err(problem) => shape(&problem.to_string()),
    }
}

/// A TOML file of settings.
pub fn settings(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut given = match rffblr_cli::settings_file::settings_of(&text) {
        Err(problem) => return shape(&format!("{problem:#}")),
        Ok(given) => given,
    };
    let preset = given.remove("preset");
    match Settings::named(preset.as_deref(), &given.into_iter().collect::<Vec<_>>()) {
        Ok(settings) => settings.spelled().into_iter().map(|(name, _)| name).collect(),
        Err(problem) => shape(&problem.to_string()),
    }
}

/// A model file. Its checksum is set right, or else no change would get past it.
pub fn model(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = with_checksum(&text).unwrap_or_else(|| text.into_owned());
    match Model::from_json(&text) {
        Err(problem) => shape(&problem.to_string()),
        Ok(model) => {
            let inputs = Mat::from_fn(2, model.input_names().len(), |n, d| (n as f64 - 0.5) * model.input_std()[d]);
            let predicted = model.predict(inputs.as_ref()).ok();
            let finite = predicted.is_some_and(|predicted| is_finite(&predicted));
            // What was loaded can be saved and loaded again.
            let again = model.to_json().and_then(|text| Model::from_json(&text));
            again.unwrap_or_else(|problem| panic!("its own file: {problem}"));
            format!("{} {finite}", model.target_names().len())
        }
    }
}

/// Whether all that is predicted is finite, intervals too.
fn is_finite(predicted: &Prediction) -> bool {
    let (lower, upper) = predicted.interval(0.99).expect("a probability");
    let tables = [&predicted.mean, &predicted.std, &predicted.latent_std, &lower, &upper];
    tables.iter().all(|table| (0..table.ncols()).all(|c| table.col_as_slice(c).iter().all(|v| v.is_finite())))
}

/// Any doubles as a table of a few rows, whose last column is learned: what it predicts for them is finite, and its file
/// predicts the same. The first byte chooses the form, the second the number of inputs.
pub fn numbers(bytes: &[u8]) -> String {
    const MOST_ROWS: usize = 12;
    let [form, inputs, cells @ ..] = bytes else { return String::new() };
    let inputs = 1 + usize::from(inputs % 3);
    let cells: Vec<f64> = cells.as_chunks().0.iter().map(|cell| f64::from_le_bytes(*cell)).collect();
    let rows = (cells.len() / (inputs + 1)).min(MOST_ROWS);
    let table = |first: usize, columns| Mat::from_fn(rows, columns, |n, d| cells[n * (inputs + 1) + first + d]);
    let forms = forms();
    let settings = &forms[usize::from(*form) % forms.len()];
    let data = Dataset::new(table(0, inputs), table(inputs, 1));
    match data.and_then(|data| fit(&data, settings).map(|model| (data, model))) {
        Err(problem) => shape(&problem.to_string()),
        Ok((data, model)) => {
            let predicted = model.predict(data.inputs()).unwrap_or_else(|problem| panic!("its own rows: {problem}"));
            assert!(is_finite(&predicted), "predictions are not finite");
            let loaded = model.to_json().and_then(|text| Model::from_json(&text));
            let loaded = loaded.unwrap_or_else(|problem| panic!("its own file: {problem}"));
            let again = loaded.predict(data.inputs()).unwrap_or_else(|problem| panic!("as loaded: {problem}"));
            assert!(again.mean == predicted.mean, "the file predicts something else");
            format!("{rows} {inputs} {} {:?}", model.active_features(), model.stop())
        }
    }
}

/// A file of folds, plain or nested.
pub fn folds(bytes: &[u8]) -> String {
    let path = kept("folds.json", bytes);
    let plain = Folds::read(&path, 12);
    let nested = Folds::random(12, 3, 0).and_then(|outer| NestedFolds::read(&path, &outer));
    let word = |problem: Option<rffblr::Error>| problem.map_or(String::new(), |problem| shape(&problem.to_string()));
    format!("{} {}", word(plain.err()), word(nested.err()))
}

/// A journal of finished folds.
pub fn journal(bytes: &[u8]) -> String {
    match Journal::open(&kept("journal", bytes)) {
        Ok(journal) => journal.len().to_string(),
        Err(problem) => shape(&problem.to_string()),
    }
}

/// Sums over blocks of rows, as bytes.
pub fn accumulator(bytes: &[u8]) -> String {
    match Accumulator::from_bytes(bytes) {
        Err(problem) => shape(&problem.to_string()),
        Ok(sums) => {
            let again = sums.to_bytes().expect("what was read can be written");
            let model = sums.map().model(&sums);
            format!("{} {}", again.len() == bytes.len(), model.is_ok())
        }
    }
}

thread_local! {
    static FOLDER: RefCell<Option<tempfile::TempDir>> = const { RefCell::new(None) };
}

/// A file with this content, for what reads files alone; it has the same name every time.
fn kept(name: &str, bytes: &[u8]) -> PathBuf {
    FOLDER.with_borrow_mut(|folder| {
        let folder =
            folder.get_or_insert_with(|| tempfile::tempdir_in(runner::in_memory()).expect("a folder for files"));
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("the file can be written");
        path
    })
}

/// Small files that the tests of the tables have.
fn of_tests(names: &[&str]) -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/rffblr-tables/tests/table/data");
    names.iter().filter_map(|name| std::fs::read(format!("{folder}/{name}")).ok()).collect()
}

fn parquet_seeds() -> Vec<Vec<u8>> {
    of_tests(&[
        "types.parquet",
        "types_plain.parquet",
        "types_v2_zstd.parquet",
        "times.parquet",
        "odd.parquet",
        "nested.parquet",
        "int96.parquet",
        "required.parquet",
        "no_rows.parquet",
    ])
}

fn blocks_seeds() -> Vec<Vec<u8>> {
    let mut seeds = parquet_seeds();
    seeds.push(b"a,b,y\n1,p,2\n2,q,3\n,p,5\n4,,1\nx,q,2\n6,p,NA\n\n7,\"p\nq\",1e3\n8,r,2\n".to_vec());
    seeds
}

fn arrow_seeds() -> Vec<Vec<u8>> {
    of_tests(&[
        "types.feather",
        "types_zstd.feather",
        "types_plain.arrow",
        "times.feather",
        "odd.feather",
        "nested.feather",
    ])
}

fn workbook_seeds() -> Vec<Vec<u8>> {
    of_tests(&["visits.xlsx", "visits.ods"])
}

/// Twelve rows of two inputs and two targets, one of them with a gap.
fn rows() -> Dataset {
    let inputs = Mat::from_fn(12, 2, |n, d| ((n * (d + 2)) as f64 * 0.7).sin());
    let targets = Mat::from_fn(12, 2, |n, c| if (n, c) == (3, 1) { f64::NAN } else { (n * (c + 1)) as f64 * 0.3 });
    Dataset::new(inputs, targets).expect("they are sound")
}

fn drawn() -> Settings {
    let named = [("features", "8"), ("max-iterations", "4")]
        .map(|(name, value): (&str, &str)| (name.to_owned(), value.to_owned()));
    let settings = Settings::named(Some("cosines"), &named).expect("they are sound");
    assert!(matches!(settings.form, Form::Drawn { .. }));
    settings
}

/// Settings of each form, for a few rows.
fn forms() -> [Settings; 4] {
    let few = |preset: &str, more: &[(&str, &str)]| {
        let given: Vec<(String, String)> = more.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        Settings::named(Some(preset), &given).expect("they are sound")
    };
    [
        few("exact", &[]),
        few("default", &[("sparsity", "0.5")]),
        few("paper", &[("features", "6"), ("max-iterations", "5")]),
        drawn(),
    ]
}

fn model_seeds() -> Vec<Vec<u8>> {
    let file = |settings: Settings| fit(&rows(), &settings).and_then(|model| model.to_json()).map(String::into_bytes);
    forms().into_iter().map(|settings| file(settings).expect("a model of twelve rows")).collect()
}

fn numbers_seeds() -> Vec<Vec<u8>> {
    let data = rows();
    let seed = |form: usize, scale: f64| {
        let mut bytes = vec![form as u8, 1];
        for n in 0..data.rows() {
            let cells = [data.inputs()[(n, 0)], data.inputs()[(n, 1)], data.targets()[(n, 1)] - 3.0];
            cells.iter().for_each(|cell| bytes.extend((cell * scale).clamp(f64::MIN, f64::MAX).to_le_bytes()));
        }
        bytes
    };
    // Of ordinary size, the smallest, and the largest.
    let scales = [1.0, 1e-310, 1e150, 1e300, f64::MAX];
    (0..forms().len()).flat_map(|form| scales.map(|scale| seed(form, scale))).collect()
}

fn accumulator_seeds() -> Vec<Vec<u8>> {
    let data = rows();
    let map = FeatureMap::learn(&data, 12.0, &drawn(), &|_| ControlFlow::Continue(())).expect("a map of twelve rows");
    let mut sums = Accumulator::new(&map);
    let empty = sums.to_bytes().expect("sums can be written");
    sums.update(0, data.inputs(), data.targets(), None).expect("sums of twelve rows");
    vec![empty, sums.to_bytes().expect("sums can be written")]
}
