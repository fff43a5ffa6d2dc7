//! Parquet and Arrow: one record batch.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema};
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
    let field = |column: &OutputColumn| {
        let kind = match column.cells {
            OutputCells::Numbers(_) => DataType::Float64,
            OutputCells::Text { .. } => DataType::Utf8,
        };
        let cells = &column.cells;
        Field::new(&column.name, kind, (0..cells.len()).any(|row| cells.is_missing(row)))
    };
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let arrays = columns.iter().map(|column| array(&column.cells)).collect();
    RecordBatch::try_new(schema, arrays).map_err(|e| WriteError::Encoding(e.to_string()))
}

fn array(cells: &OutputCells) -> ArrayRef {
    match cells {
        OutputCells::Numbers(values) => {
            Arc::new(values.iter().map(|&v| (!v.is_nan()).then_some(v)).collect::<Float64Array>())
        }
        OutputCells::Text { codes, texts } => {
            let text = |&code: &u32| texts.get(code as usize).map(String::as_str);
            Arc::new(codes.iter().map(text).collect::<StringArray>())
        }
    }
}
