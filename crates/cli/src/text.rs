//! Small things that make plain text readable: aligned columns, short numbers, harmless names.

use std::borrow::Cow;

/// Lines of cells, each column as wide as its widest cell; the last is left as it is.
pub(crate) fn aligned(rows: &[Vec<String>], indent: &str, right: &[usize]) -> String {
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |j: usize| rows.iter().filter_map(|r| r.get(j)).map(|c| c.chars().count()).max();
    let widths: Vec<usize> = (0..n_columns).map(|j| width(j).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = indent.to_owned();
        for (j, cell) in row.iter().enumerate() {
            let padding = " ".repeat(widths[j] - cell.chars().count());
            line += &if right.contains(&j) { padding + cell } else { cell.clone() + &padding };
            line += "  ";
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// A name or a value as one short, printable word: what a file holds must not steer the terminal.
pub(crate) fn shown(text: &str, longest: usize) -> String {
    let mut short: String = text.chars().take(longest).flat_map(printable).collect();
    if text.chars().nth(longest).is_some() {
        short.push('…');
    }
    if short.is_empty() { "\"\"".to_owned() } else { short }
}

/// Lines that may hold names from files, with everything escaped that would steer the terminal.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let is_harmless = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    let escaped = |c: char| if is_harmless(c) { vec![c] } else { printable(c) };
    Cow::Owned(text.chars().flat_map(escaped).collect())
}

fn printable(c: char) -> Vec<char> {
    if c.is_control() { c.escape_default().collect() } else { vec![c] }
}

/// A number to six digits, without those that say nothing.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e15).contains(&size) {
        return trimmed(&format!("{value:.5e}"));
    }
    if value.fract() == 0.0 {
        return format!("{value:.0}");
    }
    let digits_before = size.log10().floor() as i32 + 1;
    let decimals = usize::try_from(6 - digits_before).unwrap_or(0);
    trimmed(&format!("{value:.decimals$}"))
}

/// `1.50000e-7` as `1.5e-7`, `3.140` as `3.14`.
fn trimmed(number: &str) -> String {
    let (digits, exponent) = number.split_at(number.find('e').unwrap_or(number.len()));
    let digits = match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    };
    format!("{digits}{exponent}")
}

/// `1 row`, `2 rows`.
pub(crate) fn counted(n: usize, noun: &str) -> String {
    match (n, noun.strip_suffix('s')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(_)) => format!("{n} {noun}es"),
        _ => format!("{n} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (-3.0, "-3"),
            (32.1, "32.1"),
            (2.0 / 3.0, "0.666667"),
            (1234.5678, "1234.57"),
            (1_234_567.89, "1234568"),
            (0.001_25, "0.00125"),
            (1.5e-7, "1.5e-7"),
            (6.02e23, "6.02e23"),
            (-1e300, "-1e300"),
        ];
        for (value, expected) in cases {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn names_cannot_steer_the_terminal() {
        assert_eq!(shown("a\u{1b}[31mred\n", 40), "a\\u{1b}[31mred\\n");
        assert_eq!(shown("a rather long name", 8), "a rather…");
        assert_eq!(shown("", 8), "\"\"");
        assert_eq!(harmless("one\ttwo\nthree"), "one\ttwo\nthree");
        assert_eq!(harmless("a\u{1b}]0;title\u{7}\n"), "a\\u{1b}]0;title\\u{7}\n");
    }

    #[test]
    fn cells_line_up() {
        let rows = [vec!["a".into(), "10".into(), "x".into()], vec!["bcd".into(), "5".into()]];
        assert_eq!(aligned(&rows, "  ", &[1]), "  a    10  x\n  bcd   5\n");
    }

    #[test]
    fn nouns_are_counted() {
        let all = [counted(1, "row"), counted(3, "row"), counted(2, "class"), counted(0, "class")];
        assert_eq!(all, ["1 row", "3 rows", "2 classes", "0 classes"]);
    }
}
