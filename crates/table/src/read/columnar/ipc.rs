//! Arrow IPC: the file format, which is also Feather v2, and the stream format.

use std::io::{Cursor, ErrorKind};

use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use arrow::ipc::reader::{FileReader, StreamReader};
use arrow::record_batch::RecordBatch;

use super::{Collector, corrupt, truncated};
use crate::TableError;

/// What messages call the format.
pub(super) const NAME: &str = "Arrow";

const FILE_MAGIC: &[u8] = b"ARROW1";

/// Decodes the file or stream into the collector.
pub(super) fn decode(bytes: &[u8], collector: &mut Collector<'_>) -> Result<(), TableError> {
    let file = collector.file;
    if bytes.starts_with(FILE_MAGIC) {
        // The footer comes last, so a cut is seen at once.
        if !bytes[FILE_MAGIC.len()..].ends_with(FILE_MAGIC) {
            return Err(truncated(file, NAME));
        }
        let reader = FileReader::try_new(Cursor::new(bytes), None).map_err(|e| explain(file, e))?;
        let schema = reader.schema();
        collect(&schema, reader, collector)
    } else {
        let reader = StreamReader::try_new(bytes, None).map_err(|e| explain(file, e))?;
        let schema = reader.schema();
        collect(&schema, reader, collector)
    }
}

fn collect(
    schema: &Schema,
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
    collector: &mut Collector<'_>,
) -> Result<(), TableError> {
    let file = collector.file;
    collector.begin(schema)?;
    for batch in batches {
        collector.append(&batch.map_err(|e| explain(file, e))?)?;
    }
    Ok(())
}

fn explain(file: &str, error: ArrowError) -> TableError {
    match error {
        ArrowError::IoError(_, e) if e.kind() == ErrorKind::UnexpectedEof => truncated(file, NAME),
        other => corrupt(file, NAME, &other.to_string()),
    }
}
