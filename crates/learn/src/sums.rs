//! Sums and extremes of columns: fast, and the same on every machine.

/// A sum of terms in eight lanes.
pub(crate) fn sum(values: &[f64], term: impl Fn(f64) -> f64) -> f64 {
    let mut lanes = [0.0; 8];
    let chunks = values.chunks_exact(8);
    let rest: f64 = chunks.remainder().iter().map(|&v| term(v)).sum();
    for chunk in chunks {
        for (lane, &v) in lanes.iter_mut().zip(chunk) {
            *lane += term(v);
        }
    }
    lanes.iter().sum::<f64>() + rest
}

/// The largest absolute value; not finite if one of them is not.
pub(crate) fn largest_magnitude(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m: f64, v| if v.abs() <= m { m } else { v.abs() })
}

/// The power of two that brings numbers of this magnitude to where squares neither overflow nor
/// vanish: one unless they are extreme. Multiplying by it is exact.
pub(crate) fn taming_power(largest: f64) -> f64 {
    match largest {
        m if m == 0.0 || (1e-120..1e120).contains(&m) => 1.0,
        m if m > 1.0 => 2f64.powi(-1000),
        _ => 2f64.powi(1000),
    }
}

/// A finite number in place of what overflowed.
pub(crate) fn finite(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value.clamp(-f64::MAX, f64::MAX) }
}
