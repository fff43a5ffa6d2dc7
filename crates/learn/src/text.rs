//! Pipelines in words: one component a step, `" > "` between them. What is written is read back.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use crate::encode::Encoder;
use crate::estimate::{EstimatorKind, EstimatorSpec};
use crate::impute::Imputer;
use crate::reduce::Reducer;
use crate::scale::Scaler;
use crate::settings::split;
use crate::{ParseError, Pipeline, Preparation};

/// What stands between two components.
const BETWEEN: &str = " > ";

impl Display for Imputer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Constant => "impute(constant)",
            Self::Mean => "impute(mean)",
            Self::Median => "impute(median)",
            Self::MostFrequent => "impute(most_frequent)",
            Self::Keep => "keep_gaps",
            Self::MeanOrMode => "impute(mean_or_mode)",
            Self::MedianOrMode => "impute(median_or_mode)",
        })
    }
}

impl Display for Encoder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneHot => "one_hot",
            Self::None => "codes",
            Self::Categories => "categories",
        })
    }
}

impl Display for Scaler {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standardise => "standardise",
            Self::None => "unscaled",
        })
    }
}

impl Display for Reducer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pca(share) => write!(f, "pca({}%)", share.percent()),
            Self::SelectKBest(share) => write!(f, "select_k_best({}%)", share.percent()),
            Self::VarianceThreshold => f.write_str("variance_threshold"),
            Self::None => f.write_str("all_features"),
        }
    }
}

impl Display for Preparation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { imputer, encoder, scaler, reducer } = self;
        write!(f, "{imputer}{BETWEEN}{encoder}{BETWEEN}{scaler}{BETWEEN}{reducer}")
    }
}

impl Display for Pipeline {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{BETWEEN}{}", self.preparation, self.estimator)
    }
}

/// The one of a few components that is written like this.
fn one_of<T: Display + Clone>(step: &'static str, all: &[T], text: &str) -> Result<T, ParseError> {
    let unknown = || {
        let known: Vec<String> = all.iter().map(T::to_string).collect();
        ParseError::Unknown { step, text: text.to_owned(), known: known.join(", ") }
    };
    all.iter().find(|c| c.to_string() == text).cloned().ok_or_else(unknown)
}

impl FromStr for Imputer {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        one_of("imputer", &Self::ALL, text)
    }
}

impl FromStr for Encoder {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        one_of("encoder", &Self::ALL, text)
    }
}

impl FromStr for Scaler {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        one_of("standardizer", &Self::ALL, text)
    }
}

impl FromStr for Reducer {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        one_of("reducer", &Self::ALL, text)
    }
}

impl FromStr for EstimatorKind {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        one_of("estimator", &Self::ALL, text)
    }
}

impl FromStr for EstimatorSpec {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (name, settings) = split(text);
        Self::from_settings(name.parse()?, settings)
    }
}

impl FromStr for Preparation {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let steps: Vec<&str> = text.split(BETWEEN).collect();
        let [imputer, encoder, scaler, reducer] = steps[..] else {
            return Err(ParseError::Steps { wanted: 4, got: steps.len(), text: text.to_owned() });
        };
        Ok(Self {
            imputer: imputer.parse()?,
            encoder: encoder.parse()?,
            scaler: scaler.parse()?,
            reducer: reducer.parse()?,
        })
    }
}

impl FromStr for Pipeline {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (preparation, estimator) = text.rsplit_once(BETWEEN).unwrap_or(("", text));
        let n_steps = text.split(BETWEEN).count();
        if n_steps != 5 {
            return Err(ParseError::Steps { wanted: 5, got: n_steps, text: text.to_owned() });
        }
        let pipeline = Self { preparation: preparation.parse()?, estimator: estimator.parse()? };
        pipeline.check().map_err(|_| ParseError::Gaps { text: text.to_owned() })?;
        Ok(pipeline)
    }
}
