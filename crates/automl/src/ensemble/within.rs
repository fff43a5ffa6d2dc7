//! Which base learners a model keeps where all of them would make its file too large.

/// Base learners by position, each with its weight and the bytes of its models, that take at most `limit` bytes: those of
/// least weight for their bytes go first, and one stays. Weights sum to one again; the order is kept.
pub(crate) fn within(limit: u64, learners: &[(usize, f64, u64)]) -> Vec<(usize, f64)> {
    let mut left: Vec<(usize, f64, u64)> =
        learners.iter().map(|&(at, weight, bytes)| (at, weight, bytes.max(1))).collect();
    let n_bytes = |left: &[(usize, f64, u64)]| left.iter().fold(0u64, |n, l| n.saturating_add(l.2));
    while n_bytes(&left) > limit && left.len() > 1 {
        let worth = |i: &usize| left[*i].1 / left[*i].2 as f64;
        let least = (0..left.len()).min_by(|a, b| worth(a).total_cmp(&worth(b)));
        left.remove(least.expect("there are at least two"));
    }
    let total: f64 = left.iter().map(|l| l.1).sum();
    left.into_iter().map(|(at, weight, _)| (at, weight / total)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_weight_for_its_bytes_goes_first() {
        let learners = [(7, 0.5, 100), (3, 0.25, 10), (5, 0.25, 20)];
        assert_eq!(within(130, &learners), [(7, 0.5), (3, 0.25), (5, 0.25)]);
        assert_eq!(within(129, &learners), [(3, 0.5), (5, 0.5)]);
        assert_eq!(within(29, &learners), [(3, 1.0)]);
        assert_eq!(within(1, &learners), [(3, 1.0)]);
        assert_eq!(within(1, &[]), []);
    }
}
