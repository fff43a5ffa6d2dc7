//! Policies that never look at what they find: the controls.

use crate::error::SurrogateError;
use crate::simulate::{Policy, Step};

/// Runs pipelines one by one in an order fixed beforehand, skipping those that no longer fit.
pub struct InOrder {
    order: Vec<usize>,
    secs: Vec<Option<f64>>,
    at: usize,
}

impl InOrder {
    /// `order` of pipelines, whose predicted seconds are `secs`, `None` where one cannot be run.
    pub fn new(order: Vec<usize>, secs: Vec<Option<f64>>) -> Self {
        Self { order, secs, at: 0 }
    }
}

impl Policy for InOrder {
    fn next(&mut self, left_secs: f64) -> Result<Option<Step>, SurrogateError> {
        while let Some(&pipeline) = self.order.get(self.at) {
            self.at += 1;
            if self.secs[pipeline].is_some_and(|t| t <= left_secs) {
                return Ok(Some(Step::single(pipeline)));
            }
        }
        Ok(None)
    }

    fn finished(
        &mut self,
        _: &Step,
        _: &[(usize, f64)],
        _: &[(usize, f64)],
    ) -> Result<(), SurrogateError> {
        Ok(())
    }
}
