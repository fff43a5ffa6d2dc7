//! The statistics that imputers fill in; each is given at least one value.

/// The mean, also where the sum overflows.
pub(super) fn mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let sum: f64 = values.iter().sum();
    if sum.is_finite() { sum / n } else { values.iter().map(|v| v / n).sum() }
}

/// The median; half-way between the middle two of an even number.
pub(super) fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    let n = values.len();
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if !n.is_multiple_of(2) {
        return upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // Halves first only where the sum overflows: it rounds differently for denormals.
    let sum = lower + upper;
    if sum.is_finite() { sum / 2.0 } else { lower / 2.0 + upper / 2.0 }
}

/// The most frequent value; the smallest of those equally frequent.
pub(super) fn most_frequent(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let (mut best, mut best_length) = (values[0], 0);
    for run in values.chunk_by(|a, b| a == b) {
        if run.len() > best_length {
            (best, best_length) = (run[0], run.len());
        }
    }
    best
}
