//! Why a fit gave no model.

use thiserror::Error;

/// Why a component could not be fitted or asked.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum FitError {
    /// The deadline passed, or the caller asked to stop.
    #[error("out of time")]
    OutOfTime,
    /// The caller cancelled the work.
    #[error("cancelled")]
    Cancelled,
    /// The work would need more memory than it was given.
    #[error("{component} would need {needed} bytes but may use {limit}")]
    OutOfMemory {
        /// Which component.
        component: &'static str,
        /// Bytes it would allocate.
        needed: u64,
        /// Bytes it may allocate.
        limit: u64,
    },
    /// There are fewer rows than the component needs.
    #[error("{component} asks for {needed} rows but was given {got}")]
    TooFewRows {
        /// Which component.
        component: &'static str,
        /// How many it needs.
        needed: usize,
        /// How many there are.
        got: usize,
    },
    /// Cross-validation was asked for with fewer than two folds.
    #[error("cross-validation asks for at least two folds, not {got}")]
    TooFewFolds {
        /// How many folds were asked for.
        got: usize,
    },
    /// A hyperparameter has no meaning.
    #[error("{component} was given {setting}={value}, but it must be {wanted}")]
    Setting {
        /// Which component.
        component: &'static str,
        /// Which of its settings.
        setting: &'static str,
        /// What it was given.
        value: f64,
        /// What it may be.
        wanted: &'static str,
    },
    /// The system gave no threads.
    #[error("the system did not start {wanted} threads")]
    NoThreads {
        /// How many were asked for.
        wanted: usize,
    },
    /// The component needs at least two classes.
    #[error("{component} asks for two classes but the training rows have one")]
    OneClass {
        /// Which component.
        component: &'static str,
    },
    /// No feature is left.
    #[error("{component} leaves no feature")]
    NoFeatures {
        /// Which component.
        component: &'static str,
    },
    /// The component has no answer for missing cells or categories, but was to be given them as they are.
    #[error("{component} takes no missing cells and no categories as they are")]
    Gaps {
        /// Which component.
        component: &'static str,
    },
    /// The rows have other columns than those the component was fitted on.
    #[error("was fitted on {expected} columns but given {got}, or columns of another kind")]
    OtherColumns {
        /// How many columns it was fitted on.
        expected: usize,
        /// How many the rows have.
        got: usize,
    },
    /// The numbers overflowed.
    #[error("{component} met numbers too large to compute with")]
    NotFinite {
        /// Which component.
        component: &'static str,
    },
    /// One of our own promises broke inside the component; the others go on.
    #[error("{component} broke off by a fault of its own: {message}")]
    Internal {
        /// Which component.
        component: &'static str,
        /// What it said.
        message: String,
    },
}
