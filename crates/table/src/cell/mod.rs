//! What people write into cells that is neither a plain number nor an ISO date: money, percentages, durations, dates in
//! the ways of many countries, yes and no.
//!
//! A rule is found once, over all cells of a text column, and kept in the schema: later tables are read by it. Few
//! texts are looked at before a rule is tried on all, so that ordinary text costs next to nothing.

mod boolean;
mod date;
mod duration;
mod number;
mod words;

use serde::{Deserialize, Serialize};

pub(crate) use boolean::{Family, Truth, truth_pair};
pub use date::DateOrder;
pub use duration::ShortClock;
pub use number::{NumberRule, Unit};
pub use words::WordGroups;
pub(crate) use words::is_free_text;

/// How the cells of a column are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellRule {
    /// Numbers with a currency, a percent sign, thousands separators or a decimal comma.
    Number(NumberRule),
    /// Durations and times of day, in seconds.
    Duration(ShortClock),
    /// Dates in this order of day, month and year.
    Date(DateOrder),
    /// Truth values in more than two spellings.
    Boolean,
}

/// A rule, and what it makes of each text.
pub(crate) struct Found {
    pub(crate) rule: CellRule,
    /// The value of each text of the dictionary: a number, seconds, or seconds since 1970; truth as 0 or 1.
    pub(crate) values: Vec<Option<f64>>,
    /// How many cells the rule does not fit.
    pub(crate) n_odd: usize,
    /// Whether another rule fits as well.
    pub(crate) is_guess: bool,
}

/// So many texts are looked at before all are.
const SAMPLE: usize = 40;

/// A rule that fits this share of the sample is tried on all cells.
const PROMISING: f64 = 0.8;

/// A rule fits a column of at least so many cells if it fits this share of them.
const MANY: usize = 20;
const NEARLY_ALL: f64 = 0.95;

/// The rule that fits a column of text, if one does; `counts` says how many cells have each text.
pub(crate) fn find(texts: &[String], counts: &[usize]) -> Option<Found> {
    let present: Vec<usize> = (0..texts.len()).filter(|&i| counts[i] > 0).collect();
    if present.is_empty() {
        return None;
    }
    let sample: Vec<&str> = present.iter().take(SAMPLE).map(|&i| texts[i].as_str()).collect();
    let column = Texts { texts, counts, present: &present, sample: &sample };
    boolean::find(&column)
        .or_else(|| date::find(&column))
        .or_else(|| duration::find(&column))
        .or_else(|| number::find(&column))
}

/// The texts of a column.
struct Texts<'a> {
    texts: &'a [String],
    counts: &'a [usize],
    /// The texts that some cell has.
    present: &'a [usize],
    sample: &'a [&'a str],
}

impl Texts<'_> {
    /// Whether a way to read looks promising in the first few texts.
    fn promises(&self, fits: impl Fn(&str) -> bool) -> bool {
        let n = self.sample.iter().filter(|text| fits(text)).count();
        n as f64 >= PROMISING * self.sample.len() as f64
    }

    /// Reads all texts by a rule; `None` where it does not fit (nearly) all cells.
    fn read(&self, rule: CellRule) -> Option<Found> {
        let mut values = vec![None; self.texts.len()];
        let (mut n_cells, mut n_odd) = (0, 0);
        for &i in self.present {
            values[i] = rule.value(&self.texts[i]);
            n_cells += self.counts[i];
            if values[i].is_none() {
                n_odd += self.counts[i];
            }
        }
        let fits = n_odd == 0
            || (n_cells >= MANY && (n_cells - n_odd) as f64 >= NEARLY_ALL * n_cells as f64);
        fits.then_some(Found { rule, values, n_odd, is_guess: false })
    }
}

impl CellRule {
    /// What a cell is by this rule.
    pub(crate) fn value(&self, text: &str) -> Option<f64> {
        match self {
            Self::Number(rule) => rule.value(text),
            Self::Duration(short) => short.seconds(text),
            Self::Date(order) => order.instant(text),
            Self::Boolean => boolean::truth(text).map(|truth| f64::from(truth.is_true)),
        }
    }

    /// What the cells are, in the plural.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Self::Number(rule) => rule.noun(),
            Self::Duration(_) => "durations",
            Self::Date(_) => "dates",
            Self::Boolean => "truth values",
        }
    }

    /// What the cells are and how they are read, in words.
    pub fn in_words(&self) -> String {
        match self {
            Self::Number(rule) => rule.in_words(),
            Self::Duration(ShortClock::HoursMinutes) => "durations, in seconds".to_owned(),
            Self::Duration(ShortClock::MinutesSeconds) => {
                "durations, in seconds (two figures are minutes and seconds)".to_owned()
            }
            Self::Date(order) => format!("dates ({})", order.in_words()),
            Self::Boolean => "true or false".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(texts: &[&str]) -> Option<Found> {
        let texts: Vec<String> = texts.iter().map(|&t| t.to_owned()).collect();
        find(&texts, &vec![1; texts.len()])
    }

    fn values(texts: &[&str]) -> Option<Vec<f64>> {
        found(texts)?.values.into_iter().collect()
    }

    #[test]
    fn cells_are_read_as_what_they_are() {
        for (texts, expected) in [
            (&["$1,234.50", "$ 3", "-$2.25", "(4.00)"][..], &[1234.5, 3.0, -2.25, -4.0][..]),
            (&["1.234,50 EUR", "7,5 EUR", "€ 12"], &[1234.5, 7.5, 12.0]),
            (&["5%", "12.5 %", "0"], &[5.0, 12.5, 0.0]),
            (&["1,234", "999", "12,345,678"], &[1234.0, 999.0, 12_345_678.0]),
            (&["1 234,5", "7,25"], &[1234.5, 7.25]),
            (&["1'234.5", "1’000"], &[1234.5, 1000.0]),
            (&["12,34,567.5", "1,00,000"], &[1_234_567.5, 100_000.0]),
            (&["1h30m", "45 min", "2h", "10s"], &[5400.0, 2700.0, 7200.0, 10.0]),
            (&["PT1H30M", "P1DT2H", "PT0.5S", "P2W"], &[5400.0, 93_600.0, 0.5, 1_209_600.0]),
            (&["−1", "2", "−3.5"], &[-1.0, 2.0, -3.5]),
            (&["01:23:45", "0:00:01.5"], &[5025.0, 1.5]),
            (&["12:30", "1:05"], &[45_000.0, 3900.0]),
            (&["1:02:03", "2:30"], &[3723.0, 150.0]),
            (&["1:30 PM", "12:05 AM"], &[48_600.0, 300.0]),
            (&["1 day, 2:03:04", "0 days 00:00:01"], &[93_784.0, 1.0]),
            (&["Yes", "no", "YES", "TRUE", "0"], &[1.0, 0.0, 1.0, 1.0, 0.0]),
        ] {
            assert_eq!(values(texts).as_deref(), Some(expected), "{texts:?}");
        }
    }

    #[test]
    fn dates_are_read_in_the_order_that_fits_the_whole_column() {
        const DAY: f64 = 86_400.0;
        let day = 19_727.0 * DAY; // 2024-01-05
        for (texts, order) in [
            (&["05.01.2024", "31.12.2023"][..], DateOrder::DayMonthYear),
            (&["01/05/2024", "12/31/2023"], DateOrder::MonthDayYear),
            (&["5/1/2024", "31/12/2023"], DateOrder::DayMonthYear),
            (&["1/5/24", "12/31/23"], DateOrder::MonthDayYear),
            (&["2024/01/05", "2023/12/31"], DateOrder::YearMonthDay),
            (&["2024-1-5", "2023-12-31"], DateOrder::YearMonthDay),
            (&["Jan 5, 2024", "December 31, 2023"], DateOrder::DayMonthYear),
            (&["5 Jan 2024", "31-Dec-2023"], DateOrder::DayMonthYear),
            (&["Fri, 5 January 2024", "Sunday 31st December 2023"], DateOrder::DayMonthYear),
        ] {
            let found = found(texts).unwrap_or_else(|| panic!("{texts:?}"));
            assert_eq!(found.values, [Some(day), Some(day - 5.0 * DAY)], "{texts:?}");
            assert_eq!(found.rule, CellRule::Date(order), "{texts:?}");
            assert!(!found.is_guess, "{texts:?}");
        }
        let guess = found(&["01/05/2024", "02/03/2024"]).unwrap();
        assert!(guess.is_guess && guess.rule == CellRule::Date(DateOrder::MonthDayYear));
        let timed = values(&["05.01.2024 13:45", "5.1.2024 1:45:10 PM"]).unwrap();
        assert_eq!(timed, [day + 49_500.0, day + 49_510.0]);
    }

    #[test]
    fn what_only_looks_alike_stays_text() {
        for texts in [
            &["red", "blue"][..],
            &["yes", "no"],
            &["1", "2"],
            &["a1", "a2"],
            &["$5", "€5"],
            &["5%", "5"],
            &["10-20", "20-30"],
            &["1.2.3", "1.10.4"],
            &["13/13/2024", "1/1/2024"],
            &["12/31/2024", "31/12/2024"],
            &["3:2", "16:9"],
            &["007 123", "008 222"],
            &["t", "f", "n", "y"],
            &["n", "o", "t"],
            &["5 kg", "3 kg"],
            &["5M", "3M"],
            &["P", "PT", "P1Y2M"],
            &["1,5", "2.5"],
            &["", "x"],
        ] {
            assert!(found(texts).is_none(), "{texts:?}");
        }
    }

    #[test]
    fn a_few_odd_cells_do_not_hide_a_rule() {
        let mut texts: Vec<String> = (0..99).map(|i| format!("${i}.00")).collect();
        texts.push("on request".to_owned());
        let found = find(&texts, &[1; 100]).unwrap();
        assert_eq!((found.n_odd, found.values[99]), (1, None));
        // Of five cells one odd one is a fifth.
        assert!(find(&texts[95..], &[1; 5]).is_none());
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_odd_to_be_looked_at(text in ".{0,30}", other in "[-+0-9.,:/ $%a-z€()']{0,12}") {
            for rule in [
                CellRule::Date(DateOrder::DayMonthYear),
                CellRule::Date(DateOrder::MonthDayYear),
                CellRule::Date(DateOrder::YearMonthDay),
                CellRule::Duration(ShortClock::HoursMinutes),
                CellRule::Number(NumberRule { decimal_comma: true, unit: Unit::None }),
                CellRule::Number(NumberRule { decimal_comma: false, unit: Unit::Percent }),
                CellRule::Boolean,
            ] {
                for text in [&text, &other] {
                    let value = rule.value(text);
                    proptest::prop_assert!(value.is_none_or(f64::is_finite), "{} {:?}", text, rule);
                }
            }
            let _ = find(&[text, other], &[1, 1]);
        }

        #[test]
        fn money_is_read_back(cents in -10_000_000_000i64..10_000_000_000) {
            let (sign, whole, rest) = (if cents < 0 { "-" } else { "" }, cents.abs() / 100, cents.abs() % 100);
            let digits = whole.to_string();
            let grouped = |separator: char| {
                let mut text = String::new();
                for (i, c) in digits.chars().enumerate() {
                    if i > 0 && (digits.len() - i).is_multiple_of(3) {
                        text.push(separator);
                    }
                    text.push(c);
                }
                text
            };
            let value = Some(cents as f64 / 100.0);
            let point = NumberRule { decimal_comma: false, unit: Unit::Currency("$".into()) };
            proptest::prop_assert_eq!(point.value(&format!("{sign}${}.{rest:02}", grouped(','))), value);
            let comma = NumberRule { decimal_comma: true, unit: Unit::Currency("€".into()) };
            proptest::prop_assert_eq!(comma.value(&format!("{sign}{},{rest:02} EUR", grouped('.'))), value);
        }
    }
}
