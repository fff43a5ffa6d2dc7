//! The model file: a short header, then the model as postcard within zstd.
//!
//! ```text
//! 0   8  magic "PITCHPIP"
//! 8   4  format, little-endian
//! 12  8  bytes of the model before compression
//! 20  8  bytes of the model as it is here
//! 28  8  xxh3 of bytes 8..28 and of all bytes after the header
//! 36  …  the model
//! ```
//!
//! Nothing in a file is executed, sizes are checked before anything is allocated, and the numbers inside
//! are checked before anything is predicted.

use std::fs;
use std::io::Read;
use std::path::Path;

use pitchpipe_table::write_atomically;
use xxhash_rust::xxh3::Xxh3;

use super::{BaseLearner, Model, ModelFileError};
use crate::online::AutoMlError;

/// The format that is written.
pub const FORMAT: u32 = 1;

const MAGIC: &[u8; 8] = b"PITCHPIP";
const HEADER: usize = 36;

/// No model unpacks to more than this.
const MOST_BYTES: u64 = 2 << 30;

/// Little is gained by a higher level, and time is short when a model is written.
const LEVEL: i32 = 1;

impl Model {
    /// Writes the model file: beside its place first, so that a file is never half written.
    pub fn write(&self, path: &Path) -> Result<(), ModelFileError> {
        Ok(write_atomically(path, &self.to_bytes()?)?)
    }

    /// Reads a model file.
    pub fn read(path: &Path) -> Result<Self, ModelFileError> {
        let file = fs::File::open(path)?;
        let length = file.metadata()?.len();
        if length > MOST_BYTES {
            return Err(ModelFileError::TooLarge { bytes: length, limit: MOST_BYTES });
        }
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Self::from_bytes(&bytes)
    }

    /// The bytes of the model file.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ModelFileError> {
        let plain = postcard::to_stdvec(self).map_err(invalid)?;
        let packed = zstd::bulk::compress(&plain, LEVEL)?;
        let mut bytes = Vec::with_capacity(HEADER + packed.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        bytes.extend_from_slice(&(plain.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&(packed.len() as u64).to_le_bytes());
        let sum = checksum(&bytes[8..28], &packed);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes.extend_from_slice(&packed);
        Ok(bytes)
    }

    /// Reads the bytes of a model file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelFileError> {
        let plain = unpack(bytes)?;
        let (model, rest) = postcard::take_from_bytes::<Self>(&plain).map_err(invalid)?;
        if !rest.is_empty() {
            return Err(ModelFileError::Invalid { what: format!("{} bytes too many", rest.len()) });
        }
        model.check()?;
        Ok(model)
    }

    /// Leaves out base learners, those of least weight for their bytes first, until the file takes at most
    /// `limit` bytes. They are counted before compression, which only makes them fewer: packing a model to
    /// see its size takes seconds that the end of a search does not have.
    pub(crate) fn shrink_to(&mut self, limit: u64) -> Result<(), AutoMlError> {
        let bytes = |l: &BaseLearner| {
            let of = |m| postcard::experimental::serialized_size(m).unwrap_or(0) as u64;
            l.models.iter().map(of).sum::<u64>().max(1)
        };
        let mut sizes: Vec<u64> = self.learners.iter().map(bytes).collect();
        while sizes.iter().sum::<u64>() > limit && sizes.len() > 1 {
            let worth = |i: usize| self.learners[i].weight / sizes[i] as f64;
            let least = (0..sizes.len())
                .min_by(|&a, &b| worth(a).total_cmp(&worth(b)))
                .expect("there are at least two");
            self.learners.remove(least);
            sizes.remove(least);
        }
        let total: f64 = self.learners.iter().map(|l| l.weight).sum();
        self.learners.iter_mut().for_each(|l| l.weight /= total);
        if sizes.iter().sum::<u64>() > limit {
            // One is left; it may still fit when it is packed.
            let bytes = self.to_bytes().map_or(u64::MAX, |b| b.len() as u64);
            if bytes > limit {
                return Err(AutoMlError::TooLarge { bytes, limit });
            }
        }
        Ok(())
    }

    /// Whether the parts fit together, so that predicting cannot fail for a reason other than the rows.
    fn check(&self) -> Result<(), ModelFileError> {
        let wrong = |what: &str| Err(ModelFileError::Invalid { what: what.to_owned() });
        if self.n_classes < 2 || self.priors.len() != self.n_classes {
            return wrong("it does not have one share per class");
        }
        if let Some(names) = self.class_names()
            && names.len() != self.n_classes
        {
            return wrong("it does not have one name per class");
        }
        if !self.priors.iter().all(|p| (0.0..=1.0).contains(p)) {
            return wrong("a class's share is no share");
        }
        if let Some(schema) = &self.schema
            && schema.feature_names().len() != self.columns.len()
        {
            return wrong("its schema has other features than its columns");
        }
        if self.learners.is_empty() || self.learners.iter().any(|l| l.models.is_empty()) {
            return wrong("it has no base learners");
        }
        let is_weight = |w: f64| w > 0.0 && w <= 1.0;
        let total: f64 = self.learners.iter().map(|l| l.weight).sum();
        if !self.learners.iter().all(|l| is_weight(l.weight)) || (total - 1.0).abs() > 1e-6 {
            return wrong("the weights of its base learners do not sum to one");
        }
        let mut models = self.learners.iter().flat_map(|l| &l.models);
        if models.any(|m| !m.is_sound(self.columns.len(), self.n_classes)) {
            return wrong("the parts of a base learner do not fit together");
        }
        Ok(())
    }
}

fn checksum(header: &[u8], packed: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(header);
    hash.update(packed);
    hash.digest()
}

/// The model's bytes before compression, after all that can be checked has been.
fn unpack(bytes: &[u8]) -> Result<Vec<u8>, ModelFileError> {
    if bytes.len() < HEADER || &bytes[..8] != MAGIC {
        return Err(ModelFileError::NotAModel);
    }
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    let format = u32::from_le_bytes(bytes[8..12].try_into().expect("four bytes"));
    if format != FORMAT {
        return Err(ModelFileError::OtherFormat { found: format, known: FORMAT });
    }
    let (plain, packed, sum) = (number(12), number(20), number(28));
    let got = (bytes.len() - HEADER) as u64;
    if packed != got {
        return Err(ModelFileError::Truncated { wanted: packed, got });
    }
    if plain > MOST_BYTES {
        return Err(ModelFileError::TooLarge { bytes: plain, limit: MOST_BYTES });
    }
    if checksum(&bytes[8..28], &bytes[HEADER..]) != sum {
        return Err(ModelFileError::Checksum);
    }
    let decoder = zstd::stream::read::Decoder::new(&bytes[HEADER..])?;
    let mut unpacked = Vec::new();
    decoder.take(plain + 1).read_to_end(&mut unpacked)?;
    if unpacked.len() as u64 != plain {
        let what = format!("it unpacks to other than {plain} bytes");
        return Err(ModelFileError::Invalid { what });
    }
    Ok(unpacked)
}

fn invalid(err: postcard::Error) -> ModelFileError {
    ModelFileError::Invalid { what: err.to_string() }
}
