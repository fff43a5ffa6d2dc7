//! The value of a family: by how much the best of several correlated pipelines is expected to improve.

use crate::bayes::Posterior;
use crate::improvement::normal_quantile;
use crate::small::Square;

/// How many points stand for the posterior of a family.
const DRAWS: usize = 128;

/// A family larger than this is valued by its most promising members, as many as this.
const LARGEST: usize = 32;

/// Fixed standard normal points, evenly spread: one table for every family and decision, so that the
/// comparison between families carries no sampling noise of its own.
pub(crate) struct Draws(Vec<[f64; DRAWS]>);

impl Draws {
    /// The additive recurrence on powers of the root of `x^(d+1) = x + 1`, which spreads evenly in `d`
    /// dimensions, through the normal quantile; mirrored, so that the mean is exactly zero.
    pub(crate) fn new() -> Self {
        let mut base: f64 = 1.0;
        for _ in 0..64 {
            base = (1.0 + base).powf(1.0 / (LARGEST as f64 + 1.0));
        }
        let mut axes = vec![[0.0; DRAWS]; LARGEST];
        for (d, axis) in axes.iter_mut().enumerate() {
            let step = base.powi(-(d as i32 + 1));
            for i in 0..DRAWS / 2 {
                let u = (0.5 + (i + 1) as f64 * step).fract();
                axis[i] = normal_quantile(u.clamp(1e-6, 1.0 - 1e-6));
                axis[DRAWS / 2 + i] = -axis[i];
            }
        }
        Self(axes)
    }

    /// `E[max(0, best - min over members)]` under the posterior.
    pub(crate) fn improvement(&self, posterior: &Posterior, members: &[usize], best: f64) -> f64 {
        if members.len() <= 16 {
            return self.improvement_in::<16>(posterior, members, best);
        }
        if members.len() <= LARGEST {
            return self.improvement_in::<LARGEST>(posterior, members, best);
        }
        let mut promising = members.to_vec();
        promising.sort_by(|&a, &b| posterior.mean()[a].total_cmp(&posterior.mean()[b]));
        self.improvement_in::<LARGEST>(posterior, &promising[..LARGEST], best)
    }

    fn improvement_in<const W: usize>(
        &self,
        posterior: &Posterior,
        members: &[usize],
        best: f64,
    ) -> f64 {
        let mut columns = vec![[0.0; W]; posterior.prior().rank()];
        for (l, &j) in members.iter().enumerate() {
            posterior.prior().factor_column(j, |i, v| columns[i][l] = v);
        }
        let means: Vec<f64> = members.iter().map(|&j| posterior.mean()[j]).collect();
        let covariance = posterior.embedding_covariance();
        let spread =
            pulp::Arch::new().dispatch(Spread { columns: &columns, covariance, n: members.len() });
        let Some(factor) = spread.cholesky() else { return 0.0 };
        pulp::Arch::new().dispatch(Lowest { means: &means, factor: &factor, draws: self, best })
    }
}

/// The covariance of a family's members: lane by lane, the family padded to `W`.
struct Spread<'a, const W: usize> {
    columns: &'a [[f64; W]],
    covariance: &'a Square,
    n: usize,
}

impl<const W: usize> pulp::NullaryFnOnce for Spread<'_, W> {
    type Output = Square;

    #[inline(always)]
    fn call(self) -> Square {
        let mut spread = [[0.0; W]; W];
        for (i, column) in self.columns.iter().enumerate() {
            let mut image = [0.0; W];
            for (c, other) in self.covariance.row(i).iter().zip(self.columns) {
                for l in 0..W {
                    image[l] += c * other[l];
                }
            }
            for a in 0..self.n {
                for l in 0..W {
                    spread[a][l] += column[a] * image[l];
                }
            }
        }
        let most = (0..self.n).map(|a| spread[a][a]).fold(1e-12, f64::max);
        let mut result = Square::zeros(self.n);
        for a in 0..self.n {
            (0..self.n).for_each(|b| result.set(a, b, spread[a][b]));
            // Members that are all but the same pipeline would make it singular.
            result.set(a, a, spread[a][a] + 1e-6 * most);
        }
        result
    }
}

/// The mean over all draws of how far the lowest member lies below `best`.
struct Lowest<'a> {
    means: &'a [f64],
    factor: &'a crate::small::Lower,
    draws: &'a Draws,
    best: f64,
}

impl pulp::NullaryFnOnce for Lowest<'_> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        let mut lowest = [f64::INFINITY; DRAWS];
        for (i, &mean) in self.means.iter().enumerate() {
            let mut values = [mean; DRAWS];
            for (&c, axis) in self.factor.row(i).iter().zip(&self.draws.0) {
                for l in 0..DRAWS {
                    values[l] += c * axis[l];
                }
            }
            for l in 0..DRAWS {
                lowest[l] = if values[l] < lowest[l] { values[l] } else { lowest[l] };
            }
        }
        lowest.iter().map(|&v| (self.best - v).max(0.0)).sum::<f64>() / DRAWS as f64
    }
}
