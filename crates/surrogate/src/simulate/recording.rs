//! What was recorded: errors and seconds of every pipeline on every dataset.

use ndarray::Array2;

use crate::error::SurrogateError;

/// Recorded errors and seconds, datasets x pipelines. A pipeline that has no seconds on a dataset (out of
/// time, failed, not applicable) does not exist there: no policy is offered it.
pub struct Recording {
    errors: Array2<f32>,
    secs: Array2<f32>,
    replicate_period: usize,
}

impl Recording {
    /// Errors, and seconds that are above zero exactly where an error was recorded. Pipelines that are equal
    /// modulo `replicate_period` are the same computation on most data, made on other folds.
    pub fn new(
        errors: Array2<f32>,
        secs: Array2<f32>,
        replicate_period: usize,
    ) -> Result<Self, SurrogateError> {
        if errors.is_empty() {
            return Err(SurrogateError::Empty { what: "recording" });
        }
        if errors.dim() != secs.dim() {
            let (wanted, got) = (errors.len(), secs.len());
            return Err(SurrogateError::Size { what: "recorded seconds", wanted, got });
        }
        let bad = |(e, t): (&f32, &f32)| *t > 0.0 && !(e.is_finite() && t.is_finite());
        if let Some(at) = errors.iter().zip(&secs).position(bad) {
            let value = f64::from(*errors.iter().nth(at).expect("just found there"));
            return Err(SurrogateError::NotFinite { what: "recording", at, value });
        }
        if replicate_period == 0 {
            let (name, wanted) = ("replicate period", "at least 1");
            return Err(SurrogateError::Setting { name, value: 0.0, wanted });
        }
        Ok(Self { errors, secs, replicate_period })
    }

    /// How many datasets were recorded.
    pub fn n_datasets(&self) -> usize {
        self.errors.nrows()
    }

    /// How many pipelines were recorded.
    pub fn n_pipelines(&self) -> usize {
        self.errors.ncols()
    }

    /// One dataset's record.
    pub fn row(&self, dataset: usize) -> Row<'_> {
        let slice = |a: &'_ Array2<f32>| -> Vec<f64> {
            a.row(dataset).iter().map(|&v| f64::from(v)).collect()
        };
        Row { recording: self, errors: slice(&self.errors), secs: slice(&self.secs) }
    }
}

/// One dataset's record.
pub struct Row<'a> {
    recording: &'a Recording,
    errors: Vec<f64>,
    secs: Vec<f64>,
}

impl Row<'_> {
    /// The error of a pipeline, where one was recorded.
    pub fn error(&self, pipeline: usize) -> Option<f64> {
        (self.secs[pipeline] > 0.0).then(|| self.errors[pipeline])
    }

    /// The seconds of a pipeline, where it finished.
    pub fn secs(&self, pipeline: usize) -> Option<f64> {
        Some(self.secs[pipeline]).filter(|&s| s > 0.0)
    }

    /// The seconds of all pipelines.
    pub fn all_secs(&self) -> Vec<Option<f64>> {
        (0..self.secs.len()).map(|j| self.secs(j)).collect()
    }

    /// The time all pipelines together took.
    pub fn total_secs(&self) -> f64 {
        self.secs.iter().filter(|&&s| s > 0.0).sum()
    }

    /// The lowest error recorded.
    pub fn lowest_error(&self) -> f64 {
        let errors = (0..self.errors.len()).filter_map(|j| self.error(j));
        errors.fold(f64::INFINITY, f64::min)
    }

    /// The mean error of the pipeline's replicates, itself left out; its own error where it has none.
    pub fn replicate_error(&self, pipeline: usize) -> f64 {
        let period = self.recording.replicate_period;
        let others: Vec<f64> = (pipeline % period..self.errors.len())
            .step_by(period)
            .filter(|&j| j != pipeline)
            .filter_map(|j| self.error(j))
            .collect();
        if others.is_empty() {
            self.errors[pipeline]
        } else {
            others.iter().sum::<f64>() / others.len() as f64
        }
    }
}
