//! What every pipeline that finished predicts, losers included: what an honest score is made of.
//!
//! The best of hundreds owe part of their place to luck with the rows they were compared on. A score that allows for it
//! must choose again, on other rows than it scores, among all that were tried and not only among those that won.

use std::collections::BTreeMap;

use pitchpipe_learn::estimate::EstimatorKind;
use pitchpipe_table::{Labels, stratified_subsample};

/// Of each kind of estimator at least so many of the best are remembered. Those a search would take on four fifths of the
/// rows are nearly always among them: it takes eight of a kind.
const LEAST_OF_A_KIND: usize = 48;

/// What all that is remembered may take together, as long as kinds have their least. The best on all rows are a choice by all
/// rows: on noise of 50 rows it flattered to forget the others.
const MOST_BYTES: usize = 16 << 20;

/// The most probabilities that are remembered of a pipeline; with many classes, of fewer rows.
const MOST_CELLS: usize = 60_000;

/// The predictions of all pipelines tried, on some of the rows that ensembles are chosen by.
pub(crate) struct Tried {
    /// Which of those rows; all where there is none.
    rows: Option<Vec<usize>>,
    truth: Labels,
    by_kind: BTreeMap<EstimatorKind, Vec<Trial>>,
    /// Pipelines of a kind that are remembered.
    most_of_a_kind: usize,
    /// The print of the pipeline that others are compared with, once it was tried.
    plain: Option<u64>,
    /// That pipeline, where it was run for comparison only: no candidate of an ensemble.
    compared: Option<Trial>,
}

/// A pipeline that finished.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewTrial {
    /// Its place in the search space.
    pub(crate) key: usize,
    /// Equal computations have equal prints and count once.
    pub(crate) print: u64,
    pub(crate) kind: EstimatorKind,
    /// By the metric asked for.
    pub(crate) error: f64,
    /// Bytes of its models in a file.
    pub(crate) n_bytes: u64,
    /// Whether it is the one that others are compared with: that is remembered in any case.
    pub(crate) is_plain: bool,
}

/// One pipeline.
pub(crate) struct Trial {
    key: usize,
    pub(crate) kind: EstimatorKind,
    error: f64,
    print: u64,
    pub(crate) n_bytes: u64,
    /// Sixteen bits each: none that is not zero becomes so.
    probabilities: Vec<u16>,
    /// Their mean over all validations, where there were others.
    mean: Option<Vec<u16>>,
    /// The native decisions.
    pub(crate) labels: Vec<u32>,
}

impl Tried {
    /// Remembers predictions of rows of these classes.
    pub(crate) fn of(truth: &Labels, seed: u64) -> Self {
        Self::within(MOST_BYTES, truth, seed)
    }

    /// The same, in so many bytes.
    fn within(most_bytes: usize, truth: &Labels, seed: u64) -> Self {
        let most = (MOST_CELLS / truth.n_classes().max(1)).max(1);
        let rows = (truth.len() > most).then(|| stratified_subsample(truth, most, seed));
        let truth = rows.as_ref().map_or_else(|| truth.clone(), |rows| truth.select(rows));
        let bytes_each = size_of::<u16>() * truth.len() * (truth.n_classes() + 1);
        let most_of_a_kind = most_bytes / EstimatorKind::ALL.len() / bytes_each.max(1);
        Self {
            rows,
            truth,
            by_kind: BTreeMap::new(),
            most_of_a_kind: most_of_a_kind.max(LEAST_OF_A_KIND),
            plain: None,
            compared: None,
        }
    }

    /// The classes of the rows it remembers.
    pub(crate) fn truth(&self) -> &Labels {
        &self.truth
    }

    /// Which of the rows that ensembles are chosen by it remembers; all where there is none.
    pub(crate) fn rows(&self) -> Option<&[usize]> {
        self.rows.as_deref()
    }

    /// Remembers a pipeline. What is remembered does not depend on the order.
    pub(crate) fn add(&mut self, new: NewTrial, probabilities: &[f32], labels: &[u32]) {
        let NewTrial { key, print, kind, error, is_plain, .. } = new;
        if is_plain {
            self.plain = Some(print);
        }
        let all = self.by_kind.entry(kind).or_default();
        if let Some(same) = all.iter_mut().find(|t| t.print == print) {
            same.key = same.key.min(key);
            return;
        }
        let at = all.partition_point(|t| (t.error, t.key) < (error, key));
        if at >= self.most_of_a_kind && !is_plain {
            return;
        }
        let trial = self.trial(new, probabilities, labels);
        let all = self.by_kind.entry(kind).or_default();
        all.insert(at, trial);
        if all.len() > self.most_of_a_kind {
            let plain = self.plain;
            let worst = all.iter().rposition(|t| Some(t.print) != plain);
            all.remove(worst.expect("one at most is the plain one"));
        }
    }

    /// A pipeline was validated `n` times more, and predicted this in all; its models now take so many bytes.
    pub(crate) fn confirm(
        &mut self,
        print: u64,
        kind: EstimatorKind,
        (sums, n): (&[f32], usize),
        n_bytes: u64,
    ) {
        let of_kind = self.by_kind.get_mut(&kind);
        let Some(trial) = of_kind.and_then(|all| all.iter_mut().find(|t| t.print == print)) else {
            return;
        };
        let n_classes = self.truth.n_classes();
        let row_of = |at: usize| self.rows.as_ref().map_or(at, |rows| rows[at]);
        let own = trial.probabilities.chunks(n_classes).enumerate();
        let mean = own.flat_map(|(at, first)| {
            let sums = &sums[row_of(at) * n_classes..][..n_classes];
            first.iter().zip(sums).map(|(&p, &sum)| pack((unpack(p) + sum) / (n + 1) as f32))
        });
        trial.mean = Some(mean.collect());
        trial.n_bytes = n_bytes;
    }

    /// Remembers the pipeline that others are compared with as that, and no more.
    pub(crate) fn compare(&mut self, new: NewTrial, probabilities: &[f32], labels: &[u32]) {
        self.compared = Some(self.trial(new, probabilities, labels));
    }

    fn trial(&self, new: NewTrial, probabilities: &[f32], labels: &[u32]) -> Trial {
        let NewTrial { key, print, kind, error, n_bytes, .. } = new;
        let n_classes = self.truth.n_classes();
        let packed = |row: &[f32]| row.iter().map(|&p| pack(p)).collect::<Vec<u16>>();
        let (probabilities, labels) = match &self.rows {
            None => (packed(probabilities), labels.to_vec()),
            Some(rows) => (
                rows.iter()
                    .flat_map(|r| packed(&probabilities[r * n_classes..][..n_classes]))
                    .collect(),
                rows.iter().map(|&r| labels[r]).collect(),
            ),
        };
        Trial { key, kind, error, print, n_bytes, probabilities, mean: None, labels }
    }

    /// The pipeline that others are compared with, where it was run.
    pub(crate) fn plain(&self) -> Option<&Trial> {
        let tried = || {
            let print = self.plain?;
            self.by_kind.values().flatten().find(|t| t.print == print)
        };
        self.compared.as_ref().or_else(tried)
    }

    /// All pipelines, in the order of their keys.
    pub(crate) fn trials(&self) -> Vec<&Trial> {
        let mut all: Vec<&Trial> = self.by_kind.values().flatten().collect();
        all.sort_by_key(|t| t.key);
        all
    }
}

impl Trial {
    /// The probabilities of some rows when it was first validated.
    pub(crate) fn probabilities(&self, rows: &[usize], n_classes: usize) -> Vec<f32> {
        unpacked(&self.probabilities, rows, n_classes)
    }

    /// The same as the mean over all its validations: the model, too, is the mean of the models of all of them.
    pub(crate) fn mean_probabilities(&self, rows: &[usize], n_classes: usize) -> Vec<f32> {
        unpacked(self.mean.as_ref().unwrap_or(&self.probabilities), rows, n_classes)
    }
}

fn unpacked(packed: &[u16], rows: &[usize], n_classes: usize) -> Vec<f32> {
    let row = |&r: &usize| &packed[r * n_classes..][..n_classes];
    rows.iter().flat_map(row).map(|&p| unpack(p)).collect()
}

fn unpack(p: u16) -> f32 {
    f32::from(p) / f32::from(u16::MAX)
}

/// The next larger of 65,536 steps: a log loss must not meet a zero that was none.
fn pack(p: f32) -> u16 {
    (p.clamp(0.0, 1.0) * f32::from(u16::MAX)).ceil() as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(key: usize, error: f64) -> NewTrial {
        let (print, kind) = (key as u64, EstimatorKind::RandomForest);
        NewTrial { key, print, kind, error, n_bytes: 1, is_plain: false }
    }

    #[test]
    fn the_best_of_a_kind_are_remembered_whatever_the_order() {
        let truth = Labels::from_codes([0, 1, 1], 2);
        let of = |keys: &mut dyn Iterator<Item = usize>| {
            let mut tried = Tried::within(0, &truth, 0);
            for key in keys {
                let p = [0.5, 0.5, 0.25, 0.75, 1.0, 0.0];
                let error = (key % 50) as f64;
                tried.add(NewTrial { is_plain: key == 99, ..new(key, error) }, &p, &[0, 1, 0]);
            }
            tried.trials().iter().map(|t| t.key).collect::<Vec<_>>()
        };
        let (forwards, backwards) = (of(&mut (0..100)), of(&mut (0..100).rev()));
        assert_eq!(forwards, backwards);
        assert_eq!(forwards.len(), LEAST_OF_A_KIND);
        assert!(!forwards.contains(&48) && !forwards.contains(&98), "the worst");
        assert!(forwards.contains(&99), "the plain one stays");
    }

    #[test]
    fn probabilities_come_back_and_small_ones_stay_above_zero() {
        let mut tried = Tried::of(&Labels::from_codes([0, 1], 2), 0);
        tried.add(new(0, 0.5), &[1e-9, 1.0, 0.0, 0.3], &[1, 1]);
        let p = tried.trials()[0].probabilities(&[1, 0], 2);
        assert_eq!(p[0], 0.0);
        assert!((p[1] - 0.3).abs() < 1e-4);
        assert!(p[2] > 0.0 && p[3] == 1.0);
    }

    #[test]
    fn other_validations_join_the_mean_and_leave_the_first_as_it_was() {
        let mut tried = Tried::of(&Labels::from_codes([0, 1], 2), 0);
        tried.add(new(0, 0.5), &[1.0, 0.0, 0.5, 0.5], &[0, 1]);
        tried.confirm(0, EstimatorKind::RandomForest, (&[1.0, 1.0, 0.25, 1.75], 2), 3);
        let trial = tried.trials()[0];
        let mean = trial.mean_probabilities(&[0, 1], 2);
        for (got, wanted) in mean.iter().zip([2.0 / 3.0, 1.0 / 3.0, 0.25, 0.75]) {
            assert!((got - wanted).abs() < 1e-4, "{mean:?}");
        }
        assert_eq!(trial.probabilities(&[0], 2), [1.0, 0.0]);
    }

    #[test]
    fn with_many_classes_fewer_rows_are_remembered() {
        let n_classes = 1_000;
        let truth = Labels::from_codes((0..200).map(|i| i % 1_000), n_classes);
        let mut tried = Tried::of(&truth, 0);
        assert_eq!(tried.truth().len(), 60);
        let p = vec![0.001; 200 * n_classes];
        tried.add(new(0, 0.5), &p, &vec![0; 200]);
        assert_eq!(tried.trials()[0].probabilities(&[59], n_classes).len(), n_classes);
    }
}
