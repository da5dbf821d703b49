//! Reads Arrow files (Feather, version 2) with flat columns of numbers, booleans, text, dates and times; these become text
//! such as 2024-05-31, as those of Parquet do.

use std::io::Cursor;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowNativeTypeOp, ArrowPrimitiveType, BooleanArray, RecordBatch};
use arrow_ipc::reader::{FileReader, read_footer_length};
use arrow_ipc::{root_as_footer, root_as_message};
use arrow_schema::{ArrowError, DataType, Field, TimeUnit};

use super::cells::settle;
use super::packing::{Expansion, expect_modest};
use super::panics::caught;
use super::parquet::Meaning;
use super::source::Source;
use super::{Column, ReadOptions, Table, TableError, Values, Wish, plan};
use rffblr::internals::{Cells, Levels, excerpt};
use rffblr::memory::{of_doubles, require};
use rffblr::table::DAY;

/// First bytes of a file.
pub(super) const MAGIC: &[u8] = b"ARROW1";

/// Reads a table.
pub(super) fn read(source: &mut Source, options: &ReadOptions) -> Result<Table, TableError> {
    let (file, bytes, allowed) = (source.name().to_owned(), source.all()?, source.allow_expansion);
    guarded(&file, || {
        let reader = opened(&file, bytes, allowed)?;
        let names = names_of(&reader);
        let wishes = plan(&file, &names, options)?;
        read_columns(&file, reader, &names, &wishes)
    })
}

/// The names of the columns.
pub(super) fn names(source: &mut Source) -> Result<Vec<String>, TableError> {
    let (file, bytes, allowed) = (source.name().to_owned(), source.all()?, source.allow_expansion);
    guarded(&file, || Ok(names_of(&opened(&file, bytes, allowed)?)))
}

type Reader = FileReader<Cursor<Vec<u8>>>;

/// The decoder panics on some damaged files.
fn guarded<T>(file: &str, read: impl FnOnce() -> Result<T, TableError>) -> Result<T, TableError> {
    caught(read).unwrap_or_else(|| Err(damaged(file, "its parts contradict each other")))
}

fn opened(file: &str, bytes: Vec<u8>, allow_expansion: bool) -> Result<Reader, TableError> {
    let unpacked = unpacked_size(&bytes).ok_or_else(|| damaged(file, "its end is not that of an Arrow file"))?;
    let expansion = Expansion { packed: bytes.len() as u64, unpacked: unpacked as u64 };
    expect_modest(file, expansion, allow_expansion)?;
    require(
        unpacked,
        format!("{file}, unpacked,"),
        "write it as Parquet and give it as a pattern such as 'data*.parquet'",
    )?;
    FileReader::try_new(Cursor::new(bytes), None).map_err(|error| unreadable(file, error))
}

/// Bytes of all packed buffers once they are unpacked, and of all cells as numbers, as the file says; the decoder takes so much memory
/// before it looks at them. `None` if the file contradicts itself.
fn unpacked_size(bytes: &[u8]) -> Option<f64> {
    let end = bytes.len().checked_sub(10)?;
    let length = read_footer_length(bytes[end..].try_into().ok()?).ok()?;
    let footer = root_as_footer(bytes.get(end.checked_sub(length)?..end)?).ok()?;
    let blocks = footer.recordBatches().into_iter().chain(footer.dictionaries()).flatten();
    let mut size = 0.0;
    for block in blocks {
        let (start, length) = (usize::try_from(block.offset()).ok()?, usize::try_from(block.metaDataLength()).ok()?);
        let described = bytes.get(start..start.checked_add(length)?)?;
        // A mark, which old files lack, and the length stand before it.
        let message = described.strip_prefix(&[0xff; 4]).unwrap_or(described).get(4..)?;
        let message = root_as_message(message).ok()?;
        let batch = message.header_as_record_batch().or_else(|| message.header_as_dictionary_batch()?.data())?;
        let body = bytes.get(start + length..)?.get(..usize::try_from(block.bodyLength()).ok()?)?;
        for node in batch.nodes().into_iter().flatten() {
            size += of_doubles(usize::try_from(node.length()).ok()?, 1);
        }
        for buffer in batch.buffers().into_iter().flatten().filter(|buffer| buffer.length() >= 8) {
            let own = body.get(usize::try_from(buffer.offset()).ok()?..)?;
            let unpacked = i64::from_le_bytes(own.get(..8)?.try_into().ok()?);
            // Minus one stands for a buffer that is not packed.
            size += if batch.compression().is_some() { unpacked.max(0) as f64 } else { 0.0 };
        }
    }
    Some(size)
}

fn names_of(reader: &Reader) -> Vec<String> {
    reader.schema().fields().iter().map(|field| field.name().clone()).collect()
}

fn damaged(file: &str, message: impl Into<String>) -> TableError {
    TableError::Damaged { file: file.to_owned(), format: "Arrow", message: message.into() }
}

fn unreadable(file: &str, error: ArrowError) -> TableError {
    damaged(file, error.to_string())
}

fn read_columns(file: &str, reader: Reader, names: &[String], wishes: &[Wish]) -> Result<Table, TableError> {
    let schema = reader.schema();
    let kept: Vec<usize> = (0..names.len()).filter(|&column| wishes[column] != Wish::Ignore).collect();
    let mut kinds = Vec::with_capacity(kept.len());
    for &column in &kept {
        kinds.push(Kind::of(schema.field(column)).map_err(|(kind, remedy)| TableError::Unsupported {
            file: file.to_owned(),
            column: names[column].clone(),
            kind: kind.to_owned(),
            remedy,
        })?);
    }
    let is_text = |(&column, kind): (&usize, &Kind)| match wishes[column] {
        Wish::Text => true,
        Wish::Numeric => false,
        Wish::Guess | Wish::Ignore => kind.is_text(),
    };
    let mut cells: Vec<Cells> = kept.iter().zip(&kinds).map(is_text).map(Cells::empty).collect();
    let mut first = 0;
    for batch in reader {
        let batch = batch.map_err(|error| unreadable(file, error))?;
        let bytes = 2.0 * of_doubles(batch.num_rows(), kept.len());
        require(bytes, format!("{file}, from data row {},", first + 1), "leave out columns, or take fewer rows")?;
        for ((&column, kind), cells) in kept.iter().zip(&kinds).zip(&mut cells) {
            let values = kind
                .values(&batch, column)
                .ok_or_else(|| damaged(file, format!("column {} changes its type", excerpt(&names[column]))))?;
            let values = settle(file, &names[column], values, first, wishes[column])?;
            cells.extend(&values, 0..values.len());
        }
        first += batch.num_rows();
    }
    let column = |(&column, cells): (&usize, Cells)| Column { name: names[column].clone(), values: cells.finish() };
    Ok(Table::new(kept.iter().zip(cells).map(column).collect())?)
}

/// What a column holds.
enum Kind {
    /// No value at all.
    Nothing,
    Truth,
    Number(DataType, Meaning),
    Text,
    /// Codes into a list of texts.
    Category(DataType),
}

impl Kind {
    /// What the file declares; or what that is called and how to avoid it.
    fn of(field: &Field) -> Result<Kind, (&'static str, &'static str)> {
        use DataType as D;
        let unit = |unit: &TimeUnit| match unit {
            TimeUnit::Second => 1.0,
            TimeUnit::Millisecond => 1e-3,
            TimeUnit::Microsecond => 1e-6,
            TimeUnit::Nanosecond => 1e-9,
        };
        let meaning = match field.data_type() {
            D::Null => return Ok(Kind::Nothing),
            D::Boolean => return Ok(Kind::Truth),
            D::Utf8 | D::LargeUtf8 | D::Utf8View => return Ok(Kind::Text),
            D::Dictionary(codes, values) if codes.is_integer() && matches!(**values, D::Utf8 | D::LargeUtf8) => {
                return Ok(Kind::Category((**codes).clone()));
            }
            kind if kind.is_integer() => Meaning::Number(1.0),
            D::Float16 | D::Float32 | D::Float64 => Meaning::Number(1.0),
            D::Decimal128(_, scale) => Meaning::Number(10f64.powi(-i32::from(*scale))),
            D::Date32 => Meaning::Moment(DAY),
            D::Date64 => Meaning::Moment(1e-3),
            D::Timestamp(of, _) => Meaning::Moment(unit(of)),
            D::Time32(of) | D::Time64(of) => Meaning::Clock(unit(of)),
            D::Duration(_) | D::Interval(_) => {
                return Err(("an interval of time", "write it as a number of days or seconds"));
            }
            D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_) => {
                return Err(("binary data", "write it as a double or as text"));
            }
            kind if kind.is_nested() => return Err(("a nested column", "flatten it into plain columns")),
            _ => return Err(("a column of an uncommon type", "write it as a double or as text")),
        };
        Ok(Kind::Number(field.data_type().clone(), meaning))
    }

    fn is_text(&self) -> bool {
        match self {
            Kind::Nothing | Kind::Truth | Kind::Number(_, Meaning::Number(_)) => false,
            Kind::Text | Kind::Category(_) | Kind::Number(..) => true,
        }
    }

    /// The cells of a column of this kind; `None` if it is another.
    fn values(&self, batch: &RecordBatch, column: usize) -> Option<Values> {
        let array = batch.columns().get(column)?.as_ref();
        match self {
            Kind::Nothing => Some(Values::Numeric(vec![f64::NAN; array.len()])),
            Kind::Truth => Some(truths(array.as_boolean_opt()?)),
            Kind::Number(kind, meaning) => Some(meaning.apply(Values::Numeric(numbers(array, kind)?))),
            Kind::Text => texts(array),
            Kind::Category(codes) => categories(array, codes),
        }
    }
}

fn truths(array: &BooleanArray) -> Values {
    Values::Numeric(array.iter().map(|cell| cell.map_or(f64::NAN, f64::from)).collect())
}

fn numbers(array: &dyn Array, kind: &DataType) -> Option<Vec<f64>> {
    use DataType as D;
    use TimeUnit as U;
    match kind {
        D::Int8 => all::<Int8Type>(array, f64::from),
        D::Int16 => all::<Int16Type>(array, f64::from),
        D::Int32 => all::<Int32Type>(array, f64::from),
        D::Int64 => all::<Int64Type>(array, |x| x as f64),
        D::UInt8 => all::<UInt8Type>(array, f64::from),
        D::UInt16 => all::<UInt16Type>(array, f64::from),
        D::UInt32 => all::<UInt32Type>(array, f64::from),
        D::UInt64 => all::<UInt64Type>(array, |x| x as f64),
        D::Float16 => all::<Float16Type>(array, f64::from),
        D::Float32 => all::<Float32Type>(array, f64::from),
        D::Float64 => all::<Float64Type>(array, |x| x),
        D::Decimal128(..) => all::<Decimal128Type>(array, |x| x as f64),
        D::Date32 => all::<Date32Type>(array, f64::from),
        D::Date64 => all::<Date64Type>(array, |x| x as f64),
        D::Timestamp(U::Second, _) => all::<TimestampSecondType>(array, |x| x as f64),
        D::Timestamp(U::Millisecond, _) => all::<TimestampMillisecondType>(array, |x| x as f64),
        D::Timestamp(U::Microsecond, _) => all::<TimestampMicrosecondType>(array, |x| x as f64),
        D::Timestamp(U::Nanosecond, _) => all::<TimestampNanosecondType>(array, |x| x as f64),
        D::Time32(U::Second) => all::<Time32SecondType>(array, f64::from),
        D::Time32(_) => all::<Time32MillisecondType>(array, f64::from),
        D::Time64(U::Microsecond) => all::<Time64MicrosecondType>(array, |x| x as f64),
        D::Time64(_) => all::<Time64NanosecondType>(array, |x| x as f64),
        _ => None,
    }
}

fn all<T: ArrowPrimitiveType>(array: &dyn Array, number: impl Fn(T::Native) -> f64) -> Option<Vec<f64>>
where
    T::Native: ArrowNativeTypeOp,
{
    let cells = array.as_primitive_opt::<T>()?;
    Some(cells.iter().map(|cell| cell.map_or(f64::NAN, &number)).collect())
}

fn texts(array: &dyn Array) -> Option<Values> {
    let mut levels = Levels::default();
    let mut add = |cell: Option<&str>| match cell {
        None => levels.push_missing(),
        Some(text) => {
            levels.push(text);
        }
    };
    if let Some(cells) = array.as_string_opt::<i32>() {
        cells.iter().for_each(&mut add);
    } else if let Some(cells) = array.as_string_opt::<i64>() {
        cells.iter().for_each(&mut add);
    } else {
        array.as_string_view_opt()?.iter().for_each(&mut add);
    }
    Some(levels.finish())
}

/// A column of codes, each of which stands for a text.
fn categories(array: &dyn Array, codes: &DataType) -> Option<Values> {
    let dictionary = array.as_any_dictionary_opt()?;
    let codes = numbers(dictionary.keys(), codes)?;
    let Values::Text { codes: places, levels: names } = texts(dictionary.values())? else { return None };
    let mut levels = Levels::default();
    for code in codes {
        // A code, the place of its text in the list, and the text; a text of the list may be missing.
        let place = if code.is_nan() { None } else { Some(*places.get(code as usize)?) };
        match place.and_then(|place| names.get(place as usize)) {
            None => levels.push_missing(),
            Some(text) => {
                levels.push(text);
            }
        }
    }
    Some(levels.finish())
}
