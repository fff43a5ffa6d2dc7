//! `cargo xtask parity`: mean balanced errors over ten seeds, ours next to scikit-learn 1.1.3's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use pitchpipe_learn::encode::Encoder;
use pitchpipe_learn::estimate::EstimatorSpec;
use pitchpipe_learn::impute::Imputer;
use pitchpipe_learn::reduce::Reducer;
use pitchpipe_learn::scale::Scaler;
use pitchpipe_learn::{Classifier, Features, FitContext, Preparation, RawFeatures, Stream};
use pitchpipe_table::{Column, Dataset, Labels, balanced_error_rate, stratified_folds};
use serde::{Deserialize, Serialize};

use crate::golden::single_thread;
use crate::{corpus, python, tests};

/// Recorded with the golden files; scikit-learn need not run again for these.
const RECORDED: [&str; 3] = ["iris", "wine", "breast-cancer"];
/// Small tables of the corpus, of two and of more classes.
const CORPUS: [&str; 5] = ["heart-statlog", "newthyroid", "autoprice", "hayes-roth", "penguins"];
const N_SEEDS: u64 = 10;
/// How far two means may lie apart.
const TOLERANCE: f64 = 0.01;
/// Where ten seeds leave the difference of the means less certain than this (its standard error), both sides
/// are given more, up to the last of [`MORE_SEEDS`]. The rule looks at the spread alone, never at the
/// difference, so it favours no outcome.
const PRECISION: f64 = 0.004;
const MORE_SEEDS: [u64; 2] = [40, 160];

/// Which to compare.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only estimators whose name contains this.
    #[arg(long)]
    only: Option<String>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Data {
    x: Vec<Vec<f64>>,
    y: Vec<u32>,
    fold: Vec<usize>,
}

#[derive(Deserialize)]
struct Case {
    spec: EstimatorSpec,
    errors: Vec<f64>,
}

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

/// One fold, standardised.
struct Split {
    train: Features,
    y_train: Labels,
    test: Features,
    y_test: Labels,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let golden = python::root().join("crates/learn/tests/golden");
    let mut all: BTreeMap<String, (Data, Vec<Case>)> = BTreeMap::new();
    for name in RECORDED {
        let data = json(&golden.join(format!("data/{name}.json")))?;
        let Golden { cases } = json(&golden.join(format!("stochastic/{name}.json")))?;
        all.insert(name.to_owned(), (data, cases));
    }
    match corpus::index("train") {
        Ok(index) => add_corpus(&index, &mut all)?,
        Err(e) => println!("without the corpus: {e}"),
    }
    let (mut rows, mut far_after_ten) = (Vec::new(), 0);
    for (name, (data, cases)) in &all {
        let splits = data.splits()?;
        for case in cases {
            if options.only.as_ref().is_some_and(|only| !case.spec.name().contains(only.as_str())) {
                continue;
            }
            let mut theirs = case.errors.clone();
            let mut mine = ours(&case.spec, &splits, N_SEEDS)?;
            far_after_ten += usize::from((mean(&mine) - mean(&theirs)).abs() > TOLERANCE);
            let table = [(name.clone(), data.clone())];
            for n_seeds in MORE_SEEDS {
                if variance_of_mean(&mine) + variance_of_mean(&theirs) > PRECISION * PRECISION {
                    theirs = measure(&table, &[&case.spec], n_seeds)?.swap_remove(0).errors;
                    mine = ours(&case.spec, &splits, n_seeds)?;
                }
            }
            rows.push((case.spec.to_string(), name, mean(&mine), mean(&theirs), mine.len()));
        }
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    println!(
        "{:<62} {:<16} {:>6} {:>8} {:>8} {:>8}",
        "estimator", "table", "seeds", "ours", "theirs", "apart"
    );
    let mut far = 0;
    for (spec, name, ours, theirs, n) in &rows {
        let apart = ours - theirs;
        let is_far = apart.abs() > TOLERANCE;
        far += usize::from(is_far);
        let mark = if is_far { "  <--" } else { "" };
        println!("{spec:<62} {name:<16} {n:>6} {ours:>8.4} {theirs:>8.4} {apart:>8.4}{mark}");
    }
    let n = rows.len();
    println!("{} of {n} within {TOLERANCE}, on {} tables", n - far, all.len());
    println!("{} of {n} by the first {N_SEEDS} seeds alone", n - far_after_ten);
    if far == 0 { Ok(()) } else { Err(format!("{far} differ by more than {TOLERANCE}")) }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance_of_mean(values: &[f64]) -> f64 {
    let (n, mean) = (values.len() as f64, mean(values));
    values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))
}

/// Adds the corpus's tables, with scikit-learn 1.1.3's errors for the recorded settings.
fn add_corpus(
    index: &[corpus::Entry],
    all: &mut BTreeMap<String, (Data, Vec<Case>)>,
) -> Result<(), String> {
    let mut tables = Vec::new();
    for entry in index.iter().filter(|e| CORPUS.contains(&e.name.as_str())) {
        let data = Data::of(&entry.read()?)?;
        tables.push((entry.name.clone(), data.clone()));
        all.insert(entry.name.clone(), (data, Vec::new()));
    }
    let specs: Vec<EstimatorSpec> =
        all[RECORDED[0]].1.iter().map(|case| case.spec.clone()).collect();
    for line in measure(&tables, &specs.iter().collect::<Vec<_>>(), N_SEEDS)? {
        if let Some((_, cases)) = all.get_mut(&line.data) {
            cases.push(Case { spec: line.spec, errors: line.errors });
        }
    }
    Ok(())
}

/// One setting's errors on one table, seed by seed.
#[derive(Deserialize)]
struct Line {
    data: String,
    spec: EstimatorSpec,
    errors: Vec<f64>,
}

/// Has scikit-learn 1.1.3 measure settings on tables; what an earlier run measured is not run again.
fn measure(
    tables: &[(String, Data)],
    specs: &[&EstimatorSpec],
    n_seeds: u64,
) -> Result<Vec<Line>, String> {
    #[derive(Serialize)]
    struct Job<'a> {
        data: Vec<PathBuf>,
        specs: &'a [&'a EstimatorSpec],
        n_seeds: u64,
    }
    let folder = python::root().join("target/parity");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut paths = Vec::new();
    for (name, data) in tables {
        let path = folder.join(format!("{name}.json"));
        write(&path, data)?;
        paths.push(path);
    }
    let asked = folder.join("job.json");
    let told = folder.join(format!("errors-{n_seeds}.jsonl"));
    write(&asked, &Job { data: paths, specs, n_seeds })?;
    let python = python::environment("golden")?;
    let script = python::root().join("bench/sklearn/errors.py");
    tests::run(single_thread(&mut Command::new(python)).arg(script).args([&asked, &told]))?;
    let text = std::fs::read_to_string(&told).map_err(|e| format!("{}: {e}", told.display()))?;
    let lines =
        text.lines().map(|line| serde_json::from_str(line).map_err(|e| format!("{line}: {e}")));
    let lines: Vec<Line> = lines.collect::<Result<_, String>>()?;
    let is_asked = |line: &Line| {
        tables.iter().any(|(name, _)| *name == line.data) && specs.contains(&&line.spec)
    };
    Ok(lines.into_iter().filter(is_asked).collect())
}

/// Our balanced errors, seed by seed.
fn ours(spec: &EstimatorSpec, splits: &[Split], n_seeds: u64) -> Result<Vec<f64>, String> {
    let of_seed = |seed: u64| {
        let ctx = FitContext::unhurried().with_stream(Stream::new(seed));
        let mut total = 0.0;
        for split in splits {
            let model = spec.fit(&split.train, &split.y_train, &ctx);
            let answer = model.and_then(|m| m.predict(&split.test, &ctx));
            let labels = answer.map_err(|e| format!("{spec}: {e}"))?.labels;
            total += balanced_error_rate(&split.y_test, &labels);
        }
        Ok(total / splits.len() as f64)
    };
    (0..n_seeds).map(of_seed).collect()
}

impl Data {
    /// Most frequent values for missing cells, then one-hot: a matrix that both sides can read.
    fn of(dataset: &Dataset) -> Result<Self, String> {
        let preparation = Preparation {
            imputer: Imputer::MostFrequent,
            encoder: Encoder::OneHot,
            scaler: Scaler::None,
            reducer: Reducer::None,
        };
        let ctx = FitContext::unhurried();
        let rows: Vec<usize> = (0..dataset.n_rows()).collect();
        let raw = RawFeatures::of_rows(dataset.frame(), &rows);
        let (_, x) = preparation.fit(&raw, dataset.labels(), &ctx).map_err(|e| e.to_string())?;
        let mut fold = vec![0; dataset.n_rows()];
        for (f, part) in stratified_folds(dataset.labels(), 3, 0).iter().enumerate() {
            part.test.iter().for_each(|&row| fold[row] = f);
        }
        let x = rows.iter().map(|&row| x.row(row).to_vec()).collect();
        Ok(Self { x, y: dataset.labels().codes().to_vec(), fold })
    }

    fn splits(&self) -> Result<Vec<Split>, String> {
        let column = |j: usize| Column::Numeric(self.x.iter().map(|row| row[j]).collect());
        let columns = (0..self.x[0].len()).map(column).collect();
        let n_classes = self.y.iter().max().map_or(0, |&c| c as usize + 1);
        let dataset = Dataset::new(columns, Labels::from_codes(self.y.iter().copied(), n_classes));
        let ctx = FitContext::unhurried();
        let split = |fold: usize| {
            let (train, test): (Vec<usize>, Vec<usize>) =
                (0..self.y.len()).partition(|&row| self.fold[row] != fold);
            let y_train = dataset.labels().select(&train);
            let raw = RawFeatures::of_rows(dataset.frame(), &train);
            let (fitted, x) = Preparation::default().fit(&raw, &y_train, &ctx)?;
            let x_test = fitted.transform(&RawFeatures::of_rows(dataset.frame(), &test), &ctx)?;
            let y_test = dataset.labels().select(&test);
            Ok(Split { train: (*x).clone(), y_train, test: (*x_test).clone(), y_test })
        };
        let split = |fold| split(fold).map_err(|e: pitchpipe_learn::FitError| e.to_string());
        (0..3).map(split).collect()
    }
}

fn json<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(path: &Path, value: &impl Serialize) -> Result<(), String> {
    let text = serde_json::to_string(value).map_err(|e| e.to_string())?;
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}
