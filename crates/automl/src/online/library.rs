//! The candidate learners found so far, best first, with what an ensemble needs of each.

use std::sync::Arc;
use std::time::Duration;

use pitchpipe_learn::estimate::EstimatorKind;
use pitchpipe_learn::{
    Evaluation, FitContext, FitError, FittedPipeline, Outcome, Pipeline, PipelineId, Probabilities,
    contained,
};
use pitchpipe_table::{Dataset, Decision, Dependence, Labels, Metric, balanced_error_rate};
use xxhash_rust::xxh3::Xxh3;

use super::report::Candidate;
use crate::scores::Scores;

/// The rows that learners are judged on.
pub(crate) enum Judging<'a> {
    /// Those that each fold leaves out: all that are tested, or these of them. In order of time the earliest are not
    /// tested.
    OutOfFold { tested: Option<Vec<usize>>, rows: Option<Vec<usize>> },
    /// Those of another table.
    Rows { dataset: &'a Dataset, ctx: FitContext },
}

impl Judging<'_> {
    /// Of the rows of a sample, the classes of those that are judged by, and which of these hang together.
    pub(crate) fn rows_of(&self, sample: &Dataset) -> (Labels, Dependence) {
        let (labels, dependence) = match self {
            Self::Rows { dataset, .. } => (dataset.labels(), dataset.dependence()),
            Self::OutOfFold { .. } => (sample.labels(), sample.dependence()),
        };
        let (mut labels, mut dependence) = (labels.clone(), dependence.clone());
        if let Self::OutOfFold { tested, rows } = self {
            for rows in [tested, rows].into_iter().flatten() {
                (labels, dependence) = (labels.select(rows), dependence.select(rows));
            }
        }
        (labels, dependence)
    }
}

/// How learners and ensembles are scored: by one rule, that by which the model will predict.
#[derive(Clone)]
pub(crate) struct Rule {
    /// The classes of the rows that are judged by.
    pub(crate) truth: Labels,
    /// The classes' shares of the training rows.
    pub(crate) priors: Vec<f64>,
    pub(crate) metric: Metric,
    pub(crate) decision: Decision,
}

impl Rule {
    /// The error of a learner with these native labels and probabilities, by the metric asked for. Hundreds of learners
    /// are compared by it, so nothing else is computed; as in [`Scores::error`], an undefined area counts as half.
    fn error(&self, native: &[u32], probabilities: &[f32]) -> f64 {
        let (labels, probabilities) = self.decide(native, probabilities);
        self.metric.error(&self.truth, &labels, &probabilities).unwrap_or(0.5)
    }

    /// The same by the balanced error.
    fn balanced_error(&self, native: &[u32], probabilities: &[f32]) -> f64 {
        balanced_error_rate(&self.truth, &self.decide(native, probabilities).0)
    }

    /// The same by all metrics.
    fn scores(&self, native: &[u32], probabilities: &[f32]) -> Scores {
        let (labels, probabilities) = self.decide(native, probabilities);
        Scores::of(&self.truth, &labels, &probabilities)
    }

    fn decide(&self, native: &[u32], probabilities: &[f32]) -> (Labels, Vec<f64>) {
        let probabilities: Vec<f64> = probabilities.iter().map(|&p| f64::from(p)).collect();
        let native = Labels::from_codes(native.iter().copied(), self.truth.n_classes());
        (self.decision.decide(&native, &probabilities, &self.priors), probabilities)
    }
}

/// A pipeline that finished, with its models.
pub(crate) struct Learner {
    pub(crate) id: PipelineId,
    pub(crate) pipeline: Pipeline,
    /// By the metric asked for.
    pub(crate) error: f64,
    /// On the rows that ensembles are chosen by, row-major.
    pub(crate) probabilities: Arc<Vec<f32>>,
    /// The same summed over the times it was validated again, and how many these were.
    again: (Vec<f32>, usize),
    /// Native decisions on the same rows.
    pub(crate) labels: Arc<Vec<u32>>,
    pub(crate) models: Vec<FittedPipeline>,
    pub(crate) secs: f64,
    pub(crate) n_rows: usize,
    /// Bytes of the models in a file, before compression.
    pub(crate) n_bytes: u64,
    /// Two pipelines that are the same computation on this table have the same print.
    print: u64,
}

impl Learner {
    /// Takes an evaluation. It cannot where the rows of another table are not predicted; a fault in scoring is this
    /// learner's failure and no other's.
    pub(crate) fn new(
        id: PipelineId,
        pipeline: Pipeline,
        evaluation: Evaluation,
        rule: &Rule,
        judging: &Judging<'_>,
    ) -> Result<Self, FitError> {
        contained("scoring", || Self::judged(id, pipeline, evaluation, rule, judging))?
    }

    fn judged(
        id: PipelineId,
        pipeline: Pipeline,
        evaluation: Evaluation,
        rule: &Rule,
        judging: &Judging<'_>,
    ) -> Result<Self, FitError> {
        let n_rows = evaluation.out_of_fold.as_ref().map_or(0, |all| all.labels.len());
        let (mut probabilities, mut labels) = (Vec::new(), Vec::new());
        match judging {
            Judging::OutOfFold { rows, .. } => {
                let all = evaluation.out_of_fold.as_ref().expect("predictions are kept");
                let mut take = |row: usize| {
                    probabilities.extend(all.probabilities.row(row).iter().map(|&p| p as f32));
                    labels.push(all.labels.codes()[row]);
                };
                match rows {
                    Some(rows) => rows.iter().for_each(|&row| take(row)),
                    None => (0..n_rows).for_each(take),
                }
            }
            Judging::Rows { dataset, ctx } => {
                let (mean, native) = mean_of_models(&evaluation.models, dataset, ctx)?;
                probabilities = mean.iter().map(|&p| p as f32).collect();
                labels = native.codes().to_vec();
            }
        }
        let error = rule.error(&labels, &probabilities);
        let (print, n_bytes) = (print_of(&probabilities), bytes_of(&evaluation.models));
        let (models, secs) = (evaluation.models, evaluation.alone_secs);
        let (probabilities, labels) = (Arc::new(probabilities), Arc::new(labels));
        Ok(Self {
            id,
            pipeline,
            error,
            probabilities,
            again: (Vec::new(), 0),
            labels,
            models,
            secs,
            n_rows,
            n_bytes,
            print,
        })
    }

    /// Takes in another validation on other folds; its models, where they were kept, join the others.
    pub(crate) fn confirm(&mut self, evaluation: Evaluation, judging: &Judging<'_>) {
        let (Some(all), Judging::OutOfFold { rows, .. }) = (&evaluation.out_of_fold, judging)
        else {
            return;
        };
        let (sums, n) = &mut self.again;
        sums.resize(self.probabilities.len(), 0.0);
        let n_classes = all.probabilities.n_classes();
        let row_of = |at: usize| rows.as_ref().map_or(at, |rows| rows[at]);
        for (at, sum) in sums.chunks_mut(n_classes).enumerate() {
            let p = all.probabilities.row(row_of(at));
            sum.iter_mut().zip(p).for_each(|(s, &p)| *s += p as f32);
        }
        *n += 1;
        self.n_bytes += bytes_of(&evaluation.models);
        self.models.extend(evaluation.models);
    }

    /// The probabilities of all times it was validated again, summed, and how many these were.
    pub(crate) fn again(&self) -> (&[f32], usize) {
        (&self.again.0, self.again.1)
    }

    /// Whether it was validated again.
    fn is_confirmed(&self) -> bool {
        self.again.1 > 0
    }

    /// From here on it is judged by the validations it was not chosen by.
    fn judge_again(&mut self, rule: &Rule) {
        let (sums, n) = &self.again;
        self.probabilities = Arc::new(sums.iter().map(|s| s / *n as f32).collect());
        self.error = rule.error(&self.labels, &self.probabilities);
    }

    /// What equal computations have in common.
    pub(crate) fn print(&self) -> u64 {
        self.print
    }

    /// What it is told apart by.
    pub(crate) fn key(&self) -> usize {
        self.id.index()
    }

    /// The kind of its estimator.
    pub(crate) fn kind(&self) -> EstimatorKind {
        self.pipeline.estimator.kind()
    }

    /// By which learners of all metrics are compared.
    pub(crate) fn balanced_error(&self, rule: &Rule) -> f64 {
        match rule.metric {
            Metric::BalancedError => self.error,
            _ => rule.balanced_error(&self.labels, &self.probabilities),
        }
    }

    /// Its line on the leaderboard.
    pub(crate) fn candidate(&self, weight: f64, rule: &Rule) -> Candidate {
        Candidate {
            pipeline: self.pipeline.clone(),
            error: self.error,
            scores: rule.scores(&self.labels, &self.probabilities),
            secs: self.secs,
            n_rows: self.n_rows,
            weight,
        }
    }
}

/// What became of a pipeline, with what takes a while to make of it: nobody else waits for that.
pub(crate) enum Judged {
    /// It finished with these errors of native decisions and of its own.
    Finished {
        native: f64,
        decided: f64,
        secs: f64,
        learner: Result<Box<Learner>, FitError>,
    },
    OutOfTime {
        after: Duration,
    },
    Failed(FitError),
}

impl Judged {
    pub(crate) fn of(
        outcome: Outcome,
        id: PipelineId,
        pipeline: Pipeline,
        rule: &Rule,
        judging: &Judging<'_>,
    ) -> Self {
        match outcome {
            Outcome::Finished(evaluation) => Self::Finished {
                native: evaluation.error,
                decided: evaluation.decided_error,
                secs: evaluation.alone_secs,
                learner: Learner::new(id, pipeline, *evaluation, rule, judging).map(Box::new),
            },
            Outcome::OutOfTime { after } => Self::OutOfTime { after },
            Outcome::Failed(err) => Self::Failed(err),
        }
    }
}

/// The mean of fold models' probabilities, and its most probable classes.
pub(super) fn mean_of_models(
    models: &[FittedPipeline],
    dataset: &Dataset,
    ctx: &FitContext,
) -> Result<(Vec<f64>, Labels), FitError> {
    let mut mean = vec![0.0; dataset.n_rows() * dataset.labels().n_classes()];
    for model in models {
        let prediction = model.predict(dataset.frame(), ctx)?;
        let weight = 1.0 / models.len() as f64;
        mean.iter_mut().zip(prediction.probabilities.values()).for_each(|(m, p)| *m += weight * p);
    }
    let labels = Probabilities::from_rows(dataset.labels().n_classes(), mean.clone()).argmax();
    Ok((mean, labels))
}

fn print_of(probabilities: &[f32]) -> u64 {
    const AT_ONCE: usize = 1 << 10;
    let (mut hash, mut bytes) = (Xxh3::new(), Vec::with_capacity(size_of::<f32>() * AT_ONCE));
    for some in probabilities.chunks(AT_ONCE) {
        bytes.clear();
        bytes.extend(some.iter().flat_map(|p| p.to_bits().to_le_bytes()));
        hash.update(&bytes);
    }
    hash.digest()
}

/// No more than this many of one type of estimator: an ensemble wants learners that differ.
pub(crate) const MOST_OF_A_KIND: usize = 8;

/// The best learners, best first; equal computations once.
#[derive(Default)]
pub(crate) struct Library {
    learners: Vec<Learner>,
    most: usize,
    memory: u64,
}

impl Library {
    /// A library of at most so many learners, whose models take at most so many bytes.
    pub(crate) fn new(most: usize, memory: u64) -> Self {
        Self { learners: Vec::new(), most, memory }
    }

    pub(crate) fn learners(&self) -> &[Learner] {
        &self.learners
    }

    pub(crate) fn into_learners(self) -> Vec<Learner> {
        self.learners
    }

    /// Takes in a learner; tells whether the library has changed. What it holds depends on the set of
    /// learners it was given and not on their order, as long as the memory suffices.
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
        let (id, kind) = (learner.id, learner.kind());
        self.learners.insert(at, learner);
        self.drop_one_too_many(kind);
        self.learners.truncate(self.most);
        self.drop_the_worst();
        self.learners.get(at).is_some_and(|l| l.id == id)
    }

    /// Leaves the best of the kind that a new learner is of.
    fn drop_one_too_many(&mut self, kind: EstimatorKind) {
        let mut of_kind = (0..self.learners.len()).filter(|&i| self.learners[i].kind() == kind);
        if let Some(worst) = of_kind.nth(MOST_OF_A_KIND) {
            self.learners.remove(worst);
        }
    }

    /// Lets go of the worst until a quarter of the bytes is free; one stays.
    pub(crate) fn shrink(&mut self) {
        self.memory = self.n_bytes() * 3 / 4;
        self.drop_the_worst();
    }

    fn drop_the_worst(&mut self) {
        let mut total = self.n_bytes();
        while total > self.memory && self.learners.len() > 1 {
            total -= self.learners.pop().map_or(0, |l| l.n_bytes);
        }
    }

    /// Whether there is memory for so many times the models there are.
    pub(crate) fn has_room_for(&self, growth: f64) -> bool {
        growth * self.n_bytes() as f64 <= self.memory as f64
    }

    fn n_bytes(&self) -> u64 {
        self.learners.iter().map(|l| l.n_bytes).sum()
    }

    /// Takes in another validation of a learner.
    pub(crate) fn confirm(
        &mut self,
        id: PipelineId,
        evaluation: Evaluation,
        judging: &Judging<'_>,
    ) {
        if let Some(learner) = self.learners.iter_mut().find(|l| l.id == id) {
            learner.confirm(evaluation, judging);
        }
    }

    /// How many learners were validated again.
    pub(crate) fn n_confirmed(&self) -> usize {
        self.learners.iter().filter(|l| l.is_confirmed()).count()
    }

    /// Leaves the learners that were validated again, judged by that.
    pub(crate) fn judge_again(&mut self, rule: &Rule) {
        self.learners.retain(Learner::is_confirmed);
        self.learners.iter_mut().for_each(|l| l.judge_again(rule));
        self.learners.sort_by(|a, b| a.error.total_cmp(&b.error).then(a.id.cmp(&b.id)));
    }
}

/// Bytes that models take when written, before compression.
fn bytes_of(models: &[FittedPipeline]) -> u64 {
    let size = |model: &FittedPipeline| postcard::experimental::serialized_size(model).unwrap_or(0);
    models.iter().map(|model| size(model) as u64).sum()
}
