//! The tensors published by the paper's authors, read from the wheel `oboe-0.2.0-py3-none-any.whl`.
//!
//! The numbers serve as a reference (`cargo xtask reference`); nothing of them is shipped. Axes are
//! in the sorted order of the printed settings, not in that of the configuration file beside them.

mod datasets;
mod npy;
mod pickle;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use ndarray::{Array2, Axis};

pub use datasets::PAPER_DATASETS;

/// Choices on the axes of a pipeline: imputer, encoder, standardizer, reducer, estimator.
pub const AXES: [usize; 5] = [4, 2, 2, 8, 183];
/// Pipelines in all.
pub const N_PIPELINES: usize = 23_424;
/// Datasets in all.
const N_DATASETS: usize = 551;

const ERRORS: &str =
    "oboe/defaults/TensorOboe/error_tensor_imputed_20-4-2-2-8-20_f16_compressed.npz";
const RUNTIMES: &str = "oboe/defaults/TensorOboe/runtime_tensor_f16_compressed.npz";
const INDEX: &str = "oboe/defaults/TensorOboe/training_index.pkl";
const SIZES: &str = "oboe/defaults/Oboe/dataset_sizes.csv";

/// What keeps the published tensors from being read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishedError {
    /// The file cannot be opened or read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is no wheel, or a damaged one.
    #[error("{} is not a wheel: {what}", path.display())]
    NotAWheel {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The wheel lacks a file, so it is another package or another version.
    #[error("the wheel has no {member}; expected oboe 0.2.0")]
    NoMember {
        /// The file it lacks.
        member: String,
    },
    /// A file of the wheel does not hold what it should.
    #[error("{member}: {what}")]
    Damaged {
        /// The file.
        member: String,
        /// What is wrong with it.
        what: String,
    },
    /// A dataset was asked for that was not recorded.
    #[error("dataset {id} is not among the published ones")]
    NoDataset {
        /// Its OpenML id.
        id: u32,
    },
}

/// What became of one pipeline on one dataset, as far as the published numbers tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Both error and runtime were recorded.
    Observed,
    /// Ran out of time or failed (−1 in the files).
    Failed,
    /// Never run, as the pipeline does not apply to the dataset (NaN in the runtimes).
    NotApplicable,
}

/// Errors and runtimes of 23,424 pipelines (columns, last axis fastest) on the datasets (rows).
#[derive(Clone, Debug)]
pub struct Published {
    /// OpenML ids of the rows.
    pub dataset_ids: Vec<u32>,
    /// Balanced error rates; 0 where not observed.
    pub errors: Array2<f32>,
    /// Cross-validation seconds; 0 where not observed.
    pub runtimes_secs: Array2<f32>,
    /// Which entries are numbers.
    pub cells: Array2<Cell>,
    /// Rows and columns (features after one-hot encoding, plus the label) of the datasets for which
    /// they were published.
    pub sizes: BTreeMap<u32, (usize, usize)>,
}

impl Published {
    /// Reads the wheel.
    pub fn read(wheel: &Path) -> Result<Self, PublishedError> {
        let unreadable = |source| PublishedError::Unreadable { path: wheel.to_owned(), source };
        let not_a_wheel = |what: String| PublishedError::NotAWheel { path: wheel.to_owned(), what };
        let file = BufReader::new(File::open(wheel).map_err(unreadable)?);
        let mut archive = zip::ZipArchive::new(file).map_err(|e| not_a_wheel(e.to_string()))?;
        let mut member = |name: &str| -> Result<Vec<u8>, PublishedError> {
            let mut file = archive
                .by_name(name)
                .map_err(|_| PublishedError::NoMember { member: name.to_owned() })?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(|e| damaged(name, e.to_string()))?;
            Ok(bytes)
        };
        let shape: Vec<usize> = std::iter::once(N_DATASETS).chain(AXES).collect();
        let errors = npy::read_npz(ERRORS, member(ERRORS)?, &shape)?;
        let runtimes = npy::read_npz(RUNTIMES, member(RUNTIMES)?, &shape)?;
        let dataset_ids = pickle::read_int_list(&member(INDEX)?).map_err(|e| damaged(INDEX, e))?;
        if dataset_ids.len() != N_DATASETS {
            let what = format!("names {} datasets instead of {N_DATASETS}", dataset_ids.len());
            return Err(damaged(INDEX, what));
        }
        let sizes = read_sizes(&member(SIZES)?).map_err(|e| damaged(SIZES, e))?;

        let runtimes: Vec<f32> = runtimes.into_iter().map(f32::from).collect();
        let cells: Vec<Cell> = runtimes.iter().map(|&t| cell(t)).collect();
        let keep = |values: Vec<f32>| -> Array2<f32> {
            let pairs = values.into_iter().zip(&cells);
            let kept = pairs.map(|(v, &c)| if c == Cell::Observed { v } else { 0.0 }).collect();
            matrix(kept)
        };
        let errors = keep(errors.into_iter().map(f32::from).collect());
        if let Some(bad) = errors.iter().find(|e| !(0.0..=1.0).contains(*e)) {
            return Err(damaged(ERRORS, format!("an observed error rate is {bad}")));
        }
        let runtimes_secs = keep(runtimes);
        Ok(Self { dataset_ids, errors, runtimes_secs, cells: matrix(cells), sizes })
    }

    /// The mask: true where error and runtime are observed.
    pub fn observed(&self) -> Array2<bool> {
        self.cells.mapv(|c| c == Cell::Observed)
    }

    /// The same numbers for some datasets only, in the order asked for.
    pub fn select(&self, ids: &[u32]) -> Result<Self, PublishedError> {
        let position = |&id: &u32| {
            let found = self.dataset_ids.iter().position(|&have| have == id);
            found.ok_or(PublishedError::NoDataset { id })
        };
        let rows: Vec<usize> = ids.iter().map(position).collect::<Result<_, _>>()?;
        Ok(Self {
            dataset_ids: ids.to_vec(),
            errors: self.errors.select(Axis(0), &rows),
            runtimes_secs: self.runtimes_secs.select(Axis(0), &rows),
            cells: self.cells.select(Axis(0), &rows),
            sizes: self.sizes.clone(),
        })
    }

    /// The datasets of the paper.
    pub fn of_the_paper(&self) -> Result<Self, PublishedError> {
        self.select(&PAPER_DATASETS)
    }

    /// The datasets with more than `share` of their entries observed.
    pub fn observed_above(&self, share: f64) -> Self {
        let enough = |row: usize| {
            let seen = self.cells.row(row).iter().filter(|&&c| c == Cell::Observed).count();
            seen as f64 > share * N_PIPELINES as f64
        };
        let ids: Vec<u32> = (0..self.dataset_ids.len())
            .filter(|&r| enough(r))
            .map(|r| self.dataset_ids[r])
            .collect();
        self.select(&ids).expect("the ids come from the same list")
    }
}

fn cell(runtime: f32) -> Cell {
    match runtime {
        t if t.is_nan() => Cell::NotApplicable,
        t if t > 0.0 => Cell::Observed,
        _ => Cell::Failed,
    }
}

fn matrix<T>(values: Vec<T>) -> Array2<T> {
    Array2::from_shape_vec((N_DATASETS, N_PIPELINES), values).expect("the shape was checked")
}

fn damaged(member: &str, what: String) -> PublishedError {
    PublishedError::Damaged { member: member.to_owned(), what }
}

/// `id,rows,columns` after a header line.
fn read_sizes(csv: &[u8]) -> Result<BTreeMap<u32, (usize, usize)>, String> {
    let text = std::str::from_utf8(csv).map_err(|e| e.to_string())?;
    let parse = |line: &str| {
        let mut cells = line.split(',');
        let entry = (|| {
            let id = cells.next()?.trim().parse().ok()?;
            let n = cells.next()?.trim().parse::<f64>().ok()? as usize;
            let p = cells.next()?.trim().parse::<f64>().ok()? as usize;
            Some((id, (n, p)))
        })();
        entry.ok_or_else(|| format!("line \"{line}\" is not an id and two sizes"))
    };
    text.lines().skip(1).filter(|l| !l.trim().is_empty()).map(parse).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// The authors' wheel, where it has been fetched (`cargo xtask reference` does).
    fn wheel() -> Option<PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/published");
        let path = folder.join("oboe-0.2.0-py3-none-any.whl");
        if !path.exists() {
            println!("skipped: {} is absent; cargo xtask reference fetches it", path.display());
        }
        path.exists().then_some(path)
    }

    #[test]
    fn the_published_mask_has_the_known_counts() {
        let Some(path) = wheel() else { return };
        let all = Published::read(&path).unwrap();
        let count = |p: &Published, kind| p.cells.iter().filter(|&&c| c == kind).count();
        assert_eq!(count(&all, Cell::Observed), 11_789_968);
        assert_eq!(count(&all, Cell::Failed), 258_020);
        assert_eq!(count(&all, Cell::NotApplicable), 858_636);
        assert_eq!(all.observed_above(0.3).dataset_ids.len(), 547);
        let paper = all.of_the_paper().unwrap();
        assert_eq!(count(&paper, Cell::NotApplicable), 0);
        let sized = paper.dataset_ids.iter().filter(|id| all.sizes.contains_key(id)).count();
        assert_eq!(sized, 183);
        assert_eq!(all.sizes[&61], (150, 5)); // iris
        let missing = count(&paper, Cell::Failed) as f64 / paper.cells.len() as f64;
        assert_eq!(format!("{:.3} %", 100.0 * missing), "0.740 %");
        assert!(matches!(all.select(&[4_000_000]), Err(PublishedError::NoDataset { .. })));
    }

    #[test]
    fn a_wrong_file_is_a_typed_error() {
        let folder = tempfile::tempdir().unwrap();
        let absent = Published::read(&folder.path().join("absent.whl"));
        assert!(matches!(absent, Err(PublishedError::Unreadable { .. })));

        let text = folder.path().join("text.whl");
        std::fs::write(&text, "not a wheel").unwrap();
        assert!(matches!(Published::read(&text), Err(PublishedError::NotAWheel { .. })));

        let other = folder.path().join("other.whl");
        let mut archive = zip::ZipWriter::new(File::create(&other).unwrap());
        let plain = zip::write::SimpleFileOptions::default();
        archive.start_file("numpy/__init__.py", plain).unwrap();
        archive.finish().unwrap();
        assert!(matches!(Published::read(&other), Err(PublishedError::NoMember { .. })));

        let broken = folder.path().join("broken.whl");
        let mut archive = zip::ZipWriter::new(File::create(&broken).unwrap());
        archive.start_file(ERRORS, plain).unwrap();
        archive.write_all(b"garbage").unwrap();
        archive.finish().unwrap();
        assert!(matches!(Published::read(&broken), Err(PublishedError::Damaged { .. })));
    }

    #[test]
    fn sizes_are_read_and_checked() {
        let sizes = read_sizes(b",0,1\n61,150,5\n31,1000,62\n").unwrap();
        assert_eq!(sizes[&31], (1000, 62));
        assert!(read_sizes(b",0,1\n61,many,5\n").is_err());
    }
}
