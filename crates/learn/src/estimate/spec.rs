//! The closed set of estimators: one variant a kind, unfitted and fitted.

use std::fmt;

use pitchpipe_table::Labels;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::*;
use crate::scikit_learn::PythonScript;
use crate::settings::{read, write};
use crate::{
    Character, Classifier, Estimator, Features, FitContext, FitError, Member, ParseError,
    Prediction,
};

macro_rules! estimators {
    ($($(#[$doc:meta])* $variant:ident,)*) => {
        /// A kind of estimator, whatever its settings.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EstimatorKind {
            $($(#[$doc])* $variant,)*
        }

        impl EstimatorKind {
            /// All of them, in the order of the list.
            pub const ALL: [Self; [$($variant::NAME),*].len()] = [$(Self::$variant),*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $variant::NAME,)*
                }
            }

            /// What is true of it whatever its settings.
            pub const fn character(self) -> Character {
                match self {
                    $(Self::$variant => $variant::CHARACTER,)*
                }
            }
        }

        /// One estimator, hyperparameters set.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum EstimatorSpec {
            $($(#[$doc])* $variant($variant),)*
        }

        /// A fitted [`EstimatorSpec`].
        #[derive(Clone, Debug, Serialize, Deserialize)]
        pub enum FittedEstimator {
            $($(#[$doc])* $variant(<$variant as Estimator>::Fitted),)*
        }

        $(impl From<$variant> for EstimatorSpec {
            fn from(estimator: $variant) -> Self {
                Self::$variant(estimator)
            }
        })*

        impl EstimatorSpec {
            /// What kind of estimator it is.
            pub fn kind(&self) -> EstimatorKind {
                match self {
                    $(Self::$variant(_) => EstimatorKind::$variant,)*
                }
            }

            /// The estimator of a kind with these settings, `setting=value, …`.
            pub(crate) fn from_settings(
                kind: EstimatorKind,
                settings: &str,
            ) -> Result<Self, ParseError> {
                match kind {
                    $(EstimatorKind::$variant => {
                        read::<$variant>($variant::NAME, settings).map(Self::$variant)
                    })*
                }
            }

            /// Fits this setting; its random stream is keyed by the data as well.
            pub fn fit(
                &self,
                x: &Features,
                y: &Labels,
                ctx: &FitContext,
            ) -> Result<FittedEstimator, FitError> {
                self.check()?;
                self.check_gaps(x)?;
                let ctx = keyed_by_content(x, y, self.name(), ctx);
                self.lay_out(x, &ctx)?;
                match self {
                    $(Self::$variant(e) => e.fit(x, y, &ctx).map(FittedEstimator::$variant),)*
                }
            }

            /// Refuses hyperparameters that types do not rule out and that have no meaning.
            fn check(&self) -> Result<(), FitError> {
                match self {
                    $(Self::$variant(e) => e.check(),)*
                }
            }

            /// A rough cost, for deciding what to run first.
            pub(crate) fn rough_cost(&self, n_rows: usize) -> f64 {
                match self {
                    $(Self::$variant(e) => e.rough_cost(n_rows),)*
                }
            }

            /// scikit-learn's estimator of the same settings, as a Python expression.
            pub fn scikit_learn(&self, script: &mut PythonScript) -> String {
                match self {
                    $(Self::$variant(e) => e.scikit_learn(script),)*
                }
            }

            /// Whether one computation can answer for both.
            pub fn is_family_of(&self, other: &Self) -> bool {
                match (self, other) {
                    $((Self::$variant(a), Self::$variant(b)) => a.is_family_of(b),)*
                    _ => false,
                }
            }

            /// Fits settings of one family on `x` and predicts `test` with each.
            ///
            /// # Panics
            /// If the members are not of one kind.
            pub fn evaluate_family(
                members: &[&Self],
                x: &Features,
                y: &Labels,
                test: &Features,
                keep_models: bool,
                ctx: &FitContext,
            ) -> Vec<Result<Member<FittedEstimator>, FitError>> {
                let Some(first) = members.first() else { return Vec::new() };
                if members.iter().any(|member| member.check().is_err()) {
                    return evaluate_sound(members, x, y, test, keep_models, ctx);
                }
                if let Err(err) = first.check_gaps(x) {
                    return members.iter().map(|_| Err(err.clone())).collect();
                }
                let ctx = keyed_by_content(x, y, first.name(), ctx);
                if let Err(err) = first.lay_out(x, &ctx) {
                    return members.iter().map(|_| Err(err.clone())).collect();
                }
                match first {
                    $(Self::$variant(_) => {
                        let members: Vec<$variant> = members
                            .iter()
                            .map(|member| match member {
                                Self::$variant(e) => e.clone(),
                                _ => panic!("a family has members of one kind"),
                            })
                            .collect();
                        $variant::evaluate_family(&members, x, y, test, keep_models, &ctx)
                            .into_iter()
                            .map(|result| Ok(wrapped(result?, FittedEstimator::$variant)))
                            .collect()
                    })*
                }
            }
        }

        impl fmt::Display for EstimatorSpec {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant(e) => write(f, $variant::NAME, e),)*
                }
            }
        }

        impl Classifier for FittedEstimator {
            fn n_classes(&self) -> usize {
                match self {
                    $(Self::$variant(e) => e.n_classes(),)*
                }
            }

            fn is_sound(&self, n_cols: usize) -> bool {
                match self {
                    $(Self::$variant(e) => e.is_sound(n_cols),)*
                }
            }

            fn predict(&self, x: &Features, ctx: &FitContext) -> Result<Prediction, FitError> {
                match self {
                    $(Self::$variant(e) => e.predict(x, ctx),)*
                }
            }
        }
    };
}

with_estimators!(estimators);

impl fmt::Display for EstimatorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Written as its name, so that a list may be put in another order.
impl Serialize for EstimatorKind {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for EstimatorKind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

impl EstimatorSpec {
    /// The name of its kind.
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// Refuses a matrix with missing cells and categories where the estimator has no answer for them.
    fn check_gaps(&self, x: &Features) -> Result<(), FitError> {
        if x.categories().is_some() && !self.kind().character().takes_gaps {
            return Err(FitError::Gaps { component: self.name() });
        }
        Ok(())
    }

    /// Makes the row-major copy that the estimator will ask for, while the deadline is watched.
    fn lay_out(&self, x: &Features, ctx: &FitContext) -> Result<(), FitError> {
        if self.kind().character().reads_rows {
            x.rows_within(ctx)?;
        }
        Ok(())
    }
}

/// Evaluates the members of a family whose settings have a meaning, and refuses the others.
fn evaluate_sound(
    members: &[&EstimatorSpec],
    x: &Features,
    y: &Labels,
    test: &Features,
    keep_models: bool,
    ctx: &FitContext,
) -> Vec<Result<Member<FittedEstimator>, FitError>> {
    let sound: Vec<&EstimatorSpec> =
        members.iter().copied().filter(|member| member.check().is_ok()).collect();
    let mut results =
        EstimatorSpec::evaluate_family(&sound, x, y, test, keep_models, ctx).into_iter();
    let result = |member: &&EstimatorSpec| {
        member.check().and_then(|()| results.next().expect("one for each sound member"))
    };
    members.iter().map(result).collect()
}

fn wrapped<M>(
    member: Member<M>,
    wrap: impl FnOnce(M) -> FittedEstimator,
) -> Member<FittedEstimator> {
    let Member { prediction, model, alone_secs, marginal_secs } = member;
    Member { prediction, model: model.map(wrap), alone_secs, marginal_secs }
}

/// The context whose stream depends on the matrix, the labels and the kind of estimator: what is the
/// same computation then draws the same numbers (ALGORITHMS §17).
fn keyed_by_content(x: &Features, y: &Labels, name: &str, ctx: &FitContext) -> FitContext {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    for code in y.codes() {
        hash.update(&code.to_le_bytes());
    }
    let stream = ctx.stream().child(x.content()).child(hash.digest()).named(name);
    ctx.clone().with_stream(stream)
}
