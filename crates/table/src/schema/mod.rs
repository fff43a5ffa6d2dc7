//! What each column is to training, and how a later table is matched to it.
//!
//! A schema is inferred once, from the training table ([`Dataset::from_table`](crate::Dataset::from_table)),
//! shown to the user in a [`TableReport`], and kept with the model: [`Schema::apply`] gives any later table the same
//! features in the same order, or says which columns stand in the way. What is inferred, and why, is in
//! `docs/decisions/0010-schema.md`.

mod apply;
mod assemble;
mod cells;
mod dates;
mod depends;
mod error;
mod index;
mod leaks;
mod levels;
mod overrides;
mod reading;
mod report;
mod target;
mod written;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use apply::Applied;
pub(crate) use assemble::{Assembled, TargetLabels, assemble, target_labels};
pub use dates::{DatePart, written_instant};
pub use error::{Mismatch, SchemaError};
pub(crate) use index::row_numbers;
pub use levels::{Levels, OTHER_LEVEL};
pub use reading::Reading;
pub use report::{ColumnReport, TableReport, Values};

use crate::cell::{CellRule, WordGroups};
use crate::{CancelCheck, Limits, RawTable};

/// What the user says about the columns; what is left unsaid is inferred.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchemaOptions {
    /// The column to predict.
    pub target: Option<String>,
    /// Columns to leave out.
    pub exclude: Vec<String>,
    /// Columns to learn from that would be left out: a number for each row, names. Columns without a value, or with one
    /// value only, stay out.
    pub include: Vec<String>,
    /// Columns whose values are categories, whatever they look like. For the target: each value is a
    /// class, even where the values look like a quantity.
    pub categorical: Vec<String>,
    /// Columns whose categories are numbers after all (`{1,2,3}` declared as nominal, or booleans).
    pub numeric: Vec<String>,
    /// The column that says which rows hang together. It is no feature.
    pub depends_on: Option<DependsOn>,
    /// How many classes and categories there may be.
    pub limits: Limits,
    /// What the labels were before they became names of classes.
    pub label_type: LabelType,
    /// Asked before each column.
    pub cancel: CancelCheck,
}

/// What labels are to the program that gave them; to training they are names of classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LabelType {
    /// Text, as in all files.
    #[default]
    Text,
    /// `true` and `false`.
    Boolean,
    /// Whole numbers.
    Integer,
    /// Numbers with a fraction, if only of zero.
    Real,
}

impl LabelType {
    fn is_text(&self) -> bool {
        *self == Self::Text
    }
}

/// A column that says which rows hang together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DependsOn {
    /// Rows with one value in it are never on both sides of a split.
    Group(String),
    /// Rows are learnt from in its order: what tests is later than what trains.
    TimeOrder(String),
}

/// The columns that training uses, in the order of the training table, and what each is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    inputs: Vec<Input>,
    target: Option<TargetColumn>,
    left_out: Vec<LeftOut>,
    /// Models of format 1 keep it elsewhere.
    #[serde(default)]
    reading: Reading,
}

/// A column that training uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Its name in the table.
    pub name: String,
    /// What it is to training.
    pub kind: Kind,
    /// How its cells are read, where they are neither plain numbers nor ISO dates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<CellRule>,
}

/// What a column is to training.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Numbers: one numeric feature.
    Numeric,
    /// Categories: one categorical feature.
    Categorical(Levels),
    /// Dates or times: a numeric feature for each part.
    Date(Vec<DatePart>),
    /// Free text: its length, its number of words, and how many of them are of which group.
    FreeText(WordGroups),
}

impl Kind {
    /// How many features it is.
    pub fn n_features(&self) -> usize {
        match self {
            Self::Numeric | Self::Categorical(_) => 1,
            Self::Date(parts) => parts.len(),
            Self::FreeText(groups) => groups.n_features(),
        }
    }
}

/// The column to predict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetColumn {
    /// Its name in the table.
    pub name: String,
    /// The classes in the order of their codes: as declared for a nominal, by value for numbers,
    /// alphabetical for text.
    pub classes: Vec<String>,
    /// What the labels were before they became names; files written before 0.2 do not say.
    #[serde(default, skip_serializing_if = "LabelType::is_text")]
    pub label_type: LabelType,
}

/// A column that training does not use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name in the table.
    pub name: String,
    /// Why not.
    pub reason: Reason,
    /// Where it was among the columns of the training table, the target aside; files written before this was kept do not
    /// say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
}

/// Why a column is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The user said so.
    Excluded,
    /// No cell has a value.
    AllMissing,
    /// Every cell has the same value.
    Constant {
        /// The value.
        value: String,
    },
    /// No two cells have the same text.
    UniqueText,
    /// Hardly any two cells have the same text.
    FreeText {
        /// How many different texts there are.
        n_distinct: usize,
        /// In how many cells.
        n_present: usize,
    },
    /// It is called as pandas calls an index.
    IndexByName,
    /// It comes first, has no name, and has a whole number of its own for each row.
    UnnamedIndex,
    /// It counts the rows.
    RowNumber,
    /// It numbers the rows in an order in which the classes follow one another.
    OrdersTarget,
    /// It says which rows are a group.
    Group,
    /// It says in which order rows came.
    TimeOrder,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Excluded => f.write_str("excluded on request"),
            Self::AllMissing => f.write_str("no cell has a value"),
            Self::Constant { value } => write!(f, "the same value, {value:?}, in every row"),
            Self::IndexByName => f.write_str("an index that pandas wrote"),
            Self::UnnamedIndex => f.write_str("an index: a number for each row, without a name"),
            Self::RowNumber => f.write_str("it is the number of the row"),
            Self::OrdersTarget => {
                f.write_str("a number for each row, in an order that gives the target away")
            }
            Self::Group => f.write_str("rows are grouped by it"),
            Self::TimeOrder => f.write_str("rows are ordered by it"),
            Self::UniqueText => f.write_str("a different text in every row"),
            Self::FreeText { n_distinct, n_present } => {
                write!(f, "names or free text: {n_distinct} different ones in {n_present} cells")
            }
        }
    }
}

impl Reason {
    /// Whether `--include` takes the column back in.
    pub fn can_be_included(&self) -> bool {
        match self {
            Self::IndexByName
            | Self::UnnamedIndex
            | Self::RowNumber
            | Self::OrdersTarget
            | Self::UniqueText
            | Self::FreeText { .. } => true,
            Self::Excluded
            | Self::AllMissing
            | Self::Constant { .. }
            | Self::Group
            | Self::TimeOrder => false,
        }
    }
}

impl Schema {
    /// Infers a schema and reports on the table, with or without a target.
    pub fn infer(
        table: RawTable,
        options: &SchemaOptions,
    ) -> Result<(Self, TableReport), SchemaError> {
        let indices = row_numbers(&table, options);
        let Assembled { schema, report, .. } = assemble(table, options, indices)?;
        Ok((schema, report))
    }

    /// The columns that training uses.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The column to predict, where one was named.
    pub fn target(&self) -> Option<&TargetColumn> {
        self.target.as_ref()
    }

    /// The columns that training does not use.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// The names of all columns of the training table in its order, the target aside; `None` where the file was written
    /// before that was kept, and something was left out.
    pub fn names_in_order(&self) -> Option<Vec<&str>> {
        let mut names: Vec<&str> = self.inputs.iter().map(|input| input.name.as_str()).collect();
        // They were left out one after the other, so that each position counts those before it.
        for column in &self.left_out {
            let position = column.position.filter(|&position| position <= names.len())?;
            names.insert(position, &column.name);
        }
        Some(names)
    }

    /// The names of the features, in order: a column's own, or `column.part` for the parts of a date.
    pub fn feature_names(&self) -> Vec<String> {
        let names = |input: &Input| match &input.kind {
            Kind::Numeric | Kind::Categorical(_) => vec![input.name.clone()],
            Kind::Date(parts) => {
                parts.iter().map(|part| format!("{}.{}", input.name, part.name())).collect()
            }
            Kind::FreeText(groups) => {
                groups.names().iter().map(|part| format!("{}.{part}", input.name)).collect()
            }
        };
        self.inputs.iter().flat_map(names).collect()
    }

    /// The columns that hold categories, for [`ReadOptions::categorical`](crate::ReadOptions): read as
    /// text, a code such as `007` keeps its zeros. (The reader refuses a list that names a column which
    /// the table lacks; [`Schema::apply`] on the table read without the list names all that are lacking.)
    pub fn categorical_columns(&self) -> Vec<String> {
        let is_categorical = |input: &&Input| matches!(input.kind, Kind::Categorical(_));
        self.inputs.iter().filter(is_categorical).map(|input| input.name.clone()).collect()
    }

    /// The columns whose cells are read as they are written, for [`ReadOptions::as_written`](crate::ReadOptions): by a
    /// rule, or as free text.
    pub fn written_columns(&self) -> Vec<String> {
        let is_written =
            |input: &&Input| input.rule.is_some() || matches!(input.kind, Kind::FreeText(_));
        self.inputs.iter().filter(is_written).map(|input| input.name.clone()).collect()
    }
}

#[cfg(test)]
mod tests;
