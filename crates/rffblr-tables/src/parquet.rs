//! Reads Parquet files with flat columns of numbers, booleans and text.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ::parquet::basic::{Compression, ConvertedType, LogicalType, Type as Physical};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::DataType;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use ::parquet::schema::types::Type;
use bytes::Bytes;

use super::cells::{Levels, settle};
use super::error::Place;
use super::source::Source;
use super::{Column, ReadOptions, Table, TableError, Values, Wish, plan};
use rffblr::internals::excerpt;

/// Rows decoded at a time.
const BATCH: usize = 8192;

/// Reads a table.
///
/// The decoder panics on some damaged files (version 60.1 on about one in a thousand with a few wrong bytes),
/// which must not take the program down.
pub(super) fn read(source: &mut Source, options: &ReadOptions) -> Result<Table, TableError> {
    let file = source.name().to_owned();
    let attempt = AssertUnwindSafe(|| match source.path() {
        Some(path) => {
            let input = File::open(path).map_err(|cause| TableError::Read { file: file.clone(), cause })?;
            read_chunks(&file, input, options)
        }
        None => read_chunks(&file, Bytes::from(source.all()?), options),
    });
    catch_unwind(attempt).unwrap_or_else(|_| {
        Err(TableError::Parquet { file: file.clone(), message: String::from("its parts contradict each other") })
    })
}

/// A column that is kept, with the cells read so far.
struct Building {
    name: String,
    wish: Wish,
    /// Position among the leaves of the schema.
    leaf: usize,
    unsigned: bool,
    cells: Cells,
}

enum Cells {
    Numbers(Vec<f64>),
    Text(Levels),
}

fn read_chunks(file: &str, input: impl ChunkReader + 'static, options: &ReadOptions) -> Result<Table, TableError> {
    let damaged = |error: ParquetError| TableError::Parquet { file: file.to_owned(), message: error.to_string() };
    let reader = SerializedFileReader::new(input).map_err(damaged)?;
    let mut columns = read_schema(file, &reader, options)?;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(damaged)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        for column in &mut columns {
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
                None => return Err(damaged(ParquetError::General("missing column".into()))),
            }
            let cells = group.get_column_reader(column.leaf).map_err(damaged)?;
            let before = column.cells.len();
            column.read(file, cells)?;
            let found = column.cells.len() - before;
            if found != rows {
                let message = format!("{found} of {rows} cells in column {}", excerpt(&column.name));
                return Err(damaged(ParquetError::General(message)));
            }
        }
    }
    let mut table = Vec::with_capacity(columns.len());
    for Building { name, wish, cells, .. } in columns {
        let values = match cells {
            Cells::Numbers(numbers) => Values::Numeric(numbers),
            Cells::Text(levels) => levels.finish(),
        };
        table.push(settle(file, Column { name, values }, wish)?);
    }
    Ok(Table::new(table)?)
}

/// Lists the columns to keep and refuses those that have no place in a table.
fn read_schema<R: ChunkReader + 'static>(
    file: &str,
    reader: &SerializedFileReader<R>,
    options: &ReadOptions,
) -> Result<Vec<Building>, TableError> {
    let schema = reader.metadata().file_metadata().schema_descr();
    let fields = schema.root_schema().get_fields();
    if fields.is_empty() {
        let file = file.to_owned();
        return Err(TableError::Empty { file });
    }
    let names: Vec<String> = fields.iter().map(|field| field.name().to_owned()).collect();
    let wishes = plan(file, &names, options)?;
    let mut columns = Vec::with_capacity(fields.len());
    for leaf in 0..schema.num_columns() {
        let root = schema.get_column_root_idx(leaf);
        let (Some(field), Some(name), Some(&wish)) = (fields.get(root), names.get(root), wishes.get(root)) else {
            continue;
        };
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
        columns.push(Building {
            name: name.clone(),
            wish,
            leaf,
            unsigned: is_unsigned(field),
            cells: empty_cells(field).map_err(unsupported)?,
        });
    }
    Ok(columns)
}

fn is_unsigned(field: &Type) -> bool {
    use ConvertedType as C;
    let info = field.get_basic_info();
    match info.logical_type_ref() {
        Some(LogicalType::Integer(kind)) => !kind.is_signed,
        _ => matches!(info.converted_type(), C::UINT_8 | C::UINT_16 | C::UINT_32 | C::UINT_64),
    }
}

/// The cells for a type, or what the type is called and how to avoid it.
fn empty_cells(field: &Type) -> Result<Cells, (&'static str, &'static str)> {
    use ConvertedType as C;
    use LogicalType as L;
    let info = field.get_basic_info();
    let time = ("a date or time", "write it as a number of days or seconds");
    let decimal = ("a decimal", "write it as a double");
    let binary = ("binary data", "write it as a double or as text");
    match info.logical_type_ref() {
        Some(L::Date | L::Time(_) | L::Timestamp(_)) => return Err(time),
        Some(L::Decimal(_)) => return Err(decimal),
        Some(L::Float16) => return Err(("a half precision number", "write it as a double")),
        // A column without any value has type null.
        None | Some(L::String | L::Enum | L::Json | L::Integer(_) | L::Unknown) => {}
        Some(_) => return Err(binary),
    }
    match info.converted_type() {
        C::DATE | C::TIME_MILLIS | C::TIME_MICROS => return Err(time),
        C::TIMESTAMP_MILLIS | C::TIMESTAMP_MICROS | C::INTERVAL => return Err(time),
        C::DECIMAL => return Err(decimal),
        C::BSON => return Err(binary),
        _ => {}
    }
    match field.get_physical_type() {
        Physical::INT96 => Err(time),
        Physical::FIXED_LEN_BYTE_ARRAY => Err(binary),
        Physical::BYTE_ARRAY => Ok(Cells::Text(Levels::default())),
        Physical::BOOLEAN | Physical::INT32 | Physical::INT64 | Physical::FLOAT | Physical::DOUBLE => {
            Ok(Cells::Numbers(Vec::new()))
        }
    }
}

impl Cells {
    fn len(&self) -> usize {
        match self {
            Cells::Numbers(numbers) => numbers.len(),
            Cells::Text(levels) => levels.len(),
        }
    }
}

impl Building {
    /// Appends the cells of one row group.
    fn read(&mut self, file: &str, reader: ColumnReader) -> Result<(), TableError> {
        let unsigned = self.unsigned;
        let before = self.cells.len();
        let result = match (&mut self.cells, reader) {
            (Cells::Numbers(out), ColumnReader::BoolColumnReader(reader)) => numbers(reader, out, |&x| f64::from(x)),
            (Cells::Numbers(out), ColumnReader::Int32ColumnReader(reader)) => {
                let signed = |&x: &i32| f64::from(x);
                let raised = |&x: &i32| f64::from(x.cast_unsigned());
                if unsigned { numbers(reader, out, raised) } else { numbers(reader, out, signed) }
            }
            (Cells::Numbers(out), ColumnReader::Int64ColumnReader(reader)) => {
                let signed = |&x: &i64| x as f64;
                let raised = |&x: &i64| x.cast_unsigned() as f64;
                if unsigned { numbers(reader, out, raised) } else { numbers(reader, out, signed) }
            }
            (Cells::Numbers(out), ColumnReader::FloatColumnReader(reader)) => numbers(reader, out, |&x| f64::from(x)),
            (Cells::Numbers(out), ColumnReader::DoubleColumnReader(reader)) => numbers(reader, out, |&x| x),
            (Cells::Text(out), ColumnReader::ByteArrayColumnReader(reader)) => {
                let mut not_utf8 = None;
                let mut row = before;
                let result = each(reader, |cell| {
                    row += 1;
                    match cell.map(|bytes| std::str::from_utf8(bytes.data())) {
                        None => out.push_missing(),
                        Some(Ok(text)) => out.push(text),
                        Some(Err(_)) => {
                            not_utf8.get_or_insert(row);
                            out.push_missing();
                        }
                    }
                });
                if let (Ok(()), Some(row)) = (&result, not_utf8) {
                    return Err(TableError::NotUtf8InColumn {
                        file: file.to_owned(),
                        place: Place::Row(row),
                        column: self.name.clone(),
                    });
                }
                result
            }
            _ => Err(ParquetError::General("column type changed".into())),
        };
        result.map_err(|error| TableError::Parquet {
            file: file.to_owned(),
            message: format!("column {}: {error}", excerpt(&self.name)),
        })
    }
}

fn numbers<T: DataType>(
    reader: ColumnReaderImpl<T>,
    out: &mut Vec<f64>,
    number: impl Fn(&T::T) -> f64,
) -> Result<(), ParquetError> {
    each(reader, |cell| out.push(cell.map_or(f64::NAN, &number)))
}

/// Calls `use_cell` for every cell of a column chunk, with `None` for a null.
fn each<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    mut use_cell: impl FnMut(Option<&T::T>),
) -> Result<(), ParquetError> {
    let mut values: Vec<T::T> = Vec::new();
    let mut present: Vec<i16> = Vec::new();
    loop {
        values.clear();
        present.clear();
        let (rows, _, _) = reader.read_records(BATCH, Some(&mut present), None, &mut values)?;
        if rows == 0 {
            return Ok(());
        }
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
}
