//! The report that a search leaves beside its model, within the time budget.

use std::time::{Duration, Instant};

use pitchpipe_automl::{Model, explain};
use pitchpipe_report::ReportData;
use pitchpipe_table::{Dataset, write_atomically};

use super::FitArgs;
use crate::failure::Failure;
use crate::text::counted;

/// The share of the budget that is kept for a report, and the most of it.
const SHARE: f64 = 0.06;
const MOST: Duration = Duration::from_secs(30);

/// What writing the page takes, at the most.
const WRITING: Duration = Duration::from_millis(60);

/// The time that is kept for the report.
pub(super) fn kept_back(args: &FitArgs) -> Duration {
    match args.report {
        Some(_) => args.time_budget.mul_f64(SHARE).min(MOST),
        None => Duration::ZERO,
    }
}

/// Writes the report, if one is asked for. How much columns matter is measured in the time that is left.
pub(super) fn write(
    args: &FitArgs,
    model: &Model,
    dataset: &Dataset,
    n_bytes: u64,
    started: Instant,
    ended_early: bool,
) -> Result<(), Failure> {
    let Some(out) = &args.report else { return Ok(()) };
    let end = started + args.time_budget;
    // A search that ended before its time does not let the user wait for the rest of it.
    let deadline = match ended_early {
        true => started,
        false => end.min(Instant::now() + kept_back(args)).checked_sub(WRITING).unwrap_or(started),
    };
    let data = ReportData::of(model, &args.out.display().to_string(), Some(n_bytes));
    let data = match explain(model, dataset, Some(deadline)) {
        Ok(Some(explanation)) => {
            let rows = counted(explanation.n_rows, "row");
            let on =
                format!("{rows} of the training table, most of which the models have learnt from");
            data.with_explanation(explanation, on)
        }
        Ok(None) => {
            data.without_explanation("No time was left to measure it in the fit.".to_owned())
        }
        Err(error) => {
            data.without_explanation(format!("In the fit it could not be measured: {error}."))
        }
    };
    Ok(write_atomically(out, data.to_html().as_bytes())?)
}

/// The command line as a shell would read it.
pub(super) fn command_line() -> String {
    let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let program = words.next().unwrap_or_default();
    let program = program.rsplit(['/', '\\']).next().unwrap_or("pitchpipe").to_owned();
    std::iter::once(program).chain(words).map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_split_them() {
        assert_eq!(quoted("--out=m.pp"), "--out=m.pp");
        assert_eq!(quoted("two words"), "'two words'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
