//! Writing and reading model files, and whether what was read fits together.

use std::fs;
use std::io::Read;
use std::path::Path;

use pitchpipe_table::write_atomically;

use super::container::{Contents, MOST_BYTES, pack, unpack};
use super::{BaseLearner, ColumnKind, Model, ModelFileError, format1};
use crate::history::History;
use crate::online::AutoMlError;

impl Model {
    /// How every model file begins.
    pub const MAGIC: &[u8] = super::container::MAGIC;

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
        pack(&self.sections()?)
    }

    /// Reads the bytes of a model file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelFileError> {
        let model = match unpack(bytes)? {
            Contents::One(plain) => format1::read(&plain)?,
            Contents::Sections(sections) => Self::from_sections(sections)?,
        };
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

    /// Keeps a history, unless the file might then take more than `limit` bytes.
    pub(crate) fn keep_history(&mut self, history: History, limit: u64) {
        let of = |m| postcard::experimental::serialized_size(m).unwrap_or(0) as u64;
        let learners: u64 = self.learners.iter().flat_map(|l| &l.models).map(of).sum();
        self.history = Some(history);
        match self.history_bytes() {
            Some(bytes) if learners + bytes <= limit => {}
            _ => self.history = None,
        }
    }

    /// How many bytes of the file the history takes.
    pub fn history_bytes(&self) -> Option<u64> {
        let history = self.history.as_ref()?;
        super::sections::history_section(history)
            .and_then(|s| pack(&[s]))
            .ok()
            .map(|b| b.len() as u64)
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
        let is_category = |kind: &ColumnKind| matches!(kind, ColumnKind::Categorical { .. });
        let categorical: Vec<bool> = self.columns.iter().map(is_category).collect();
        if models.any(|m| !m.is_sound(&categorical, self.n_classes)) {
            return wrong("the parts of a base learner do not fit together");
        }
        Ok(())
    }
}
