//! `cargo xtask agreement`: our errors next to the published tensor's, dataset by dataset.
//!
//! The slice is Oboe's: one-hot, standardised, no reduction, all 183 estimators. Rank correlations are
//! read next to a ceiling, that of the published slice with its own replicates, which differ in
//! folds and imputer only. Our errors are those of the collection in `data/meta`, which has this slice of
//! every dataset in full, or are measured anew.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use pitchpipe_automl::offline::Store;
use pitchpipe_automl::offline::published::{Cell, Published};
use pitchpipe_learn::impute::Imputer;
use pitchpipe_learn::{Outcome, Pipeline, Preparation, SearchSpace, Validation};

use crate::corpus::{self, Entry};
use crate::{published, python, surrogate};

/// What the median must reach, and as a share of the ceiling's.
const TARGET: f64 = 0.80;
const SHARE_OF_CEILING: f64 = 0.9;
/// The authors' limit for one pipeline on one dataset.
const LIMIT: Duration = Duration::from_secs(120);

/// What to compare.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The wheel `oboe-0.2.0-py3-none-any.whl`; fetched by package name when left out.
    #[arg(long, value_name = "WHEEL")]
    tensor: Option<PathBuf>,
    /// Only tables of at most 4,000 cells.
    #[arg(long)]
    quick: bool,
    /// Only tables of at most this many cells (rows times features).
    #[arg(long, value_name = "CELLS")]
    max_cells: Option<usize>,
    /// Measure our errors anew (some twenty minutes) rather than read those of data/meta; what was
    /// measured stays in target/agreement.
    #[arg(long)]
    measure: bool,
    /// Begin to measure no further table after so many seconds.
    #[arg(long, value_name = "SECONDS", requires = "measure")]
    stop_after: Option<u64>,
    /// Threads to measure on.
    #[arg(long, default_value_t = 2, requires = "measure")]
    threads: usize,
}

/// One dataset's comparison.
struct Compared {
    name: String,
    ours: f64,
    ceiling: f64,
    /// Our rank less the published one, for each estimator compared, as a share of their number.
    shifts: Vec<(usize, f64)>,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let wheel = match &options.tensor {
        Some(path) => path.clone(),
        None => published::wheel()?,
    };
    let published = Published::read(&wheel).map_err(|e| e.to_string())?;
    let most = if options.quick { 4_000 } else { options.max_cells.unwrap_or(usize::MAX) };
    let mut entries: Vec<Entry> = corpus::index("train")?
        .into_iter()
        .filter(|e| e.published_id.is_some() && e.n_rows * e.n_features <= most)
        .collect();
    entries.sort_by_key(|e| e.n_rows * e.n_features);
    let collected = Store::open(&surrogate::meta()).map_err(|e| e.to_string())?;
    let (start, mut compared, mut left) = (Instant::now(), Vec::new(), Vec::new());
    for entry in &entries {
        let late = options.stop_after.is_some_and(|s| start.elapsed().as_secs() >= s);
        let errors = if options.measure {
            measured_errors(entry, options.threads, late)?
        } else {
            collected_errors(entry, &collected)?
        };
        match errors.and_then(|errors| compare(entry, &errors, &published)) {
            Some(comparison) => compared.push(comparison),
            None => left.push(entry.name.as_str()),
        }
    }
    if !left.is_empty() {
        println!("not compared, for want of errors on one side: {}", left.join(", "));
    }
    report(&compared)
}

/// The pipelines of Oboe's preparation with this imputer, by flat index.
fn slice(imputer: Imputer) -> Vec<usize> {
    let ids = SearchSpace::paper().behind(Preparation::of_oboe(imputer));
    ids.into_iter().map(|id| id.index()).collect()
}

/// Our 183 errors of the collection; `None` if it has none of this dataset.
fn collected_errors(entry: &Entry, store: &Store) -> Result<Option<Vec<Option<f64>>>, String> {
    let seen = store.seen(&entry.name, &mut Vec::new()).map_err(|e| e.to_string())?;
    let slice = slice(Imputer::Mean);
    let mut errors = vec![None; slice.len()];
    for entry in &seen {
        if let Some(f) = slice.iter().position(|&at| at == entry.pipeline as usize) {
            errors[f] = Some(f64::from(entry.error));
        }
    }
    Ok((!seen.is_empty()).then_some(errors))
}

/// Our 183 errors, from an earlier run if there was one; `None` if not and it is too late to begin.
fn measured_errors(
    entry: &Entry,
    threads: usize,
    late: bool,
) -> Result<Option<Vec<Option<f64>>>, String> {
    let folder = python::root().join("target/agreement");
    let path = folder.join(format!("{}.json", entry.name));
    if let Ok(text) = std::fs::read_to_string(&path) {
        return serde_json::from_str(&text)
            .map(Some)
            .map_err(|e| format!("{}: {e}", path.display()));
    }
    if late {
        return Ok(None);
    }
    let start = Instant::now();
    let space = SearchSpace::paper();
    let ids = space.behind(Preparation::of_oboe(Imputer::Mean));
    let pipelines: Vec<Pipeline> = ids.into_iter().map(|id| space.pipeline(id)).collect();
    let validation = Validation { threads, pipeline_limit: Some(LIMIT), ..Validation::default() };
    let outcomes = validation
        .outcomes(&entry.read()?, &pipelines)
        .map_err(|e| format!("{}: {e}", entry.name))?;
    let error = |outcome: &Outcome| match outcome {
        Outcome::Finished(evaluation) => Some(evaluation.error),
        _ => None,
    };
    let errors: Vec<Option<f64>> = outcomes.iter().map(error).collect();
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let text = serde_json::to_string(&errors).expect("numbers");
    std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    eprintln!("{} in {:.1} s", entry.name, start.elapsed().as_secs_f64());
    Ok(Some(errors))
}

fn compare(entry: &Entry, ours: &[Option<f64>], published: &Published) -> Option<Compared> {
    let row = published.dataset_ids.iter().position(|id| Some(*id) == entry.published_id)?;
    let replicate = |imputer: Imputer| -> Vec<Option<f64>> {
        slice(imputer)
            .into_iter()
            .map(|pipeline| {
                let at = [row, pipeline];
                let seen = published.cells[at] == Cell::Observed;
                seen.then(|| f64::from(published.errors[at]))
            })
            .collect()
    };
    let replicates: Vec<Vec<Option<f64>>> = Imputer::FILLING.map(replicate).to_vec();
    // With nothing missing all four are the same pipeline on other folds; else ours imputes the mean.
    let used: &[Vec<Option<f64>>] =
        if entry.missing_cells == 0 { &replicates } else { &replicates[1..2] };
    let theirs: Vec<Option<f64>> = (0..ours.len())
        .map(|f| {
            let seen: Vec<f64> = used.iter().filter_map(|r| r[f]).collect();
            (!seen.is_empty()).then(|| seen.iter().sum::<f64>() / seen.len() as f64)
        })
        .collect();
    let (rho, shifts) = spearman(ours, &theirs)?;
    let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
    let against: Vec<f64> = pairs
        .iter()
        .filter_map(|&(a, b)| Some(spearman(&replicates[a], &replicates[b])?.0))
        .collect();
    let ceiling = against.iter().sum::<f64>() / against.len() as f64;
    Some(Compared { name: entry.name.clone(), ours: rho, ceiling, shifts })
}

/// The rank correlation over estimators that both have, and how far each estimator's ranks lie apart.
fn spearman(a: &[Option<f64>], b: &[Option<f64>]) -> Option<(f64, Vec<(usize, f64)>)> {
    let both: Vec<(usize, f64, f64)> =
        (0..a.len()).filter_map(|i| Some((i, a[i]?, b[i]?))).collect();
    if both.len() < 30 {
        return None;
    }
    let ranks_a = ranks(&both.iter().map(|p| p.1).collect::<Vec<_>>());
    let ranks_b = ranks(&both.iter().map(|p| p.2).collect::<Vec<_>>());
    let middle = (both.len() as f64 - 1.0) / 2.0;
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (x, y) in ranks_a.iter().zip(&ranks_b) {
        ab += (x - middle) * (y - middle);
        aa += (x - middle).powi(2);
        bb += (y - middle).powi(2);
    }
    let n = both.len() as f64;
    let shifts = both
        .iter()
        .zip(ranks_a.iter().zip(&ranks_b))
        .map(|(p, (x, y))| (p.0, (x - y) / n))
        .collect();
    (aa > 0.0 && bb > 0.0).then(|| (ab / (aa * bb).sqrt(), shifts))
}

/// Ranks from 0; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut ranks = vec![0.0; values.len()];
    for group in order.chunk_by(|&i, &j| values[i] == values[j]) {
        let before = values.iter().filter(|v| **v < values[group[0]]).count() as f64;
        let shared = before + (group.len() as f64 - 1.0) / 2.0;
        group.iter().for_each(|&i| ranks[i] = shared);
    }
    ranks
}

fn report(compared: &[Compared]) -> Result<(), String> {
    println!("{:<32} {:>8} {:>8} {:>8}", "dataset", "ours", "ceiling", "share");
    for c in compared {
        println!("{:<32} {:>8.3} {:>8.3} {:>8.3}", c.name, c.ours, c.ceiling, c.ours / c.ceiling);
    }
    let ours = median(compared.iter().map(|c| c.ours));
    let ceiling = median(compared.iter().map(|c| c.ceiling));
    let share = median(compared.iter().map(|c| c.ours / c.ceiling));
    println!(
        "{:<32} {ours:>8.3} {ceiling:>8.3} {share:>8.3}",
        format!("median of {}", compared.len())
    );
    println!(
        "\nestimators that disagree most: mean shift of our rank (positive: ours ranks worse), of 1"
    );
    let space = SearchSpace::paper();
    let mut by_estimator = vec![(0.0, 0.0); space.estimators().len()];
    for (f, shift) in compared.iter().flat_map(|c| &c.shifts) {
        by_estimator[*f].0 += shift;
        by_estimator[*f].1 += 1.0;
    }
    let mut means: Vec<(String, &str, f64)> = by_estimator
        .iter()
        .zip(space.estimators())
        .map(|((sum, n), e)| (e.to_string(), e.name(), sum / f64::max(*n, 1.0)))
        .collect();
    let mut kinds: Vec<&str> = means.iter().map(|m| m.1).collect();
    kinds.dedup();
    for kind in kinds {
        let own: Vec<f64> = means.iter().filter(|m| m.1 == kind).map(|m| m.2).collect();
        println!("  {kind:<62} {:>+8.3}", own.iter().sum::<f64>() / own.len() as f64);
    }
    means.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
    for (name, _, shift) in means.iter().take(20) {
        println!("  {name:<62} {shift:>+8.3}");
    }
    if ours >= TARGET && ours >= SHARE_OF_CEILING * ceiling {
        Ok(())
    } else {
        Err(format!("the median is {ours:.3}, {:.3} of the ceiling's", ours / ceiling))
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n => (values[(n - 1) / 2] + values[n / 2]) / 2.0,
    }
}
