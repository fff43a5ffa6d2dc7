//! A plan of trees that is made when it is first of use, and is no part of the model: no file has it, and it never differs.

use std::sync::OnceLock;

use super::Abreast;

/// The plan of a model, or that its trees do not fit one.
#[derive(Debug, Default)]
pub(in super::super) struct Cached(OnceLock<Option<Abreast>>);

impl Cached {
    /// The plan, made now if it was not before.
    pub(in super::super) fn get_or_make(
        &self,
        make: impl FnOnce() -> Option<Abreast>,
    ) -> Option<&Abreast> {
        self.0.get_or_init(make).as_ref()
    }
}

impl Clone for Cached {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Cached {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
