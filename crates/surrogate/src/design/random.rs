//! The control of every comparison of designs: pipelines at random.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::design::{Design, check_limit, check_positive};
use crate::error::SurrogateError;

/// Pipelines in random order, until the next one does not fit; with `fill`, those that do not fit are passed
/// over instead, which favours fast ones at the end.
pub fn random_by_time(
    secs: &[f64],
    limit_secs: f64,
    fill: bool,
    seed: u64,
) -> Result<Design, SurrogateError> {
    check_positive("predicted runtimes", secs)?;
    check_limit(limit_secs)?;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..secs.len()).collect();
    let mut design = Design::default();
    // Fisher-Yates, one draw at a time: only as much of the order as is used gets made.
    for i in 0..order.len() {
        order.swap(i, rng.random_range(i..secs.len()));
        let j = order[i];
        if design.secs + secs[j] > limit_secs {
            if fill {
                continue;
            }
            break;
        }
        design.secs += secs[j];
        design.pipelines.push(j);
    }
    Ok(design)
}
