//! The log loss: scores of the training rows, and its derivatives as whole numbers.
//!
//! Sums of whole numbers do not depend on their order, so that a fit is the same on any number of threads, and
//! a histogram less one of its parts is exactly the other part.

use std::slice::ChunksMut;

use pitchpipe_table::Labels;
use rayon::prelude::*;

use super::ClassWeight;
use super::exp::{gradients_of_many, gradients_of_two};
use super::words::{Units, Word, pack};
use crate::work_time::Owner;
use crate::{FitContext, FitError};

/// Rows whose derivatives one thread computes at once.
const ROWS_AT_ONCE: usize = 1 << 14;

/// Scores and derivatives while boosting, output after output: one output for two classes, K for K.
pub(super) struct Objective<'a> {
    y: &'a [u32],
    n_rows: usize,
    start: Vec<f64>,
    /// The start of a model's scores, where rows counted the same.
    told_start: Vec<f64>,
    scores: Vec<f64>,
    gradients: Vec<f32>,
    /// What a row of each class counts; `None` where all count one.
    weights: Option<Vec<f32>>,
}

impl<'a> Objective<'a> {
    /// Starts from the log odds of the classes' shares (their logarithms, for three and more).
    pub(super) fn new(
        y: &'a Labels,
        class_weight: ClassWeight,
        ctx: &FitContext,
    ) -> Result<Self, FitError> {
        let n_rows = y.len();
        let shares: Vec<f64> = y.counts().iter().map(|&n| n as f64 / n_rows as f64).collect();
        let told_start = start_of(&shares);
        // Classes of equal weight in all start from nothing. What a model says is then moved back to the shares.
        let (start, weights) = match class_weight {
            ClassWeight::None => (told_start.clone(), None),
            ClassWeight::Balanced => {
                let weight = |share: &f64| (1.0 / (share * shares.len() as f64)) as f32;
                (vec![0.0; told_start.len()], Some(shares.iter().map(weight).collect()))
            }
        };
        let mut scores = Vec::with_capacity(n_rows * start.len());
        for &score in &start {
            ctx.check_deadline()?;
            scores.resize(scores.len() + n_rows, score);
        }
        let gradients = vec![0.0; scores.len()];
        Ok(Self { y: y.codes(), n_rows, start, told_start, scores, gradients, weights })
    }

    /// The scores before the first round.
    pub(super) fn start(&self) -> &[f64] {
        &self.start
    }

    /// The scores that a model starts from: its probabilities are those of the classes' own shares, whatever rows counted.
    pub(super) fn told_start(&self) -> &[f64] {
        &self.told_start
    }

    /// The log loss over some rows, each counting as its class does.
    pub(super) fn loss(&self, rows: &[u32]) -> f64 {
        let score = |k: usize, row: u32| self.scores[k * self.n_rows + row as usize];
        let of_row = |&row: &u32| {
            let class = self.y[row as usize] as usize;
            let loss = if self.start.len() == 1 {
                let margin = if class == 1 { score(0, row) } else { -score(0, row) };
                // ln(1 + e^-m), without overflow.
                (-margin).max(0.0) + (-margin.abs()).exp().ln_1p()
            } else {
                let largest = (0..self.start.len()).map(|k| score(k, row)).fold(f64::MIN, f64::max);
                let sum: f64 = (0..self.start.len()).map(|k| (score(k, row) - largest).exp()).sum();
                largest + sum.ln() - score(class, row)
            };
            loss * self.weights.as_ref().map_or(1.0, |weights| f64::from(weights[class]))
        };
        rows.iter().map(of_row).sum()
    }

    /// The derivatives at the present scores, and the scores of each output, which the trees that are grown on them move.
    pub(super) fn parts(&mut self) -> (Derivatives<'_>, ChunksMut<'_, f64>) {
        let (gradients, weights) = (&self.gradients, self.weights.as_deref());
        let derivatives = Derivatives { y: self.y, n_rows: self.n_rows, gradients, weights };
        (derivatives, self.scores.chunks_mut(self.n_rows))
    }

    /// The gradients at the present scores.
    pub(super) fn update(&mut self, ctx: &FitContext) -> Result<(), FitError> {
        if self.start.len() > 1 {
            return gradients_of_many(&self.scores, self.y, &mut self.gradients, ctx);
        }
        let scores = self.scores.par_chunks(ROWS_AT_ONCE);
        let classes = self.y.par_chunks(ROWS_AT_ONCE);
        let gradients = self.gradients.par_chunks_mut(ROWS_AT_ONCE);
        let owner = Owner::here();
        gradients.zip(scores).zip(classes).for_each(|((gradients, scores), classes)| {
            owner.part(|| gradients_of_two(scores, classes, gradients));
        });
        Ok(())
    }
}

/// The derivatives of a round's trees.
#[derive(Clone, Copy)]
pub(super) struct Derivatives<'o> {
    y: &'o [u32],
    n_rows: usize,
    gradients: &'o [f32],
    weights: Option<&'o [f32]>,
}

impl Derivatives<'_> {
    /// The derivatives of an output as whole numbers, a word for each row. `key` is the tree's own: it decides which way
    /// each is rounded.
    pub(super) fn words(&self, output: usize, key: u32, words: &mut Vec<Word>) -> Units {
        words.resize(self.n_rows, 0);
        let gradients = &self.gradients[output * self.n_rows..(output + 1) * self.n_rows];
        let largest = |chunk: &[f32]| {
            let (mut gradient, mut hessian) = (0.0f32, 0.0f32);
            for g in chunk.iter().map(|g| g.abs()) {
                gradient = gradient.max(g);
                hessian = hessian.max(g * (1.0 - g));
            }
            (gradient, hessian)
        };
        let heaviest = self.weights.map_or(1.0, |w| w.iter().copied().fold(0.0f32, f32::max));
        let owner = Owner::here();
        let larger = |a: (f32, f32), b: (f32, f32)| (a.0.max(b.0), a.1.max(b.1));
        let (gradient, hessian) = gradients
            .par_chunks(ROWS_AT_ONCE)
            .map(|g| owner.part(|| largest(g)))
            .reduce(|| (0.0, 0.0), larger);
        let units = Units::new(self.n_rows, heaviest * gradient, heaviest * hessian);
        let words = words.par_chunks_mut(ROWS_AT_ONCE);
        let pack_part = |at: usize, to: &mut [Word], from: &[f32]| {
            let first = at * ROWS_AT_ONCE;
            match self.weights {
                None => pack(units, from, |_| 1.0, first as u32, key, to),
                Some(weights) => {
                    let classes = &self.y[first..first + from.len()];
                    pack(units, from, |i| weights[classes[i] as usize], first as u32, key, to);
                }
            }
        };
        words.zip(gradients.par_chunks(ROWS_AT_ONCE)).enumerate().for_each(|(at, (to, from))| {
            owner.part(|| pack_part(at, to, from));
        });
        units
    }
}

fn start_of(shares: &[f64]) -> Vec<f64> {
    match *shares {
        [first, second] => vec![(second / first).ln()],
        _ => shares.iter().map(|share| share.ln()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derivatives_are_those_of_the_log_loss() {
        let ctx = FitContext::unhurried();
        let two = Labels::from_codes([0, 1, 1, 1], 2);
        let mut objective = Objective::new(&two, ClassWeight::None, &ctx).unwrap();
        objective.update(&ctx).unwrap();
        // At the start every row's probability is the share, .75.
        for (&g, expected) in objective.gradients.iter().zip([0.75, -0.25, -0.25, -0.25]) {
            assert!((g - expected).abs() < 1e-6, "{g}");
        }
        let three = Labels::from_codes([0, 1, 2, 2], 3);
        let mut objective = Objective::new(&three, ClassWeight::None, &ctx).unwrap();
        objective.update(&ctx).unwrap();
        for (k, expected) in [0.25, 0.25, -0.5].into_iter().enumerate() {
            assert!((objective.gradients[4 * k + 2] - expected).abs() < 1e-6, "{k}");
        }
        let mut words = Vec::new();
        let units = objective.parts().0.words(2, 7, &mut words);
        let sums = units.sums(&words);
        // .5 + .5 - .5 - .5, and four hessians of a quarter.
        assert!(units.gradient(sums).abs() < 1e-3 && (units.hessian(sums) - 1.0).abs() < 1e-2);
        assert_eq!(units.count(sums), 4);
    }
}
