//! Looks at pipelines on samples of several sizes, as what they are: on fewer rows errors are higher, and say less of
//! what they are on more.
//!
//! With `d = log2(most rows / rows)` halvings, an error `e` on a sample stands for `e exp(-r d)` on most rows,
//! seen with a noise variance of `1 + GROWTH d^2` times the prior's. Where nothing is known of the dataset `1 - exp(-r)` is
//! [`DROP`]; pipelines that were seen on samples of two sizes say what it is there, and what was seen before is
//! then taken in anew. The constants are what `cargo xtask bench samples` measured, rounded
//! (docs/decisions/0040-search-policy.md).

use crate::bayes::Posterior;
use crate::error::SurrogateError;
use crate::policy::Observation;

/// By this share errors fall where rows double.
const DROP: f64 = 0.1;

/// The standard deviation of its logarithm from dataset to dataset.
const DROP_SPREAD: f64 = 0.15;

/// The most that errors fall by, as a rate.
const STEEPEST: f64 = 0.5;

/// The standard deviation of the logarithm of an error from sample to sample, on top of what so many wrong rows tell.
const PAIR_SPREAD: f64 = 0.1;

/// Another drop is not worth taking in all looks anew where it changes the smallest sample's errors by less than this share.
const WORTH_IT: f64 = 0.1;

/// How the noise variance grows with the square of the number of halvings.
const GROWTH: f64 = 1.0;

/// What was seen of each pipeline, and on how many rows pipelines run.
pub(crate) struct Looks {
    /// The look at each pipeline that had most rows.
    of: Vec<Option<Seen>>,
    n_rows: usize,
    most_rows: usize,
    /// What pairs of looks say of the rate at which errors fall, and the rate that looks are taken in with.
    evidence: Rate,
    rate: f64,
}

/// An error on so many rows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    error: f64,
    n_rows: usize,
}

impl Seen {
    /// The error where chance alone cannot have made it, and the variance of its logarithm.
    fn log_error(self) -> (f64, f64) {
        let n_rows = self.n_rows.max(1) as f64;
        let n_wrong = (self.error * n_rows).max(0.5);
        ((n_wrong / n_rows).ln(), 1.0 / n_wrong)
    }
}

/// A rate at which errors fall for each doubling of rows: a Gaussian, by its precision and its precision times its mean.
#[derive(Clone, Copy, Debug)]
struct Rate {
    precision: f64,
    sum: f64,
}

impl Default for Rate {
    fn default() -> Self {
        let precision = 1.0 / (DROP_SPREAD * DROP_SPREAD);
        Self { precision, sum: -precision * (1.0 - DROP).ln() }
    }
}

impl Rate {
    /// Takes in one pipeline's errors on fewer rows and on more.
    fn note(&mut self, fewer: Seen, more: Seen) {
        let doublings = (more.n_rows as f64 / fewer.n_rows.max(1) as f64).log2();
        let ((before, noise_before), (after, noise)) = (fewer.log_error(), more.log_error());
        let variance = PAIR_SPREAD * PAIR_SPREAD + noise_before + noise;
        self.precision += doublings * doublings / variance;
        self.sum += doublings * (before - after) / variance;
    }

    fn mean(self) -> f64 {
        (self.sum / self.precision).clamp(0.0, STEEPEST)
    }
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
        let evidence = Rate::default();
        let of = vec![None; n_pipelines];
        Self { of, n_rows: 1, most_rows: 1, evidence, rate: evidence.mean() }
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

    /// The error of a pipeline on the present rows, as what it stands for on most rows, if it was seen.
    pub(crate) fn present(&self, pipeline: usize) -> Option<f64> {
        let Seen { error, n_rows } = self.of[pipeline].filter(|seen| seen.n_rows >= self.n_rows)?;
        Some(self.on_most_rows(error, n_rows))
    }

    /// What an error on so many rows stands for on most rows.
    fn on_most_rows(&self, error: f64, n_rows: usize) -> f64 {
        error * (-self.rate * self.halvings(n_rows)).exp()
    }

    /// How often most rows would have to be halved to come to so many.
    fn halvings(&self, n_rows: usize) -> f64 {
        (self.most_rows as f64 / n_rows.max(1) as f64).log2().max(0.0)
    }

    /// Whether a pipeline is seen for the first time, and on most rows: a look as the prior has it.
    pub(crate) fn is_first_and_full(&self, seen: &Observation) -> bool {
        let is_first = self.of.get(seen.pipeline).is_some_and(Option::is_none);
        is_first && seen.error.is_some() && seen.n_rows >= self.most_rows
    }

    /// What was seen of a pipeline, as the posterior wants it.
    fn look(&self, posterior: &Posterior, index: usize, Seen { error, n_rows }: Seen) -> Look {
        let halvings = self.halvings(n_rows);
        Look {
            value: posterior.scale().of(self.on_most_rows(error, n_rows)),
            noise: posterior.prior().noise()[index] * (1.0 + GROWTH * halvings * halvings),
        }
    }

    /// Takes observations in to the posterior, each in the place of one on fewer rows if there was one. Tells whether
    /// errors on fewer rows mean something else from now on.
    pub(crate) fn observe(
        &mut self,
        posterior: &mut Posterior,
        observations: &[Observation],
    ) -> Result<bool, SurrogateError> {
        let size = self.of.len();
        let mut seen = Vec::with_capacity(observations.len());
        for observation in observations {
            let index = observation.pipeline;
            if index >= size {
                return Err(SurrogateError::OutOfRange { what: "pipeline", index, size });
            }
            let Some(error) = observation.error else { continue };
            if !error.is_finite() {
                let (what, at) = ("observed errors", index);
                return Err(SurrogateError::NotFinite { what, at, value: error });
            }
            let new = Seen { error, n_rows: observation.n_rows };
            if let Some(before) = self.of[index].filter(|before| before.n_rows < new.n_rows) {
                self.evidence.note(before, new);
            }
            seen.push((index, new));
        }
        let rate = self.evidence.mean();
        let fewest = self.of.iter().flatten().map(|seen| seen.n_rows).min();
        let halvings = fewest.map_or(0.0, |n_rows| self.halvings(n_rows));
        let is_other = (rate - self.rate).abs() * halvings > WORTH_IT;
        if is_other {
            self.take_in_anew(rate, posterior)?;
        }
        let (mut pipelines, mut values, mut noises) = (Vec::new(), Vec::new(), Vec::new());
        for (index, new) in seen {
            let look = self.look(posterior, index, new);
            let news = match self.of[index] {
                Some(before) => self.look(posterior, index, before).replaced_by(look),
                None => Some(look),
            };
            if let Some(news) = news {
                self.of[index] = Some(new);
                pipelines.push(index);
                values.push(news.value);
                noises.push(news.noise);
            }
        }
        posterior.observe_scaled(&pipelines, &values, &noises)?;
        Ok(is_other)
    }

    /// Takes in all looks from the beginning, with another rate.
    fn take_in_anew(&mut self, rate: f64, posterior: &mut Posterior) -> Result<(), SurrogateError> {
        self.rate = rate;
        let mut fresh = posterior.prior().posterior();
        let looks = self.of.iter().enumerate();
        let looks: Vec<(usize, Look)> =
            looks.filter_map(|(j, seen)| Some((j, self.look(&fresh, j, (*seen)?)))).collect();
        let pipelines: Vec<usize> = looks.iter().map(|l| l.0).collect();
        let values: Vec<f64> = looks.iter().map(|l| l.1.value).collect();
        let noises: Vec<f64> = looks.iter().map(|l| l.1.noise).collect();
        fresh.observe_scaled(&pipelines, &values, &noises)?;
        *posterior = fresh;
        Ok(())
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
        observations.iter().for_each(|&o| {
            looks.observe(&mut posterior, &[o]).unwrap();
        });
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

    #[test]
    fn what_was_seen_on_two_samples_says_what_a_sample_is_worth() {
        // The same on most rows, which was twice as much on few, or no more than that.
        let steep = [seen(1, 0.4, 1_000), seen(0, 0.6, 1_000), seen(0, 0.3, 8_000)];
        let flat = [seen(1, 0.4, 1_000), seen(0, 0.3, 1_000), seen(0, 0.3, 8_000)];
        let (flat, steep) = (after(&flat), after(&steep));
        assert!(flat.mean()[1] > steep.mean()[1] + 0.01);
        // In one go or one by one, and whatever came first.
        let (mut looks, mut posterior) = (Looks::new(3).on_rows(1_000, 8_000), posterior());
        let few = [seen(0, 0.3, 1_000), seen(1, 0.4, 1_000)];
        assert!(!looks.observe(&mut posterior, &few).unwrap());
        assert!(looks.observe(&mut posterior, &[seen(0, 0.3, 8_000)]).unwrap());
        for j in 0..3 {
            assert!((flat.mean()[j] - posterior.mean()[j]).abs() < 1e-9);
        }
    }
}
