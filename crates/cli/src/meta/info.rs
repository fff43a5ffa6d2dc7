//! `pitchpipe meta info`.

use pitchpipe_automl::offline::{SPACE_BLOCKS, Status, Store};
use pitchpipe_automl::surrogate::Surrogate;
use serde_json::json;

use super::args::InfoArgs;
use super::train::summary;
use crate::failure::Failure;
use crate::text::{aligned, counted};

/// What a store holds of one dataset.
struct Row {
    dataset: String,
    finished: usize,
    out_of_time: usize,
    failed: usize,
    best: Option<f32>,
    cpu_secs: f64,
    alone_secs: f64,
}

/// The word for the surrogate inside the program, where no file of that name lies about.
const DEFAULT: &str = "default";

pub(crate) fn run(args: &InfoArgs) -> Result<String, Failure> {
    if args.path.is_file() {
        return Ok(of_surrogate(&Surrogate::read(&args.path)?, args.json));
    }
    if args.path.as_os_str() == DEFAULT && !args.path.exists() {
        return Ok(of_surrogate(&Surrogate::embedded(), args.json));
    }
    let store = Store::open(&args.path)?;
    let mut damaged = Vec::new();
    let mut rows = Vec::new();
    for dataset in store.datasets()? {
        let entries = store.entries(&dataset, &mut damaged)?;
        let count = |is: fn(&Status) -> bool| entries.values().filter(|e| is(&e.status)).count();
        let errors = entries.values().filter_map(|e| e.status.scores().map(|s| s.error));
        rows.push(Row {
            finished: count(|s| matches!(s, Status::Finished(_))),
            out_of_time: count(|s| matches!(s, Status::OutOfTime)),
            failed: count(|s| matches!(s, Status::Failed(_))),
            best: errors.min_by(f32::total_cmp),
            cpu_secs: entries.values().map(|e| f64::from(e.marginal_s)).sum(),
            alone_secs: entries.values().map(|e| f64::from(e.runtime_s)).sum(),
            dataset,
        });
    }
    let damaged: Vec<String> = damaged.iter().map(|p| p.display().to_string()).collect();
    if args.json {
        let datasets: Vec<_> = rows.iter().map(as_json).collect();
        let object =
            json!({"facts": store.facts(), "datasets": datasets, "damaged_shards": damaged});
        return Ok(format!("{object}\n"));
    }
    Ok(text(&store, &rows, &damaged))
}

fn of_surrogate(surrogate: &Surrogate, json: bool) -> String {
    if json {
        let facts = serde_json::to_string(surrogate.facts()).expect("plain data is always written");
        return format!("{facts}\n");
    }
    summary(surrogate)
}

fn as_json(row: &Row) -> serde_json::Value {
    json!({
        "dataset": row.dataset, "finished": row.finished, "out_of_time": row.out_of_time,
        "failed": row.failed, "best_error": row.best, "cpu_s": row.cpu_secs, "alone_s": row.alone_secs,
    })
}

fn text(store: &Store, rows: &[Row], damaged: &[String]) -> String {
    let head = ["dataset", "finished", "out of time", "failed", "best error", "CPU s", "alone s"];
    let mut lines = vec![head.iter().map(|h| (*h).to_owned()).collect::<Vec<_>>()];
    for row in rows {
        lines.push(vec![
            row.dataset.clone(),
            row.finished.to_string(),
            row.out_of_time.to_string(),
            row.failed.to_string(),
            row.best.map_or(String::new(), |e| format!("{e:.4}")),
            format!("{:.1}", row.cpu_secs),
            format!("{:.1}", row.alone_secs),
        ]);
    }
    let total = |of: fn(&Row) -> f64| rows.iter().map(of).sum::<f64>();
    let mut text = aligned(&lines, "", &[1, 2, 3, 4, 5, 6]);
    let planned = (rows.len() * store.space().n_pipelines()).max(1) as f64;
    text += &format!(
        "\n{}, {} entries finished ({:.2} % of all pipelines), {:.0} CPU s ({:.0} s if each had run alone)\n",
        counted(rows.len(), "dataset"),
        total(|r| r.finished as f64),
        100.0 * total(|r| r.finished as f64) / planned,
        total(|r| r.cpu_secs),
        total(|r| r.alone_secs),
    );
    // The list of components is long, and the key stands for it.
    let shown = store.facts().iter().filter(|(name, _)| *name != SPACE_BLOCKS);
    let facts: Vec<String> = shown.map(|(k, v)| format!("{k} {v}")).collect();
    text += &format!("{}\n", facts.join(", "));
    for path in damaged {
        text += &format!("damaged, left out: {path}\n");
    }
    text
}
