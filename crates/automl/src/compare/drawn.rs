//! Errors on rows that are drawn anew a thousand times, without copying them.

use std::collections::HashMap;

use pitchpipe_table::{ClassCounts, Labels, Metric, log_losses};

use super::Answers;

/// What errors are made of, row by row.
pub(super) struct RowByRow {
    metric: Metric,
    n_classes: usize,
    kind: Kind,
}

enum Kind {
    /// Rows of one class that every model answers alike are one cell, and only how many of it are drawn counts.
    Cells { of_row: Vec<u32>, cells: Vec<Cell> },
    /// Each model's loss of every row.
    Losses(Vec<Vec<f64>>),
    /// Each model's rows in the order of their probability of a class, for each class.
    Orders { truth: Vec<u32>, of_models: Vec<Vec<Order>> },
}

/// The true class, and each model's answer.
struct Cell {
    truth: u32,
    answers: Vec<u32>,
}

/// Rows by their probability of a class.
struct Order {
    class: usize,
    rows: Vec<u32>,
    /// Where rows of equal probability end.
    ends: Vec<u32>,
}

impl RowByRow {
    /// Of what models say of rows of these classes.
    pub(super) fn of(metric: Metric, truth: &Labels, models: &[Answers<'_>]) -> Self {
        let n_classes = truth.n_classes();
        let kind = match metric {
            Metric::LogLoss => {
                let losses = |model: &Answers<'_>| log_losses(truth, model.probabilities).collect();
                Kind::Losses(models.iter().map(losses).collect())
            }
            Metric::RocAuc => {
                let classes = if n_classes == 2 { 1..2 } else { 0..n_classes };
                let orders = |model: &Answers<'_>| {
                    let order = |k| Order::of(model.probabilities, n_classes, k);
                    classes.clone().map(order).collect()
                };
                let of_models = models.iter().map(orders).collect();
                Kind::Orders { truth: truth.codes().to_vec(), of_models }
            }
            _ => Kind::cells(truth, models),
        };
        Self { metric, n_classes, kind }
    }

    /// Each model's error on some rows, of which one may come several times. `None` where the metric has no value there.
    pub(super) fn errors(&self, rows: impl Iterator<Item = usize>) -> Option<Vec<f64>> {
        let as_error = |score: f64| match self.metric.higher_is_better() {
            true => 1.0 - score,
            false => score,
        };
        let scores: Option<Vec<f64>> = match &self.kind {
            Kind::Cells { of_row, cells } => {
                let mut drawn = vec![0_usize; cells.len()];
                rows.for_each(|row| drawn[of_row[row] as usize] += 1);
                let n_models = cells.first().map_or(0, |cell| cell.answers.len());
                let score = |model: usize| {
                    let tallies = cells.iter().zip(&drawn);
                    let tallies = tallies.map(|(cell, &n)| (cell.truth, cell.answers[model], n));
                    ClassCounts::of_tallies(self.n_classes, tallies).score(self.metric)
                };
                (0..n_models).map(score).collect()
            }
            Kind::Losses(of_models) => {
                let (mut sums, mut n) = (vec![0.0; of_models.len()], 0.0);
                for row in rows {
                    sums.iter_mut().zip(of_models).for_each(|(sum, losses)| *sum += losses[row]);
                    n += 1.0;
                }
                Some(sums.into_iter().map(|sum| sum / n).collect())
            }
            Kind::Orders { truth, of_models } => {
                let mut times = vec![0_u32; truth.len()];
                rows.for_each(|row| times[row] += 1);
                of_models.iter().map(|orders| mean_area(orders, truth, &times)).collect()
            }
        };
        Some(scores?.into_iter().map(as_error).collect())
    }
}

impl Kind {
    fn cells(truth: &Labels, models: &[Answers<'_>]) -> Self {
        let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
        let mut cells = Vec::new();
        let mut key = Vec::with_capacity(models.len() + 1);
        let of_row = (0..truth.len()).map(|row| {
            key.clear();
            key.push(truth.codes()[row]);
            key.extend(models.iter().map(|model| model.labels.codes()[row]));
            if let Some(&cell) = known.get(&key) {
                return cell;
            }
            let cell = cells.len() as u32;
            cells.push(Cell { truth: key[0], answers: key[1..].to_vec() });
            known.insert(key.clone(), cell);
            cell
        });
        let of_row = of_row.collect();
        Self::Cells { of_row, cells }
    }
}

impl Order {
    fn of(probabilities: &[f64], n_classes: usize, class: usize) -> Self {
        let p = |row: u32| probabilities[row as usize * n_classes + class];
        let n_rows = probabilities.len() / n_classes.max(1);
        let mut rows: Vec<u32> = (0..n_rows as u32).collect();
        rows.sort_unstable_by(|&a, &b| p(a).total_cmp(&p(b)));
        let mut ends = Vec::new();
        // As in the metric, `-0.0` and `0.0` are one score.
        for equal in rows.chunk_by(|&a, &b| p(a) == p(b)) {
            ends.push(ends.last().unwrap_or(&0) + equal.len() as u32);
        }
        Self { class, rows, ends }
    }

    /// The area under the curve where rows come so many times; `None` where the class, or every other, does not.
    fn area(&self, truth: &[u32], times: &[u32]) -> Option<f64> {
        let (mut below, mut positives, mut won) = (0_u64, 0_u64, 0.0);
        let mut begin = 0;
        for &end in &self.ends {
            let (mut p, mut n) = (0_u64, 0_u64);
            for &row in &self.rows[begin..end as usize] {
                let drawn = u64::from(times[row as usize]);
                match truth[row as usize] as usize == self.class {
                    true => p += drawn,
                    false => n += drawn,
                }
            }
            won += p as f64 * (below as f64 + n as f64 / 2.0);
            below += n;
            positives += p;
            begin = end as usize;
        }
        (positives > 0 && below > 0).then(|| won / (positives as f64 * below as f64))
    }
}

/// The mean area over the classes that were drawn, of which there must be two.
fn mean_area(orders: &[Order], truth: &[u32], times: &[u32]) -> Option<f64> {
    let areas: Vec<f64> = orders.iter().filter_map(|order| order.area(truth, times)).collect();
    (!areas.is_empty()).then(|| areas.iter().sum::<f64>() / areas.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two models' answers to rows of three classes, with draws among probabilities.
    fn answers(n: u32) -> (Labels, Vec<(Labels, Vec<f64>)>) {
        let truth = Labels::from_codes((0..n).map(|i| i * 7 % 3), 3);
        let model = |shift: u32| {
            let p = |i: u32, k: u32| f64::from((i * 13 + k * 5 + shift) % 8 + 1);
            let row = move |i: u32| {
                let sum = p(i, 0) + p(i, 1) + p(i, 2);
                [p(i, 0) / sum, p(i, 1) / sum, p(i, 2) / sum]
            };
            let labels = Labels::from_codes((0..n).map(|i| (i * 11 + shift) % 3), 3);
            (labels, (0..n).flat_map(row).collect())
        };
        (truth, vec![model(0), model(3)])
    }

    #[test]
    fn drawn_rows_have_the_errors_that_copies_of_them_have() {
        let (truth, models) = answers(60);
        let all: Vec<Answers<'_>> = models
            .iter()
            .map(|(labels, probabilities)| Answers { labels, probabilities })
            .collect();
        let drawn: Vec<usize> = (0..60).map(|i| i * 31 % 47).collect();
        for metric in Metric::ALL {
            let rows = RowByRow::of(metric, &truth, &all);
            let found = rows.errors(drawn.iter().copied()).unwrap();
            for (error, (labels, probabilities)) in found.iter().zip(&models) {
                let row = |&r: &usize| &probabilities[r * 3..][..3];
                let copied: Vec<f64> = drawn.iter().flat_map(row).copied().collect();
                let copy = metric.error(&truth.select(&drawn), &labels.select(&drawn), &copied);
                assert!((error - copy.unwrap()).abs() < 1e-12, "{metric}: {error} {copy:?}");
            }
        }
    }

    #[test]
    fn a_draw_of_one_class_has_no_curve() {
        let (truth, models) = answers(60);
        let (labels, probabilities) = &models[0];
        let all = [Answers { labels, probabilities }];
        let one_class = (0..60).filter(|&row| truth.codes()[row] == 1);
        assert_eq!(RowByRow::of(Metric::RocAuc, &truth, &all).errors(one_class), None);
    }
}
