//! What is known of a new dataset before anything has run on it.

use std::sync::Arc;

use faer::linalg::matmul::{matmul, triangular};
use faer::{Accum, Mat, MatRef, Par, Side};
use ndarray::{Array2, ArrayView2};

use crate::bayes::{Posterior, Separable};
use crate::error::SurrogateError;
use crate::panels::Panels;
use crate::sketch::Sketched;

/// The scale on which values are taken to be Gaussian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Scale {
    /// As they are: logarithms of runtimes, say.
    Plain,
    /// Square roots: the spread of errors grows with their level, that of their roots hardly.
    #[default]
    Root,
}

impl Scale {
    /// A value on this scale.
    pub fn of(self, value: f64) -> f64 {
        match self {
            Self::Plain => value,
            Self::Root => value.max(0.0).sqrt(),
        }
    }

    /// The value that [`Scale::of`] took here.
    pub fn undo(self, scaled: f64) -> f64 {
        match self {
            Self::Plain => scaled,
            Self::Root => scaled.max(0.0).powi(2),
        }
    }
}

/// How a prior is learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriorSettings {
    /// How many directions of the covariance to keep; all, where there are fewer.
    pub rank: usize,
    /// What to shrink the covariance of the rows towards, if anything.
    pub separable: Option<Separable>,
    /// Standard deviation, on the prior's scale, of one measurement: every pipeline has at least so much
    /// noise. Two runs of one pipeline on other folds differ by about .01.
    pub noise: f64,
}

impl PriorSettings {
    /// The plain covariance of the rows, in its `rank` leading directions.
    pub fn plain(rank: usize) -> Self {
        Self { rank, separable: None, noise: 0.01 }
    }

    /// The default for searching errors: 120 directions, three tenths of the variance separable into the
    /// estimators, `n_estimators` on the axis that varies fastest, and what comes before them
    /// (docs/decisions/0040-search-policy.md).
    pub fn for_search(n_estimators: usize) -> Self {
        let separable = Separable { inner: n_estimators, share: 0.3, rank: 300 };
        Self { separable: Some(separable), ..Self::plain(120) }
    }
}

/// A Gaussian over all pipelines at once: mean, the leading directions of the covariance, and the
/// variance the rest leaves to each pipeline alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    pub(super) scale: Scale,
    pub(super) mean: Vec<f64>,
    /// Covariance `Lᵀ L`, `L` rank x pipelines: the principal directions times their standard deviations.
    pub(super) factor: Panels,
    pub(super) noise: Vec<f64>,
}

impl Prior {
    /// Learns the prior from completed rows, datasets x pipelines.
    pub fn fit(
        rows: ArrayView2<f32>,
        scale: Scale,
        settings: &PriorSettings,
    ) -> Result<Self, SurrogateError> {
        let rows = PriorRows::new(rows, scale)?;
        rows.fit(&vec![1.0; rows.n_datasets()], settings)
    }

    /// Learns the prior from more rows than are held: their mean on `scale`, and a sketch of their deviations from it, each
    /// times the root of its weight; `weights` are those of all rows. What the sketch lost goes to the noise.
    pub fn of_sketch(
        scale: Scale,
        mean: &[f64],
        deviations: &Sketched,
        weights: &[f64],
        settings: &PriorSettings,
    ) -> Result<Self, SurrogateError> {
        let (k, n) = deviations.rows.dim();
        if mean.len() != n {
            let (what, got) = ("mean of a sketch", mean.len());
            return Err(SurrogateError::Size { what, wanted: n, got });
        }
        let (total, freedom) = total_and_freedom(weights)?;
        // Rows with the same mean and covariance: each direction of the sketch on both sides of the mean.
        let size = ((2 * k - 1) as f64 / (2.0 * freedom)).sqrt();
        let rows = Mat::from_fn(2 * k, n, |i, j| {
            let side = if i % 2 == 0 { size } else { -size };
            (mean[j] + side * f64::from(deviations.rows[(i / 2, j)])) as f32
        });
        let rows = PriorRows { scale, gram: gram(rows.as_ref()), rows };
        let mut prior = rows.fit(&vec![1.0; 2 * k], settings)?;
        let lost = deviations.lost();
        prior.noise.iter_mut().zip(&lost).for_each(|(noise, lost)| *noise += lost / total);
        Ok(prior)
    }

    /// Puts a prior together from its parts: means, `rank x n` factor (covariance `Lᵀ L`), and noise
    /// variances, all on `scale`.
    pub fn from_parts(
        scale: Scale,
        mean: Vec<f64>,
        factor: ArrayView2<f32>,
        noise: Vec<f64>,
    ) -> Result<Self, SurrogateError> {
        let (wanted, got) = (mean.len(), factor.ncols());
        if wanted > 0 && got != wanted {
            let what = "factor of the prior";
            return Err(SurrogateError::Size { what, wanted, got });
        }
        let read = |i, row: &mut [f32]| {
            row.iter_mut().zip(factor.row(i)).for_each(|(to, &from)| *to = from);
        };
        Self::from_rows(scale, mean, factor.nrows(), read, noise)
    }

    /// The same with a factor of `rank` rows that are read one after the other: there need be no second copy of it.
    pub fn from_rows(
        scale: Scale,
        mean: Vec<f64>,
        rank: usize,
        mut read: impl FnMut(usize, &mut [f32]),
        noise: Vec<f64>,
    ) -> Result<Self, SurrogateError> {
        let n = mean.len();
        if n == 0 {
            return Err(SurrogateError::Empty { what: "prior" });
        }
        if noise.len() != n {
            let (what, got) = ("noise", noise.len());
            return Err(SurrogateError::Size { what, wanted: n, got });
        }
        if let Some(at) = noise.iter().position(|v| !v.is_finite() || *v <= 0.0) {
            return Err(SurrogateError::NotPositive { what: "noise", at, value: noise[at] });
        }
        let finite = |what, values: &mut dyn Iterator<Item = f64>| match values
            .enumerate()
            .find(|(_, v)| !v.is_finite())
        {
            Some((at, value)) => Err(SurrogateError::NotFinite { what, at, value }),
            None => Ok(()),
        };
        finite("prior mean", &mut mean.iter().copied())?;
        let mut fault = None;
        let factor = Panels::from_rows(rank, n, |i, row| {
            read(i, row);
            let at = row.iter().position(|v| !v.is_finite()).filter(|_| fault.is_none());
            fault = fault.or(at.map(|j| (i * n + j, f64::from(row[j]))));
        });
        if let Some((at, value)) = fault {
            return Err(SurrogateError::NotFinite { what: "factor of the prior", at, value });
        }
        Ok(Self { scale, mean, factor, noise })
    }

    /// How many pipelines it speaks of.
    pub fn n_pipelines(&self) -> usize {
        self.mean.len()
    }

    /// How many directions of the covariance were kept.
    pub fn rank(&self) -> usize {
        self.factor.rank()
    }

    /// The scale its numbers are on.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Prior means, on its scale.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Variance of each pipeline that the kept directions do not explain, on its scale.
    pub fn noise(&self) -> &[f64] {
        &self.noise
    }

    /// The factor, rank x pipelines, row-major.
    pub fn factor(&self) -> Array2<f32> {
        Array2::from_shape_vec((self.rank(), self.n_pipelines()), self.factor.to_rows())
            .expect("as many numbers as the shape says")
    }

    /// Reads one row of the factor, a number for each pipeline.
    pub fn read_row(&self, row: usize, out: &mut [f32]) {
        self.factor.read_row(row, out);
    }

    /// Hands each coordinate of a pipeline's column of the factor to `put`.
    pub(crate) fn factor_column(&self, pipeline: usize, mut put: impl FnMut(usize, f64)) {
        self.factor.column(pipeline).into_iter().enumerate().for_each(|(i, v)| put(i, v));
    }

    /// The state before anything was observed.
    pub fn posterior(self: &Arc<Self>) -> Posterior {
        Posterior::new(Arc::clone(self))
    }
}

/// Rows to learn priors from, prepared so that leaving some out, or weighting them, is cheap: the Gram
/// matrix of all rows holds those of all subsets.
pub struct PriorRows {
    scale: Scale,
    /// datasets x pipelines, on the scale.
    rows: Mat<f32>,
    /// `R Rᵀ`, uncentred.
    gram: Mat<f64>,
}

impl PriorRows {
    /// Prepares completed rows, datasets x pipelines.
    pub fn new(rows: ArrayView2<f32>, scale: Scale) -> Result<Self, SurrogateError> {
        let (m, n) = rows.dim();
        if m == 0 || n == 0 {
            return Err(SurrogateError::Empty { what: "error matrix" });
        }
        if let Some((at, &value)) = rows.iter().enumerate().find(|(_, v)| !v.is_finite()) {
            return Err(SurrogateError::NotFinite {
                what: "error matrix",
                at,
                value: f64::from(value),
            });
        }
        let rows = Mat::from_fn(m, n, |i, j| scale.of(f64::from(rows[(i, j)])) as f32);
        Ok(Self { scale, gram: gram(rows.as_ref()), rows })
    }

    /// How many datasets there are.
    pub fn n_datasets(&self) -> usize {
        self.rows.nrows()
    }

    /// The prior with dataset `out` left out.
    pub fn without(&self, out: usize, settings: &PriorSettings) -> Result<Prior, SurrogateError> {
        let mut weights = vec![1.0; self.n_datasets()];
        match weights.get_mut(out) {
            Some(weight) => *weight = 0.0,
            None => {
                let size = self.n_datasets();
                return Err(SurrogateError::OutOfRange { what: "dataset", index: out, size });
            }
        }
        self.fit(&weights, settings)
    }

    /// The prior with dataset `i` counting `weights[i]` times; with 0 it has no influence at all.
    pub fn fit(&self, weights: &[f64], settings: &PriorSettings) -> Result<Prior, SurrogateError> {
        let (m, n) = (self.rows.nrows(), self.rows.ncols());
        if weights.len() != m {
            return Err(SurrogateError::Size { what: "weights", wanted: m, got: weights.len() });
        }
        let (total, freedom) = total_and_freedom(weights)?;
        if !settings.noise.is_finite() || settings.noise <= 0.0 {
            let (name, value) = ("noise of the prior", settings.noise);
            return Err(SurrogateError::Setting { name, value, wanted: "above zero" });
        }
        let (directions, rank) = self.directions(weights, total, freedom, settings.rank)?;
        // One product for the mean and the factor: the mean's coefficients are the first row.
        let mut product = Mat::<f32>::zeros(rank + 1, n);
        let par = Par::Seq;
        matmul(product.as_mut(), Accum::Replace, directions.as_ref(), self.rows.as_ref(), 1.0, par);
        let mean: Vec<f64> = (0..n).map(|j| f64::from(product[(0, j)])).collect();
        let own = product.as_ref().subrows(1, rank);
        let factor = match &settings.separable {
            None => own.to_owned(),
            Some(separable) => {
                let deviations = Mat::from_fn(m, n, |i, j| {
                    ((weights[i] / freedom).sqrt() * (f64::from(self.rows[(i, j)]) - mean[j]))
                        as f32
                });
                separable.blend(own, deviations.as_ref(), settings.rank)?
            }
        };
        let least = settings.noise.powi(2);
        let mut noise = self.unexplained(weights, total, freedom, &mean, factor.as_ref());
        noise.iter_mut().for_each(|v| *v += least);
        let factor = Array2::from_shape_fn((factor.nrows(), n), |(i, j)| factor[(i, j)]);
        Ok(Prior { scale: self.scale, mean, factor: Panels::new(factor.view()), noise })
    }

    /// The paper's embeddings of the same rows (PCA, not centred): right factors of a thin singular value
    /// decomposition, rank x pipelines, nested, with orthonormal rows. Rows of weight 0 are left out.
    pub fn embeddings(&self, weights: &[f64], rank: usize) -> Result<Array2<f32>, SurrogateError> {
        let m = self.n_datasets();
        if weights.len() != m {
            return Err(SurrogateError::Size { what: "weights", wanted: m, got: weights.len() });
        }
        let kept: Vec<usize> = (0..m).filter(|&i| weights[i] > 0.0).collect();
        if kept.is_empty() {
            return Err(SurrogateError::Empty { what: "rows to embed" });
        }
        let eigen = Mat::from_fn(kept.len(), kept.len(), |a, b| self.gram[(kept[a], kept[b])])
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| SurrogateError::NotConverged { what: "eigenvectors of the rows" })?;
        let last = kept.len() - 1;
        let floor = 1e-10 * eigen.S()[last].max(f64::MIN_POSITIVE);
        let rank = rank.min((0..=last).filter(|&i| eigen.S()[i] > floor).count());
        let mut coefficients = Mat::<f32>::zeros(rank, m);
        for r in 0..rank {
            let u = eigen.U().col(last - r);
            let top = (0..=last).fold(0, |t, a| if u[a].abs() > u[t].abs() { a } else { t });
            let size = eigen.S()[last - r].sqrt() * u[top].signum();
            kept.iter().enumerate().for_each(|(a, &i)| coefficients[(r, i)] = (u[a] / size) as f32);
        }
        let mut y = Mat::<f32>::zeros(rank, self.rows.ncols());
        let par = Par::Seq;
        matmul(y.as_mut(), Accum::Replace, coefficients.as_ref(), self.rows.as_ref(), 1.0, par);
        Ok(Array2::from_shape_fn((rank, y.ncols()), |(i, j)| y[(i, j)]))
    }

    /// Coefficients of the rows: first those of the mean, then those of each principal direction times its
    /// standard deviation. Also the rank, which is cut to the directions there are.
    fn directions(
        &self,
        weights: &[f64],
        total: f64,
        freedom: f64,
        rank: usize,
    ) -> Result<(Mat<f32>, usize), SurrogateError> {
        let m = weights.len();
        let kept: Vec<usize> = (0..m).filter(|&i| weights[i] > 0.0).collect();
        // Centre on both sides: (I - 1 wᵀ) G (I - w 1ᵀ), then weigh by the roots.
        let share: Vec<f64> = kept.iter().map(|&i| weights[i] / total).collect();
        let g = |a: usize, b: usize| self.gram[(kept[a], kept[b])];
        let with_mean: Vec<f64> =
            (0..kept.len()).map(|a| (0..kept.len()).map(|b| share[b] * g(a, b)).sum()).collect();
        let mean_squared: f64 = share.iter().zip(&with_mean).map(|(s, x)| s * x).sum();
        let root: Vec<f64> = kept.iter().map(|&i| weights[i].sqrt()).collect();
        let centred = Mat::from_fn(kept.len(), kept.len(), |a, b| {
            root[a] * root[b] * (g(a, b) - with_mean[a] - with_mean[b] + mean_squared)
        });
        let eigen = centred
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| SurrogateError::NotConverged { what: "eigenvectors of the prior" })?;
        let (values, vectors) = (eigen.S(), eigen.U());
        let last = kept.len() - 1;
        let floor = values[last].max(0.0) * 1e-10;
        let found = (0..=last).filter(|&i| values[i] > floor).count();
        let rank = rank.min(found);
        let mut coefficients = Mat::<f32>::zeros(rank + 1, m);
        for (a, &i) in kept.iter().enumerate() {
            coefficients[(0, i)] = share[a] as f32;
        }
        for r in 0..rank {
            let u = vectors.col(last - r);
            // A direction and its opposite are the same; the largest entry decides, so runs agree.
            let top = (0..=last).fold(0, |t, a| if u[a].abs() > u[t].abs() { a } else { t });
            let sign = if u[top] < 0.0 { -1.0 } else { 1.0 } / freedom.sqrt();
            // Minus the mean's share, so that the product with raw rows is that with centred ones.
            let level: f64 = (0..=last).map(|a| u[a] * root[a]).sum();
            for (a, &i) in kept.iter().enumerate() {
                coefficients[(r + 1, i)] = (sign * (u[a] * root[a] - level * share[a])) as f32;
            }
        }
        Ok((coefficients, rank))
    }

    /// Per pipeline the mean squared residual after the kept directions.
    fn unexplained(
        &self,
        weights: &[f64],
        total: f64,
        freedom: f64,
        mean: &[f64],
        factor: MatRef<f32>,
    ) -> Vec<f64> {
        let residual = |j: usize| {
            let column = self.rows.col(j);
            let spread: f64 = weights
                .iter()
                .zip(column.iter())
                .map(|(w, &x)| w * (f64::from(x) - mean[j]).powi(2))
                .sum();
            let explained: f64 = factor.col(j).iter().map(|&l| f64::from(l).powi(2)).sum();
            ((spread - freedom * explained) / total).max(0.0)
        };
        (0..mean.len()).map(residual).collect()
    }
}

/// The sum of weights, and the divisor of a covariance: unbiased, for equal weights their number less one.
fn total_and_freedom(weights: &[f64]) -> Result<(f64, f64), SurrogateError> {
    if let Some(at) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
        let (name, value) = ("weight of a dataset", weights[at]);
        return Err(SurrogateError::Setting { name, value, wanted: "zero or more" });
    }
    let total: f64 = weights.iter().sum();
    let freedom = total - weights.iter().map(|w| w * w).sum::<f64>() / total;
    if total <= 0.0 || freedom <= total * 1e-9 {
        return Err(SurrogateError::Empty { what: "prior: fewer than two datasets" });
    }
    Ok((total, freedom))
}

/// `R Rᵀ`: products in f32 over stretches of columns, summed in f64.
fn gram(rows: MatRef<f32>) -> Mat<f64> {
    const STRETCH: usize = 1024;
    let m = rows.nrows();
    let mut sum = Mat::<f64>::zeros(m, m);
    let mut part = Mat::<f32>::zeros(m, m);
    for start in (0..rows.ncols()).step_by(STRETCH) {
        let stretch = rows.subcols(start, STRETCH.min(rows.ncols() - start));
        triangular::matmul(
            part.as_mut(),
            triangular::BlockStructure::TriangularLower,
            Accum::Replace,
            stretch,
            triangular::BlockStructure::Rectangular,
            stretch.transpose(),
            triangular::BlockStructure::Rectangular,
            1.0,
            Par::Seq,
        );
        for j in 0..m {
            for i in j..m {
                sum[(i, j)] += f64::from(part[(i, j)]);
            }
        }
    }
    for j in 0..m {
        for i in 0..j {
            sum[(i, j)] = sum[(j, i)];
        }
    }
    sum
}
