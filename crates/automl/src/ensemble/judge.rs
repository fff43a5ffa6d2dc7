//! What is lost by deciding as averaged probabilities say.

use pitchpipe_table::{Decision, Labels, Metric};

/// How much the smooth loss, the squared miss of the true class, counts beside the loss of decided labels,
/// which has many draws: this, divided by the number of classes. Among many classes a forest is right with low
/// probabilities, and its miss is large (docs/decisions/0060-online.md).
const SMOOTH_SHARE: f64 = 0.4;

/// The rows that ensembles are chosen by, and how they are judged.
#[derive(Clone, Debug)]
pub struct Judge {
    truth: Vec<u32>,
    n_classes: usize,
    metric: Metric,
    /// What choosing a class is worth: `scale * p + shift`.
    scale: Vec<f32>,
    shift: Vec<f32>,
    /// The weight of a row of each class in the smooth loss; row weights sum to one.
    class_weight: Vec<f64>,
    smooth_share: f64,
}

impl Judge {
    /// A judge by `metric` over rows of these classes, whose shares of all training rows are `priors`.
    pub fn new(truth: &Labels, priors: &[f64], metric: Metric) -> Self {
        let n_classes = truth.n_classes();
        let (scale, shift) = linear_rule(metric.decision(), priors);
        let counts = truth.counts();
        let n_present = counts.iter().filter(|&&n| n > 0).count() as f64;
        let is_balanced =
            matches!(metric, Metric::BalancedError | Metric::BalancedAccuracy | Metric::MacroF1);
        let class_weight = counts
            .iter()
            .map(|&n| match (n, is_balanced) {
                (0, _) => 0.0,
                (n, true) => 1.0 / (n as f64 * n_present),
                (_, false) => 1.0 / truth.len() as f64,
            })
            .collect();
        Self {
            truth: truth.codes().to_vec(),
            n_classes,
            metric,
            scale,
            shift,
            class_weight,
            smooth_share: SMOOTH_SHARE / n_classes.max(1) as f64,
        }
    }

    /// The same with another share of the smooth loss.
    pub fn with_smooth_share(self, smooth_share: f64) -> Self {
        Self { smooth_share, ..self }
    }

    /// How many classes there are.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// How many rows it judges by.
    pub fn n_rows(&self) -> usize {
        self.truth.len()
    }

    /// The loss of probabilities `factor * sums`, over the rows in `rows`.
    pub fn loss(&self, sums: &[f32], factor: f32, rows: &[u32]) -> f64 {
        match self.metric {
            Metric::LogLoss | Metric::RocAuc => self.log_loss(sums, factor, rows),
            _ => self.decided_loss(sums, factor, rows),
        }
    }

    fn log_loss(&self, sums: &[f32], factor: f32, rows: &[u32]) -> f64 {
        let c = self.n_classes;
        let loss = |&row: &u32| {
            let class = self.truth[row as usize] as usize;
            let p = f64::from(sums[row as usize * c + class] * factor);
            -p.clamp(1e-7, 1.0).ln()
        };
        rows.iter().map(loss).sum::<f64>() / rows.len().max(1) as f64
    }

    fn decided_loss(&self, sums: &[f32], factor: f32, rows: &[u32]) -> f64 {
        let c = self.n_classes;
        let mut counts = Counts::none(c);
        let (mut smooth, mut weight) = (0.0, 0.0);
        for &row in rows {
            let (row, truth) = (row as usize, self.truth[row as usize] as usize);
            let p = &sums[row * c..(row + 1) * c];
            let worth = |k: usize| p[k] * factor * self.scale[k] + self.shift[k];
            let (mut best, mut most) = (0, worth(0));
            for k in 1..c {
                let value = worth(k);
                if value > most {
                    (best, most) = (k, value);
                }
            }
            counts.add(truth, best);
            let miss = 1.0 - f64::from(p[truth] * factor);
            smooth += self.class_weight[truth] * miss * miss;
            weight += self.class_weight[truth];
        }
        self.error_of_counts(&counts) + self.smooth_share * smooth / weight.max(f64::MIN_POSITIVE)
    }

    /// The metric's error, of what was counted.
    fn error_of_counts(&self, counts: &Counts) -> f64 {
        let c = self.n_classes;
        let Counts { n_true, n_predicted, n_right } = counts;
        let n: f64 = n_true.iter().sum();
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let mean = |of: &dyn Fn(usize) -> f64, counted: &dyn Fn(usize) -> bool| {
            let values: Vec<f64> = (0..c).filter(|&k| counted(k)).map(of).collect();
            values.iter().sum::<f64>() / values.len().max(1) as f64
        };
        let present = |k: usize| n_true[k] > 0.0;
        match self.metric {
            Metric::BalancedError => mean(
                &|k| {
                    let wrong = share(n_true[k] - n_right[k], n_true[k]);
                    (wrong + share(n_predicted[k] - n_right[k], n - n_true[k])) / 2.0
                },
                &present,
            ),
            Metric::BalancedAccuracy => 1.0 - mean(&|k| share(n_right[k], n_true[k]), &present),
            Metric::MacroF1 => {
                let met = |k: usize| n_true[k] + n_predicted[k] > 0.0;
                1.0 - mean(&|k| share(2.0 * n_right[k], n_true[k] + n_predicted[k]), &met)
            }
            _ => 1.0 - share(n_right.iter().sum(), n),
        }
    }
}

/// Rows by class. No metric asks who was taken for whom, and of thousands of classes that would be millions of pairs.
struct Counts {
    n_true: Vec<f64>,
    n_predicted: Vec<f64>,
    n_right: Vec<f64>,
}

impl Counts {
    fn none(n_classes: usize) -> Self {
        let zeros = || vec![0.0; n_classes];
        Self { n_true: zeros(), n_predicted: zeros(), n_right: zeros() }
    }

    fn add(&mut self, truth: usize, predicted: usize) {
        self.n_true[truth] += 1.0;
        self.n_predicted[predicted] += 1.0;
        if truth == predicted {
            self.n_right[truth] += 1.0;
        }
    }
}

/// The rules of ALGORITHMS §19 as `scale * p + shift`, the largest of which decides.
fn linear_rule(decision: Decision, priors: &[f64]) -> (Vec<f32>, Vec<f32>) {
    let rule = |&prior: &f64| match decision {
        Decision::Native | Decision::Accuracy => (1.0, 0.0),
        _ if prior <= 0.0 => (0.0, f32::MIN),
        Decision::BalancedAccuracy => ((1.0 / prior) as f32, 0.0),
        Decision::BalancedError if prior >= 1.0 => (0.0, f32::MAX),
        Decision::BalancedError => {
            let width = prior * (1.0 - prior);
            ((1.0 / width) as f32, (-prior / width) as f32)
        }
    };
    priors.iter().map(rule).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With no share of the smooth loss, the judge agrees with the metrics of `table`.
    #[test]
    fn the_judge_counts_as_the_metric_does() {
        let truth = Labels::from_codes([0, 0, 0, 0, 1, 1, 2, 0, 1, 0], 3);
        let p: Vec<f64> = (0..10)
            .flat_map(|i| {
                let a = f64::from(i * 37 % 11 + 1);
                let b = f64::from(i * 17 % 7 + 1);
                let c = f64::from(i * 29 % 5 + 1);
                [a / (a + b + c), b / (a + b + c), c / (a + b + c)]
            })
            .collect();
        let priors = truth.priors();
        let rows: Vec<u32> = (0..10).collect();
        for metric in Metric::ALL.into_iter().filter(|m| *m != Metric::RocAuc) {
            let labels = metric.decision().decide(&truth, &p, &priors);
            let expected = metric.error(&truth, &labels, &p).unwrap();
            let sums: Vec<f32> = p.iter().map(|&p| 2.0 * p as f32).collect();
            let judge = Judge::new(&truth, &priors, metric).with_smooth_share(0.0);
            let got = judge.loss(&sums, 0.5, &rows);
            assert!((got - expected).abs() < 1e-6, "{metric}: {got} {expected}");
        }
    }
}
