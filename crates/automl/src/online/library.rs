//! The candidate learners found so far, best first, with what an ensemble needs of each.

use pitchpipe_learn::{Evaluation, FittedPipeline, PipelineId};
use pitchpipe_table::Metric;
use xxhash_rust::xxh3::Xxh3;

use super::report::{Candidate, Errors};

/// A pipeline that finished, with its models.
pub(crate) struct Learner {
    pub(crate) id: PipelineId,
    /// By the metric asked for.
    pub(crate) error: f64,
    pub(crate) errors: Errors,
    /// On the rows that ensembles are chosen by, row-major.
    pub(crate) probabilities: Vec<f32>,
    /// Native decisions on the same rows.
    pub(crate) labels: Vec<u32>,
    pub(crate) models: Vec<FittedPipeline>,
    pub(crate) secs: f64,
    pub(crate) n_rows: usize,
    /// Two pipelines that are the same computation on this table have the same print.
    print: u64,
}

impl Learner {
    /// Takes an evaluation; `judged` are the rows that ensembles are chosen by, all where there are none.
    pub(crate) fn new(
        id: PipelineId,
        evaluation: Evaluation,
        metric: Metric,
        is_native: bool,
        judged: Option<&[usize]>,
    ) -> Self {
        let errors = Errors {
            balanced_error: evaluation.decided_error,
            balanced_accuracy: 1.0 - evaluation.decided.balanced_accuracy,
            accuracy: 1.0 - evaluation.decided.accuracy,
            log_loss: evaluation.log_loss,
            macro_f1: 1.0 - evaluation.decided.macro_f1,
            roc_auc: evaluation.roc_auc.map(|auc| 1.0 - auc),
        };
        let error = match (metric, is_native) {
            (Metric::BalancedError, true) => evaluation.error,
            _ => errors.by(metric),
        };
        let (mut probabilities, mut labels, mut n_rows) = (Vec::new(), Vec::new(), 0);
        if let Some(all) = &evaluation.out_of_fold {
            n_rows = all.labels.len();
            let mut take = |row: usize| {
                probabilities.extend(all.probabilities.row(row).iter().map(|&p| p as f32));
                labels.push(all.labels.codes()[row]);
            };
            match judged {
                Some(rows) => rows.iter().for_each(|&row| take(row)),
                None => (0..n_rows).for_each(take),
            }
        }
        let print = print_of(&probabilities);
        let (models, secs) = (evaluation.models, evaluation.alone_secs);
        Self { id, error, errors, probabilities, labels, models, secs, n_rows, print }
    }

    /// Its line on the leaderboard.
    pub(crate) fn candidate(&self, weight: f64) -> Candidate {
        let pipeline = self.id.pipeline();
        Candidate {
            id: Some(self.id),
            text: pipeline.to_string(),
            pipeline,
            error: self.error,
            errors: self.errors.clone(),
            secs: self.secs,
            n_rows: self.n_rows,
            weight,
        }
    }
}

fn print_of(probabilities: &[f32]) -> u64 {
    let mut hash = Xxh3::new();
    probabilities.iter().for_each(|p| hash.update(&p.to_bits().to_le_bytes()));
    hash.digest()
}

impl Errors {
    /// The error by one metric; where all rows are of one class the area under the curve counts as half.
    pub fn by(&self, metric: Metric) -> f64 {
        match metric {
            Metric::BalancedError => self.balanced_error,
            Metric::BalancedAccuracy => self.balanced_accuracy,
            Metric::Accuracy => self.accuracy,
            Metric::LogLoss => self.log_loss,
            Metric::MacroF1 => self.macro_f1,
            Metric::RocAuc => self.roc_auc.unwrap_or(0.5),
        }
    }
}

/// The best learners, best first; equal computations once.
#[derive(Default)]
pub(crate) struct Library {
    learners: Vec<Learner>,
    most: usize,
}

impl Library {
    /// A library of at most so many.
    pub(crate) fn new(most: usize) -> Self {
        Self { learners: Vec::new(), most }
    }

    pub(crate) fn learners(&self) -> &[Learner] {
        &self.learners
    }

    /// Whether a pipeline with this error would find a place.
    pub(crate) fn has_place_for(&self, error: f64) -> bool {
        self.learners.len() < self.most || self.learners.last().is_some_and(|l| error < l.error)
    }

    /// Takes in a learner; tells whether the library has changed. What it holds depends on the set of
    /// learners it was given and not on their order.
    pub(crate) fn add(&mut self, learner: Learner) -> bool {
        let key = |l: &Learner| (l.error, l.id);
        if let Some(same) = self.learners.iter_mut().find(|l| l.print == learner.print) {
            let is_earlier = learner.id < same.id;
            if is_earlier {
                *same = learner;
            }
            return is_earlier;
        }
        let at = self.learners.partition_point(|l| key(l) < key(&learner));
        if at >= self.most {
            return false;
        }
        self.learners.insert(at, learner);
        self.learners.truncate(self.most);
        true
    }
}
