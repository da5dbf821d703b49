//! Writes tables as CSV and Parquet, at once or block by block.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;

use super::{ColumnsError, Format, MISSING, Table, TableError, Values, format_of_name};
use rffblr::internals::{Cells, WholeFile, number_text};

/// Rows per Parquet row group, which bounds the memory of the encoder.
const ROW_GROUP: usize = 1 << 18;

/// Writes a table as CSV: comma, line feed, quotes only where needed, missing cells empty.
///
/// Numbers are written in the shortest form that reads back to the same bits. [`super::read`] trims blanks
/// around text and takes words such as `NA` for missing, so text of that kind does not survive. A text or name that a spreadsheet
/// would take for a formula is preceded by an apostrophe.
pub fn write_csv(table: &Table, out: impl Write) -> Result<(), TableError> {
    let mut csv = Csv::new(out);
    csv.write(table)?;
    csv.finish().map(drop)
}

/// Writes a table as Parquet: optional doubles and UTF-8 strings, missing cells null, snappy compression.
pub fn write_parquet(table: &Table, out: impl Write + Send) -> Result<(), TableError> {
    let mut parquet = Parquet::new(out);
    parquet.write(table)?;
    parquet.finish().map(drop)
}

/// Writes a table block by block, in memory that does not depend on the number of rows. A file is there as a whole once
/// it is finished, or not at all.
pub struct Writer(Form);

enum Form {
    Csv(Csv<Output>),
    Parquet(Box<Parquet<Output>>),
}

enum Output {
    Standard(io::Stdout),
    File(WholeFile),
}

impl Writer {
    /// Starts a file, which replaces another only if `replace` says so: Parquet if its name ends in `.parquet` or
    /// `.pq`, else CSV. `-` is standard output, as CSV.
    pub fn create(path: impl AsRef<Path>, replace: bool) -> Result<Writer, TableError> {
        let path = path.as_ref();
        if path.as_os_str() == "-" {
            return Ok(Writer(Form::Csv(Csv::new(Output::Standard(io::stdout())))));
        }
        let file = Output::File(WholeFile::create(path, replace).map_err(failed)?);
        Ok(Writer(match format_of_name(path) {
            Some(Format::Parquet) => Form::Parquet(Box::new(Parquet::new(file))),
            _ => Form::Csv(Csv::new(file)),
        }))
    }

    /// Appends rows; all tables have the same columns.
    pub fn write(&mut self, table: &Table) -> Result<(), TableError> {
        match &mut self.0 {
            Form::Csv(csv) => csv.write(table),
            Form::Parquet(parquet) => parquet.write(table),
        }
    }

    /// Ends the file, which takes its name only now.
    pub fn finish(self) -> Result<(), TableError> {
        let output = match self.0 {
            Form::Csv(csv) => csv.finish()?,
            Form::Parquet(parquet) => parquet.finish()?,
        };
        match output {
            Output::Standard(_) => Ok(()),
            Output::File(file) => file.keep().map_err(failed),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Standard(out) => out.write(bytes),
            Output::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Standard(out) => out.flush(),
            Output::File(file) => file.flush(),
        }
    }
}

fn failed(cause: io::Error) -> TableError {
    TableError::Write { cause }
}

/// The columns of the first table, each with its name and whether it is text, which those of all others must be.
#[derive(Default)]
struct Columns(Option<Vec<(String, bool)>>);

impl Columns {
    /// Whether this is the first table; an error if its columns are not those of the first.
    fn are_new(&mut self, table: &Table) -> Result<bool, TableError> {
        let own: Vec<(String, bool)> =
            table.columns().iter().map(|column| (column.name.clone(), !column.is_numeric())).collect();
        let Some(first) = &self.0 else {
            self.0 = Some(own);
            return Ok(true);
        };
        if *first == own {
            return Ok(false);
        }
        let differs = |k: &usize| first.get(*k) != own.get(*k);
        let column = (0..).find(differs).and_then(|k| own.get(k).or(first.get(k)));
        let column = column.map(|(name, _)| name.clone()).unwrap_or_default();
        let message = String::from("not as in the rows that were written before");
        Err(ColumnsError::BadColumn { column, message }.into())
    }
}

/// CSV, written block by block.
struct Csv<W: Write> {
    out: BufWriter<W>,
    columns: Columns,
}

impl<W: Write> Csv<W> {
    fn new(out: W) -> Csv<W> {
        Csv { out: BufWriter::new(out), columns: Columns::default() }
    }

    fn write(&mut self, table: &Table) -> Result<(), TableError> {
        let header = self.columns.are_new(table)?;
        self.rows(table, header).map_err(failed)
    }

    fn rows(&mut self, table: &Table, header: bool) -> io::Result<()> {
        let out = &mut self.out;
        if header {
            for (index, column) in table.columns().iter().enumerate() {
                separate(out, index)?;
                write_text(out, &harmless(&column.name))?;
            }
            out.write_all(b"\n")?;
        }
        for row in 0..table.rows() {
            for (index, column) in table.columns().iter().enumerate() {
                separate(out, index)?;
                match &column.values {
                    Values::Numeric(numbers) => match numbers.get(row) {
                        Some(number) if !number.is_nan() => {
                            out.write_all(number_text(*number).as_bytes())?;
                            continue;
                        }
                        _ => {}
                    },
                    Values::Text { levels, codes } => {
                        let code = codes.get(row).copied().unwrap_or(MISSING);
                        if let Some(level) = levels.get(code as usize) {
                            write_text(out, &harmless(level))?;
                            continue;
                        }
                    }
                }
                // An empty line would be skipped as blank, so a lone missing cell is spelt out.
                if table.columns().len() == 1 {
                    out.write_all(b"\"\"")?;
                }
            }
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    fn finish(self) -> Result<W, TableError> {
        let mut out = self.out.into_inner().map_err(|error| failed(error.into_error()))?;
        out.flush().map_err(failed)?;
        Ok(out)
    }
}

fn separate(out: &mut impl Write, index: usize) -> io::Result<()> {
    if index > 0 { out.write_all(b",") } else { Ok(()) }
}

/// A text that a spreadsheet would take for a formula, and run, gets an apostrophe before it: then it is a text there too.
fn harmless(text: &str) -> Cow<'_, str> {
    let runs = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    if runs { format!("'{text}").into() } else { text.into() }
}

fn write_text(out: &mut impl Write, text: &str) -> io::Result<()> {
    // A leading byte order mark would be taken for the mark of the file.
    let plain = !text.is_empty()
        && !text.starts_with(['\u{feff}', ' ', '\t'])
        && !text.ends_with([' ', '\t'])
        && !text.contains([',', '"', '\n', '\r', ';', '\t', '|']);
    if plain { out.write_all(text.as_bytes()) } else { write!(out, "\"{}\"", text.replace('"', "\"\"")) }
}

/// Parquet, written block by block; rows wait until a row group is full.
struct Parquet<W: Write + Send> {
    state: State<W>,
    columns: Columns,
    waiting: Vec<Cells>,
    rows: usize,
}

/// The columns are part of the start of the file, so that it is not begun before they are known.
enum State<W: Write + Send> {
    New(W),
    Begun(SerializedFileWriter<W>),
    Failed,
}

impl<W: Write + Send> Parquet<W> {
    fn new(out: W) -> Parquet<W> {
        Parquet { state: State::New(out), columns: Columns::default(), waiting: Vec::new(), rows: 0 }
    }

    fn write(&mut self, table: &Table) -> Result<(), TableError> {
        if self.columns.are_new(table)? {
            self.begin(table).map_err(refused)?;
        }
        let mut first = 0;
        while first < table.rows() {
            let rows = first..table.rows().min(first + ROW_GROUP - self.rows);
            for (cells, column) in self.waiting.iter_mut().zip(table.columns()) {
                cells.extend(&column.values, rows.clone());
            }
            self.rows += rows.len();
            first = rows.end;
            if self.rows == ROW_GROUP {
                self.end_group().map_err(refused)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, table: &Table) -> Result<(), ParquetError> {
        let mut fields = Vec::with_capacity(table.columns().len());
        for column in table.columns() {
            let (physical, logical) = match column.values {
                Values::Numeric(_) => (Physical::DOUBLE, None),
                Values::Text { .. } => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            };
            let field = Type::primitive_type_builder(&column.name, physical)
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(logical)
                .build()?;
            fields.push(Arc::new(field));
            self.waiting.push(Cells::empty(!column.is_numeric()));
        }
        let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        if let State::New(out) = std::mem::replace(&mut self.state, State::Failed) {
            self.state = State::Begun(SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?);
        }
        Ok(())
    }

    /// Writes the rows that wait.
    fn end_group(&mut self) -> Result<(), ParquetError> {
        let State::Begun(file) = &mut self.state else { return Ok(()) };
        if std::mem::take(&mut self.rows) == 0 {
            return Ok(());
        }
        let mut group = file.next_row_group()?;
        for cells in &mut self.waiting {
            let Some(mut writer) = group.next_column()? else {
                break;
            };
            match cells.take() {
                Values::Numeric(numbers) => {
                    let present: Vec<i16> = numbers.iter().map(|x| (!x.is_nan()).into()).collect();
                    let values: Vec<f64> = numbers.into_iter().filter(|x| !x.is_nan()).collect();
                    let writer = writer.typed::<DoubleType>();
                    writer.write_batch(&values, Some(&present), None)?;
                }
                Values::Text { levels, codes } => {
                    let texts: Vec<ByteArray> = levels.iter().map(|l| l.as_str().into()).collect();
                    let text = |code: &u32| texts.get(*code as usize).cloned();
                    let present: Vec<i16> = codes.iter().map(|code| text(code).is_some().into()).collect();
                    let values: Vec<ByteArray> = codes.iter().filter_map(text).collect();
                    let writer = writer.typed::<ByteArrayType>();
                    writer.write_batch(&values, Some(&present), None)?;
                }
            }
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    fn finish(mut self) -> Result<W, TableError> {
        self.end_group().map_err(refused)?;
        match self.state {
            State::New(out) => Ok(out),
            State::Begun(file) => file.into_inner().map_err(refused),
            State::Failed => Err(TableError::WriteParquet { message: String::from("an earlier write failed") }),
        }
    }
}

fn refused(error: ParquetError) -> TableError {
    match error {
        ParquetError::External(cause) => TableError::Write { cause: io::Error::other(cause) },
        other => TableError::WriteParquet { message: other.to_string() },
    }
}
