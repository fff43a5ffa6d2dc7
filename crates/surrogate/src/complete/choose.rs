//! Ranks chosen by holding out entries, and the completion used when nothing is said.

use super::em::EmOptions;
use super::tucker::{TuckerCompletion, complete_tucker};
use crate::{PartialTensor, Scalar, SurrogateError};

/// The share of observed entries that decides.
pub const HELD_OUT: f64 = 0.05;
/// Ranks tried, smallest first.
const RANKS: [usize; 6] = [5, 10, 20, 40, 80, 120];
/// How strong the shrinkage is, next to the usual one.
const STRENGTHS: [f64; 2] = [1.2, 0.6];
/// Rounds after which a candidate has shown what it can.
const TRIAL_ROUNDS: usize = 100;

/// Ranks and settings, with what they lost on held-out entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// One rank per mode.
    pub ranks: Vec<usize>,
    /// How the fit was made.
    pub options: EmOptions,
    /// Relative error on the held-out entries.
    pub error: f64,
}

/// The candidate with the lowest relative error on a random 5 % of the observed entries, which are
/// hidden from it. The first wins a draw; a candidate that cannot be fitted is an error.
pub fn choose_ranks<T: Scalar>(
    observed: &PartialTensor<T>,
    candidates: &[(Vec<usize>, EmOptions)],
    seed: u64,
) -> Result<Choice, SurrogateError> {
    let mut trial = Trial::new(observed, seed)?;
    for (ranks, options) in candidates {
        trial.run(ranks, options)?;
    }
    trial.best.ok_or(SurrogateError::Empty { what: "the list of candidates" })
}

/// Completes with shrunk Tucker decompositions of the first and the last mode, at the rank and strength
/// that lose least on held-out entries.
pub fn complete<T: Scalar>(
    observed: &PartialTensor<T>,
    seed: u64,
) -> Result<(TuckerCompletion<T>, Choice), SurrogateError> {
    let mut trial = Trial::new(observed, seed)?;
    let mut last = None;
    for rank in RANKS {
        let ranks = ranks_for(observed.shape(), rank);
        if last.as_ref() == Some(&ranks) {
            break; // both sides are used up
        }
        // A larger rank costs more and has never come back once it lost.
        if !trial.run(&ranks, &EmOptions::shrunk())? {
            break;
        }
        last = Some(ranks);
    }
    let ranks = trial.best.as_ref().map(|b| b.ranks.clone()).expect("one rank was tried");
    for strength in STRENGTHS {
        if trial.run(&ranks, &EmOptions { shrinkage: strength, ..EmOptions::shrunk() })? {
            break;
        }
    }
    let choice = trial.best.expect("one rank was tried");
    let completion = complete_tucker(observed, &choice.ranks, &choice.options)?;
    Ok((completion, choice))
}

/// `rank` in the first and the last mode as far as their sides allow, full rank in between.
fn ranks_for(shape: &[usize], rank: usize) -> Vec<usize> {
    let last = shape.len() - 1;
    let inner: usize = shape[1..last].iter().product();
    let mut ranks = shape.to_vec();
    (ranks[0], ranks[last]) = (rank.min(shape[0]), rank.min(shape[last]));
    ranks[0] = ranks[0].min(inner * ranks[last]);
    ranks[last] = ranks[last].min(inner * ranks[0]);
    ranks
}

struct Trial<'a, T> {
    observed: &'a PartialTensor<T>,
    training: PartialTensor<T>,
    held: Vec<usize>,
    best: Option<Choice>,
}

impl<'a, T: Scalar> Trial<'a, T> {
    fn new(observed: &'a PartialTensor<T>, seed: u64) -> Result<Self, SurrogateError> {
        let (training, held) = observed.hold_out(HELD_OUT, seed);
        if held.is_empty() {
            return Err(SurrogateError::Empty { what: "the set of held-out entries" });
        }
        Ok(Self { observed, training, held, best: None })
    }

    /// Whether these ranks are the best so far.
    fn run(&mut self, ranks: &[usize], options: &EmOptions) -> Result<bool, SurrogateError> {
        let trial = EmOptions { max_rounds: options.max_rounds.min(TRIAL_ROUNDS), ..*options };
        let completion = complete_tucker(&self.training, ranks, &trial)?;
        let error = self.observed.relative_error_at(&completion.values, &self.held);
        let better = self.best.as_ref().is_none_or(|best| error < best.error);
        if better {
            self.best = Some(Choice { ranks: ranks.to_vec(), options: *options, error });
        }
        Ok(better)
    }
}
