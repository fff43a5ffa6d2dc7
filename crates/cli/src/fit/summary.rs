//! What a search found, once it is saved.

use std::time::Duration;

use pitchpipe_automl::{Measured, Model, StopReason};
use pitchpipe_report::report_json;
use pitchpipe_table::TableReport;
use serde_json::json;

use super::FitArgs;
use crate::inspect::ensemble_lines;
use crate::scores::ScoreTable;
use crate::text::{counted, shown};

/// So many base learners are shown.
const MOST_LEARNERS: usize = 8;

/// A search that ended within this share of its budget did not end for want of time.
const TIME_LEFT: f64 = 0.7;

/// A model that was made and saved.
pub(super) struct Made<'a> {
    pub(super) args: &'a FitArgs,
    pub(super) file: &'a str,
    pub(super) table: &'a TableReport,
    pub(super) model: &'a Model,
    pub(super) n_bytes: u64,
}

impl Made<'_> {
    pub(super) fn as_text(&self, ended_early: bool) -> String {
        let report = self.model.report();
        let mut text = format!(
            "{}: {}, {}, {} of {}\n",
            self.file,
            counted(report.n_rows, "row"),
            counted(self.table.n_features(), "column"),
            counted(report.n_classes, "class"),
            shown(&self.args.target, 40),
        );
        for note in &report.notes {
            text += &format!("note: {}\n", shown(note, 400));
        }
        text += &format!("\n{}\n", how_measured(self));
        text += &ScoreTable::of(report).lines();
        text += &format!("\n{}", ensemble_lines(self.model, MOST_LEARNERS));
        let early = if ended_early { ", the best model before the interrupt" } else { "" };
        let out = self.args.out.display();
        text += &format!("\nsaved: {out}{early}\n");
        if let Some(report) = &self.args.report {
            text += &format!("report: {}\n", report.display());
        }
        text += &format!("next:  pitchpipe predict {out} TABLE, pitchpipe inspect {out}\n");
        text
    }

    pub(super) fn as_json(&self, elapsed: Duration, ended_early: bool) -> String {
        let event = json!({
            "event": "saved",
            "out": self.args.out.display().to_string(),
            "bytes": self.n_bytes,
            "history_bytes": self.model.history_bytes(),
            "elapsed_secs": elapsed.as_secs_f64(),
            "interrupted": ended_early,
            "report": report_json(self.model),
        });
        format!("{event}\n")
    }
}

fn how_measured(made: &Made<'_>) -> String {
    let report = made.model.report();
    let rows = match &made.args.validation {
        Some(file) => format!("scores on {}", file.display()),
        None if report.n_folds == 1 => "scores on a fifth of the rows, held out of training".into(),
        None => format!("cross-validated scores, {} folds", report.n_folds),
    };
    let how = match report.measured {
        Measured::HeldOut => {
            format!("scores on {} held out", counted(report.n_rows_scored, "row"))
        }
        Measured::CrossFitted => format!("{rows}, each row by an ensemble chosen on other rows"),
        _ => format!("{rows}, of rows that the ensemble was chosen by"),
    };
    let trained = match report.n_rows_used {
        n if n < report.n_rows => format!("{n} of {}", counted(report.n_rows, "row")),
        n => counted(n, "row"),
    };
    let ended = match report.stop_reason {
        StopReason::NothingLeft if report.elapsed_secs < TIME_LEFT * report.budget_secs => {
            " (before the time was over, as nothing was left to try)"
        }
        StopReason::NothingLeft => " (nothing was left that would fit the time)",
        _ => "",
    };
    format!("{how}{ended}\nmodels trained on {trained}, folds aside")
}
