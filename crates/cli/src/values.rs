//! Values that command lines hold: times and sizes, as people write them.

use std::time::Duration;

/// `90s`, `1.5m`, `2h`, `500ms`; a bare number is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1e-3,
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        other => return Err(format!("unknown unit {other:?}; say ms, s, m or h")),
    };
    match digits.parse::<f64>() {
        Ok(number) if number > 0.0 && number * unit < 1e9 => {
            Ok(Duration::from_secs_f64(number * unit))
        }
        Ok(number) if number <= 0.0 => {
            Err("a time is more than nothing: say 30s, 5m or 1h".to_owned())
        }
        Ok(number) if number * unit >= 1e9 => Err("that is longer than thirty years".to_owned()),
        _ => Err("expected a time such as 30s, 5m or 1h".to_owned()),
    }
}

/// A time as people write it: `60s`, `1.5s`, `250ms`.
pub(crate) fn written_duration(time: Duration) -> String {
    let secs = time.as_secs_f64();
    match secs {
        s if s < 1e-3 => format!("{}ms", s * 1e3),
        s if s < 1.0 => format!("{:.0}ms", s * 1e3),
        s if s.fract() < 0.05 || s >= 100.0 => format!("{s:.0}s"),
        s => format!("{s:.1}s"),
    }
}

/// A size as people write it: `4GB`, `1.5GB`, `350MB`.
pub(crate) fn written_size(bytes: u64) -> String {
    let bytes = bytes as f64;
    match bytes {
        b if b < 1e6 => format!("{:.0}kB", (b / 1e3).ceil()),
        b if b < 1e9 => format!("{:.0}MB", (b / 1e6).ceil()),
        b if (b / 1e9).fract() < 0.05 => format!("{:.0}GB", b / 1e9),
        b => format!("{:.1}GB", b / 1e9),
    }
}

/// `4GB`, `500MB`, `1.5GiB`; a bare number is bytes.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        other => return Err(format!("unknown unit {other:?}; say MB, GB, MiB or GiB")),
    };
    match digits.trim().parse::<f64>() {
        Ok(number) if number > 0.0 && (1.0..1e18).contains(&(number * unit)) => {
            Ok((number * unit) as u64)
        }
        _ => Err("expected a size such as 500MB or 4GB".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("2"), Ok(Duration::from_secs(2)));
        assert!(duration("").is_err() && duration("-1s").is_err() && duration("5 days").is_err());
        assert!(duration("1e300h").is_err() && duration("nans").is_err());
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("4GB"), Ok(4_000_000_000));
        assert_eq!(size("1.5 GiB"), Ok(1_610_612_736));
        assert_eq!(size("500mb"), Ok(500_000_000));
        assert_eq!(size("4096"), Ok(4096));
        for wrong in ["", "GB", "-1GB", "0", "1e300GB", "4 parsecs", "nan"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_written_as_they_are_read() {
        for text in ["4GB", "1.5GB", "350MB", "64kB"] {
            assert_eq!(written_size(size(text).unwrap()), text);
        }
    }

    #[test]
    fn times_are_written_as_they_are_read() {
        for text in ["60s", "1.5s", "250ms", "3600s", "0.001ms"] {
            assert_eq!(written_duration(duration(text).unwrap()), text);
        }
    }
}
