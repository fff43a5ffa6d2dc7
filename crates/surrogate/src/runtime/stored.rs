//! Runtime models as plain data, checked when read.

use serde::{Deserialize, Serialize};

use super::polynomial::Terms;
use super::{RuntimeForm, RuntimeModel};
use crate::SurrogateError;

/// The parts of a [`RuntimeModel`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RuntimeParts {
    pub(super) form: RuntimeForm,
    pub(super) with_classes: bool,
    pub(super) terms: Terms,
    pub(super) coefficients: Vec<Vec<f64>>,
    pub(super) bounds_secs: (f64, f64),
}

impl From<RuntimeModel> for RuntimeParts {
    fn from(model: RuntimeModel) -> Self {
        let RuntimeModel { form, with_classes, terms, coefficients, bounds_secs } = model;
        Self { form, with_classes, terms, coefficients, bounds_secs }
    }
}

impl TryFrom<RuntimeParts> for RuntimeModel {
    type Error = SurrogateError;

    fn try_from(parts: RuntimeParts) -> Result<Self, SurrogateError> {
        let RuntimeParts { form, with_classes, terms, coefficients, bounds_secs } = parts;
        if coefficients.is_empty() {
            return Err(SurrogateError::Empty { what: "runtime model" });
        }
        terms.check(form.n_variables(with_classes))?;
        let (low, high) = bounds_secs;
        if !(low > 0.0 && low <= high && high.is_finite()) {
            let what = "bounds of runtimes";
            return Err(SurrogateError::NotPositive { what, at: 0, value: low });
        }
        let wanted = terms.len();
        for (at, own) in coefficients.iter().enumerate() {
            if own.len() != wanted {
                let got = own.len();
                return Err(SurrogateError::Size { what: "runtime coefficients", wanted, got });
            }
            if let Some(&value) = own.iter().find(|v| !v.is_finite()) {
                return Err(SurrogateError::NotFinite { what: "runtime coefficients", at, value });
            }
        }
        Ok(Self { form, with_classes, terms, coefficients, bounds_secs })
    }
}
