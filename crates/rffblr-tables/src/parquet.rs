//! Reads Parquet files with flat columns of numbers, booleans, text, dates and times; these become text such as 2024-05-31.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ::parquet::basic::{Compression, ConvertedType, LogicalType, TimeUnit, Type as Physical};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::DataType;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use ::parquet::schema::types::{SchemaDescPtr, Type};
use bytes::Bytes;
use rayon::prelude::*;

use super::cells::settle;
use super::error::Place;
use super::packing::{Expansion, Packing, expect_modest};
use super::pages;
use super::panics::caught;
use super::source::Source;
use super::{Column, ReadOptions, Table, TableError, Values, Wish, plan};
use rffblr::internals::{Cells, Levels, excerpt};
use rffblr::memory::{of_doubles, require};
use rffblr::table::{DAY, date_text};

/// Rows decoded at a time.
const BATCH: usize = 8192;

/// Reads a table.
pub(super) fn read(source: &mut Source, options: &ReadOptions) -> Result<Table, TableError> {
    let file = source.name().to_owned();
    match source.path().filter(|_| source.packing == Packing::Plain) {
        Some(path) => guarded(&file, || read_whole(&file, open(&file, path)?, options)),
        None => {
            let bytes = Bytes::from(source.all()?);
            guarded(&file, || read_whole(&file, bytes, options))
        }
    }
}

/// The names of the columns.
pub(super) fn names(source: &mut Source) -> Result<Vec<String>, TableError> {
    let file = source.name().to_owned();
    match source.path().filter(|_| source.packing == Packing::Plain) {
        Some(path) => guarded(&file, || Ok(Description::of(&reader(&file, open(&file, path)?)?).names())),
        None => {
            let bytes = Bytes::from(source.all()?);
            guarded(&file, || Ok(Description::of(&reader(&file, bytes)?).names()))
        }
    }
}

/// Opens a file, so that its parts can be read as they are needed.
pub(super) fn open(file: &str, path: &Path) -> Result<Shared, TableError> {
    let failed = |cause| TableError::Read { file: file.to_owned(), cause };
    Shared::new(File::open(path).map_err(failed)?).map_err(failed)
}

/// A file that several threads read at once, each from a place of its own.
pub(super) struct Shared {
    file: Arc<Mutex<File>>,
    length: u64,
}

/// Such a file from some byte on.
pub(super) struct Onward {
    file: Arc<Mutex<File>>,
    at: u64,
}

impl Shared {
    pub(super) fn new(file: File) -> io::Result<Shared> {
        let length = file.metadata()?.len();
        Ok(Shared { file: Arc::new(Mutex::new(file)), length })
    }
}

impl Read for Onward {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Length for Shared {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Shared {
    type T = BufReader<Onward>;

    fn get_read(&self, start: u64) -> Result<BufReader<Onward>, ParquetError> {
        Ok(BufReader::new(Onward { file: self.file.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let mut bytes = Vec::with_capacity(length);
        let read = Onward { file: self.file.clone(), at: start }.take(length as u64).read_to_end(&mut bytes)?;
        match read == length {
            true => Ok(bytes.into()),
            false => Err(ParquetError::EOF(format!("{length} bytes from byte {start} on, of which there are {read}"))),
        }
    }
}

/// The decoder panics on some damaged files (version 60.1 on about one in a thousand with a few wrong bytes), which
/// must not take the program down.
pub(super) fn guarded<T>(file: &str, read: impl FnOnce() -> Result<T, TableError>) -> Result<T, TableError> {
    caught(read).unwrap_or_else(|| {
        Err(TableError::Damaged {
            format: "Parquet",
            file: file.to_owned(),
            message: String::from("its parts contradict each other"),
        })
    })
}

/// A column of a file that is kept.
pub(super) struct Stored {
    pub(super) name: String,
    pub(super) wish: Wish,
    /// Whether its type is text; `None` if the file has a column without any value and declares no type.
    pub(super) text: Option<bool>,
    /// Whether it is stored as true and false, which are read as 1 and 0.
    pub(super) truths: bool,
    /// Position among the leaves of the schema.
    leaf: usize,
    unsigned: bool,
    meaning: Meaning,
}

/// What a number that is stored stands for.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    /// Itself times this.
    Number(f64),
    /// A moment, in units of so many seconds since 1970.
    Moment(f64),
    /// A time of day, in units of so many seconds since midnight.
    Clock(f64),
}

/// Where the rows of a file go, a piece at a time.
pub(super) trait Sink {
    /// Most rows to send in the next piece, at least one.
    fn wanted(&self) -> usize;

    /// Takes some rows of all columns; `done` is the share of the file that is read after them.
    fn add(&mut self, piece: Vec<Values>, done: f64) -> Result<(), TableError>;
}

/// All rows, a row group at a time.
struct Whole(Vec<Cells>);

impl Sink for Whole {
    fn wanted(&self) -> usize {
        usize::MAX
    }

    fn add(&mut self, piece: Vec<Values>, _: f64) -> Result<(), TableError> {
        for (cells, values) in self.0.iter_mut().zip(&piece) {
            cells.extend(values, 0..values.len());
        }
        Ok(())
    }
}

fn read_whole(file: &str, input: impl ChunkReader + 'static, options: &ReadOptions) -> Result<Table, TableError> {
    pages::check(file, &input, options.allow_expansion)?;
    let packed = input.len();
    let reader = reader(file, input)?;
    let columns = Description::of(&reader).columns(file, options)?;
    // A few bytes can stand for any number of equal rows.
    let rows = usize::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(0);
    let unpacked = of_doubles(rows, columns.len()) as u64;
    expect_modest(file, Expansion { packed, unpacked }, options.allow_expansion)?;
    require(
        1.5 * of_doubles(rows, columns.len()),
        format!("{file}, a table of {rows} rows and {} columns,", columns.len()),
        "give it as a pattern such as 'data*.parquet', which is read in blocks of rows, or leave out columns",
    )?;
    let is_text = |column: &Stored| match column.wish {
        Wish::Text => true,
        Wish::Numeric => false,
        Wish::Guess | Wish::Ignore => column.text == Some(true),
    };
    let mut whole = Whole(columns.iter().map(|column| Cells::empty(is_text(column))).collect());
    pieces(file, &reader, &columns, &mut whole)?;
    let column = |(column, cells): (Stored, Cells)| Column { name: column.name, values: cells.finish() };
    Ok(Table::new(columns.into_iter().zip(whole.0).map(column).collect())?)
}

/// A file whose description is read; its rows are not.
pub(super) fn reader<R: ChunkReader + 'static>(file: &str, input: R) -> Result<SerializedFileReader<R>, TableError> {
    pages::check_children(file, &input)?;
    SerializedFileReader::new(input).map_err(|error| damaged(file, error))
}

fn damaged(file: &str, error: ParquetError) -> TableError {
    TableError::Damaged { format: "Parquet", file: file.to_owned(), message: error.to_string() }
}

/// Reads all rows of some columns, row group by row group, in pieces that the sink asks for. The columns of a piece are
/// decoded side by side, by the threads of the pool that this is called in.
pub(super) fn pieces<R: ChunkReader + 'static>(
    file: &str,
    reader: &SerializedFileReader<R>,
    columns: &[Stored],
    sink: &mut impl Sink,
) -> Result<(), TableError> {
    let all_rows = reader.metadata().file_metadata().num_rows().max(1) as f64;
    let mut first = 0;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(|error| damaged(file, error))?;
        let mut chunks = Vec::with_capacity(columns.len());
        for column in columns {
            let chunk = group.metadata().columns().get(column.leaf);
            match chunk.map(|chunk| chunk.compression()) {
                Some(Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::ZSTD(_)) => {}
                Some(other) => {
                    return Err(TableError::Codec {
                        file: file.to_owned(),
                        column: column.name.clone(),
                        codec: other.to_string(),
                    });
                }
                None => return Err(damaged(file, ParquetError::General("missing column".into()))),
            }
            chunks.push(group.get_column_reader(column.leaf).map_err(|error| damaged(file, error))?);
        }
        let end = first + usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        while first < end {
            let rows = sink.wanted().min(end - first);
            let decode = |(column, chunk): (&Stored, &mut ColumnReader)| {
                let values = column.read(file, chunk, first, rows)?;
                if values.len() != rows {
                    let (found, name) = (values.len(), excerpt(&column.name));
                    let message = format!("{found} of {rows} cells in column {name} from data row {}", first + 1);
                    return Err(damaged(file, ParquetError::General(message)));
                }
                settle(file, &column.name, values, first, column.wish)
            };
            // A panic is caught on the thread that has it.
            let decode = |place| guarded(file, || decode(place));
            let cells: Vec<Result<Values, TableError>> = columns.par_iter().zip(&mut chunks).map(decode).collect();
            first += rows;
            // Of several errors that of the first column.
            sink.add(cells.into_iter().collect::<Result<_, _>>()?, first as f64 / all_rows)?;
        }
    }
    Ok(())
}

/// What a file says about its columns.
pub(super) struct Description(SchemaDescPtr);

impl Description {
    pub(super) fn of<R: ChunkReader + 'static>(reader: &SerializedFileReader<R>) -> Description {
        Description(reader.metadata().file_metadata().schema_descr_ptr())
    }

    /// The names of all columns.
    pub(super) fn names(&self) -> Vec<String> {
        self.0.root_schema().get_fields().iter().map(|field| field.name().to_owned()).collect()
    }

    /// The columns to keep; refuses those that have no place in a table.
    pub(super) fn columns(&self, file: &str, options: &ReadOptions) -> Result<Vec<Stored>, TableError> {
        let schema = &self.0;
        let fields = schema.root_schema().get_fields();
        if fields.is_empty() {
            let file = file.to_owned();
            return Err(TableError::Empty { file });
        }
        let names = self.names();
        let wishes = plan(file, &names, options)?;
        let mut columns = Vec::with_capacity(fields.len());
        let mut leaf = 0;
        for (root, ((field, name), &wish)) in fields.iter().zip(&names).zip(&wishes).enumerate() {
            // A column has any number of leaves; one of columns inside each other may have none.
            while leaf < schema.num_columns() && schema.get_column_root_idx(leaf) < root {
                leaf += 1;
            }
            if wish == Wish::Ignore {
                continue;
            }
            let unsupported = |(kind, remedy): (&str, &'static str)| TableError::Unsupported {
                file: file.to_owned(),
                column: name.clone(),
                kind: kind.to_owned(),
                remedy,
            };
            if field.is_group() || schema.column(leaf).max_rep_level() > 0 {
                let remedy = "flatten it into plain columns";
                return Err(unsupported(("a nested column", remedy)));
            }
            let (text, meaning) = content(field).map_err(unsupported)?;
            let truths = schema.column(leaf).physical_type() == Physical::BOOLEAN;
            columns.push(Stored {
                name: name.clone(),
                wish,
                text,
                truths,
                leaf,
                unsigned: is_unsigned(field),
                meaning,
            });
        }
        Ok(columns)
    }
}

fn is_unsigned(field: &Type) -> bool {
    use ConvertedType as C;
    let info = field.get_basic_info();
    match info.logical_type_ref() {
        Some(LogicalType::Integer(kind)) => !kind.is_signed,
        _ => matches!(info.converted_type(), C::UINT_8 | C::UINT_16 | C::UINT_32 | C::UINT_64),
    }
}

/// Whether a type is text and what its numbers mean, or what it is called and how to avoid it.
fn content(field: &Type) -> Result<(Option<bool>, Meaning), (&'static str, &'static str)> {
    use ConvertedType as C;
    use LogicalType as L;
    let info = field.get_basic_info();
    let binary = ("binary data", "write it as a double or as text");
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::MILLIS => 1e-3,
        TimeUnit::MICROS => 1e-6,
        TimeUnit::NANOS => 1e-9,
    };
    let meaning = match (info.logical_type_ref(), info.converted_type()) {
        (Some(L::Date), _) | (None, C::DATE) => Meaning::Moment(DAY),
        (Some(L::Timestamp(time)), _) => Meaning::Moment(unit(&time.unit)),
        (None, C::TIMESTAMP_MILLIS) => Meaning::Moment(1e-3),
        (None, C::TIMESTAMP_MICROS) => Meaning::Moment(1e-6),
        (Some(L::Time(time)), _) => Meaning::Clock(unit(&time.unit)),
        (None, C::TIME_MILLIS) => Meaning::Clock(1e-3),
        (None, C::TIME_MICROS) => Meaning::Clock(1e-6),
        (Some(L::Decimal(_)), _) | (None, C::DECIMAL) => Meaning::Number(10f64.powi(-field.get_scale())),
        (Some(L::Float16), _) => return Err(("a half precision number", "write it as a double")),
        // A column without any value has type null.
        (Some(L::Unknown), _) => return Ok((None, Meaning::Number(1.0))),
        (None, C::INTERVAL) => return Err(("an interval of time", "write it as a number of days or seconds")),
        (None, C::BSON) => return Err(binary),
        (None, _) | (Some(L::String | L::Enum | L::Json | L::Integer(_)), _) => Meaning::Number(1.0),
        (Some(_), _) => return Err(binary),
    };
    match (field.get_physical_type(), meaning) {
        // Nanoseconds of a day and the number of that day.
        (Physical::INT96, _) => Ok((Some(true), Meaning::Moment(1e-3))),
        (Physical::FIXED_LEN_BYTE_ARRAY | Physical::BYTE_ARRAY, Meaning::Number(factor)) if factor != 1.0 => {
            Err(("a decimal", "write it as a double"))
        }
        (Physical::FIXED_LEN_BYTE_ARRAY, _) => Err(binary),
        (Physical::BYTE_ARRAY, _) => Ok((Some(true), meaning)),
        (_, Meaning::Number(_)) => Ok((Some(false), meaning)),
        (_, Meaning::Moment(_) | Meaning::Clock(_)) => Ok((Some(true), meaning)),
    }
}

impl Stored {
    /// The next cells of a row group, as many as there are up to `rows`; `first` is the row of the first one, from 0.
    fn read(&self, file: &str, chunk: &mut ColumnReader, first: usize, rows: usize) -> Result<Values, TableError> {
        let (unsigned, meaning) = (self.unsigned, self.meaning);
        let mut not_utf8 = None;
        let result = match chunk {
            ColumnReader::BoolColumnReader(chunk) => numbers(chunk, rows, |&x| f64::from(x)),
            ColumnReader::Int32ColumnReader(chunk) => {
                let number = |&x: &i32| if unsigned { f64::from(x.cast_unsigned()) } else { f64::from(x) };
                numbers(chunk, rows, number).map(|values| meaning.apply(values))
            }
            ColumnReader::Int64ColumnReader(chunk) => {
                let number = |&x: &i64| if unsigned { x.cast_unsigned() as f64 } else { x as f64 };
                numbers(chunk, rows, number).map(|values| meaning.apply(values))
            }
            ColumnReader::Int96ColumnReader(chunk) => {
                numbers(chunk, rows, |x| x.to_millis() as f64).map(|values| meaning.apply(values))
            }
            ColumnReader::FloatColumnReader(chunk) => numbers(chunk, rows, |&x| f64::from(x)),
            ColumnReader::DoubleColumnReader(chunk) => numbers(chunk, rows, |&x| x),
            ColumnReader::ByteArrayColumnReader(chunk) => {
                let mut levels = Levels::default();
                let outcome = each(chunk, rows, |cell| match cell.map(|bytes| std::str::from_utf8(bytes.data())) {
                    None => levels.push_missing(),
                    Some(Ok(text)) => {
                        levels.push(text);
                    }
                    Some(Err(_)) => {
                        not_utf8.get_or_insert(first + levels.len() + 1);
                        levels.push_missing();
                    }
                });
                outcome.map(|()| levels.finish())
            }
            _ => Err(ParquetError::General("column type changed".into())),
        };
        match (result, not_utf8) {
            (Ok(_), Some(row)) => Err(TableError::NotUtf8InColumn {
                file: file.to_owned(),
                place: Place::Row(row),
                column: self.name.clone(),
            }),
            (Ok(values), None) => Ok(values),
            (Err(error), _) => Err(TableError::Damaged {
                format: "Parquet",
                file: file.to_owned(),
                message: format!("column {}, near data row {}: {error}", excerpt(&self.name), first + 1),
            }),
        }
    }
}

impl Meaning {
    /// Numbers as they are stored, as what they stand for.
    pub(super) fn apply(self, values: Values) -> Values {
        let Values::Numeric(mut numbers) = values else { return values };
        let text: &dyn Fn(f64) -> String = match self {
            Meaning::Number(factor) => {
                if factor != 1.0 {
                    // Division by a power of ten rounds once, as reading the decimal would.
                    numbers.iter_mut().for_each(|number| *number /= factor.recip().round());
                }
                return Values::Numeric(numbers);
            }
            Meaning::Moment(unit) => &move |number| date_text(number / unit.recip().max(1.0) * unit.max(1.0)),
            Meaning::Clock(unit) => &move |number| {
                // The time of a day, with a date before it that is dropped.
                let text = date_text(number / unit.recip());
                text.split_once('T').map_or_else(|| String::from("00:00:00"), |(_, clock)| clock.to_owned())
            },
        };
        let mut levels = Levels::default();
        for number in numbers {
            match number.is_nan() {
                true => levels.push_missing(),
                false => {
                    levels.push(&text(number));
                }
            }
        }
        levels.finish()
    }
}

fn numbers<T: DataType>(
    chunk: &mut ColumnReaderImpl<T>,
    rows: usize,
    number: impl Fn(&T::T) -> f64,
) -> Result<Values, ParquetError> {
    let mut out = Vec::new();
    each(chunk, rows, |cell| out.push(cell.map_or(f64::NAN, &number)))?;
    Ok(Values::Numeric(out))
}

/// Calls `use_cell` for the next cells of a column chunk, up to `rows` of them, with `None` for a null.
fn each<T: DataType>(
    chunk: &mut ColumnReaderImpl<T>,
    mut rows: usize,
    mut use_cell: impl FnMut(Option<&T::T>),
) -> Result<(), ParquetError> {
    let mut values: Vec<T::T> = Vec::new();
    let mut present: Vec<i16> = Vec::new();
    while rows > 0 {
        values.clear();
        present.clear();
        let (read, _, _) = chunk.read_records(rows.min(BATCH), Some(&mut present), None, &mut values)?;
        if read == 0 {
            return Ok(());
        }
        rows -= read;
        if present.is_empty() {
            // A required column has no levels of definition.
            values.iter().for_each(|value| use_cell(Some(value)));
            continue;
        }
        let mut next = values.iter();
        for &level in &present {
            use_cell(if level > 0 { next.next() } else { None });
        }
    }
    Ok(())
}
