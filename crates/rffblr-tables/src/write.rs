//! Writes tables as CSV and Parquet.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;

use super::{MISSING, Table, TableError, Values};
use rffblr::internals::number_text;

/// Rows per Parquet row group, which bounds the memory of the encoder.
const ROW_GROUP: usize = 1 << 18;

/// Writes a table as CSV: comma, line feed, quotes only where needed, missing cells empty.
///
/// Numbers are written in the shortest form that reads back to the same bits. [`super::read`] trims blanks
/// around text and takes words such as `NA` for missing, so text of that kind does not survive.
pub fn write_csv(table: &Table, out: impl Write) -> Result<(), TableError> {
    let csv = || -> io::Result<()> {
        let mut out = BufWriter::new(out);
        for (index, column) in table.columns().iter().enumerate() {
            separate(&mut out, index)?;
            write_text(&mut out, &column.name)?;
        }
        out.write_all(b"\n")?;
        for row in 0..table.rows() {
            for (index, column) in table.columns().iter().enumerate() {
                separate(&mut out, index)?;
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
                            write_text(&mut out, level)?;
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
        out.flush()
    };
    csv().map_err(|cause| TableError::Write { cause })
}

fn separate(out: &mut impl Write, index: usize) -> io::Result<()> {
    if index > 0 { out.write_all(b",") } else { Ok(()) }
}

fn write_text(out: &mut impl Write, text: &str) -> io::Result<()> {
    // A leading byte order mark would be taken for the mark of the file.
    let plain = !text.is_empty()
        && !text.starts_with(['\u{feff}', ' ', '\t'])
        && !text.ends_with([' ', '\t'])
        && !text.contains([',', '"', '\n', '\r', ';', '\t', '|']);
    if plain { out.write_all(text.as_bytes()) } else { write!(out, "\"{}\"", text.replace('"', "\"\"")) }
}

/// Writes a table as Parquet: optional doubles and UTF-8 strings, missing cells null, snappy compression.
pub fn write_parquet(table: &Table, out: impl Write + Send) -> Result<(), TableError> {
    parquet(table, out).map_err(|error| match error {
        ParquetError::External(cause) => TableError::Write { cause: io::Error::other(cause) },
        other => TableError::WriteParquet { message: other.to_string() },
    })
}

fn parquet(table: &Table, out: impl Write + Send) -> Result<(), ParquetError> {
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
    }
    let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
    for start in (0..table.rows()).step_by(ROW_GROUP) {
        let rows = start..table.rows().min(start + ROW_GROUP);
        let mut group = file.next_row_group()?;
        for column in table.columns() {
            let Some(mut writer) = group.next_column()? else {
                break;
            };
            match &column.values {
                Values::Numeric(numbers) => {
                    let numbers = numbers.get(rows.clone()).unwrap_or(&[]);
                    let present: Vec<i16> = numbers.iter().map(|x| (!x.is_nan()).into()).collect();
                    let values: Vec<f64> = numbers.iter().copied().filter(|x| !x.is_nan()).collect();
                    let writer = writer.typed::<DoubleType>();
                    writer.write_batch(&values, Some(&present), None)?;
                }
                Values::Text { levels, codes } => {
                    let codes = codes.get(rows.clone()).unwrap_or(&[]);
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
    }
    file.close()?;
    Ok(())
}
