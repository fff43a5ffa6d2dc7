//! Replaying a recorded tensor: any policy against recorded errors and runtimes, on a virtual clock.
//!
//! This is how policies are chosen: leave one dataset out, fit the prior without it, let the policy spend
//! a budget of recorded seconds, and see how far the best it found is from the best there was.

mod orders;
mod paper;
mod recording;
mod replay;
mod searching;

pub use orders::InOrder;
pub use paper::{PaperLoop, Predictor, Rounds};
pub use recording::{Recording, Row};
pub use replay::{Policy, Step, Trace, replay};
pub use searching::{Rethink, Searching};
