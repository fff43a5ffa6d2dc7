//! What is to be run: systems, budgets, seeds and datasets, and in which order.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A system under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum System {
    /// pitchpipe's default.
    Auto,
    /// The paper's three systems.
    Oboe,
    TensorOboe,
    KernelOboe,
    /// Random search over the same space with the same engine.
    Random,
    /// The same with the paper's vote of the five best: what the paper's systems are to be measured by.
    RandomVote,
    /// The same among the estimators that Oboe chooses among, on its preparation.
    RandomOboe,
    /// The pipeline with the lowest mean error over the meta-training datasets, fitted once.
    Baseline,
    /// scikit-learn's defaults.
    RandomForest,
    HistGradientBoosting,
    /// One fit of LightGBM, 31 leaves, so many rounds; read it under our decision.
    #[serde(rename = "lightgbm-100")]
    Lightgbm100,
    #[serde(rename = "lightgbm-400")]
    Lightgbm400,
    /// Peers from PyPI.
    Flaml,
    Tpot,
    Autogluon,
    /// With its preset `best_quality`, which bags and stacks.
    AutogluonBest,
}

impl System {
    pub(super) const OURS: [Self; 8] = [
        Self::Auto,
        Self::Oboe,
        Self::TensorOboe,
        Self::KernelOboe,
        Self::Random,
        Self::RandomVote,
        Self::RandomOboe,
        Self::Baseline,
    ];
    pub(super) const SKLEARN: [Self; 2] = [Self::RandomForest, Self::HistGradientBoosting];
    pub(super) const LIGHTGBM: [Self; 2] = [Self::Lightgbm100, Self::Lightgbm400];
    pub(super) const PEERS: [Self; 3] = [Self::Flaml, Self::Tpot, Self::Autogluon];

    pub(super) fn all() -> impl Iterator<Item = Self> {
        let others = Self::PEERS.into_iter().chain([Self::AutogluonBest]).chain(Self::LIGHTGBM);
        Self::OURS.into_iter().chain(Self::SKLEARN).chain(others)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Oboe => "oboe",
            Self::TensorOboe => "tensor-oboe",
            Self::KernelOboe => "kernel-oboe",
            Self::Random => "random",
            Self::RandomVote => "random-vote",
            Self::RandomOboe => "random-oboe",
            Self::Baseline => "baseline",
            Self::RandomForest => "random-forest",
            Self::HistGradientBoosting => "hist-gradient-boosting",
            Self::Lightgbm100 => "lightgbm-100",
            Self::Lightgbm400 => "lightgbm-400",
            Self::Flaml => "flaml",
            Self::Tpot => "tpot",
            Self::Autogluon => "autogluon",
            Self::AutogluonBest => "autogluon-best",
        }
    }

    /// How pitchpipe is told to run it.
    pub(super) fn arguments(self) -> Vec<&'static str> {
        match self {
            Self::RandomVote => vec!["--method", "random", "--ensemble", "vote"],
            Self::RandomOboe => vec!["--method", "random-oboe", "--ensemble", "vote"],
            _ => vec!["--method", self.name()],
        }
    }

    /// Whether it takes a time budget; the others do one thing and are done.
    pub(super) fn takes_a_budget(self) -> bool {
        let does_one_thing = [Self::SKLEARN, Self::LIGHTGBM].concat();
        self != Self::Baseline && !does_one_thing.contains(&self)
    }

    /// Whether the program under test runs it.
    pub(super) fn runs_pitchpipe(self) -> bool {
        Self::OURS.contains(&self) && self != Self::Baseline
    }

    /// Whether it is not pitchpipe, so that its decision can also be replaced by ours.
    pub(super) fn is_foreign(self) -> bool {
        !Self::OURS.contains(&self)
    }

    /// The Python environment that a foreign system runs in.
    pub(super) fn environment(self) -> Option<&'static str> {
        match self {
            Self::RandomForest | Self::HistGradientBoosting => Some("automl-sklearn"),
            Self::Flaml | Self::Lightgbm100 | Self::Lightgbm400 => Some("automl-flaml"),
            Self::Tpot => Some("automl-tpot"),
            Self::Autogluon | Self::AutogluonBest => Some("automl-autogluon"),
            _ => None,
        }
    }
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One system, or a group of them, as written on the command line.
#[derive(Clone, Debug)]
pub(super) struct Choice(pub(super) Vec<System>);

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self(match text {
            "ours" => System::OURS.to_vec(),
            "sklearn" => System::SKLEARN.to_vec(),
            "lightgbm" => System::LIGHTGBM.to_vec(),
            "peers" => System::PEERS.to_vec(),
            "all" => System::all().collect(),
            name => {
                let names: Vec<&str> = System::all().map(System::name).collect();
                let unknown = || {
                    format!("it must be ours, sklearn, peers, all or one of {}", names.join(", "))
                };
                vec![System::all().find(|s| s.name() == name).ok_or_else(unknown)?]
            }
        }))
    }
}

/// A system as run by one of two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Contender {
    pub(super) system: System,
    /// Whether the program of `--before` runs it.
    #[serde(default, rename = "before", skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_before: bool,
}

impl Contender {
    /// The systems, and beside those that pitchpipe itself runs the same by the program before, if there is one.
    pub(super) fn all(systems: &[System], has_before: bool) -> Vec<Self> {
        let both = |&system: &System| {
            let is_twofold = has_before && system.runs_pitchpipe();
            let present = Self::from(system);
            [present].into_iter().chain(is_twofold.then_some(Self { is_before: true, ..present }))
        };
        systems.iter().flat_map(both).collect()
    }
}

impl From<System> for Contender {
    fn from(system: System) -> Self {
        Self { system, is_before: false }
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = if self.is_before { "-before" } else { "" };
        f.pad(&format!("{}{suffix}", self.system.name()))
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Run {
    #[serde(flatten)]
    pub(super) contender: Contender,
    pub(super) dataset: String,
    /// `None` for a system that takes no budget.
    pub(super) budget_secs: Option<u64>,
    pub(super) seed: u64,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.contender, self.dataset)?;
        if let Some(secs) = self.budget_secs {
            write!(f, "-{secs}s")?;
        }
        write!(f, "-seed{}", self.seed)
    }
}

/// All runs of the plan. Plainly ordered, one system is finished before the next begins. Interleaved, all
/// systems run on one dataset before the next dataset begins, and which of them goes first takes turns:
/// so an interrupted plan has seen every system equally often, and a slow hour of the machine hits all alike.
pub(super) fn plan(
    contenders: &[Contender],
    datasets: &[String],
    budgets: &[u64],
    seeds: &[u64],
    interleave: bool,
) -> Vec<Run> {
    let mut keyed = Vec::new();
    for (s, &contender) in contenders.iter().enumerate() {
        let own_budgets = if contender.system.takes_a_budget() {
            budgets.iter().map(|&b| Some(b)).collect()
        } else {
            vec![None]
        };
        for (b, budget_secs) in own_budgets.into_iter().enumerate() {
            for (k, &seed) in seeds.iter().enumerate() {
                for (d, dataset) in datasets.iter().enumerate() {
                    let turn = (s + d + k) % contenders.len();
                    let key = if interleave { [k, d, b, turn] } else { [s, b, k, d] };
                    keyed.push((
                        key,
                        Run { contender, dataset: dataset.clone(), budget_secs, seed },
                    ));
                }
            }
        }
    }
    keyed.sort();
    keyed.dedup();
    keyed.into_iter().map(|(_, run)| run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|i| format!("d{i}")).collect()
    }

    #[test]
    fn an_interleaved_plan_is_balanced_at_every_moment() {
        let systems = [System::Auto, System::Random, System::Flaml];
        let runs = plan(&Contender::all(&systems, false), &names(5), &[5, 15], &[0, 1], true);
        assert_eq!(runs.len(), 3 * 5 * 2 * 2);
        for n in 0..runs.len() {
            let done = |s: System| runs[..n].iter().filter(|r| r.contender.system == s).count();
            let counts = systems.map(done);
            assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
        }
        assert_ne!(runs[0].contender, runs[6].contender);
    }

    #[test]
    fn a_plain_plan_finishes_one_system_first() {
        let runs =
            plan(&[System::Random.into(), System::Auto.into()], &names(3), &[5], &[0], false);
        assert!(runs[..3].iter().all(|r| r.contender.system == System::Random));
    }

    #[test]
    fn what_takes_no_budget_runs_once() {
        let runs = plan(&[System::RandomForest.into()], &names(2), &[5, 15, 30], &[0], true);
        assert_eq!(runs.len(), 2);
        assert_eq!(runs[0].budget_secs, None);
    }

    #[test]
    fn the_program_before_runs_what_pitchpipe_runs() {
        let all = Contender::all(&[System::Auto, System::Baseline, System::Flaml], true);
        let names: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["auto", "auto-before", "baseline", "flaml"]);
    }

    #[test]
    fn a_group_stands_for_its_members() {
        assert_eq!("sklearn".parse::<Choice>().unwrap().0, System::SKLEARN);
        assert_eq!("kernel-oboe".parse::<Choice>().unwrap().0, [System::KernelOboe]);
        assert!("h2o".parse::<Choice>().is_err());
    }
}
