//! The paper's ensemble: a majority vote of the five pipelines with the lowest errors (ALGORITHMS §13).

use super::Selection;

/// How many vote.
pub const VOTERS: usize = 5;

/// The five best of candidates that come best first, given the labels that each predicts out of fold; each has one vote.
/// Candidates that predict the same everywhere count as one.
pub fn vote(labels: &[&[u32]]) -> Selection {
    let mut voters: Vec<usize> = Vec::new();
    for (at, own) in labels.iter().enumerate() {
        if voters.len() < VOTERS && voters.iter().all(|&v| labels[v] != *own) {
            voters.push(at);
        }
    }
    let share = 1.0 / voters.len().max(1) as f64;
    Selection { weights: voters.into_iter().map(|v| (v, share)).collect(), loss: f64::NAN }
}

/// The class most voted for; the better-ranked voter's wins a draw. `votes` come best-ranked first.
pub fn majority(votes: &[u32], n_classes: usize) -> u32 {
    let mut counts = vec![0usize; n_classes];
    votes.iter().for_each(|&v| counts[v as usize] += 1);
    let most = counts.iter().copied().max().unwrap_or(0);
    *votes.iter().find(|&&v| counts[v as usize] == most).expect("someone votes")
}

/// Shares of the votes as probabilities; the share of the class that wins a draw is a little larger, so that the most
/// probable class is the one voted for.
pub fn vote_shares(votes: &[u32], shares: &mut [f64]) {
    shares.fill(0.0);
    votes.iter().for_each(|&v| shares[v as usize] += 1.0);
    shares[majority(votes, shares.len()) as usize] += 1e-6;
    let total: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|p| *p /= total);
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
    fn five_that_differ_vote_at_most() {
        let labels: Vec<[u32; 1]> = (0..7).map(|i| [i]).collect();
        let labels: Vec<&[u32]> = labels.iter().map(|l| l.as_slice()).collect();
        assert_eq!(vote(&labels).weights.len(), 5);
        assert_eq!(vote(&[&[0, 1], &[0, 1], &[1, 1]]).weights, [(0, 0.5), (2, 0.5)]);
        assert_eq!(vote(&[]).weights, []);
    }
}
