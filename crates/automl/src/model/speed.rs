//! How long a model takes to predict, base learner by base learner, measured now.

use std::time::Instant;

use pitchpipe_learn::{FitContext, FitError};
use pitchpipe_table::{Column, Frame};

use super::{ColumnKind, Model, PredictError};

/// Rows that are predicted at once to measure a rate, and how many times; the fastest counts.
const ROWS: usize = 512;
const TIMES: usize = 3;

/// Times that a single row is predicted; the median counts.
const SINGLE_ROWS: usize = 21;

/// Seconds that predictions take on this machine, on one thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Speed {
    /// For a row among many, by all models of each base learner.
    pub learner_secs: Vec<f64>,
    /// For a row among many, by the whole model. What base learners prepare alike is prepared once here.
    pub row_secs: f64,
    /// For one row alone, the model read and warm.
    pub single_row_secs: f64,
}

impl Model {
    /// Measures how long predictions take, on made rows: what the cells hold makes little difference.
    pub fn speed(&self) -> Result<Speed, PredictError> {
        let (frame, ctx) = (self.made_rows(ROWS), FitContext::unhurried());
        let one = frame.select(&[0]);
        let learner = |learner: &super::BaseLearner| {
            let predict = || -> Result<(), FitError> {
                learner.models.iter().try_for_each(|model| model.predict(&frame, &ctx).map(drop))
            };
            fastest(TIMES, predict).map(|secs| secs / ROWS as f64)
        };
        let learner_secs = self.learners.iter().map(learner).collect::<Result<_, FitError>>()?;
        let row_secs = fastest(TIMES, || self.predict(&frame).map(drop))? / ROWS as f64;
        let mut singles = (0..SINGLE_ROWS)
            .map(|_| fastest(1, || self.predict(&one).map(drop)))
            .collect::<Result<Vec<f64>, PredictError>>()?;
        singles.sort_by(f64::total_cmp);
        Ok(Speed { learner_secs, row_secs, single_row_secs: singles[SINGLE_ROWS / 2] })
    }

    /// Rows of the kind of table that it was made from: numbers between -2 and 2, and all levels in turn.
    fn made_rows(&self, n_rows: usize) -> Frame {
        let column = |(j, kind): (usize, &ColumnKind)| match *kind {
            ColumnKind::Numeric => {
                let cell = |i: usize| ((i * 7919 + j * 104_729) % 4001) as f64 / 1000.0 - 2.0;
                Column::numeric((0..n_rows).map(cell).collect::<Vec<f64>>())
            }
            ColumnKind::Categorical { n_levels } => {
                let code = |i: usize| (i * 31 + j) as u32 % n_levels.max(1);
                Column::categorical((0..n_rows).map(code).collect::<Vec<u32>>(), n_levels)
            }
        };
        Frame::new(self.columns.iter().enumerate().map(column).collect(), n_rows)
    }
}

/// Seconds on the clock of the fastest of some runs.
fn fastest<E>(times: usize, mut work: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let mut least = f64::INFINITY;
    for _ in 0..times {
        let begun = Instant::now();
        work()?;
        least = least.min(begun.elapsed().as_secs_f64());
    }
    Ok(least)
}
