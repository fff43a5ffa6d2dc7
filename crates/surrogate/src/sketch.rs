//! Sums of squares of more rows than are held at once, in a thin factor.
//!
//! Embeddings and priors see rows only through `Eᵀ E`. A sketch keeps its leading directions: rows are stacked under those
//! that are kept, and whenever there are twice as many, the leading ones of both are kept (an incremental singular value
//! decomposition). It takes the memory of `2 rank` rows, however many are pushed.

use ndarray::{Array2, ArrayView2};

use crate::SurrogateError;
use crate::algebra::{self, gram_of_columns, rows, rows_mut};
use crate::complete::multiply_by_columns;

/// Takes rows in.
#[derive(Clone, Debug)]
pub struct Sketch {
    rank: usize,
    n_columns: usize,
    /// What was kept, then rows that came since.
    held: Vec<f32>,
    squares: Vec<f64>,
}

/// What rows came to.
#[derive(Clone, Debug)]
pub struct Sketched {
    /// `B`, at most rank x columns: `Bᵀ B` is nearly the rows' `Eᵀ E`.
    pub rows: Array2<f32>,
    /// The sum of squares of each column, of all rows and in all directions.
    pub squares: Vec<f64>,
}

impl Sketch {
    /// Of rows of this length, in so many directions.
    pub fn new(n_columns: usize, rank: usize) -> Self {
        let held = Vec::new();
        Self { rank: rank.max(1), n_columns, held, squares: vec![0.0; n_columns] }
    }

    /// Takes rows in.
    pub fn push(&mut self, block: ArrayView2<'_, f32>) -> Result<(), SurrogateError> {
        let (wanted, got) = (self.n_columns, block.ncols());
        if wanted != got {
            return Err(SurrogateError::Size { what: "rows to sketch", wanted, got });
        }
        for row in block.rows() {
            for ((sum, at), &v) in self.squares.iter_mut().zip(0..).zip(row) {
                if !v.is_finite() {
                    let value = f64::from(v);
                    return Err(SurrogateError::NotFinite { what: "rows to sketch", at, value });
                }
                *sum += f64::from(v).powi(2);
            }
            self.held.extend(row);
            if self.n_held() == 2 * self.rank {
                self.compress()?;
            }
        }
        Ok(())
    }

    /// The leading directions of all rows.
    pub fn finish(mut self) -> Result<Sketched, SurrogateError> {
        if self.held.is_empty() {
            return Err(SurrogateError::Empty { what: "the rows to sketch" });
        }
        if self.n_held() > self.rank {
            self.compress()?;
        }
        let shape = (self.n_held(), self.n_columns);
        let rows = Array2::from_shape_vec(shape, self.held).expect("whole rows");
        Ok(Sketched { rows, squares: self.squares })
    }

    fn n_held(&self) -> usize {
        self.held.len() / self.n_columns
    }

    /// `Uᵀ B` of the leading left singular vectors of what is held.
    fn compress(&mut self) -> Result<(), SurrogateError> {
        let (p, n) = (self.n_held(), self.n_columns);
        let k = self.rank.min(p);
        let held = rows(&self.held, p, n);
        let gram = gram_of_columns(p, n, |a, b| held.subcols(a, b - a));
        let found = algebra::eigen(gram.as_ref(), k)?;
        let turn: Vec<f32> = (0..k * p).map(|at| found.vectors[(at % p, at / p)] as f32).collect();
        let mut kept = vec![0.0; k * n];
        multiply_by_columns(rows_mut(&mut kept, k, n), rows(&turn, k, p), held);
        self.held = kept;
        Ok(())
    }
}

impl Sketched {
    /// By how much the squares of each column exceed those of the directions that were kept.
    pub fn lost(&self) -> Vec<f64> {
        let mut lost = self.squares.clone();
        for row in self.rows.rows() {
            lost.iter_mut().zip(row).for_each(|(l, &v)| *l -= f64::from(v).powi(2));
        }
        lost.iter_mut().for_each(|l| *l = l.max(0.0));
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 60 rows of 30 columns, of rank 4 and a little more.
    fn table() -> Array2<f32> {
        Array2::from_shape_fn((60, 30), |(i, j)| {
            let (i, j) = (i as f32, j as f32);
            0.5 + 0.3 * (0.7 * i).sin() * (0.2 * j).cos()
                + 0.1 * (1.3 * i).cos() * (0.9 * j).sin()
                + 0.0005 * (i * j).sin()
        })
    }

    #[test]
    fn a_sketch_of_all_directions_has_the_sums_of_squares() {
        let e = table();
        let mut sketch = Sketch::new(30, 30);
        e.axis_chunks_iter(ndarray::Axis(0), 7).for_each(|block| sketch.push(block).unwrap());
        let done = sketch.finish().unwrap();
        let (wanted, got) = (e.t().dot(&e), done.rows.t().dot(&done.rows));
        assert!((&wanted - &got).iter().all(|d| d.abs() < 5e-3));
        assert!(done.lost().iter().all(|&l| l < 5e-3));
    }

    #[test]
    fn what_few_directions_lose_is_counted_by_column() {
        let e = table();
        let mut sketch = Sketch::new(30, 5);
        sketch.push(e.view()).unwrap();
        let done = sketch.finish().unwrap();
        assert_eq!(done.rows.nrows(), 5);
        let (wanted, got) = (e.t().dot(&e), done.rows.t().dot(&done.rows));
        assert!((&wanted - &got).iter().all(|d| d.abs() < 1e-2));
        for (j, lost) in done.lost().into_iter().enumerate() {
            let own = f64::from(wanted[(j, j)] - got[(j, j)]);
            assert!((lost - own).abs() < 5e-3, "{j}: {lost} {own}");
        }
    }

    #[test]
    fn bad_rows_are_refused() {
        let mut sketch = Sketch::new(3, 2);
        assert!(matches!(
            sketch.push(Array2::zeros((1, 2)).view()),
            Err(SurrogateError::Size { .. })
        ));
        let bad = Array2::from_elem((1, 3), f32::NAN);
        assert!(matches!(sketch.push(bad.view()), Err(SurrogateError::NotFinite { .. })));
        assert!(matches!(Sketch::new(3, 2).finish(), Err(SurrogateError::Empty { .. })));
    }
}
