//! Matrices of numbers in few bytes.
//!
//! Errors are measured to about .01, so what describes them needs no seven digits: factors are kept as
//! multiples of a step of their row in one byte, or as half-precision numbers where rows must be exact to
//! three digits. Pipelines that differ in one component alone are alike, so that of such multiples only the change from
//! one of them to the next is kept. What is left of their regularity the compression of the file takes.

use std::ops::Range;

use half::f16;
use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::file::SurrogateFileError;

/// The largest multiple that a byte holds on both sides of zero.
const MOST: f32 = 127.0;

/// How the numbers of a matrix are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Form {
    /// Half precision.
    Half,
    /// Single precision.
    Single,
    /// One byte each, in steps of their row.
    Steps,
    /// The same, less those of an earlier column: the first of these distances that does not lead out of the matrix says
    /// which.
    Changes(Vec<u32>),
}

impl Form {
    /// Whether numbers are multiples of a step of their row.
    fn has_steps(&self) -> bool {
        matches!(self, Self::Steps | Self::Changes(_))
    }
}

/// The shape and form of a matrix, whose numbers follow in the order of the headers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    n_rows: u32,
    n_columns: u32,
    form: Form,
    /// The step of each row, where numbers are in steps.
    steps: Vec<f32>,
}

/// Matrices on their way into a file.
#[derive(Default)]
pub(super) struct Packer {
    pub(super) headers: Vec<Header>,
    pub(super) bytes: Vec<u8>,
}

impl Packer {
    /// Adds a matrix; `least_step` is what its numbers need not be more exact than.
    pub(super) fn add(&mut self, matrix: ArrayView2<f32>, form: Form, least_step: f32) {
        let mut steps = Vec::new();
        let runs = match &form {
            Form::Changes(distances) => runs(matrix.ncols(), distances),
            _ => Vec::new(),
        };
        for row in matrix.rows() {
            match &form {
                Form::Half => {
                    row.iter().for_each(|&v| self.bytes.extend(f16::from_f32(v).to_le_bytes()));
                }
                Form::Single => row.iter().for_each(|v| self.bytes.extend(v.to_le_bytes())),
                Form::Steps | Form::Changes(_) => {
                    let largest = row.iter().fold(0.0_f32, |most, v| most.max(v.abs()));
                    let step = (largest / MOST).max(least_step).max(f32::MIN_POSITIVE);
                    steps.push(step);
                    let begin = self.bytes.len();
                    self.bytes.extend(row.iter().map(|&v| ((v / step).round() as i8) as u8));
                    to_changes(&mut self.bytes[begin..], &runs);
                }
            }
        }
        let (n_rows, n_columns) = (matrix.nrows() as u32, matrix.ncols() as u32);
        self.headers.push(Header { n_rows, n_columns, form, steps });
    }

    /// Adds a list of numbers.
    pub(super) fn add_list(&mut self, values: &[f32], form: Form) {
        let view = ArrayView2::from_shape((1, values.len()), values).expect("one row");
        self.add(view, form, 0.0);
    }
}

/// Runs of columns of a row, each with how far before it lies what its values are told from.
fn runs(n_columns: usize, distances: &[u32]) -> Vec<(Range<usize>, usize)> {
    let mut end = n_columns;
    let mut runs = Vec::new();
    for &distance in distances {
        let from = (distance as usize).min(end);
        if from < end {
            runs.push((from..end, distance as usize));
        }
        end = from;
    }
    runs.reverse();
    runs
}

/// Puts changes in the place of values.
fn to_changes(row: &mut [u8], runs: &[(Range<usize>, usize)]) {
    for (columns, distance) in runs.iter().rev() {
        columns.clone().rev().for_each(|j| row[j] = row[j].wrapping_sub(row[j - distance]));
    }
}

/// Puts values in the place of changes.
fn from_changes(row: &mut [u8], runs: &[(Range<usize>, usize)]) {
    for (columns, distance) in runs {
        columns.clone().for_each(|j| row[j] = row[j].wrapping_add(row[j - distance]));
    }
}

/// Matrices on their way out of a file, in the order they were put in.
pub(super) struct Unpacker<'a> {
    headers: std::vec::IntoIter<Header>,
    bytes: &'a [u8],
}

impl<'a> Unpacker<'a> {
    pub(super) fn new(headers: Vec<Header>, bytes: &'a [u8]) -> Self {
        Self { headers: headers.into_iter(), bytes }
    }

    /// The next matrix, of which every number is finite.
    pub(super) fn next(&mut self) -> Result<Array2<f32>, SurrogateFileError> {
        let header = self.headers.next().ok_or_else(|| damaged("a matrix is missing"))?;
        let (rows, columns) = (header.n_rows as usize, header.n_columns as usize);
        let width = match header.form {
            Form::Half => 2,
            Form::Single => 4,
            Form::Steps | Form::Changes(_) => 1,
        };
        // What is asked for must be there before anything is set aside for it.
        let length = rows.checked_mul(columns).and_then(|n| n.checked_mul(width));
        let split = length.and_then(|n| self.bytes.split_at_checked(n));
        let (own, rest) = split.ok_or_else(|| damaged("a matrix ends too early"))?;
        self.bytes = rest;
        if header.form.has_steps() && header.steps.len() != rows {
            return Err(damaged("a matrix lacks the steps of its rows"));
        }
        let in_steps = |(row, &step): (&[u8], &f32)| -> Vec<f32> {
            row.iter().map(|&b| f32::from(b as i8) * step).collect()
        };
        let values: Vec<f32> = match &header.form {
            Form::Half => {
                own.as_chunks::<2>().0.iter().map(|&b| f16::from_le_bytes(b).to_f32()).collect()
            }
            Form::Single => own.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)).collect(),
            Form::Steps => {
                own.chunks(columns.max(1)).zip(&header.steps).flat_map(in_steps).collect()
            }
            Form::Changes(distances) => {
                if distances.contains(&0) {
                    return Err(damaged("a matrix has columns that are told from themselves"));
                }
                let mut own = own.to_vec();
                let runs = runs(columns, distances);
                own.chunks_mut(columns.max(1)).for_each(|row| from_changes(row, &runs));
                own.chunks(columns.max(1)).zip(&header.steps).flat_map(in_steps).collect()
            }
        };
        if values.iter().any(|v| !v.is_finite()) {
            return Err(damaged("a matrix holds what is not a number"));
        }
        Array2::from_shape_vec((rows, columns), values)
            .map_err(|_| damaged("a matrix has no shape"))
    }

    /// The next list of numbers.
    pub(super) fn next_list(&mut self) -> Result<Vec<f32>, SurrogateFileError> {
        Ok(self.next()?.into_iter().collect())
    }

    /// Whether nothing is left.
    pub(super) fn is_done(&self) -> bool {
        self.bytes.is_empty() && self.headers.len() == 0
    }
}

pub(super) fn damaged(what: &str) -> SurrogateFileError {
    SurrogateFileError::Damaged { what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_from_the_nearest_kin_and_give_the_values_back() {
        let values: Vec<u8> = (0..40_u32).map(|j| (j * j * 7 % 251) as u8).collect();
        for distances in [vec![16, 8, 4, 1], vec![100, 3], vec![1], Vec::new()] {
            let mut row = values.clone();
            let runs = runs(row.len(), &distances);
            to_changes(&mut row, &runs);
            for j in 0..row.len() {
                let nearest = distances.iter().find(|&&d| d as usize <= j);
                let from = nearest.map_or(0, |&d| values[j - d as usize]);
                assert_eq!(row[j], values[j].wrapping_sub(from), "{j} by {distances:?}");
            }
            from_changes(&mut row, &runs);
            assert_eq!(row, values, "{distances:?}");
        }
    }

    #[test]
    fn a_column_cannot_be_told_from_itself() {
        let header =
            Header { n_rows: 1, n_columns: 2, form: Form::Changes(vec![0]), steps: vec![1.0] };
        let error = Unpacker::new(vec![header], &[1, 2]).next().unwrap_err().to_string();
        assert!(error.contains("told from themselves"), "{error}");
    }
}
