//! The candidate learners found so far, best first, with what an ensemble needs of each.

use pitchpipe_learn::{Evaluation, FitContext, FittedPipeline, PipelineId, Probabilities};
use pitchpipe_table::{Dataset, Labels, Metric};
use xxhash_rust::xxh3::Xxh3;

use super::families::kind_of;
use super::report::{Candidate, Errors};

/// The rows that learners are judged on.
pub(crate) enum Judging<'a> {
    /// Those that each fold leaves out: all, or these.
    OutOfFold { rows: Option<Vec<usize>> },
    /// Those of another table.
    Rows { dataset: &'a Dataset, priors: Vec<f64>, ctx: FitContext },
}

/// A pipeline that finished, with its models.
pub(crate) struct Learner {
    pub(crate) id: PipelineId,
    /// By the metric asked for.
    pub(crate) error: f64,
    pub(crate) errors: Errors,
    /// On the rows that ensembles are chosen by, row-major.
    pub(crate) probabilities: Vec<f32>,
    /// The same summed over the times it was validated again, and how many these were.
    again: (Vec<f32>, usize),
    /// Native decisions on the same rows.
    pub(crate) labels: Vec<u32>,
    pub(crate) models: Vec<FittedPipeline>,
    pub(crate) secs: f64,
    pub(crate) n_rows: usize,
    /// Bytes of the models in a file, before compression.
    pub(crate) n_bytes: u64,
    /// Two pipelines that are the same computation on this table have the same print.
    print: u64,
}

impl Learner {
    /// Takes an evaluation; `None` where the rows of another table could not be predicted.
    pub(crate) fn new(
        id: PipelineId,
        evaluation: Evaluation,
        metric: Metric,
        is_native: bool,
        judging: &Judging<'_>,
    ) -> Option<Self> {
        let n_rows = evaluation.out_of_fold.as_ref().map_or(0, |all| all.labels.len());
        let (mut probabilities, mut labels) = (Vec::new(), Vec::new());
        let mut native_error = evaluation.error;
        let errors = match judging {
            Judging::OutOfFold { rows } => {
                let all = evaluation.out_of_fold.as_ref()?;
                let mut take = |row: usize| {
                    probabilities.extend(all.probabilities.row(row).iter().map(|&p| p as f32));
                    labels.push(all.labels.codes()[row]);
                };
                match rows {
                    Some(rows) => rows.iter().for_each(|&row| take(row)),
                    None => (0..n_rows).for_each(take),
                }
                errors_of(&evaluation)
            }
            Judging::Rows { dataset, priors, ctx } => {
                let (mean, native) = mean_of_models(&evaluation.models, dataset, ctx)?;
                probabilities = mean.iter().map(|&p| p as f32).collect();
                native_error = pitchpipe_table::balanced_error_rate(dataset.labels(), &native);
                labels = native.codes().to_vec();
                Errors::of(dataset.labels(), &mean, priors)
            }
        };
        let error = match (metric, is_native) {
            (Metric::BalancedError, true) => native_error,
            _ => errors.by(metric),
        };
        let print = print_of(&probabilities);
        let (models, secs) = (evaluation.models, evaluation.alone_secs);
        let n_bytes = 0;
        Some(Self {
            id,
            error,
            errors,
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
        let (Some(all), Judging::OutOfFold { rows }) = (&evaluation.out_of_fold, judging) else {
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

    /// Whether it was validated again.
    fn is_confirmed(&self) -> bool {
        self.again.1 > 0
    }

    /// From here on it is judged by the validations it was not chosen by.
    fn judge_again(&mut self, truth: &Labels, priors: &[f64], metric: Metric) {
        let (sums, n) = &self.again;
        self.probabilities = sums.iter().map(|s| s / *n as f32).collect();
        let mean: Vec<f64> = self.probabilities.iter().map(|&p| f64::from(p)).collect();
        self.errors = Errors::of(truth, &mean, priors);
        self.error = self.errors.by(metric);
    }

    /// What it is told apart by.
    pub(crate) fn key(&self) -> usize {
        self.id.index()
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

/// The mean of fold models' probabilities, and its most probable classes.
fn mean_of_models(
    models: &[FittedPipeline],
    dataset: &Dataset,
    ctx: &FitContext,
) -> Option<(Vec<f64>, Labels)> {
    let mut mean = vec![0.0; dataset.n_rows() * dataset.labels().n_classes()];
    for model in models {
        let prediction = model.predict(dataset.frame(), ctx).ok()?;
        let weight = 1.0 / models.len() as f64;
        mean.iter_mut().zip(prediction.probabilities.values()).for_each(|(m, p)| *m += weight * p);
    }
    let labels = Probabilities::from_rows(dataset.labels().n_classes(), mean.clone()).argmax();
    Some((mean, labels))
}

fn errors_of(evaluation: &Evaluation) -> Errors {
    Errors {
        balanced_error: evaluation.decided_error,
        balanced_accuracy: 1.0 - evaluation.decided.balanced_accuracy,
        accuracy: 1.0 - evaluation.decided.accuracy,
        log_loss: evaluation.log_loss,
        macro_f1: 1.0 - evaluation.decided.macro_f1,
        roc_auc: evaluation.roc_auc.map(|auc| 1.0 - auc),
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

    /// The errors of probabilities, each under the decision that suits it.
    pub(crate) fn of(truth: &Labels, probabilities: &[f64], priors: &[f64]) -> Self {
        let error = |metric: Metric| {
            let labels = metric.decision().decide(truth, probabilities, priors);
            metric.error(truth, &labels, probabilities)
        };
        Self::from_metrics(error)
    }

    /// The errors of labels, and of probabilities where a metric looks at these.
    pub(crate) fn of_labels(truth: &Labels, labels: &Labels, probabilities: &[f64]) -> Self {
        Self::from_metrics(|metric| metric.error(truth, labels, probabilities))
    }

    fn from_metrics(error: impl Fn(Metric) -> Option<f64>) -> Self {
        let defined = |metric| error(metric).expect("only a ROC curve may not be defined");
        Self {
            balanced_error: defined(Metric::BalancedError),
            balanced_accuracy: defined(Metric::BalancedAccuracy),
            accuracy: defined(Metric::Accuracy),
            log_loss: defined(Metric::LogLoss),
            macro_f1: defined(Metric::MacroF1),
            roc_auc: error(Metric::RocAuc),
        }
    }
}

/// No more than this many of one type of estimator: an ensemble wants learners that differ.
const MOST_OF_A_KIND: usize = 8;

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
    pub(crate) fn add(&mut self, mut learner: Learner) -> bool {
        let key = |l: &Learner| (l.error, l.id);
        if let Some(same) = self.learners.iter_mut().find(|l| l.print == learner.print) {
            let is_earlier = learner.id < same.id;
            if is_earlier {
                learner.n_bytes = same.n_bytes;
                *same = learner;
            }
            return is_earlier;
        }
        let at = self.learners.partition_point(|l| key(l) < key(&learner));
        if at >= self.most {
            return false;
        }
        learner.n_bytes = bytes_of(&learner.models);
        let id = learner.id;
        self.learners.insert(at, learner);
        self.drop_one_too_many(id);
        self.learners.truncate(self.most);
        self.drop_the_worst();
        self.learners.get(at).is_some_and(|l| l.id == id)
    }

    /// Leaves the best of the type that a new learner is of.
    fn drop_one_too_many(&mut self, new: PipelineId) {
        let kind = kind_of(new);
        let mut of_kind =
            (0..self.learners.len()).filter(|&i| kind_of(self.learners[i].id) == kind);
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
    pub(crate) fn judge_again(&mut self, truth: &Labels, priors: &[f64], metric: Metric) {
        self.learners.retain(Learner::is_confirmed);
        self.learners.iter_mut().for_each(|l| l.judge_again(truth, priors, metric));
        self.learners.sort_by(|a, b| a.error.total_cmp(&b.error).then(a.id.cmp(&b.id)));
    }
}

/// Bytes that models take when written, before compression.
fn bytes_of(models: &[FittedPipeline]) -> u64 {
    let size = |model: &FittedPipeline| postcard::experimental::serialized_size(model).unwrap_or(0);
    models.iter().map(|model| size(model) as u64).sum()
}
