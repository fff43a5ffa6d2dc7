//! From scores to probabilities.

/// The logistic function.
#[inline]
pub(super) fn logistic(score: f64) -> f64 {
    1.0 / (1.0 + (-score).exp())
}

/// Scores to probabilities; an overflowing score takes all.
pub(super) fn softmax(scores: &mut [f64]) {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    scores.iter_mut().for_each(|s| *s = (*s - largest).exp());
    let sum: f64 = scores.iter().sum();
    scores.iter_mut().for_each(|s| *s /= sum);
}

/// The position of the largest score, the first of equals.
pub(super) fn first_largest(scores: &[f64]) -> usize {
    let mut best = 0;
    for (k, &score) in scores.iter().enumerate() {
        if score > scores[best] {
            best = k;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_beyond_what_an_exponential_holds_are_fine() {
        let mut scores = [1000.0, 1000.0, -1000.0];
        softmax(&mut scores);
        assert_eq!(scores, [0.5, 0.5, 0.0]);
        assert_eq!(logistic(-1000.0), 0.0);
    }
}
