//! The search as a small chart of characters: pipelines as dots, the ensemble as a line.

use std::io::IsTerminal;

use pitchpipe_automl::History;

/// A terminal narrower than this gets no chart.
const LEAST_WIDTH: usize = 80;

/// The chart is no wider than this, labels aside, and so many lines high.
const MOST_COLUMNS: usize = 100;
const N_LINES: usize = 10;

/// Room for the labels of errors.
const LABEL: usize = 9;

/// How wide the terminal is that is printed to, if it is one.
pub(super) fn terminal_width() -> Option<usize> {
    let width = terminal_size::terminal_size()?.0;
    std::io::stdout().is_terminal().then_some(usize::from(width.0))
}

/// The chart of a search, where there is room for it and something to show.
pub(super) fn of(history: &History, width: usize) -> Option<String> {
    if width < LEAST_WIDTH {
        return None;
    }
    let n_columns = (width - LABEL - 2).min(MOST_COLUMNS);
    let mut errors: Vec<f64> = history.trials.iter().filter_map(|t| t.error).collect();
    let ensemble: Vec<(f64, f64)> =
        history.ensemble.iter().map(|e| (e.elapsed_secs, e.error)).collect();
    let (first, last) = (ensemble.first()?, ensemble.last()?);
    errors.extend(ensemble.iter().map(|e| e.1));
    errors.sort_by(f64::total_cmp);
    // A few pipelines are hopeless, and would flatten the rest: they lie on the top line.
    let (low, high) = (errors[0], errors[(errors.len() - 1) * 9 / 10].max(first.1));
    let end = history.trials.iter().map(|t| t.ended_secs).fold(last.0, f64::max).max(1e-9);
    let range = (high - low).max(1e-9);
    let line_of = |error: f64| {
        let share = ((error - low) / range).clamp(0.0, 1.0);
        ((1.0 - share) * (N_LINES - 1) as f64).round() as usize
    };
    let column_of = |secs: f64| ((secs / end * (n_columns - 1) as f64) as usize).min(n_columns - 1);
    let mut grid = vec![vec![' '; n_columns]; N_LINES];
    for trial in &history.trials {
        if let Some(error) = trial.error {
            grid[line_of(error)][column_of(trial.ended_secs)] = '·';
        }
    }
    for column in column_of(first.0)..n_columns {
        let until = ensemble.iter().take_while(|e| column_of(e.0) <= column);
        if let Some(present) = until.last() {
            grid[line_of(present.1)][column] = '━';
        }
    }
    let mut text = "the search: error against time; a dot is a pipeline, the line the ensemble on \
                    the rows it is chosen by\n"
        .to_owned();
    for (i, line) in grid.iter().enumerate() {
        let error = high - range * i as f64 / (N_LINES - 1) as f64;
        let label = if i % 3 == 0 { format!("{error:.4}") } else { String::new() };
        let cells: String = line.iter().collect();
        text += &format!("{label:>LABEL$} │{}\n", cells.trim_end());
    }
    text += &format!("{:>LABEL$} └{}\n", "", "─".repeat(n_columns));
    let ends = format!("{end:.1}s");
    text += &format!("{:>LABEL$}  0s{ends:>1$}\n", "", n_columns - 2);
    Some(text)
}

#[cfg(test)]
mod tests {
    use pitchpipe_automl::EnsemblePoint;

    use super::*;

    fn history() -> History {
        let point = |elapsed_secs, error| EnsemblePoint { elapsed_secs, error, n_base_learners: 1 };
        History { ensemble: vec![point(1.0, 0.4), point(5.0, 0.1)], ..History::default() }
    }

    #[test]
    fn the_line_falls_from_the_first_ensemble_to_the_last() {
        let text = of(&history(), 100).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), N_LINES + 3);
        assert!(lines[1].starts_with("   0.4000 │"), "{text}");
        assert!(lines[1].contains('━') && lines[N_LINES].ends_with('━'), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 110), "{text}");
    }

    #[test]
    fn a_narrow_terminal_or_an_empty_search_gets_none() {
        assert_eq!(of(&history(), 79), None);
        assert_eq!(of(&History::default(), 120), None);
    }
}
