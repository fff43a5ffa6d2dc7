//! The end of a search whose model is to predict fast: how long each base learner takes is measured, and what takes long without
//! making the ensemble better is left out.

use std::time::{Duration, Instant};

use pitchpipe_learn::FitContext;
use pitchpipe_table::Frame;

use super::combine::Combiner;
use super::library::Learner;
use super::search::Fit;

/// The share of the budget that is kept for it.
pub(super) const SHARE: f64 = 0.03;

/// Rows that are predicted to measure a base learner: as many as are predicted together, but few beside a table.
const ROWS: usize = 256;

/// One base learner may take this share of the time for measuring; one that takes longer is known to be slow.
const SHARE_OF_ONE: f64 = 0.25;

/// Leaves out base learners; says what came of it.
pub(super) fn leave_out(fit: &Fit<'_>, combiner: &mut Combiner) -> String {
    let time = fit.automl.budget.mul_f64(SHARE / (1.0 - SHARE) / 2.0);
    let stopwatch =
        Stopwatch { frame: &sample(fit.dataset.frame()), end: Instant::now() + time, time };
    let n_before = combiner.selection.weights.len();
    let Some(thinned) = combiner.leave_out_slow(|learner| stopwatch.secs(learner)) else {
        return "a vote of a few is not made faster: all of its base learners stay".to_owned();
    };
    let n_left_out = n_before - combiner.selection.weights.len();
    if n_left_out == 0 {
        return format!(
            "fast prediction: all {n_before} base learners stay, each slow one is of use; a row takes {}",
            micros(thinned.secs)
        );
    }
    format!(
        "fast prediction: {n_left_out} of {n_before} base learners left out; a row takes {} of work instead of {}, and the loss that \
         ensembles are chosen by grew by {:.5} ± {:.5}; the scores are of ensembles before that",
        micros(thinned.secs),
        micros(thinned.secs_before),
        thinned.lost,
        thinned.noise,
    )
}

fn micros(secs: f64) -> String {
    format!("{:.1} µs", 1e6 * secs)
}

/// Rows from all over a frame.
fn sample(frame: &Frame) -> Frame {
    let n = frame.n_rows().min(ROWS);
    let rows: Vec<usize> = (0..n).map(|i| i * frame.n_rows() / n).collect();
    frame.select(&rows)
}

/// Measures base learners.
struct Stopwatch<'a> {
    frame: &'a Frame,
    end: Instant,
    time: Duration,
}

impl Stopwatch<'_> {
    /// The seconds that all models of a learner take for a row; where there is no time to find out, nothing.
    fn secs(&self, learner: &Learner) -> Option<f64> {
        let begun = Instant::now();
        let deadline = self.end.min(begun + self.time.mul_f64(SHARE_OF_ONE));
        let model = learner.models.first()?;
        let ctx = FitContext::unhurried().with_deadline(Some(deadline));
        let mut least: Option<Duration> = None;
        // What is laid out at the first time is there at the second.
        for _ in 0..2 {
            let begun = Instant::now();
            if begun >= deadline {
                break;
            }
            // One that was cut short took at least as long.
            let is_done = model.predict(self.frame, &ctx).is_ok();
            let took = begun.elapsed();
            least = Some(least.map_or(took, |least| least.min(took)));
            if !is_done {
                break;
            }
        }
        let n_rows = self.frame.n_rows().max(1) as f64;
        least.map(|took| took.as_secs_f64() * learner.models.len() as f64 / n_rows)
    }
}
