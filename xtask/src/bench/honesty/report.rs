//! What is printed: by how much reported scores flatter.

use std::collections::BTreeMap;
use std::fmt::Write;

use pitchpipe_table::Metric;

use super::Tables;
use super::runs::Done;

/// The metrics that the promise is about.
const METRICS: [Metric; 4] =
    [Metric::BalancedError, Metric::Accuracy, Metric::LogLoss, Metric::RocAuc];

/// One search in one line.
pub(super) fn line(done: &Done) -> String {
    let name = Metric::BalancedAccuracy.name();
    let score = |of: &BTreeMap<String, f64>| of.get(name).map_or("-".into(), |s| format!("{s:.3}"));
    let (table, seed, secs) = (&done.run.table, done.run.seed, done.wall_secs);
    let (reported, held_out) = (score(&done.reported), score(&done.held_out));
    format!("{table}, seed {seed}: {name} {reported}, held out {held_out}, {secs:.2} s")
}

/// All that is recorded.
pub(super) fn text(tables: Tables, done: &[Done], details: bool) -> String {
    match tables {
        Tables::Test => on_tables(done, details),
        Tables::Noise => on_noise(done),
    }
}

/// The mean and its standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
    (mean, (square / (n - 1.0) / n).sqrt())
}

/// By how much a search flatters its model; `None` where one of the two is not defined.
fn flattery(metric: Metric, done: &Done) -> Option<f64> {
    let difference = done.reported.get(metric.name())? - done.held_out.get(metric.name())?;
    Some(if metric.higher_is_better() { difference } else { -difference })
}

fn on_tables(done: &[Done], details: bool) -> String {
    let mut by_table: BTreeMap<&str, Vec<&Done>> = BTreeMap::new();
    done.iter().for_each(|d| by_table.entry(&d.run.table).or_default().push(d));
    let mut text = format!("{} searches on {} tables\n", done.len(), by_table.len());
    text += "metric             reported  held out  flatters by  standard error  verdict\n";
    for metric in METRICS {
        let of_table = |all: &Vec<&Done>| {
            let each: Vec<f64> = all.iter().filter_map(|d| flattery(metric, d)).collect();
            (!each.is_empty()).then(|| mean(&each).0)
        };
        let each: Vec<f64> = by_table.values().filter_map(of_table).collect();
        let level = |of: fn(&Done) -> &BTreeMap<String, f64>| {
            let all: Vec<f64> =
                done.iter().filter_map(|d| of(d).get(metric.name()).copied()).collect();
            mean(&all).0
        };
        let (flatters, error) = mean(&each);
        let verdict = match flatters {
            f if f > 2.0 * error => "flatters",
            f if f < -0.02 => "too pessimistic",
            _ => "honest",
        };
        let (reported, held_out) = (level(|d| &d.reported), level(|d| &d.held_out));
        writeln!(
            text,
            "{:17} {reported:9.4} {held_out:9.4} {flatters:+12.4} {error:15.4}  {verdict}",
            metric.name()
        )
        .expect("text takes all that is written");
    }
    if details {
        text +=
            "\ntable                       flatters by: balanced error, accuracy, log loss, AUC\n";
        for (table, all) in &by_table {
            let each = METRICS.map(|metric| {
                let each: Vec<f64> = all.iter().filter_map(|d| flattery(metric, d)).collect();
                format!("{:+8.4}", mean(&each).0)
            });
            text += &format!("{table:26} {}\n", each.join(" "));
        }
    }
    text + &coverage(done)
}

/// Whether reported standard errors are what they say.
///
/// The score on the rows held out has an error of its own, of fewer rows: a difference is measured by the root of both
/// variances. Where both errors are right and nothing flatters, it lies within two of these in 95 % of searches, and in these units differences
/// have a mean of 0 and a spread of 1. What spread there is besides is also printed as the factor that reported errors are
/// too small by, where those on rows held out, made of predictions of one fixed model, are taken to be right.
fn coverage(done: &[Done]) -> String {
    let mut lines = Vec::new();
    for metric in METRICS {
        let all: Vec<Gap> = done.iter().filter_map(|d| Gap::of(metric, d)).collect();
        if !all.is_empty() {
            lines.push(covered(metric.name(), &all));
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    let head = "\nheld-out score within two standard errors of the reported one\n\
         metric             searches  reported alone  with its own   mean  spread  too small by\n";
    head.to_owned() + &lines.concat()
}

/// A reported score less the one on rows held out, and the standard errors of both.
struct Gap {
    difference: f64,
    reported: f64,
    held_out: f64,
}

impl Gap {
    /// `None` where one of them is not known.
    fn of(metric: Metric, done: &Done) -> Option<Self> {
        let name = metric.name();
        Some(Self {
            difference: done.reported.get(name)? - done.held_out.get(name)?,
            reported: *done.standard_errors.get(name)?,
            held_out: *done.held_out_errors.get(name)?,
        })
    }

    fn error(&self) -> f64 {
        self.reported.hypot(self.held_out)
    }
}

fn covered(name: &str, all: &[Gap]) -> String {
    let n = all.len() as f64;
    let share = |within: &dyn Fn(&Gap) -> bool| {
        let count = all.iter().filter(|gap| within(gap)).count();
        format!("{count} ({:.0} %)", 100.0 * count as f64 / n)
    };
    let alone = share(&|gap| gap.difference.abs() <= 2.0 * gap.reported);
    let with_own = share(&|gap| gap.difference.abs() <= 2.0 * gap.error());
    let met: Vec<&Gap> = all.iter().filter(|gap| gap.error() > 0.0).collect();
    let scaled: Vec<f64> = met.iter().map(|gap| gap.difference / gap.error()).collect();
    let mean = scaled.iter().sum::<f64>() / n;
    let spread = (scaled.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / n).sqrt();
    format!(
        "{name:17} {:9} {alone:>15} {with_own:>13} {mean:+6.2} {spread:7.2} {:13.2}\n",
        all.len(),
        too_small_by(&met, mean)
    )
}

/// The factor by which reported errors must grow for the scaled differences to have a spread of one.
fn too_small_by(all: &[&Gap], mean: f64) -> f64 {
    let spread = |factor: f64| {
        let scaled = all.iter().map(|gap| {
            let difference = gap.difference - mean * gap.error();
            difference / (factor * gap.reported).hypot(gap.held_out)
        });
        scaled.map(|z| z * z).sum::<f64>() / all.len() as f64
    };
    // The spread falls as the factor grows.
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if spread(middle) > 1.0 { low = middle } else { high = middle }
    }
    high
}

fn on_noise(done: &[Done]) -> String {
    let mut by_table: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for d in done {
        let score = d.reported.get(Metric::BalancedAccuracy.name());
        by_table.entry(&d.run.table).or_default().extend(score);
    }
    let mut text = "noise: reported balanced accuracy, where .5 is the truth\n".to_owned();
    for (table, scores) in &by_table {
        let (mean, error) = mean(scores);
        text += &format!("{table:10} {mean:.4} ± {error:.4} ({} searches)\n", scores.len());
    }
    let pooled: Vec<f64> = by_table.into_values().flatten().collect();
    if !pooled.is_empty() {
        let (mean, error) = mean(&pooled);
        let verdict = if (mean - 0.5).abs() <= 0.02 { "honest" } else { "not honest" };
        text += &format!("pooled     {mean:.4} ± {error:.4}: {verdict}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::runs::Run;
    use super::*;

    fn done(table: &str, reported: f64, held_out: f64) -> Done {
        let of = |score| METRICS.iter().map(|m| (m.name().to_owned(), score)).collect();
        let run = Run { table: table.into(), seed: 0, budget_secs: 1.0, with: String::new() };
        Done {
            run,
            build: "1".into(),
            reported: of(reported),
            standard_errors: BTreeMap::new(),
            held_out: of(held_out),
            held_out_errors: BTreeMap::new(),
            wall_secs: 1.0,
        }
    }

    #[test]
    fn an_error_that_is_too_low_flatters_and_a_score_that_is_too_low_does_not() {
        let all = [done("a", 0.1, 0.2), done("b", 0.1, 0.21)];
        let text = on_tables(&all, false);
        let line = |name: &str| text.lines().find(|l| l.starts_with(name)).unwrap().to_owned();
        assert!(line("balanced_error").ends_with(" flatters"), "{text}");
        assert!(line("log_loss").ends_with(" flatters"), "{text}");
        assert!(line("accuracy").ends_with("too pessimistic"), "{text}");
    }

    #[test]
    fn an_error_of_half_the_size_is_found_out() {
        // Differences of one, in both directions, where the held-out score is exact.
        let gap = |difference| Gap { difference, reported: 0.5, held_out: 0.0 };
        let all: Vec<Gap> = (0..10).map(|i| gap(if i % 2 == 0 { 1.0 } else { -1.0 })).collect();
        let met: Vec<&Gap> = all.iter().collect();
        assert!((too_small_by(&met, 0.0) - 2.0).abs() < 1e-6);
        let line = covered("accuracy", &all);
        assert!(line.contains("10 (100 %)") && line.contains("2.00"), "{line}");
    }
}
