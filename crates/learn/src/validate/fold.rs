//! One fold: its rows as numbers, its labels, and what each imputer fills in.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pitchpipe_table::{Dataset, Fold, Labels};

use crate::classes::KnownClasses;
use crate::impute::{FittedImputer, Imputer};
use crate::work_time::WorkTime;
use crate::{FitContext, FitError, RawFeatures};

/// A fold as all preparations of it start from.
pub(super) struct FoldData<'a> {
    dataset: &'a Dataset,
    train_rows: Vec<usize>,
    test_rows: Vec<usize>,
    /// The places of the test rows among all that some fold tests.
    pub(super) test_places: Vec<usize>,
    /// The training rows' labels, among all classes and among those known.
    pub(super) y: Labels,
    pub(super) y_compact: Labels,
    pub(super) classes: KnownClasses,
    pub(super) y_test: Labels,
    /// What each imputer that was wanted so far fills in, in the order of [`Imputer::ALL`].
    imputers: [Mutex<Option<Arc<FoldImputer>>>; Imputer::ALL.len()],
    read_secs: f64,
}

struct FoldImputer {
    fitted: Result<Arc<FittedImputer>, FitError>,
    /// The first imputer that gives the same matrices.
    same_as: Imputer,
    secs: f64,
}

impl FoldImputer {
    /// Whether it failed for want of time.
    fn was_cut_short(&self) -> bool {
        matches!(self.fitted, Err(FitError::OutOfTime | FitError::Cancelled))
    }
}

impl<'a> FoldData<'a> {
    /// Takes the fold.
    pub(super) fn read(dataset: &'a Dataset, fold: Fold) -> Self {
        let start = WorkTime::now();
        let y = dataset.labels().select(&fold.train);
        let classes = KnownClasses::of(&y);
        let mut data = Self {
            dataset,
            train_rows: fold.train,
            y_compact: classes.compact(&y),
            y_test: dataset.labels().select(&fold.test),
            y,
            classes,
            test_places: Vec::new(),
            test_rows: fold.test,
            imputers: [const { Mutex::new(None) }; Imputer::ALL.len()],
            read_secs: 0.0,
        };
        data.read_secs = start.elapsed().as_secs_f64();
        data
    }

    /// Notes where its test rows stand, given the places of all rows.
    pub(super) fn place_among(&mut self, places: &[usize]) {
        self.test_places = self.test_rows.iter().map(|&row| places[row]).collect();
    }

    /// The training rows.
    pub(super) fn train(&self) -> RawFeatures<'_> {
        RawFeatures::of_rows(self.dataset.frame(), &self.train_rows)
    }

    /// The test rows.
    pub(super) fn test(&self) -> RawFeatures<'_> {
        RawFeatures::of_rows(self.dataset.frame(), &self.test_rows)
    }

    /// Fits an imputer, unless it is fitted already; `missing` are the columns with missing cells. One thread at a time.
    ///
    /// Where no cell is missing and no model is kept, nobody will ask what it would fill in.
    pub(super) fn fit_imputer(
        &self,
        imputer: Imputer,
        missing: &[bool],
        keep_models: bool,
        ctx: &FitContext,
    ) {
        // One that had no time has it perhaps now.
        if self.imputer(imputer).is_some_and(|done| !done.was_cut_short()) {
            return;
        }
        let start = WorkTime::now();
        let is_complete = !missing.is_empty() && missing.iter().all(|m| !m) && !keep_models;
        // What fills nothing says nothing of other tables either, but must stay what it is.
        let fitted = if is_complete && imputer != Imputer::Keep {
            Ok(FittedImputer::for_complete_table(self.train().categorical()))
        } else {
            imputer.fit(&self.train(), ctx)
        };
        let agrees = |&other: &Imputer| match (&fitted, self.imputer(other)) {
            (Ok(a), Some(done)) => done.fitted.as_ref().is_ok_and(|b| a.agrees_with(b, missing)),
            _ => false,
        };
        let same_as = match imputer {
            Imputer::Keep => imputer,
            _ => {
                let fills = |other: &Imputer| *other != Imputer::Keep;
                Imputer::ALL.into_iter().filter(fills).find(agrees).unwrap_or(imputer)
            }
        };
        let secs = start.elapsed().as_secs_f64();
        let fitted = fitted.map(Arc::new);
        *self.place_of(imputer) = Some(Arc::new(FoldImputer { fitted, same_as, secs }));
    }

    fn place_of(&self, imputer: Imputer) -> MutexGuard<'_, Option<Arc<FoldImputer>>> {
        self.imputers[imputer as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn imputer(&self, imputer: Imputer) -> Option<Arc<FoldImputer>> {
        self.place_of(imputer).clone()
    }

    fn wanted(&self, imputer: Imputer) -> Arc<FoldImputer> {
        self.imputer(imputer).expect("every imputer of a pipeline was wanted")
    }

    /// The fitted imputer.
    pub(super) fn fitted_imputer(&self, imputer: Imputer) -> Result<Arc<FittedImputer>, FitError> {
        self.wanted(imputer).fitted.clone()
    }

    /// The first imputer that gives the same matrices in this fold.
    pub(super) fn same_as(&self, imputer: Imputer) -> Imputer {
        self.wanted(imputer).same_as
    }

    /// CPU seconds for reading the rows and fitting an imputer.
    pub(super) fn start_secs(&self, imputer: Imputer) -> f64 {
        self.read_secs + self.wanted(imputer).secs
    }
}
