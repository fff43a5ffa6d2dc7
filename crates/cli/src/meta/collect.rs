//! `pitchpipe meta collect`.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use indicatif::{ProgressBar, ProgressStyle};
use pitchpipe_automl::offline::share::{Driver, GivenUp, Sharing};
use pitchpipe_automl::offline::{
    Collection, EstimatorKind, Event, Scope, SearchSpace, Store, Summary, corpus,
};
use serde_json::json;

use super::args::CollectArgs;
use super::cluster::{self, Cluster, Engine};
use crate::console::{print_event, say_line};
use crate::failure::Failure;
use crate::text::{counted, shown};

pub(crate) fn run(
    args: &CollectArgs,
    stop: &Arc<AtomicBool>,
    engine: Option<Engine<'_>>,
) -> Result<String, Failure> {
    let collection = collection(args, stop)?;
    let is_local = args.engine == "local";
    let engine = if is_local { None } else { Some(cluster::engine(engine)?) };
    let tables = corpus::tables(&args.corpus, args.target.as_deref())?;
    let store = Store::open_or_create(&args.store, &collection.facts())?;
    let progress = Arc::new(Progress::new(args.json, tables.len()));
    let teller = Arc::clone(&progress);
    let tell = move |event: Event| teller.tell(&event);
    let (summary, given_up) = match engine {
        None => (collection.run(&tables, &store, tell)?, Vec::new()),
        Some(engine) => {
            let threads = collection.threads;
            let sharing = Sharing {
                longest: args.task_time,
                shortest: Sharing::default().shortest.min(args.task_time),
                retries: args.retries,
            };
            let driver = Driver::new(collection, tables, store, sharing, tell);
            let (address, staging) = (args.address.clone(), args.staging.clone());
            let cluster = Cluster { address, staging, n_workers: threads };
            let driver = engine(driver, &cluster).map_err(Failure::new)?;
            let (summary, status) = driver.end()?;
            (summary, status.given_up)
        }
    };
    progress.bar.finish_and_clear();
    let targets = progress.targets.lock().expect("nobody panics while holding it").clone();
    if !given_up.is_empty() && !args.keep_going && !summary.cancelled {
        return Err(not_done(&given_up, args));
    }
    if summary.cancelled {
        return Err(stopped(&summary, args));
    }
    if !summary.skipped.is_empty() && !args.keep_going {
        return Err(unread(&summary));
    }
    Ok(if args.json { finished_event(&summary) } else { report(&summary, args, &targets) })
}

fn not_done(given_up: &[GivenUp], args: &CollectArgs) -> Failure {
    let n: usize = given_up.iter().map(|g| g.pipelines.len()).sum();
    let (n, first) = (counted(n, "pipeline"), &given_up[0]);
    let store = args.store.display();
    let message = format!(
        "{n} could not be run and were given up; the others are collected (the first, on {}: {})",
        shown(&first.dataset, 40),
        shown(&first.reason, 200)
    );
    let help = format!(
        "pitchpipe meta status {store} names them; the same command again tries them anew, --keep-going leaves them out"
    );
    Failure::with_help(message, help)
}

fn stopped(summary: &Summary, args: &CollectArgs) -> Failure {
    let store = args.store.display();
    let (n, secs) = (summary.n_added, summary.cpu_secs);
    let message = format!("stopped: {n} entries of {secs:.1} CPU s are in {store}");
    Failure::with_help(message, "give the same command again to go on".to_owned())
}

fn collection(args: &CollectArgs, stop: &Arc<AtomicBool>) -> Result<Collection, Failure> {
    let kind = |text: &String| {
        text.parse().map_err(|_| {
            let known = EstimatorKind::ALL.map(EstimatorKind::name).join(", ");
            let message = format!("there is no estimator type {text:?}");
            Failure::with_help(message, format!("the types are {known}"))
        })
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Collection {
        space: SearchSpace::all(),
        scope: Scope {
            fraction: args.fraction,
            seed: args.seed,
            slice: !args.no_slice,
            kinds: args.estimators.iter().map(kind).collect::<Result<_, _>>()?,
            preparations: args.prefixes.clone(),
        },
        n_folds: args.folds.into(),
        time_cap: args.time_cap,
        dataset_cap: args.dataset_cap,
        threads: args.threads.unwrap_or(cores).max(1),
        cancel: Arc::clone(stop),
    })
}

struct Progress {
    bar: ProgressBar,
    json: bool,
    /// The column to predict of each table that was begun.
    targets: Mutex<Vec<(String, String)>>,
}

impl Progress {
    fn new(json: bool, n_tables: usize) -> Self {
        let bar = if json { ProgressBar::hidden() } else { ProgressBar::new(n_tables as u64) };
        let style = "{pos}/{len} tables [{elapsed_precise}, {eta} left] {msg}";
        bar.set_style(ProgressStyle::with_template(style).expect("the template is sound"));
        Self { bar, json, targets: Mutex::default() }
    }

    fn tell(&self, event: &Event) {
        if let Event::Begun { dataset, target, .. } = event {
            let mut targets = self.targets.lock().expect("nobody panics while holding it");
            targets.push((dataset.clone(), target.clone()));
        }
        if self.json {
            print_event(&as_json(event));
            return;
        }
        match event {
            Event::Begun { dataset, target, position, planned, done, .. } => {
                self.bar.set_position(*position as u64);
                let (dataset, target) = (shown(dataset, 40), shown(target, 40));
                self.bar.set_message(format!(
                    "{dataset}, target {target}: {done} of {planned} entries"
                ));
            }
            Event::Stored { dataset, n_entries, cpu_secs } => {
                self.bar.set_message(format!("{dataset}: +{n_entries} in {cpu_secs:.1} CPU s"));
            }
            Event::Skipped { reason, .. } => {
                self.bar.suspend(|| say_line(format_args!("warning: passed over {reason}")));
            }
            Event::GivenUp { dataset, n_pipelines, reason } => self.bar.suspend(|| {
                let n = counted(*n_pipelines, "pipeline");
                say_line(format_args!("warning: gave up {n} on {dataset}: {reason}"));
            }),
            Event::Duplicate { dataset, of } => self.bar.suspend(|| {
                say_line(format_args!("warning: {dataset} has the same content as {of}"));
            }),
            Event::Damaged { shards } => self.bar.suspend(|| {
                for shard in shards {
                    let path = shard.display();
                    say_line(format_args!(
                        "warning: {path} is damaged; moved to quarantine/ and collected anew"
                    ));
                }
            }),
            _ => {}
        }
    }
}

fn as_json(event: &Event) -> serde_json::Value {
    match event {
        Event::Begun { dataset, target, position, of, planned, done } => json!({
            "event": "begun", "dataset": dataset, "target": target, "position": position, "of": of,
            "planned": planned, "done": done,
        }),
        Event::Stored { dataset, n_entries, cpu_secs } => json!({
            "event": "stored", "dataset": dataset, "entries": n_entries, "cpu_s": cpu_secs,
        }),
        Event::Skipped { dataset, reason } => {
            json!({"event": "skipped", "dataset": dataset, "reason": reason})
        }
        Event::GivenUp { dataset, n_pipelines, reason } => json!({
            "event": "given_up", "dataset": dataset, "pipelines": n_pipelines, "reason": reason,
        }),
        Event::Duplicate { dataset, of } => {
            json!({"event": "duplicate", "dataset": dataset, "of": of})
        }
        Event::Damaged { shards } => json!({"event": "damaged", "shards": shards}),
        other => json!({"event": format!("{other:?}")}),
    }
}

fn finished_event(summary: &Summary) -> String {
    let skipped: Vec<&String> = summary.skipped.iter().map(|(name, _)| name).collect();
    let event = json!({
        "event": "finished", "entries": summary.n_added, "cpu_s": summary.cpu_secs,
        "skipped": skipped, "cancelled": summary.cancelled,
    });
    format!("{event}\n")
}

fn report(summary: &Summary, args: &CollectArgs, targets: &[(String, String)]) -> String {
    let entries = counted(summary.n_added, "entry").replace("entrys", "entries");
    let store = args.store.display();
    let mut text = format!("done: {entries} added to {store} in {:.1} CPU s\n", summary.cpu_secs);
    text += &targets_in_words(targets);
    for (_, reason) in &summary.skipped {
        text += &format!("passed over: {reason}\n");
    }
    text
}

/// Which column was predicted: nobody need have said so, and a wrong one costs hours.
fn targets_in_words(targets: &[(String, String)]) -> String {
    const MOST: usize = 20;
    let Some((_, first)) = targets.first() else { return String::new() };
    if targets.iter().all(|(_, target)| target == first) {
        return format!("target of all tables: {}\n", shown(first, 40));
    }
    let word = |(table, target): &(String, String)| {
        format!("{} ({})", shown(table, 40), shown(target, 40))
    };
    let words: Vec<String> = targets.iter().take(MOST).map(word).collect();
    let more = match targets.len().saturating_sub(MOST) {
        0 => String::new(),
        n => format!(" and {n} more; --json tells all"),
    };
    format!("targets: {}{more}\n", words.join(", "))
}

fn unread(summary: &Summary) -> Failure {
    let reasons: Vec<&str> = summary.skipped.iter().map(|(_, reason)| reason.as_str()).collect();
    let n = counted(summary.skipped.len(), "table");
    let message = format!(
        "{n} could not be read; the others are collected ({} entries added): {}",
        summary.n_added,
        reasons.join("; ")
    );
    Failure::with_help(message, "mend or remove them, or pass --keep-going".to_owned())
}
