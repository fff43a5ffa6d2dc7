//! How long each pipeline takes: polynomials per pipeline, and how they are corrected as runs come in.
//!
//! Pipelines that one-hot encode work on other numbers of features than those that keep integer codes. Apart
//! from that they take the same time, so both share a polynomial in the number of features that is seen.
//!
//! Most pipelines have few runs of their own. A pipeline leans on its estimator's polynomial, which is learned
//! from all preparations, times what its reducer and standardizer save estimators of its type. That factor may
//! depend on the scale of the columns: solvers given columns of large numbers as they are hardly converge.

use std::collections::BTreeMap;
use std::sync::Arc;

use ndarray::{Array2, ArrayView2, Axis};
use pitchpipe_learn::SearchSpace;
use pitchpipe_learn::encode::Encoder;
use pitchpipe_learn::reduce::Reducer;
use pitchpipe_learn::scale::Scaler;
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::bayes::Prior;
use pitchpipe_surrogate::columns::NewColumns;
use pitchpipe_surrogate::runtime::{RuntimeCorrection, RuntimeForm, RuntimeModel};

use super::TableSize;

/// Predictions stay within these bounds. Our components are faster than those the paper timed, and
/// beyond two minutes an order is still wanted, if not an exact time.
pub(super) const BOUNDS_SECS: (f64, f64) = (2e-4, 1e5);

/// How many encoders there are; pipelines that differ by their encoder alone are one column.
const N_ENCODERS: usize = Encoder::OF_NUMBERS.len();

/// Runs that a pipeline's own polynomial is held back by, and the factor of its reducer.
const PULL: f64 = 4.0;
const FACTOR_PULL: f64 = 5.0;

/// Predicted runtimes of all pipelines, each as if it ran alone.
#[derive(Clone, Debug)]
pub struct Runtimes {
    /// What the polynomials were trained for; those of pipelines added later follow them.
    space: Arc<SearchSpace>,
    /// The encoder of each pipeline that was added.
    added: Vec<usize>,
    pub(super) model: ScaledModel,
    pub(super) correction: RuntimeCorrection,
}

/// Polynomials over the pipelines of one encoder, in their order, and how the scale of columns bends them.
#[derive(Clone, Debug)]
pub(super) struct ScaledModel {
    pub(super) polynomials: RuntimeModel,
    /// The usual logarithm of the largest scale, then per factor by how much the logarithm of seconds
    /// grows with it.
    pub(super) slopes: Vec<f32>,
}

impl Runtimes {
    /// Learns from recorded seconds, datasets x pipelines, of which those not above zero were not recorded.
    pub fn fit(
        space: &Arc<SearchSpace>,
        sizes: &[TableSize],
        secs: ArrayView2<f32>,
    ) -> Result<Self, SurrogateError> {
        let model = fit_model(space, sizes, secs)?;
        let residuals = residuals(space, &model, sizes, secs)?;
        let (low, high) = BOUNDS_SECS;
        let correction = RuntimeCorrection::of_residuals(residuals.view())?.bounded(low, high);
        Ok(Self { space: Arc::clone(space), added: Vec::new(), model, correction })
    }

    /// Puts runtimes together; the first block of the space is what they were trained for.
    pub(super) fn from_parts(
        space: &Arc<SearchSpace>,
        model: ScaledModel,
        correction: Arc<Prior>,
    ) -> Result<Self, SurrogateError> {
        let whole = space;
        let space = &trained_space(whole);
        let added: Vec<usize> = encoders(whole, space.n_pipelines());
        let (_, n_groups) = factor_of(space, &[]);
        let n_columns = space.n_pipelines() / N_ENCODERS + added.len();
        for (wanted, got) in
            [(n_columns, model.polynomials.n_pipelines()), (n_groups + 1, model.slopes.len())]
        {
            if got != wanted {
                return Err(SurrogateError::Size { what: "runtimes", wanted, got });
            }
        }
        let got = correction.n_pipelines();
        let wanted = whole.n_pipelines();
        if got != wanted {
            let what = "correction of runtimes";
            return Err(SurrogateError::Size { what, wanted, got });
        }
        let (low, high) = BOUNDS_SECS;
        let correction = RuntimeCorrection::of_prior(correction).bounded(low, high);
        Ok(Self { space: Arc::clone(space), added, model, correction })
    }

    /// Takes in pipelines: `wider` has all that are known before them, `sizes` those of some datasets by their
    /// positions, and `new` the seconds measured there; kin are numbers of pipelines.
    pub(super) fn add_columns(
        &mut self,
        wider: &SearchSpace,
        sizes: &BTreeMap<usize, TableSize>,
        mut new: NewColumns,
    ) -> Result<(), SurrogateError> {
        let n_known = self.space.n_pipelines() + self.added.len();
        let encoders = encoders(wider, n_known);
        let correction = {
            let mut unmeasured = new.clone();
            unmeasured.columns.iter_mut().for_each(|column| column.measured.clear());
            let prior = self.correction.prior();
            // Residuals of datasets are not kept: kin alone say how the new ones deviate with others.
            let nothing = Array2::zeros((prior.rank(), 0));
            prior.with_columns(nothing.view(), &unmeasured)?.0
        };
        let mut columns = vec![0; n_known];
        for encoder in 0..N_ENCODERS {
            for (column, j) in with_encoder(&self.space, encoder).into_iter().enumerate() {
                columns[j] = column;
            }
        }
        let n_trained = self.space.n_pipelines();
        for (at, column) in columns[n_trained..].iter_mut().enumerate() {
            *column = n_trained / N_ENCODERS + at;
        }
        for (j, _) in new.kin.iter_mut().flatten() {
            *j = columns[*j];
        }
        // Each dataset once for each encoder, as the number of features depends on it.
        let places: BTreeMap<usize, usize> =
            sizes.keys().enumerate().map(|(at, &dataset)| (dataset, at)).collect();
        let seen: Vec<_> = (0..N_ENCODERS)
            .flat_map(|encoder| sizes.values().map(move |size| size.for_encoder(encoder)))
            .collect();
        for (column, &encoder) in new.columns.iter_mut().zip(&encoders) {
            for (dataset, _) in &mut column.measured {
                *dataset = encoder * sizes.len() + places[dataset];
            }
        }
        self.model.polynomials = self.model.polynomials.with_columns(&seen, &new)?;
        let (low, high) = BOUNDS_SECS;
        self.correction = RuntimeCorrection::of_prior(Arc::new(correction)).bounded(low, high);
        self.added.extend(encoders);
        Ok(())
    }

    /// Seconds that each pipeline is expected to take, cross-validated alone on a dataset of this size.
    pub fn predict_secs(&self, size: &TableSize) -> Vec<f64> {
        let mut secs = predict(&self.space, &self.model, size).expect("sizes are at least 1");
        if !self.added.is_empty() {
            let first = secs.len() / N_ENCODERS;
            let by_encoder: Vec<Vec<f64>> = (0..N_ENCODERS)
                .map(|encoder| self.model.polynomials.predict_secs(&size.for_encoder(encoder)))
                .collect::<Result<_, _>>()
                .expect("sizes are at least 1");
            let added = self.added.iter().enumerate();
            secs.extend(added.map(|(at, &encoder)| by_encoder[encoder][first + at]));
        }
        secs
    }

    /// How predictions are corrected as runs come in.
    pub fn correction(&self) -> &RuntimeCorrection {
        &self.correction
    }
}

/// Percentages of runtimes within a factor of 2 and 4 over datasets that were left out, `n_folds` times a
/// share of them; by type of estimator, after all of them together.
pub(crate) fn cross_validate(
    space: &SearchSpace,
    sizes: &[TableSize],
    secs: ArrayView2<f32>,
    n_folds: usize,
) -> Result<Vec<(f64, f64, usize)>, SurrogateError> {
    let (kinds, n_kinds) = kinds(space);
    let mut counts = vec![(0usize, 0usize, 0usize); n_kinds + 1];
    for fold in 0..n_folds {
        let train: Vec<usize> = (0..sizes.len()).filter(|i| i % n_folds != fold).collect();
        let train_sizes: Vec<TableSize> = train.iter().map(|&i| sizes[i]).collect();
        let model = fit_model(space, &train_sizes, secs.select(Axis(0), &train).view())?;
        for test in (fold..sizes.len()).step_by(n_folds) {
            for (j, predicted) in predict(space, &model, &sizes[test])?.into_iter().enumerate() {
                let taken = f64::from(secs[(test, j)]);
                if taken <= 0.0 {
                    continue;
                }
                let factor = (predicted / taken).max(taken / predicted);
                for at in [0, 1 + kinds[j]] {
                    counts[at].0 += usize::from(factor <= 2.0);
                    counts[at].1 += usize::from(factor <= 4.0);
                    counts[at].2 += 1;
                }
            }
        }
    }
    let share = |part: usize, of: usize| part as f64 / of.max(1) as f64;
    Ok(counts.into_iter().map(|(two, four, n)| (share(two, n), share(four, n), n)).collect())
}

/// The space of the first block, which polynomials are trained for.
fn trained_space(space: &Arc<SearchSpace>) -> Arc<SearchSpace> {
    if space.blocks().len() == 1 {
        return Arc::clone(space);
    }
    let first = SearchSpace::new(vec![space.blocks()[0].clone()]);
    Arc::new(first.expect("a block of a space is one itself"))
}

/// The encoder of each pipeline from this number on.
fn encoders(space: &SearchSpace, first: usize) -> Vec<usize> {
    // Categories that stay as they are make as many features as their codes.
    let encoder = |id| match space.preparation(id).encoder {
        Encoder::OneHot => 0,
        Encoder::None | Encoder::Categories => 1,
    };
    space.ids().skip(first).map(encoder).collect()
}

/// The pipelines that have an encoder, by flat index.
fn with_encoder(space: &SearchSpace, encoder: usize) -> Vec<usize> {
    let has = |id: &_| space.preparation(*id).encoder == Encoder::OF_NUMBERS[encoder];
    space.ids().filter(has).map(|id| id.index()).collect()
}

/// The kind of each pipeline's estimator, as a number, and how many there are.
fn kinds(space: &SearchSpace) -> (Vec<usize>, usize) {
    let kinds = space.kinds();
    let of_estimator: Vec<usize> = space
        .estimators()
        .iter()
        .filter_map(|e| kinds.iter().position(|k| *k == e.kind()))
        .collect();
    (space.ids().map(|id| of_estimator[space.estimator_index(id)]).collect(), kinds.len())
}

/// Seconds of each dataset under each encoder, one after the other, by column.
fn by_encoder(space: &SearchSpace, secs: ArrayView2<f32>) -> Array2<f32> {
    let m = secs.nrows();
    let pipelines: Vec<Vec<usize>> =
        (0..N_ENCODERS).map(|encoder| with_encoder(space, encoder)).collect();
    Array2::from_shape_fn((N_ENCODERS * m, pipelines[0].len()), |(row, column)| {
        secs[(row % m, pipelines[row / m][column])]
    })
}

/// Which factor a column has: one for each type of estimator behind each reducer and standardizer.
fn factor_of(space: &SearchSpace, columns: &[usize]) -> (Vec<usize>, usize) {
    let (kinds, n_kinds) = kinds(space);
    let group = |&j: &usize| {
        let preparation = space.preparation((j as u32).into());
        let scaler = Scaler::ALL.iter().position(|&s| s == preparation.scaler);
        let reducer = Reducer::ALL.iter().position(|&r| r == preparation.reducer);
        let (scaler, reducer) = (scaler.unwrap_or(0), reducer.unwrap_or(0));
        (scaler * Reducer::ALL.len() + reducer) * n_kinds + kinds[j]
    };
    (columns.iter().map(group).collect(), Scaler::ALL.len() * Reducer::ALL.len() * n_kinds)
}

fn fit_model(
    space: &SearchSpace,
    sizes: &[TableSize],
    secs: ArrayView2<f32>,
) -> Result<ScaledModel, SurrogateError> {
    let columns = with_encoder(space, 0);
    let families: Vec<usize> =
        columns.iter().map(|&j| space.estimator_index((j as u32).into())).collect();
    let (groups, n_groups) = factor_of(space, &columns);
    let rows: Vec<_> = (0..N_ENCODERS)
        .flat_map(|encoder| sizes.iter().map(move |s| s.for_encoder(encoder)))
        .collect();
    let known: Vec<f64> = sizes.iter().filter_map(TableSize::log_scale).collect();
    let usual = known.iter().sum::<f64>() / known.len().max(1) as f64;
    let scales: Vec<f64> = sizes.iter().map(|s| s.log_scale().unwrap_or(usual) - usual).collect();
    let mut secs = by_encoder(space, secs);
    // What each reducer saves, and what large columns cost, seen from the estimators' own polynomials.
    let form = RuntimeForm::LogLog;
    let plain = RuntimeModel::fit_pulled(form, &rows, secs.view(), &families, 1e9)?
        .bounded(BOUNDS_SECS.0, BOUNDS_SECS.1);
    let mut sums = vec![FactorSums::default(); n_groups];
    for (row, size) in rows.iter().enumerate() {
        let predicted = plain.predict_secs(size)?;
        for (column, &group) in groups.iter().enumerate() {
            let taken = f64::from(secs[(row, column)]);
            if taken > 0.0 {
                sums[group].add(scales[row % sizes.len()], (taken / predicted[column]).ln());
            }
        }
    }
    let factors: Vec<(f64, f64)> = sums.iter().map(FactorSums::line).collect();
    for ((row, column), taken) in secs.indexed_iter_mut() {
        let (level, slope) = factors[groups[column]];
        *taken *= (-level - slope * scales[row % sizes.len()]).exp() as f32;
    }
    let (terms, mut coefficients) =
        RuntimeModel::fit_pulled(form, &rows, secs.view(), &families, PULL)?
            .bounded(BOUNDS_SECS.0, BOUNDS_SECS.1)
            .to_parts();
    // The first term is the constant.
    for (column, &group) in groups.iter().enumerate() {
        coefficients[(column, 0)] += factors[group].0 as f32;
    }
    let polynomials = RuntimeModel::from_parts(terms, coefficients.view())?;
    let slopes = std::iter::once(usual as f32).chain(factors.iter().map(|f| f.1 as f32)).collect();
    Ok(ScaledModel { polynomials, slopes })
}

/// Sums for a line of log ratios over log scales, pulled towards zero.
#[derive(Clone, Default)]
struct FactorSums {
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl FactorSums {
    fn add(&mut self, x: f64, y: f64) {
        self.n += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
    }

    /// Level and slope.
    fn line(&self) -> (f64, f64) {
        let (n, xx) = (self.n + FACTOR_PULL, self.xx + FACTOR_PULL);
        let determinant = n * xx - self.x * self.x;
        let level = (xx * self.y - self.x * self.xy) / determinant;
        (level, (n * self.xy - self.x * self.y) / determinant)
    }
}

fn predict(
    space: &SearchSpace,
    model: &ScaledModel,
    size: &TableSize,
) -> Result<Vec<f64>, SurrogateError> {
    let mut secs = vec![0.0; space.n_pipelines()];
    let (groups, _) = factor_of(space, &with_encoder(space, 0));
    let usual = f64::from(model.slopes[0]);
    let scale = size.log_scale().unwrap_or(usual) - usual;
    let bend: Vec<f64> =
        model.slopes[1..].iter().map(|&slope| (f64::from(slope) * scale).exp()).collect();
    for encoder in 0..N_ENCODERS {
        let predicted = model.polynomials.predict_secs(&size.for_encoder(encoder))?;
        for (column, j) in with_encoder(space, encoder).into_iter().enumerate() {
            let bent = predicted[column] * bend[groups[column]];
            secs[j] = bent.clamp(BOUNDS_SECS.0, BOUNDS_SECS.1);
        }
    }
    Ok(secs)
}

/// Log ratios of recorded to predicted seconds; where nothing was recorded, the mean over the dataset's
/// pipelines of the same type, or else over all of them.
fn residuals(
    space: &SearchSpace,
    model: &ScaledModel,
    sizes: &[TableSize],
    secs: ArrayView2<f32>,
) -> Result<Array2<f32>, SurrogateError> {
    let (kinds, n_kinds) = kinds(space);
    let mut all = Array2::<f32>::zeros(secs.raw_dim());
    for (i, size) in sizes.iter().enumerate() {
        let predicted = predict(space, model, size)?;
        let mut sums = vec![(0.0, 0.0); n_kinds + 1];
        let residual = |j: usize| {
            let taken = f64::from(secs[(i, j)]);
            (taken > 0.0).then(|| (taken / predicted[j]).ln())
        };
        for j in 0..space.n_pipelines() {
            if let Some(r) = residual(j) {
                for at in [kinds[j], n_kinds] {
                    sums[at].0 += r;
                    sums[at].1 += 1.0;
                }
            }
        }
        let mean = |at: usize| {
            let (sum, n) = if sums[at].1 > 0.0 { sums[at] } else { sums[n_kinds] };
            if n > 0.0 { sum / n } else { 0.0 }
        };
        for j in 0..space.n_pipelines() {
            all[(i, j)] = residual(j).unwrap_or_else(|| mean(kinds[j])) as f32;
        }
    }
    Ok(all)
}
