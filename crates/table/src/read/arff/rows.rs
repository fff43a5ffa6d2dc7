//! The rows after `@data`: `a,b,c`, or `{index value, …}` where most cells are zero.

use super::super::missing::MissingTokens;
use super::cells::{Builder, Fault};
use super::token::{self, Token};
use crate::TableError;

/// What the reading of a row needs to know.
pub(super) struct Context<'a> {
    pub(super) file: &'a str,
    pub(super) names: &'a [String],
    pub(super) missing: &'a MissingTokens,
}

/// Which row it is.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) row: usize,
    pub(super) line: usize,
}

/// Appends a row to the columns; true if it had an instance weight, which is ignored.
pub(super) fn append(
    context: &Context<'_>,
    builders: &mut [Builder],
    line: &str,
    place: Place,
) -> Result<bool, TableError> {
    if line.starts_with('{') {
        return append_sparse(context, builders, line, place);
    }
    let mut cells = context.split(line, place)?;
    let is_weight = |cell: &Token<'_>| !cell.quoted && cell.text.starts_with('{');
    let has_weight = cells.len() == builders.len() + 1 && cells.last().is_some_and(is_weight);
    if has_weight {
        cells.pop();
    }
    if cells.len() != builders.len() {
        return Err(context.ragged(place, cells.len()));
    }
    for (column, (builder, cell)) in builders.iter_mut().zip(&cells).enumerate() {
        context.push(builder, cell, column, place)?;
    }
    Ok(has_weight)
}

fn append_sparse(
    context: &Context<'_>,
    builders: &mut [Builder],
    line: &str,
    place: Place,
) -> Result<bool, TableError> {
    let syntax = |expected: &'static str, found: &str| TableError::ArffSyntax {
        file: context.file.to_owned(),
        line: place.line,
        expected,
        found: found.chars().take(60).collect(),
    };
    let mut cells: Vec<Option<Token<'_>>> = vec![None; builders.len()];
    let mut rest = line[1..].trim_start();
    let after = loop {
        if let Some(after) = rest.strip_prefix('}') {
            break after;
        }
        let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let index: usize =
            rest[..n_digits].parse().map_err(|_| syntax("a column's index", rest))?;
        rest = rest[n_digits..].trim_start();
        let (cell, after) = match rest.as_bytes().first() {
            Some(b'\'' | b'"') => {
                token::quoted(rest).map_err(|_| context.unclosed(place, index))?
            }
            _ => {
                let end = rest.find([',', '}']).unwrap_or(rest.len());
                let text = rest[..end].trim_ascii_end().into();
                (Token { text, quoted: false }, &rest[end..])
            }
        };
        let Some(slot) = cells.get_mut(index) else {
            return Err(syntax("an index below the number of columns", &index.to_string()));
        };
        if slot.replace(cell).is_some() {
            return Err(syntax("each index once", &index.to_string()));
        }
        rest = after.trim_start();
        match rest.as_bytes().first() {
            Some(b',') => rest = rest[1..].trim_start(),
            Some(b'}') => {}
            _ => return Err(syntax("a comma or a closing brace", rest)),
        }
    };
    for (column, (builder, cell)) in builders.iter_mut().zip(&cells).enumerate() {
        match cell {
            Some(cell) => context.push(builder, cell, column, place)?,
            None => builder.push_omitted(),
        }
    }
    let weight = after.trim_start_matches([',', ' ', '\t']);
    if !weight.is_empty() && !weight.starts_with('{') {
        return Err(syntax("the end of the row", weight));
    }
    Ok(!weight.is_empty())
}

impl Context<'_> {
    /// The cells of a dense row.
    fn split<'l>(&self, line: &'l str, place: Place) -> Result<Vec<Token<'l>>, TableError> {
        if self.names.len() == 1 {
            // One column: nothing separates, and spaces belong to the cell.
            return match line.as_bytes()[0] {
                b'\'' | b'"' => token::split(line).map_err(|_| self.unclosed(place, 0)),
                _ => Ok(vec![Token { text: line.into(), quoted: false }]),
            };
        }
        let mut cells = Vec::with_capacity(self.names.len());
        match token::split_into(line, &mut cells) {
            Ok(()) => Ok(cells),
            Err(token::Unclosed) => Err(self.unclosed(place, cells.len())),
        }
    }

    fn push(
        &self,
        builder: &mut Builder,
        cell: &Token<'_>,
        column: usize,
        place: Place,
    ) -> Result<(), TableError> {
        builder.push(cell, self.missing).map_err(|fault| {
            let (file, column) = (self.file.to_owned(), self.names[column].clone());
            let (row, value) = (place.row, cell.text.to_string());
            match fault {
                Fault::Not(expected) => TableError::BadCell { file, column, row, value, expected },
                Fault::Infinite => TableError::NotFinite { file, column, row, value },
            }
        })
    }

    fn ragged(&self, Place { row, line }: Place, got: usize) -> TableError {
        let (file, expected) = (self.file.to_owned(), self.names.len());
        TableError::RaggedRow { file, row, line, expected, got }
    }

    fn unclosed(&self, Place { row, line }: Place, column: usize) -> TableError {
        let name = self.names.get(column).or(self.names.last());
        let column = name.cloned().unwrap_or_default();
        TableError::UnclosedQuote { file: self.file.to_owned(), row, line, column }
    }
}
