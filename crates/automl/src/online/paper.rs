//! Options of the paper's systems: where there is more than one way that the paper or its code has it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::{AutoMlError, Method};

/// How the paper's systems design a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DesignKind {
    /// Greedy (Algorithm 5).
    #[default]
    Greedy,
    /// Greedy, each pipeline by how well it is predicted (Algorithm 9).
    Weighted,
    /// The convex relaxation, rounded; for Oboe's few pipelines only.
    Convex,
    /// At random: the control.
    Random,
}

/// How the paper's systems predict runtimes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RuntimeKind {
    /// Seconds, by polynomials of degree 3 in rows, features and the logarithm of rows.
    #[default]
    Paper,
    /// Logarithms of seconds, by polynomials of degree 2 in logarithms, robustly.
    Log,
}

/// How KernelOboe predicts a new dataset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KernelPrediction {
    /// As TensorOboe, by the embeddings of the tensor that KFMC completed.
    #[default]
    Embeddings,
    /// By the closed form on the codes.
    Codes,
}

/// Which rank grows where a round improved on the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RankGrowth {
    /// That of datasets, as in Algorithm 3.
    #[default]
    Datasets,
    /// That of estimators, as the paper says of TensorOboe; no other system has one.
    Estimators,
    /// Both.
    Both,
}

/// What follows the last round whose target is within half of the budget, where the paper's loop ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastRoundKind {
    /// One more, of whatever time is left.
    #[default]
    Rest,
    /// Nothing.
    None,
}

/// How missing categories are filled by imputers that take a mean or a median.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CategoryFill {
    /// By their mode: the paper's words for Oboe.
    Mode,
    /// By the statistic of their codes, as scikit-learn's `SimpleImputer` does and the published errors have it.
    Codes,
}

/// What was asked for; what was not is as the paper has it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PaperOptions {
    /// How designs are made.
    pub design: Option<DesignKind>,
    /// How runtimes are predicted.
    pub runtimes: Option<RuntimeKind>,
    /// How KernelOboe predicts.
    pub kernel_prediction: Option<KernelPrediction>,
    /// Which rank grows.
    pub rank_rule: Option<RankGrowth>,
    /// The time target of the first round; by the rule of the published code where there is none.
    pub first_target: Option<Duration>,
    /// Whether the time beyond the last round is used.
    pub last_round: Option<LastRoundKind>,
    /// How many of the best-predicted pipelines a round runs and the ensemble is made of: the set T of Algorithm 2. As many as
    /// the time allows, and the best of all that was run, where there is none.
    pub best_predicted: Option<usize>,
    /// The share of the rows that is kept apart for the rank rule: `D_val` of Algorithm 3. Where there is none, the rule looks
    /// at the cross-validated error.
    pub validation_share: Option<f64>,
    /// How categories are filled; by their mode for `oboe`, by the statistic of their codes for the others, where nothing is
    /// said.
    pub category_fill: Option<CategoryFill>,
}

const OF_PAPER: &str = "left out, but for oboe, tensor-oboe and kernel-oboe";

impl PaperOptions {
    /// That nothing is asked for which the method would pass over.
    pub(super) fn check(&self, method: Method) -> Result<(), AutoMlError> {
        let refuse =
            |name, value: String, wanted| Err(AutoMlError::Setting { name, value, wanted });
        if let Some(design) = self.design {
            if !method.is_of_paper() {
                return refuse("the design", design.to_string(), OF_PAPER);
            }
            if design == DesignKind::Convex && method != Method::Oboe {
                let wanted =
                    "greedy, weighted or random, but for oboe: thousands of pipelines are too many";
                return refuse("the design", design.to_string(), wanted);
            }
        }
        self.check_rounds(method)?;
        if let Some(runtimes) = self.runtimes.filter(|_| !method.is_of_paper()) {
            return refuse("the form of runtimes", runtimes.to_string(), OF_PAPER);
        }
        match self.kernel_prediction {
            Some(kind) if method != Method::KernelOboe => {
                refuse("the kernel prediction", kind.to_string(), "left out, but for kernel-oboe")
            }
            _ => Ok(()),
        }
    }

    /// The same of what says how rounds go on, and on which rows.
    fn check_rounds(&self, method: Method) -> Result<(), AutoMlError> {
        let refuse = |name, value: String, wanted: &'static str| {
            Err(AutoMlError::Setting { name, value, wanted })
        };
        let asked = [
            ("the rank rule", self.rank_rule.map(|v| v.to_string())),
            ("the first target", self.first_target.map(|v| format!("{v:?}"))),
            ("the last round", self.last_round.map(|v| v.to_string())),
            ("the number of best-predicted pipelines", self.best_predicted.map(|v| v.to_string())),
            ("the validation share", self.validation_share.map(|v| v.to_string())),
            ("the filling of categories", self.category_fill.map(|v| v.to_string())),
        ];
        let asked = asked.into_iter().filter_map(|(name, value)| Some((name, value?)));
        for (name, value) in asked {
            if !method.is_of_paper() {
                return refuse(name, value, OF_PAPER);
            }
        }
        let of_one_rank =
            method == Method::Oboe || self.kernel_prediction == Some(KernelPrediction::Codes);
        if let Some(rule) = self.rank_rule.filter(|&r| of_one_rank && r != RankGrowth::Datasets) {
            let wanted =
                "datasets, but for embeddings of a tensor, which alone have a rank of estimators";
            return refuse("the rank rule", rule.to_string(), wanted);
        }
        if let Some(target) = self.first_target.filter(Duration::is_zero) {
            return refuse("the first target", format!("{target:?}"), "above zero");
        }
        if self.best_predicted == Some(0) {
            let name = "the number of best-predicted pipelines";
            return refuse(name, "0".to_owned(), "at least 1");
        }
        match self.validation_share {
            Some(share) if !(share > 0.0 && share < 1.0) => {
                refuse("the validation share", share.to_string(), "between 0 and 1")
            }
            _ => Ok(()),
        }
    }

    /// Whether categories are filled by their mode. Random search over Oboe's estimators is to be Oboe's measure.
    pub(super) fn fills_by_mode(&self, method: Method) -> bool {
        match self.category_fill {
            Some(fill) => fill == CategoryFill::Mode,
            None => matches!(method, Method::Oboe | Method::RandomOboe),
        }
    }
}

/// A word that none of the options has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {what} \"{word}\"; choose among {}", words.join(", "))]
pub struct UnknownOption {
    what: &'static str,
    word: String,
    words: Vec<&'static str>,
}

/// Words for values, both ways.
macro_rules! words {
    ($type:ident, $what:literal, $($variant:ident $word:literal),+) => {
        impl $type {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Its name on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $type {
            type Err = UnknownOption;

            fn from_str(word: &str) -> Result<Self, UnknownOption> {
                let found = Self::ALL.iter().copied().find(|v| v.name() == word);
                found.ok_or_else(|| UnknownOption {
                    what: $what,
                    word: word.to_owned(),
                    words: Self::ALL.iter().map(|v| v.name()).collect(),
                })
            }
        }
    };
}

words!(DesignKind, "design", Greedy "greedy", Weighted "weighted", Convex "convex", Random "random");
words!(RuntimeKind, "form of runtimes", Paper "paper", Log "log");
words!(KernelPrediction, "kernel prediction", Embeddings "embeddings", Codes "codes");
words!(RankGrowth, "rank rule", Datasets "datasets", Estimators "estimators", Both "both");
words!(LastRoundKind, "last round", Rest "rest", None "none");
words!(CategoryFill, "filling of categories", Mode "mode", Codes "codes");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_a_method_would_pass_over_is_refused() {
        let design = |kind| PaperOptions { design: Some(kind), ..PaperOptions::default() };
        let log = PaperOptions { runtimes: Some(RuntimeKind::Log), ..PaperOptions::default() };
        let codes = PaperOptions {
            kernel_prediction: Some(KernelPrediction::Codes),
            ..PaperOptions::default()
        };
        let none = PaperOptions::default();
        assert!(design(DesignKind::Weighted).check(Method::TensorOboe).is_ok());
        assert!(design(DesignKind::Convex).check(Method::Oboe).is_ok());
        assert!(codes.check(Method::KernelOboe).is_ok());
        for (options, method) in [
            (design(DesignKind::Greedy), Method::Auto),
            (design(DesignKind::Convex), Method::TensorOboe),
            (log, Method::Random),
            (codes, Method::TensorOboe),
            (PaperOptions { rank_rule: Some(RankGrowth::Both), ..none }, Method::Oboe),
            (PaperOptions { rank_rule: Some(RankGrowth::Both), ..codes }, Method::KernelOboe),
            (PaperOptions { validation_share: Some(0.2), ..none }, Method::Auto),
            (PaperOptions { category_fill: Some(CategoryFill::Mode), ..none }, Method::Random),
        ] {
            let error = options.check(method).unwrap_err().to_string();
            assert!(error.contains("but"), "{error}");
        }
    }

    #[test]
    fn values_without_a_meaning_are_refused() {
        let none = PaperOptions::default();
        for options in [
            PaperOptions { validation_share: Some(1.0), ..none },
            PaperOptions { validation_share: Some(f64::NAN), ..none },
            PaperOptions { first_target: Some(Duration::ZERO), ..none },
            PaperOptions { best_predicted: Some(0), ..none },
        ] {
            let refused = options.check(Method::TensorOboe);
            assert!(matches!(refused, Err(AutoMlError::Setting { .. })), "{options:?}");
        }
    }

    #[test]
    fn the_paper_fills_categories_of_oboe_by_their_mode() {
        let none = PaperOptions::default();
        let codes = PaperOptions { category_fill: Some(CategoryFill::Codes), ..none };
        let mode = PaperOptions { category_fill: Some(CategoryFill::Mode), ..none };
        assert!(none.fills_by_mode(Method::Oboe) && none.fills_by_mode(Method::RandomOboe));
        assert!(!none.fills_by_mode(Method::TensorOboe) && !none.fills_by_mode(Method::Auto));
        assert!(!codes.fills_by_mode(Method::Oboe) && mode.fills_by_mode(Method::KernelOboe));
    }

    #[test]
    fn words_lead_back_to_options() {
        for kind in DesignKind::ALL {
            assert_eq!(kind.name().parse(), Ok(*kind));
        }
        let error = "best".parse::<DesignKind>().unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no design \"best\"; choose among greedy, weighted, convex, random"
        );
    }
}
