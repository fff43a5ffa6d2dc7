//! Date patterns as ARFF has them: the common part of Java's `SimpleDateFormat`.

use super::super::date::{self, days_from_civil};

/// A compiled pattern.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DateFormat(Vec<Part>);

#[derive(Debug, Clone, PartialEq)]
enum Part {
    /// A pattern letter and how often it is repeated.
    Field(u8, usize),
    Literal(u8),
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

impl Default for DateFormat {
    /// The pattern of a `date` without one.
    fn default() -> Self {
        Self::compile("yyyy-MM-dd'T'HH:mm:ss").expect("the pattern is known to compile")
    }
}

impl DateFormat {
    /// `None` if a letter has a meaning that is not supported (weeks, eras, weekdays by number).
    pub(super) fn compile(pattern: &str) -> Option<Self> {
        let mut parts = Vec::new();
        let mut bytes = pattern.bytes().peekable();
        let mut in_quotes = false;
        while let Some(byte) = bytes.next() {
            if byte == b'\'' {
                if bytes.next_if_eq(&b'\'').is_some() {
                    parts.push(Part::Literal(b'\''));
                } else {
                    in_quotes = !in_quotes;
                }
            } else if in_quotes || !byte.is_ascii_alphabetic() {
                parts.push(Part::Literal(byte));
            } else if b"yMdHhmsSaZXzE".contains(&byte) {
                let mut n = 1;
                while bytes.next_if_eq(&byte).is_some() {
                    n += 1;
                }
                parts.push(Part::Field(byte, n));
            } else {
                return None;
            }
        }
        (!in_quotes && !parts.is_empty()).then_some(Self(parts))
    }

    /// The instant a cell stands for, in seconds since 1970, UTC where it names no zone.
    pub(super) fn parse(&self, cell: &str) -> Option<f64> {
        let mut rest = cell.trim().as_bytes();
        let mut found = Found::default();
        for (i, part) in self.0.iter().enumerate() {
            match *part {
                Part::Literal(byte) => rest = rest.strip_prefix(&[byte])?,
                Part::Field(letter, n) => {
                    let digits_follow = matches!(self.0.get(i + 1), Some(Part::Field(b, _)) if b"yMdHhmsS".contains(b));
                    rest = found.take(rest, letter, n, digits_follow)?;
                }
            }
        }
        if !rest.is_empty() {
            return None;
        }
        found.seconds()
    }
}

/// The fields of one cell.
struct Found {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    fraction: f64,
    afternoon: Option<bool>,
    offset: i64,
}

impl Default for Found {
    fn default() -> Self {
        Self {
            year: 1970,
            month: 1,
            day: 1,
            hour: 0,
            minute: 0,
            second: 0,
            fraction: 0.0,
            afternoon: None,
            offset: 0,
        }
    }
}

impl Found {
    /// Reads one field off the beginning of `text`.
    fn take<'a>(
        &mut self,
        text: &'a [u8],
        letter: u8,
        n: usize,
        digits_follow: bool,
    ) -> Option<&'a [u8]> {
        let number = |most: usize| number(text, if digits_follow { n } else { most });
        match letter {
            b'y' => {
                let (year, rest) = number(if n == 2 { 4 } else { n.max(4) })?;
                // Two digits: the century that Java's window around today mostly picks.
                let short = n == 2 && text.len() - rest.len() == 2;
                self.year = if !short {
                    year
                } else if year < 70 {
                    2000 + year
                } else {
                    1900 + year
                };
                Some(rest)
            }
            b'M' if n >= 3 => {
                let (name, rest) = word(text);
                let name = std::str::from_utf8(name).ok()?.to_ascii_lowercase();
                let month = MONTHS.iter().position(|m| name.starts_with(m))?;
                self.month = month as i64 + 1;
                Some(rest)
            }
            b'E' => Some(word(text).1),
            b'M' => keep(&mut self.month, number(2)?),
            b'd' => keep(&mut self.day, number(2)?),
            b'H' | b'h' => keep(&mut self.hour, number(2)?),
            b'm' => keep(&mut self.minute, number(2)?),
            b's' => keep(&mut self.second, number(2)?),
            b'S' => {
                let (value, rest) = number(9)?;
                let n_digits = (text.len() - rest.len()) as i32;
                self.fraction = value as f64 / 10f64.powi(n_digits);
                Some(rest)
            }
            b'a' => {
                let (name, rest) = word(text);
                self.afternoon = Some(match name.to_ascii_lowercase().as_slice() {
                    b"am" => false,
                    b"pm" => true,
                    _ => return None,
                });
                Some(rest)
            }
            _ => {
                let zone = |b: &u8| b.is_ascii_alphanumeric() || b"+-:".contains(b);
                let end = text.iter().position(|b| !zone(b)).unwrap_or(text.len());
                self.offset = match &text[..end] {
                    b"UTC" | b"GMT" => 0,
                    zone => date::parse_offset(zone).filter(|_| !zone.is_empty())?,
                };
                Some(&text[end..])
            }
        }
    }

    fn seconds(&self) -> Option<f64> {
        let hour = match self.afternoon {
            Some(afternoon) if (1..=12).contains(&self.hour) => {
                self.hour % 12 + if afternoon { 12 } else { 0 }
            }
            _ => self.hour,
        };
        if hour > 23 || self.minute > 59 || self.second > 60 {
            return None;
        }
        let days = days_from_civil(self.year, self.month, self.day)?;
        let whole = days * 86_400 + hour * 3600 + self.minute * 60 + self.second - self.offset;
        Some(whole as f64 + self.fraction)
    }
}

fn keep<'a>(field: &mut i64, (value, rest): (i64, &'a [u8])) -> Option<&'a [u8]> {
    *field = value;
    Some(rest)
}

/// Up to `most` digits as a number.
fn number(text: &[u8], most: usize) -> Option<(i64, &[u8])> {
    // More than nine digits are no field of a date.
    let n = text.iter().take(most.min(9)).take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(n);
    (n > 0).then(|| (digits.iter().fold(0, |value, b| value * 10 + i64::from(b - b'0')), rest))
}

/// The letters at the beginning.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().position(|b| !b.is_ascii_alphabetic()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_read_what_java_writes() {
        for (pattern, cell, seconds) in [
            ("yyyy-MM-dd'T'HH:mm:ss", "2001-04-03T12:12:12", 986_299_932.0),
            ("yyyy-MM-dd HH:mm:ss", "2001-05-03 12:59:55", 988_894_795.0),
            ("dd/MM/yyyy", "3/4/2001", 986_256_000.0),
            ("dd-MMM-yy", "03-Apr-01", 986_256_000.0),
            ("yyyyMMdd", "20010403", 986_256_000.0),
            ("yyyy", "1971", 31_536_000.0),
            ("hh:mm a", "12:30 AM", 1800.0),
            ("HH:mm:ss.SSS", "00:00:01.250", 1.25),
            ("yyyy-MM-dd HH:mm Z", "1970-01-01 02:00 +0200", 0.0),
        ] {
            let format = DateFormat::compile(pattern).unwrap();
            assert_eq!(format.parse(cell), Some(seconds), "{pattern} {cell}");
        }
    }

    #[test]
    fn what_does_not_fit_is_none() {
        assert_eq!(DateFormat::compile("yyyy-ww"), None);
        assert_eq!(DateFormat::compile("yyyy'open"), None);
        let format = DateFormat::default();
        for cell in
            ["", "2001", "2001-02-30T00:00:00", "2001-04-03T25:00:00", "x", "2001-04-03T12:12:12Z"]
        {
            assert_eq!(format.parse(cell), None, "{cell}");
        }
    }
}
