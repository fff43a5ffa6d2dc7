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

/// Where the search ended sooner, a report may take up to this share of the budget of what is left.
const SPARE_SHARE: f64 = 0.2;

/// What writing the page takes, at the most.
const WRITING: Duration = Duration::from_millis(60);

/// The time that is kept for the report.
pub(super) fn kept_back(args: &FitArgs) -> Duration {
    match is_wanted(args) {
        true => args.time_budget.mul_f64(SHARE).min(MOST),
        false => Duration::ZERO,
    }
}

fn is_wanted(args: &FitArgs) -> bool {
    args.report.is_some() || args.live.is_some()
}

/// The report, if one is to be written or shown. How much columns matter is measured in the time that is left.
pub(super) fn page(
    args: &FitArgs,
    model: &Model,
    dataset: &Dataset,
    n_bytes: u64,
    started: Instant,
    ended_early: bool,
) -> Option<String> {
    if !is_wanted(args) {
        return None;
    }
    let end = started + args.time_budget;
    // A search that ended before its time does not let the user wait for the rest of it.
    let deadline = match ended_early {
        true => started,
        false => {
            let spare = args.time_budget.mul_f64(SPARE_SHARE).min(MOST);
            end.min(Instant::now() + spare).checked_sub(WRITING).unwrap_or(started)
        }
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
    Some(data.to_html())
}

/// Writes the report, if that is asked for.
pub(super) fn write(args: &FitArgs, page: &str) -> Result<(), Failure> {
    match &args.report {
        Some(out) => Ok(write_atomically(out, page.as_bytes())?),
        None => Ok(()),
    }
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
