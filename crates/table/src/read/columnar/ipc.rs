//! Arrow IPC: the file format, which is also Feather v2, and the stream format.
//!
//! Decoded message by message from memory rather than with arrow's readers, which reserve whatever
//! length a damaged file claims: every claim is held against the bytes that are there.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, StreamDecoder, read_footer_length};
use arrow_ipc::{Block, Message, root_as_footer, root_as_message};
use arrow_schema::ArrowError;

use super::{Collector, corrupt, truncated};
use crate::TableError;

/// What messages call the format.
pub(super) const NAME: &str = "Arrow";

const FILE_MAGIC: &[u8] = b"ARROW1";

/// Stands before the length of a message.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Decodes the file or stream into the collector.
pub(super) fn decode(
    bytes: Cow<'_, [u8]>,
    collector: &mut Collector<'_>,
) -> Result<(), TableError> {
    let is_file = bytes.starts_with(FILE_MAGIC);
    let reader = Reader { bytes: Buffer::from_vec(bytes.into_owned()), file: collector.file };
    if is_file { reader.decode_file(collector) } else { reader.decode_stream(collector) }
}

struct Reader<'a> {
    bytes: Buffer,
    file: &'a str,
}

impl Reader<'_> {
    fn decode_file(&self, collector: &mut Collector<'_>) -> Result<(), TableError> {
        // The footer comes last, so a cut is seen at once.
        let Some((before, trailer)) = self.bytes.split_last_chunk::<10>() else {
            return Err(truncated(self.file, NAME));
        };
        if !trailer.ends_with(FILE_MAGIC) {
            return Err(truncated(self.file, NAME));
        }
        let footer_len = read_footer_length(*trailer).map_err(|e| self.explain(&e))?;
        let footer_start = before.len().checked_sub(footer_len);
        let footer_start = footer_start.ok_or_else(|| self.damaged("its footer is too long"))?;
        let footer =
            root_as_footer(&before[footer_start..]).map_err(|e| self.damaged(&e.to_string()))?;
        let schema = footer.schema().ok_or_else(|| self.damaged("it has no schema"))?;
        let schema = Arc::new(fb_to_schema(schema));
        collector.begin(&schema)?;
        let mut decoder = FileDecoder::new(schema, footer.version());
        for block in footer.dictionaries().iter().flatten() {
            let data = self.block(block)?;
            decoder.read_dictionary(block, &data).map_err(|e| self.explain(&e))?;
        }
        for block in footer.recordBatches().iter().flatten() {
            let data = self.block(block)?;
            let batch = decoder.read_record_batch(block, &data).map_err(|e| self.explain(&e))?;
            self.append(batch, collector)?;
        }
        Ok(())
    }

    /// A message and its body, if they lie within the file.
    fn block(&self, block: &Block) -> Result<Buffer, TableError> {
        let outside = || self.damaged("a block lies outside the file");
        let number = |n: i64| usize::try_from(n).map_err(|_| outside());
        let (start, head) = (number(block.offset())?, number(block.metaDataLength().into())?);
        let len = head.checked_add(number(block.bodyLength())?).ok_or_else(outside)?;
        if start.checked_add(len).is_none_or(|end| end > self.bytes.len()) {
            return Err(outside());
        }
        let data = self.bytes.slice_with_length(start, len);
        let message = data.strip_prefix(&CONTINUATION).unwrap_or(&data);
        let head = head.checked_sub(data.len() - message.len()).ok_or_else(outside)?;
        let message = message.get(4..head).ok_or_else(outside)?;
        let message = root_as_message(message).map_err(|e| self.damaged(&e.to_string()))?;
        self.check_expansion(&message, &data[data.len() - number(block.bodyLength())?..])?;
        Ok(data)
    }

    fn decode_stream(&self, collector: &mut Collector<'_>) -> Result<(), TableError> {
        let mut decoder = StreamDecoder::new();
        let mut at = 0;
        let mut begun = false;
        while at < self.bytes.len() {
            let len = self.message_len(at)?;
            let mut message = self.bytes.slice_with_length(at, len);
            at += len;
            while !message.is_empty() {
                let batch = decoder.decode(&mut message).map_err(|e| self.explain(&e))?;
                if let (false, Some(schema)) = (begun, decoder.schema()) {
                    collector.begin(&schema)?;
                    begun = true;
                }
                self.append(batch, collector)?;
            }
        }
        decoder.finish().map_err(|_| truncated(self.file, NAME))?;
        if begun { Ok(()) } else { Err(truncated(self.file, NAME)) }
    }

    /// The length of the stream's message at `at`, body and all.
    fn message_len(&self, at: usize) -> Result<usize, TableError> {
        let cut = || truncated(self.file, NAME);
        let rest = &self.bytes[at..];
        let (prefix, rest) = match rest.strip_prefix(&CONTINUATION) {
            Some(rest) => (8, rest),
            None => (4, rest),
        };
        let (head, rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
        let head = usize::try_from(i32::from_le_bytes(*head))
            .map_err(|_| self.damaged("a message has a negative length"))?;
        if head == 0 {
            // The end of the stream; whatever follows is not read.
            return Ok(self.bytes.len() - at);
        }
        let (message, rest) = rest.split_at_checked(head).ok_or_else(cut)?;
        let message = root_as_message(message).map_err(|e| self.damaged(&e.to_string()))?;
        let body = usize::try_from(message.bodyLength())
            .map_err(|_| self.damaged("a body has a negative length"))?;
        let body = rest.get(..body).ok_or_else(cut)?;
        self.check_expansion(&message, body)?;
        Ok(prefix + head + body.len())
    }

    /// Compressed buffers begin with the length they claim to grow to.
    fn check_expansion(&self, message: &Message<'_>, body: &[u8]) -> Result<(), TableError> {
        let batch = message
            .header_as_record_batch()
            .or_else(|| message.header_as_dictionary_batch().and_then(|d| d.data()));
        let Some(batch) = batch.filter(|batch| batch.compression().is_some()) else {
            return Ok(());
        };
        let limit = super::byte_limit(self.bytes.len());
        let mut total = 0usize;
        for buffer in batch.buffers().iter().flatten() {
            let start = usize::try_from(buffer.offset()).ok();
            let claim = start.and_then(|at| body.get(at..)?.first_chunk::<8>());
            // Minus one says that the buffer is not compressed after all.
            let claim = claim.map_or(0, |claim| i64::from_le_bytes(*claim).max(0));
            total = total.saturating_add(usize::try_from(claim).unwrap_or(usize::MAX));
        }
        if total > limit {
            let (file, compressed) = (self.file.to_owned(), self.bytes.len());
            return Err(TableError::TooLarge { file, compressed, limit });
        }
        Ok(())
    }

    fn append(
        &self,
        batch: Option<RecordBatch>,
        collector: &mut Collector<'_>,
    ) -> Result<(), TableError> {
        batch.map_or(Ok(()), |batch| collector.append(&batch))
    }

    fn explain(&self, error: &ArrowError) -> TableError {
        self.damaged(&error.to_string())
    }

    fn damaged(&self, reason: &str) -> TableError {
        corrupt(self.file, NAME, reason)
    }
}
