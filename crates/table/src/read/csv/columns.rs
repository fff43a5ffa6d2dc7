//! One column of a delimited file: which type it has, and its cells as that type.

use super::super::date;
use super::super::number;
use super::super::text::TextBuilder;
use super::Context;
use super::records::Block;
use crate::{Cells, Note, TableError};

/// What a column's cells are taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Numbers,
    Instants,
    Text,
}

impl Kind {
    /// What a cell takes.
    pub(super) fn cell_bytes(self) -> usize {
        match self {
            Self::Numbers | Self::Instants => size_of::<f64>(),
            Self::Text => size_of::<u32>(),
        }
    }
}

/// What the first block's cells suggest. A column with nothing in it may become anything; numbers are
/// the type that costs least to take back.
pub(super) fn guess(context: &Context<'_>, block: &Block, column: usize) -> Kind {
    let mut kind = None;
    for (start, end) in block.spans(column) {
        let cell = context.dialect.text(&context.data[start..end]);
        if context.missing.contains(&cell) || cell.trim_ascii().eq_ignore_ascii_case(b"nan") {
            continue;
        }
        let this = kind_of(context, &cell);
        if this == Kind::Text || kind.is_some_and(|k| k != this) {
            return Kind::Text;
        }
        kind = Some(this);
    }
    kind.unwrap_or(Kind::Numbers)
}

/// Whether an integer of the first block begins with a zero that a number would not: a code, perhaps.
pub(super) fn has_leading_zeros(context: &Context<'_>, block: &Block, column: usize) -> bool {
    block.spans(column).any(|(start, end)| {
        let cell = context.dialect.text(&context.data[start..end]);
        cell.len() > 1 && cell[0] == b'0' && cell.iter().all(u8::is_ascii_digit)
    })
}

fn kind_of(context: &Context<'_>, cell: &[u8]) -> Kind {
    if context.dialect.number(cell).is_some() {
        Kind::Numbers
    } else if date::parse(cell).is_some() {
        Kind::Instants
    } else {
        Kind::Text
    }
}

/// A column as far as it has been parsed.
pub(super) enum Parsing {
    Numbers(Numbers),
    Instants(Vec<f64>),
    Text(TextBuilder),
    /// A cell did not fit: to be parsed again as another kind.
    Contradicted(Kind),
}

/// A column of numbers as far as it has been parsed.
pub(super) struct Numbers {
    values: Vec<f64>,
    integers: bool,
    /// The first infinite cell: an error, if the column stays one of numbers.
    infinite: Option<(usize, String)>,
    /// Whether an integer was too large for a double to hold exactly.
    wide: bool,
}

impl Parsing {
    pub(super) fn new(kind: Kind, n_rows: usize) -> Self {
        match kind {
            Kind::Numbers => Self::Numbers(Numbers {
                values: Vec::with_capacity(n_rows),
                integers: true,
                infinite: None,
                wide: false,
            }),
            Kind::Instants => Self::Instants(Vec::with_capacity(n_rows)),
            Kind::Text => Self::Text(TextBuilder::with_capacity(n_rows)),
        }
    }

    /// The kind to try next, if a cell did not fit.
    pub(super) fn contradicted(&self) -> Option<Kind> {
        match self {
            Self::Contradicted(kind) => Some(*kind),
            _ => None,
        }
    }

    /// Parses the column's cells in a block.
    pub(super) fn append(&mut self, context: &Context<'_>, block: &Block, column: usize) {
        let cells = block.spans(column);
        let next = match self {
            Self::Numbers(numbers) => numbers.append(context, cells),
            Self::Instants(seconds) => append_instants(seconds, context, cells),
            Self::Text(texts) => {
                append_text(texts, context, cells);
                None
            }
            Self::Contradicted(_) => None,
        };
        if let Some(kind) = next {
            *self = Self::Contradicted(kind);
        }
    }

    /// The column's cells, once all rows are in.
    pub(super) fn finish(
        self,
        context: &Context<'_>,
        column: usize,
        notes: &mut Vec<Note>,
    ) -> Result<Cells, TableError> {
        match self {
            Self::Numbers(numbers) => numbers.finish(context, column, notes),
            Self::Instants(seconds) => Ok(Cells::Instants { seconds: seconds.into() }),
            Self::Text(texts) => Ok(texts.into_cells()),
            Self::Contradicted(_) => unreachable!("contradicted columns are parsed again"),
        }
    }
}

impl Numbers {
    /// Appends the cells; the kind to try next at the first that is neither a number nor missing.
    fn append(
        &mut self,
        context: &Context<'_>,
        cells: impl Iterator<Item = (usize, usize)>,
    ) -> Option<Kind> {
        let (data, decimal) = (context.data, context.dialect.decimal);
        for (start, end) in cells {
            if start == end {
                self.values.push(f64::NAN);
                continue;
            }
            match number::parse_within(data, start, end, decimal) {
                Some(number) if number.value.abs() < number::MOST_EXACT as f64 => {
                    self.values.push(number.value);
                    self.integers &= number.integer;
                }
                _ => {
                    let kind = self.append_other(context, &data[start..end]);
                    if kind.is_some() {
                        return kind;
                    }
                }
            }
        }
        None
    }

    /// A cell that is quoted, missing, very large, or no number.
    #[cold]
    fn append_other(&mut self, context: &Context<'_>, raw: &[u8]) -> Option<Kind> {
        let cell = context.dialect.text(raw);
        if context.missing.contains(&cell) || cell.trim_ascii().eq_ignore_ascii_case(b"nan") {
            self.values.push(f64::NAN);
            return None;
        }
        let Some(number) = context.dialect.number(&cell) else {
            let all_missing = self.values.iter().all(|v| v.is_nan());
            return Some(if all_missing { kind_of(context, &cell) } else { Kind::Text });
        };
        if number.value.is_infinite() && self.infinite.is_none() {
            let text = String::from_utf8_lossy(&cell).into_owned();
            self.infinite = Some((self.values.len(), text));
        }
        self.wide |= number.integer && number.value.abs() >= number::MOST_EXACT as f64;
        self.integers &= number.integer;
        self.values.push(number.value);
        None
    }

    fn finish(
        self,
        context: &Context<'_>,
        column: usize,
        notes: &mut Vec<Note>,
    ) -> Result<Cells, TableError> {
        let name = &context.names[column];
        if let Some((row, value)) = self.infinite {
            let (file, column) = (context.file.to_owned(), name.clone());
            return Err(TableError::NotFinite { file, column, row: row + 1, value });
        }
        if self.wide {
            notes.push(Note::RoundedIntegers { column: name.to_owned() });
        }
        let any = self.values.iter().any(|v| !v.is_nan());
        Ok(Cells::Numbers { integers: self.integers && any, values: self.values.into() })
    }
}

fn append_text(
    texts: &mut TextBuilder,
    context: &Context<'_>,
    cells: impl Iterator<Item = (usize, usize)>,
) {
    let data = context.data;
    for (start, end) in cells {
        // Quotes are undone elsewhere; the space of `a, b` too.
        if matches!(data.get(start), Some(b'"' | b' ')) {
            texts.push(&context.dialect.text(&data[start..end]), context.missing);
        } else {
            texts.push_within(data, start, end, context.missing);
        }
    }
}

fn append_instants(
    seconds: &mut Vec<f64>,
    context: &Context<'_>,
    cells: impl Iterator<Item = (usize, usize)>,
) -> Option<Kind> {
    for (start, end) in cells {
        let raw = &context.data[start..end];
        let instant = match date::parse(raw) {
            Some(instant) => instant,
            None => {
                let cell = context.dialect.text(raw);
                if context.missing.contains(&cell) {
                    f64::NAN
                } else if let Some(instant) = date::parse(&cell) {
                    instant
                } else {
                    return Some(Kind::Text);
                }
            }
        };
        seconds.push(instant);
    }
    None
}
