//! Predictions of a whole model.

use pitchpipe_learn::{FitContext, FitError, FittedPipeline, Prediction, Probabilities};
use pitchpipe_table::{CancelCheck, Decision, Frame, Labels, Note, RawTable, ReadOptions, Source};
use rayon::prelude::*;

use super::shared::{Prepared, Sharing};
use super::{BaseLearner, Model, PredictError, kinds_of};
use crate::ensemble::{Combination, vote_shares};

/// Rows are predicted so many at a time, side by side: what is prepared of them stays in a core's cache.
const ROWS_AT_ONCE: usize = 1 << 11;

/// What a model says about some rows, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Predictions {
    /// The class of each row, decided for the metric that the model was made for.
    pub labels: Labels,
    /// Class probabilities: rows sum to one.
    pub probabilities: Probabilities,
}

/// What a model says about a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TablePredictions {
    /// What it says.
    pub predictions: Predictions,
    /// The class of each row where the table has the target; `None` where it is missing or unknown.
    pub truth: Option<Vec<Option<u32>>>,
    /// What did not match but did not stand in the way.
    pub notes: Vec<Note>,
}

impl Model {
    /// Predicts all rows of a frame.
    pub fn predict(&self, frame: &Frame) -> Result<Predictions, PredictError> {
        self.predict_within(frame, &FitContext::unhurried())
    }

    /// Predicts while a deadline or a cancel flag is watched.
    pub fn predict_within(
        &self,
        frame: &Frame,
        ctx: &FitContext,
    ) -> Result<Predictions, PredictError> {
        self.check_columns(frame)?;
        let rows: Vec<usize> = (0..frame.n_rows()).collect();
        let sharing = Sharing::of(&self.learners);
        let blocks: Vec<Vec<f64>> = rows
            .par_chunks(ROWS_AT_ONCE)
            .map(|rows| self.block(&mut sharing.prepared(frame, rows), ctx))
            .collect::<Result<_, FitError>>()?;
        let values = blocks.concat();
        let probabilities = Probabilities::from_rows(self.n_classes, values);
        let labels = self.decide(self.decision, &probabilities);
        Ok(Predictions { labels, probabilities })
    }

    /// The classes that a rule decides on, given probabilities that this model gave. Its own rule is
    /// [`Model::decision`]; [`Decision::Native`] and [`Decision::Accuracy`] choose the most probable class.
    pub fn decide(&self, decision: Decision, probabilities: &Probabilities) -> Labels {
        decision.decide(&probabilities.argmax(), probabilities.values(), &self.priors)
    }

    /// Reads a later table by the rules that the training table was read by, unless `options` say otherwise: which
    /// cells stand for missing values, whether there is a header, which columns hold codes rather than numbers.
    pub fn read_table(
        &self,
        source: &Source,
        options: ReadOptions,
        cancel: &CancelCheck,
    ) -> Result<RawTable, PredictError> {
        let schema = self.schema.as_ref().ok_or(PredictError::NoSchema)?;
        Ok(schema.read(source, options, cancel)?)
    }

    /// Matches a table to the schema by name and predicts its rows.
    pub fn predict_table(&self, table: RawTable) -> Result<TablePredictions, PredictError> {
        let schema = self.schema.as_ref().ok_or(PredictError::NoSchema)?;
        let applied = schema.apply(table)?;
        let predictions = self.predict(&applied.frame)?;
        Ok(TablePredictions { predictions, truth: applied.truth, notes: applied.notes })
    }

    fn check_columns(&self, frame: &Frame) -> Result<(), PredictError> {
        let (wanted, got) = (&self.columns, kinds_of(frame));
        let differs = |at: &usize| wanted.get(*at) != got.get(*at);
        match (0..wanted.len().max(got.len())).find(differs) {
            Some(at) => Err(PredictError::OtherColumns { wanted: wanted.len(), at }),
            None => Ok(()),
        }
    }

    fn block(&self, rows: &mut Prepared<'_>, ctx: &FitContext) -> Result<Vec<f64>, FitError> {
        match self.combination {
            Combination::Average => self.averaged(rows, ctx),
            Combination::Vote => self.voted(rows, ctx),
        }
    }

    fn averaged(&self, rows: &mut Prepared<'_>, ctx: &FitContext) -> Result<Vec<f64>, FitError> {
        let mut sums = vec![0.0; rows.len() * self.n_classes];
        for (at, learner) in self.learners.iter().enumerate() {
            let weight = learner.weight / learner.models.len() as f64;
            learner.each(at, rows, ctx, |prediction| {
                let probabilities = prediction.probabilities.values();
                sums.iter_mut().zip(probabilities).for_each(|(s, p)| *s += weight * p);
            })?;
        }
        for row in sums.chunks_exact_mut(self.n_classes) {
            let total: f64 = row.iter().sum();
            row.iter_mut().for_each(|p| *p /= total);
        }
        Ok(sums)
    }

    /// Shares of the votes.
    fn voted(&self, rows: &mut Prepared<'_>, ctx: &FitContext) -> Result<Vec<f64>, FitError> {
        let learners = self.learners.iter().enumerate();
        let votes: Vec<Vec<u32>> = learners
            .map(|(at, learner)| learner.labels(at, rows, self.n_classes, ctx))
            .collect::<Result<_, _>>()?;
        let mut shares = vec![0.0; rows.len() * self.n_classes];
        for (i, row) in shares.chunks_exact_mut(self.n_classes).enumerate() {
            let cast: Vec<u32> = votes.iter().map(|v| v[i]).collect();
            vote_shares(&cast, row);
        }
        Ok(shares)
    }
}

impl BaseLearner {
    /// What each of its fold models says, one after the other; it is the learner at this position.
    fn each(
        &self,
        at: usize,
        rows: &mut Prepared<'_>,
        ctx: &FitContext,
        mut take: impl FnMut(Prediction),
    ) -> Result<(), FitError> {
        for (fold, model) in self.models.iter().enumerate() {
            let x = rows.of(at, fold, model, ctx)?;
            take(model.predict_prepared(&x, ctx)?);
        }
        Ok(())
    }

    fn labels(
        &self,
        at: usize,
        rows: &mut Prepared<'_>,
        n_classes: usize,
        ctx: &FitContext,
    ) -> Result<Vec<u32>, FitError> {
        let mut ballots = Ballots::new(rows.len(), n_classes, self.models.len());
        self.each(at, rows, ctx, |prediction| ballots.cast(&prediction))?;
        Ok(ballots.winners())
    }
}

/// What most of a learner's fold models decide on natively; the most probable class in a draw.
pub(crate) fn native_labels(
    models: &[FittedPipeline],
    frame: &Frame,
    rows: &[usize],
    n_classes: usize,
    ctx: &FitContext,
) -> Result<Vec<u32>, FitError> {
    let mut ballots = Ballots::new(rows.len(), n_classes, models.len());
    for model in models {
        ballots.cast(&model.predict_rows(frame, rows, ctx)?);
    }
    Ok(ballots.winners())
}

/// The votes of fold models on each row. A vote outweighs any probability, and between equal votes probabilities decide.
struct Ballots {
    n_classes: usize,
    /// What a probability of one counts.
    small: f64,
    sums: Vec<f64>,
}

impl Ballots {
    fn new(n_rows: usize, n_classes: usize, n_models: usize) -> Self {
        Self { n_classes, small: 0.5 / n_models as f64, sums: vec![0.0; n_rows * n_classes] }
    }

    fn cast(&mut self, prediction: &Prediction) {
        let probabilities = prediction.probabilities.values();
        self.sums.iter_mut().zip(probabilities).for_each(|(s, p)| *s += self.small * p);
        for (row, &label) in prediction.labels.codes().iter().enumerate() {
            self.sums[row * self.n_classes + label as usize] += 1.0;
        }
    }

    fn winners(self) -> Vec<u32> {
        Probabilities::from_rows(self.n_classes, self.sums).argmax().codes().to_vec()
    }
}
