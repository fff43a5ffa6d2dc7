//! Writing and reading model files, and whether what was read fits together.

use std::fs;
use std::io::Read;
use std::path::Path;

use pitchpipe_table::write_atomically;

use super::container::{Contents, MOST_BYTES, pack, unpack};
use super::{ColumnKind, Model, ModelFileError, format1};
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

    /// Fails where the file would take more than `limit` bytes. Base learners are counted before compression, which only
    /// makes them fewer: packing a model to see its size takes seconds that the end of a search does not have.
    pub(crate) fn check_size(&self, limit: u64) -> Result<(), AutoMlError> {
        let of = |m| postcard::experimental::serialized_size(m).unwrap_or(0) as u64;
        if self.learners.iter().flat_map(|l| &l.models).map(of).sum::<u64>() <= limit {
            return Ok(());
        }
        // One is left; it may still fit when it is packed.
        let bytes = self.to_bytes().map_or(u64::MAX, |b| b.len() as u64);
        if bytes > limit { Err(AutoMlError::TooLarge { bytes, limit }) } else { Ok(()) }
    }

    /// Keeps a history, without its runs or not at all where the file might otherwise take more than `limit` bytes; a
    /// note says so.
    pub(crate) fn keep_history(&mut self, history: History, limit: u64) {
        self.history = Some(history);
        if self.history_fits(limit) {
            return;
        }
        let n_runs = self.history.as_mut().map_or(0, |history| {
            history.n_trials_left_out = std::mem::take(&mut history.trials).len();
            history.n_trials_left_out
        });
        let what = if self.history_fits(limit) {
            format!("the {n_runs} runs are left out of the history")
        } else {
            self.history = None;
            "the history is left out".to_owned()
        };
        self.report.notes.push(format!("{what}, to keep to the limit of the model's size"));
    }

    fn history_fits(&self, limit: u64) -> bool {
        self.history_bytes().is_some_and(|bytes| self.learners_bytes() + bytes <= limit)
    }

    /// How many bytes the base learners take before they are packed.
    fn learners_bytes(&self) -> u64 {
        let of = |m| postcard::experimental::serialized_size(m).unwrap_or(0) as u64;
        self.learners.iter().flat_map(|l| &l.models).map(of).sum()
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pitchpipe_table::{Column, Dataset, Labels};

    use crate::AutoMl;

    #[test]
    fn runs_are_left_out_before_the_rest_of_the_history() {
        let numbers: Vec<f64> = (0..60).map(|i| f64::from(i * 37 % 23)).collect();
        let labels = Labels::from_codes((0..60).map(|i| i % 2), 2);
        let dataset = Dataset::new(vec![Column::numeric(numbers)], labels);
        let automl = AutoMl::new().time_budget(Duration::from_secs(600)).repeatable(true);
        let mut model = automl.max_evaluations(20).fit(&dataset).expect("a model");
        let history = model.history.clone().expect("a history");
        let n = history.trials.len();
        let with_runs = model.history_bytes().expect("a history");
        let learners = model.learners_bytes();
        let mut kept = |limit: u64| {
            model.report.notes.clear();
            model.keep_history(history.clone(), limit);
            let kept = model.history.as_ref().map(|h| (h.trials.len(), h.n_trials_left_out));
            (kept, model.report.notes.concat())
        };
        assert_eq!(kept(learners + with_runs), (Some((n, 0)), String::new()));
        let (without, note) = kept(learners + with_runs - 1);
        assert_eq!(without, Some((0, n)));
        assert!(note.starts_with(&format!("the {n} runs are left out")), "{note}");
        let (without, note) = kept(learners);
        assert_eq!(without, None);
        assert!(note.starts_with("the history is left out"), "{note}");
    }
}
