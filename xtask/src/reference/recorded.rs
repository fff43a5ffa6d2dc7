//! The published tensor as something to replay: completed rows, priors without one dataset, the sets of
//! datasets that policies are compared on, and the families of §18 of the specification.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2};
use pitchpipe_automl::offline::published::{AXES, N_PIPELINES, Published};
use pitchpipe_surrogate::bayes::{Prior, PriorRows, PriorSettings, Scale};
use pitchpipe_surrogate::complete::{EmOptions, complete_tucker};
use pitchpipe_surrogate::runtime::DatasetSize;
use pitchpipe_surrogate::search::{Action, Actions};
use pitchpipe_surrogate::simulate::Recording;
use pitchpipe_surrogate::{SurrogateError, least_squares};

use super::partial;

/// Estimators of a prefix: the last axis.
pub(crate) const N_ESTIMATORS: usize = AXES[4];

/// Preprocessing prefixes: all other axes.
pub(crate) const N_PREFIXES: usize = N_PIPELINES / N_ESTIMATORS;

/// Rank of the completion, of datasets and of estimators.
const COMPLETION_RANK: usize = 40;

/// Pipelines that differ by their imputer alone are replicates on most data.
const REPLICATE_PERIOD: usize = N_PIPELINES / AXES[0];

/// The pipeline with the lowest mean error, which the paper calls the baseline.
pub(crate) const BASELINE: usize = 21_669;

/// Completed rows with their recorded errors and seconds.
pub(crate) struct Recorded {
    pub(crate) completed: Array2<f32>,
    pub(crate) recording: Recording,
    pub(crate) roots: PriorRows,
    pub(crate) plain: PriorRows,
}

impl Recorded {
    /// Completes the missing entries once, all rows together, as the reference figures were made.
    pub(crate) fn new(published: &Published) -> Result<Self, String> {
        let observed = partial(published, f32::INFINITY)?;
        let ranks = [COMPLETION_RANK, AXES[0], AXES[1], AXES[2], AXES[3], COMPLETION_RANK];
        let completion =
            complete_tucker(&observed, &ranks, &EmOptions::plain()).map_err(|e| e.to_string())?;
        let values = completion.values.iter().map(|v| v.clamp(0.0, 1.0)).collect();
        let completed = Array2::from_shape_vec((published.errors.nrows(), N_PIPELINES), values)
            .map_err(|e| e.to_string())?;
        Self::of(published, completed).map_err(|e| e.to_string())
    }

    fn of(published: &Published, completed: Array2<f32>) -> Result<Self, SurrogateError> {
        Ok(Self {
            recording: Recording::new(
                published.errors.clone(),
                published.runtimes_secs.clone(),
                REPLICATE_PERIOD,
            )?,
            roots: PriorRows::new(completed.view(), Scale::Root)?,
            plain: PriorRows::new(completed.view(), Scale::Plain)?,
            completed,
        })
    }

    pub(crate) fn n_datasets(&self) -> usize {
        self.recording.n_datasets()
    }

    /// The prior on square roots of errors, without one dataset.
    pub(crate) fn prior(
        &self,
        out: usize,
        settings: &PriorSettings,
    ) -> Result<Arc<Prior>, SurrogateError> {
        self.roots.without(out, settings).map(Arc::new)
    }

    /// Weights that leave one dataset out.
    pub(crate) fn without(&self, out: usize) -> Vec<f64> {
        (0..self.n_datasets()).map(|i| if i == out { 0.0 } else { 1.0 }).collect()
    }
}

/// Set A: every fifth of the paper's datasets from the third.
pub(crate) fn set_a() -> Vec<usize> {
    (2..215).step_by(5).collect()
}

/// Set B: every fifth from the first.
pub(crate) fn set_b() -> Vec<usize> {
    (0..215).step_by(5).collect()
}

/// Sizes of the datasets that have one.
pub(crate) fn sizes(published: &Published) -> Vec<Option<DatasetSize>> {
    let size = |id: &u32| {
        let &(rows, columns) = published.sizes.get(id)?;
        Some(DatasetSize { n_rows: rows as f64, n_features: columns as f64, n_classes: None })
    };
    published.dataset_ids.iter().map(size).collect()
}

/// Kinds of estimators: name, first and last index.
pub(crate) const KINDS: [(&str, usize, usize); 11] = [
    ("AB", 0, 9),
    ("DT", 10, 23),
    ("ET", 24, 53),
    ("GBT", 54, 81),
    ("GNB", 82, 82),
    ("kNN", 83, 98),
    ("Logit", 99, 130),
    ("MLP", 131, 142),
    ("Perc", 143, 143),
    ("RF", 144, 173),
    ("lSVM", 174, 182),
];

/// The kind of an estimator, as a position in [`KINDS`].
pub(crate) fn kind(estimator: usize) -> usize {
    KINDS
        .iter()
        .position(|&(_, first, last)| (first..=last).contains(&estimator))
        .expect("all kinds")
}

/// What one fit reveals, at assumed costs: all splits of a tree and of a forest per criterion, 50 rounds of
/// AdaBoost within 100, all k of kNN per metric, paths over C (twice the cost); the rest singly.
pub(crate) fn families() -> Actions {
    let mut actions = Vec::new();
    for prefix in 0..N_PREFIXES {
        let mut add = |estimators: Vec<usize>, cost_factor: f64| {
            let members = estimators.into_iter().map(|f| prefix * N_ESTIMATORS + f).collect();
            actions.push(Action { members, cost_factor });
        };
        add((10..24).collect(), 1.0);
        for first in [24, 144] {
            (0..2).for_each(|c| add((0..15).map(|i| first + 2 * i + c).collect(), 1.0));
        }
        (0..5).for_each(|rate| add(vec![rate, 5 + rate], 1.0));
        (0..2).for_each(|p| add((0..8).map(|i| 83 + 2 * i + p).collect(), 1.0));
        (0..4).for_each(|kind| add((0..8).map(|i| 99 + 4 * i + kind).collect(), 2.0));
        add((174..183).collect(), 2.0);
        (54..83).chain(131..144).for_each(|f| add(vec![f], 1.0));
    }
    Actions::new(N_PIPELINES, actions).expect("the families are within the search space")
}

/// Least squares; where nothing was observed, the other datasets' mean errors.
pub(crate) fn least_squares_or_mean(
    recorded: &Recorded,
    y: ArrayView2<'_, f32>,
    seen: &[(usize, f64)],
    out: usize,
) -> Result<Vec<f64>, SurrogateError> {
    if !seen.is_empty() {
        return least_squares(y, seen);
    }
    let prior = recorded.plain.without(out, &PriorSettings::plain(1))?;
    Ok(prior.mean().to_vec())
}

/// Mean of some numbers; NaN of none.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Mean and its standard error.
pub(crate) fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let m = mean(values);
    let variance =
        values.iter().map(|v| (v - m).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0);
    (m, (variance / values.len() as f64).sqrt())
}

/// The median.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    if n == 0 { f64::NAN } else { 0.5 * (values[(n - 1) / 2] + values[n / 2]) }
}
