//! The training matrix as the linear solvers read it: rows of equal padded length, the constant last.

use crate::{Features, FitContext, FitError};

use super::lanes::{Quad, WIDTH};

/// Rows padded with zeros to whole vectors, and empty rows up to a multiple of four, so that no inner
/// loop has a tail. Columns are divided by `scale`.
pub(crate) struct Rows {
    /// How many rows hold data.
    pub n: usize,
    /// How many columns hold data, the constant included.
    pub d: usize,
    /// Vectors per row.
    pub stride: usize,
    /// `n` rounded up to a multiple of four, rows of `stride` vectors.
    pub data: Vec<Quad>,
    /// What each column was divided by.
    pub scale: Vec<f64>,
}

impl Rows {
    /// The rows of `x` as they are, followed by a constant 1 if `intercept` says so.
    pub(crate) fn raw(
        x: &Features,
        intercept: bool,
        ctx: &FitContext,
        name: &'static str,
    ) -> Result<Self, FitError> {
        let ones = vec![1.0; x.n_cols() + usize::from(intercept)];
        Self::with_scale(x, intercept, ones, false, ctx, name)
    }

    /// Columns scaled to at most 1, which keeps squares finite whatever the input's magnitude.
    pub(crate) fn scaled(
        x: &Features,
        intercept: bool,
        ctx: &FitContext,
        name: &'static str,
    ) -> Result<Self, FitError> {
        // Below 1e-140 a column has no weight worth having, and its reciprocal square overflows.
        let largest = |j: usize| x.column(j).iter().fold(1e-140_f64, |m, value| m.max(value.abs()));
        let mut scale: Vec<f64> = (0..x.n_cols()).map(largest).collect();
        if intercept {
            scale.push(1.0);
        }
        Self::with_scale(x, intercept, scale, true, ctx, name)
    }

    fn with_scale(
        x: &Features,
        intercept: bool,
        scale: Vec<f64>,
        divide: bool,
        ctx: &FitContext,
        name: &'static str,
    ) -> Result<Self, FitError> {
        let (n, p) = (x.n_rows(), x.n_cols());
        let d = p + usize::from(intercept);
        let stride = d.div_ceil(WIDTH);
        let n_padded = n.next_multiple_of(WIDTH);
        ctx.check_memory(name, (n_padded * stride * WIDTH * size_of::<f64>()) as u64)?;
        let mut data = vec![[0.0; WIDTH]; n_padded * stride];
        // Blocks of rows by all columns: reads run along columns, writes stay within the block.
        const BLOCK: usize = 64;
        let ones = [1.0; BLOCK];
        for start in (0..n).step_by(BLOCK) {
            ctx.check_deadline()?;
            let end = (start + BLOCK).min(n);
            let column = |j: usize| match j {
                j if j < p => &x.column(j)[start..end],
                _ => &ones[..end - start],
            };
            for quad in 0..stride {
                let first = quad * WIDTH;
                let lanes = WIDTH.min(d - first);
                let [a, b, c, e]: [&[f64]; WIDTH] =
                    std::array::from_fn(|lane| column((first + lane).min(d - 1)));
                let s: Quad = std::array::from_fn(|lane| scale[(first + lane).min(d - 1)]);
                let out = data[start * stride + quad..].iter_mut().step_by(stride);
                for (i, out) in (0..end - start).zip(out) {
                    let mut values = [a[i], b[i], c[i], e[i]];
                    if divide {
                        values = std::array::from_fn(|lane| values[lane] / s[lane]);
                    }
                    values[lanes..].fill(0.0);
                    *out = values;
                }
            }
        }
        Ok(Self { n, d, stride, data, scale })
    }

    /// How many rows there are with the empty ones.
    pub(crate) fn n_padded(&self) -> usize {
        self.n.next_multiple_of(WIDTH)
    }

    /// One row.
    #[inline(always)]
    pub(crate) fn row(&self, i: usize) -> &[Quad] {
        &self.data[i * self.stride..(i + 1) * self.stride]
    }

    /// A vector of this width, zero.
    pub(crate) fn zeros(&self) -> Vec<Quad> {
        vec![[0.0; WIDTH]; self.stride]
    }
}
