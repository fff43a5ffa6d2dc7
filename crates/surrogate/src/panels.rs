//! A tall matrix of latent vectors, one per pipeline, laid out so that one pass applies it to vectors.
//!
//! Everything online is a product `g = Yᵀ q` of all pipelines' vectors with one vector or a few: the
//! payoffs of a design, the gain of an observation. Storage is f32 in panels of [`WIDTH`] pipelines, so
//! that a pass streams the matrix once and each SIMD lane is a pipeline of its own: no sums across lanes,
//! hence an order of summation that does not depend on the width of the vectors. Arithmetic is f64.

use ndarray::ArrayView2;

/// How many pipelines share a panel: one cache line pair, a multiple of every SIMD width.
pub(crate) const WIDTH: usize = 32;

/// `k x n` in panels: panel `p` holds, for each of the `k` coordinates, that of pipelines
/// `WIDTH p .. WIDTH (p + 1)`. The last panel is filled up with zeros.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Panels {
    rank: usize,
    n: usize,
    data: Vec<f32>,
}

impl Panels {
    /// Lays out `y`, rank x pipelines.
    pub(crate) fn new(y: ArrayView2<f32>) -> Self {
        let (rank, n) = y.dim();
        Self::from_rows(rank, n, |i, row| {
            row.iter_mut().zip(y.row(i)).for_each(|(to, &from)| *to = from);
        })
    }

    /// The same of rows that are read one after the other.
    pub(crate) fn from_rows(
        rank: usize,
        n: usize,
        mut read: impl FnMut(usize, &mut [f32]),
    ) -> Self {
        let mut data = vec![0.0; n.div_ceil(WIDTH) * rank * WIDTH];
        let mut row = vec![0.0; n];
        for i in 0..rank {
            read(i, &mut row);
            for (panel, lanes) in data.chunks_exact_mut(rank * WIDTH).zip(row.chunks(WIDTH)) {
                panel[i * WIDTH..][..lanes.len()].copy_from_slice(lanes);
            }
        }
        Self { rank, n, data }
    }

    /// Reads one coordinate of all pipelines.
    pub(crate) fn read_row(&self, i: usize, out: &mut [f32]) {
        for (p, lanes) in out[..self.n].chunks_mut(WIDTH).enumerate() {
            let start = (p * self.rank + i) * WIDTH;
            lanes.copy_from_slice(&self.data[start..][..lanes.len()]);
        }
    }

    /// How many coordinates a pipeline has.
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// How many pipelines there are.
    pub(crate) fn n(&self) -> usize {
        self.n
    }

    /// The vector of one pipeline.
    pub(crate) fn column(&self, j: usize) -> Vec<f64> {
        debug_assert!(j < self.n);
        let start = j / WIDTH * self.rank * WIDTH + j % WIDTH;
        (0..self.rank).map(|i| f64::from(self.data[start + i * WIDTH])).collect()
    }

    /// The whole matrix again, rank x pipelines, row-major.
    pub(crate) fn to_rows(&self) -> Vec<f32> {
        let mut rows = vec![0.0; self.rank * self.n];
        for (i, row) in rows.chunks_mut(self.n.max(1)).enumerate() {
            self.read_row(i, row);
        }
        rows
    }

    /// Walks over all panels with the products `yⱼ · q` of each `q` of `vectors`, in the best SIMD the
    /// machine has. `visit` sees the panel's number and, per vector, [`WIDTH`] products; it is inlined.
    #[inline(always)]
    pub(crate) fn for_each<V>(&self, vectors: &[Vec<f64>], visit: V)
    where
        V: FnMut(usize, &[[f64; WIDTH]]),
    {
        debug_assert!(vectors.iter().all(|q| q.len() == self.rank));
        pulp::Arch::new().dispatch(ForEach { panels: self, vectors, visit });
    }

    /// `Yᵀ q` for all pipelines.
    pub(crate) fn apply(&self, q: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.data.len() / self.rank.max(1)];
        self.for_each(&[q.to_vec()], |p, g| out[p * WIDTH..(p + 1) * WIDTH].copy_from_slice(&g[0]));
        out.resize(self.n, 0.0);
        out
    }

    /// The squared norms `|Lᵀ yⱼ|²` with the columns of `L` in `vectors`: quadratic forms
    /// `yⱼᵀ (L Lᵀ) yⱼ` of all pipelines.
    pub(crate) fn quadratic_forms(&self, vectors: &[Vec<f64>]) -> Vec<f64> {
        let mut out = vec![0.0; self.n.div_ceil(WIDTH) * WIDTH];
        self.for_each(vectors, |p, g| {
            for products in g {
                for (o, x) in out[p * WIDTH..(p + 1) * WIDTH].iter_mut().zip(products) {
                    *o += x * x;
                }
            }
        });
        out.truncate(self.n);
        out
    }
}

struct ForEach<'a, V> {
    panels: &'a Panels,
    vectors: &'a [Vec<f64>],
    visit: V,
}

impl<V: FnMut(usize, &[[f64; WIDTH]])> pulp::NullaryFnOnce for ForEach<'_, V> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let mut products = vec![[0.0; WIDTH]; self.vectors.len()];
        let panel_len = (self.panels.rank * WIDTH).max(1);
        for (p, panel) in self.panels.data.chunks_exact(panel_len).enumerate() {
            for (q, out) in self.vectors.iter().zip(&mut products) {
                *out = panel_times(panel, q);
            }
            (self.visit)(p, &products);
        }
    }
}

/// One panel's products with one vector; multiply, then add, never fused: fused results would differ
/// between machines with and without the instruction.
#[inline(always)]
fn panel_times(panel: &[f32], q: &[f64]) -> [f64; WIDTH] {
    let mut sums = [0.0; WIDTH];
    for (lanes, &q) in panel.chunks_exact(WIDTH).zip(q) {
        for l in 0..WIDTH {
            sums[l] += f64::from(lanes[l]) * q;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    #[test]
    fn products_are_those_of_the_plain_matrix_whatever_the_last_panel_holds() {
        let y = Array2::from_shape_fn((3, 45), |(i, j)| ((i * 45 + j) as f32 * 0.7).sin());
        let panels = Panels::new(y.view());
        let q = [0.5, -1.5, 2.0];
        let got = panels.apply(&q);
        assert_eq!(got.len(), 45);
        for j in 0..45 {
            let want: f64 = (0..3).map(|i| f64::from(y[(i, j)]) * q[i]).sum();
            assert!((got[j] - want).abs() < 1e-12);
            assert_eq!(panels.column(j)[2], f64::from(y[(2, j)]));
        }
        assert_eq!(panels.to_rows(), y.into_raw_vec_and_offset().0);
    }
}
