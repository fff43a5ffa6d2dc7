//! Numbers as people write them: with a currency, a percent sign, thousands separators, a decimal comma.

use serde::{Deserialize, Serialize};

use super::{CellRule, Found, Texts};

/// How the numbers of a column are written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberRule {
    /// Whether the decimals follow a comma.
    pub decimal_comma: bool,
    /// What the numbers are of.
    pub unit: Unit,
}

/// What numbers are of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nothing that is written.
    None,
    /// Per cent. The number is kept as it is written: `5%` is 5.
    Percent,
    /// Money, all in one currency, under its usual sign.
    Currency(String),
}

/// Currencies by what is written, the longer first, each with its usual sign.
const CURRENCIES: [(&str, &str); 44] = [
    ("US$", "$"),
    ("USD", "$"),
    ("EUR", "€"),
    ("GBP", "£"),
    ("JPY", "¥"),
    ("INR", "₹"),
    ("KRW", "₩"),
    ("RUB", "₽"),
    ("TRY", "₺"),
    ("UAH", "₴"),
    ("ILS", "₪"),
    ("PLN", "zł"),
    ("CZK", "Kč"),
    ("HUF", "Ft"),
    ("CHF", "CHF"),
    ("CNY", "CNY"),
    ("AUD", "A$"),
    ("CAD", "C$"),
    ("NZD", "NZ$"),
    ("SGD", "S$"),
    ("HKD", "HK$"),
    ("BRL", "R$"),
    ("MXN", "MXN"),
    ("ZAR", "ZAR"),
    ("SEK", "SEK"),
    ("NOK", "NOK"),
    ("DKK", "DKK"),
    ("NZ$", "NZ$"),
    ("HK$", "HK$"),
    ("A$", "A$"),
    ("C$", "C$"),
    ("S$", "S$"),
    ("R$", "R$"),
    ("zł", "zł"),
    ("Kč", "Kč"),
    ("Ft", "Ft"),
    ("$", "$"),
    ("€", "€"),
    ("£", "£"),
    ("¥", "¥"),
    ("₹", "₹"),
    ("₩", "₩"),
    ("₽", "₽"),
    ("₺", "₺"),
];

/// A cell taken apart.
struct Parts<'a> {
    is_negative: bool,
    currency: Option<&'static str>,
    is_percent: bool,
    /// Whether the sign is that of printers, not of keyboards.
    has_printed_sign: bool,
    /// Digits and what separates them.
    body: &'a str,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let text = text.trim();
        // Accounts write losses in brackets.
        let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        let mut parts = Self {
            is_negative: inner.is_some(),
            currency: None,
            is_percent: false,
            has_printed_sign: text.contains('−'),
            body: "",
        };
        let mut rest = inner.unwrap_or(text).trim();
        let mut is_signed = inner.is_some();
        loop {
            if let Some(after) = rest.strip_prefix(['-', '+', '−']).filter(|_| !is_signed) {
                parts.is_negative = !rest.starts_with('+');
                is_signed = true;
                rest = after.trim_start();
            } else if let Some((sign, after)) =
                currency_at(rest, str::strip_prefix).filter(|_| parts.currency.is_none())
            {
                parts.currency = Some(sign);
                rest = after.trim_start();
            } else {
                break;
            }
        }
        if let Some(before) = rest.strip_suffix('%') {
            parts.is_percent = true;
            rest = before.trim_end();
        } else if let Some((sign, before)) =
            currency_at(rest, str::strip_suffix).filter(|_| parts.currency.is_none())
        {
            parts.currency = Some(sign);
            rest = before.trim_end();
        }
        parts.body = rest;
        let has_digit = rest.bytes().any(|b| b.is_ascii_digit());
        (has_digit && !(parts.is_percent && parts.currency.is_some())).then_some(parts)
    }

    /// Whether a plain number would be written otherwise.
    fn is_dressed(&self) -> bool {
        let is_plain = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'-' | b'+');
        self.currency.is_some()
            || self.is_percent
            || self.has_printed_sign
            || !self.body.bytes().all(is_plain)
    }
}

fn currency_at<'a>(
    text: &'a str,
    strip: impl Fn(&'a str, &'static str) -> Option<&'a str>,
) -> Option<(&'static str, &'a str)> {
    CURRENCIES.iter().find_map(|&(written, sign)| Some((sign, strip(text, written)?)))
}

/// The value of digits with separators.
fn value(body: &str, decimal: char) -> Option<f64> {
    let (whole, decimals) = match body.split_once(decimal) {
        Some((whole, decimals)) => (whole, decimals),
        None => (body, ""),
    };
    let exponent = decimal == '.' && body.contains(['e', 'E']);
    if exponent && body.bytes().all(|b| b.is_ascii_digit() || b".eE+-".contains(&b)) {
        return fast_float2::parse::<f64, _>(body).ok().filter(|v| v.is_finite());
    }
    if !decimals.bytes().all(|b| b.is_ascii_digit()) || (whole.is_empty() && decimals.is_empty()) {
        return None;
    }
    let mut digits = ungrouped(whole, decimal)?;
    digits.push('.');
    digits.push_str(decimals);
    digits.push('0');
    fast_float2::parse::<f64, _>(&digits).ok().filter(|v| v.is_finite())
}

/// The digits of a whole number, its thousands separated or not.
fn ungrouped(whole: &str, decimal: char) -> Option<String> {
    let Some(separator) = whole.chars().find(|c| !c.is_ascii_digit()) else {
        return Some(format!("0{whole}"));
    };
    let other = if decimal == '.' { ',' } else { '.' };
    let is_separator = separator == other
        || matches!(separator, ' ' | '\'' | '’' | '\u{a0}' | '\u{202f}' | '\u{2009}');
    if !is_separator {
        return None;
    }
    let groups: Vec<&str> = whole.split(separator).collect();
    let (first, rest) = groups.split_first()?;
    let are_digits = groups.iter().all(|g| !g.is_empty() && g.bytes().all(|b| b.is_ascii_digit()));
    let (last, middle) = rest.split_last()?;
    let is_by_thousands = first.len() <= 3 && rest.iter().all(|g| g.len() == 3);
    // Lakhs and crores: 12,34,567.
    let is_indian = separator == ','
        && !middle.is_empty()
        && first.len() <= 2
        && last.len() == 3
        && middle.iter().all(|g| g.len() == 2);
    // A number that begins with a zero and goes on for thousands is a code.
    let is_number = are_digits && !first.starts_with('0') && (is_by_thousands || is_indian);
    is_number.then(|| groups.concat())
}

impl NumberRule {
    /// The number that a cell says.
    pub(super) fn value(&self, text: &str) -> Option<f64> {
        let parts = Parts::of(text)?;
        let value = value(parts.body, if self.decimal_comma { ',' } else { '.' })?;
        let fits = match (&self.unit, parts.currency) {
            (Unit::None, currency) => currency.is_none() && !parts.is_percent,
            // Nothing is nothing; any other number without the sign may be a share of one.
            (Unit::Percent, currency) => currency.is_none() && (parts.is_percent || value == 0.0),
            (Unit::Currency(unit), currency) => {
                !parts.is_percent && currency.is_none_or(|currency| currency == unit)
            }
        };
        fits.then_some(if parts.is_negative { -value } else { value })
    }

    pub(super) fn noun(&self) -> &'static str {
        match self.unit {
            Unit::None => "numbers",
            Unit::Percent => "percentages",
            Unit::Currency(_) => "amounts of money",
        }
    }

    pub(super) fn in_words(&self) -> String {
        let decimals = if self.decimal_comma { "comma" } else { "point" };
        let what = match &self.unit {
            Unit::Currency(sign) => format!("amounts of money in {sign}"),
            _ => self.noun().to_owned(),
        };
        format!("{what} with a decimal {decimals}")
    }
}

/// The rule of a column of such numbers.
pub(super) fn find(column: &Texts<'_>) -> Option<Found> {
    let reads = |text: &str| {
        Parts::of(text).is_some_and(|p| value(p.body, '.').or(value(p.body, ',')).is_some())
    };
    if !column.promises(reads) {
        return None;
    }
    let (mut unit, mut is_dressed) = (Unit::None, false);
    let (mut n_point, mut n_comma, mut has_points) = (0, 0, false);
    for &i in column.present {
        let Some(parts) = Parts::of(&column.texts[i]) else { continue };
        is_dressed |= parts.is_dressed();
        has_points |= parts.body.contains('.');
        n_point += value(parts.body, '.').map_or(0, |_| column.counts[i]);
        n_comma += value(parts.body, ',').map_or(0, |_| column.counts[i]);
        match (&unit, parts.currency) {
            (Unit::None, Some(sign)) => unit = Unit::Currency(sign.to_owned()),
            (Unit::None, None) if parts.is_percent => unit = Unit::Percent,
            _ => (),
        }
    }
    // Numbers that are only written as text are their owner's decision.
    if !is_dressed {
        return None;
    }
    // Where both read all cells, every separator has three digits behind it. A comma then separates thousands; so does
    // a point in an amount of money, which hardly has three decimals.
    let is_money = matches!(unit, Unit::Currency(_));
    let decimal_comma = n_comma > n_point || (n_comma == n_point && has_points && is_money);
    let found = column.read(CellRule::Number(NumberRule { decimal_comma, unit }))?;
    Some(found)
}
