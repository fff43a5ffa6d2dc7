//! The column that says which rows hang together.

use std::collections::HashMap;

use super::overrides::number_of;
use super::{DependsOn, SchemaError};
use crate::{Cells, Dependence, MISSING_CODE, RawColumn};

impl DependsOn {
    /// The column's name.
    pub fn column(&self) -> &String {
        let (Self::Group(name) | Self::TimeOrder(name)) = self;
        name
    }

    /// The option that says it.
    pub(super) fn option(&self) -> &'static str {
        match self {
            Self::Group(_) => "group",
            Self::TimeOrder(_) => "time-order",
        }
    }

    /// What the cells of these rows say; of all rows where none are given.
    pub(crate) fn read(
        &self,
        column: &RawColumn,
        rows: Option<&[usize]>,
    ) -> Result<Dependence, SchemaError> {
        let all: Vec<usize>;
        let rows = match rows {
            Some(rows) => rows,
            None => {
                all = (0..column.cells.len()).collect();
                &all
            }
        };
        let depends = match self {
            Self::Group(_) => groups(&column.cells, rows),
            Self::TimeOrder(_) => Dependence::in_order_of(&times(column, rows)?),
        };
        if !depends.can_split() {
            let (column, option) = (column.name.clone(), self.option());
            return Err(SchemaError::OneUnit { column, option });
        }
        Ok(depends)
    }
}

/// Equal cells are one group; a row without a value is a group of its own.
fn groups(cells: &Cells, rows: &[usize]) -> Dependence {
    let mut known: HashMap<u64, u32> = HashMap::new();
    let mut n_groups = 0;
    let mut next = || {
        n_groups += 1;
        n_groups - 1
    };
    let mut group = |cell: Option<u64>| match cell {
        Some(cell) => *known.entry(cell).or_insert_with(&mut next),
        None => next(),
    };
    let of_row = |&row: &usize| match cells {
        Cells::Numbers { values, .. } | Cells::Instants { seconds: values } => {
            // One zero, however it was written.
            Some(values[row]).filter(|v| !v.is_nan()).map(|v| (v + 0.0).to_bits())
        }
        Cells::Text { codes, .. } | Cells::Nominal { codes, .. } => {
            Some(codes[row]).filter(|&c| c != MISSING_CODE).map(u64::from)
        }
    };
    Dependence::Groups(rows.iter().map(|row| group(of_row(row))).collect())
}

/// Numbers or instants, one in every row.
fn times(column: &RawColumn, rows: &[usize]) -> Result<Vec<f64>, SchemaError> {
    let name = || column.name.clone();
    let time = |&row: &usize| {
        let value = match &column.cells {
            Cells::Numbers { values, .. } | Cells::Instants { seconds: values } => values[row],
            Cells::Text { codes, dictionary: texts } | Cells::Nominal { codes, levels: texts } => {
                match texts.get(codes[row] as usize) {
                    None => f64::NAN,
                    Some(text) => number_of(text).ok_or_else(|| SchemaError::NotATime {
                        column: name(),
                        row: row + 1,
                        value: text.clone(),
                    })?,
                }
            }
        };
        if value.is_nan() {
            return Err(SchemaError::NoTime { column: name(), row: row + 1 });
        }
        Ok(value)
    };
    rows.iter().map(time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(cells: Cells) -> RawColumn {
        RawColumn { name: "when".into(), cells }
    }

    fn text(codes: [u32; 4], texts: &[&str]) -> RawColumn {
        let dictionary = texts.iter().map(|&t| t.to_owned()).collect();
        column(Cells::Text { codes: codes.into(), dictionary })
    }

    #[test]
    fn a_row_without_a_group_is_one_of_its_own() {
        let by = DependsOn::Group("when".into());
        let cells = text([0, MISSING_CODE, 0, MISSING_CODE], &["a"]);
        assert_eq!(by.read(&cells, None), Ok(Dependence::Groups(vec![0, 1, 0, 2])));
        assert_eq!(by.read(&cells, Some(&[2, 3])), Ok(Dependence::Groups(vec![0, 1])));
    }

    #[test]
    fn every_row_has_its_time() {
        let by = DependsOn::TimeOrder("when".into());
        let seconds = |values: [f64; 3]| column(Cells::Instants { seconds: values.into() });
        assert_eq!(by.read(&seconds([5., 1., 5.]), None), Ok(Dependence::Order(vec![1, 0, 1])));
        let missing = by.read(&seconds([5., f64::NAN, 1.]), None).unwrap_err();
        assert_eq!(missing.to_string(), "column \"when\" has no time in row 2");
        let words = by.read(&text([0, 0, 1, 1], &["3", "soon"]), None).unwrap_err();
        assert_eq!(words.to_string(), "column \"when\" holds \"soon\" in row 3, which is no time");
    }

    #[test]
    fn one_group_is_refused() {
        let by = DependsOn::Group("when".into());
        let error = by.read(&text([0; 4], &["a"]), None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "column \"when\", given as --group, has one value only, so rows cannot be split by it"
        );
    }
}
