//! What can be counted in the published tensor: which estimators work best, how long pipelines take
//! (paper, Figures 9 and 14).

use pitchpipe_automl::offline::published::Cell;

use super::Context;
use super::csv::{Csv, short};
use super::replays::N_ESTIMATORS;
use crate::reference::recorded::{BASELINE, KINDS, kind};

/// The kind of estimator of the best pipeline on each dataset, and the rank of the baseline.
pub(super) fn best_estimators(context: &Context) -> Result<Csv, String> {
    let paper = &context.paper;
    let mut counts = [0; KINDS.len()];
    let mut ranks = Vec::new();
    for (errors, cells) in paper.errors.rows().into_iter().zip(paper.cells.rows()) {
        let seen: Vec<usize> = (0..errors.len()).filter(|&j| cells[j] == Cell::Observed).collect();
        let best = seen.iter().copied().reduce(|a, b| if errors[b] < errors[a] { b } else { a });
        if let Some(best) = best {
            counts[kind(best % N_ESTIMATORS)] += 1;
        }
        if cells[BASELINE] == Cell::Observed {
            let better = seen.iter().filter(|&&j| errors[j] < errors[BASELINE]).count();
            ranks.push(better as f64 + 1.0);
        }
    }
    let mut csv = Csv::new(
        "published tensor, 215 datasets; a dataset counts for the kind of its best pipeline",
        &["what", "value"],
    );
    for ((name, _, _), count) in KINDS.iter().zip(counts) {
        csv.push(&[name, &count]);
    }
    let mean = ranks.iter().sum::<f64>() / ranks.len() as f64;
    ranks.sort_by(f64::total_cmp);
    csv.push(&[&"baseline's mean rank", &format!("{mean:.0}")]);
    csv.push(&[&"baseline's median rank", &format!("{:.0}", ranks[ranks.len() / 2])]);
    Ok(csv)
}

/// The share of pipelines on datasets that end within a number of seconds.
pub(super) fn runtime_distribution(context: &Context) -> Result<Csv, String> {
    let secs = &context.paper.runtimes_secs;
    let mut csv = Csv::new(
        "published tensor, 215 datasets x 23424 pipelines; those that failed or were cut off at 120 s never end",
        &["seconds", "share_within"],
    );
    for limit in [0.03, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0, 90.0, 120.0] {
        let within = secs.iter().filter(|&&t| t > 0.0 && t <= limit).count();
        csv.push(&[&limit, &short(within as f64 / secs.len() as f64)]);
    }
    Ok(csv)
}
