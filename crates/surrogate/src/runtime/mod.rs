//! How long a pipeline will take on a dataset of a given size, on the machine at hand.
//!
//! Before anything has run, a polynomial in the dataset's size, one per pipeline ([`RuntimeModel`]); then a
//! correction from the runs seen so far ([`CorrectedRuntimes`]).

mod columns;
mod correction;
mod polynomial;

pub use correction::{CorrectedRuntimes, RuntimeCorrection};

use ndarray::{Array2, ArrayView2};

use crate::error::SurrogateError;
use polynomial::{Terms, fit_ridge, fit_robustly};

/// Predictions stay within these bounds where nothing else is said: nothing takes less time than starting
/// it, and recorded runs were cut off at two minutes.
const BOUNDS_SECS: (f64, f64) = (0.005, 120.0);

/// Pull towards the family's coefficients, in observations: with many runs it hardly matters, with none
/// it is all there is.
const FAMILY_PULL: f64 = 0.5;

/// Log residuals beyond this count linearly only: about a factor of 1.5.
const BEND: f64 = 0.4;

/// The size of a dataset, as runtimes depend on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DatasetSize {
    /// Rows a pipeline is given.
    pub n_rows: f64,
    /// Features, counted the same way in training and in prediction.
    pub n_features: f64,
    /// Classes, where they are known for every dataset.
    pub n_classes: Option<f64>,
}

/// What is regressed on what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum RuntimeForm {
    /// Seconds on all polynomials of degree 3 in (n, p, log n): the paper's.
    PaperSeconds,
    /// Logarithms of seconds on the same.
    PaperLogSeconds,
    /// Logarithms of seconds on degree 2 in (log n, log p), and log classes where known.
    LogLog,
}

impl RuntimeForm {
    fn is_log(self) -> bool {
        self != Self::PaperSeconds
    }

    fn degree(self) -> usize {
        if self == Self::LogLog { 2 } else { 3 }
    }

    fn n_variables(self, with_classes: bool) -> usize {
        let own = if self == Self::LogLog { 2 } else { 3 };
        own + usize::from(with_classes)
    }

    fn variables(self, size: &DatasetSize, with_classes: bool) -> Vec<f64> {
        let (n, p) = (size.n_rows, size.n_features);
        let mut variables = match self {
            Self::LogLog => vec![n.ln(), p.ln()],
            _ => vec![n, p, n.ln()],
        };
        if with_classes {
            variables.push(size.n_classes.unwrap_or(2.0).ln());
        }
        variables
    }
}

/// A polynomial per pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct RuntimeModel {
    form: RuntimeForm,
    with_classes: bool,
    terms: Terms,
    /// One set of coefficients per pipeline.
    coefficients: Vec<Vec<f64>>,
    bounds_secs: (f64, f64),
}

/// What the polynomials of a [`RuntimeModel`] share: all of it but the coefficients.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RuntimeTerms {
    form: RuntimeForm,
    with_classes: bool,
    terms: Terms,
    bounds_secs: (f64, f64),
}

impl RuntimeModel {
    /// Fits one polynomial per pipeline to recorded seconds, datasets x pipelines, of which those that are not
    /// above zero count as not recorded.
    ///
    /// `families[j]` names the family of pipeline `j`: in the logarithmic forms a pipeline with few runs
    /// leans on its family's mean polynomial, one with none takes it over, and a family with none takes
    /// that of all pipelines.
    pub fn fit(
        form: RuntimeForm,
        sizes: &[DatasetSize],
        secs: ArrayView2<f32>,
        families: &[usize],
    ) -> Result<Self, SurrogateError> {
        Self::fit_pulled(form, sizes, secs, families, FAMILY_PULL)
    }

    /// The same with another pull towards the family's coefficients, in observations: a strong one where
    /// pipelines have few runs each.
    pub fn fit_pulled(
        form: RuntimeForm,
        sizes: &[DatasetSize],
        secs: ArrayView2<f32>,
        families: &[usize],
        pull: f64,
    ) -> Result<Self, SurrogateError> {
        let leaning = form.is_log().then_some((pull, BEND));
        Self::fit_as(form, sizes, secs, families, leaning)
    }

    /// The paper's form where pipelines have few runs each: they lean on their family's polynomial by this pull, in
    /// observations.
    pub fn fit_seconds_pulled(
        sizes: &[DatasetSize],
        secs: ArrayView2<f32>,
        families: &[usize],
        pull: f64,
    ) -> Result<Self, SurrogateError> {
        // Plain squares, as in the paper: no run counts less than another.
        let leaning = Some((pull, f64::INFINITY));
        Self::fit_as(RuntimeForm::PaperSeconds, sizes, secs, families, leaning)
    }

    fn fit_as(
        form: RuntimeForm,
        sizes: &[DatasetSize],
        secs: ArrayView2<f32>,
        families: &[usize],
        leaning: Option<(f64, f64)>,
    ) -> Result<Self, SurrogateError> {
        let (m, n) = secs.dim();
        for (what, wanted, got) in
            [("dataset sizes", m, sizes.len()), ("families of pipelines", n, families.len())]
        {
            if wanted != got {
                return Err(SurrogateError::Size { what, wanted, got });
            }
        }
        if secs.is_empty() {
            return Err(SurrogateError::Empty { what: "recorded runtimes" });
        }
        for (at, size) in sizes.iter().enumerate() {
            check_size(at, size)?;
        }
        let with_classes =
            form == RuntimeForm::LogLog && sizes.iter().all(|s| s.n_classes.is_some());
        let variables: Vec<Vec<f64>> =
            sizes.iter().map(|s| form.variables(s, with_classes)).collect();
        let terms = Terms::new(&variables, form.degree());
        let rows: Vec<Vec<f64>> = variables.iter().map(|v| terms.of(v)).collect();
        let target = |t: f32| if form.is_log() { f64::from(t).ln() } else { f64::from(t) };
        let recorded: Vec<Vec<(usize, f64)>> = (0..n)
            .map(|j| {
                let column = secs.column(j);
                let runs = column.iter().enumerate().filter(|(_, t)| **t > 0.0 && t.is_finite());
                runs.map(|(i, &t)| (i, target(t))).collect()
            })
            .collect();
        let coefficients = if let Some((pull, bend)) = leaning {
            fit_in_families(&rows, &recorded, families, pull, bend)?
        } else {
            // The paper's: plain least squares, a ridge of nothing much against singular columns.
            let zero = vec![0.0; terms.len()];
            recorded
                .iter()
                .map(|runs| fit_ridge(&rows, runs, &zero, 1e-6))
                .collect::<Result<_, _>>()?
        };
        Ok(Self { form, with_classes, terms, coefficients, bounds_secs: BOUNDS_SECS })
    }

    /// The same with predictions kept within other bounds.
    pub fn bounded(self, low_secs: f64, high_secs: f64) -> Self {
        Self { bounds_secs: (low_secs, high_secs.max(low_secs)), ..self }
    }

    /// What all polynomials share, and their coefficients, pipelines x terms.
    pub fn to_parts(&self) -> (RuntimeTerms, Array2<f32>) {
        let &Self { form, with_classes, bounds_secs, .. } = self;
        let shared = RuntimeTerms { form, with_classes, terms: self.terms.clone(), bounds_secs };
        let shape = (self.n_pipelines(), self.terms.len());
        (shared, Array2::from_shape_fn(shape, |(j, t)| self.coefficients[j][t] as f32))
    }

    /// Puts a model together from what [`RuntimeModel::to_parts`] took apart.
    pub fn from_parts(
        shared: RuntimeTerms,
        coefficients: ArrayView2<f32>,
    ) -> Result<Self, SurrogateError> {
        let RuntimeTerms { form, with_classes, terms, bounds_secs } = shared;
        if coefficients.nrows() == 0 {
            return Err(SurrogateError::Empty { what: "runtime model" });
        }
        terms.check(form.n_variables(with_classes))?;
        let (low, high) = bounds_secs;
        if !(low > 0.0 && low <= high && high.is_finite()) {
            let what = "bounds of runtimes";
            return Err(SurrogateError::NotPositive { what, at: 0, value: low });
        }
        let (wanted, got) = (terms.len(), coefficients.ncols());
        if wanted != got {
            return Err(SurrogateError::Size { what: "runtime coefficients", wanted, got });
        }
        let wide = |row: ndarray::ArrayView1<f32>| row.iter().map(|&c| f64::from(c)).collect();
        let coefficients: Vec<Vec<f64>> = coefficients.outer_iter().map(wide).collect();
        for (at, own) in coefficients.iter().enumerate() {
            if let Some(&value) = own.iter().find(|v| !v.is_finite()) {
                return Err(SurrogateError::NotFinite { what: "runtime coefficients", at, value });
            }
        }
        Ok(Self { form, with_classes, terms, coefficients, bounds_secs })
    }

    /// How many pipelines it predicts.
    pub fn n_pipelines(&self) -> usize {
        self.coefficients.len()
    }

    /// Predicted seconds of every pipeline on a dataset of this size.
    pub fn predict_secs(&self, size: &DatasetSize) -> Result<Vec<f64>, SurrogateError> {
        check_size(0, size)?;
        let row = self.terms.of(&self.form.variables(size, self.with_classes));
        let (low, high) = self.bounds_secs;
        let predict = |coefficients: &Vec<f64>| {
            let value: f64 = coefficients.iter().zip(&row).map(|(c, x)| c * x).sum();
            // Clamped before the exponential, which could overflow, and after.
            let secs = if self.form.is_log() { value.clamp(-50.0, 50.0).exp() } else { value };
            secs.clamp(low, high)
        };
        Ok(self.coefficients.iter().map(predict).collect())
    }
}

fn check_size(at: usize, size: &DatasetSize) -> Result<(), SurrogateError> {
    let parts = [size.n_rows, size.n_features, size.n_classes.unwrap_or(1.0)];
    match parts.iter().find(|v| !v.is_finite() || **v <= 0.0) {
        Some(&value) => Err(SurrogateError::NotPositive { what: "dataset sizes", at, value }),
        None => Ok(()),
    }
}

/// Least squares with a pull towards the mean coefficients of the family.
fn fit_in_families(
    rows: &[Vec<f64>],
    recorded: &[Vec<(usize, f64)>],
    families: &[usize],
    pull: f64,
    bend: f64,
) -> Result<Vec<Vec<f64>>, SurrogateError> {
    let everything =
        pooled(rows, recorded.iter()).ok_or(SurrogateError::Empty { what: "recorded runtimes" })?;
    let n_families = families.iter().max().map_or(0, |f| f + 1);
    let mut means = Vec::with_capacity(n_families);
    for family in 0..n_families {
        let members = recorded.iter().zip(families).filter(|(_, f)| **f == family);
        let mean = pooled(rows, members.map(|(runs, _)| runs));
        means.push(mean.unwrap_or_else(|| everything.clone()));
    }
    recorded
        .iter()
        .zip(families)
        .map(|(runs, &family)| fit_robustly(rows, runs, &means[family], pull, bend))
        .collect()
}

/// The polynomial of several pipelines together: a fit to each dataset's mean over those that ran on it.
fn pooled<'a>(
    rows: &[Vec<f64>],
    recorded: impl Iterator<Item = &'a Vec<(usize, f64)>>,
) -> Option<Vec<f64>> {
    let mut sums = vec![(0.0, 0.0); rows.len()];
    for &(i, y) in recorded.flatten() {
        sums[i].0 += y;
        sums[i].1 += 1.0;
    }
    let runs: Vec<(usize, f64)> =
        (0..rows.len()).filter(|&i| sums[i].1 > 0.0).map(|i| (i, sums[i].0 / sums[i].1)).collect();
    let level = runs.iter().map(|r| r.1).sum::<f64>() / runs.len() as f64;
    // Towards a constant at the mean level: what a single dataset supports.
    let mut constant = vec![0.0; rows.first()?.len()];
    constant[0] = level;
    if runs.is_empty() { None } else { fit_ridge(rows, &runs, &constant, FAMILY_PULL).ok() }
}
