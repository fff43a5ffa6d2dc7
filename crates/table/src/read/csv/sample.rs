//! The first rows, split simply: what the dialect is judged by.

use std::borrow::Cow;

use super::dialect::QUOTE;

/// So many rows, or so many bytes if that is less, are looked at.
const MAX_ROWS: usize = 200;
const MAX_BYTES: usize = 1 << 17;

/// A row of the sample.
pub(super) struct SampleRow<'a> {
    /// Its cells as they stand in the file, quotes and all.
    pub(super) cells: Vec<&'a [u8]>,
    /// Where the next row begins.
    pub(super) end: usize,
}

/// The first rows, blank ones aside; always at least one. The last is left out where it may be cut off.
pub(super) fn rows(data: &[u8], delimiter: u8, newline: u8) -> Vec<SampleRow<'_>> {
    let mut rows = vec![first_row(data, delimiter, newline)];
    let mut at = rows[0].end;
    while rows.len() < MAX_ROWS && at < data.len().min(MAX_BYTES) {
        let mut row = first_row(&data[at..], delimiter, newline);
        at += row.end;
        row.end = at;
        if !is_blank(&row) {
            rows.push(row);
        }
    }
    rows
}

/// The first row.
pub(super) fn first_row(data: &[u8], delimiter: u8, newline: u8) -> SampleRow<'_> {
    let mut cells = Vec::new();
    let mut start = 0;
    loop {
        let end = cell_end(data, start, delimiter, newline);
        let is_last = data.get(end) != Some(&delimiter);
        let mut raw = &data[start..end];
        if is_last {
            raw = raw.strip_suffix(b"\r").unwrap_or(raw);
        }
        cells.push(raw);
        start = end + 1;
        if is_last {
            return SampleRow { cells, end: start.min(data.len()) };
        }
    }
}

fn is_blank(row: &SampleRow<'_>) -> bool {
    row.cells.len() == 1 && row.cells[0].is_empty()
}

/// Where the cell that begins at `start` ends: at a delimiter, a line end, or the end of the data.
fn cell_end(data: &[u8], start: usize, delimiter: u8, newline: u8) -> usize {
    let mut at = start;
    let space = usize::from(data.get(at) == Some(&b' '));
    if data.get(at + space) == Some(&QUOTE) {
        at += space + 1;
        loop {
            match memchr::memchr(QUOTE, data.get(at..).unwrap_or_default()) {
                None => return data.len(),
                Some(i) if data.get(at + i + 1) == Some(&QUOTE) => at += i + 2,
                Some(i) => break at += i + 1,
            }
        }
    }
    memchr::memchr2(delimiter, newline, &data[at..]).map_or(data.len(), |i| at + i)
}

/// The text of a cell that begins with a quote. What follows the closing quote belongs to the text.
pub(super) fn unquote(raw: &[u8]) -> Cow<'_, [u8]> {
    let inner = &raw[1..];
    match memchr::memchr(QUOTE, inner) {
        None => Cow::Borrowed(inner),
        Some(i) if i + 1 == inner.len() => Cow::Borrowed(&inner[..i]),
        Some(_) => Cow::Owned(undouble(inner)),
    }
}

fn undouble(inner: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(inner.len());
    let mut at = 0;
    while at < inner.len() {
        if inner[at] == QUOTE {
            if inner.get(at + 1) != Some(&QUOTE) {
                text.extend_from_slice(&inner[at + 1..]);
                return text;
            }
            at += 1;
        }
        text.push(inner[at]);
        at += 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_undone_as_rfc_4180_has_it() {
        for (raw, text) in [
            (r#""a,b""#, "a,b"),
            (r#""a ""b"" c""#, r#"a "b" c"#),
            (r#""""#, ""),
            (r#""""""#, r#"""#),
            (r#""ab"cd"#, "abcd"),
            (r#""open"#, "open"),
        ] {
            assert_eq!(String::from_utf8_lossy(&unquote(raw.as_bytes())), text, "{raw}");
        }
    }
}
