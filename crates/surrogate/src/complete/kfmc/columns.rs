//! Codes of pipelines that the dictionary was not made from.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::batch::{Shared, Work};
use super::predict::NEW_COLUMN_ROUNDS;
use super::{CHUNK, KernelModel, Kfmc};
use crate::columns::NewColumns;
use crate::{Scalar, SurrogateError};

/// Measured datasets that kin, or the columns of one kind or setting, count as.
const PULL: f64 = 4.0;

impl<T: Scalar> KernelModel<T> {
    /// The model with the codes of new columns behind its own.
    ///
    /// A column of which something was measured is completed by the paper's out-of-sample extension
    /// (`Eq.KFMC_ose1`), which gives it a code; codes are then shrunk, by kind, by setting and each alone,
    /// towards the mean code of kin.
    pub fn with_columns(&self, new: &NewColumns) -> Result<Self, SurrogateError> {
        let r = self.dictionary.r;
        new.check(self.n_pipelines(), self.dictionary.m)?;
        let kin = new.kin_means(r, |i, j| self.codes[j * r + i].wide());
        let mut codes: Vec<Vec<f64>> = new.columns.iter().map(|c| kin[c.kin].clone()).collect();
        let measured: Vec<usize> =
            (0..codes.len()).filter(|&j| !new.columns[j].measured.is_empty()).collect();
        let own = self.codes_of(new, &measured)?;
        let mut rest: Vec<Option<Vec<f64>>> = vec![None; codes.len()];
        for (&j, own) in measured.iter().zip(own) {
            rest[j] = Some(own.iter().zip(&codes[j]).map(|(z, kin)| z - kin).collect());
        }
        for groups in new.levels() {
            for members in groups {
                let seen: Vec<usize> =
                    members.iter().copied().filter(|&j| rest[j].is_some()).collect();
                let datasets: BTreeSet<usize> = seen
                    .iter()
                    .flat_map(|&j| new.columns[j].measured.iter().map(|m| m.0))
                    .collect();
                if seen.is_empty() {
                    continue;
                }
                let n = datasets.len() as f64;
                let share = n / (n + PULL) / seen.len() as f64;
                let mut shift = vec![0.0; r];
                for own in seen.iter().filter_map(|&j| rest[j].as_ref()) {
                    shift.iter_mut().zip(own).for_each(|(s, v)| *s += share * v);
                }
                for &j in &members {
                    codes[j].iter_mut().zip(&shift).for_each(|(z, s)| *z += s);
                }
                for &j in &seen {
                    if let Some(rest) = &mut rest[j] {
                        rest.iter_mut().zip(&shift).for_each(|(v, s)| *v -= s);
                    }
                }
            }
        }
        let mut extended = self.clone();
        extended.codes.extend(codes.iter().flatten().map(|&v| T::of(v)));
        Ok(extended)
    }

    /// Codes from what was measured of some new columns alone.
    fn codes_of(&self, new: &NewColumns, which: &[usize]) -> Result<Vec<Vec<f64>>, SurrogateError> {
        let (m, r) = (self.dictionary.m, self.dictionary.r);
        let shared = Shared::new(&self.dictionary, self.beta)?;
        let settings = Kfmc::new(r);
        let code = |chunk: &[usize]| -> Vec<Vec<f64>> {
            let mut columns: Vec<T> = Vec::with_capacity(chunk.len() * m);
            let mut missing = vec![true; chunk.len() * m];
            for (at, &j) in chunk.iter().enumerate() {
                columns.extend(self.row_means.iter().map(|&v| T::of(v)));
                for &(d, error) in &new.columns[j].measured {
                    columns[at * m + d] = T::of(error);
                    missing[at * m + d] = false;
                }
            }
            let all: Vec<usize> = (0..chunk.len()).collect();
            let mut work = Work::gather(&all, &columns, &missing, m, r);
            work.iterate(&self.dictionary, &shared, &settings, NEW_COLUMN_ROUNDS);
            work.encode(&self.dictionary, &shared);
            work.codes.chunks(r).map(|z| z.iter().map(|v| v.wide()).collect()).collect()
        };
        Ok(which.par_chunks(CHUNK).flat_map_iter(code).collect())
    }
}
