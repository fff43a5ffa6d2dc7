//! Parquet and Arrow: one record batch.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::{OutputCells, OutputColumn, WriteError};

pub(super) fn parquet(columns: &[OutputColumn]) -> Result<Vec<u8>, WriteError> {
    let batch = batch(columns)?;
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
    let write = || {
        let mut bytes = Vec::new();
        let mut writer =
            ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties.build()))?;
        writer.write(&batch)?;
        writer.close()?;
        Ok::<_, parquet::errors::ParquetError>(bytes)
    };
    write().map_err(|e| WriteError::Encoding(e.to_string()))
}

pub(super) fn arrow_ipc(columns: &[OutputColumn]) -> Result<Vec<u8>, WriteError> {
    let batch = batch(columns)?;
    let write = || {
        let mut bytes = Vec::new();
        let mut writer = FileWriter::try_new(&mut bytes, &batch.schema())?;
        writer.write(&batch)?;
        writer.finish()?;
        drop(writer);
        Ok::<_, arrow_schema::ArrowError>(bytes)
    };
    write().map_err(|e| WriteError::Encoding(e.to_string()))
}

fn batch(columns: &[OutputColumn]) -> Result<RecordBatch, WriteError> {
    let arrays: Vec<ArrayRef> = columns.iter().map(|column| array(&column.cells)).collect();
    let field = |(column, array): (&OutputColumn, &ArrayRef)| {
        let cells = &column.cells;
        let has_gaps = (0..cells.len()).any(|row| cells.is_missing(row));
        Field::new(&column.name, array.data_type().clone(), has_gaps)
    };
    let fields: Vec<Field> = columns.iter().zip(&arrays).map(field).collect();
    let schema = Arc::new(Schema::new(fields));
    RecordBatch::try_new(schema, arrays).map_err(|e| WriteError::Encoding(e.to_string()))
}

fn array(cells: &OutputCells) -> ArrayRef {
    match cells {
        OutputCells::Numbers(values) => {
            Arc::new(values.iter().map(|&v| (!v.is_nan()).then_some(v)).collect::<Float64Array>())
        }
        OutputCells::Text { codes, texts } => text(codes, texts),
        OutputCells::Written { codes, texts } => {
            numbers(codes, texts).unwrap_or_else(|| text(codes, texts))
        }
    }
}

fn text(codes: &[u32], texts: &[String]) -> ArrayRef {
    let text = |&code: &u32| texts.get(code as usize).map(String::as_str);
    Arc::new(codes.iter().map(text).collect::<StringArray>())
}

/// Integers, or floats, of numbers that are written; `None` where one of them is written like a code, as `02139` is.
fn numbers(codes: &[u32], texts: &[String]) -> Option<ArrayRef> {
    let integer = |text: &String| text.parse::<i64>().ok().filter(|v| v.to_string() == *text);
    if let Some(values) = texts.iter().map(integer).collect::<Option<Vec<i64>>>() {
        let value = |&code: &u32| values.get(code as usize).copied();
        return Some(Arc::new(codes.iter().map(value).collect::<Int64Array>()));
    }
    let float = |text: &String| {
        let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
        let is_code = matches!(digits, [b'0', b'0'..=b'9', ..] | [b'+', ..]);
        let is_whole = text.parse::<i128>().is_ok();
        text.parse::<f64>()
            .ok()
            .filter(|v| !is_code && v.is_finite() && (!is_whole || v.abs() < EXACT))
    };
    let values = texts.iter().map(float).collect::<Option<Vec<f64>>>()?;
    let value = |&code: &u32| values.get(code as usize).copied();
    Some(Arc::new(codes.iter().map(value).collect::<Float64Array>()))
}

/// Integers below this are doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;
