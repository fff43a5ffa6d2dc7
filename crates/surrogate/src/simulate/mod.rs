//! Replaying a recorded tensor: any [policy](crate::policy) against recorded errors and runtimes, on a virtual clock.
//!
//! This is how policies are chosen: leave one dataset out, fit the prior without it, let the policy spend
//! a budget of recorded seconds, and see how far the best it found is from the best there was.

mod recording;
mod replay;

pub use recording::{Recording, Row};
pub use replay::{Trace, replay, replay_charging};
