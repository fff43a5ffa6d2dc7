//! An evaluation for people.

use pitchpipe_automl::Evaluation;

use super::Evaluated;
use crate::scores::ScoreTable;
use crate::text::{aligned, counted, shown};

const LONGEST_NAME: usize = 24;

/// A confusion matrix of more classes would not fit a screen.
const MAX_CLASSES: usize = 20;

pub(super) fn of(evaluated: &Evaluated<'_>) -> String {
    let evaluation = &evaluated.evaluation;
    let rows = counted(evaluation.n_rows, "row");
    let mut text = format!("{} on {}: {rows}\n\n", evaluated.model, evaluated.file);
    let scores = ScoreTable {
        scores: &evaluation.scores,
        standard_errors: evaluation.standard_errors.as_ref(),
        baselines: &evaluation.baselines,
        optimised: evaluated.optimised,
        n_classes: evaluation.classes.len(),
    };
    text += &scores.lines();
    text += &format!("\n{}", classes(evaluation));
    text += &format!("\n{}", confusion(evaluation));
    text
}

fn classes(evaluation: &Evaluation) -> String {
    let share = |s: Option<f64>| s.map_or("–".to_owned(), |s| format!("{s:.4}"));
    let mut rows = vec![["class", "rows", "recall", "precision", "F1"].map(str::to_owned).to_vec()];
    rows.extend(evaluation.classes.iter().map(|c| {
        vec![
            shown(&c.class, LONGEST_NAME),
            c.n_rows.to_string(),
            share(c.recall),
            share(c.precision),
            share(c.f1),
        ]
    }));
    aligned(&rows, "", &[1, 2, 3, 4])
}

fn confusion(evaluation: &Evaluation) -> String {
    let (m, n) = (&evaluation.confusion, evaluation.classes.len());
    if n > MAX_CLASSES {
        return most_confused(evaluation);
    }
    let names: Vec<String> =
        evaluation.classes.iter().map(|c| shown(&c.class, LONGEST_NAME)).collect();
    let head = std::iter::once("is \\ predicted".to_owned()).chain(names.iter().cloned());
    let mut rows: Vec<Vec<String>> = vec![head.collect()];
    for t in 0..n {
        let counts = (0..n).map(|p| m.count(t, p).to_string());
        rows.push(std::iter::once(names[t].clone()).chain(counts).collect());
    }
    aligned(&rows, "", &(1..=n).collect::<Vec<_>>())
}

/// The pairs that are taken for each other most often.
fn most_confused(evaluation: &Evaluation) -> String {
    let pairs = evaluation.confusion.pairs().filter(|(t, p, _)| t != p);
    let mut pairs: Vec<(usize, usize, usize)> = pairs.map(|(t, p, count)| (count, t, p)).collect();
    pairs.sort_by(|a, b| b.0.cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let name = |k: usize| shown(&evaluation.classes[k].class, LONGEST_NAME);
    let rows: Vec<Vec<String>> = pairs
        .iter()
        .take(MAX_CLASSES)
        .map(|&(count, t, p)| vec![count.to_string(), format!("{} taken for {}", name(t), name(p))])
        .collect();
    let text = aligned(&rows, "  ", &[0]);
    let whole = match evaluation.confusion.rows() {
        Some(_) => " (--json has the whole matrix)",
        None => "",
    };
    format!("most often mistaken{whole}\n{text}")
}
