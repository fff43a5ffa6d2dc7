//! Parquet, row group by row group.

use std::borrow::Cow;

use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;

use super::{Collector, corrupt, truncated};
use crate::TableError;

/// What messages call the format.
pub(super) const NAME: &str = "Parquet";

const BATCH_ROWS: usize = 8192;

/// Decodes the file into the collector.
pub(super) fn decode(
    bytes: Cow<'_, [u8]>,
    collector: &mut Collector<'_>,
) -> Result<(), TableError> {
    let file = collector.file;
    if bytes.starts_with(b"PARE") || bytes.ends_with(b"PARE") {
        let format = "an encrypted Parquet file";
        return Err(TableError::UnsupportedFormat { file: file.to_owned(), format });
    }
    // The footer comes last, so a cut is seen at once.
    if bytes.len() < 12 || !bytes.ends_with(b"PAR1") {
        return Err(truncated(file, NAME));
    }
    let explain = |e: &ParquetError| match e {
        ParquetError::EOF(_) | ParquetError::NeedMoreData(_) => truncated(file, NAME),
        other => corrupt(file, NAME, &other.to_string()),
    };
    let bytes = Bytes::from(bytes.into_owned());
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(|e| explain(&e))?;
    collector.begin(builder.schema())?;
    let readable = ProjectionMask::roots(builder.parquet_schema(), collector.readable());
    let reader = builder
        .with_projection(readable)
        .with_batch_size(BATCH_ROWS)
        .build()
        .map_err(|e| explain(&e))?;
    for batch in reader {
        collector.append(&batch.map_err(|e| corrupt(file, NAME, &e.to_string()))?)?;
    }
    Ok(())
}
