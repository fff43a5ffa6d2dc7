//! Rows and cells: where each begins and ends, with quotes as in RFC 4180.
//!
//! A cell is quoted if its first byte is a quote; within, a doubled quote stands for one, and delimiters
//! and line ends are text. A quote anywhere else is a byte like any other, as pandas and pyarrow have it.

use super::dialect::{Dialect, QUOTE};
use super::scan::{self, BATCH, WINDOW, Wanted};
use crate::{Note, TableError};

/// A block ends with the first row that passes this size: the block and the columns it is parsed into
/// should stay in the cache.
const BLOCK_BYTES: usize = 1 << 17;

/// More empty cells than this are not made of blank lines in succession: a few bytes would fill the memory.
const MAX_BLANK_CELLS: usize = 1 << 24;

/// The cells of some consecutive rows.
#[derive(Default)]
pub(super) struct Block {
    /// Where the positions below count from.
    base: usize,
    n_columns: usize,
    /// Where each row begins.
    starts: Vec<u32>,
    /// Where each cell ends, row by row.
    ends: Vec<u32>,
}

impl Block {
    pub(super) fn n_rows(&self) -> usize {
        self.starts.len()
    }

    /// Where the cells of one column begin and end in the data, quotes and all.
    #[inline]
    pub(super) fn spans(&self, column: usize) -> impl Iterator<Item = (usize, usize)> {
        let rows = self.ends.chunks_exact(self.n_columns).zip(&self.starts);
        rows.map(move |(ends, &start)| {
            let start = if column == 0 { start } else { ends[column - 1] + 1 };
            // A cell's end never lies before its start; the minimum is there so that nobody need
            // believe it.
            let (start, end) = (start.min(ends[column]), ends[column]);
            (self.base + start as usize, self.base + end as usize)
        })
    }

    fn n_bytes(&self) -> usize {
        self.ends.last().map_or(0, |&end| end as usize + 1)
    }
}

/// Goes through the rows, block by block.
#[derive(Clone)]
pub(super) struct Records<'a> {
    data: &'a [u8],
    file: &'a str,
    names: &'a [String],
    wanted: Wanted,
    /// Whether one space after a delimiter belongs to it.
    skip_space: bool,
    max_row_bytes: usize,
    /// Where the next row begins.
    at: usize,
    n_rows: usize,
    /// Blank lines that became rows, and where the first of them is.
    n_blank_lines: usize,
    first_blank: usize,
    /// Blank lines just passed: rows if another row follows, nothing at the end of the file.
    n_pending: usize,
}

/// One row being scanned.
struct Row {
    start: usize,
    cell_start: usize,
    n_cells: usize,
    in_quotes: bool,
}

impl<'a> Records<'a> {
    pub(super) fn new(
        data: &'a [u8],
        dialect: &Dialect,
        names: &'a [String],
        file: &'a str,
        max_row_bytes: usize,
    ) -> Self {
        let wanted =
            Wanted { delimiter: dialect.delimiter, newline: dialect.newline, quote: QUOTE };
        let (skip_space, at) = (dialect.skip_space, dialect.body);
        Self {
            data,
            file,
            names,
            wanted,
            skip_space,
            max_row_bytes,
            at,
            n_rows: 0,
            n_blank_lines: 0,
            first_blank: 0,
            n_pending: 0,
        }
    }

    /// Rows passed so far.
    pub(super) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// What to say of the blank lines passed so far.
    pub(super) fn blank_lines(&self) -> Option<Note> {
        let (n, first_line) = (self.n_blank_lines, self.line(self.first_blank));
        (n > 0).then_some(Note::BlankLines { n, first_line })
    }

    /// About how many rows there are from here on, judged by the block just read from here.
    pub(super) fn estimate_rows(&self, block: &Block) -> usize {
        let share = (self.data.len() - self.at) as f64 / block.n_bytes().max(1) as f64;
        (block.n_rows() as f64 * share * 1.02) as usize + 64
    }

    /// Scans the next rows into `block`; false at the end.
    pub(super) fn next_block(&mut self, block: &mut Block) -> Result<bool, TableError> {
        *block = Block {
            base: self.at,
            n_columns: self.names.len(),
            starts: std::mem::take(&mut block.starts),
            ends: std::mem::take(&mut block.ends),
        };
        block.starts.clear();
        block.ends.clear();
        self.scan(block)?;
        Ok(!block.starts.is_empty())
    }

    fn scan(&mut self, block: &mut Block) -> Result<(), TableError> {
        let data = self.data;
        let block_end = self.at.saturating_add(BLOCK_BYTES);
        let mut row = Row::at(self.at);
        // The second of two quotes, already dealt with.
        let mut doubled = usize::MAX;
        let mut window_start = self.at;
        let mut masks = [0; BATCH];
        let (mut n_masks, mut next) = (0, 0);
        while window_start < data.len() {
            if next == n_masks {
                n_masks = scan::masks(&data[window_start..], self.wanted, &mut masks);
                next = 0;
            }
            let mut bits = masks[next];
            next += 1;
            while bits != 0 {
                let at = window_start + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let byte = data[at];
                if byte == QUOTE {
                    if !row.in_quotes {
                        row.in_quotes = self.opens_quotes(&row, at);
                    } else if at != doubled {
                        if data.get(at + 1) == Some(&QUOTE) {
                            doubled = at + 1;
                        } else {
                            row.in_quotes = false;
                        }
                    }
                } else if !row.in_quotes {
                    if byte == self.wanted.delimiter {
                        block.ends.push((at - block.base) as u32);
                        row.n_cells += 1;
                        row.cell_start = at + 1;
                    } else {
                        self.end_row(block, &row, at)?;
                        row = Row::at(at + 1);
                        self.at = at + 1;
                        if at >= block_end {
                            return Ok(());
                        }
                    }
                }
            }
            window_start += WINDOW;
            if window_start.saturating_sub(row.start) > self.max_row_bytes {
                return Err(self.too_long(&row));
            }
        }
        if row.in_quotes {
            return Err(self.unclosed(&row));
        }
        self.at = data.len();
        if row.start < data.len() { self.end_row(block, &row, data.len()) } else { Ok(()) }
    }

    fn opens_quotes(&self, row: &Row, at: usize) -> bool {
        at == row.cell_start
            || (self.skip_space && at == row.cell_start + 1 && self.data[row.cell_start] == b' ')
    }

    #[inline]
    fn end_row(&mut self, block: &mut Block, row: &Row, at: usize) -> Result<(), TableError> {
        let has_return = at > row.start && self.data[at - 1] == b'\r';
        let end = at - usize::from(has_return);
        if end == row.start {
            if self.n_blank_lines + self.n_pending == 0 {
                self.first_blank = row.start;
            }
            self.n_pending += 1;
            return Ok(());
        }
        if self.n_pending > 0 {
            self.insert_blank_rows(block, row)?;
        }
        block.ends.push((end - block.base) as u32);
        block.starts.push((row.start - block.base) as u32);
        if row.n_cells + 1 != self.names.len() {
            return Err(self.ragged(row));
        }
        self.n_rows += 1;
        Ok(())
    }

    /// Puts a row of empty cells for each blank line before the row that has just ended.
    #[cold]
    fn insert_blank_rows(&mut self, block: &mut Block, row: &Row) -> Result<(), TableError> {
        let n_cells = self.n_pending.saturating_mul(self.names.len());
        if n_cells > MAX_BLANK_CELLS {
            let (file, line) = (self.file.to_owned(), self.line(row.start) - self.n_pending);
            return Err(TableError::TooManyBlankLines { file, line, n: self.n_pending });
        }
        let place = (row.start - block.base) as u32;
        let before = block.ends.len() - row.n_cells;
        block.ends.splice(before..before, std::iter::repeat_n(place, n_cells));
        block.starts.extend(std::iter::repeat_n(place, self.n_pending));
        self.n_rows += self.n_pending;
        self.n_blank_lines += self.n_pending;
        self.n_pending = 0;
        Ok(())
    }

    #[cold]
    fn ragged(&self, row: &Row) -> TableError {
        TableError::RaggedRow {
            file: self.file.to_owned(),
            row: self.n_rows + 1,
            line: self.line(row.start),
            expected: self.names.len(),
            got: row.n_cells + 1,
        }
    }

    #[cold]
    fn unclosed(&self, row: &Row) -> TableError {
        TableError::UnclosedQuote {
            file: self.file.to_owned(),
            row: self.n_rows + self.n_pending + 1,
            line: self.line(row.start),
            column: match self.names.get(row.n_cells) {
                Some(name) => name.clone(),
                None => format!("column_{}", row.n_cells + 1),
            },
        }
    }

    #[cold]
    fn too_long(&self, row: &Row) -> TableError {
        let (row_number, line) = (self.n_rows + self.n_pending + 1, self.line(row.start));
        let file = self.file.to_owned();
        TableError::RowTooLong { file, row: row_number, line, limit: self.max_row_bytes }
    }

    fn line(&self, at: usize) -> usize {
        1 + memchr::memchr_iter(self.wanted.newline, &self.data[..at]).count()
    }
}

impl Row {
    fn at(start: usize) -> Self {
        Self { start, cell_start: start, n_cells: 0, in_quotes: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_beyond_the_limit_is_refused_before_it_ends() {
        let data = format!("a,b\n1,2\n3,\"{}", "4\n".repeat(500));
        let names = ["a".to_owned(), "b".to_owned()];
        let dialect = Dialect::plain(b',', 4);
        let mut records = Records::new(data.as_bytes(), &dialect, &names, "t.csv", 200);
        let err = records.next_block(&mut Block::default()).unwrap_err();
        assert_eq!(err.to_string(), "t.csv: row 2 (line 3) is longer than 200 bytes");
    }
}
