//! `cargo xtask bench wider`: what estimators that the search space does not have would add to its ensembles.
//!
//! On tables of the training corpus: a search, its best candidate learners, and one ensemble of these alone and one of these
//! and a foreign candidate (bench/wider/candidates.py), chosen out of fold by the rule that `fit` uses and compared on rows held out.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use pitchpipe_automl::AutoMl;
use pitchpipe_automl::ensemble::{GreedySettings, Judge, select};
use pitchpipe_learn::{FitContext, Outcome, Pipeline, Stream, Validation};
use pitchpipe_table::{Dataset, Labels, Metric, balanced_error_rate, holdout, log_loss};
use serde::{Deserialize, Serialize};

use super::automl::export::{Split, TEST_SHARE};
use crate::corpus::{Entry, index};
use crate::python;
use crate::reference::recorded::mean_and_error;
use crate::tests::run as run_command;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only tables of at least and at most so many rows
    #[arg(long, value_name = "N", default_value_t = 1500)]
    least_rows: usize,
    #[arg(long, value_name = "N", default_value_t = 6000)]
    most_rows: usize,
    /// Every so many of them
    #[arg(long, value_name = "N", default_value_t = 2)]
    every: usize,
    /// Pipelines that the search may evaluate
    #[arg(long, value_name = "N", default_value_t = 250)]
    evaluations: usize,
    /// Only print what is recorded
    #[arg(long)]
    report: bool,
}

/// Candidates of the search that an ensemble may take, as in `fit`.
const MOST_CANDIDATES: usize = 40;

/// What a candidate says.
struct Candidate {
    error: f64,
    out_of_fold: Vec<f32>,
    test: Vec<f64>,
}

/// What candidates.py says of one of its own.
#[derive(Deserialize)]
struct Foreign {
    file: String,
    name: String,
    secs: f64,
}

/// An ensemble on the rows held out.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Scored {
    balanced_error: f64,
    log_loss: f64,
    /// The weight of what was added.
    weight: f64,
    secs: f64,
}

/// One table: ensembles by what was added; nothing, under the empty name.
type Found = BTreeMap<String, Scored>;

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let folder = python::root().join("target/bench/wider");
    fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let mut entries = index("train")?;
    entries.retain(|e| (options.least_rows..=options.most_rows).contains(&e.n_rows));
    let mut all: Vec<(String, Found)> = Vec::new();
    for entry in entries.iter().step_by(options.every.max(1)) {
        let record = folder.join(format!("{}-{}.json", entry.name, options.evaluations));
        let found = match fs::read_to_string(&record) {
            Ok(text) => serde_json::from_str(&text).map_err(|e| e.to_string())?,
            Err(_) if options.report => continue,
            Err(_) => {
                let found = table(entry, options.evaluations)?;
                let text = serde_json::to_string(&found).expect("scores are plain data");
                fs::write(&record, text).map_err(|e| e.to_string())?;
                found
            }
        };
        eprintln!("{}: {} candidates", entry.name, found.len().saturating_sub(1));
        all.push((entry.name.clone(), found));
    }
    print!("{}", text(&all));
    Ok(())
}

/// Ensembles of one table with each of the foreign candidates.
fn table(entry: &Entry, evaluations: usize) -> Result<Found, String> {
    let split = Split::of(entry, 0);
    split.write_once(entry, 0)?;
    let all = entry.read()?;
    let fold = holdout(all.labels(), TEST_SHARE, Stream::new(0).named(&entry.name).key());
    let (train, test) = (all.select(&fold.train), all.select(&fold.test));
    let own = own(&train, &test, evaluations)?;
    let foreign = foreign(&split, &train, &test)?;
    let truth = (train.labels(), test.labels());
    let mut found = Found::from([(String::new(), scored(&own, None, truth, 0.0))]);
    for (Foreign { name, secs, .. }, candidate) in &foreign {
        found.insert(name.clone(), scored(&own, Some(candidate), truth, *secs));
    }
    Ok(found)
}

/// The best candidates of a search.
fn own(train: &Dataset, test: &Dataset, evaluations: usize) -> Result<Vec<Candidate>, String> {
    let automl = AutoMl::new()
        .time_budget(Duration::from_secs(60))
        .max_evaluations(evaluations)
        .repeatable(true);
    let model = automl.fit(train).map_err(|e| e.to_string())?;
    let pipelines: Vec<Pipeline> =
        model.report().leaderboard.iter().map(|c| c.pipeline.clone()).collect();
    let n_folds = model.report().n_folds;
    let validation =
        Validation { n_folds, keep_predictions: true, keep_models: true, ..Validation::default() };
    let ctx = FitContext::unhurried();
    let mut found = Vec::new();
    for outcome in validation.outcomes(train, &pipelines).map_err(|e| e.to_string())? {
        let Outcome::Finished(evaluation) = outcome else { continue };
        let Some(out_of_fold) = &evaluation.out_of_fold else { continue };
        let weight = 1.0 / evaluation.models.len() as f64;
        let mut mean = vec![0.0; test.n_rows() * train.labels().n_classes()];
        for model in &evaluation.models {
            let prediction = model.predict(test.frame(), &ctx).map_err(|e| e.to_string())?;
            add(&mut mean, prediction.probabilities.values(), weight);
        }
        let out_of_fold = out_of_fold.probabilities.values().iter().map(|&p| p as f32).collect();
        found.push(Candidate { error: evaluation.decided_error, out_of_fold, test: mean });
    }
    found.sort_by(|a, b| a.error.total_cmp(&b.error));
    found.truncate(MOST_CANDIDATES);
    Ok(found)
}

fn add(sum: &mut [f64], values: &[f64], weight: f64) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
}

/// Those that Python fits.
fn foreign(
    split: &Split,
    train: &Dataset,
    test: &Dataset,
) -> Result<Vec<(Foreign, Candidate)>, String> {
    let folder = split.train.parent().expect("a split lies in a folder");
    let done = folder.join("candidates.json");
    if !done.exists() {
        let codes = serde_json::to_string(train.labels().codes()).expect("codes are plain data");
        fs::write(folder.join("codes.json"), codes).map_err(|e| e.to_string())?;
        let script = python::root().join("bench/wider/candidates.py");
        run_command(Command::new(python::environment("automl-sklearn")?).arg(script).arg(folder))?;
    }
    let text = fs::read_to_string(&done).map_err(|e| e.to_string())?;
    let all: Vec<Foreign> = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let n_train = train.n_rows() * train.labels().n_classes();
    let n_test = test.n_rows() * train.labels().n_classes();
    let candidate = |foreign: Foreign| {
        let values = singles(&folder.join(&foreign.file))?;
        if values.len() != n_train + n_test {
            return Err(format!("{}: {} numbers", foreign.name, values.len()));
        }
        let test = values[n_train..].iter().map(|&p| f64::from(p)).collect();
        let out_of_fold = values[..n_train].to_vec();
        Ok((foreign, Candidate { error: f64::NAN, out_of_fold, test }))
    };
    all.into_iter().map(candidate).collect()
}

/// Numbers of single precision, the lowest byte first.
fn singles(path: &Path) -> Result<Vec<f32>, String> {
    let bytes = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let (words, _) = bytes.as_chunks::<4>();
    Ok(words.iter().map(|&word| f32::from_le_bytes(word)).collect())
}

/// The ensemble of the search's candidates and one more, on the rows held out.
fn scored(
    own: &[Candidate],
    more: Option<&Candidate>,
    (train, test): (&Labels, &Labels),
    secs: f64,
) -> Scored {
    let priors = train.priors();
    let judge = Judge::new(train, &priors, Metric::BalancedError);
    let all: Vec<&Candidate> = own.iter().chain(more).collect();
    let out_of_fold: Vec<&[f32]> = all.iter().map(|c| &c.out_of_fold[..]).collect();
    let selection = select(&judge, &out_of_fold, &GreedySettings::default(), &|| false);
    let mut p = vec![0.0; all[0].test.len()];
    for &(i, weight) in &selection.weights {
        add(&mut p, &all[i].test, weight);
    }
    let labels = Metric::BalancedError.decision().decide(test, &p, &priors);
    let added = |&&(i, _): &&(usize, f64)| i >= own.len();
    Scored {
        balanced_error: balanced_error_rate(test, &labels),
        log_loss: log_loss(test, &p),
        weight: selection.weights.iter().filter(added).map(|w| w.1).sum(),
        secs,
    }
}

/// What each candidate adds, over the tables on which it was there.
fn text(all: &[(String, Found)]) -> String {
    let mut names: Vec<&String> = all.iter().flat_map(|(_, found)| found.keys()).collect();
    names.sort();
    names.dedup();
    let mut text = format!(
        "{:<64} {:>6} {:>22} {:>6} {:>22} {:>6} {:>8}\n",
        "added",
        "tables",
        "balanced error falls by",
        "better",
        "log loss falls by",
        "weight",
        "seconds"
    );
    for name in names.into_iter().filter(|name| !name.is_empty()) {
        let pairs: Vec<(Scored, Scored)> = all
            .iter()
            .filter_map(|(_, found)| Some((*found.get("")?, *found.get(name)?)))
            .collect();
        let of = |value: &dyn Fn(&(Scored, Scored)) -> f64| {
            mean_and_error(&pairs.iter().map(value).collect::<Vec<f64>>())
        };
        let (error, error_spread) =
            of(&|(without, with)| without.balanced_error - with.balanced_error);
        let (loss, loss_spread) = of(&|(without, with)| without.log_loss - with.log_loss);
        let n_better = pairs
            .iter()
            .filter(|(without, with)| with.balanced_error < without.balanced_error)
            .count();
        let (weight, secs) = (of(&|(_, with)| with.weight).0, of(&|(_, with)| with.secs).0);
        text += &format!(
            "{name:<64} {:>6} {:>23} {n_better:>6} {:>22} {weight:>6.2} {secs:>8.1}\n",
            pairs.len(),
            format!("{error:+.4} ± {error_spread:.4}"),
            format!("{loss:+.4} ± {loss_spread:.4}"),
        );
    }
    text + "better: tables with a smaller balanced error; weight: of the candidate in the ensemble, mean over tables; seconds: \
            of CPU, for three folds\n"
}
