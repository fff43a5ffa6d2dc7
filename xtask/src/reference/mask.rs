//! What is observed in the published tensors: exact counts.

use pitchpipe_automl::offline::published::{Cell, Published};

use super::{Context, Row, Rule, Table};

/// The counts of the published mask, and what is missing under a runtime limit.
pub(crate) fn tables(context: &Context) -> Result<Vec<Table>, String> {
    Ok(vec![counts(context), limits(&context.paper)])
}

fn counts(context: &Context) -> Table {
    let (all, paper) = (&context.all, &context.paper);
    let count = |p: &Published, kind| p.cells.iter().filter(|&&c| c == kind).count() as f64;
    let rows_with = |p: &Published, kind| {
        p.cells.rows().into_iter().filter(|row| row.iter().any(|&c| c == kind)).count() as f64
    };
    let share_missing =
        |p: &Published| 100.0 * (1.0 - count(p, Cell::Observed) / p.cells.len() as f64);
    let largest = all.errors.iter().copied().fold(0.0, f32::max);
    let over_120 = all.runtimes_secs.iter().filter(|&&t| t > 120.0).count() as f64;
    let mut table = Table::new("Published mask (exact counts)");
    for (what, reference, ours, digits) in [
        ("observed entries", 11_789_968.0, count(all, Cell::Observed), 0),
        ("failed or timed out", 258_020.0, count(all, Cell::Failed), 0),
        ("never run", 858_636.0, count(all, Cell::NotApplicable), 0),
        ("datasets with entries never run", 105.0, rows_with(all, Cell::NotApplicable), 0),
        (
            "datasets with over 30 % observed",
            547.0,
            all.observed_above(0.3).errors.nrows() as f64,
            0,
        ),
        ("largest observed error", 0.979, f64::from(largest), 3),
        ("observed runtimes over 120 s", 54.0, over_120, 0),
        ("% missing, 551 datasets", 8.65, share_missing(all), 2),
        ("% missing, 215 datasets", 0.740, share_missing(paper), 3),
        ("never run, 215 datasets", 0.0, count(paper, Cell::NotApplicable), 0),
        ("datasets with failures, 215", 28.0, rows_with(paper, Cell::Failed), 0),
    ] {
        table.push(Row::new(what, reference, ours, Rule::Digits(digits)));
    }
    table
}

fn limits(paper: &Published) -> Table {
    let mut table = Table::new("% missing when runtimes above a limit are dropped, 215 datasets");
    for (limit, reference) in [(10.0, 7.07), (20.0, 4.08), (40.0, 2.16), (80.0, 1.17), (90.0, 1.03)]
    {
        let kept = paper.runtimes_secs.iter().filter(|&&t| t > 0.0 && t <= limit).count();
        let missing = 100.0 * (1.0 - kept as f64 / paper.cells.len() as f64);
        table.push(Row::new(format!("{limit} s"), reference, missing, Rule::Digits(2)));
    }
    table
}
