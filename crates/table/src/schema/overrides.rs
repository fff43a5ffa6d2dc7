//! The user's word on the columns, which comes before anything that is inferred.

use super::dates::written_instant;
use super::levels::{levels_of_numbers, parse_number};
use super::{SchemaError, SchemaOptions};
use crate::nearest::nearest;
use crate::{Cells, MISSING_CODE, Note, RawColumn, RawTable};

/// Every name that the user gave must be a column's. What could not be read can be left out, and nothing else.
pub(super) fn check_names(table: &RawTable, options: &SchemaOptions) -> Result<(), SchemaError> {
    let names = || table.columns.iter().map(|column| column.name.as_str());
    let target = options.target.as_slice();
    let (by, by_column) = match &options.depends_on {
        Some(by) => (by.option(), std::slice::from_ref(by.column())),
        None => ("group", &[][..]),
    };
    let given = [
        ("target", target),
        ("exclude", &options.exclude),
        ("include", &options.include),
        ("categorical", &options.categorical),
        ("numeric", &options.numeric),
        (by, by_column),
    ];
    for (option, column) in
        given.iter().flat_map(|(o, columns)| columns.iter().map(move |c| (*o, c)))
    {
        if let Some(data_type) = unreadable_type(table, column) {
            if option == "exclude" {
                continue;
            }
            let (column, data_type) = (column.clone(), data_type.to_owned());
            return Err(SchemaError::Unreadable { column, option, data_type });
        }
        if !names().any(|name| name == column) {
            return Err(SchemaError::UnknownColumn {
                column: column.clone(),
                option,
                similar: nearest(column, names()).map(str::to_owned),
                columns: names().map(str::to_owned).collect(),
            });
        }
    }
    // Target, exclude, include, categorical, numeric, group or time order.
    let apart = [(0, 1), (0, 2), (0, 4), (1, 2), (3, 4), (0, 5), (2, 5)];
    for (first, second) in apart.map(|(a, b)| (given[a], given[b])) {
        if let Some(column) = first.1.iter().find(|column| second.1.contains(column)) {
            let (column, first, second) = (column.clone(), first.0, second.0);
            return Err(SchemaError::Contradiction { column, first, second });
        }
    }
    Ok(())
}

/// The type of a column that the reader left out.
fn unreadable_type<'t>(table: &'t RawTable, name: &str) -> Option<&'t str> {
    table.notes.iter().find_map(|note| match note {
        Note::Unreadable { column, data_type } if column == name => Some(data_type.as_str()),
        _ => None,
    })
}

/// The column as the user says it is; as read, where the user says nothing.
pub(super) fn overridden(
    column: RawColumn,
    options: &SchemaOptions,
) -> Result<RawColumn, SchemaError> {
    if options.exclude.contains(&column.name) {
        return Ok(column);
    }
    if options.numeric.contains(&column.name) {
        return numbers_of(column);
    }
    check_finite(&column)?;
    let RawColumn { name, cells } = column;
    let cells = match cells {
        Cells::Numbers { values, .. } if options.categorical.contains(&name) => {
            let (dictionary, codes) = levels_of_numbers(&values);
            Cells::Text { codes: codes.into(), dictionary }
        }
        // A date that is told to be a category: each instant is one.
        Cells::Instants { seconds } if options.categorical.contains(&name) => {
            let (order, codes) = levels_of_numbers(&seconds);
            let date = |s: String| parse_number(&s).map_or(s, written_instant);
            Cells::Text { codes: codes.into(), dictionary: order.into_iter().map(date).collect() }
        }
        as_read => as_read,
    };
    Ok(RawColumn { name, cells })
}

/// Categories that the user says are numbers.
fn numbers_of(column: RawColumn) -> Result<RawColumn, SchemaError> {
    let RawColumn { name, cells } = column;
    let (codes, texts) = match cells {
        Cells::Text { codes, dictionary } => (codes, dictionary),
        Cells::Nominal { codes, levels } => (codes, levels),
        Cells::Numbers { .. } => return Ok(RawColumn { name, cells }),
        // Seconds are numbers already, if odd ones.
        Cells::Instants { seconds: values } => {
            return Ok(RawColumn { name, cells: Cells::Numbers { values, integers: false } });
        }
    };
    let parsed: Vec<Option<f64>> = texts.iter().map(|text| number_of(text)).collect();
    let mut values = Vec::with_capacity(codes.len());
    for (row, &code) in codes.iter().enumerate() {
        values.push(match code {
            MISSING_CODE => f64::NAN,
            _ => parsed[code as usize].ok_or_else(|| SchemaError::NotANumber {
                column: name.clone(),
                row: row + 1,
                value: texts[code as usize].clone(),
            })?,
        });
    }
    let integers = values.iter().all(|v| v.is_nan() || v.fract() == 0.0);
    Ok(RawColumn { name, cells: Cells::Numbers { values: values.into(), integers } })
}

/// A number, or a boolean as 0 or 1.
pub(super) fn number_of(text: &str) -> Option<f64> {
    match text {
        "false" => Some(0.0),
        "true" => Some(1.0),
        _ => parse_number(text),
    }
}

pub(super) fn check_finite(column: &RawColumn) -> Result<(), SchemaError> {
    let Cells::Numbers { values, .. } = &column.cells else { return Ok(()) };
    match values.iter().position(|v| v.is_infinite()) {
        None => Ok(()),
        Some(at) => Err(SchemaError::NotFinite {
            column: column.name.clone(),
            row: at + 1,
            value: values[at].to_string(),
        }),
    }
}
