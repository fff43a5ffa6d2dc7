//! A model for people.

use pitchpipe_automl::{Combination, Importance, Measured, Model, Report, Speed, StopReason};
use pitchpipe_table::{Kind, Metric, Schema};

use crate::decision;
use crate::scores::ScoreTable;
use crate::text::{aligned, counted, shown};

const LONGEST_NAME: usize = 40;
const MAX_COLUMNS: usize = 60;
const MAX_CLASSES: usize = 20;

pub(super) fn of(
    file: &str,
    model: &Model,
    importances: Option<&[Importance]>,
    n_candidates: usize,
) -> String {
    let report = model.report();
    let mut parts = vec![
        opening(file, report),
        format!("{}\n{}", measured_on(report), ScoreTable::of(report).lines()),
        ensemble_lines(model, usize::MAX),
        decision_line(model),
        leaderboard(report, n_candidates),
        time_spent(report),
    ];
    parts.extend(importances.map(importance_lines));
    parts.extend(model.schema().map(schema_lines));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn measured_on(report: &Report) -> String {
    let rows = counted(report.n_rows_scored, "row");
    match report.measured {
        Measured::HeldOut => format!("scores on {rows} that nothing had seen"),
        Measured::CrossFitted => {
            format!("scores on {rows}, each by models and an ensemble made without it")
        }
        _ => "scores on the rows it was chosen by, which flatter it".to_owned(),
    }
}

fn opening(file: &str, report: &Report) -> String {
    let ended = match report.stop_reason {
        StopReason::TimeBudget => "the time budget was used",
        StopReason::MaxEvaluations => "as many pipelines were run as were asked for",
        StopReason::Cancelled => "it was interrupted",
        StopReason::OutOfMemory => "memory ran out, and this is the best there was a while before",
        _ => "nothing was left that would fit the time",
    };
    let rows = match report.n_rows_used {
        n if n < report.n_rows => {
            format!("{n} of {}, a sample,", counted(report.n_rows, "row"))
        }
        n => counted(n, "row"),
    };
    format!(
        "{file}\ntrained on {rows} with {} and {} by method {}, seed {}, for {}\n{:.1}s of {}s: {ended}\n",
        counted(report.n_features, "feature"),
        counted(report.n_classes, "class"),
        report.method,
        report.seed,
        in_words(report.metric),
        report.elapsed_secs,
        report.budget_secs,
    )
}

/// Which rule turns probabilities into labels, and why.
fn decision_line(model: &Model) -> String {
    format!(
        "decides on a class where {}: the rule for {}\n\
         (pitchpipe predict --decision chooses another; --proba shows what was decided on)\n",
        decision::in_words(model.decision()),
        in_words(model.report().metric),
    )
}

fn in_words(metric: Metric) -> String {
    metric.name().replace('_', " ")
}

/// The heaviest base learners with their weights, and how they are combined.
pub(crate) fn ensemble_lines(model: &Model, n: usize) -> String {
    let (report, learners) = (model.report(), model.base_learners());
    let combined = match model.combination() {
        _ if learners.len() == 1 => "",
        Combination::Average => ", averaged by weight",
        Combination::Vote => ", by majority vote",
    };
    let mut text = format!(
        "the model: {} of {} tried{combined}\n",
        counted(learners.len(), "pipeline"),
        report.n_evaluated
    );
    let mut rows = vec![["weight", "error", "pipeline"].map(str::to_owned).to_vec()];
    for learner in learners.iter().take(n) {
        let pipeline = learner.pipeline();
        let error = report.leaderboard.iter().find(|c| &c.pipeline == pipeline).map(|c| c.error);
        rows.push(vec![
            format!("{:.2}", learner.weight()),
            error.map_or_else(String::new, |e| format!("{e:.4}")),
            pipeline.to_string(),
        ]);
    }
    text += &aligned(&rows, "  ", &[0, 1]);
    if learners.len() > n {
        text += &format!("  … and {} more; pitchpipe inspect lists them all\n", learners.len() - n);
    }
    text
}

/// How long predictions take, the slowest base learner first.
pub(super) fn speed_lines(model: &Model, speed: &Speed) -> String {
    let mut text = format!(
        "predicting takes {:.1} µs of work a row among many, and {:.2} ms for a row alone (measured now, on made rows)\n",
        1e6 * speed.row_secs,
        1e3 * speed.single_row_secs,
    );
    let all: f64 = speed.learner_secs.iter().sum();
    let mut learners: Vec<_> = model.base_learners().iter().zip(&speed.learner_secs).collect();
    learners.sort_by(|a, b| b.1.total_cmp(a.1));
    let mut rows = vec![["µs a row", "share", "weight", "pipeline"].map(str::to_owned).to_vec()];
    rows.extend(learners.into_iter().map(|(learner, secs)| {
        vec![
            format!("{:.1}", 1e6 * secs),
            format!("{:.0} %", 100.0 * secs / all),
            format!("{:.2}", learner.weight()),
            learner.pipeline().to_string(),
        ]
    }));
    text += &aligned(&rows, "  ", &[0, 1, 2]);
    text
}

fn leaderboard(report: &Report, n: usize) -> String {
    let n = n.min(report.leaderboard.len());
    if n == 0 {
        return String::new();
    }
    let ran = format!(
        "{} finished, {} failed, {} ran out of time",
        counted(report.n_evaluated, "pipeline"),
        report.n_failed,
        report.n_out_of_time
    );
    let mut rows = vec![["error", "CPU s", "rows", "pipeline"].map(str::to_owned).to_vec()];
    rows.extend(report.leaderboard[..n].iter().map(|candidate| {
        vec![
            format!("{:.4}", candidate.error),
            format!("{:.2}", candidate.secs),
            candidate.n_rows.to_string(),
            candidate.pipeline.to_string(),
        ]
    }));
    format!("the best of those tried ({ran})\n{}", aligned(&rows, "  ", &[0, 1, 2]))
}

fn time_spent(report: &Report) -> String {
    let mut spent: Vec<_> = report.time_spent.iter().collect();
    if spent.is_empty() {
        return String::new();
    }
    spent.sort_by(|a, b| b.secs.total_cmp(&a.secs));
    let rows: Vec<Vec<String>> =
        spent.iter().map(|s| vec![format!("{:.2}s", s.secs), s.what.clone()]).collect();
    format!("time spent\n{}", aligned(&rows, "  ", &[0]))
}

fn importance_lines(importances: &[Importance]) -> String {
    let mut sorted: Vec<&Importance> = importances.iter().collect();
    sorted.sort_by(|a, b| b.increase.total_cmp(&a.increase));
    let line = |i: &&Importance| {
        vec![
            format!("{:+.4}", i.increase),
            format!("± {:.4}", i.standard_error),
            shown(&i.column, LONGEST_NAME),
        ]
    };
    let rows: Vec<Vec<String>> = sorted.iter().take(MAX_COLUMNS).map(line).collect();
    let mut text = "importance: how much the error grows when a column is shuffled\n".to_owned();
    text += &aligned(&rows, "  ", &[0]);
    if sorted.len() > MAX_COLUMNS {
        text += &format!("  … and {} more; --json lists them all\n", sorted.len() - MAX_COLUMNS);
    }
    text
}

fn schema_lines(schema: &Schema) -> String {
    let mut text = String::new();
    if let Some(target) = schema.target() {
        let mut classes: Vec<String> =
            target.classes.iter().take(MAX_CLASSES).map(|c| shown(c, LONGEST_NAME)).collect();
        classes.extend((target.classes.len() > MAX_CLASSES).then(|| "…".to_owned()));
        let name = shown(&target.name, LONGEST_NAME);
        text += &format!("predicts {name}: {}\n", classes.join(", "));
    }
    text += "expects the columns\n";
    let line = |input: &pitchpipe_table::Input| {
        let kind = match &input.kind {
            Kind::Numeric => "numeric".to_owned(),
            Kind::Categorical(levels) => format!("categorical, {}", counted(levels.len(), "level")),
            Kind::Date(_) => "date".to_owned(),
            Kind::FreeText(_) => "free text".to_owned(),
        };
        let kind = match &input.rule {
            Some(rule) => format!("{kind}: {}", rule.in_words()),
            None => kind,
        };
        vec![shown(&input.name, LONGEST_NAME), kind]
    };
    let rows: Vec<Vec<String>> = schema.inputs().iter().take(MAX_COLUMNS).map(line).collect();
    text += &aligned(&rows, "  ", &[]);
    if schema.inputs().len() > MAX_COLUMNS {
        let more = schema.inputs().len() - MAX_COLUMNS;
        text += &format!("  … and {more} more; --json lists them all\n");
    }
    text
}
