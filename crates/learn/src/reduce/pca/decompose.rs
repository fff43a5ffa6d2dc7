//! One decomposition of the centred training matrix, from which any number of components is taken.
//!
//! The Gram matrix of the shorter side is the cheapest way, but it squares the condition number. Where
//! the components asked for reach down to where that matters, the triangular factor of the taller
//! side, made block by block, is decomposed instead: no accuracy is lost, at two to four times the
//! cost. Which way a number of components takes depends on the data alone, never on what else is asked.

use std::sync::{Arc, OnceLock};

use faer::Mat;

use super::matrix::{self, Centring, Tall};
use super::{FittedPca, lapack};
use crate::{Features, FitContext, FitError};

/// The smallest eigenvalue, relative to the largest, whose direction the Gram matrix gives to about
/// nine digits.
const GRAM_RESOLVES: f64 = 1e-7;

/// Floating-point operations per second that the slowest factorisation reaches, on the safe side; what
/// cannot be interrupted is refused if at this rate it would not be done in time.
const SAFE_FLOPS: f64 = 2e9;

/// How a number of components is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Factor {
    /// Eigenvectors of the Gram matrix.
    Gram,
    /// Singular vectors of the triangular factor.
    Triangular,
}

/// Singular values, descending, and orthonormal vectors along the shorter side.
struct Spectrum {
    singular_values: Vec<f64>,
    vectors: Mat<f64>,
}

/// The decomposed training matrix.
pub(crate) struct Decomposition {
    x: Arc<Features>,
    centring: Centring,
    gram: Spectrum,
    triangular: OnceLock<Result<Spectrum, FitError>>,
}

impl Decomposition {
    /// Decomposes the centred rows of `x`.
    pub(crate) fn of(x: &Arc<Features>, ctx: &FitContext) -> Result<Self, FitError> {
        let centring = Centring::of(x, ctx)?;
        let tall = Tall::of(x, &centring);
        check_factorisation(&tall, 9.0, ctx)?;
        let gram = tall.gram(ctx)?;
        check_factorisation(&tall, 9.0, ctx)?;
        let (values, vectors) = lapack::eigen(&gram)?;
        let singular_values = values.iter().map(|v| v.max(0.0).sqrt()).collect();
        let gram = Spectrum { singular_values, vectors };
        Ok(Self { x: Arc::clone(x), centring, gram, triangular: OnceLock::new() })
    }

    /// How `n_components` are computed.
    pub(crate) fn method(&self, n_components: usize) -> Factor {
        let values = &self.gram.singular_values;
        let (first, last) = (values[0], values[n_components - 1]);
        if last * last >= GRAM_RESOLVES * first * first && first > 0.0 {
            Factor::Gram
        } else {
            Factor::Triangular
        }
    }

    /// The first `n_components`, and the training rows' coordinates along them.
    pub(crate) fn reducer(
        &self,
        n_components: usize,
        ctx: &FitContext,
    ) -> Result<(FittedPca, Features), FitError> {
        let spectrum = match self.method(n_components) {
            Factor::Gram => &self.gram,
            Factor::Triangular => self.by_triangular_factor(ctx)?,
        };
        let (n, p) = (self.x.n_rows(), self.x.n_cols());
        ctx.check_memory("pca", ((n + p) * n_components * 8) as u64)?;
        let mut axes = self.axes(spectrum, n_components, ctx)?;
        let mut scores = vec![0.0; n * n_components];
        matrix::project(&self.x, &self.centring, &axes, &mut scores, ctx)?;
        orient(&mut axes, &mut scores, n_components);
        let pca = FittedPca { centring: self.centring.clone(), n_components, axes };
        Ok((pca, Features::from_columns(n, n_components, scores)))
    }

    fn by_triangular_factor(&self, ctx: &FitContext) -> Result<&Spectrum, FitError> {
        // A result that depends on this caller's deadline must not be kept for the next.
        if let Some(done) = self.triangular.get() {
            return done.as_ref().map_err(Clone::clone);
        }
        let spectrum = triangular_spectrum(&Tall::of(&self.x, &self.centring), ctx)?;
        self.triangular.get_or_init(|| Ok(spectrum)).as_ref().map_err(Clone::clone)
    }

    /// The axes in feature space, one after the other; an axis along which nothing varies is zero.
    fn axes(
        &self,
        spectrum: &Spectrum,
        n_components: usize,
        ctx: &FitContext,
    ) -> Result<Vec<f64>, FitError> {
        let (n, p) = (self.x.n_rows(), self.x.n_cols());
        let values = &spectrum.singular_values;
        let negligible = values[0] * f64::EPSILON * n.max(p) as f64;
        let mut axes = vec![0.0; p * n_components];
        for (k, axis) in axes.chunks_exact_mut(p).enumerate() {
            ctx.check_deadline()?;
            if values[k] <= negligible {
                continue;
            }
            let vector = spectrum.vectors.col_as_slice(k);
            if p <= n {
                axis.copy_from_slice(vector);
            } else {
                self.axis_of_rows(vector, axis);
            }
        }
        Ok(axes)
    }

    /// The unit axis that weights of the rows span.
    fn axis_of_rows(&self, weights: &[f64], axis: &mut [f64]) {
        self.centring.weighted_sum_of_rows(&self.x, weights, axis);
        let length = axis.iter().map(|v| v * v).sum::<f64>().sqrt();
        axis.iter_mut().for_each(|v| *v /= length);
    }
}

fn triangular_spectrum(tall: &Tall<'_>, ctx: &FitContext) -> Result<Spectrum, FitError> {
    check_factorisation(tall, 25.0, ctx)?;
    let (width, height) = (tall.width(), tall.height());
    let step = tall.block_height();
    // The factor so far above the next block of rows: factorised together they are the next factor.
    let mut stack = Mat::<f64>::zeros(width + step, width);
    for start in (0..height).step_by(step) {
        ctx.check_deadline()?;
        let rows = step.min(height - start);
        let mut part = stack.as_mut().subrows_mut(0, width + rows);
        tall.copy_block(start, part.as_mut().subrows_mut(width, rows));
        lapack::triangular_factor(part);
    }
    check_factorisation(tall, 25.0, ctx)?;
    let factor = stack.as_ref().subrows(0, width).to_owned();
    let (singular_values, vectors) = lapack::right_singular(&factor)?;
    Ok(Spectrum { singular_values, vectors })
}

/// Refuses a factorisation of about `cost * width^3` operations that would miss the deadline or not
/// fit in memory.
fn check_factorisation(tall: &Tall<'_>, cost: f64, ctx: &FitContext) -> Result<(), FitError> {
    let width = tall.width() as f64;
    ctx.check_memory("pca", (4.0 * 8.0 * width * width) as u64)?;
    ctx.check_deadline()?;
    let secs = cost * width * width * width / SAFE_FLOPS;
    match ctx.remaining() {
        Some(left) if secs > left.as_secs_f64() => Err(FitError::OutOfTime),
        _ => Ok(()),
    }
}

/// Turns each axis so that the training row farthest along it is on its positive side, as
/// scikit-learn's `svd_flip` does.
fn orient(axes: &mut [f64], scores: &mut [f64], n_components: usize) {
    let (p, n) = (axes.len() / n_components, scores.len() / n_components);
    for (axis, score) in axes.chunks_exact_mut(p).zip(scores.chunks_exact_mut(n)) {
        let farthest = score.iter().fold(0.0f64, |m, &v| if v.abs() > m.abs() { v } else { m });
        if farthest < 0.0 {
            axis.iter_mut().for_each(|v| *v = -*v);
            score.iter_mut().for_each(|v| *v = -*v);
        }
    }
}
