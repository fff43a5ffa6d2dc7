//! How long a step may take: one mistaken guess must not use up all there is.

/// A step may take this many times as long as predicted, and a little more, or this share of the budget.
const TIMES: f64 = 5.0;
const MORE_SECS: f64 = 0.25;
const BUDGET_SHARE: f64 = 0.1;

/// The seconds after which a step that was expected to take `expected_secs` is given up; live and in replays.
pub fn patience_secs(expected_secs: f64, budget_secs: f64) -> f64 {
    (TIMES * expected_secs + MORE_SECS).max(BUDGET_SHARE * budget_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_guess_has_a_tenth_of_the_budget_and_a_long_one_five_times_itself() {
        assert_eq!(patience_secs(0.1, 20.0), 2.0);
        assert_eq!(patience_secs(1.0, 20.0), 5.25);
    }
}
