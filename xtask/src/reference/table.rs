//! One comparison with a reference figure, and tables of them.

use std::fmt::Write as _;

/// When a figure of ours counts as reached.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// Equal when printed with so many decimals: counts, shares, ranks.
    Digits(usize),
    /// Lower is better: at most this share above the reference (.05 = five per cent).
    AtMost(f64),
    /// Lower is better: at most this much above the reference.
    AtMostPlus(f64),
    /// Higher is better: at least the reference less this much.
    AtLeastMinus(f64),
    /// Within this much of the reference, either way. What is not is not reproduced, and no failure: controls, and what
    /// we do not ship.
    Near(f64),
    /// Lower is better, and the reference is random choice: lower by at least this much.
    BelowRandom(f64),
    /// The same of what we do not ship: where it is not lower, that is no failure.
    PerhapsBelowRandom(f64),
    /// A sample of the datasets that the reference is of, or no reference at all: not judged.
    Shown,
}

/// What is said of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It reaches its reference.
    Reached,
    /// It should, and does not.
    Missed,
    /// It does not, and need not.
    NotReproduced,
    /// There is nothing to judge it by.
    NotJudged,
}

impl Rule {
    /// The rule of a figure that is to be at most `margin` above its reference, where random choice had this: only
    /// where random choice would not pass, too.
    pub(crate) fn told_apart(reference: f64, random: f64, margin: f64) -> Self {
        if reference + margin < random { Self::AtMostPlus(margin) } else { Self::Near(margin) }
    }
}

/// One figure.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// What was measured.
    pub(crate) what: String,
    /// The reference, if there is one.
    pub(crate) reference: Option<f64>,
    /// Ours.
    pub(crate) ours: f64,
    /// When ours counts as reached.
    pub(crate) rule: Rule,
    /// Seconds of CPU that ours took, where that is of interest.
    pub(crate) secs: Option<f64>,
}

impl Row {
    /// A figure next to its reference.
    pub(crate) fn new(what: impl Into<String>, reference: f64, ours: f64, rule: Rule) -> Self {
        Self { what: what.into(), reference: Some(reference), ours, rule, secs: None }
    }

    /// A figure of ours that has no reference.
    pub(crate) fn shown(what: impl Into<String>, ours: f64) -> Self {
        Self { what: what.into(), reference: None, ours, rule: Rule::Shown, secs: None }
    }

    /// The same with the seconds it took.
    pub(crate) fn took(self, secs: f64) -> Self {
        Self { secs: Some(secs), ..self }
    }

    /// What is said of it; a NaN is always missed.
    pub(crate) fn verdict(&self) -> Verdict {
        if self.ours.is_nan() {
            return Verdict::Missed;
        }
        let Some(reference) = self.reference else { return Verdict::NotJudged };
        let is_reached = match self.rule {
            Rule::Digits(d) => format!("{:.d$}", self.ours) == format!("{reference:.d$}"),
            Rule::AtMost(share) => self.ours <= reference * (1.0 + share),
            Rule::AtMostPlus(margin) => self.ours <= reference + margin,
            Rule::AtLeastMinus(margin) => self.ours >= reference - margin,
            Rule::Near(margin) => (self.ours - reference).abs() <= margin,
            Rule::BelowRandom(by) | Rule::PerhapsBelowRandom(by) => self.ours <= reference - by,
            Rule::Shown => return Verdict::NotJudged,
        };
        match (is_reached, self.rule) {
            (true, _) => Verdict::Reached,
            (false, Rule::Near(_) | Rule::PerhapsBelowRandom(_)) => Verdict::NotReproduced,
            (false, _) => Verdict::Missed,
        }
    }

    fn rule_text(&self) -> String {
        match (self.reference, self.rule) {
            (None, _) => "no reference".to_owned(),
            (_, Rule::Digits(0)) => "equal".to_owned(),
            (_, Rule::Digits(d)) => format!("equal to {d} digits"),
            (_, Rule::AtMost(share)) => format!("at most +{:.0} %", 100.0 * share),
            (_, Rule::AtMostPlus(margin)) => format!("at most +{margin}"),
            (_, Rule::AtLeastMinus(margin)) => format!("at least -{margin}"),
            (_, Rule::Near(margin)) => format!("within {margin}"),
            (_, Rule::BelowRandom(by) | Rule::PerhapsBelowRandom(by)) => {
                format!("below random by {by:.4}")
            }
            (_, Rule::Shown) => "a sample".to_owned(),
        }
    }
}

/// A group of figures under one title.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// What the table shows and where its references are from.
    pub(crate) title: String,
    /// The figures.
    pub(crate) rows: Vec<Row>,
}

impl Table {
    /// An empty table.
    pub(crate) fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), rows: Vec::new() }
    }

    /// Adds a figure.
    pub(crate) fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// How many figures have this verdict.
    pub(crate) fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|r| r.verdict() == verdict).count()
    }

    /// The table as text.
    pub(crate) fn render(&self) -> String {
        let width = self.rows.iter().map(|r| r.what.chars().count()).max().unwrap_or(0).max(12);
        let mut text = format!("\n{}\n", self.title);
        let _ =
            writeln!(text, "  {:width$}  {:>11}  {:>11}  {:>9}", "", "reference", "ours", "CPU s");
        for row in &self.rows {
            let reference = row.reference.map_or(String::new(), number);
            let secs = row.secs.map_or(String::new(), |s| format!("{s:.2}"));
            let verdict = match row.verdict() {
                Verdict::Reached => "ok",
                Verdict::Missed => "MISSED",
                Verdict::NotReproduced => "not reproduced",
                Verdict::NotJudged => "",
            };
            let line = format!(
                "  {:width$}  {reference:>11}  {:>11}  {secs:>9}  {verdict:14}  {}",
                row.what,
                number(row.ours),
                row.rule_text()
            );
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }
}

/// Counts whole, everything else with four significant decimals.
fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() >= 1.0 {
        format!("{value:.0}")
    } else if value.abs() >= 10.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.4}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(reference: f64, ours: f64, rule: Rule) -> Verdict {
        Row::new("", reference, ours, rule).verdict()
    }

    #[test]
    fn a_figure_is_judged_by_its_rule() {
        use Verdict::{Missed, NotJudged, Reached};
        assert_eq!(verdict(0.0099, 0.0103, Rule::AtMost(0.05)), Reached);
        assert_eq!(verdict(0.0099, 0.0105, Rule::AtMost(0.05)), Missed);
        assert_eq!(verdict(11.0, 11.0, Rule::Digits(0)), Reached);
        assert_eq!(verdict(0.178, 0.1786, Rule::Digits(3)), Missed);
        assert_eq!(verdict(83.0, 81.9, Rule::AtLeastMinus(1.0)), Missed);
        assert_eq!(verdict(0.1, 0.2, Rule::Shown), NotJudged);
        assert_eq!(Row::shown("", 0.2).verdict(), NotJudged);
        for rule in [Rule::AtMostPlus(1.0), Rule::Near(1.0), Rule::Shown] {
            assert_eq!(verdict(0.1, f64::NAN, rule), Missed);
        }
    }

    #[test]
    fn what_we_do_not_ship_may_fail_to_be_reproduced_either_way() {
        use Verdict::{NotReproduced, Reached};
        assert_eq!(verdict(0.0063, 0.0081, Rule::Near(0.002)), Reached);
        assert_eq!(verdict(0.0063, 0.0084, Rule::Near(0.002)), NotReproduced);
        assert_eq!(verdict(0.0063, 0.0041, Rule::Near(0.002)), NotReproduced);
        assert_eq!(verdict(0.030, 0.029, Rule::PerhapsBelowRandom(0.002)), NotReproduced);
    }

    #[test]
    fn random_choice_would_not_pass_where_a_figure_can_fail() {
        use Verdict::{Missed, NotReproduced, Reached};
        // Greedy against random: .0188 and .0379, then .0097 and .0129.
        let rule = Rule::told_apart(0.0188, 0.0379, 0.004);
        assert_eq!(verdict(0.0188, 0.0379, rule), Missed);
        assert_eq!(verdict(0.0188, 0.0225, rule), Reached);
        let rule = Rule::told_apart(0.0097, 0.0129, 0.004);
        assert_eq!(verdict(0.0097, 0.0150, rule), NotReproduced);
        assert_eq!(verdict(0.030, 0.029, Rule::BelowRandom(0.002)), Missed);
        assert_eq!(verdict(0.030, 0.027, Rule::BelowRandom(0.002)), Reached);
    }
}
