//! Matrices of numbers in few bytes.
//!
//! Errors are measured to about .01, so what describes them needs no seven digits: factors are kept as
//! multiples of a step of their row in one byte, or as half-precision numbers where rows must be exact to
//! three digits. Pipelines that differ in one component alone are alike, so that of such multiples only the change from
//! one of them to the next is kept. What is left of their regularity the compression of the file takes.
//!
//! A surrogate that was read keeps these bytes: as numbers its matrices would take seven times as much memory, and most
//! searches need few of them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

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
    /// which. Only in files: once read, they are in steps again.
    Changes(Vec<u32>),
}

impl Form {
    /// Bytes of a number.
    fn width(&self) -> usize {
        match self {
            Self::Half => 2,
            Self::Single => 4,
            Self::Steps | Self::Changes(_) => 1,
        }
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

impl Header {
    /// Where its numbers end that begin at `start`, among so many bytes.
    fn end(&self, start: usize, n_bytes: usize) -> Result<usize, SurrogateFileError> {
        let cells = (self.n_rows as usize).checked_mul(self.n_columns as usize);
        let length = cells.and_then(|n| n.checked_mul(self.form.width()));
        let end = length.and_then(|n| start.checked_add(n)).filter(|&end| end <= n_bytes);
        end.ok_or_else(|| damaged("a matrix ends too early"))
    }
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

/// A matrix much as it lies in a file: a stretch of bytes that all matrices share, read when its numbers are asked for.
#[derive(Clone)]
pub(super) struct Packed {
    header: Arc<Header>,
    body: Arc<Vec<u8>>,
    start: usize,
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Header { n_rows, n_columns, form, .. } = &*self.header;
        write!(f, "{n_rows} x {n_columns} in form {form:?}")
    }
}

impl Packed {
    pub(super) fn n_rows(&self) -> usize {
        self.header.n_rows as usize
    }

    pub(super) fn n_columns(&self) -> usize {
        self.header.n_columns as usize
    }

    /// Reads the numbers of one row.
    pub(super) fn read_row(&self, row: usize, out: &mut [f32]) {
        let Header { form, steps, .. } = &*self.header;
        let length = self.n_columns() * form.width();
        let bytes = &self.body[self.start + row * length..][..length];
        match form {
            Form::Half => {
                let cells = bytes.as_chunks::<2>().0.iter().zip(out);
                cells.for_each(|(&b, v)| *v = f16::from_le_bytes(b).to_f32());
            }
            Form::Single => {
                let cells = bytes.as_chunks::<4>().0.iter().zip(out);
                cells.for_each(|(&b, v)| *v = f32::from_le_bytes(b));
            }
            Form::Steps | Form::Changes(_) => {
                let step = steps[row];
                bytes.iter().zip(out).for_each(|(&b, v)| *v = f32::from(b as i8) * step);
            }
        }
    }

    /// All numbers, each of them finite.
    pub(super) fn to_array(&self) -> Result<Array2<f32>, SurrogateFileError> {
        let (n_rows, n_columns) = (self.n_rows(), self.n_columns());
        let mut values = vec![0.0; n_rows * n_columns];
        for (row, out) in values.chunks_mut(n_columns.max(1)).enumerate() {
            self.read_row(row, out);
        }
        if values.iter().any(|v| !v.is_finite()) {
            return Err(not_numbers());
        }
        Array2::from_shape_vec((n_rows, n_columns), values)
            .map_err(|_| damaged("a matrix has no shape"))
    }

    /// The same as a list.
    pub(super) fn to_list(&self) -> Result<Vec<f32>, SurrogateFileError> {
        Ok(self.to_array()?.into_raw_vec_and_offset().0)
    }

    /// Hands over row after row, each of which is finite.
    pub(super) fn for_each_row(
        &self,
        mut take: impl FnMut(usize, &[f32]),
    ) -> Result<(), SurrogateFileError> {
        let mut row = vec![0.0; self.n_columns()];
        for i in 0..self.n_rows() {
            self.read_row(i, &mut row);
            if row.iter().any(|v| !v.is_finite()) {
                return Err(not_numbers());
            }
            take(i, &row);
        }
        Ok(())
    }
}

/// Matrices on their way out of a file, in the order they were put in.
pub(super) struct Unpacker {
    headers: std::vec::IntoIter<Header>,
    body: Arc<Vec<u8>>,
    at: usize,
}

impl Unpacker {
    /// Of the bytes of `body` from `at` on.
    pub(super) fn new(
        mut headers: Vec<Header>,
        mut body: Vec<u8>,
        at: usize,
    ) -> Result<Self, SurrogateFileError> {
        let mut start = at;
        for header in &mut headers {
            let end = header.end(start, body.len())?;
            if let Form::Changes(distances) = &header.form {
                if distances.contains(&0) {
                    return Err(damaged("a matrix has columns that are told from themselves"));
                }
                let runs = runs(header.n_columns as usize, distances);
                let rows = body[start..end].chunks_mut((header.n_columns as usize).max(1));
                rows.for_each(|row| from_changes(row, &runs));
                header.form = Form::Steps;
            }
            start = end;
        }
        Ok(Self { headers: headers.into_iter(), body: Arc::new(body), at })
    }

    /// The next matrix, whose bytes are all there.
    pub(super) fn next(&mut self) -> Result<Packed, SurrogateFileError> {
        let header = self.headers.next().ok_or_else(|| damaged("a matrix is missing"))?;
        let end = header.end(self.at, self.body.len())?;
        if header.form == Form::Steps && header.steps.len() != header.n_rows as usize {
            return Err(damaged("a matrix lacks the steps of its rows"));
        }
        let start = std::mem::replace(&mut self.at, end);
        Ok(Packed { header: Arc::new(header), body: Arc::clone(&self.body), start })
    }

    /// Whether nothing is left.
    pub(super) fn is_done(&self) -> bool {
        self.at == self.body.len() && self.headers.len() == 0
    }
}

fn not_numbers() -> SurrogateFileError {
    damaged("a matrix holds what is not a number")
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
        let error = Unpacker::new(vec![header], vec![1, 2], 0).err().unwrap().to_string();
        assert!(error.contains("told from themselves"), "{error}");
    }
}
