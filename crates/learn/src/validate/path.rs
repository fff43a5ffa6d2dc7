//! Prepares a fold step by step and keeps the last result of each step.
//!
//! Preparations come in an order in which those that share their first steps follow each other, so that
//! each step's result is computed once, serves all that need it and is freed by the next.

use std::sync::Arc;

use super::fold::FoldData;
use crate::encode::{Encoder, FittedEncoder};
use crate::impute::{Imputed, Imputer};
use crate::reduce::{FittedReducer, Reducer, Share, pca, select_k_best};
use crate::scale::{FittedScaler, Scaler};
use crate::work_time::WorkTime;
use crate::{Features, FitContext, FitError, Preparation};

/// A prepared fold.
#[derive(Clone)]
pub(super) struct Leaf {
    pub(super) train: Arc<Features>,
    pub(super) test: Arc<Features>,
    pub(super) steps: Steps,
    pub(super) cost: Cost,
}

/// The fitted steps after imputation.
#[derive(Clone)]
pub(super) struct Steps {
    pub(super) encoder: Arc<FittedEncoder>,
    pub(super) scaler: Arc<FittedScaler>,
    pub(super) reducer: Arc<FittedReducer>,
}

/// CPU seconds of the steps after reading and fitting the imputer.
#[derive(Clone, Copy)]
pub(super) struct Cost {
    /// Had they been done for this preparation alone.
    pub(super) alone_secs: f64,
    /// As they were done here.
    pub(super) spent_secs: f64,
}

impl Leaf {
    /// The key of what an estimator is given.
    pub(super) fn content(&self) -> (u64, u64) {
        (self.train.content(), self.test.content())
    }
}

/// The last result of each step.
#[derive(Default)]
pub(super) struct Path {
    imputed: Option<(Imputer, Imputation)>,
    encoded: Option<(Encoder, Encoding)>,
    scaled: Option<(Scaler, Scaling)>,
    pca: Option<Projections>,
    f_scores: Option<(Vec<f64>, f64)>,
}

struct Imputation {
    train: Imputed,
    test: Imputed,
    secs: f64,
}

struct Encoding {
    fitted: Arc<FittedEncoder>,
    train: Arc<Features>,
    test: Arc<Features>,
    secs: f64,
}

struct Scaling {
    fitted: Arc<FittedScaler>,
    train: Arc<Features>,
    test: Arc<Features>,
    secs: f64,
}

/// One decomposition and the projections made from it, the largest wanted by each method.
struct Projections {
    decomposition: pca::Decomposition,
    secs: f64,
    made: Vec<Projection>,
}

struct Projection {
    method: pca::Factor,
    fitted: pca::FittedPca,
    train: Features,
    test: Features,
    secs: f64,
}

impl Path {
    /// Prepares the fold; `shares` are those of PCA that will be wanted of the same scaled matrix.
    pub(super) fn prepare(
        &mut self,
        fold: &FoldData<'_>,
        preparation: Preparation,
        shares: &[Share],
        ctx: &FitContext,
    ) -> Result<Leaf, FitError> {
        preparation.check()?;
        let start = WorkTime::now();
        self.impute(fold, preparation.imputer, ctx)?;
        self.encode(preparation.encoder, ctx)?;
        self.scale(preparation.scaler, ctx)?;
        let (reducer, train, test, secs) = self.reduce(fold, preparation.reducer, shares, ctx)?;
        let content = WorkTime::now();
        train.content_within(ctx)?;
        test.content_within(ctx)?;
        let content_secs = content.elapsed().as_secs_f64();
        let (imputed, encoded, scaled) = (self.imputed(), self.encoded(), self.scaled());
        let steps = Steps {
            encoder: Arc::clone(&encoded.fitted),
            scaler: Arc::clone(&scaled.fitted),
            reducer: Arc::new(reducer),
        };
        let cost = Cost {
            alone_secs: imputed.secs + encoded.secs + scaled.secs + secs + content_secs,
            spent_secs: start.elapsed().as_secs_f64(),
        };
        Ok(Leaf { train, test, steps, cost })
    }

    fn imputed(&self) -> &Imputation {
        &self.imputed.as_ref().expect("imputed before it is encoded").1
    }

    fn encoded(&self) -> &Encoding {
        &self.encoded.as_ref().expect("encoded before it is scaled").1
    }

    fn scaled(&self) -> &Scaling {
        &self.scaled.as_ref().expect("scaled before it is reduced").1
    }

    fn impute(
        &mut self,
        fold: &FoldData<'_>,
        to: Imputer,
        ctx: &FitContext,
    ) -> Result<(), FitError> {
        if self.imputed.as_ref().is_some_and(|(done, _)| *done == to) {
            return Ok(());
        }
        // Freed first: the old and the new need not be held at once.
        *self = Self::default();
        let start = WorkTime::now();
        let fitted = fold.fitted_imputer(to)?;
        let train = fitted.transform(&fold.train(), ctx)?;
        let test = fitted.transform(&fold.test(), ctx)?;
        let secs = start.elapsed().as_secs_f64();
        self.imputed = Some((to, Imputation { train, test, secs }));
        Ok(())
    }

    fn encode(&mut self, to: Encoder, ctx: &FitContext) -> Result<(), FitError> {
        if self.encoded.as_ref().is_some_and(|(done, _)| *done == to) {
            return Ok(());
        }
        *self = Self { imputed: self.imputed.take(), ..Self::default() };
        let start = WorkTime::now();
        let imputed = self.imputed();
        let fitted = to.fit(&imputed.train, ctx)?;
        let train = fitted.transform(&imputed.train, ctx)?;
        let test = fitted.transform(&imputed.test, ctx)?;
        let secs = start.elapsed().as_secs_f64();
        self.encoded = Some((to, Encoding { fitted: Arc::new(fitted), train, test, secs }));
        Ok(())
    }

    fn scale(&mut self, to: Scaler, ctx: &FitContext) -> Result<(), FitError> {
        if self.scaled.as_ref().is_some_and(|(done, _)| *done == to) {
            return Ok(());
        }
        (self.scaled, self.pca, self.f_scores) = (None, None, None);
        let start = WorkTime::now();
        let encoded = self.encoded();
        let fitted = to.fit(&encoded.train, ctx)?;
        let train = fitted.transform(&encoded.train, ctx)?;
        let test = fitted.transform(&encoded.test, ctx)?;
        let secs = start.elapsed().as_secs_f64();
        self.scaled = Some((to, Scaling { fitted: Arc::new(fitted), train, test, secs }));
        Ok(())
    }

    fn reduce(
        &mut self,
        fold: &FoldData<'_>,
        to: Reducer,
        shares: &[Share],
        ctx: &FitContext,
    ) -> Result<(FittedReducer, Arc<Features>, Arc<Features>, f64), FitError> {
        let n_raw = fold.train().n_cols();
        let n = to.n_features(n_raw, &self.scaled().train)?;
        match (to, n) {
            (Reducer::Pca(_), Some(n)) => self.project(n, n_raw, shares, ctx),
            (Reducer::SelectKBest(_), Some(n)) => {
                if self.f_scores.is_none() {
                    let start = WorkTime::now();
                    let scores = select_k_best::f_scores(&self.scaled().train, &fold.y, ctx)?;
                    self.f_scores = Some((scores, start.elapsed().as_secs_f64()));
                }
                let start = WorkTime::now();
                let (scores, secs) = self.f_scores.as_ref().expect("just computed");
                let fitted = FittedReducer::Selection(select_k_best::best(scores, n));
                let (train, test) = self.transform(&fitted, ctx)?;
                Ok((fitted, train, test, secs + start.elapsed().as_secs_f64()))
            }
            _ => {
                let start = WorkTime::now();
                let fitted = to.fit(&self.scaled().train, &fold.y, n_raw, ctx)?;
                let (train, test) = self.transform(&fitted, ctx)?;
                Ok((fitted, train, test, start.elapsed().as_secs_f64()))
            }
        }
    }

    fn transform(
        &self,
        fitted: &FittedReducer,
        ctx: &FitContext,
    ) -> Result<(Arc<Features>, Arc<Features>), FitError> {
        let scaled = self.scaled();
        Ok((fitted.transform(&scaled.train, ctx)?, fitted.transform(&scaled.test, ctx)?))
    }

    /// The first `n` components, out of a projection that serves all shares wanted.
    fn project(
        &mut self,
        n: usize,
        n_raw: usize,
        shares: &[Share],
        ctx: &FitContext,
    ) -> Result<(FittedReducer, Arc<Features>, Arc<Features>, f64), FitError> {
        if self.pca.is_none() {
            let start = WorkTime::now();
            let decomposition = pca::Decomposition::of(&self.scaled().train, ctx)?;
            let secs = start.elapsed().as_secs_f64();
            self.pca = Some(Projections { decomposition, secs, made: Vec::new() });
        }
        let (train, test) = {
            let scaled = self.scaled();
            (Arc::clone(&scaled.train), Arc::clone(&scaled.test))
        };
        let counts = shares
            .iter()
            .filter_map(|&share| Reducer::Pca(share).n_features(n_raw, &train).ok().flatten());
        let pca = self.pca.as_mut().expect("just computed");
        let method = pca.decomposition.method(n);
        let largest = counts.filter(|&n| pca.decomposition.method(n) == method).fold(n, usize::max);
        let found = |p: &&Projection| p.method == method && p.fitted.n_components() >= n;
        if pca.made.iter().find(found).is_none() {
            let start = WorkTime::now();
            let (fitted, train) = pca.decomposition.reducer(largest, ctx)?;
            let test = fitted.transform(&test, ctx)?;
            let secs = start.elapsed().as_secs_f64();
            pca.made.push(Projection { method, fitted, train, test, secs });
        }
        let start = WorkTime::now();
        let made = pca.made.iter().find(found).expect("just made");
        let fitted = FittedReducer::Pca(made.fitted.truncated(n));
        let (train, test) = (first_columns(&made.train, n), first_columns(&made.test, n));
        let share = n as f64 / made.fitted.n_components() as f64;
        let secs = pca.secs + made.secs * share + start.elapsed().as_secs_f64();
        Ok((fitted, Arc::new(train), Arc::new(test), secs))
    }
}

fn first_columns(x: &Features, n: usize) -> Features {
    Features::from_columns(x.n_rows(), n, x.columns()[..n * x.n_rows()].to_vec())
}
