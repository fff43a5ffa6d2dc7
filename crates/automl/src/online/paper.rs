//! Options of the paper's systems: where there is more than one way that the paper or its code has it.

use std::fmt;
use std::str::FromStr;

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

/// What was asked for; what was not is as the paper has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PaperOptions {
    /// How designs are made.
    pub design: Option<DesignKind>,
    /// How runtimes are predicted.
    pub runtimes: Option<RuntimeKind>,
    /// How KernelOboe predicts.
    pub kernel_prediction: Option<KernelPrediction>,
}

impl PaperOptions {
    /// That nothing is asked for which the method would pass over.
    pub(super) fn check(&self, method: Method) -> Result<(), AutoMlError> {
        let refuse =
            |name, value: String, wanted| Err(AutoMlError::Setting { name, value, wanted });
        const OF_PAPER: &str = "left out, but for oboe, tensor-oboe and kernel-oboe";
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
        assert!(design(DesignKind::Weighted).check(Method::TensorOboe).is_ok());
        assert!(design(DesignKind::Convex).check(Method::Oboe).is_ok());
        assert!(codes.check(Method::KernelOboe).is_ok());
        for (options, method) in [
            (design(DesignKind::Greedy), Method::Auto),
            (design(DesignKind::Convex), Method::TensorOboe),
            (log, Method::Random),
            (codes, Method::TensorOboe),
        ] {
            let error = options.check(method).unwrap_err().to_string();
            assert!(error.contains("but"), "{error}");
        }
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
