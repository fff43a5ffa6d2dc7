//! The bytes of a model file: a header, then named sections.
//!
//! ```text
//! 0   8  magic "PITCHPIP"
//! 8   4  format, little-endian as all numbers here
//! 12  8  bytes of the sections before compression, all together
//! 20  8  bytes after this header
//! 28  8  xxh3 of bytes 8..28 and of all bytes after the header
//! 36  …  the sections, one after the other
//! ```
//!
//! A section is the length of its name (one byte), its name, its version (4), its bytes before compression (8), its
//! bytes as they are here (8), and these: zstd. Later programs may add sections, which earlier ones skip.
//!
//! Nothing in a file is executed, and sizes are checked before anything is allocated. Files of format 1 have the same
//! header, and one nameless piece of zstd after it.

use std::io::Read;

use xxhash_rust::xxh3::Xxh3;

use super::ModelFileError;

/// The format that is written.
pub const FORMAT: u32 = 2;

pub(super) const MAGIC: &[u8; 8] = b"PITCHPIP";
const HEADER: usize = 36;

/// No model unpacks to more than this.
pub(super) const MOST_BYTES: u64 = 2 << 30;

/// Little is gained by a higher level, and time is short when a model is written.
const LEVEL: i32 = 1;

/// A named part of a file.
pub(super) struct Section {
    pub(super) name: String,
    pub(super) version: u32,
    pub(super) bytes: Vec<u8>,
}

/// A named part of a file that was read; it is unpacked when somebody asks for it.
pub(super) struct Packed<'a> {
    pub(super) name: String,
    pub(super) version: u32,
    packed: &'a [u8],
    plain: u64,
}

impl Packed<'_> {
    /// What is in it, unless that is more than `limit` bytes.
    pub(super) fn unpack(&self, limit: u64) -> Result<Vec<u8>, ModelFileError> {
        if self.plain > limit {
            return Err(ModelFileError::TooLarge { bytes: self.plain, limit });
        }
        decompress(self.packed, self.plain)
    }
}

/// What was found in a file.
pub(super) enum Contents<'a> {
    /// The one piece of format 1.
    One(Vec<u8>),
    /// The sections of format 2.
    Sections(Vec<Packed<'a>>),
}

/// The bytes of a file with these sections.
pub(super) fn pack(sections: &[Section]) -> Result<Vec<u8>, ModelFileError> {
    let plain: u64 = sections.iter().map(|s| s.bytes.len() as u64).sum();
    let mut body = Vec::new();
    for Section { name, version, bytes } in sections {
        let packed = zstd::bulk::compress(bytes, LEVEL)?;
        body.push(u8::try_from(name.len()).expect("names of sections are short"));
        body.extend_from_slice(name.as_bytes());
        body.extend_from_slice(&version.to_le_bytes());
        body.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        body.extend_from_slice(&(packed.len() as u64).to_le_bytes());
        body.extend_from_slice(&packed);
    }
    let mut file = Vec::with_capacity(HEADER + body.len());
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&FORMAT.to_le_bytes());
    file.extend_from_slice(&plain.to_le_bytes());
    file.extend_from_slice(&(body.len() as u64).to_le_bytes());
    let sum = checksum(&file[8..28], &body);
    file.extend_from_slice(&sum.to_le_bytes());
    file.extend_from_slice(&body);
    Ok(file)
}

/// What is in a file, after all that can be checked has been.
pub(super) fn unpack(bytes: &[u8]) -> Result<Contents<'_>, ModelFileError> {
    if bytes.len() < HEADER || &bytes[..8] != MAGIC {
        return Err(ModelFileError::NotAModel);
    }
    let mut header = Reader(&bytes[8..HEADER]);
    let (format, plain) = (header.u32()?, header.u64()?);
    if !(1..=FORMAT).contains(&format) {
        return Err(ModelFileError::OtherFormat { found: format, known: FORMAT });
    }
    let (wanted, sum) = (header.u64()?, header.u64()?);
    let body = &bytes[HEADER..];
    let got = body.len() as u64;
    if got < wanted {
        return Err(ModelFileError::Truncated { wanted, got });
    }
    if got > wanted {
        return Err(ModelFileError::TooLong { wanted, got });
    }
    if plain > MOST_BYTES {
        return Err(ModelFileError::TooLarge { bytes: plain, limit: MOST_BYTES });
    }
    if checksum(&bytes[8..28], body) != sum {
        return Err(ModelFileError::Checksum);
    }
    if format == 1 {
        return Ok(Contents::One(decompress(body, plain)?));
    }
    sections(body, plain).map(Contents::Sections)
}

fn sections(body: &[u8], mut plain: u64) -> Result<Vec<Packed<'_>>, ModelFileError> {
    let mut rest = Reader(body);
    let mut sections = Vec::new();
    while !rest.0.is_empty() {
        let length = rest.take(1)?[0];
        let name = String::from_utf8_lossy(rest.take(length.into())?).into_owned();
        let (version, own, packed) = (rest.u32()?, rest.u64()?, rest.u64()?);
        // All together they are no larger than the header says, so that no one is.
        plain = plain.checked_sub(own).ok_or_else(|| other_than(own))?;
        sections.push(Packed { name, version, packed: rest.take(packed)?, plain: own });
    }
    Ok(sections)
}

fn checksum(header: &[u8], body: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(header);
    hash.update(body);
    hash.digest()
}

fn decompress(packed: &[u8], plain: u64) -> Result<Vec<u8>, ModelFileError> {
    let decoder = zstd::stream::read::Decoder::new(packed)?;
    let mut unpacked = Vec::new();
    decoder.take(plain.saturating_add(1)).read_to_end(&mut unpacked)?;
    if unpacked.len() as u64 != plain {
        return Err(other_than(plain));
    }
    Ok(unpacked)
}

fn other_than(plain: u64) -> ModelFileError {
    ModelFileError::Invalid { what: format!("it unpacks to other than {plain} bytes") }
}

/// Bytes that are taken from the front, where there are enough.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: u64) -> Result<&'a [u8], ModelFileError> {
        let n = usize::try_from(n).ok().filter(|&n| n <= self.0.len());
        let Some(n) = n else {
            let what = "a section is longer than the file".to_owned();
            return Err(ModelFileError::Invalid { what });
        };
        let (taken, rest) = self.0.split_at(n);
        self.0 = rest;
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32, ModelFileError> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes")))
    }

    fn u64(&mut self) -> Result<u64, ModelFileError> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().expect("eight bytes")))
    }
}
