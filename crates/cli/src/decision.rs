//! Which rule turns probabilities into labels: in words, and as a choice on the command line.

use clap::ValueEnum;
use pitchpipe_automl::Model;
use pitchpipe_table::Decision;

/// A rule that the user can ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DecisionArg {
    /// The rule of the metric that the model was made for
    #[default]
    Model,
    /// The class with the largest probability
    MostProbable,
    /// The class whose probability is largest for its share of the training rows: rare classes count as much as
    /// common ones
    Balanced,
}

impl DecisionArg {
    /// The rule that this means for a model.
    pub(crate) fn of(self, model: &Model) -> Decision {
        match (self, model.decision()) {
            (Self::Model, own) => own,
            (Self::MostProbable, _) => Decision::Accuracy,
            (Self::Balanced, own @ (Decision::BalancedAccuracy | Decision::BalancedError)) => own,
            (Self::Balanced, _) => Decision::BalancedError,
        }
    }
}

/// What a rule does, and why.
pub(crate) fn in_words(decision: Decision) -> &'static str {
    match decision {
        Decision::Native => "most of the base learners vote for it",
        Decision::Accuracy => "its probability is the largest",
        Decision::BalancedAccuracy => {
            "its probability is the largest multiple of its share of the training rows, so that rare classes count \
             as much as common ones"
        }
        Decision::BalancedError => {
            "its probability is furthest above its share of the training rows (for what that share lets expect), so \
             that rare classes count as much as common ones"
        }
    }
}
