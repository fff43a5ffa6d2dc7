//! A later table in the form of the training table: columns by name, cells by what they held then.

use std::collections::{BTreeMap, HashMap};

use super::cells::{converted, odd_cells};
use super::levels::Matched;
use super::overrides::{check_finite, number_of};
use super::{Input, Kind, Levels, Mismatch, Schema, SchemaError};
use crate::cell::{CellRule, NumberRule, Unit, WordGroups};
use crate::{Buffer, Cells, Column, Frame, MISSING_CODE, Note, RawColumn, RawTable};

/// A later table's features, in the order of training.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The features; a category never met in training is [`UNSEEN_CODE`](crate::UNSEEN_CODE).
    pub frame: Frame,
    /// The class of each row, where the table has the target: `None` where the cell is missing or is none
    /// of the classes.
    pub truth: Option<Vec<Option<u32>>>,
    /// What the reader decided, and what did not match but does not stand in the way: extra columns, categories
    /// never met.
    pub notes: Vec<Note>,
}

impl Schema {
    /// Matches a table by name: columns may come in another order, more of them are ignored (and noted),
    /// and other types are converted where nothing is lost (numbers written as text, categories that are
    /// numbers, dates written out).
    ///
    /// Fails with all missing columns, or all columns that hold something else, named at once.
    pub fn apply(&self, table: RawTable) -> Result<Applied, SchemaError> {
        let n_rows = table.n_rows;
        let mut notes = table.notes.clone();
        // What was left out then may be unreadable now.
        let is_left_out = |name: &str| self.left_out.iter().any(|column| column.name == name);
        notes.retain(|n| !matches!(n, Note::Unreadable { column, .. } if is_left_out(column)));
        notes.extend(self.extra_columns(&table));
        let mut by_name: HashMap<String, RawColumn> =
            table.columns.into_iter().map(|column| (column.name.clone(), column)).collect();
        let columns: Vec<String> = self
            .inputs
            .iter()
            .filter(|input| !by_name.contains_key(&input.name))
            .map(|input| input.name.clone())
            .collect();
        if !columns.is_empty() {
            return Err(SchemaError::MissingColumns { columns });
        }

        let (mut features, mut mismatches) = (Vec::new(), Vec::new());
        for input in &self.inputs {
            let Some(column) = by_name.remove(&input.name) else { continue };
            check_finite(&column)?;
            match input.features(column.cells, &mut notes) {
                Ok(columns) => features.extend(columns),
                Err(found) => mismatches.push(input.mismatch(found)),
            }
        }
        if !mismatches.is_empty() {
            return Err(SchemaError::WrongType { columns: mismatches });
        }
        let truth = self.truth(&by_name);
        Ok(Applied { frame: Frame::new(features, n_rows), truth, notes })
    }

    fn extra_columns(&self, table: &RawTable) -> Option<Note> {
        let is_known = |name: &String| {
            self.inputs.iter().any(|input| input.name == *name)
                || self.left_out.iter().any(|column| column.name == *name)
                || self.target.as_ref().is_some_and(|target| target.name == *name)
        };
        let names = table.columns.iter().map(|column| &column.name);
        let columns: Vec<String> = names.filter(|n| !is_known(n)).cloned().collect();
        if columns.is_empty() { None } else { Some(Note::ExtraColumns { columns }) }
    }

    fn truth(&self, by_name: &HashMap<String, RawColumn>) -> Option<Vec<Option<u32>>> {
        let target = self.target.as_ref()?;
        let column = by_name.get(&target.name)?;
        let classes = Levels::new(target.classes.clone());
        let n_classes = target.classes.len() as u32;
        let known = |code: u32| (code < n_classes).then_some(code);
        Some(classes.matching(&column.cells).ok()?.codes.into_iter().map(known).collect())
    }
}

impl Input {
    /// The features of this column; `Err` says what it holds where that cannot be converted.
    fn features(&self, cells: Cells, notes: &mut Vec<Note>) -> Result<Vec<Column>, String> {
        let cells = match &self.rule {
            Some(rule) => self.as_meant(rule, cells, notes)?,
            None => cells,
        };
        match &self.kind {
            Kind::Numeric => Ok(vec![Column::Numeric(as_numbers(cells)?)]),
            Kind::Categorical(levels) => {
                let Matched { codes, unseen } = levels.matching(&cells)?;
                notes.extend(self.unseen_note(levels, &unseen, codes.len()));
                Ok(vec![Column::categorical(codes, levels.len() as u32)])
            }
            Kind::Date(parts) => {
                let seconds = as_instants(cells)?;
                Ok(parts.iter().map(|part| Column::numeric(part.of(&seconds))).collect())
            }
            Kind::FreeText(groups) => {
                let (codes, texts) = WordGroups::texts(cells);
                Ok(groups.features(&codes, &texts))
            }
        }
    }

    /// The cells as the training table's were read. A few that the rule does not fit are missing, and said; if it fits
    /// none, the column is another one.
    fn as_meant(
        &self,
        rule: &CellRule,
        cells: Cells,
        notes: &mut Vec<Note>,
    ) -> Result<Cells, String> {
        let (codes, texts) = match cells {
            Cells::Text { codes, dictionary: texts } | Cells::Nominal { codes, levels: texts } => {
                (codes, texts)
            }
            Cells::Numbers { ref values, .. } => {
                let is_same = matches!(
                    rule,
                    CellRule::Number(NumberRule { unit: Unit::None | Unit::Currency(_), .. })
                );
                return match values.iter().find(|v| !v.is_nan()).filter(|_| !is_same) {
                    Some(number) => Err(format!("numbers such as {number}")),
                    None => Ok(cells),
                };
            }
            cells @ Cells::Instants { .. } => return Ok(cells),
        };
        let values: Vec<Option<f64>> = texts.iter().map(|text| rule.value(text)).collect();
        let present = || codes.iter().enumerate().filter(|(_, code)| **code != MISSING_CODE);
        if let Some((row, &code)) = present().next()
            && !present().any(|(_, &code)| values[code as usize].is_some())
        {
            return Err(format!("{:?} (row {})", texts[code as usize], row + 1));
        }
        notes.extend(odd_cells(&self.name, rule, &values, &codes, &texts));
        Ok(converted(rule, &values, &codes))
    }

    fn unseen_note(
        &self,
        levels: &Levels,
        unseen: &BTreeMap<String, usize>,
        n_rows: usize,
    ) -> Option<Note> {
        const SHOWN: usize = 5;
        if unseen.is_empty() || levels.has_other() {
            return None;
        }
        Some(Note::UnseenCategories {
            column: self.name.clone(),
            texts: unseen.keys().take(SHOWN).cloned().collect(),
            n_distinct: unseen.len(),
            n_unseen: unseen.values().sum(),
            n_rows,
        })
    }

    fn mismatch(&self, found: String) -> Mismatch {
        let expected = match (&self.rule, &self.kind) {
            (Some(rule), _) => rule.noun(),
            (None, Kind::Numeric) => "numbers",
            (None, Kind::Categorical(_)) => "categories",
            (None, Kind::Date(_)) => "dates",
            (None, Kind::FreeText(_)) => "text",
        };
        Mismatch { column: self.name.clone(), expected, found }
    }
}

/// Numbers, or text that is nothing but numbers.
fn as_numbers(cells: Cells) -> Result<Buffer<f64>, String> {
    match cells {
        Cells::Numbers { values, .. } => Ok(values),
        Cells::Text { codes, dictionary: texts } | Cells::Nominal { codes, levels: texts } => {
            let parsed: Vec<Option<f64>> = texts.iter().map(|text| number_of(text)).collect();
            let number = |(row, &code): (usize, &u32)| match code {
                MISSING_CODE => Ok(f64::NAN),
                _ => parsed[code as usize]
                    .ok_or_else(|| format!("{:?} (row {})", texts[code as usize], row + 1)),
            };
            codes.iter().enumerate().map(number).collect()
        }
        Cells::Instants { seconds } => none_present(&seconds),
    }
}

/// Instants, or text that is nothing but dates.
fn as_instants(cells: Cells) -> Result<Buffer<f64>, String> {
    match cells {
        Cells::Instants { seconds } => Ok(seconds),
        Cells::Numbers { values, .. } => match values.iter().find(|v| !v.is_nan()) {
            Some(number) => Err(format!("numbers such as {number}")),
            None => Ok(values),
        },
        Cells::Text { codes, dictionary: texts } | Cells::Nominal { codes, levels: texts } => {
            let parsed: Vec<Option<f64>> =
                texts.iter().map(|text| crate::read::parse_instant(text.as_bytes())).collect();
            let instant = |(row, &code): (usize, &u32)| match code {
                MISSING_CODE => Ok(f64::NAN),
                _ => parsed[code as usize]
                    .ok_or_else(|| format!("{:?} (row {})", texts[code as usize], row + 1)),
            };
            codes.iter().enumerate().map(instant).collect()
        }
    }
}

/// A column without values can stand for any.
fn none_present(seconds: &Buffer<f64>) -> Result<Buffer<f64>, String> {
    match seconds.iter().find(|s| !s.is_nan()) {
        Some(&s) => Err(format!("dates such as {}", super::dates::written_instant(s))),
        None => Ok(seconds.clone()),
    }
}
