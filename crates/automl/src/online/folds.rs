//! On how many folds pipelines are validated: on all, or on one where rows are so many that it tells enough.

/// From so many rows on a part of them is enough to choose by, and is held out once instead of in turn, where boosting on histograms
/// would take more than this share of the time for all folds.
const HELD_OUT_ROWS: usize = 100_000;
const HELD_OUT_SHARE: f64 = 0.05;

/// So many of the parts that rows are parted into are tested, each by a model of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Folds {
    pub(super) parts: usize,
    pub(super) tested: usize,
}

impl Folds {
    /// A fifth of the rows is tested by a model of the others: two fifths of what three folds cost.
    pub(super) const HELD_OUT: Self = Self { parts: 5, tested: 1 };

    /// Each part is tested.
    pub(super) fn all(parts: usize) -> Self {
        Self { parts, tested: parts }
    }

    /// The folds that a report tells of ([`Report::n_folds`](super::Report::n_folds)).
    pub(super) fn of_report(n_folds: usize) -> Self {
        if n_folds == 1 { Self::HELD_OUT } else { Self::all(n_folds) }
    }

    /// These, or one of five where rows are many and time is short: `secs` is what boosting takes on three folds.
    pub(super) fn or_held_out(
        self,
        n_rows: usize,
        budget_secs: f64,
        secs: impl FnOnce() -> f64,
    ) -> Self {
        let is_dear = || self.cost() * secs() > HELD_OUT_SHARE * budget_secs;
        if n_rows >= HELD_OUT_ROWS && is_dear() { Self::HELD_OUT } else { self }
    }

    /// What these cost, next to the three folds that times were recorded of: all but one of the parts are learnt from.
    pub(super) fn cost(self) -> f64 {
        let Self { parts, tested } = self;
        tested as f64 * (1.0 - 1.0 / parts as f64) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_held_out_where_rows_are_many_and_time_is_short() {
        let three = Folds::all(3);
        assert_eq!(three.or_held_out(1_000_000, 60.0, || 10.0), Folds::HELD_OUT);
        assert_eq!(three.or_held_out(1_000_000, 600.0, || 10.0), three);
        assert_eq!(three.or_held_out(50_000, 60.0, || 10.0), three);
    }

    #[test]
    fn costs_are_those_of_the_rows_that_are_learnt_from() {
        assert!((Folds::all(3).cost() - 1.0).abs() < 1e-12);
        assert!((Folds::all(5).cost() - 2.0).abs() < 1e-12);
        assert!((Folds::HELD_OUT.cost() - 0.4).abs() < 1e-12);
        assert_eq!(Folds::of_report(1), Folds::HELD_OUT);
        assert_eq!(Folds::of_report(3), Folds::all(3));
    }
}
