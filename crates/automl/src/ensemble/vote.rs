//! The paper's ensemble: a majority vote of the five pipelines with the lowest errors (ALGORITHMS §13).

use super::Selection;

/// How many vote.
pub const VOTERS: usize = 5;

/// The five best of candidates that come best first; each has one vote.
pub fn vote(n_candidates: usize) -> Selection {
    let n = n_candidates.min(VOTERS);
    Selection { weights: (0..n).map(|i| (i, 1.0 / n as f64)).collect(), loss: f64::NAN }
}

/// The class most voted for; the better-ranked voter's wins a draw. `votes` come best-ranked first.
pub fn majority(votes: &[u32], n_classes: usize) -> u32 {
    let mut counts = vec![0usize; n_classes];
    votes.iter().for_each(|&v| counts[v as usize] += 1);
    let most = counts.iter().copied().max().unwrap_or(0);
    *votes.iter().find(|&&v| counts[v as usize] == most).expect("someone votes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_ranked_voter_wins_a_draw() {
        assert_eq!(majority(&[2, 1, 1, 2, 0], 3), 2);
        assert_eq!(majority(&[0, 1, 1, 2, 2], 3), 1);
        assert_eq!(majority(&[0, 1, 1], 3), 1);
    }

    #[test]
    fn five_vote_at_most() {
        assert_eq!(vote(7).weights.len(), 5);
        assert_eq!(vote(2).weights, [(0, 0.5), (1, 0.5)]);
    }
}
