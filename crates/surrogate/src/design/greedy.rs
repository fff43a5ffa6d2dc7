//! Greedy D-optimal designs (paper, Algorithms 4, 5 and 9).

use ndarray::Array2;

use crate::design::pivots::pivots;
use crate::design::{Design, DesignVectors, check_limit};
use crate::error::SurrogateError;
use crate::panels::{Panels, WIDTH};
use crate::small::Square;

/// The inverse information matrix and every candidate's payoff `yⱼᵀ X⁻¹ yⱼ`, kept up to date by
/// Sherman-Morrison: O(rank) a candidate and step.
pub(crate) struct Information {
    pub(crate) inverse: Square,
    pub(crate) payoffs: Vec<f64>,
}

impl Information {
    /// The information of a first set of columns, or `None` where they do not span the space.
    pub(crate) fn of(y: &Panels, columns: &[usize]) -> Option<Self> {
        let mut x = Square::zeros(y.rank());
        columns.iter().for_each(|&j| x.add_outer(1.0, &y.column(j)));
        let factor = x.cholesky()?;
        // X⁻¹ = L⁻ᵀ L⁻¹: the rows of L⁻¹ are what payoffs are sums of squares of.
        let k = y.rank();
        let mut rows = vec![vec![0.0; k]; k];
        for j in 0..k {
            let mut unit = vec![0.0; k];
            unit[j] = 1.0;
            for (i, v) in factor.solve(&unit).into_iter().enumerate() {
                rows[i][j] = v;
            }
        }
        Some(Self { inverse: factor.inverse(), payoffs: y.quadratic_forms(&rows) })
    }

    /// The information of a prior under which the embedding has unit variances.
    pub(crate) fn of_unit_prior(y: &Panels) -> Self {
        let axes: Vec<Vec<f64>> = (0..y.rank())
            .map(|i| (0..y.rank()).map(|j| f64::from(u8::from(i == j))).collect())
            .collect();
        Self { inverse: Square::identity(y.rank()), payoffs: y.quadratic_forms(&axes) }
    }

    /// Adds column `i` to the design (Sherman-Morrison, the paper's second lemma).
    pub(crate) fn add(&mut self, y: &Panels, i: usize) {
        let u = self.inverse.times(&y.column(i));
        let d = 1.0 + self.payoffs[i].max(0.0);
        self.inverse.add_outer(-1.0 / d, &u);
        let payoffs = &mut self.payoffs;
        let n = payoffs.len();
        y.for_each(
            &[u],
            #[inline(always)]
            |p, g| {
                let lanes = &mut payoffs[p * WIDTH..n.min((p + 1) * WIDTH)];
                for (q, g) in lanes.iter_mut().zip(&g[0]) {
                    *q -= g * g / d;
                }
            },
        );
    }
}

/// Greedy design of `size` pipelines (Algorithm 4), started at the pivots of a QR factorization.
///
/// Where the vectors span fewer dimensions than they have, it works within what they span. A size below that
/// keeps as many pivots.
pub fn by_size(y: &DesignVectors, size: usize) -> Result<Design, SurrogateError> {
    let ones = vec![1.0; y.n_pipelines()];
    let (mut start, basis) = pivots(&y.panels, &vec![true; y.n_pipelines()]);
    if start.is_empty() {
        return Err(SurrogateError::Empty { what: "space the design vectors span" });
    }
    start.truncate(size);
    if start.len() == size {
        return Ok(Design { secs: size as f64, pipelines: start });
    }
    let panels = within(&y.panels, &basis);
    grow(&panels, &ones, size as f64, start)
}

/// Greedy design within `limit_secs` of predicted time (Algorithms 5 and 6; 9 with weighted vectors).
///
/// Case 1: fewer than rank many pipelines take at most `limit / (2 rank)` each; then the fastest ones are
/// taken while they fit, with no greedy steps. Case 2: pivots among those that do, then the largest
/// payoff per second among what still fits. Departs from the printed pseudocode in keeping the sum
/// within the limit, where that keeps the pipeline that crosses it.
pub fn by_time(y: &DesignVectors, secs: &[f64], limit_secs: f64) -> Result<Design, SurrogateError> {
    y.check_secs(secs)?;
    check_limit(limit_secs)?;
    let share = limit_secs / (2.0 * y.rank() as f64);
    let valid: Vec<bool> = secs.iter().map(|&t| t <= share).collect();
    if valid.iter().filter(|&&v| v).count() < y.rank() {
        return Ok(fastest(secs, limit_secs));
    }
    let (start, basis) = pivots(&y.panels, &valid);
    if start.is_empty() {
        return Ok(fastest(secs, limit_secs));
    }
    let panels = within(&y.panels, &basis);
    grow(&panels, secs, limit_secs, start)
}

/// The design within `limit_secs` that shrinks the posterior covariance most per second: greedy steps from a
/// prior of unit variances ([`DesignVectors::of_prior`]), so that even the first choice has a payoff and no
/// pivots are needed.
pub fn from_prior_by_time(
    y: &DesignVectors,
    secs: &[f64],
    limit_secs: f64,
) -> Result<Design, SurrogateError> {
    y.check_secs(secs)?;
    check_limit(limit_secs)?;
    let information = Information::of_unit_prior(&y.panels);
    Ok(take_steps(&y.panels, information, secs, limit_secs, Vec::new()))
}

/// Case 1: the fastest pipelines, while they fit; the earlier first among equally fast ones.
fn fastest(secs: &[f64], limit_secs: f64) -> Design {
    let mut order: Vec<usize> = (0..secs.len()).collect();
    order.sort_by(|&a, &b| secs[a].total_cmp(&secs[b]));
    let mut design = Design::default();
    for j in order {
        if design.secs + secs[j] > limit_secs {
            break;
        }
        design.secs += secs[j];
        design.pipelines.push(j);
    }
    design
}

/// Coordinates in `basis`, where that spans less than the whole space; the vectors as they are otherwise.
fn within(y: &Panels, basis: &[Vec<f64>]) -> Panels {
    if basis.len() == y.rank() {
        return y.clone();
    }
    let mut projected = Array2::<f32>::zeros((basis.len(), y.n()));
    for (i, b) in basis.iter().enumerate() {
        for (j, v) in y.apply(b).into_iter().enumerate() {
            projected[(i, j)] = v as f32;
        }
    }
    Panels::new(projected.view())
}

fn grow(
    y: &Panels,
    secs: &[f64],
    limit_secs: f64,
    start: Vec<usize>,
) -> Result<Design, SurrogateError> {
    let information = Information::of(y, &start)
        .ok_or(SurrogateError::NotConverged { what: "factor of the first design" })?;
    Ok(take_steps(y, information, secs, limit_secs, start))
}

/// Adds the largest payoff per second among what fits, until nothing does.
fn take_steps(
    y: &Panels,
    mut information: Information,
    secs: &[f64],
    limit_secs: f64,
    start: Vec<usize>,
) -> Design {
    // What was taken counts as endless, so that one comparison tells what may be taken.
    let mut open = secs.to_vec();
    let mut used = 0.0;
    for &j in &start {
        used += secs[j];
        open[j] = f64::INFINITY;
    }
    let mut pipelines = start;
    while let Some(i) = best_per_second(&information.payoffs, &open, limit_secs - used) {
        used += secs[i];
        open[i] = f64::INFINITY;
        information.add(y, i);
        pipelines.push(i);
    }
    Design { pipelines, secs: used }
}

/// The first index of the largest `payoff / secs` among those with `secs <= left`.
fn best_per_second(payoffs: &[f64], secs: &[f64], left: f64) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (p, (payoffs, secs)) in payoffs.chunks(WIDTH).zip(secs.chunks(WIDTH)).enumerate() {
        let most = best.map_or(f64::NEG_INFINITY, |(_, value)| value);
        let mut beaten = false;
        for (q, t) in payoffs.iter().zip(secs) {
            beaten |= (*t <= left) & (q / t > most);
        }
        if beaten {
            for (l, (q, &t)) in payoffs.iter().zip(secs).enumerate() {
                if t <= left && best.is_none_or(|(_, value)| q / t > value) {
                    best = Some((p * WIDTH + l, q / t));
                }
            }
        }
    }
    best.map(|(j, _)| j)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn vectors_that_leave_a_plane_by_rounding_alone_have_a_design_within_it() {
        for seed in 1..40 {
            let wave = |i: usize, j: usize| ((7 * i + seed) as f32 * (j + 1) as f32 * 0.7).sin();
            let y = Array2::from_shape_fn((4, 30), |(i, j)| match i {
                0 | 1 => wave(i, j),
                _ => 0.3 * i as f32 * wave(0, j) + 0.7 * wave(1, j),
            });
            let y = DesignVectors::new(y.view()).unwrap();
            let design = by_time(&y, &[1.0; 30], 12.0).unwrap();
            assert_eq!(design.pipelines.len(), 12);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn a_hundred_updates_equal_a_fresh_inverse(seed in 3..100_usize, stride in 1..40_usize) {
            let y = Array2::from_shape_fn((20, 400), |(i, j)| {
                ((7 * i + seed) as f32 * (j + 1) as f32).sin()
            });
            let y = Panels::new(y.view());
            let (mut columns, basis) = pivots(&y, &[true; 400]);
            prop_assert_eq!(basis.len(), 20);
            let mut updated = Information::of(&y, &columns).unwrap();
            for step in 0..100 {
                let next = (stride * step + 5) % 400;
                updated.add(&y, next);
                columns.push(next);
            }
            let fresh = Information::of(&y, &columns).unwrap();
            for (a, b) in updated.payoffs.iter().zip(&fresh.payoffs) {
                prop_assert!((a - b).abs() < 1e-8 * b.abs().max(1.0));
            }
            for i in 0..20 {
                for j in 0..20 {
                    prop_assert!((updated.inverse.at(i, j) - fresh.inverse.at(i, j)).abs() < 1e-8);
                }
            }
        }
    }
}
