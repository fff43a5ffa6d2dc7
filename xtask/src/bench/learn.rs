//! Pipeline by pipeline: our 3-fold cross-validation next to scikit-learn's, one thread each.

use cpu_time::ProcessTime;
use pitchpipe_learn::encode::Encoder;
use pitchpipe_learn::impute::Imputer;
use pitchpipe_learn::reduce::Reducer;
use pitchpipe_learn::scale::Scaler;
use pitchpipe_learn::{Outcome, Pipeline, Preparation, SearchSpace, Validation};
use pitchpipe_table::Dataset;

use super::peer::{Case, Patience, Tables, geometric_mean};

/// Small to large; the last is the one with a target of its own.
const TABLES: [&str; 8] = [
    "iris-150x4",
    "wine-178x13",
    "breast-cancer-569x30",
    "two-1000x20",
    "digits-1797x64",
    "three-5000x30",
    "two-10000x4",
    LARGEST,
];
const LARGEST: &str = "two-10000x100";
const QUICK: [&str; 4] = ["iris-150x4", "wine-178x13", "breast-cancer-569x30", "two-1000x20"];

/// A few settings of each type, by their position in the search space.
const SETTINGS: [usize; 24] = [
    5, 2, // AdaBoost 50/1, 100/2
    18, 12, // decision tree 2, .01
    41, 50, // extra trees 2/gini, 64-ish/entropy
    71, 70, // gradient boosting .1/3/all, .1/3/log2
    82, // naive Bayes
    94, 90, 93, // neighbours
    111, 112, 113, 114, // logistic regression, C = 1
    135, 137, 142, // multilayer perceptron
    143, // perceptron
    161, 170, // random forest
    179, 178, // linear SVM
];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Small tables only: about a minute.
    #[arg(long)]
    quick: bool,
    /// Only estimators whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// Only tables whose name contains this.
    #[arg(long)]
    table: Option<String>,
}

struct Row {
    table: String,
    kind: &'static str,
    ours: f64,
    theirs: f64,
}

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let names: Vec<&str> = if options.quick { QUICK.to_vec() } else { TABLES.to_vec() }
        .into_iter()
        .filter(|name| options.table.as_ref().is_none_or(|t| name.contains(t.as_str())))
        .collect();
    let tables = Tables::read(&names)?;
    let space = SearchSpace::paper();
    let pipelines = SETTINGS
        .iter()
        .map(|&i| space.estimators()[i].clone())
        .filter(|e| options.only.as_ref().is_none_or(|o| e.name().contains(o.as_str())))
        .map(|estimator| Pipeline { preparation: standardised(), estimator });
    let pipelines: Vec<Pipeline> = pipelines.collect();
    let cases: Vec<Case> = names
        .iter()
        .flat_map(|name| pipelines.iter().map(|p| Case::new(name, p.clone())))
        .collect();
    let patience = Patience { repeats: 5, fold_cap_secs: 5.0, cap_secs: 300.0 };
    let theirs = tables.peer_secs("learn", &cases, patience)?;
    let mut rows = Vec::new();
    println!(
        "{:<22} {:<62} {:>10} {:>10} {:>8}",
        "table", "estimator", "ours, ms", "theirs", "ratio"
    );
    for (case, theirs) in cases.iter().zip(theirs) {
        let ours = our_secs(&tables.tables[&case.table], &case.pipeline)?;
        let Some(theirs) = theirs else {
            return Err(format!("scikit-learn refuses {}", case.key));
        };
        println!(
            "{:<22} {:<62} {:>10.2} {:>10.1} {:>8.1}",
            case.table,
            case.pipeline.estimator.to_string(),
            ours * 1e3,
            theirs * 1e3,
            theirs / ours
        );
        let kind = case.pipeline.estimator.name();
        rows.push(Row { table: case.table.clone(), kind, ours, theirs });
    }
    report(&rows, &names)
}

fn standardised() -> Preparation {
    Preparation {
        imputer: Imputer::Mean,
        encoder: Encoder::None,
        scaler: Scaler::Standardise,
        reducer: Reducer::None,
    }
}

/// CPU seconds of the whole process, the least of a few runs where these are short.
fn our_secs(dataset: &Dataset, pipeline: &Pipeline) -> Result<f64, String> {
    let (mut best, mut spent) = (f64::INFINITY, 0.0);
    for _ in 0..5 {
        let start = ProcessTime::now();
        let outcomes = Validation::default()
            .outcomes(dataset, std::slice::from_ref(pipeline))
            .map_err(|e| e.to_string())?;
        let secs = start.elapsed().as_secs_f64();
        if !matches!(outcomes[..], [Outcome::Finished(_)]) {
            return Err(format!("{pipeline} did not finish"));
        }
        best = best.min(secs);
        spent += secs;
        if spent > 0.3 {
            break;
        }
    }
    Ok(best)
}

/// Ratios by type and table; the targets that they must meet.
fn report(rows: &[Row], names: &[&str]) -> Result<(), String> {
    let mut kinds: Vec<&'static str> = rows.iter().map(|r| r.kind).collect();
    kinds.dedup();
    let ratio = |keep: &dyn Fn(&Row) -> bool| {
        geometric_mean(rows.iter().filter(|r| keep(r)).map(|r| r.theirs / r.ours))
    };
    println!("\nscikit-learn's CPU time over ours, geometric means over settings");
    print!("{:<22}", "");
    names.iter().for_each(|name| print!(" {:>21}", name));
    println!(" {:>8} {:>8}", "all", "least");
    let mut slower = Vec::new();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        print!("{kind:<22}");
        for name in names {
            print!(" {:>21.1}", ratio(&|r| r.kind == kind && r.table == **name));
        }
        let own = rows.iter().filter(|r| r.kind == kind).map(|r| r.theirs / r.ours);
        let least = own.fold(f64::INFINITY, f64::min);
        let all = ratio(&|r| r.kind == kind);
        println!(" {all:>8.1} {least:>8.2}");
        if all < 1.0 {
            slower.push(kind);
        }
    }
    print!("{:<22}", "all types");
    names.iter().for_each(|name| print!(" {:>21.1}", ratio(&|r| r.table == *name)));
    let overall = ratio(&|_| true);
    println!(" {overall:>8.1}");
    let largest = ratio(&|r| r.table == LARGEST);
    let mut missed = Vec::new();
    if !slower.is_empty() {
        missed.push(format!("slower than scikit-learn: {}", slower.join(", ")));
    }
    if overall < 10.0 {
        missed.push(format!("{overall:.1} times overall, not 10"));
    }
    if largest < 3.0 {
        missed.push(format!("{largest:.1} times at {LARGEST}, not 3"));
    }
    if missed.is_empty() { Ok(()) } else { Err(missed.join("; ")) }
}
