//! How the pipelines to run are chosen.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How the pipelines to run are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Families of pipelines by expected improvement per second (docs/decisions/0040-search-policy.md), and
    /// an ensemble by forward selection.
    #[default]
    Auto,
    /// The paper's Oboe: estimators on one fixed preparation, least squares on PCA embeddings.
    Oboe,
    /// The paper's TensorOboe: all pipelines, embeddings from a Tucker decomposition.
    TensorOboe,
    /// The paper's KernelOboe: all pipelines, kernelised factorisation.
    KernelOboe,
    /// Pipelines in a random order.
    Random,
    /// Oboe's estimators on its preparation in a random order: what `Oboe` is to be measured by.
    RandomOboe,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Auto,
        Self::Oboe,
        Self::TensorOboe,
        Self::KernelOboe,
        Self::Random,
        Self::RandomOboe,
    ];

    /// Its name on the command line, in Python and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Oboe => "oboe",
            Self::TensorOboe => "tensor-oboe",
            Self::KernelOboe => "kernel-oboe",
            Self::Random => "random",
            Self::RandomOboe => "random-oboe",
        }
    }

    /// Whether it is one of the paper's three systems.
    pub fn is_of_paper(self) -> bool {
        matches!(self, Self::Oboe | Self::TensorOboe | Self::KernelOboe)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no method has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no method \"{0}\"; choose among auto, oboe, tensor-oboe, kernel-oboe, random and random-oboe"
)]
pub struct UnknownMethod(pub String);

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, UnknownMethod> {
        let plain = name.replace('_', "-");
        let found = Self::ALL.into_iter().find(|m| m.name() == plain);
        found.ok_or_else(|| UnknownMethod(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_methods() {
        for method in Method::ALL {
            assert_eq!(method.name().parse(), Ok(method));
            assert_eq!(serde_json::to_string(&method).unwrap(), format!("\"{method}\""));
        }
        let err = "obo".parse::<Method>().unwrap_err().to_string();
        assert!(Method::ALL.iter().all(|m| err.contains(m.name())), "{err}");
    }
}
