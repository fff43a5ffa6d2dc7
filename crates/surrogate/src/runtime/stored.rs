//! Runtime models as plain data, checked when read.

use serde::{Deserialize, Serialize};

use super::polynomial::Terms;
use super::{RuntimeForm, RuntimeModel};
use crate::SurrogateError;

/// The parts of a [`RuntimeModel`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RuntimeParts {
    form: RuntimeForm,
    with_classes: bool,
    terms: Terms,
    coefficients: Vec<Vec<f64>>,
}

impl From<RuntimeModel> for RuntimeParts {
    fn from(model: RuntimeModel) -> Self {
        let RuntimeModel { form, with_classes, terms, coefficients } = model;
        Self { form, with_classes, terms, coefficients }
    }
}

impl TryFrom<RuntimeParts> for RuntimeModel {
    type Error = SurrogateError;

    fn try_from(parts: RuntimeParts) -> Result<Self, SurrogateError> {
        let RuntimeParts { form, with_classes, terms, coefficients } = parts;
        if coefficients.is_empty() {
            return Err(SurrogateError::Empty { what: "runtime model" });
        }
        terms.check(form.n_variables(with_classes))?;
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
        Ok(Self { form, with_classes, terms, coefficients })
    }
}
