//! Numbers written in decimal, to the nearest double.

use super::short::{self, LOW_BYTES, SHORT};

/// A cell that is a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    /// The nearest double; infinite if it is too large for one or says so; never NaN.
    pub(super) value: f64,
    /// Whether it was written as an integer: a sign and digits, nothing else.
    pub(super) integer: bool,
}

/// Powers of ten that a double holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The integers up to this are doubles.
pub(super) const MOST_EXACT: u64 = 1 << 53;

/// One in every byte of a word.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Reads a whole cell as a number; spaces around it do not count. `decimal` is `.` or `,`.
pub(super) fn parse(cell: &[u8], decimal: u8) -> Option<Number> {
    parse_within(cell, 0, cell.len(), decimal)
}

/// Reads the cell from `start` to `end` as a number.
#[inline(always)]
pub(super) fn parse_within(data: &[u8], start: usize, end: usize, decimal: u8) -> Option<Number> {
    let negative = start < end && data[start] == b'-';
    let len = end - start - usize::from(negative);
    if (1..=SHORT).contains(&len) {
        let number = parse_short(short::load_right(data, end, len), len, negative, decimal);
        if number.is_some() {
            return number;
        }
    }
    parse_any(&data[start..end], decimal)
}

/// The common case, without a loop: digits and perhaps a point in at most 16 bytes, few enough digits
/// for one exactly rounded operation (Clinger's fast path): an integer of at most 53 bits divided by an
/// exact power of ten.
///
/// The last byte of the cell is the highest of the word, so that its end is where it is for any length.
#[inline(always)]
fn parse_short(word: u128, len: usize, negative: bool, decimal: u8) -> Option<Number> {
    const ZEROS: u128 = ((ONES as u128 * 0x30) << 64) | (ONES as u128 * 0x30);
    let point = find(word, decimal);
    let has_point = point < SHORT;
    let (digits, places) = if has_point {
        // What stands before the point moves up and covers it.
        let before = word & LOW_BYTES[point];
        ((word & !LOW_BYTES[point + 1]) | before << 8, SHORT - 1 - point)
    } else {
        (word, 0)
    };
    let n_digits = len - usize::from(has_point);
    let digits = digits | (ZEROS & LOW_BYTES[SHORT - n_digits]);
    let (first, last) = (digits as u64, (digits >> 64) as u64);
    let mantissa = eight_digits(first) * 100_000_000 + eight_digits(last);
    let is_number =
        are_digits(first) & are_digits(last) & (mantissa <= MOST_EXACT) & (n_digits > 0);
    let magnitude = mantissa as f64 / POWERS[places];
    let value = if negative { -magnitude } else { magnitude };
    is_number.then_some(Number { value, integer: !has_point })
}

/// The position of the first byte that equals `wanted`, 16 if there is none.
#[inline(always)]
fn find(word: u128, wanted: u8) -> usize {
    let zeros = |word: u64| {
        let x = word ^ (ONES * u64::from(wanted));
        x.wrapping_sub(ONES) & !x & (ONES << 7)
    };
    let (low, high) = (zeros(word as u64), zeros((word >> 64) as u64));
    let first = if low != 0 { low.trailing_zeros() } else { 64 + high.trailing_zeros() };
    first as usize / 8
}

#[inline(always)]
fn are_digits(word: u64) -> bool {
    let tens = ONES * 0xf0;
    ((word & tens) == ONES * 0x30) & ((word.wrapping_add(ONES * 6) & tens) == ONES * 0x30)
}

/// The value of eight digits, the first in the lowest byte: pairs, then fours, then all.
#[inline(always)]
fn eight_digits(word: u64) -> u64 {
    let digits = word & (ONES * 0x0f);
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours * 10_000 + (fours >> 32)) & 0xffff_ffff
}

/// Exponents, more digits, a leading plus, spaces around it, infinities.
#[cold]
#[inline(never)]
fn parse_any(cell: &[u8], decimal: u8) -> Option<Number> {
    let cell = cell.trim_ascii();
    let (negative, digits) = match cell.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, cell),
    };
    let sign = if negative { -1.0 } else { 1.0 };
    if digits.eq_ignore_ascii_case(b"inf") || digits.eq_ignore_ascii_case(b"infinity") {
        return Some(Number { value: sign * f64::INFINITY, integer: false });
    }
    let first = *digits.first()?;
    // The parser below also knows words and a second sign.
    if !(first.is_ascii_digit() || first == decimal) {
        return None;
    }
    let integer = digits.iter().all(u8::is_ascii_digit);
    let magnitude: f64 = if decimal == b'.' {
        fast_float2::parse(digits).ok()?
    } else {
        let dotted = |&b: &u8| match b {
            b'.' => None,
            b if b == decimal => Some(b'.'),
            b => Some(b),
        };
        fast_float2::parse(digits.iter().map(dotted).collect::<Option<Vec<u8>>>()?).ok()?
    };
    Some(Number { value: sign * magnitude, integer })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_writing_a_number_is_read() {
        let value = |s: &str| parse(s.as_bytes(), b'.').map(|n| n.value);
        for (text, number) in [
            ("0", 0.0),
            ("-17", -17.0),
            ("+5", 5.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("-1.5E-3", -0.0015),
            (" 12 ", 12.0),
            ("9007199254740993", 9007199254740992.0),
            ("18446744073709551615", 18446744073709551616.0),
            ("0.1", 0.1),
            ("1e999", f64::INFINITY),
            ("-inf", f64::NEG_INFINITY),
            ("Infinity", f64::INFINITY),
        ] {
            assert_eq!(value(text), Some(number), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in [
            "", "-", "+", ".", "abc", "1x", "1,5", "--1", "+-1", "1e", "nan", "0x10", "1_0", "1 2",
            "infin",
        ] {
            assert_eq!(parse(text.as_bytes(), b'.'), None, "{text}");
        }
        assert_eq!(parse(b"1.5", b','), None);
        assert_eq!(parse(b"1,5e2", b',').map(|n| n.value), Some(150.0));
    }

    #[test]
    fn only_digits_make_an_integer() {
        let integer = |s: &str| parse(s.as_bytes(), b'.').unwrap().integer;
        assert!(integer("12") && integer("-12") && integer("123456789012345678901234567890"));
        assert!(!integer("12.0") && !integer("1e3"));
    }

    proptest::proptest! {
        #[test]
        fn the_nearest_double_is_found(value in proptest::num::f64::NORMAL, places in 0usize..25) {
            for text in [format!("{value}"), format!("{value:e}"), format!("{value:.places$}")] {
                let nearest: f64 = text.parse().unwrap();
                proptest::prop_assert_eq!(parse(text.as_bytes(), b'.').unwrap().value, nearest);
            }
        }

        #[test]
        fn short_decimals_are_rounded_as_the_standard_library_does(
            mantissa in 0u64..10_000_000_000_000_000_000, places in 0usize..19
        ) {
            let digits = format!("{mantissa:020}");
            let text = format!("{}.{}", &digits[..20 - places], &digits[20 - places..]);
            let nearest: f64 = text.parse().unwrap();
            proptest::prop_assert_eq!(parse(text.as_bytes(), b'.').unwrap().value, nearest);
        }
    }
}
