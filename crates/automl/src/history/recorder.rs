//! A reader of the events of a search that keeps what a report needs.

use std::collections::BTreeMap;

use pitchpipe_learn::Pipeline;
use pitchpipe_table::Dataset;

use super::{
    Curves, DataProfile, EnsemblePoint, History, Landscape, LevelBegun, Origin, Trial,
    TrialOutcome, rounded,
};
use crate::model::Model;
use crate::online::{Event, Happened};

/// Decimals that are kept of errors and of seconds.
const ERROR_DECIMALS: i32 = 6;
const SECS_DECIMALS: i32 = 4;

/// What has been heard so far.
#[derive(Default)]
pub(crate) struct Recorder {
    history: History,
    /// When what runs now was begun.
    started: BTreeMap<String, f64>,
    n_rows: usize,
}

impl Recorder {
    /// Takes in an event.
    pub(crate) fn note(&mut self, event: &Event) {
        let at = rounded(event.elapsed_secs, SECS_DECIMALS);
        match &event.what {
            Happened::Level { n_rows, .. } => {
                self.n_rows = *n_rows;
                self.history.levels.push(LevelBegun { elapsed_secs: at, n_rows: *n_rows });
            }
            Happened::Started { pipelines } => {
                self.started = pipelines.iter().map(|p| (p.to_string(), at)).collect();
            }
            Happened::Finished {
                pipeline, error, balanced_error, predicted_error, secs, ..
            } => {
                let mut trial = self.ended(pipeline, TrialOutcome::Finished, at);
                trial.error = Some(rounded(*error, ERROR_DECIMALS));
                trial.balanced_error = balanced_error.map(|e| rounded(e, ERROR_DECIMALS));
                trial.predicted_error = predicted_error.map(|e| rounded(e, ERROR_DECIMALS));
                trial.secs = Some(rounded(*secs, SECS_DECIMALS));
                self.history.trials.push(trial);
            }
            Happened::Failed { pipeline, reason } => {
                let mut trial = self.ended(pipeline, TrialOutcome::Failed, at);
                trial.reason = Some(reason.clone());
                self.history.trials.push(trial);
            }
            Happened::OutOfTime { pipeline, after_secs } => {
                let mut trial = self.ended(pipeline, TrialOutcome::OutOfTime, at);
                trial.secs = Some(rounded(*after_secs, SECS_DECIMALS));
                self.history.trials.push(trial);
            }
            Happened::EnsembleChanged { error, base_learners } => {
                self.history.ensemble.push(EnsemblePoint {
                    elapsed_secs: at,
                    error: rounded(*error, ERROR_DECIMALS),
                    n_base_learners: base_learners.len(),
                });
            }
            Happened::Confirming { .. } => self.history.confirming_secs.push(at),
            _ => {}
        }
    }

    fn ended(&self, pipeline: &Pipeline, outcome: TrialOutcome, at: f64) -> Trial {
        Trial {
            pipeline: pipeline.clone(),
            outcome,
            error: None,
            balanced_error: None,
            predicted_error: None,
            secs: None,
            n_rows: self.n_rows,
            started_secs: self.started.get(&pipeline.to_string()).copied().unwrap_or(at),
            ended_secs: at,
            reason: None,
        }
    }

    /// The history of a search that made this model, and what was predicted before it.
    pub(crate) fn finish(
        self,
        dataset: &Dataset,
        landscape: Option<Landscape>,
        model: &Model,
    ) -> History {
        History {
            landscape,
            curves: model
                .out_of_fold
                .as_ref()
                .map(|predicted| Curves::of(predicted, model.decision, &model.priors)),
            data: DataProfile::of(dataset),
            origin: Origin {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                command: None,
                fingerprint: format!("{:016x}", dataset.content_hash()),
            },
            ..self.history
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pipeline_that_ended_is_kept_with_what_became_of_it() {
        let space = pitchpipe_learn::SearchSpace::paper();
        let (one, other) = (space.pipeline(0.into()), space.pipeline(1.into()));
        let mut recorder = Recorder::default();
        let mut tell = |elapsed_secs, what| recorder.note(&Event { elapsed_secs, what });
        tell(0.0, Happened::Level { n_rows: 100, of: 200 });
        tell(1.0, Happened::Started { pipelines: vec![one.clone(), other.clone()] });
        tell(
            2.0,
            Happened::Finished {
                pipeline: one.clone(),
                error: 0.25,
                balanced_error: Some(0.3),
                predicted_error: Some(0.2),
                secs: 0.5,
                n_evaluated: 1,
                best_error: 0.25,
                ensemble_error: None,
            },
        );
        tell(3.0, Happened::Failed { pipeline: other, reason: "too few rows".to_owned() });
        tell(4.0, Happened::EnsembleChanged { error: 0.25, base_learners: Vec::new() });
        let History { trials, ensemble, .. } = recorder.history;
        assert_eq!(trials.len(), 2);
        assert_eq!(trials[0].pipeline, one);
        assert_eq!((trials[0].error, trials[0].predicted_error), (Some(0.25), Some(0.2)));
        assert_eq!((trials[0].started_secs, trials[0].ended_secs), (1.0, 2.0));
        assert_eq!(trials[0].n_rows, 100);
        assert_eq!(trials[1].outcome, TrialOutcome::Failed);
        assert_eq!(trials[1].reason.as_deref(), Some("too few rows"));
        assert_eq!(ensemble[0].error, 0.25);
    }
}
