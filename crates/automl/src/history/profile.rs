//! What a training table was like: names, kinds and counts, no cells.

use pitchpipe_table::{Column, Dataset, Kind};
use serde::{Deserialize, Serialize};

/// A table in short.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DataProfile {
    /// Rows that were learnt from.
    pub n_rows: usize,
    /// The columns that training used, in the table's order.
    pub columns: Vec<ColumnProfile>,
    /// The columns that it did not use.
    pub left_out: Vec<LeftOutColumn>,
    /// The classes in the order of their codes.
    pub classes: Vec<ClassCount>,
    /// What was decided about the table, and what its owner should look into; empty where nobody said.
    pub notes: Vec<String>,
}

/// A column in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnProfile {
    /// Its name, or its place where it has none.
    pub name: String,
    /// `numeric`, `categorical` or `date`.
    pub kind: String,
    /// How many cells are missing.
    pub n_missing: usize,
    /// How many categories it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_levels: Option<usize>,
}

/// A column that training did not use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOutColumn {
    /// Its name.
    pub name: String,
    /// Why not.
    pub reason: String,
}

/// A class and how common it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassCount {
    /// Its name, or its code where it has none.
    pub name: String,
    /// How many rows are of it.
    pub n_rows: usize,
}

impl DataProfile {
    pub(crate) fn of(dataset: &Dataset) -> Self {
        let schema = dataset.schema();
        let counts = dataset.labels().counts();
        let names = schema.and_then(|s| s.target()).map(|t| t.classes.clone());
        let name_of = |k: usize| names.as_ref().map_or_else(|| k.to_string(), |n| n[k].clone());
        let classes = counts.iter().enumerate();
        let left_out = schema.map(|s| s.left_out()).unwrap_or_default().iter();
        Self {
            n_rows: dataset.n_rows(),
            columns: columns(dataset),
            left_out: left_out
                .map(|l| LeftOutColumn { name: l.name.clone(), reason: l.reason.to_string() })
                .collect(),
            classes: classes.map(|(k, &n_rows)| ClassCount { name: name_of(k), n_rows }).collect(),
            notes: Vec::new(),
        }
    }
}

fn columns(dataset: &Dataset) -> Vec<ColumnProfile> {
    let features = dataset.columns();
    let missing = |column: &Column| (0..column.len()).filter(|&i| column.is_missing(i)).count();
    let Some(schema) = dataset.schema() else {
        let plain = features.iter().enumerate();
        return plain
            .map(|(j, column)| ColumnProfile {
                name: format!("column {}", j + 1),
                kind: if matches!(column, Column::Numeric(_)) { "numeric" } else { "categorical" }
                    .to_owned(),
                n_missing: missing(column),
                n_levels: None,
            })
            .collect();
    };
    let mut next = 0;
    let profile = |input: &pitchpipe_table::Input| {
        let n_features = input.kind.n_features();
        let (kind, n_levels) = match &input.kind {
            Kind::Numeric => ("numeric", None),
            Kind::Categorical(levels) => ("categorical", Some(levels.len())),
            Kind::Date(_) => ("date", None),
            Kind::FreeText(_) => ("free_text", None),
        };
        // A date that is missing lacks all its parts.
        let n_missing = features.get(next).filter(|_| n_features > 0).map_or(0, missing);
        next += n_features;
        ColumnProfile { name: input.name.clone(), kind: kind.to_owned(), n_missing, n_levels }
    };
    schema.inputs().iter().map(profile).collect()
}

#[cfg(test)]
mod tests {
    use pitchpipe_table::Labels;

    use super::*;

    #[test]
    fn missing_cells_and_classes_are_counted() {
        let column = Column::numeric(vec![1.0, f64::NAN, 2.0, f64::NAN]);
        let dataset = Dataset::new(vec![column], Labels::from_codes([0, 1, 1, 1], 2));
        let profile = DataProfile::of(&dataset);
        assert_eq!(
            (profile.columns[0].name.as_str(), profile.columns[0].n_missing),
            ("column 1", 2)
        );
        let counts: Vec<usize> = profile.classes.iter().map(|c| c.n_rows).collect();
        assert_eq!(counts, [1, 3]);
    }
}
