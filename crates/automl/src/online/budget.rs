//! The time there is: what has passed, what is kept for the end, and how long a step may take.

use std::time::{Duration, Instant};

use pitchpipe_learn::Effort;
use pitchpipe_surrogate::policy::patience_secs;

use super::clock::Clock;
use super::pacing::Pacing;

/// Time kept for putting the model together and writing it, at the least.
const LEAST_RESERVE: Duration = Duration::from_millis(30);

/// Seconds a cell of the table that letting go of what was made of it takes, its history, and its part in the model: twice what was
/// measured at 50 million cells, where a fit of a minute ended .3 s late without.
const CLOSING_SECS: f64 = 1e-8;

/// And a probability that ensembles are chosen by and scored with, of which there are many where classes are.
const CLOSING_PROBABILITY_SECS: f64 = 5e-8;

/// The most of the budget that is kept for each of the two.
const CLOSING_SHARE: f64 = 0.05;
const CLOSING_PROBABILITY_SHARE: f64 = 0.12;

/// A model of linear weights or means is written at so many bytes a second, at the least, and has so many for each column, class and
/// fold: mean and variance. Before the first is there nobody knows what it will take to write.
const FIRST_BYTES_A_SECOND: f64 = 160e6;
const FIRST_BYTES: f64 = 16.0;

/// The most of the budget that is kept for writing what is not there yet.
const FIRST_WRITING_SHARE: f64 = 0.15;

/// The most for all of these, however busy the machine is.
const MOST_CLOSING: f64 = 0.4;

/// How long a step is waited for.
#[derive(Clone, Copy)]
pub(crate) struct Patience {
    /// The seconds of work that it is expected to take.
    pub(crate) cost_secs: f64,
    /// The most that it may take of the time that is left.
    pub(crate) most_of_left: f64,
    /// Whether only that bounds it, since it hands out what is done on its way.
    pub(crate) goes_on: bool,
}

/// However busy the machine is, no more than so many times the usual reserve is kept.
const MOST_SLOWDOWN: f64 = 6.0;

/// What was measured on a busy machine may take so many times as long again.
const MOST_MARGIN: f64 = 2.0;

/// The weight of the last step in the mean pace of the machine.
const LAST_WEIGHT: f64 = 0.3;

/// What the end of the search will take, as things are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct End {
    /// Bringing the ensemble up to date, on the clock of this machine as busy as it is.
    pub(crate) ensemble_secs: f64,
    /// Writing the model.
    pub(crate) write_time: Duration,
}

/// The time budget of a search.
pub(crate) struct Budget<'a> {
    clock: &'a dyn Clock,
    total: Duration,
    pacing: Pacing,
    /// What the end takes besides, at this size of the table.
    closing: Duration,
    /// What writing a model may take, before there is one.
    first_writing: Duration,
    /// What a second of a step's work takes on the clock: at first on an idle machine, then as measured.
    wall_per_cpu: f64,
    /// How many times as long work takes as on an idle machine.
    slowdown: f64,
    /// The longest that a choice, and taking in the results of a step, took so far.
    choice_secs: f64,
    taking_secs: f64,
    /// Predicted seconds of all that was run.
    predicted_secs: f64,
}

impl<'a> Budget<'a> {
    /// `idle_wall_per_cpu`: what a second of work is expected to take on the clock.
    pub(crate) fn new(
        clock: &'a dyn Clock,
        total: Duration,
        pacing: Pacing,
        idle_wall_per_cpu: f64,
    ) -> Self {
        Self {
            clock,
            total,
            pacing,
            closing: Duration::ZERO,
            first_writing: Duration::ZERO,
            wall_per_cpu: idle_wall_per_cpu,
            slowdown: 1.0,
            choice_secs: 0.0,
            taking_secs: 0.0,
            predicted_secs: 0.0,
        }
    }

    /// The same where so many threads share each core, and every one takes the longer: steps that are begun before anything was
    /// measured have their deadlines by it.
    pub(crate) fn crowded(self, threads_a_core: f64) -> Self {
        Self { slowdown: threads_a_core.max(1.0), ..self }
    }

    /// The same for a table of so many cells and so many probabilities: the end of a search on a large one takes longer.
    pub(crate) fn for_cells(self, n_cells: usize, n_probabilities: usize) -> Self {
        let total_secs = self.total_secs();
        let secs = |each: f64, n: usize, share: f64| (each * n as f64).min(share * total_secs);
        let cells = secs(CLOSING_SECS, n_cells, CLOSING_SHARE);
        let probabilities =
            secs(CLOSING_PROBABILITY_SECS, n_probabilities, CLOSING_PROBABILITY_SHARE);
        Self { closing: Duration::from_secs_f64(cells + probabilities), ..self }
    }

    /// The same where a model is of so many numbers: for each column, class and fold.
    pub(crate) fn for_first_model(self, n_numbers: usize) -> Self {
        let secs = FIRST_BYTES * n_numbers as f64 / FIRST_BYTES_A_SECOND;
        let secs = secs.min(FIRST_WRITING_SHARE * self.total_secs());
        Self { first_writing: Duration::from_secs_f64(secs), ..self }
    }

    /// What decides when something happens.
    pub(crate) fn pacing(&self) -> Pacing {
        self.pacing
    }

    /// Whether what takes so many seconds on the clock may begin.
    pub(crate) fn allows_secs(&self, secs: f64, end: End) -> bool {
        self.pacing.allows(secs <= self.left(end).as_secs_f64())
    }

    /// So large a share of the budget, in seconds; all there are, where the clock may not decide.
    pub(crate) fn share_secs(&self, share: f64) -> f64 {
        match self.pacing {
            Pacing::Timed { .. } => share * self.total_secs(),
            Pacing::Repeatable => f64::INFINITY,
        }
    }

    /// How many steps are handed out together.
    pub(crate) fn width(&self) -> usize {
        self.pacing.width()
    }

    /// How much of the budget has passed.
    pub(crate) fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }

    /// What has passed since.
    pub(crate) fn since(&self, before: Duration) -> Duration {
        self.clock.elapsed().saturating_sub(before)
    }

    /// The whole budget.
    pub(crate) fn total_secs(&self) -> f64 {
        self.total.as_secs_f64()
    }

    /// What a second of work takes on the clock.
    pub(crate) fn wall_per_cpu(&self) -> f64 {
        self.wall_per_cpu
    }

    /// The same where there is work for all threads, as when many pipelines are run at once.
    pub(crate) fn wall_per_cpu_of_many(&self) -> f64 {
        match self.pacing {
            Pacing::Timed { threads } => self.slowdown / threads.max(1) as f64,
            Pacing::Repeatable => self.wall_per_cpu,
        }
    }

    /// What is left for running pipelines.
    pub(crate) fn left(&self, end: End) -> Duration {
        // What a step's last results take to be measured and taken in comes after its deadline.
        let after = end.ensemble_secs + 2.0 * self.taking_secs;
        let measured_secs = after.min(0.1 * self.total_secs());
        self.total.saturating_sub(self.clock.elapsed() + self.reserve(end, measured_secs))
    }

    /// What is left as policies see it, in seconds of work: by the clock, or by predictions.
    pub(crate) fn left_to_choose_in(&self, end: End) -> f64 {
        match self.pacing {
            Pacing::Timed { .. } => self.left(end).as_secs_f64() / self.wall_per_cpu,
            Pacing::Repeatable => (self.total_secs() - self.predicted_secs).max(0.0),
        }
    }

    /// What has passed since, in seconds of work.
    pub(crate) fn work_secs_since(&self, before: Duration) -> f64 {
        self.since(before).as_secs_f64() / self.wall_per_cpu
    }

    /// Whether a level that lasts `until` then is over.
    pub(crate) fn is_past(&self, until: Duration) -> bool {
        match self.pacing {
            Pacing::Timed { .. } => self.clock.elapsed() >= until,
            // The last level ends with the budget, and of that the clock has the last word.
            Pacing::Repeatable => until < self.total && self.predicted_secs >= until.as_secs_f64(),
        }
    }

    /// Whether there is no time for another choice.
    pub(crate) fn is_too_short_to_choose(&self, end: End) -> bool {
        !self.allows_secs(self.choice_secs, end)
    }

    /// When fits must end that are waited for so long: one mistaken guess must not use up all
    /// there is.
    pub(crate) fn deadline(&self, patience: Patience, end: End) -> Option<Instant> {
        let left = self.left(end);
        let Patience { cost_secs, most_of_left, goes_on } = patience;
        let expected = match goes_on {
            true => self.total_secs(),
            false => patience_secs(cost_secs * self.wall_per_cpu, self.total_secs()),
        };
        let patience = match self.pacing {
            Pacing::Timed { .. } => Duration::try_from_secs_f64(expected)
                .unwrap_or(left)
                .min(left.mul_f64(most_of_left.min(1.0))),
            Pacing::Repeatable => left,
        };
        self.within(patience.min(left))
    }

    /// The instant at which so much more will have passed.
    pub(crate) fn within(&self, more: Duration) -> Option<Instant> {
        self.clock.instant(self.clock.elapsed() + more)
    }

    /// When an ensemble must be made; never, where the clock may not decide.
    pub(crate) fn ensemble_deadline(&self, end: End) -> Option<Instant> {
        match self.pacing {
            Pacing::Timed { .. } => {
                self.clock.instant(self.total.saturating_sub(self.reserve(end, 0.0)))
            }
            Pacing::Repeatable => None,
        }
    }

    /// What is kept for the end: for putting the model together and writing it, more of it where the machine is busy with other
    /// things; and for what took so many seconds on the clock of this machine. That knows how busy the machine is, but not what
    /// follows it without having been measured, such as standard errors: some more is kept for these, not as many times more.
    fn reserve(&self, end: End, measured_secs: f64) -> Duration {
        let slowdown = self.slowdown.clamp(1.0, MOST_SLOWDOWN);
        let margin = f64::midpoint(1.0, slowdown).min(MOST_MARGIN);
        let measured = Duration::from_secs_f64(margin * measured_secs);
        let closing = self.closing + self.first_writing.saturating_sub(end.write_time);
        let closing = closing.mul_f64(slowdown).min(self.total.mul_f64(MOST_CLOSING));
        (LEAST_RESERVE + end.write_time).mul_f64(slowdown) + closing + measured
    }

    /// Pipelines that are predicted to take so long have been run.
    pub(crate) fn note_predicted(&mut self, secs: f64) {
        self.predicted_secs += secs;
    }

    /// A choice took so long.
    pub(crate) fn note_choice(&mut self, secs: f64) {
        self.choice_secs = self.choice_secs.max(secs);
    }

    /// A step's work took so long on the clock, and taking in its results as long as this.
    pub(crate) fn note_work(&mut self, effort: &Effort, wall: Duration, taking: Duration) {
        self.taking_secs = self.taking_secs.max(taking.as_secs_f64());
        let cpu_secs = effort.cpu_secs();
        if cpu_secs > 1e-3 {
            let mean = |before: f64, ratio: f64| {
                (1.0 - LAST_WEIGHT) * before + LAST_WEIGHT * ratio.clamp(0.02, 50.0)
            };
            self.wall_per_cpu = mean(self.wall_per_cpu, wall.as_secs_f64() / cpu_secs);
            self.slowdown = mean(self.slowdown, (effort.busy_secs / cpu_secs).max(1.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that stands still.
    struct Still;

    impl Clock for Still {
        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }

        fn instant(&self, _: Duration) -> Option<Instant> {
            None
        }
    }

    #[test]
    fn more_is_kept_for_the_end_of_a_large_table() {
        let left = |n_cells: usize| {
            let pacing = Pacing::Timed { threads: 2 };
            let budget = Budget::new(&Still, Duration::from_secs(10), pacing, 1.0);
            budget.for_cells(n_cells, 0).left(End::default()).as_secs_f64()
        };
        let many_classes = |slowdown: f64| {
            let pacing = Pacing::Timed { threads: 2 };
            let budget = Budget::new(&Still, Duration::from_secs(10), pacing, 1.0);
            let budget = budget.crowded(slowdown).for_cells(10_000, 100_000_000);
            budget.left(End::default()).as_secs_f64()
        };
        assert!((many_classes(1.0) - 8.77).abs() < 1e-3, "{}", many_classes(1.0));
        assert!((many_classes(6.0) - 5.82).abs() < 1e-3, "{}", many_classes(6.0));
        assert!((left(10_000) - 9.97).abs() < 1e-3 && (left(20_000_000) - 9.77).abs() < 1e-3);
        assert!((left(1_000_000_000) - 9.47).abs() < 1e-3);
    }

    #[test]
    fn the_writing_of_a_large_model_is_planned_before_there_is_one() {
        let left = |n_numbers: usize, write_secs: f64| {
            let pacing = Pacing::Timed { threads: 2 };
            let budget = Budget::new(&Still, Duration::from_secs(2), pacing, 1.0);
            let end = End { write_time: Duration::from_secs_f64(write_secs), ..End::default() };
            budget.for_first_model(n_numbers).left(end).as_secs_f64()
        };
        assert!((left(300, 0.0) - 1.97).abs() < 1e-3 && (left(1_000_000, 0.0) - 1.87).abs() < 1e-3);
        // No more than a share, and what is known by then stands in its place.
        assert!((left(100_000_000, 0.0) - 1.67).abs() < 1e-3);
        assert!((left(1_000_000, 0.5) - 1.47).abs() < 1e-3);
    }

    #[test]
    fn more_is_kept_where_threads_share_a_core() {
        let budget = |threads_a_core: f64| {
            let pacing = Pacing::Timed { threads: 8 };
            let budget = Budget::new(&Still, Duration::from_secs(10), pacing, 1.0);
            budget.crowded(threads_a_core).left(End::default()).as_secs_f64()
        };
        assert!((budget(0.5) - 9.97).abs() < 1e-3 && (budget(4.0) - 9.88).abs() < 1e-3);
    }

    #[test]
    fn what_was_measured_on_a_busy_machine_is_not_taken_to_last_three_times_as_long_again() {
        let pacing = Pacing::Timed { threads: 1 };
        let mut budget = Budget::new(&Still, Duration::from_secs(10), pacing, 1.0);
        let busy = Effort { preparation_secs: 1.0, busy_secs: 3.0, ..Effort::default() };
        (0..50).for_each(|_| budget.note_work(&busy, Duration::from_secs(3), Duration::ZERO));
        let left = |end| budget.left(end).as_secs_f64();
        // Three times what putting the model together takes, and writing it.
        assert!((left(End::default()) - 9.91).abs() < 1e-3, "{}", left(End::default()));
        let writes = End { write_time: Duration::from_millis(100), ..End::default() };
        assert!((left(writes) - 9.61).abs() < 1e-3, "{}", left(writes));
        // But the ensemble twice as long as it took here.
        let chooses = End { ensemble_secs: 0.5, ..End::default() };
        assert!((left(chooses) - 8.91).abs() < 1e-3, "{}", left(chooses));
    }
}
