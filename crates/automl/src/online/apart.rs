//! Rows kept apart from the search, on which the rank rule of the paper's systems measures the ensemble (paper, Algorithm 3:
//! `D_val`).

use std::collections::BTreeMap;

use pitchpipe_learn::FitContext;
use pitchpipe_table::{Dataset, Fold};

use super::candidates::{Voice, together};
use super::combine::Combiner;
use super::library::{Learner, Rule, mean_of_models};
use crate::model::native_labels;

/// Keeps the draw of these rows apart from that of the folds.
const OTHER_ROWS: u64 = 0xD1B5_4A32_D192_ED03;

/// The rows to search with, and those kept apart from them: this share of each class, whole groups, or the latest.
pub(crate) fn parted(dataset: &Dataset, share: f64, seed: u64) -> (Dataset, Dataset) {
    let Fold { train, test } =
        dataset.dependence().holdout(dataset.labels(), share, seed ^ OTHER_ROWS);
    (dataset.select(&train), dataset.select(&test))
}

/// The rows kept apart, and what each base learner says of them.
pub(crate) struct Apart<'a> {
    rows: &'a Dataset,
    ctx: FitContext,
    said: BTreeMap<u64, Said>,
}

/// Probabilities and native decisions; nothing where they could not be had in time.
type Said = Option<(Vec<f32>, Vec<u32>)>;

impl<'a> Apart<'a> {
    pub(crate) fn new(rows: &'a Dataset, ctx: FitContext) -> Self {
        Self { rows, ctx, said: BTreeMap::new() }
    }

    /// The error of the ensemble as it was last made, by the metric asked for. A base learner is asked once.
    pub(crate) fn error(&mut self, combiner: &Combiner) -> Option<f64> {
        for (learner, _) in combiner.weighted_learners() {
            self.said
                .entry(learner.print())
                .or_insert_with(|| said_by(learner, self.rows, &self.ctx));
        }
        let mut members = Vec::new();
        for (learner, weight) in combiner.weighted_learners() {
            let (probabilities, labels) = self.said.get(&learner.print())?.as_ref()?;
            members.push(Voice { weight, probabilities, labels });
        }
        if members.is_empty() {
            return None;
        }
        let rule = Rule { truth: self.rows.labels().clone(), ..(**combiner.rule()).clone() };
        let scores = together(&members, combiner.combination(), &rule).scores();
        Some(scores.error(rule.metric))
    }
}

fn said_by(learner: &Learner, rows: &Dataset, ctx: &FitContext) -> Said {
    let all: Vec<usize> = (0..rows.n_rows()).collect();
    let (models, n_classes) = (&learner.models, rows.labels().n_classes());
    let (mean, _) = mean_of_models(models, rows, ctx).ok()?;
    let labels = native_labels(models, rows.frame(), &all, n_classes, ctx).ok()?;
    Some((mean.into_iter().map(|p| p as f32).collect(), labels))
}

#[cfg(test)]
mod tests {
    use pitchpipe_table::{Column, Labels};

    use super::*;

    #[test]
    fn a_share_of_each_class_is_kept_apart() {
        let codes: Vec<u32> = (0..100).map(|i| u32::from(i % 4 == 0)).collect();
        let cells: Vec<f64> = (0..100).map(f64::from).collect();
        let column = Column::numeric(cells);
        let dataset = Dataset::new(vec![column], Labels::from_codes(codes, 2));
        let (training, apart) = parted(&dataset, 0.2, 3);
        assert_eq!((training.n_rows(), apart.n_rows()), (80, 20));
        assert_eq!(apart.labels().counts(), [15, 5]);
    }
}
