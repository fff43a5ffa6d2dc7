//! Dates that are not ISO 8601: `31.12.2023`, `12/31/2023`, `Jan 5, 2024`.

use serde::{Deserialize, Serialize};

use super::duration::{ShortClock, clock_seconds};
use super::{CellRule, Found, Texts};
use crate::read::{days_from_civil, parse_instant};

/// The order in which a date's figures stand. Where the month has a name, the order does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DateOrder {
    /// `31.12.2023`
    DayMonthYear,
    /// `12/31/2023`
    MonthDayYear,
    /// `2023/12/31`
    YearMonthDay,
}

/// Years of two figures below this are of this century.
const THIS_CENTURY: i64 = 69;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

impl DateOrder {
    const ALL: [Self; 3] = [Self::DayMonthYear, Self::MonthDayYear, Self::YearMonthDay];

    pub(super) fn in_words(self) -> &'static str {
        match self {
            Self::DayMonthYear => "day, month, year",
            Self::MonthDayYear => "month, day, year",
            Self::YearMonthDay => "year, month, day",
        }
    }

    /// The instant that a cell says, in seconds since the start of 1970, UTC.
    pub(super) fn instant(self, text: &str) -> Option<f64> {
        let text = text.trim();
        // No date is longer, and few texts are so short.
        if text.len() < 6 || text.len() > 48 {
            return None;
        }
        if let Some(seconds) = parse_instant(text.as_bytes()) {
            return Some(seconds);
        }
        let (date, time) = parted(text);
        let days = self.days(date)?;
        let seconds = if time.is_empty() { 0.0 } else { time_of_day(time)? };
        Some(days as f64 * 86_400.0 + seconds)
    }

    /// The day that a date says, counted from the start of 1970.
    fn days(self, date: &str) -> Option<i64> {
        let mut parts: Vec<&str> = date.split([' ', ',', '/', '-', '.']).collect();
        parts.retain(|part| !part.is_empty());
        if parts.first().is_some_and(|part| is_named(part, &WEEKDAYS).is_some()) {
            parts.remove(0);
        }
        let named = parts.iter().position(|part| is_named(part, &MONTHS).is_some());
        let (year, month, day) = match (parts.as_slice(), named) {
            ([month, year], Some(0)) if year.len() == 4 => {
                (whole(year)?, is_named(month, &MONTHS)?, 1)
            }
            ([month, day, year], Some(0)) => {
                (year_of(year)?, is_named(month, &MONTHS)?, whole(ordinal(day))?)
            }
            // `31st` has four characters, too.
            ([year, month, day], Some(1)) if year.len() == 4 && whole(year).is_some() => {
                (whole(year)?, is_named(month, &MONTHS)?, whole(day)?)
            }
            ([day, month, year], Some(1)) => {
                (year_of(year)?, is_named(month, &MONTHS)?, whole(ordinal(day))?)
            }
            ([a, b, c], None) => self.of_figures(date, [a, b, c])?,
            _ => return None,
        };
        days_from_civil(year, month, day)
    }

    /// Year, month and day of three figures.
    fn of_figures(self, date: &str, parts: [&str; 3]) -> Option<(i64, i64, i64)> {
        let separator = date.chars().find(|c| !c.is_ascii_digit())?;
        let is_even =
            date.chars().filter(|c| !c.is_ascii_digit() && *c != ' ').all(|c| c == separator);
        let n_separators = date.matches(separator).count();
        if separator == ' ' || !is_even || n_separators != 2 {
            return None;
        }
        let [year, month, day] = match self {
            Self::DayMonthYear => [parts[2], parts[1], parts[0]],
            Self::MonthDayYear => [parts[2], parts[0], parts[1]],
            Self::YearMonthDay => parts,
        };
        // 1.2.34 is the number of a version or a chapter; 01.02.34 is a date.
        let is_full = separator == '/' || (month.len() == 2 && day.len() == 2);
        let year = match year.len() {
            4 => whole(year)?,
            2 if self != Self::YearMonthDay && is_full => year_of(year)?,
            _ => return None,
        };
        Some((year, whole(month)?, whole(day)?))
    }
}

/// The position of a name, of which three letters are enough, counted from 1.
fn is_named(word: &str, names: &[&str]) -> Option<i64> {
    let word = word.to_ascii_lowercase();
    if word.len() < 3 || !word.bytes().all(|b| b.is_ascii_alphabetic()) {
        return None;
    }
    let word = if word == "sept" || word == "tues" || word == "thurs" { &word[..3] } else { &word };
    let is_it = |name: &&str| *name == word || (word.len() == 3 && name.starts_with(word));
    names.iter().position(is_it).map(|at| at as i64 + 1)
}

fn whole(part: &str) -> Option<i64> {
    let is_number = (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| part.parse().ok()).flatten()
}

/// `5` of `5th`.
fn ordinal(part: &str) -> &str {
    ["st", "nd", "rd", "th"].iter().find_map(|end| part.strip_suffix(end)).unwrap_or(part)
}

fn year_of(part: &str) -> Option<i64> {
    let year = whole(part)?;
    match part.len() {
        4 => Some(year),
        2 if year < THIS_CENTURY => Some(2000 + year),
        2 => Some(1900 + year),
        _ => None,
    }
}

/// A date and the time of day behind it.
fn parted(text: &str) -> (&str, &str) {
    let Some(colon) = text.find(':') else { return (text, "") };
    let hour = text[..colon].trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (date, time) = text.split_at(hour);
    (date.trim_end_matches([' ', ',', 'T']), time)
}

/// `13:45`, `1:45:10 PM`, perhaps with an offset.
fn time_of_day(text: &str) -> Option<f64> {
    let (clock, zone) = match text.find(['+', '-', 'Z', 'z', 'U', 'G']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let offset = match zone {
        "" | "Z" | "z" | "UTC" | "GMT" => 0,
        offset => crate::read::parse_offset(offset.as_bytes())?,
    };
    let seconds = clock_seconds(clock, ShortClock::HoursMinutes)?;
    (seconds < 86_401.0).then_some(seconds - offset as f64)
}

/// The rule of a column of dates.
pub(super) fn find(column: &Texts<'_>) -> Option<Found> {
    let reads = |text: &str| DateOrder::ALL.iter().any(|order| order.instant(text).is_some());
    if !column.promises(reads) {
        return None;
    }
    let found = |order: DateOrder| column.read(CellRule::Date(order));
    let (day_first, month_first) = (found(DateOrder::DayMonthYear), found(DateOrder::MonthDayYear));
    match (day_first, month_first) {
        (Some(day), Some(month)) if day.n_odd == month.n_odd => {
            // Slashes are American unless something says otherwise; points and hyphens never are.
            let slashes = |i: &usize| column.texts[*i].contains('/');
            let is_american = column.present.iter().any(slashes);
            let is_guess = is_american && day.values != month.values;
            Some(Found { is_guess, ..if is_american && is_guess { month } else { day } })
        }
        (Some(day), Some(month)) => Some(if day.n_odd < month.n_odd { day } else { month }),
        (Some(one), None) | (None, Some(one)) => Some(one),
        (None, None) => found(DateOrder::YearMonthDay),
    }
}
