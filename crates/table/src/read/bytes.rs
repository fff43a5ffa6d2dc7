//! The bytes of a source, decompressed.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};

use flate2::bufread::{GzDecoder, MultiGzDecoder};

use super::{CancelCheck, Source};
use crate::TableError;

/// How much is read between two cancel checks.
const CHUNK: usize = 1 << 20;

/// A compressed file may always grow to this size …
const ALWAYS_ALLOWED: usize = 1 << 28;

/// … and beyond it to this many times its own size. Text tables compress 3 to 30 times; a file that
/// grows a hundredfold to a quarter of a gigabyte was made to fill the memory.
const MOST_EXPANSION: usize = 100;

/// What text and its cells take, beside the text alone: a cell has eight bytes and is written in six or seven.
const CELLS_AND_TEXT: (u64, u64) = (9, 4);

/// All bytes of the source, as stored; a file is first asked whether it has no more than `limit`.
pub(super) fn load<'a>(
    source: &'a Source,
    file: &str,
    limit: Option<u64>,
    cancel: &CancelCheck,
) -> Result<Cow<'a, [u8]>, TableError> {
    match source {
        Source::Bytes { bytes, .. } => Ok(Cow::Borrowed(bytes)),
        Source::Stdin => {
            let size_hint = 0;
            read_all(&mut io::stdin().lock(), size_hint, usize::MAX, cancel)
                .map(Cow::Owned)
                .map_err(|stop| stop.explain(file, io_error))
        }
        Source::Path(path) => {
            let mut handle = File::open(path).map_err(|e| io_error(file, e))?;
            let meta = handle.metadata().map_err(|e| io_error(file, e))?;
            if meta.is_dir() {
                return Err(TableError::IsDirectory { file: file.to_owned() });
            }
            if let Some(limit) = limit.filter(|&limit| meta.len() > limit) {
                let bytes = meta.len().saturating_mul(CELLS_AND_TEXT.0) / CELLS_AND_TEXT.1;
                return Err(TableError::BeyondMemory { file: file.to_owned(), bytes, limit });
            }
            let size_hint = usize::try_from(meta.len()).unwrap_or(0);
            read_all(&mut handle, size_hint, usize::MAX, cancel)
                .map(Cow::Owned)
                .map_err(|stop| stop.explain(file, io_error))
        }
    }
}

/// Undoes gzip or Zstandard if the bytes begin like either; says which.
pub(super) fn decompress<'a>(
    stored: Cow<'a, [u8]>,
    file: &str,
    cancel: &CancelCheck,
) -> Result<(Cow<'a, [u8]>, Option<&'static str>), TableError> {
    let limit = ALWAYS_ALLOWED.max(stored.len().saturating_mul(MOST_EXPANSION));
    decompress_within(limit, stored, file, cancel)
}

fn decompress_within<'a>(
    limit: usize,
    stored: Cow<'a, [u8]>,
    file: &str,
    cancel: &CancelCheck,
) -> Result<(Cow<'a, [u8]>, Option<&'static str>), TableError> {
    let compressed = stored.len();
    let (format, result) = if stored.starts_with(&[0x1f, 0x8b]) {
        ("gzip", read_all(&mut MultiGzDecoder::new(&*stored), 4 * compressed, limit, cancel))
    } else if stored.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let decoder = zstd::stream::read::Decoder::with_buffer(&*stored);
        let unzipped = decoder
            .map_err(Stop::Io)
            .and_then(|mut d| read_all(&mut d, 4 * compressed, limit, cancel));
        ("Zstandard", unzipped)
    } else {
        return Ok((stored, None));
    };
    let bytes = result.map_err(|stop| match stop {
        Stop::TooLarge => TableError::TooLarge { file: file.to_owned(), compressed, limit },
        other => other.explain(file, |file, e| match e.kind() {
            _ if format == "gzip" && goes_on_as_something_else(&stored) => {
                let reason = "other data follows its end".to_owned();
                TableError::Corrupt { file: file.to_owned(), format, reason }
            }
            io::ErrorKind::UnexpectedEof => TableError::Truncated { file: file.to_owned(), format },
            _ => TableError::Corrupt { file: file.to_owned(), format, reason: e.to_string() },
        }),
    })?;
    Ok((Cow::Owned(bytes), Some(format)))
}

/// Whether bytes are gzip data and then others, which the decoder takes for a beginning that is cut short.
fn goes_on_as_something_else(mut bytes: &[u8]) -> bool {
    const MAGIC: [u8; 2] = [0x1f, 0x8b];
    let mut n_whole = 0;
    while bytes.starts_with(&MAGIC) {
        let mut member = GzDecoder::new(bytes);
        if io::copy(&mut member, &mut io::sink()).is_err() {
            return false;
        }
        bytes = member.into_inner();
        n_whole += 1;
    }
    n_whole > 0 && !bytes.is_empty()
}

/// Why [`read_all`] stopped early.
enum Stop {
    Io(io::Error),
    TooLarge,
    Cancelled,
}

impl Stop {
    fn explain(self, file: &str, io: impl Fn(&str, io::Error) -> TableError) -> TableError {
        match self {
            Self::Io(e) => io(file, e),
            Self::TooLarge => io(file, io::Error::from(io::ErrorKind::OutOfMemory)),
            Self::Cancelled => TableError::Cancelled,
        }
    }
}

fn read_all(
    reader: &mut impl Read,
    size_hint: usize,
    limit: usize,
    cancel: &CancelCheck,
) -> Result<Vec<u8>, Stop> {
    let mut bytes = Vec::new();
    // One byte more than the file has, so that its end is found without growing.
    bytes.try_reserve(size_hint.saturating_add(1)).map_err(|_| Stop::TooLarge)?;
    loop {
        cancel.check().map_err(|_| Stop::Cancelled)?;
        let n = reader.take(CHUNK as u64).read_to_end(&mut bytes).map_err(Stop::Io)?;
        if bytes.len() > limit {
            return Err(Stop::TooLarge);
        }
        if n < CHUNK {
            return Ok(bytes);
        }
    }
}

fn io_error(file: &str, source: io::Error) -> TableError {
    let file = file.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => TableError::NotFound { file },
        io::ErrorKind::PermissionDenied => TableError::PermissionDenied { file },
        io::ErrorKind::IsADirectory => TableError::IsDirectory { file },
        _ => TableError::Io { file, source },
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_grows_beyond_the_limit_is_refused_while_it_grows() {
        let zeros = vec![b'0'; 5 << 20];
        for stored in [gzip(&zeros), zstd::encode_all(&*zeros, 1).unwrap()] {
            let compressed = stored.len();
            let cancel = CancelCheck::never();
            let err = decompress_within(2 << 20, stored.into(), "t.csv.gz", &cancel).unwrap_err();
            assert_eq!(
                err.to_string(),
                format!("t.csv.gz grows beyond 2097152 bytes when decompressed, from {compressed}")
            );
        }
    }

    #[test]
    fn decompression_can_be_stopped() {
        let stored = gzip(&[b'x'; 100]);
        let cancel = CancelCheck::new(|| true);
        let err = decompress(stored.into(), "t.csv.gz", &cancel).unwrap_err();
        assert!(matches!(err, TableError::Cancelled));
    }
}
