//! ISO 8601 dates and times, as seconds since 1970.

const DAY: i64 = 86_400;

/// Reads a whole cell as `YYYY-MM-DD`, optionally followed by `T` or a space and `HH:MM[:SS[.fff]]`,
/// optionally followed by `Z` or an offset (`+02:00`, `+0200`, `+02`). A time without an offset is UTC.
pub(crate) fn parse(cell: &[u8]) -> Option<f64> {
    let (date, rest) = cell.split_first_chunk::<10>()?;
    let days = parse_date(date)?;
    if rest.is_empty() {
        return Some((days * DAY) as f64);
    }
    let [b'T' | b't' | b' ', time @ ..] = rest else { return None };
    let (hh_mm, rest) = time.split_first_chunk::<5>()?;
    let [h1, h2, b':', m1, m2] = *hh_mm else { return None };
    let (hour, minute) = (pair(h1, h2)?, pair(m1, m2)?);
    let (second, fraction, zone) = parse_seconds(rest)?;
    // A leap second is written as 60 and counted as the next minute's first.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let offset = parse_offset(zone)?;
    let whole = days * DAY + hour * 3600 + minute * 60 + second - offset;
    Some(whole as f64 + fraction)
}

/// Days since 1970-01-01 of a date that exists, from year 0 on.
#[inline]
pub(crate) fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    const LENGTHS: [u8; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let (year, month, day) =
        (u32::try_from(year).ok()?, u32::try_from(month).ok()?, u32::try_from(day).ok()?);
    let in_month = u32::from(*LENGTHS.get((month as usize).wrapping_sub(1))?);
    let leap = || (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400);
    if year > 1_000_000 || day == 0 || day > in_month || (month == 2 && day == 29 && !leap()) {
        return None;
    }
    // Counted in years that begin in March, so that the leap day comes last; and 400 years, or 146,097
    // days, too late, so that January of year 0 is no special case.
    let y = year + 400 - u32::from(month <= 2);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = y * 365 + y / 4 - y / 100 + y / 400 + day_of_year;
    Some(i64::from(days) - 719_468 - 146_097)
}

#[inline]
fn parse_date(date: &[u8; 10]) -> Option<i64> {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *date else { return None };
    let digits = [y1, y2, y3, y4, m1, m2, d1, d2].map(|b| b.wrapping_sub(b'0'));
    // One check for all eight.
    if digits.iter().fold(false, |bad, &d| bad | (d > 9)) {
        return None;
    }
    let [y1, y2, y3, y4, m1, m2, d1, d2] = digits.map(i64::from);
    days_from_civil(y1 * 1000 + y2 * 100 + y3 * 10 + y4, m1 * 10 + m2, d1 * 10 + d2)
}

/// `:SS` and `.fff`, each if present, and what follows.
fn parse_seconds(rest: &[u8]) -> Option<(i64, f64, &[u8])> {
    let [b':', s1, s2, rest @ ..] = rest else { return Some((0, 0.0, rest)) };
    let second = pair(*s1, *s2)?;
    let [b'.' | b',', rest @ ..] = rest else { return Some((second, 0.0, rest)) };
    let n_digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    if !(1..=9).contains(&n_digits) {
        return None;
    }
    let (digits, rest) = rest.split_at(n_digits);
    let number = digits.iter().fold(0u32, |n, d| n * 10 + u32::from(d - b'0'));
    Some((second, f64::from(number) / 10f64.powi(n_digits as i32), rest))
}

/// Seconds east of Greenwich.
pub(crate) fn parse_offset(zone: &[u8]) -> Option<i64> {
    let (sign, hours, minutes) = match *zone {
        [] | [b'Z' | b'z'] => return Some(0),
        [sign, h1, h2] => (sign, pair(h1, h2)?, 0),
        [sign, h1, h2, m1, m2] | [sign, h1, h2, b':', m1, m2] => {
            (sign, pair(h1, h2)?, pair(m1, m2)?)
        }
        _ => return None,
    };
    let east = match sign {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    (hours < 24 && minutes < 60).then_some(east * (hours * 3600 + minutes * 60))
}

#[inline]
fn pair(tens: u8, ones: u8) -> Option<i64> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then(|| i64::from(tens * 10 + ones))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_seconds_since_1970() {
        for (text, seconds) in [
            ("1970-01-01", 0.0),
            ("2000-02-29", 951_782_400.0),
            ("1969-12-31T23:59:59", -1.0),
            ("2024-03-10 12:30", 1_710_073_800.0),
            ("2024-03-10T12:30:15.250Z", 1_710_073_815.25),
            ("2024-03-10T12:30:15+02:00", 1_710_066_615.0),
            ("2024-03-10T12:30:15-0130", 1_710_079_215.0),
            ("0001-01-01", -62_135_596_800.0),
        ] {
            assert_eq!(parse(text.as_bytes()), Some(seconds), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "2024",
            "2024-13-01",
            "2023-02-29",
            "2024-02-30",
            "2024-00-10",
            "2024-1-1",
            "10/03/2024",
            "2024-03-10T",
            "2024-03-10T24:00",
            "2024-03-10T12:60",
            "2024-03-10x12:00",
            "2024-03-10T12:00Q",
            "2024-03-10 12:00:00.",
            "2024-03-101",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn days_agree_with_chrono(days in -719_000i32..2_900_000) {
            use chrono::Datelike;
            let date = chrono::NaiveDate::from_epoch_days(days).unwrap();
            let ours = days_from_civil(date.year().into(), date.month().into(), date.day().into());
            proptest::prop_assert_eq!(ours, Some(i64::from(days)));
        }
    }
}
