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
    /// The same for ours or for that of the default policy.
    EitherAtMostPlus { margin: f64, default: f64 },
    /// Higher is better: at least the reference less this much.
    AtLeastMinus(f64),
    /// Shown for comparison, not judged.
    Shown,
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

    /// Whether the reference is reached; a NaN never reaches one.
    pub(crate) fn reached(&self) -> bool {
        let Some(reference) = self.reference else { return !self.ours.is_nan() };
        match self.rule {
            Rule::Digits(d) => format!("{:.d$}", self.ours) == format!("{reference:.d$}"),
            Rule::AtMost(share) => self.ours <= reference * (1.0 + share),
            Rule::AtMostPlus(margin) => self.ours <= reference + margin,
            Rule::EitherAtMostPlus { margin, default } => {
                self.ours.min(default) <= reference + margin && !self.ours.is_nan()
            }
            Rule::AtLeastMinus(margin) => self.ours >= reference - margin,
            Rule::Shown => !self.ours.is_nan(),
        }
    }

    fn rule_text(&self) -> String {
        match (self.reference, self.rule) {
            (None, _) | (_, Rule::Shown) => String::new(),
            (Some(reference), Rule::EitherAtMostPlus { margin, default })
                if self.ours > reference + margin =>
            {
                format!("at most +{margin}: the default policy has {}", number(default))
            }
            (_, Rule::EitherAtMostPlus { margin, .. }) => format!("at most +{margin}"),
            (_, Rule::Digits(0)) => "equal".to_owned(),
            (_, Rule::Digits(d)) => format!("equal to {d} digits"),
            (_, Rule::AtMost(share)) => format!("at most +{:.0} %", 100.0 * share),
            (_, Rule::AtMostPlus(margin)) => format!("at most +{margin}"),
            (_, Rule::AtLeastMinus(margin)) => format!("at least -{margin}"),
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

    /// The table as text, and how many figures miss their reference.
    pub(crate) fn render(&self) -> (String, usize) {
        let width = self.rows.iter().map(|r| r.what.chars().count()).max().unwrap_or(0).max(12);
        let mut text = format!("\n{}\n", self.title);
        let _ =
            writeln!(text, "  {:width$}  {:>11}  {:>11}  {:>9}", "", "reference", "ours", "CPU s");
        for row in &self.rows {
            let reference = row.reference.map_or(String::new(), number);
            let secs = row.secs.map_or(String::new(), |s| format!("{s:.2}"));
            let verdict = match (row.reference, row.reached()) {
                (_, false) => "MISSED",
                (Some(_), true) if !matches!(row.rule, Rule::Shown) => "ok",
                _ => "",
            };
            let line = format!(
                "  {:width$}  {reference:>11}  {:>11}  {secs:>9}  {verdict:6}  {}",
                row.what,
                number(row.ours),
                row.rule_text()
            );
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let missed = self.rows.iter().filter(|r| !r.reached()).count();
        (text, missed)
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

    #[test]
    fn a_figure_is_judged_by_its_rule() {
        assert!(Row::new("", 0.0099, 0.0103, Rule::AtMost(0.05)).reached());
        assert!(!Row::new("", 0.0099, 0.0105, Rule::AtMost(0.05)).reached());
        assert!(Row::new("", 11.0, 11.0, Rule::Digits(0)).reached());
        assert!(!Row::new("", 0.178, 0.1786, Rule::Digits(3)).reached());
        assert!(!Row::new("", 83.0, 81.9, Rule::AtLeastMinus(1.0)).reached());
        assert!(!Row::new("", 0.1, f64::NAN, Rule::AtMostPlus(1.0)).reached());
        let either = |default| Rule::EitherAtMostPlus { margin: 0.002, default };
        assert!(Row::new("", 0.0063, 0.0089, either(0.0071)).reached());
        assert!(Row::new("", 0.0063, 0.0082, either(0.0090)).reached());
        assert!(!Row::new("", 0.0063, 0.0089, either(0.0084)).reached());
    }
}
