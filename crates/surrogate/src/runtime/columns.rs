//! Polynomials of pipelines that a runtime model was not learned from.

use super::polynomial::fit_robustly;
use super::{BEND, DatasetSize, RuntimeModel, check_size};
use crate::SurrogateError;
use crate::columns::NewColumns;

/// Runs that the polynomial of a kind, a setting and a column is held to that of the step before by.
const PULLS: [f64; 3] = [1.0, 2.0, 4.0];

impl RuntimeModel {
    /// The model with polynomials of new columns behind its own, given the seconds that were measured of them
    /// on datasets of these sizes.
    ///
    /// The logarithm of a new column's seconds is the mean polynomial of its kin, and one each for how its
    /// kind, its setting and it alone deviate from that.
    pub fn with_columns(
        &self,
        sizes: &[DatasetSize],
        new: &NewColumns,
    ) -> Result<Self, SurrogateError> {
        new.check(self.n_pipelines(), sizes.len())?;
        sizes.iter().enumerate().try_for_each(|(at, size)| check_size(at, size))?;
        if !self.form.is_log() {
            let (name, wanted) = ("form of runtimes", "that of logarithms");
            return Err(SurrogateError::Setting { name, value: 0.0, wanted });
        }
        let variables = |size: &DatasetSize| self.form.variables(size, self.with_classes);
        let rows: Vec<Vec<f64>> = sizes.iter().map(|s| self.terms.of(&variables(s))).collect();
        let kin = new.kin_means(self.terms.len(), |t, j| self.coefficients[j][t]);
        let mut added: Vec<Vec<f64>> = new.columns.iter().map(|c| kin[c.kin].clone()).collect();
        let value = |coefficients: &[f64], i: usize| -> f64 {
            coefficients.iter().zip(&rows[i]).map(|(c, x)| c * x).sum()
        };
        let mut rest: Vec<Vec<(usize, f64)>> = new
            .columns
            .iter()
            .zip(&added)
            .map(|(column, expected)| {
                let ran = column.measured.iter().filter(|(_, secs)| *secs > 0.0);
                ran.map(|&(i, secs)| (i, secs.ln() - value(expected, i))).collect()
            })
            .collect();
        let none = vec![0.0; self.terms.len()];
        for (groups, pull) in new.levels().into_iter().zip(PULLS) {
            for members in groups {
                let mut sums = vec![(0.0, 0.0); rows.len()];
                for &(i, residual) in members.iter().flat_map(|&j| &rest[j]) {
                    sums[i].0 += residual;
                    sums[i].1 += 1.0;
                }
                let runs: Vec<(usize, f64)> = (0..rows.len())
                    .filter(|&i| sums[i].1 > 0.0)
                    .map(|i| (i, sums[i].0 / sums[i].1))
                    .collect();
                if runs.is_empty() {
                    continue;
                }
                let shift = fit_robustly(&rows, &runs, &none, pull, BEND)?;
                for &j in &members {
                    added[j].iter_mut().zip(&shift).for_each(|(c, s)| *c += s);
                    for (i, residual) in &mut rest[j] {
                        *residual -= value(&shift, *i);
                    }
                }
            }
        }
        let mut extended = self.clone();
        extended.coefficients.extend(added);
        Ok(extended)
    }
}
