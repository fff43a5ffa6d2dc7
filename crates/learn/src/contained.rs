//! A fault of one component is that component's failure, and the others go on.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::FitError;

/// What the work gives; a panic inside it as [`FitError::Internal`] of that component.
pub fn contained<T>(component: &'static str, work: impl FnOnce() -> T) -> Result<T, FitError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let said = panic.downcast_ref::<&str>().map(|said| (*said).to_owned());
        let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
        FitError::Internal { component, message: said.unwrap_or_default() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_fails_the_component_that_it_came_from() {
        let broken: Result<(), FitError> = contained("knn", || panic!("row {} is not there", 7));
        let err = broken.unwrap_err();
        assert_eq!(err.to_string(), "knn broke off by a fault of its own: row 7 is not there");
        assert_eq!(contained("knn", || 7), Ok(7));
    }
}
