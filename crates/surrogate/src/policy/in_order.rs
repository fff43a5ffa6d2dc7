//! Policies that never look at what they find: the controls.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::error::SurrogateError;
use crate::policy::{Next, Observation, Policy, Step};

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

    /// All pipelines in an order that depends on the seed alone.
    pub fn random(secs: Vec<Option<f64>>, seed: u64) -> Self {
        let mut order: Vec<usize> = (0..secs.len()).collect();
        order.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        Self::new(order, secs)
    }
}

impl Policy for InOrder {
    fn next(&mut self, left_secs: f64) -> Result<Next, SurrogateError> {
        while let Some(&pipeline) = self.order.get(self.at) {
            self.at += 1;
            if let Some(secs) = self.secs[pipeline].filter(|&t| t <= left_secs) {
                return Ok(Next::Run(Step::single(pipeline, secs)));
            }
        }
        Ok(Next::Done)
    }

    fn observe(&mut self, _: &Step, _: &[Observation]) -> Result<(), SurrogateError> {
        Ok(())
    }

    fn observe_unasked(&mut self, _: &[Observation]) -> Result<(), SurrogateError> {
        Ok(())
    }

    fn resized(&mut self, _: usize, secs: &[f64]) {
        for (old, &new) in self.secs.iter_mut().zip(secs) {
            *old = old.map(|_| new);
        }
    }
}
