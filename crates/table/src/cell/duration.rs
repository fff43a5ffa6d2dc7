//! Durations and times of day: `1h30m`, `45 min`, `01:23:45`, `1:30 PM`, `PT1H30M`.

use serde::{Deserialize, Serialize};

use super::{CellRule, Found, Texts};

/// What two figures with a colon between them are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShortClock {
    /// `12:30` is half past twelve.
    HoursMinutes,
    /// `2:30` is two minutes and a half, as it stands among cells such as `1:02:30`.
    MinutesSeconds,
}

/// Units by their names, in seconds.
const UNITS: [(&[&str], f64); 6] = [
    (&["w", "wk", "wks", "week", "weeks"], 604_800.0),
    (&["d", "day", "days"], 86_400.0),
    (&["h", "hr", "hrs", "hour", "hours"], 3600.0),
    (&["m", "min", "mins", "minute", "minutes"], 60.0),
    (&["s", "sec", "secs", "second", "seconds"], 1.0),
    (&["ms", "msec", "millisecond", "milliseconds"], 1e-3),
];

impl ShortClock {
    /// The seconds that a cell says.
    pub(super) fn seconds(self, text: &str) -> Option<f64> {
        let text = text.trim();
        let (sign, text) = match text.strip_prefix('-') {
            Some(rest) => (-1.0, rest.trim_start()),
            None => (1.0, text),
        };
        let seconds = match text.find(':') {
            Some(colon) => {
                // What stands before the clock: `1 day, 2:03:04`.
                let is_of_clock = |c: char| c.is_ascii_digit();
                let start = text[..colon].trim_end_matches(is_of_clock).len();
                let (before, clock) = text.split_at(start);
                let before = before.trim_end().trim_end_matches(',').trim_end();
                let days = if before.is_empty() { 0.0 } else { by_units(before)? };
                days + clock_seconds(clock, self)?
            }
            None => match text.strip_prefix('P') {
                Some(rest) => by_iso(rest)?,
                None => by_units(text)?,
            },
        };
        Some(sign * seconds)
    }
}

/// `1DT2H30M`, what follows the P of ISO 8601. Months and years are no number of seconds.
fn by_iso(text: &str) -> Option<f64> {
    let (days, time) = text.split_once('T').unwrap_or((text, ""));
    let part = |text: &str, units: &str| {
        let is_one = |c: char| c.is_ascii_digit() || c == '.' || units.contains(c);
        match text {
            "" => Some(0.0),
            _ if text.chars().all(is_one) => by_units(&text.to_ascii_lowercase()),
            _ => None,
        }
    };
    let is_whole = !text.is_empty() && !text.ends_with('T');
    is_whole.then(|| Some(part(days, "WD")? + part(time, "HMS")?)).flatten()
}

/// `1h 30min`: numbers, each with its unit, the larger unit first.
fn by_units(text: &str) -> Option<f64> {
    let (mut seconds, mut last) = (0.0, f64::INFINITY);
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let number: f64 = rest[..rest.len() - digits.len()].parse().ok()?;
        let word = digits.trim_start();
        let after = word.trim_start_matches(char::is_alphabetic);
        // A number and a capital M may be so many millions.
        let name = match &word[..word.len() - after.len()] {
            "M" if last == f64::INFINITY => return None,
            name => name.to_ascii_lowercase(),
        };
        let (_, unit) = UNITS.iter().find(|(names, _)| names.contains(&name.as_str()))?;
        if *unit >= last || !number.is_finite() {
            return None;
        }
        seconds += number * unit;
        last = *unit;
        rest = after.trim_start_matches([' ', ',']);
    }
    (last < f64::INFINITY && seconds.is_finite()).then_some(seconds)
}

/// `1:02:03.5`, `12:30`, `1:30 PM`.
pub(super) fn clock_seconds(text: &str, short: ShortClock) -> Option<f64> {
    let lower = text.trim().to_ascii_lowercase();
    let (figures, half_day) = match (lower.strip_suffix("am"), lower.strip_suffix("pm")) {
        (Some(figures), _) => (figures.trim_end(), Some(0.0)),
        (_, Some(figures)) => (figures.trim_end(), Some(12.0)),
        _ => (lower.as_str(), None),
    };
    let parts: Vec<&str> = figures.split(':').collect();
    let whole = |part: &str, most: usize| {
        let is_number =
            (1..=most).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| part.parse::<f64>().ok()).flatten()
    };
    let sixtieth = |part: &str| whole(part, 2).filter(|&v| part.len() == 2 && v < 60.0);
    let seconds = |part: &str| {
        let (before, after) = part.split_once('.').unwrap_or((part, "0"));
        let fraction =
            (!after.is_empty() && after.len() <= 9 && after.bytes().all(|b| b.is_ascii_digit()))
                .then(|| format!("0.{after}").parse::<f64>().ok())??;
        Some(sixtieth(before)? + fraction)
    };
    let (mut hours, minutes, seconds) = match parts.as_slice() {
        [h, m, s] => (whole(h, 6)?, sixtieth(m)?, seconds(s)?),
        [h, m] if short == ShortClock::HoursMinutes || half_day.is_some() => {
            (whole(h, 6)?, sixtieth(m)?, 0.0)
        }
        [m, s] => (0.0, whole(m, 6)?, seconds(s)?),
        _ => return None,
    };
    if let Some(noon) = half_day {
        if !(1.0..=12.0).contains(&hours) {
            return None;
        }
        hours = hours % 12.0 + noon;
    }
    Some(3600.0 * hours + 60.0 * minutes + seconds)
}

/// The rule of a column of durations.
pub(super) fn find(column: &Texts<'_>) -> Option<Found> {
    let reads = |text: &str| ShortClock::MinutesSeconds.seconds(text).is_some();
    if !column.promises(|text| reads(text) || ShortClock::HoursMinutes.seconds(text).is_some()) {
        return None;
    }
    let n_colons = |i: &usize| column.texts[*i].matches(':').count();
    let has_long = column.present.iter().any(|i| n_colons(i) == 2);
    let has_short = column.present.iter().any(|i| n_colons(i) == 1);
    let short = match has_long && has_short {
        true => ShortClock::MinutesSeconds,
        false => ShortClock::HoursMinutes,
    };
    column.read(CellRule::Duration(short))
}
