//! `pitchpipe meta train`.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use pitchpipe_automl::offline::train::{Stack, StackRow, TrainMethod, Training};
use pitchpipe_automl::offline::{Store, listed_in};
use pitchpipe_automl::surrogate::{PaperEmbedding, Surrogate, TrainingFacts};

use super::args::TrainArgs;
use crate::console::say_line;
use crate::failure::Failure;
use crate::output::{self, Product};
use crate::text::{aligned, counted};

pub(crate) fn run(args: &TrainArgs) -> Result<String, Failure> {
    let inputs: Vec<&Path> =
        args.store.iter().chain(&args.without_index).map(PathBuf::as_path).collect();
    output::check_name(&args.out, Product::Surrogate, "surrogate")?;
    output::check(&args.out, &inputs, Product::Surrogate, args.force)?;
    let stores: Vec<Store> =
        args.store.iter().map(|folder| Store::open(folder)).collect::<Result<_, _>>()?;
    let mut without: BTreeSet<String> = args.without.iter().cloned().collect();
    for index in &args.without_index {
        without.extend(datasets_in(index, &stores)?);
    }
    let stack = Stack::read(&stores, &without)?;
    if let Some(unknown) = args.without.iter().find(|name| !stack.left_out.contains(name)) {
        let message = format!("there is no dataset {unknown:?} to leave out");
        let help = "`pitchpipe meta info DIR` lists the names".to_owned();
        return Err(Failure::with_help(message, help));
    }
    for path in &stack.damaged {
        say_line(format_args!("warning: {} is damaged and was not read", path.display()));
    }
    for StackRow { name, .. } in &stack.too_few {
        say_line(format_args!("warning: {name} has too few finished entries to train on"));
    }
    let training = Training {
        methods: args.method.0.clone(),
        rank: args.rank.map(usize::from),
        published_weight: args.published_weight,
        seed: args.seed,
        at_once: args.at_once as usize,
    };
    let surrogate = train(training, &stack)?;
    surrogate.write(&args.out)?;
    if args.json {
        let facts = serde_json::to_string(surrogate.facts()).expect("plain data is always written");
        return Ok(format!("{facts}\n"));
    }
    let size = fs::metadata(&args.out).map_or(0, |m| m.len());
    let written = format!("written to {} ({:.2} MB)\n", args.out.display(), size as f64 / 1e6);
    Ok(summary(&surrogate) + &written)
}

/// Trains all that was asked for. KernelOboe's matrix cannot be inverted where tables are few and alike; the rest does not
/// need it.
fn train(mut training: Training, stack: &Stack) -> Result<Surrogate, Failure> {
    let first = training.run(stack);
    let failed = |error: &dyn Display| {
        let help = "collect more, with `pitchpipe meta collect`".to_owned();
        Failure::with_help(format!("cannot train: {error}"), help)
    };
    let is_kernel = |method: &TrainMethod| *method == TrainMethod::Kernel;
    match first {
        Err(error) if training.methods.len() > 1 && training.methods.iter().any(is_kernel) => {
            training.methods.retain(|method| !is_kernel(method));
            let surrogate = training.run(stack).map_err(|error| failed(&error))?;
            say_line(format_args!(
                "warning: trained without kernel, so that --method kernel-oboe is not in it: {error}"
            ));
            Ok(surrogate)
        }
        result => result.map_err(|error| failed(&error)),
    }
}

/// The datasets that a manifest lists. What it lists that is in no store is said: its owner may have meant a dataset that
/// goes by another name there.
fn datasets_in(index: &Path, stores: &[Store]) -> Result<Vec<String>, Failure> {
    let listed = listed_in(index, stores)?;
    let in_none: Vec<&str> =
        listed.iter().filter(|l| l.datasets.is_empty()).map(|l| l.name.as_str()).collect();
    if !in_none.is_empty() {
        say_line(format_args!(
            "warning: {}: {} of {} are no dataset of a store, by content, name or OpenML id: {}",
            index.display(),
            in_none.len(),
            counted(listed.len(), "table"),
            in_none.join(", ")
        ));
    }
    Ok(listed.into_iter().flat_map(|l| l.datasets).collect())
}

/// What a surrogate was trained on and how well it does.
pub(super) fn summary(surrogate: &Surrogate) -> String {
    let facts = surrogate.facts();
    let (own, published) = facts.counts();
    let mut text = format!(
        "trained on {} of your own and {} published ones: {} entries, {:.2} % missing\n",
        counted(own, "dataset"),
        published,
        facts.n_entries,
        100.0 * facts.missing_ratio
    );
    if !facts.left_out.is_empty() {
        text += &format!("left out: {}\n", facts.left_out.join(", "));
    }
    text += "\n";
    text += &completions(facts);
    for (what, embedding) in [("oboe", surrogate.oboe()), ("tensor-oboe", surrogate.tensor_oboe())]
    {
        if let Some(embedding) = embedding {
            let (first, most) = (embedding.initial_rank, embedding.y.nrows());
            text += &format!("{what}: first rank {first}, at most {most}\n");
        }
    }
    let parts = surrogate.paper_parts();
    for (what, embedding) in [("tensor-oboe", &parts.tensor), ("kernel-oboe", &parts.kernel)] {
        if let Some(PaperEmbedding { embedding, initial, .. }) = embedding {
            let most = embedding.most();
            text += &format!(
                "{what}: first ranks of datasets and estimators {} and {}, at most {} and {}\n",
                initial.datasets, initial.estimators, most.datasets, most.estimators
            );
        }
    }
    let best = surrogate.best_on_average();
    text += &format!("best on average: {} (pipeline {best})\n\n", surrogate.space().pipeline(best));
    text += &accuracy(facts);
    text
}

fn completions(facts: &TrainingFacts) -> String {
    let head = ["completion", "ranks", "held-out error", "seconds"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for done in &facts.completions {
        let ranks: Vec<String> = done.ranks.iter().map(usize::to_string).collect();
        lines.push(vec![
            done.method.clone(),
            ranks.join(" x "),
            format!("{:.4}", done.held_out_error),
            format!("{:.1}", done.secs),
        ]);
    }
    aligned(&lines, "", &[2, 3])
}

fn accuracy(facts: &TrainingFacts) -> String {
    let from = if facts.runtimes_are_own {
        "your own runs"
    } else {
        "published runs, which another engine made: they say little of this one's"
    };
    let mut text = format!("runtimes learned from {from}; predicted for datasets left out:\n");
    let head = ["estimators", "within factor 2", "within factor 4", "entries"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for of in &facts.runtime_accuracy {
        lines.push(vec![
            of.estimator_type.clone(),
            format!("{:.1} %", 100.0 * of.within_2),
            format!("{:.1} %", 100.0 * of.within_4),
            of.n_entries.to_string(),
        ]);
    }
    text += &aligned(&lines, "", &[1, 2, 3]);
    text
}
