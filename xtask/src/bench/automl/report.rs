//! Standings: mean errors, average ranks, and paired differences from one system.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::plan::{Contender, System};
use super::record::{Outcome, Record, Records};

/// A run without predictions counts as a constant prediction would.
const ERROR_OF_NOTHING: f64 = 0.5;

/// How far beyond its budget a run may end without counting as an overrun, in seconds.
const GRACE_SECS: f64 = 0.1;

/// Whose decision turns the probabilities of foreign systems into classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decided {
    ByThemselves,
    /// By the balanced rule of ALGORITHMS §19, with their probabilities.
    ByOurRule,
}

/// Mean errors by dataset of systems that all ran on the same splits.
pub(super) struct Standings {
    contenders: Vec<Contender>,
    /// For each dataset, the error of each system, averaged over `n_runs / datasets` seeds.
    errors: BTreeMap<String, Vec<f64>>,
    /// The same of the log losses; NaN where a run gave no predictions.
    log_losses: BTreeMap<String, Vec<f64>>,
    n_runs: usize,
}

impl Standings {
    /// Those of the systems that have a run at this budget, over the (dataset, seed) pairs that all of them
    /// have. Systems without a budget stand beside every budget.
    pub(super) fn of(
        records: &Records,
        budget_secs: Option<u64>,
        wanted: &[System],
        by: Decided,
    ) -> Self {
        let at_budget =
            |r: &&Record| r.run.budget_secs.is_none() || r.run.budget_secs == budget_secs;
        let mut found: BTreeMap<(&str, u64), BTreeMap<Contender, [f64; 2]>> = BTreeMap::new();
        for record in records.iter().filter(at_budget) {
            let contender = record.run.contender;
            if wanted.contains(&contender.system) {
                let pair = (record.run.dataset.as_str(), record.run.seed);
                found
                    .entry(pair)
                    .or_default()
                    .insert(contender, [error(record, by), log_loss(record)]);
            }
        }
        let present: BTreeSet<Contender> = found.values().flat_map(|f| f.keys().copied()).collect();
        let contenders: Vec<Contender> = present.into_iter().collect();
        let mut sums: BTreeMap<String, (Vec<[f64; 2]>, usize)> = BTreeMap::new();
        let mut n_runs = 0;
        for ((dataset, _), by_system) in found {
            if by_system.len() == contenders.len() {
                let start = || (vec![[0.0; 2]; contenders.len()], 0);
                let (sums, n) = sums.entry(dataset.to_owned()).or_insert_with(start);
                for (sum, [error, log_loss]) in sums.iter_mut().zip(by_system.values()) {
                    *sum = [sum[0] + error, sum[1] + log_loss];
                }
                *n += 1;
                n_runs += 1;
            }
        }
        let means = |which: usize| {
            let mean = |(sums, n): &(Vec<[f64; 2]>, usize)| {
                sums.iter().map(|sum| sum[which] / *n as f64).collect()
            };
            sums.iter().map(|(dataset, sums)| (dataset.clone(), mean(sums))).collect()
        };
        Self { contenders, errors: means(0), log_losses: means(1), n_runs }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    fn mean_over_datasets(&self, value: impl Fn(&[f64]) -> f64) -> f64 {
        self.errors.values().map(|errors| value(errors)).sum::<f64>() / self.errors.len() as f64
    }

    fn mean_error(&self, position: usize) -> f64 {
        self.mean_over_datasets(|errors| errors[position])
    }

    fn mean_rank(&self, position: usize) -> f64 {
        self.mean_over_datasets(|errors| rank(errors, position))
    }

    fn paired(&self, position: usize, reference: usize) -> Paired {
        Paired::of(self.errors.values().map(|e| e[position] - e[reference]))
    }

    /// The mean log loss, and how it differs from that of the reference; a dash where a run gave no predictions.
    fn log_loss(&self, position: usize, reference: Option<usize>) -> String {
        let losses = || self.log_losses.values();
        let mean = losses().map(|l| l[position]).sum::<f64>() / self.log_losses.len() as f64;
        if mean.is_nan() {
            return format!("{:>10}  {:<17}", "-", "");
        }
        let paired = reference
            .map(|reference| Paired::of(losses().map(|l| l[position] - l[reference])))
            .filter(|paired| !paired.mean.is_nan());
        let difference = paired.map_or(String::new(), |paired| {
            format!("{:+.4} ({:.4})", paired.mean, paired.standard_error)
        });
        format!("{mean:>10.4}  {difference:<17}")
    }

    /// The table, best mean rank first.
    fn text(&self, records: &Records, budget_secs: Option<u64>, against: System) -> String {
        let reference = self.contenders.iter().position(|&c| c == against.into());
        let mut order: Vec<usize> = (0..self.contenders.len()).collect();
        order.sort_by(|&a, &b| self.mean_rank(a).total_cmp(&self.mean_rank(b)));
        let mut text = format!(
            "{:<24}{:>8}{:>7}   {:<22}{:<15}{:>10}  {:<17}{:>6}{:>7}{:>9}{:>7}{:>9}{:>8}\n",
            "system",
            "error",
            "rank",
            format!("minus {against} (s.e.)"),
            "worse/=/better",
            "log loss",
            format!("minus {against}"),
            "failed",
            "over",
            "longest",
            "over",
            "longest",
            "memory",
        );
        let _ = writeln!(
            text,
            "{:<24}{:>8}{:>7}   {:<22}{:<15}{:>10}  {:<17}{:>6}{:>16}{:>16}{:>8}",
            "", "", "", "", "", "", "", "", "process", "fit call", "MB"
        );
        for i in order {
            let contender = self.contenders[i];
            let (mut difference, mut counts) = (String::new(), String::new());
            if let Some(reference) = reference.filter(|&r| r != i) {
                let paired = self.paired(i, reference);
                difference = format!("{:+.4} ({:.4})", paired.mean, paired.standard_error);
                counts = format!("{}/{}/{}", paired.n_above, paired.n_equal, paired.n_below);
            }
            let log_loss = self.log_loss(i, reference.filter(|&r| r != i));
            let effort = Effort::of(records, contender, budget_secs);
            let _ = writeln!(
                text,
                "{contender:<24}{:>8.4}{:>7.2}   {difference:<22}{counts:<15}{log_loss}{effort}",
                self.mean_error(i),
                self.mean_rank(i),
            );
        }
        text
    }

    /// The error of each system on each dataset, with a star beside the lowest.
    fn details(&self) -> String {
        let mut text = format!("{:<26}", "dataset");
        self.contenders.iter().for_each(|c| {
            let _ = write!(text, "{c:>13.12}");
        });
        text.push('\n');
        for (dataset, errors) in &self.errors {
            let lowest = errors.iter().copied().fold(f64::INFINITY, f64::min);
            let _ = write!(text, "{dataset:<26}");
            for &error in errors {
                let star = if error == lowest { '*' } else { ' ' };
                let _ = write!(text, "{error:>12.4}{star}");
            }
            text.push('\n');
        }
        text
    }
}

fn error(record: &Record, by: Decided) -> f64 {
    match &record.outcome {
        Outcome::Scored(s)
            if by == Decided::ByOurRule && record.run.contender.system.is_foreign() =>
        {
            s.decided_balanced_error
        }
        Outcome::Scored(scores) => scores.balanced_error,
        Outcome::Killed | Outcome::Failed { .. } => ERROR_OF_NOTHING,
    }
}

fn log_loss(record: &Record) -> f64 {
    match &record.outcome {
        Outcome::Scored(scores) => scores.log_loss,
        Outcome::Killed | Outcome::Failed { .. } => f64::NAN,
    }
}

/// The rank of one error among all, from one; those that are equal share the mean of their ranks.
fn rank(errors: &[f64], position: usize) -> f64 {
    let own = errors[position];
    let n_below = errors.iter().filter(|&&e| e < own).count();
    let n_equal = errors.iter().filter(|&&e| e == own).count();
    n_below as f64 + (n_equal as f64 + 1.0) / 2.0
}

/// Differences of two systems over datasets.
struct Paired {
    mean: f64,
    /// Of the mean; NaN for fewer than two datasets.
    standard_error: f64,
    n_above: usize,
    n_equal: usize,
    n_below: usize,
}

impl Paired {
    fn of(differences: impl Iterator<Item = f64>) -> Self {
        let d: Vec<f64> = differences.collect();
        let n = d.len() as f64;
        let mean = d.iter().sum::<f64>() / n;
        let variance = d.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Self {
            mean,
            standard_error: (variance / n).sqrt(),
            n_above: d.iter().filter(|&&x| x > 0.0).count(),
            n_equal: d.iter().filter(|&&x| x == 0.0).count(),
            n_below: d.iter().filter(|&&x| x < 0.0).count(),
        }
    }
}

/// What a system's runs took, over all datasets recorded at a budget.
#[derive(Debug, Default, PartialEq)]
struct Effort {
    n_failed: usize,
    has_budget: bool,
    processes_over: usize,
    longest_process_secs: f64,
    fits_over: usize,
    longest_fit_secs: f64,
    most_memory_mb: f64,
}

impl Effort {
    fn of(records: &Records, contender: Contender, budget_secs: Option<u64>) -> Self {
        let mut effort = Self::default();
        let own = |r: &&Record| {
            let at_budget = r.run.budget_secs.is_none() || r.run.budget_secs == budget_secs;
            r.run.contender == contender && at_budget
        };
        for record in records.iter().filter(own) {
            let fit_secs = record.fit_secs.unwrap_or(record.wall_secs);
            let is_over = |secs: f64| {
                record.run.budget_secs.is_some_and(|budget| secs > budget as f64 + GRACE_SECS)
            };
            effort.has_budget |= record.run.budget_secs.is_some();
            effort.n_failed += usize::from(!matches!(record.outcome, Outcome::Scored(_)));
            effort.processes_over += usize::from(is_over(record.wall_secs));
            effort.fits_over += usize::from(is_over(fit_secs));
            effort.longest_process_secs = effort.longest_process_secs.max(record.wall_secs);
            effort.longest_fit_secs = effort.longest_fit_secs.max(fit_secs);
            effort.most_memory_mb = effort.most_memory_mb.max(record.peak_memory_mb);
        }
        effort
    }
}

impl std::fmt::Display for Effort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = |n: usize| if self.has_budget { n.to_string() } else { "-".to_owned() };
        write!(
            f,
            "{:>6}{:>7}{:>9.1}{:>7}{:>9.1}{:>8.0}",
            self.n_failed,
            count(self.processes_over),
            self.longest_process_secs,
            count(self.fits_over),
            self.longest_fit_secs,
            self.most_memory_mb,
        )
    }
}

/// All tables of what is recorded: for each budget the standings with own decisions and, where foreign
/// systems take part, with ours.
pub(super) fn text(
    records: &Records,
    budgets: &[Option<u64>],
    systems: &[System],
    against: System,
    with_details: bool,
) -> String {
    let mut text = String::new();
    for &budget in budgets {
        for by in [Decided::ByThemselves, Decided::ByOurRule] {
            let standings = Standings::of(records, budget, systems, by);
            let has_foreign = standings.contenders.iter().any(|c| c.system.is_foreign());
            if standings.is_empty() || (by == Decided::ByOurRule && !has_foreign) {
                continue;
            }
            let decision = match by {
                Decided::ByThemselves => "own decisions",
                Decided::ByOurRule => "foreign systems with our balanced decision",
            };
            let _ = writeln!(
                text,
                "{}, {} datasets, {} splits, {decision}",
                budget.map_or("no budget".to_owned(), |secs| format!("{secs} s")),
                standings.errors.len(),
                standings.n_runs,
            );
            text += &standings.text(records, budget, against);
            text.push('\n');
            if with_details {
                text += &standings.details();
                text.push('\n');
            }
        }
    }
    text += &several_builds(records, systems);
    text
}

/// Says which systems have runs of more than one build, which no table should mix unsaid.
fn several_builds(records: &Records, systems: &[System]) -> String {
    let mut builds: BTreeMap<Contender, BTreeMap<&str, usize>> = BTreeMap::new();
    for record in records.iter().filter(|r| systems.contains(&r.run.contender.system)) {
        *builds.entry(record.run.contender).or_default().entry(&record.build).or_default() += 1;
    }
    let mut text = String::new();
    for (contender, builds) in builds.into_iter().filter(|(_, builds)| builds.len() > 1) {
        let counts: Vec<String> = builds.iter().map(|(b, n)| format!("{n} of {b}")).collect();
        let _ =
            writeln!(text, "note: {contender} was run by several builds: {}", counts.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::plan::Run;
    use super::super::score::Scores;
    use super::*;

    fn record(system: System, dataset: &str, seed: u64, error: f64) -> Record {
        let budget_secs = system.takes_a_budget().then_some(30);
        Record {
            run: Run { contender: system.into(), dataset: dataset.to_owned(), budget_secs, seed },
            build: "1".into(),
            outcome: Outcome::Scored(Scores {
                balanced_error: error,
                balanced_accuracy: 1.0 - error,
                accuracy: 1.0 - error,
                log_loss: 1.0,
                decided_balanced_error: error / 2.0,
                decided_accuracy: 1.0,
            }),
            wall_secs: 30.0,
            fit_secs: None,
            cpu_secs: 30.0,
            peak_memory_mb: 100.0,
            n_evaluated: None,
        }
    }

    fn records(of: &[(System, &str, u64, f64)]) -> Records {
        let mut records = Records::default();
        of.iter().for_each(|&(s, d, seed, e)| records.insert(record(s, d, seed, e)));
        records
    }

    fn all() -> Vec<System> {
        System::all().collect()
    }

    #[test]
    fn equal_errors_share_their_ranks() {
        let errors = [0.2, 0.1, 0.2, 0.3];
        let ranks: Vec<f64> = (0..4).map(|i| rank(&errors, i)).collect();
        assert_eq!(ranks, [2.5, 1.0, 2.5, 4.0]);
    }

    #[test]
    fn only_splits_that_all_systems_ran_on_count() {
        use System::{Auto, Flaml, RandomForest};
        let records = records(&[
            (Auto, "a", 0, 0.1),
            (Auto, "a", 1, 0.3),
            (Auto, "b", 0, 0.4),
            (Flaml, "a", 0, 0.2),
            (Flaml, "a", 1, 0.2),
            (RandomForest, "a", 0, 0.5),
            (RandomForest, "a", 1, 0.1),
            (RandomForest, "b", 0, 0.1),
        ]);
        let standings = Standings::of(&records, Some(30), &all(), Decided::ByThemselves);
        assert_eq!(standings.contenders, [Auto, RandomForest, Flaml].map(Contender::from));
        assert_eq!((standings.errors.len(), standings.n_runs), (1, 2));
        let mean: Vec<f64> = (0..3).map(|i| standings.mean_error(i)).collect();
        for (got, expected) in mean.iter().zip([0.2, 0.3, 0.2]) {
            assert!((got - expected).abs() < 1e-12);
        }
        // Without FLAML there are two datasets.
        let fewer = Standings::of(&records, Some(30), &[Auto, RandomForest], Decided::ByThemselves);
        assert_eq!((fewer.errors.len(), fewer.n_runs), (2, 3));
        assert!(Standings::of(&records, Some(5), &[Auto, Flaml], Decided::ByThemselves).is_empty());
    }

    #[test]
    fn our_decision_replaces_that_of_foreign_systems_only() {
        let records = records(&[(System::Auto, "a", 0, 0.4), (System::Tpot, "a", 0, 0.4)]);
        let standings = Standings::of(&records, Some(30), &all(), Decided::ByOurRule);
        assert_eq!(standings.errors["a"], [0.4, 0.2]);
    }

    #[test]
    fn differences_are_paired() {
        let paired = Paired::of([0.1, 0.2, 0.0, -0.1, 0.3].into_iter());
        assert!((paired.mean - 0.1).abs() < 1e-12);
        // The sample variance is 0.025; of the mean of five, 0.005.
        assert!((paired.standard_error - 0.005_f64.sqrt()).abs() < 1e-12);
        assert_eq!((paired.n_above, paired.n_equal, paired.n_below), (3, 1, 1));
    }

    #[test]
    fn log_losses_stand_beside_errors_where_all_gave_predictions() {
        let mut records = records(&[(System::Auto, "a", 0, 0.1), (System::Random, "a", 0, 0.1)]);
        let mut other = record(System::Random, "a", 0, 0.1);
        let Outcome::Scored(scores) = &mut other.outcome else { unreachable!("it is scored") };
        scores.log_loss = 1.5;
        records.insert(other);
        let of =
            |records: &Records| Standings::of(records, Some(30), &all(), Decided::ByThemselves);
        assert!(of(&records).log_loss(1, Some(0)).contains("1.5000  +0.5000"));
        let mut killed = record(System::Random, "a", 0, 0.1);
        killed.outcome = Outcome::Killed;
        records.insert(killed);
        assert_eq!(of(&records).log_loss(1, Some(0)).trim(), "-");
    }

    #[test]
    fn no_predictions_count_as_a_constant_one_and_late_ones_as_overruns() {
        let mut records = records(&[(System::Auto, "a", 0, 0.1)]);
        let mut killed = record(System::Flaml, "a", 0, 0.1);
        killed.outcome = Outcome::Killed;
        (killed.wall_secs, killed.fit_secs) = (120.0, None);
        records.insert(killed);
        let mut late = record(System::Flaml, "b", 0, 0.1);
        (late.wall_secs, late.fit_secs) = (34.0, Some(30.05));
        records.insert(late);
        let standings = Standings::of(&records, Some(30), &all(), Decided::ByThemselves);
        assert_eq!(standings.errors["a"], [0.1, 0.5]);
        let effort = Effort::of(&records, System::Flaml.into(), Some(30));
        assert_eq!((effort.n_failed, effort.processes_over, effort.fits_over), (1, 2, 1));
        assert_eq!(effort.longest_process_secs, 120.0);
    }

    #[test]
    fn the_table_has_a_line_for_each_system_and_mixed_builds_are_named() {
        let mut records = records(&[(System::Auto, "a", 0, 0.1), (System::Random, "a", 0, 0.2)]);
        let mut other = record(System::Auto, "b", 0, 0.1);
        other.build = "2".into();
        records.insert(other);
        let text = text(&records, &[Some(5), Some(30)], &all(), System::Auto, true);
        assert!(text.contains("30 s, 1 datasets, 1 splits, own decisions"), "{text}");
        assert!(!text.contains("our balanced decision"), "{text}");
        assert!(text.contains("\nrandom  ") && text.contains("+0.1000"), "{text}");
        assert!(text.contains("note: auto was run by several builds: 1 of 1, 1 of 2"), "{text}");
    }
}
