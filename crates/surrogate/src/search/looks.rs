//! Looks at pipelines on samples of several sizes, as what they are: on fewer rows errors are higher, and say less of
//! what they are on more.
//!
//! With `d = log2(most rows / rows)` halvings, an error `e` on a sample stands for `e (1 - DROP)^d` on most rows,
//! seen with a noise variance of `1 + GROWTH d^2` times the prior's. Both constants are
//! what `cargo xtask bench samples` measured, rounded (docs/decisions/0040-search-policy.md).

use crate::bayes::Posterior;
use crate::error::SurrogateError;
use crate::policy::Observation;

/// By this share errors fall where rows double.
const DROP: f64 = 0.1;

/// How the noise variance grows with the square of the number of halvings.
const GROWTH: f64 = 1.0;

/// What was seen of each pipeline, and on how many rows pipelines run.
pub(crate) struct Looks {
    /// The look at each pipeline that had most rows.
    of: Vec<Option<Look>>,
    n_rows: usize,
    most_rows: usize,
}

/// A value on the prior's scale and the variance of its noise.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Look {
    value: f64,
    noise: f64,
}

impl Look {
    /// What to observe so that, after `self` was observed, `other` is in its place: Gaussian densities multiply, so
    /// the difference of two precisions is a look of its own. None where the other says no more.
    fn replaced_by(self, other: Self) -> Option<Self> {
        let precision = 1.0 / other.noise - 1.0 / self.noise;
        let value = (other.value / other.noise - self.value / self.noise) / precision;
        (precision > 1e-9 / other.noise).then(|| Self { value, noise: 1.0 / precision })
    }
}

impl Looks {
    pub(crate) fn new(n_pipelines: usize) -> Self {
        Self { of: vec![None; n_pipelines], n_rows: 1, most_rows: 1 }
    }

    pub(crate) fn on_rows(self, n_rows: usize, most_rows: usize) -> Self {
        Self { n_rows, most_rows: most_rows.max(n_rows).max(1), ..self }
    }

    /// The rows that pipelines run on now.
    pub(crate) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Goes over to another number of rows; tells whether there are more of them than before.
    pub(crate) fn resize(&mut self, n_rows: usize) -> bool {
        std::mem::replace(&mut self.n_rows, n_rows) < n_rows
    }

    /// What an error on so many rows stands for on most rows.
    pub(crate) fn on_most_rows(&self, error: f64, n_rows: usize) -> f64 {
        error * (1.0 - DROP).powf(self.halvings(n_rows))
    }

    /// How often most rows would have to be halved to come to so many.
    fn halvings(&self, n_rows: usize) -> f64 {
        (self.most_rows as f64 / n_rows.max(1) as f64).log2().max(0.0)
    }

    /// Takes observations in to the posterior, each in the place of one on fewer rows if there was one.
    pub(crate) fn observe(
        &mut self,
        posterior: &mut Posterior,
        observations: &[Observation],
    ) -> Result<(), SurrogateError> {
        let size = self.of.len();
        let (mut pipelines, mut values, mut noises) = (Vec::new(), Vec::new(), Vec::new());
        for seen in observations {
            let index = seen.pipeline;
            if index >= size {
                return Err(SurrogateError::OutOfRange { what: "pipeline", index, size });
            }
            let Some(error) = seen.error else { continue };
            if !error.is_finite() {
                let (what, at) = ("observed errors", index);
                return Err(SurrogateError::NotFinite { what, at, value: error });
            }
            let halvings = self.halvings(seen.n_rows);
            let look = Look {
                value: posterior.scale().of(self.on_most_rows(error, seen.n_rows)),
                noise: posterior.prior().noise()[index] * (1.0 + GROWTH * halvings * halvings),
            };
            let new = match self.of[index] {
                Some(before) => before.replaced_by(look),
                None => Some(look),
            };
            if let Some(new) = new {
                self.of[index] = Some(look);
                pipelines.push(index);
                values.push(new.value);
                noises.push(new.noise);
            }
        }
        posterior.observe_scaled(&pipelines, &values, &noises)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ndarray::array;

    use super::*;
    use crate::bayes::{Prior, Scale};

    fn posterior() -> Posterior {
        let factor = array![[0.2_f32, 0.1, -0.1], [0.0, 0.1, 0.2]];
        let prior = Prior::from_parts(Scale::Plain, vec![0.3; 3], factor.view(), vec![0.01; 3]);
        Arc::new(prior.unwrap()).posterior()
    }

    fn seen(pipeline: usize, error: f64, n_rows: usize) -> Observation {
        Observation { pipeline, error: Some(error), secs: None, n_rows }
    }

    fn after(observations: &[Observation]) -> Posterior {
        let (mut looks, mut posterior) = (Looks::new(3).on_rows(1_000, 8_000), posterior());
        observations.iter().for_each(|&o| looks.observe(&mut posterior, &[o]).unwrap());
        posterior
    }

    #[test]
    fn a_look_on_more_rows_takes_the_place_of_an_earlier_one() {
        let direct = after(&[seen(0, 0.2, 8_000)]);
        let replaced = after(&[seen(0, 0.45, 1_000), seen(0, 0.3, 2_000), seen(0, 0.2, 8_000)]);
        for j in 0..3 {
            assert!((direct.mean()[j] - replaced.mean()[j]).abs() < 1e-9);
            assert!((direct.variance()[j] - replaced.variance()[j]).abs() < 1e-9);
        }
    }

    #[test]
    fn a_look_on_fewer_rows_says_less_and_never_replaces_a_better_one() {
        let (few, many) = (after(&[seen(0, 0.2, 1_000)]), after(&[seen(0, 0.2, 8_000)]));
        assert!(few.variance()[0] > many.variance()[0]);
        let later = after(&[seen(0, 0.2, 8_000), seen(0, 0.6, 1_000)]);
        assert_eq!(later.mean(), many.mean());
    }
}
