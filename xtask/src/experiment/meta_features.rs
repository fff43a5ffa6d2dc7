//! The meta-features of the corpus (paper, Appendix B): what they are, and what they take to compute.

use cpu_time::ProcessTime;
use pitchpipe_automl::{meta_features, on_threads};
use serde::{Deserialize, Serialize};

use super::Context;
use super::csv::{Csv, short};
use crate::corpus::{Entry, index};

/// Every so many tables, and none larger than this, where all is to take seconds.
const QUICK_STEP: usize = 5;
const QUICK_ROWS: usize = 500;

/// A table of the corpus in numbers.
#[derive(Serialize, Deserialize)]
pub(super) struct Described {
    pub(super) name: String,
    /// What the table was made from.
    pub(super) source: String,
    pub(super) n_rows: usize,
    pub(super) n_features: usize,
    pub(super) n_classes: usize,
    /// CPU seconds of those that need no model, and of all.
    pub(super) secs_without_landmarks: f64,
    pub(super) secs: f64,
    /// By name; those that need no model first.
    pub(super) features: Vec<(String, Option<f64>)>,
    /// How many of them need no model.
    pub(super) n_plain: usize,
}

/// The tables that the collection in data/meta was made from, one after the other on one thread.
pub(super) fn described(context: &Context) -> Result<Vec<Described>, String> {
    let small = |e: &Entry| !context.quick || e.n_rows <= QUICK_ROWS;
    let step = if context.quick { QUICK_STEP } else { 1 };
    let entries: Vec<Entry> = index("train")?.into_iter().filter(small).step_by(step).collect();
    let of = |entry: &Entry| {
        context.kept.or(&format!("meta-features of {}", entry.name), || describe(entry))
    };
    on_threads(1, || entries.iter().map(of).collect()).map_err(|e| e.to_string())?
}

fn describe(entry: &Entry) -> Result<Described, String> {
    let dataset = entry.read()?;
    let began = ProcessTime::now();
    let n_plain = dataset.meta_features().len();
    let secs_without_landmarks = began.elapsed().as_secs_f64();
    let began = ProcessTime::now();
    let all = meta_features(&dataset).map_err(|e| format!("{}: {e}", entry.name))?;
    let secs = began.elapsed().as_secs_f64();
    Ok(Described {
        name: entry.name.clone(),
        source: entry.source.clone(),
        n_rows: dataset.n_rows(),
        n_features: dataset.columns().len(),
        n_classes: dataset.labels().n_classes(),
        secs_without_landmarks,
        secs,
        features: all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        n_plain,
    })
}

/// A row for each table.
pub(super) fn table(context: &Context) -> Result<Csv, String> {
    let all = described(context)?;
    let first = all.first().ok_or("the corpus has no table")?;
    let named = first.features.iter().map(|(name, _)| name.clone());
    let columns = ["dataset", "rows", "columns", "classes", "secs_without_landmarks", "secs_all"];
    let columns = columns.into_iter().map(str::to_owned).chain(named).collect();
    let data = format!(
        "the {} training tables of the corpus, of which data/meta has the errors; CPU seconds on one thread",
        all.len()
    );
    let mut csv = Csv::of(data, columns);
    for d in &all {
        let number = |value: &Option<f64>| value.map_or(String::new(), short);
        let mut cells = vec![
            d.name.clone(),
            d.n_rows.to_string(),
            d.n_features.to_string(),
            d.n_classes.to_string(),
            short(d.secs_without_landmarks),
            short(d.secs),
        ];
        cells.extend(d.features.iter().map(|(_, value)| number(value)));
        csv.push_cells(cells);
    }
    Ok(csv)
}
