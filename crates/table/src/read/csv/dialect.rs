//! How a delimited file is written: delimiter, line ends, header, decimal sign.

use std::borrow::Cow;

use super::super::missing::MissingTokens;
use super::super::number::{self, Number};
use super::super::{ReadOptions, date};
use super::sample::{self, SampleRow};
use crate::{Note, TableError};

/// The byte that quotes a cell.
pub(super) const QUOTE: u8 = b'"';

/// The delimiters that are tried, with their names.
const DELIMITERS: [(u8, &str); 4] =
    [(b',', "commas"), (b'\t', "tabs"), (b';', "semicolons"), (b'|', "pipes")];

/// What was found out about a file before its rows are read.
pub(super) struct Dialect {
    pub(super) delimiter: u8,
    pub(super) newline: u8,
    /// Whether every delimiter in the sample is followed by a space, which then belongs to it.
    pub(super) skip_space: bool,
    /// The sign between a number's whole part and its decimals.
    pub(super) decimal: u8,
    pub(super) has_header: bool,
    header_was_asked: bool,
    n_columns: usize,
    header_start: usize,
    /// Where the rows begin.
    pub(super) body: usize,
}

impl Dialect {
    /// Finds out from the first rows; what the user said stands.
    pub(super) fn detect(
        data: &[u8],
        file: &str,
        options: &ReadOptions,
        missing: &MissingTokens,
    ) -> Result<Self, TableError> {
        let start = data.iter().position(|b| !matches!(b, b'\n' | b'\r'));
        let Some(start) = start else { return Err(TableError::Empty { file: file.to_owned() }) };
        let newline = if memchr::memchr(b'\n', data).is_some() || !data.contains(&b'\r') {
            b'\n'
        } else {
            b'\r'
        };
        let sampled = |delimiter: u8| sample::rows(&data[start..], delimiter, newline);
        check_width(&data[start..], newline, file, options)?;
        let delimiter = options.delimiter.unwrap_or_else(|| detect_delimiter(sampled));
        let rows = sampled(delimiter);
        let mut dialect = Self {
            delimiter,
            newline,
            skip_space: spaces_follow(&rows),
            decimal: b'.',
            has_header: true,
            header_was_asked: options.header.is_some(),
            n_columns: rows[0].cells.len(),
            header_start: start,
            body: start,
        };
        if delimiter != b',' && dialect.commas_are_decimal(&rows) {
            dialect.decimal = b',';
        }
        dialect.has_header =
            options.header.unwrap_or_else(|| dialect.first_row_is_header(&rows, missing));
        if dialect.has_header {
            dialect.body = start + rows[0].end;
        }
        Ok(dialect)
    }

    /// A dialect without surprises whose rows begin at `body`.
    #[cfg(test)]
    pub(super) fn plain(delimiter: u8, body: usize) -> Self {
        Self {
            delimiter,
            newline: b'\n',
            skip_space: false,
            decimal: b'.',
            has_header: true,
            header_was_asked: false,
            n_columns: 0,
            header_start: 0,
            body,
        }
    }

    /// What the user should know was decided.
    pub(super) fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        if self.delimiter != b',' {
            let known = DELIMITERS.iter().find(|d| d.0 == self.delimiter);
            let name = known.map_or_else(
                || format!("{:?}", char::from(self.delimiter)),
                |&(_, name)| name.to_owned(),
            );
            notes.push(Note::Delimiter { delimiter: name });
        }
        if self.skip_space {
            notes.push(Note::SpaceAfterDelimiter);
        }
        if self.decimal == b',' {
            notes.push(Note::DecimalCommas);
        }
        if !self.has_header && !self.header_was_asked {
            notes.push(Note::FirstRowIsData { n_columns: self.n_columns });
        }
        notes
    }

    /// The columns' names.
    pub(super) fn names(&self, data: &[u8]) -> Vec<String> {
        let position = |i: usize| format!("column_{}", i + 1);
        if !self.has_header {
            return (0..self.n_columns).map(position).collect();
        }
        let header = sample::first_row(&data[self.header_start..], self.delimiter, self.newline);
        let name = |(i, raw): (usize, &&[u8])| {
            let name = String::from_utf8_lossy(&self.text(raw)).into_owned();
            if name.trim().is_empty() { position(i) } else { name }
        };
        header.cells.iter().enumerate().map(name).collect()
    }

    /// The names that were made up, as the header leaves them out.
    pub(super) fn unnamed(&self, data: &[u8]) -> Vec<String> {
        if !self.has_header {
            return Vec::new();
        }
        let header = sample::first_row(&data[self.header_start..], self.delimiter, self.newline);
        let is_blank = |raw: &&[u8]| self.text(raw).trim_ascii().is_empty();
        let cells = header.cells.iter().enumerate().filter(|(_, raw)| is_blank(raw));
        cells.map(|(i, _)| format!("column_{}", i + 1)).collect()
    }

    /// Leaves off the space that belongs to the delimiter.
    fn strip<'c>(&self, cell: &'c [u8]) -> &'c [u8] {
        if self.skip_space { cell.strip_prefix(b" ").unwrap_or(cell) } else { cell }
    }

    /// The cell as a number, if it is one.
    pub(super) fn number(&self, cell: &[u8]) -> Option<Number> {
        number::parse(cell, self.decimal)
    }

    /// The cell's text: outer quotes gone, doubled quotes single.
    pub(super) fn text<'c>(&self, raw: &'c [u8]) -> Cow<'c, [u8]> {
        let raw = self.strip(raw);
        if raw.first() == Some(&QUOTE) { sample::unquote(raw) } else { Cow::Borrowed(raw) }
    }

    /// Decimal commas: some cell is a number only with them, and none only without.
    fn commas_are_decimal(&self, rows: &[SampleRow<'_>]) -> bool {
        let cells = || rows.iter().flat_map(|row| &row.cells).map(|raw| self.text(raw));
        let reads = |cell: &[u8], decimal: u8| number::parse(cell, decimal).is_some();
        cells().any(|c| reads(&c, b',') && !reads(&c, b'.'))
            && !cells().any(|c| reads(&c, b'.') && !reads(&c, b','))
    }

    /// The first row holds names unless it looks like the rows below: every column of numbers or dates
    /// begins with one, and there is such a column. Names that count up (`0,1,2` or `2019,2020`) stay
    /// names.
    fn first_row_is_header(&self, rows: &[SampleRow<'_>], missing: &MissingTokens) -> bool {
        let [first, rest @ ..] = rows else { return true };
        let typed = |cell: &[u8]| self.number(cell).is_some() || date::parse(cell).is_some();
        let (mut n_typed, mut counted) = (0, Vec::new());
        for (column, name) in first.cells.iter().enumerate() {
            let mut below = rest
                .iter()
                .filter_map(|row| row.cells.get(column))
                .map(|cell| self.text(cell))
                .filter(|cell| !missing.contains(cell))
                .peekable();
            if below.peek().is_none() || !below.all(|cell| typed(&cell)) {
                continue;
            }
            let name = self.text(name);
            if !typed(&name) && !missing.contains(&name) {
                return true;
            }
            n_typed += usize::from(typed(&name));
            counted.push(self.number(&name).filter(|n| n.integer).map(|n| n.value));
        }
        let counts_up = counted.len() >= 2
            && counted.windows(2).all(|w| matches!(w, [Some(a), Some(b)] if *b == a + 1.0));
        n_typed == 0 || counts_up
    }
}

/// Refuses a first row of more cells than there may be columns, before it is split.
fn check_width(
    data: &[u8],
    newline: u8,
    file: &str,
    options: &ReadOptions,
) -> Result<(), TableError> {
    let limit = options.limits.n_columns;
    let row = &data[..memchr::memchr(newline, data).unwrap_or(data.len())];
    let n_cells = |delimiter: u8| 1 + memchr::memchr_iter(delimiter, row).count();
    let too_many = |delimiter: u8| {
        // Delimiters within quotes are text.
        let n_columns = match n_cells(delimiter) {
            n if n > limit && row.contains(&QUOTE) => {
                sample::first_row(data, delimiter, newline).cells.len()
            }
            n => n,
        };
        (n_columns > limit).then_some(n_columns)
    };
    let n_columns = match options.delimiter {
        Some(delimiter) => too_many(delimiter),
        None => DELIMITERS.iter().filter_map(|&(delimiter, _)| too_many(delimiter)).max(),
    };
    match n_columns {
        Some(n_columns) => {
            Err(TableError::TooManyColumns { file: file.to_owned(), n_columns, limit })
        }
        None => Ok(()),
    }
}

/// The delimiter under which the rows agree best on how many cells they have; of equals, the one that
/// makes more cells.
fn detect_delimiter<'a>(sampled: impl Fn(u8) -> Vec<SampleRow<'a>>) -> u8 {
    let score = |delimiter: u8| {
        let rows = sampled(delimiter);
        let n_cells = rows[0].cells.len();
        let agree = rows.iter().filter(|row| row.cells.len() == n_cells).count();
        (n_cells > 1).then(|| (agree as f64 / rows.len() as f64, n_cells))
    };
    let mut best = (b',', (0.0, 0));
    for (delimiter, _) in DELIMITERS {
        if let Some(s) = score(delimiter).filter(|s| *s > best.1) {
            best = (delimiter, s);
        }
    }
    best.0
}

/// Whether every cell but the first of its row begins with a space, as in `a, b, c`.
fn spaces_follow(rows: &[SampleRow<'_>]) -> bool {
    let mut later = rows.iter().flat_map(|row| row.cells.iter().skip(1)).peekable();
    later.peek().is_some() && later.all(|cell| cell.first() == Some(&b' '))
}
