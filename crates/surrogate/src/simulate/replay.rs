//! The virtual clock: workers run what the policy picks and report when the recorded time has passed.

use crate::error::SurrogateError;
use crate::policy::{Next, Observation, Policy, Step, patience_secs};
use crate::simulate::Row;

/// A record was made on one sample: its rows count as one whole.
const N_ROWS: usize = 1;

/// What a replay found: pipelines with their errors in the order they came to be known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    events: Vec<(f64, usize, f64)>,
    n_steps: usize,
}

impl Trace {
    /// What came to be known, in order: the second, the pipeline, its error.
    pub fn events(&self) -> &[(f64, usize, f64)] {
        &self.events
    }

    /// How many pipelines were seen.
    pub fn n_pipelines(&self) -> usize {
        self.events.len()
    }

    /// How many steps were run.
    pub fn n_steps(&self) -> usize {
        self.n_steps
    }

    /// The pipelines seen by `secs`, best first (the earlier at equal errors), with their errors.
    pub fn ranking(&self, secs: f64) -> Vec<(usize, f64)> {
        let mut seen: Vec<(usize, f64)> = self
            .events
            .iter()
            .take_while(|(at, _, _)| *at <= secs)
            .map(|&(_, pipeline, error)| (pipeline, error))
            .collect();
        seen.sort_by(|a, b| a.1.total_cmp(&b.1));
        seen
    }
}

/// Runs `policy` on a recorded dataset with `n_workers` workers until the budget is spent. A step that would
/// end after the budget is cut off there and reveals nothing; one that takes much longer than the policy expected is
/// given up as it is live ([`patience_secs`]), and reveals what had finished by then.
pub fn replay(
    policy: &mut dyn Policy,
    row: &Row<'_>,
    budget_secs: f64,
    n_workers: usize,
) -> Result<Trace, SurrogateError> {
    replay_charging(policy, row, budget_secs, n_workers, 0.0)
}

/// The same on a clock that charges every step at least so many seconds.
pub fn replay_charging(
    policy: &mut dyn Policy,
    row: &Row<'_>,
    budget_secs: f64,
    n_workers: usize,
    least_secs: f64,
) -> Result<Trace, SurrogateError> {
    let mut trace = Trace::default();
    let mut running: Vec<(f64, Step)> = Vec::new();
    let mut clock = 0.0;
    loop {
        while running.len() < n_workers.max(1) {
            let Next::Run(step) = policy.next(budget_secs - clock)? else { break };
            let allowed = patience_secs(step.cost_secs, budget_secs);
            let end = clock + step_secs(&step, row).min(allowed).max(least_secs);
            running.push((end, step));
            trace.n_steps += 1;
        }
        // The step that ends first; the one started first among equals.
        let Some(next) =
            (0..running.len()).reduce(|a, b| if running[b].0 < running[a].0 { b } else { a })
        else {
            return Ok(trace);
        };
        let (end, step) = running.remove(next);
        if end > budget_secs {
            return Ok(trace);
        }
        clock = end;
        let allowed = patience_secs(step.cost_secs, budget_secs);
        let observe = |&pipeline: &usize| {
            let is_in_time = |secs: &f64| secs * step.cost_factor <= allowed;
            let (error, secs) = (row.error(pipeline), row.secs(pipeline));
            let error = error.filter(|_| secs.as_ref().is_some_and(is_in_time));
            Observation { pipeline, error, secs: secs.map(|s| s.min(allowed)), n_rows: N_ROWS }
        };
        let observations: Vec<Observation> = step.members.iter().map(observe).collect();
        let errors = observations.iter().filter_map(|o| Some((clock, o.pipeline, o.error?)));
        trace.events.extend(errors);
        policy.observe(&step, &observations)?;
    }
}

/// What a step takes: its factor times its slowest member that has a record.
fn step_secs(step: &Step, row: &Row<'_>) -> f64 {
    let slowest = step.members.iter().filter_map(|&j| row.secs(j)).fold(0.0, f64::max);
    slowest * step.cost_factor
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::policy::InOrder;
    use crate::simulate::Recording;

    fn record() -> Recording {
        let errors = array![[0.4, 0.2, 0.3, 0.0, 0.1, 0.5]];
        let secs = array![[1.0, 2.0, 3.0, 0.0, 5.0, 1.0]];
        Recording::new(errors, secs, 3).unwrap()
    }

    fn in_order(row: &Row<'_>) -> InOrder {
        InOrder::new((0..6).collect(), row.all_secs())
    }

    #[test]
    fn the_clock_runs_on_recorded_seconds_and_nothing_ends_after_the_budget() {
        let recording = record();
        let row = recording.row(0);
        let trace = replay(&mut in_order(&row), &row, 7.0, 1).unwrap();
        // 1 + 2 + 3 seconds, then pipeline 4 does not fit, pipeline 5 does.
        assert_eq!(
            trace.events,
            [
                (1.0, 0, 0.4_f32 as f64),
                (3.0, 1, 0.2_f32 as f64),
                (6.0, 2, 0.3_f32 as f64),
                (7.0, 5, 0.5)
            ]
        );
        assert_eq!(trace.ranking(3.5)[0].0, 1);
        assert_eq!(trace.ranking(0.5), []);
        assert!((row.lowest_error() - 0.1).abs() < 1e-6);
    }

    #[test]
    fn a_step_that_takes_much_longer_than_expected_is_given_up() {
        let recording = record();
        let row = recording.row(0);
        // Pipeline 4 takes 5 s where .1 s are expected: it may take .75 s.
        let mut secs = row.all_secs();
        secs[4] = Some(0.1);
        let mut policy = InOrder::new(vec![4, 0], secs);
        let trace = replay(&mut policy, &row, 6.0, 1).unwrap();
        assert_eq!(trace.events, [(1.75, 0, 0.4_f32 as f64)]);
        assert_eq!(trace.n_steps(), 2);
    }

    #[test]
    fn a_clock_may_charge_a_floor() {
        let recording = record();
        let row = recording.row(0);
        let trace = replay_charging(&mut in_order(&row), &row, 7.0, 1, 2.5).unwrap();
        let ends: Vec<(f64, usize)> = trace.events.iter().map(|e| (e.0, e.1)).collect();
        assert_eq!(ends, [(2.5, 0), (5.0, 1)]);
    }

    #[test]
    fn two_workers_run_side_by_side() {
        let recording = record();
        let row = recording.row(0);
        let trace = replay(&mut in_order(&row), &row, 7.0, 2).unwrap();
        let ends: Vec<(f64, usize)> = trace.events.iter().map(|e| (e.0, e.1)).collect();
        // 0 ends at 1, 1 at 2; then 2 from 1 to 4 and 4 from 2 to 7, and 5 from 4 to 5.
        assert_eq!(ends, [(1.0, 0), (2.0, 1), (4.0, 2), (5.0, 5), (7.0, 4)]);
    }

    #[test]
    fn replicates_are_the_others_of_the_same_computation() {
        let recording = record();
        let row = recording.row(0);
        assert!((row.replicate_error(1) - 0.1).abs() < 1e-6); // pipeline 4
        assert!((row.replicate_error(0) - 0.4).abs() < 1e-6); // pipeline 3 was not recorded
        assert_eq!(row.error(3), None);
    }
}
