//! Landmarking meta-features (paper, appendix, Table "Dataset Meta-features"): how well simple models do,
//! and how the principal components look.
//!
//! Definitions that the table leaves open are auto-sklearn's, which the paper's code follows: rows are
//! imputed, one-hot encoded and standardised as a whole, a landmark is the mean accuracy over ten
//! stratified folds, moments are the biased ones, and kurtosis is the excess over a normal distribution's.

mod discriminant;
mod node;
mod principal;

use pitchpipe_table::{Dataset, Fold, Labels, MetaFeature, stratified_folds};

use crate::classes::KnownClasses;
use crate::encode::Encoder;
use crate::estimate::{DecisionTree, Knn, Minkowski};
use crate::impute::Imputer;
use crate::reduce::Reducer;
use crate::scale::Scaler;
use crate::{Classifier, Estimator, Features, FitContext, FitError, Preparation, RawFeatures};

/// Folds of every landmark.
const N_FOLDS: usize = 10;

/// The landmarks and principal-component features of a dataset, in the order of the paper's table.
///
/// A feature is `None` where it does not exist: too few rows, one class, no column that varies, or a matrix
/// too large for the memory given. Fails when the time is up.
pub fn landmarks(
    dataset: &Dataset,
    seed: u64,
    ctx: &FitContext,
) -> Result<Vec<MetaFeature>, FitError> {
    const NAMES: [&str; 8] = [
        "landmark_lda",
        "landmark_decision_tree",
        "landmark_decision_node",
        "landmark_random_node",
        "landmark_1nn",
        "pca_fraction_of_components_for_95_percent_variance",
        "pca_kurtosis_first_pc",
        "pca_skewness_first_pc",
    ];
    let Some(x) = existing(prepared(dataset, ctx))? else {
        return Ok(NAMES.map(|name| (name, None)).to_vec());
    };
    let trial = Trial { x: &x, y: dataset.labels(), seed, ctx };
    let nearest = Knn { n_neighbors: std::num::NonZeroUsize::MIN, p: Minkowski::Euclidean };
    let tree = DecisionTree::default();
    let components = existing(principal::components(&x, ctx))?.flatten();
    let values = [
        existing(trial.accuracy(|x, y, test| discriminant::labels(x, y, test, ctx)))?,
        existing(trial.accuracy(|x, y, test| labels(&tree, x, y, test, ctx)))?,
        existing(trial.accuracy(|x, y, test| node::best(x, y, test, ctx)))?,
        existing(trial.accuracy(|x, y, test| node::random(x, y, test, ctx)))?,
        existing(trial.accuracy(|x, y, test| labels(&nearest, x, y, test, ctx)))?,
        components.map(|c| c.fraction),
        components.and_then(|c| c.kurtosis),
        components.and_then(|c| c.skewness),
    ];
    Ok(NAMES.into_iter().zip(values).collect())
}

/// `None` for what does not exist on this dataset; running out of time stays an error.
fn existing<T>(result: Result<T, FitError>) -> Result<Option<T>, FitError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e @ (FitError::OutOfTime | FitError::Cancelled)) => Err(e),
        Err(_) => Ok(None),
    }
}

fn prepared(dataset: &Dataset, ctx: &FitContext) -> Result<std::sync::Arc<Features>, FitError> {
    let preparation = Preparation {
        imputer: Imputer::Median,
        encoder: Encoder::OneHot,
        scaler: Scaler::Standardise,
        reducer: Reducer::None,
    };
    let rows: Vec<usize> = (0..dataset.n_rows()).collect();
    let raw = RawFeatures::of_rows(dataset.frame(), &rows);
    Ok(preparation.fit(&raw, dataset.labels(), ctx)?.1)
}

fn labels<E: Estimator>(
    estimator: &E,
    x: &Features,
    y: &Labels,
    test: &Features,
    ctx: &FitContext,
) -> Result<Vec<u32>, FitError> {
    Ok(estimator.fit(x, y, ctx)?.predict(test, ctx)?.labels.codes().to_vec())
}

/// What every landmark is tried on.
struct Trial<'a> {
    x: &'a Features,
    y: &'a Labels,
    seed: u64,
    ctx: &'a FitContext,
}

impl Trial<'_> {
    /// The mean accuracy over the folds.
    fn accuracy(
        &self,
        predict: impl Fn(&Features, &Labels, &Features) -> Result<Vec<u32>, FitError>,
    ) -> Result<f64, FitError> {
        let folds = stratified_folds(self.y, N_FOLDS, self.seed);
        let mut total = 0.0;
        for fold in &folds {
            self.ctx.check_deadline()?;
            total += self.accuracy_in(fold, &predict)?;
        }
        if folds.is_empty() {
            return Err(FitError::TooFewRows { component: "landmark", needed: 2, got: 0 });
        }
        Ok(total / folds.len() as f64)
    }

    fn accuracy_in(
        &self,
        fold: &Fold,
        predict: &impl Fn(&Features, &Labels, &Features) -> Result<Vec<u32>, FitError>,
    ) -> Result<f64, FitError> {
        let (y, truth) = (self.y.select(&fold.train), self.y.select(&fold.test));
        let counts = y.counts();
        let known: Vec<u32> =
            (0..counts.len() as u32).filter(|&c| counts[c as usize] > 0).collect();
        let answers = match known[..] {
            [] => return Err(FitError::TooFewRows { component: "landmark", needed: 1, got: 0 }),
            [only] => vec![only; truth.len()],
            _ => {
                let (train, test) = (rows(self.x, &fold.train), rows(self.x, &fold.test));
                let compact = KnownClasses::of(&y).compact(&y);
                let answers = predict(&train, &compact, &test)?;
                answers.into_iter().map(|c| known[c as usize]).collect()
            }
        };
        let right = answers.iter().zip(truth.codes()).filter(|(a, b)| a == b).count();
        Ok(right as f64 / truth.len().max(1) as f64)
    }
}

fn rows(x: &Features, rows: &[usize]) -> Features {
    let columns = (0..x.n_cols()).flat_map(|j| rows.iter().map(move |&row| x.column(j)[row]));
    Features::from_columns(rows.len(), x.n_cols(), columns.collect())
}

#[cfg(test)]
mod tests;
