//! The loop on a scripted clock: every pipeline has an error and a runtime, and nothing waits.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ndarray::Array2;
use pitchpipe_learn::{
    Effort, Evaluation, FitError, LabelScores, Outcome, PipelineId, Prediction, Probabilities,
    SearchSpace, Supply, Work,
};
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::policy::{Next, Observation, PaperLoop, Policy, Rounds, Step};
use pitchpipe_table::{Dependence, Labels, Metric, balanced_error_rate};

use super::StopReason;
use super::budget::Budget;
use super::clock::Clock;
use super::combine::Combiner;
use super::drafts::Drafts;
use super::drive::{Bench, Drive, Settings};
use super::evaluate::Evaluator;
use super::event::{Event, Happened, Listener};
use super::levels::to_rerun;
use super::library::{Judging, Rule};
use super::memory::MemoryWatch;
use super::pacing::Pacing;
use crate::ensemble::Combination;

const N_ROWS: usize = 60;
const N_PIPELINES: usize = 120;
const TIMED: Pacing = Pacing::Timed { threads: 1 };
const ALL_ROWS: Judging<'static> = Judging::OutOfFold { tested: None, rows: None };

/// A clock that moves when pipelines run, and at no other time.
#[derive(Default)]
struct ScriptedClock(AtomicU64);

impl ScriptedClock {
    fn advance(&self, secs: f64) {
        self.0.fetch_add((secs * 1e6) as u64, Ordering::Relaxed);
    }
}

impl Clock for ScriptedClock {
    fn elapsed(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Relaxed))
    }

    fn instant(&self, _: Duration) -> Option<Instant> {
        None
    }
}

/// Pipelines that give what the script says.
struct Script {
    clock: Arc<ScriptedClock>,
    /// How many of the rows a pipeline gets wrong, and how long it takes.
    n_wrong: fn(usize) -> usize,
    secs: fn(usize) -> f64,
    ran: Vec<usize>,
    /// How many steps are open at once; the youngest ends first.
    at_once: usize,
}

impl Script {
    fn evaluation(&self, pipeline: usize) -> Evaluation {
        let truth = truth();
        let wrong = (self.n_wrong)(pipeline);
        let is_wrong = |row: usize| (row * 7 + pipeline * 3) % N_ROWS < wrong;
        let codes = truth.codes().iter().enumerate();
        let labels: Vec<u32> =
            codes.map(|(row, &c)| if is_wrong(row) { 1 - c } else { c }).collect();
        let sure = 0.9 - pipeline as f64 * 1e-4;
        let rows = labels
            .iter()
            .flat_map(|&l| if l == 0 { [sure, 1.0 - sure] } else { [1.0 - sure, sure] });
        let probabilities = Probabilities::from_rows(2, rows.collect());
        let labels = Labels::from_codes(labels, 2);
        let error = balanced_error_rate(&truth, &labels);
        let scores = LabelScores {
            accuracy: 1.0 - error,
            balanced_accuracy: 1.0 - error,
            macro_f1: 1.0 - error,
        };
        Evaluation {
            error,
            fold_errors: vec![error],
            decided_error: error,
            native: scores,
            decided: scores,
            log_loss: error,
            roc_auc: Some(1.0 - error),
            out_of_fold: Some(Arc::new(Prediction { probabilities, labels })),
            models: Vec::new(),
            alone_secs: (self.secs)(pipeline),
            marginal_secs: (self.secs)(pipeline),
        }
    }
}

impl Evaluator for Script {
    fn evaluate(
        &mut self,
        pipelines: &[PipelineId],
        _: Option<Instant>,
        each: &mut (dyn FnMut(PipelineId, Outcome) + Send),
    ) -> Result<Effort, FitError> {
        let mut total = 0.0;
        for id in pipelines {
            let secs = (self.secs)(id.index());
            self.clock.advance(secs);
            total += secs;
            self.ran.push(id.index());
            each(*id, Outcome::Finished(Box::new(self.evaluation(id.index()))));
        }
        Ok(Effort { estimator_secs: vec![("scripted", total)], ..Effort::default() })
    }

    fn keep_busy(&mut self, work: &dyn Work) -> Result<(), FitError> {
        let at_once = self.at_once;
        keep_busy(self, at_once, work)
    }
}

/// Keeps so many orders open; the youngest ends first.
fn keep_busy(
    evaluator: &mut dyn Evaluator,
    at_once: usize,
    work: &dyn Work,
) -> Result<(), FitError> {
    let space = SearchSpace::paper();
    let (mut open, mut is_over) = (Vec::new(), false);
    loop {
        while open.len() < at_once && !is_over {
            match work.next() {
                Supply::Order(order) => open.push(order),
                Supply::Later => {
                    assert!(!open.is_empty(), "there is something to wait for");
                    break;
                }
                Supply::Over => is_over = true,
            }
        }
        let Some(order) = open.pop() else { return Ok(()) };
        let ids: Vec<PipelineId> =
            order.pipelines.iter().filter_map(|pipeline| space.find(pipeline)).collect();
        let effort = evaluator.evaluate(&ids, order.deadline, &mut |id, outcome| {
            let position = ids.iter().position(|&other| other == id).expect("it was asked for");
            work.tell(order.id, position, outcome);
        })?;
        work.ended(order.id, effort);
    }
}

fn truth() -> Labels {
    Labels::from_codes((0..N_ROWS as u32).map(|i| i % 2), 2)
}

fn settings() -> Settings {
    Settings {
        space: SearchSpace::paper(),
        feeds_native: true,
        max_evaluations: None,
        forest: None,
        cancel: Arc::default(),
        heeds_ensemble: true,
    }
}

/// A loop on a scripted clock.
fn drive(
    clock: &ScriptedClock,
    settings: Settings,
    combination: Combination,
    budget_secs: f64,
    pacing: Pacing,
) -> Drive<'_> {
    let budget = Budget::new(clock, Duration::from_secs_f64(budget_secs), pacing, 1.0);
    let memory = MemoryWatch::new(u64::MAX, false);
    Drive::new(settings, budget, memory, combiner(combination), Drafts::default(), None)
}

fn combiner(combination: Combination) -> Combiner {
    let metric = Metric::BalancedError;
    let decision = combination.decision(metric);
    let rule = Rule { truth: truth(), priors: vec![0.5; 2], metric, decision };
    Combiner::new(rule, Dependence::Independent, combination, 0, 1 << 30, 1 << 30)
}

#[test]
fn memory_that_is_short_before_the_first_learner_leaves_no_ensemble_of_none() {
    let mut combiner = combiner(Combination::Average);
    combiner.shrink();
    combiner.update(None);
    assert_eq!(combiner.error(), None);
}

/// The paper's loop, and what it was told and decided.
struct Watched {
    policy: PaperLoop,
    told: f64,
    /// At each change of the time target: the target, the rank, the ensemble's error by then.
    rounds: Vec<(f64, usize, f64)>,
}

impl Policy for Watched {
    fn next(&mut self, left_secs: f64) -> Result<Next, SurrogateError> {
        let step = self.policy.next(left_secs);
        let target = self.policy.target_secs();
        if self.rounds.last().is_none_or(|round| round.0 != target) {
            self.rounds.push((target, self.policy.rank(), self.told));
        }
        step
    }

    fn observe(&mut self, step: &Step, observations: &[Observation]) -> Result<(), SurrogateError> {
        self.policy.observe(step, observations)
    }

    fn observe_unasked(&mut self, observations: &[Observation]) -> Result<(), SurrogateError> {
        self.policy.observe_unasked(observations)
    }

    fn resized(&mut self, n_rows: usize, secs: &[f64]) {
        self.policy.resized(n_rows, secs);
    }

    fn ensembled(&mut self, error: f64) {
        self.told = error;
        self.policy.ensembled(error);
    }
}

/// Runs the paper's loop over scripted pipelines; gives what it did and the clock's last word.
fn paper(
    n_wrong: fn(usize) -> usize,
    secs: fn(usize) -> f64,
    budget_secs: f64,
    baseline: usize,
) -> (Watched, Vec<usize>, Vec<usize>, Duration, StopReason) {
    paper_at_once(1, n_wrong, secs, budget_secs, baseline)
}

/// The same with so many steps open at once.
fn paper_at_once(
    at_once: usize,
    n_wrong: fn(usize) -> usize,
    secs: fn(usize) -> f64,
    budget_secs: f64,
    baseline: usize,
) -> (Watched, Vec<usize>, Vec<usize>, Duration, StopReason) {
    let clock = Arc::new(ScriptedClock::default());
    let y = Array2::from_shape_fn((12, N_PIPELINES), |(i, j)| {
        ((i + 1) as f32 * (j + 1) as f32 * 0.37).sin() + if i == 0 { 2.0 } else { 0.0 }
    });
    let predicted: Vec<Option<f64>> = (0..N_PIPELINES).map(|j| Some(secs(j))).collect();
    let policy =
        PaperLoop::new(y.view(), 3, &predicted, budget_secs, Rounds::Doubling, Some(baseline))
            .expect("a policy");
    let mut policy = Watched { policy, told: f64::INFINITY, rounds: Vec::new() };
    let mut script = Script { clock: Arc::clone(&clock), n_wrong, secs, ran: Vec::new(), at_once };
    let vote = Combination::Vote;
    let mut drive = drive(&clock, settings(), vote, budget_secs, TIMED);
    drive.begin_level(N_ROWS, (0..N_PIPELINES).map(secs).collect(), combiner(vote));
    let until = Duration::from_secs_f64(budget_secs);
    let stop = drive
        .run(&mut policy, &mut bench(&mut script), until, &mut Listener::deaf(&*clock))
        .expect("a search")
        .expect("one level");
    drive.ensemble(&mut Listener::deaf(&*clock));
    let members = drive.combiner.selection.weights.iter().map(|w| w.0).collect();
    (policy, script.ran, members, clock.elapsed(), stop)
}

fn bench(script: &mut Script) -> Bench<'_> {
    Bench { evaluator: script, judging: &ALL_ROWS }
}

fn hashed(j: usize) -> usize {
    (j * 2_654_435_761) >> 7 & 0xffff
}

#[test]
fn the_pipeline_that_is_best_on_average_runs_first() {
    let (_, ran, ..) = paper(|j| hashed(j) % 30, |_| 0.2, 20.0, 17);
    assert_eq!(ran[0], 17);
    let mut distinct = ran.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), ran.len(), "no pipeline is run twice");
}

#[test]
fn steps_end_in_any_order_and_none_is_chosen_twice() {
    for at_once in [2, 5] {
        let (_, ran, members, elapsed, stop) =
            paper_at_once(at_once, |j| 3 + hashed(j) % 27, |j| 0.1 + (j % 5) as f64 * 0.1, 15.0, 0);
        let distinct: BTreeSet<usize> = ran.iter().copied().collect();
        assert_eq!(distinct.len(), ran.len(), "no pipeline is run twice");
        assert_eq!(members.len(), 5);
        // On this clock steps run one after the other, so that those open at the end come on top.
        assert!(elapsed <= Duration::from_secs_f64(15.0 + 0.5 * at_once as f64), "{elapsed:?}");
        let is_used = elapsed > Duration::from_secs(10) || stop == StopReason::NothingLeft;
        assert!(is_used, "{elapsed:?} {stop:?}");
    }
}

#[test]
fn a_slow_one_does_not_run_first_however_good_on_average() {
    let (_, ran, ..) = paper(|j| hashed(j) % 30, |j| if j == 17 { 2.6 } else { 0.2 }, 20.0, 17);
    assert_ne!(ran[0], 17, "an eighth of the budget is 2.5 s");
}

#[test]
fn the_time_target_doubles_and_the_rank_grows_where_the_ensemble_improved() {
    for budget in [12.0, 30.0] {
        let (policy, ..) =
            paper(|j| 6 + hashed(j) % 24, |j| 0.05 + (hashed(j) % 7) as f64 * 0.05, budget, 0);
        let rounds = &policy.rounds;
        assert!(rounds.len() >= 3, "{rounds:?}");
        let mut before = f64::INFINITY;
        for pair in rounds.windows(2) {
            let ((target, rank, _), (next_target, next_rank, error)) = (pair[0], pair[1]);
            assert!(next_target <= 2.0 * target, "{rounds:?}");
            let grew = usize::from(error < before);
            assert_eq!(next_rank, rank + grew, "{rounds:?}");
            before = error;
        }
        // Once the time left is less than the next target, the rounds take what is left.
        let doubled = rounds.windows(2).take_while(|pair| pair[1].0 == 2.0 * pair[0].0).count();
        assert!(doubled >= 2, "{rounds:?}");
        assert!(rounds[doubled..].windows(2).all(|pair| pair[1].0 < 2.0 * pair[0].0), "{rounds:?}");
    }
}

#[test]
fn the_rank_stays_where_the_ensemble_does_not_improve() {
    // All pipelines are alike, so that no later ensemble beats the first.
    let (policy, ..) = paper(|_| 10, |_| 0.1, 16.0, 0);
    let ranks: Vec<usize> = policy.rounds.iter().map(|r| r.1).collect();
    assert!(ranks.len() >= 3);
    assert!(ranks.iter().all(|&r| r <= ranks[0] + 1), "{ranks:?}");
}

#[test]
fn five_vote_and_nothing_runs_past_the_budget() {
    let (_, ran, members, elapsed, stop) =
        paper(|j| 3 + hashed(j) % 27, |j| 0.1 + (j % 5) as f64 * 0.1, 15.0, 0);
    assert!(elapsed <= Duration::from_secs(15), "{elapsed:?}");
    assert!(elapsed > Duration::from_secs(10) || stop == StopReason::NothingLeft, "{elapsed:?}");
    let mut best: Vec<usize> = ran;
    let clock = Arc::new(ScriptedClock::default());
    let script = Script {
        clock,
        n_wrong: |j| 3 + hashed(j) % 27,
        secs: |_| 0.1,
        ran: Vec::new(),
        at_once: 1,
    };
    best.sort_by(|&a, &b| {
        script.evaluation(a).error.total_cmp(&script.evaluation(b).error).then(a.cmp(&b))
    });
    assert_eq!(members, best[..5]);
}

/// Hands out fixed steps, and keeps what it was told.
#[derive(Default)]
struct Fixed {
    order: Vec<usize>,
    unasked: Vec<Observation>,
}

impl Fixed {
    fn new(order: impl IntoIterator<Item = usize>) -> Self {
        Self { order: order.into_iter().collect(), ..Self::default() }
    }
}

impl Policy for Fixed {
    fn next(&mut self, _: f64) -> Result<Next, SurrogateError> {
        if self.order.is_empty() {
            return Ok(Next::Done);
        }
        Ok(Next::Run(Step::single(self.order.remove(0), 1.0)))
    }

    fn observe(&mut self, _: &Step, _: &[Observation]) -> Result<(), SurrogateError> {
        Ok(())
    }

    fn observe_unasked(&mut self, observations: &[Observation]) -> Result<(), SurrogateError> {
        self.unasked.extend(observations);
        Ok(())
    }

    fn resized(&mut self, _: usize, _: &[f64]) {}
}

/// Every third pipeline breaks off, and the predictions of every other third break those who score them.
struct Faulty(Script);

impl Evaluator for Faulty {
    fn evaluate(
        &mut self,
        pipelines: &[PipelineId],
        deadline: Option<Instant>,
        each: &mut (dyn FnMut(PipelineId, Outcome) + Send),
    ) -> Result<Effort, FitError> {
        self.0.evaluate(pipelines, deadline, &mut |id, outcome| match (id.index() % 3, outcome) {
            (0, _) => {
                let fault = FitError::Internal { component: "knn", message: "no row".to_owned() };
                each(id, Outcome::Failed(fault));
            }
            (1, Outcome::Finished(mut evaluation)) => {
                let of_fewer = Prediction {
                    probabilities: Probabilities::from_rows(2, vec![0.5; 8]),
                    labels: Labels::from_codes([0; 4], 2),
                };
                evaluation.out_of_fold = Some(Arc::new(of_fewer));
                each(id, Outcome::Finished(evaluation));
            }
            (_, outcome) => each(id, outcome),
        })
    }

    fn keep_busy(&mut self, work: &dyn Work) -> Result<(), FitError> {
        let at_once = self.0.at_once;
        keep_busy(self, at_once, work)
    }
}

#[test]
fn faults_are_counted_and_named_and_the_search_goes_on() {
    let clock = Arc::new(ScriptedClock::default());
    let average = Combination::Average;
    let mut drive = drive(&clock, settings(), average, 100.0, TIMED);
    let n_wrong = |j| 5 + j % 20;
    let secs = |_| 1.0;
    let script = Script { clock: Arc::clone(&clock), n_wrong, secs, ran: Vec::new(), at_once: 2 };
    let mut faulty = Faulty(script);
    let mut policy = Fixed::new(0..30);
    drive.begin_level(N_ROWS, vec![1.0; 23_424], combiner(average));
    let mut bench = Bench { evaluator: &mut faulty, judging: &ALL_ROWS };
    let until = Duration::from_secs_f64(100.0);
    let mut failures = Vec::new();
    let cancel = Arc::default();
    let mut hear = |event: Event| {
        if let Happened::Failed { reason, .. } = event.what {
            failures.push(reason);
        }
        ControlFlow::Continue(())
    };
    let mut listener = Listener::new(&*clock, &mut hear, cancel);
    let stop = drive.run(&mut policy, &mut bench, until, &mut listener).expect("a search");
    assert_eq!(stop, Some(StopReason::NothingLeft));
    let counts = &drive.ledger.counts;
    assert_eq!((counts.n_evaluated, counts.n_failed), (10, 20));
    assert!(matches!(counts.first_failure, Some(FitError::Internal { .. })));
    assert!(drive.combiner.error().is_some());
    let said = |words: &str| failures.iter().filter(|reason| reason.starts_with(words)).count();
    assert_eq!(said("knn broke off by a fault of its own: no row"), 10);
    assert_eq!(said("scoring broke off by a fault of its own: "), 10);
}

#[test]
fn the_best_are_run_again_when_there_are_more_rows() {
    let clock = Arc::new(ScriptedClock::default());
    let average = Combination::Average;
    let mut drive = drive(&clock, settings(), average, 100.0, TIMED);
    let mut script = Script {
        clock: Arc::clone(&clock),
        n_wrong: |j| 5 + j % 20,
        secs: |_| 1.0,
        ran: Vec::new(),
        at_once: 1,
    };
    let mut policy = Fixed::new((0..30).map(|i| i * 5));
    drive.begin_level(N_ROWS, vec![1.0; 23_424], combiner(average));
    let until = Duration::from_secs_f64(9.5);
    let ended = drive
        .run(&mut policy, &mut bench(&mut script), until, &mut Listener::deaf(&*clock))
        .expect("a level");
    assert_eq!(ended, None, "the level is over, the search is not");
    let first: Vec<usize> = script.ran.clone();
    let before = drive.begin_level(N_ROWS, vec![2.0; 23_424], combiner(average));
    let again: Vec<usize> = to_rerun(&SearchSpace::paper(), &before.library)
        .iter()
        .flatten()
        .map(|id| id.index())
        .collect();
    assert_eq!(again[0], before.library.learners()[0].id.index());
    let until = Duration::from_secs_f64(100.0);
    drive
        .run(&mut policy, &mut bench(&mut script), until, &mut Listener::deaf(&*clock))
        .expect("a level");
    assert_eq!(script.ran[first.len()..][..again.len()], again);
    let told: BTreeSet<usize> = policy.unasked.iter().map(|o| o.pipeline).collect();
    assert_eq!(told, again.into_iter().collect(), "the policy is told of them");
}

#[test]
fn the_clock_does_not_choose_in_a_repeatable_run() {
    let run = |secs: fn(usize) -> f64| {
        let clock = Arc::new(ScriptedClock::default());
        let y = Array2::from_shape_fn((6, N_PIPELINES), |(i, j)| {
            ((i + 1) as f32 * (j + 1) as f32 * 0.53).cos() + if i == 0 { 2.0 } else { 0.0 }
        });
        let predicted = vec![Some(0.5); N_PIPELINES];
        let mut policy = PaperLoop::new(y.view(), 3, &predicted, 60.0, Rounds::Doubling, None)
            .expect("a policy");
        let mut script = Script {
            clock: Arc::clone(&clock),
            n_wrong: |j| 4 + hashed(j) % 20,
            secs,
            ran: Vec::new(),
            at_once: 1,
        };
        let vote = Combination::Vote;
        let settings = Settings { max_evaluations: Some(40), ..settings() };
        let mut drive = drive(&clock, settings, vote, 60.0, Pacing::Repeatable);
        drive.begin_level(N_ROWS, vec![0.5; N_PIPELINES], combiner(vote));
        let until = Duration::from_secs(60);
        let stop = drive
            .run(&mut policy, &mut bench(&mut script), until, &mut Listener::deaf(&*clock))
            .expect("a run");
        assert_eq!(stop, Some(StopReason::MaxEvaluations));
        script.ran
    };
    assert_eq!(run(|_| 0.01), run(|j| 0.02 + j as f64 * 0.005));
}

/// A search that stops in time for the best to be confirmed, on a clock that pipelines alone move.
fn searched<'a>(clock: &'a Arc<ScriptedClock>, n_wrong: fn(usize) -> usize) -> (Drive<'a>, Script) {
    let average = Combination::Average;
    let mut drive = drive(clock, settings(), average, 100.0, TIMED);
    drive.confirmation.is_on = true;
    let script =
        Script { clock: Arc::clone(clock), n_wrong, secs: |_| 1.0, ran: Vec::new(), at_once: 1 };
    drive.begin_level(N_ROWS, vec![1.0; 23_424], combiner(average));
    (drive, script)
}

#[test]
fn the_best_are_judged_by_folds_they_were_not_chosen_by() {
    let clock = Arc::new(ScriptedClock::default());
    let (mut drive, mut lucky) = searched(&clock, |j| if j == 51 { 0 } else { 5 + j % 20 });
    lucky.secs = |_| 0.25;
    let mut policy = Fixed::new((0..400).map(|i| i * 3));
    let until = Duration::from_secs(100);
    let ended = drive
        .run(&mut policy, &mut bench(&mut lucky), until, &mut Listener::deaf(&*clock))
        .expect("a run");
    assert_eq!(ended, None, "there is time left, for confirming");
    assert!(clock.elapsed() >= Duration::from_secs(50), "{:?}", clock.elapsed());
    drive.ensemble(&mut Listener::deaf(&*clock));
    assert_eq!(drive.combiner.library.learners()[0].id.index(), 51);

    let (_, mut sober) = searched(&clock, |j| if j == 51 { 24 } else { 5 + j % 20 });
    sober.secs = |_| 0.25;
    assert!(
        drive
            .confirm(&mut bench(&mut sober), 1, false, &mut Listener::deaf(&*clock))
            .expect("a round")
    );
    let learners = drive.combiner.library.learners();
    assert_eq!(learners.last().map(|l| l.id.index()), Some(51), "its luck is gone");
    let n = learners.len();
    assert_eq!(sober.ran.len(), n, "those that were not run again are gone");
    assert!(n >= 24, "{n}");
    // Rounds go on as long as another one fits.
    while drive
        .confirm(&mut bench(&mut sober), 1, false, &mut Listener::deaf(&*clock))
        .expect("a round")
    {}
    assert!(clock.elapsed() <= Duration::from_secs(100), "{:?}", clock.elapsed());
}

#[test]
fn too_few_are_not_confirmed() {
    let clock = Arc::new(ScriptedClock::default());
    let (mut drive, mut script) = searched(&clock, |j| 5 + j % 20);
    script.secs = |_| 5.0;
    let mut policy = Fixed::new((0..90).map(|i| i * 10));
    let until = Duration::from_secs(100);
    drive
        .run(&mut policy, &mut bench(&mut script), until, &mut Listener::deaf(&*clock))
        .expect("a run");
    assert!(clock.elapsed() > Duration::from_secs(80), "the search goes on to the end");
    let before = script.ran.len();
    assert!(
        !drive
            .confirm(&mut bench(&mut script), 1, false, &mut Listener::deaf(&*clock))
            .expect("no round")
    );
    assert_eq!(script.ran.len(), before);
}

#[test]
fn a_library_has_eight_of_a_kind_whatever_order_they_came_in() {
    let clock = Arc::new(ScriptedClock::default());
    let kept = |order: Vec<usize>| {
        let (mut drive, mut script) = searched(&clock, |j| 5 + hashed(j) % 40);
        drive.confirmation.is_on = false;
        script.secs = |_| 1e-3;
        let until = Duration::from_secs(1 << 30);
        drive
            .run(
                &mut Fixed::new(order),
                &mut bench(&mut script),
                until,
                &mut Listener::deaf(&*clock),
            )
            .expect("a run");
        let learners = drive.combiner.library.learners();
        learners.iter().map(|l| l.id.index()).collect::<Vec<usize>>()
    };
    let forwards = kept((0..183).collect());
    assert_eq!(forwards, kept((0..183).rev().collect()));
    assert_eq!(forwards.len(), 40);
    let kind = |j: usize| SearchSpace::paper().kind((j as u32).into());
    for &j in &forwards {
        let n_alike = forwards.iter().filter(|&&other| kind(other) == kind(j)).count();
        assert!(n_alike <= 8, "{n_alike} of {:?}", kind(j));
    }
}
