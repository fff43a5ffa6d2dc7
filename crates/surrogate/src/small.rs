//! Small dense symmetric problems in f64, row-major: the rank-by-rank and block-by-block side of things.

/// A square matrix, row-major.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Square {
    n: usize,
    a: Vec<f64>,
}

impl Square {
    pub(crate) fn zeros(n: usize) -> Self {
        Self { n, a: vec![0.0; n * n] }
    }

    pub(crate) fn identity(n: usize) -> Self {
        let mut m = Self::zeros(n);
        (0..n).for_each(|i| m.a[i * n + i] = 1.0);
        m
    }

    pub(crate) fn size(&self) -> usize {
        self.n
    }

    pub(crate) fn at(&self, i: usize, j: usize) -> f64 {
        self.a[i * self.n + j]
    }

    pub(crate) fn set(&mut self, i: usize, j: usize, value: f64) {
        self.a[i * self.n + j] = value;
    }

    pub(crate) fn row(&self, i: usize) -> &[f64] {
        &self.a[i * self.n..(i + 1) * self.n]
    }

    /// `A x`.
    pub(crate) fn times(&self, x: &[f64]) -> Vec<f64> {
        self.a.chunks_exact(self.n.max(1)).map(|row| dot(row, x)).collect()
    }

    /// `A += c x xᵀ`.
    pub(crate) fn add_outer(&mut self, c: f64, x: &[f64]) {
        for (row, &xi) in self.a.chunks_exact_mut(self.n.max(1)).zip(x) {
            let s = c * xi;
            row.iter_mut().zip(x).for_each(|(a, &xj)| *a += s * xj);
        }
    }

    /// The lower triangular `L` with `L Lᵀ = A`, or `None` where `A` is not positive definite.
    pub(crate) fn cholesky(mut self) -> Option<Lower> {
        let n = self.n;
        for j in 0..n {
            let (above, below) = self.a.split_at_mut((j + 1) * n);
            let row_j = &mut above[j * n..];
            let pivot = row_j[j] - dot(&row_j[..j], &row_j[..j]);
            if pivot <= 0.0 || !pivot.is_finite() {
                return None;
            }
            row_j[j] = pivot.sqrt();
            for row_i in below.chunks_exact_mut(n) {
                row_i[j] = (row_i[j] - dot(&row_i[..j], &row_j[..j])) / row_j[j];
            }
            row_j[j + 1..].fill(0.0);
        }
        Some(Lower(self))
    }
}

/// A lower triangular matrix.
#[derive(Clone, Debug)]
pub(crate) struct Lower(Square);

impl Lower {
    pub(crate) fn at(&self, i: usize, j: usize) -> f64 {
        self.0.at(i, j)
    }

    pub(crate) fn row(&self, i: usize) -> &[f64] {
        &self.0.a[i * self.0.n..i * self.0.n + i + 1]
    }

    /// `L⁻¹ b`.
    pub(crate) fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut x = b.to_vec();
        for i in 0..self.0.n {
            let row = self.row(i);
            x[i] = (x[i] - dot(&row[..i], &x[..i])) / row[i];
        }
        x
    }

    /// `L⁻ᵀ b`.
    pub(crate) fn solve_transposed(&self, b: &[f64]) -> Vec<f64> {
        let mut x = b.to_vec();
        for i in (0..self.0.n).rev() {
            let row = self.row(i);
            x[i] /= row[i];
            let xi = x[i];
            x[..i].iter_mut().zip(&row[..i]).for_each(|(x, l)| *x -= l * xi);
        }
        x
    }

    /// `(L Lᵀ)⁻¹`.
    pub(crate) fn inverse(&self) -> Square {
        let n = self.0.n;
        let mut inverse = Square::zeros(n);
        for j in 0..n {
            let mut unit = vec![0.0; n];
            unit[j] = 1.0;
            let column = self.solve_transposed(&self.solve(&unit));
            (0..n).for_each(|i| inverse.set(i, j, column[i]));
        }
        inverse
    }

    /// `log det(L Lᵀ)`.
    pub(crate) fn log_det(&self) -> f64 {
        2.0 * (0..self.0.n).map(|i| self.0.at(i, i).ln()).sum::<f64>()
    }
}

/// The scalar product; four running sums, so that the additions need not wait for one another.
#[inline]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a4, b4) = (a.chunks_exact(4), b[..a.len()].chunks_exact(4));
    let rest: f64 = a4.remainder().iter().zip(b4.remainder()).map(|(x, y)| x * y).sum();
    let mut sums = [0.0; 4];
    for (x, y) in a4.zip(b4) {
        (0..4).for_each(|l| sums[l] += x[l] * y[l]);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_undoes_its_matrix_and_an_indefinite_one_has_none() {
        let mut a = Square::identity(5);
        for k in 0..4 {
            let x: Vec<f64> = (0..5).map(|i| ((3 * k + i) as f64).cos()).collect();
            a.add_outer(2.0, &x);
        }
        let factor = a.clone().cholesky().unwrap();
        let inverse = factor.inverse();
        for j in 0..5 {
            let column: Vec<f64> = (0..5).map(|i| inverse.at(i, j)).collect();
            for (i, v) in a.times(&column).into_iter().enumerate() {
                assert!((v - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
        a.set(2, 2, -1.0);
        assert!(a.cholesky().is_none());
    }
}
