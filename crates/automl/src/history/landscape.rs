//! What was predicted for the whole search space before anything was run: means over the training datasets, by component.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::rounded;
use crate::surrogate::{ErrorKind, Surrogate};

/// Decimals that are kept.
const DECIMALS: i32 = 3;

/// Mean predicted balanced errors by estimator setting and by what is done to the columns before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Landscape {
    /// The estimators with their settings, in words.
    pub estimators: Vec<String>,
    /// The kind of each.
    pub kinds: Vec<String>,
    /// Scaler and reducer, in words.
    pub preparations: Vec<String>,
    /// A row for each estimator; `None` where the search space has no such pipeline. A mean over imputers and encoders.
    pub errors: Vec<Vec<Option<f64>>>,
    /// Of how many training datasets they are means; zero where it is not known.
    #[serde(default)]
    pub n_datasets: usize,
}

impl Landscape {
    /// Of the errors that the default method is fed, or of others where the surrogate has only these.
    pub(crate) fn of(surrogate: &Surrogate) -> Option<Self> {
        let kinds = [ErrorKind::Decided, ErrorKind::Native];
        let prior = kinds.into_iter().find_map(|kind| surrogate.prior_numbers(kind))?;
        let mean = prior.mean();
        let space = surrogate.space();
        let mut place: BTreeMap<String, usize> = BTreeMap::new();
        let mut preparations = Vec::new();
        let columns: Vec<usize> = space
            .preparations()
            .iter()
            .map(|p| {
                let text = format!("{} > {}", p.scaler, p.reducer);
                *place.entry(text.clone()).or_insert_with(|| {
                    preparations.push(text);
                    preparations.len() - 1
                })
            })
            .collect();
        let estimators = space.estimators();
        let mut sums = vec![vec![(0.0, 0_usize); preparations.len()]; estimators.len()];
        for id in space.ids() {
            let column = columns[space.preparation_index(id)];
            let (sum, n) = &mut sums[space.estimator_index(id)][column];
            *sum += prior.scale().undo(mean[id.index()]);
            *n += 1;
        }
        let mean = |&(sum, n): &(f64, usize)| (n > 0).then(|| rounded(sum / n as f64, DECIMALS));
        Some(Self {
            estimators: estimators.iter().map(ToString::to_string).collect(),
            kinds: estimators.iter().map(|e| e.name().to_owned()).collect(),
            preparations,
            errors: sums.iter().map(|row| row.iter().map(mean).collect()).collect(),
            n_datasets: surrogate.facts().datasets.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_landscape_has_a_mean_for_every_estimator_of_the_paper() {
        let surrogate = Surrogate::embedded();
        let landscape = Landscape::of(&surrogate).expect("the embedded surrogate has a prior");
        assert_eq!(landscape.errors.len(), landscape.estimators.len());
        assert!(landscape.estimators.len() >= 183 && landscape.preparations.len() >= 16);
        let all: Vec<f64> = landscape.errors.iter().flatten().flatten().copied().collect();
        assert!(landscape.n_datasets > 100, "{}", landscape.n_datasets);
        assert!(all.len() >= 183 * 16 && all.iter().all(|e| (0.0..=1.0).contains(e)));
    }
}
