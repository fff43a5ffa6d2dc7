//! Dates as numbers: the parts that vary, and the days elapsed.

use chrono::{DateTime, Datelike, Timelike, Utc};
use serde::{Deserialize, Serialize};

/// A number taken from an instant (in UTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatePart {
    /// The year.
    Year,
    /// The month, 1 to 12.
    Month,
    /// The day of the month, 1 to 31.
    Day,
    /// The day of the week, 1 (Monday) to 7.
    Weekday,
    /// The hour, 0 to 23.
    Hour,
    /// The minute, 0 to 59.
    Minute,
    /// Days since the start of 1970, with fractions: what a trend needs. (Seconds are in here only: on
    /// their own they repeat every minute, and hardly anything else does.)
    ElapsedDays,
}

impl DatePart {
    const ALL: [Self; 7] = [
        Self::Year,
        Self::Month,
        Self::Day,
        Self::Weekday,
        Self::Hour,
        Self::Minute,
        Self::ElapsedDays,
    ];

    /// Its name in that of the feature.
    pub fn name(self) -> &'static str {
        match self {
            Self::Year => "year",
            Self::Month => "month",
            Self::Day => "day",
            Self::Weekday => "weekday",
            Self::Hour => "hour",
            Self::Minute => "minute",
            Self::ElapsedDays => "elapsed_days",
        }
    }

    /// This part of each instant; NaN where there is none.
    pub(super) fn of(self, seconds: &[f64]) -> Vec<f64> {
        seconds.iter().map(|&s| self.of_one(s).unwrap_or(f64::NAN)).collect()
    }

    fn of_one(self, seconds: f64) -> Option<f64> {
        const SECONDS_PER_DAY: f64 = 86_400.0;
        if self == Self::ElapsedDays {
            return Some(seconds / SECONDS_PER_DAY);
        }
        let at = instant(seconds)?;
        Some(match self {
            Self::Year => f64::from(at.year()),
            Self::Month => f64::from(at.month()),
            Self::Day => f64::from(at.day()),
            Self::Weekday => f64::from(at.weekday().number_from_monday()),
            Self::Hour => f64::from(at.hour()),
            Self::Minute | Self::ElapsedDays => f64::from(at.minute()),
        })
    }
}

/// The parts that differ between the instants; none where all are equal.
pub(super) fn varying_parts(seconds: &[f64]) -> Vec<DatePart> {
    let varies = |part: &DatePart| {
        let mut present = seconds.iter().filter_map(|&s| part.of_one(s)).filter(|v| !v.is_nan());
        let first = present.next();
        present.any(|value| Some(value) != first)
    };
    DatePart::ALL.into_iter().filter(varies).collect()
}

/// An instant (seconds since the start of 1970) as people write it: the time only where there is one.
pub fn written_instant(seconds: f64) -> String {
    match instant(seconds) {
        Some(at) if seconds.rem_euclid(86_400.0) == 0.0 => at.format("%Y-%m-%d").to_string(),
        Some(at) if at.second() == 0 => at.format("%Y-%m-%d %H:%M").to_string(),
        Some(at) => at.format("%Y-%m-%d %H:%M:%S").to_string(),
        None => format!("{seconds} s"),
    }
}

/// `None` for NaN, and for years beyond the calendar's.
fn instant(seconds: f64) -> Option<DateTime<Utc>> {
    let in_range = seconds.abs() < 8e12;
    in_range.then(|| DateTime::from_timestamp(seconds.floor() as i64, 0)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2024-02-29T13:45:10Z, a Thursday.
    const LEAP: f64 = 1_709_214_310.0;

    #[test]
    fn parts_of_a_leap_day() {
        let of = |part: DatePart| part.of(&[LEAP])[0];
        let parts = DatePart::ALL.map(of);
        assert_eq!(parts[..6], [2024., 2., 29., 4., 13., 45.]);
        assert!((parts[6] - 19_782.573_032_407).abs() < 1e-6);
        assert_eq!(written_instant(LEAP), "2024-02-29 13:45:10");
    }

    #[test]
    fn dates_before_1970_count_down() {
        // 1969-12-31T23:00:00Z, a Wednesday.
        let of = |part: DatePart| part.of(&[-3600.0])[0];
        assert_eq!([DatePart::Year, DatePart::Weekday, DatePart::Hour].map(of), [1969., 3., 23.]);
        assert_eq!(written_instant(-86_400.0), "1969-12-31");
        assert_eq!(written_instant(-3600.0), "1969-12-31 23:00");
    }

    #[test]
    fn only_what_varies_is_a_part() {
        let day = 86_400.0;
        let same_hour = [LEAP, LEAP + day, f64::NAN, LEAP + 2.0 * day];
        let expected = [DatePart::Month, DatePart::Day, DatePart::Weekday, DatePart::ElapsedDays];
        assert_eq!(varying_parts(&same_hour), expected);
        assert!(varying_parts(&[LEAP, f64::NAN, LEAP]).is_empty());
        assert!(varying_parts(&[]).is_empty());
    }

    #[test]
    fn what_no_calendar_holds_is_missing() {
        assert!(DatePart::Year.of(&[f64::NAN, 1e15]).iter().all(|v| v.is_nan()));
    }
}
