//! Rows that nothing sees until the end.

use crate::schema::{TargetLabels, row_numbers, target_labels};
use crate::{
    Dataset, Labels, RawColumn, RawTable, SchemaError, SchemaOptions, TableReport, Target,
};

/// A dataset, and rows that had no part in making it.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOut {
    /// The rows to learn from.
    pub training: Dataset,
    /// The others, in the same columns.
    pub held_out: Dataset,
    /// What was understood of the rows to learn from.
    pub report: TableReport,
}

/// A search cannot begin with fewer rows.
const FEWEST_ROWS: usize = 4;

impl Dataset {
    /// A dataset from a part of a table's rows, and the rest.
    ///
    /// The rows are parted before anything is learnt from them: which columns are constant or free text, which
    /// categories there are and which of them are rare is decided by the training rows alone, and a category that only
    /// the others have is one never met, as it would be in a later table. The classes are the exception: they must be
    /// known, and a class gives up all but its last row.
    ///
    /// With [`SchemaOptions::depends_on`] groups are held out as a whole, or the last rows.
    pub fn from_table_holding_out(
        table: RawTable,
        options: &SchemaOptions,
        share: f64,
        seed: u64,
    ) -> Result<HeldOut, SchemaError> {
        let TargetLabels { labels, rows, dependence } = target_labels(&table, options)?;
        let fold = dependence.holdout(&labels, share, seed);
        let n_rows = labels.len();
        if fold.test.is_empty() {
            return Err(SchemaError::NoneHeldOut { n_rows });
        }
        if fold.train.len() < FEWEST_ROWS && n_rows >= FEWEST_ROWS {
            let (left, needed) = (fold.train.len(), FEWEST_ROWS);
            return Err(SchemaError::AllHeldOut { left, n_rows, needed });
        }
        let of = |part: &[usize]| match &rows {
            Some(rows) => part.iter().map(|&at| rows[at]).collect(),
            None => part.to_vec(),
        };
        // A part of the rows is not numbered as the whole is.
        let indices = row_numbers(&table, options);
        let rest = table.select(&of(&fold.test));
        let table = table.select(&of(&fold.train));
        let (training, report) = Self::from_numbered_table(table, options, indices)?;
        let schema = training.schema().expect("a dataset from a table has a schema");
        let applied = schema.apply(rest)?;
        let truth = applied.truth.unwrap_or_default();
        let known: Vec<usize> = (0..truth.len()).filter(|&row| truth[row].is_some()).collect();
        let n_classes = training.labels().n_classes();
        let labels = Labels::from_codes(truth.into_iter().flatten(), n_classes);
        let frame = applied.frame.select(&known);
        let test: Vec<usize> = known.iter().map(|&row| fold.test[row]).collect();
        let held_out = Self::from_parts(frame, Target::Classes(labels))
            .with_dependence(dependence.select(&test));
        Ok(HeldOut { training, held_out, report })
    }
}

impl RawTable {
    /// The given rows, in the order given; what the reader had to say about the table stays.
    pub fn select(&self, rows: &[usize]) -> Self {
        let column =
            |c: &RawColumn| RawColumn { name: c.name.clone(), cells: c.cells.clone().select(rows) };
        Self {
            n_rows: rows.len(),
            columns: self.columns.iter().map(column).collect(),
            notes: self.notes.clone(),
            missing_labels: self.missing_labels.clone(),
            missing: self.missing.clone(),
            has_header: self.has_header,
            delimiter: self.delimiter,
            unnamed: self.unnamed.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cells, Column, DependsOn, MISSING_CODE, UNSEEN_CODE};

    fn table(n_rows: usize) -> RawTable {
        let text = |texts: Vec<String>| {
            let mut dictionary: Vec<String> = Vec::new();
            let code = |text: String| {
                let at = dictionary.iter().position(|t| *t == text);
                at.unwrap_or_else(|| {
                    dictionary.push(text);
                    dictionary.len() - 1
                }) as u32
            };
            let codes = texts.into_iter().map(code).collect();
            Cells::Text { codes, dictionary }
        };
        // One text is in two rows only, one row in ten has no class.
        let word = |row: usize| if row < 2 { "rare".into() } else { format!("word{}", row % 3) };
        let class = |row: usize| ["a", "b", "b"][row % 3].to_owned();
        let mut classes = text((0..n_rows).map(class).collect());
        if let Cells::Text { codes, dictionary } = &mut classes {
            let missing = |(row, &c): (usize, &u32)| if row % 10 == 9 { MISSING_CODE } else { c };
            *codes = codes.iter().enumerate().map(missing).collect();
            assert_eq!(dictionary.len(), 2);
        }
        let column = |name: &str, cells| RawColumn { name: name.into(), cells };
        let columns = vec![
            column("word", text((0..n_rows).map(word).collect())),
            column(
                "at",
                Cells::Numbers { values: (0..n_rows).map(|i| i as f64).collect(), integers: true },
            ),
            column("y", classes),
        ];
        RawTable { n_rows, columns, ..RawTable::default() }
    }

    fn options() -> SchemaOptions {
        SchemaOptions { target: Some("y".into()), ..SchemaOptions::default() }
    }

    #[test]
    fn a_stratified_share_of_the_labelled_rows_is_held_out() {
        // The number of the row is no feature, unless it is asked for.
        let plain = Dataset::from_table_holding_out(table(100), &options(), 0.2, 1).unwrap();
        assert_eq!(plain.training.columns().len(), 1);
        let options = SchemaOptions { include: vec!["at".into()], ..options() };
        let HeldOut { training, held_out, .. } =
            Dataset::from_table_holding_out(table(100), &options, 0.2, 1).unwrap();
        assert_eq!((training.n_rows(), held_out.n_rows()), (72, 18));
        assert_eq!(held_out.labels().counts(), [6, 12]);
        let Column::Numeric(times) = &held_out.columns()[1] else { panic!("a number") };
        let Column::Numeric(others) = &training.columns()[1] else { panic!("a number") };
        assert!(times.iter().all(|t| !others.contains(t)));
    }

    #[test]
    fn a_share_of_no_rows_and_one_of_all_are_refused() {
        let held = |share| Dataset::from_table_holding_out(table(100), &options(), share, 1);
        assert_eq!(held(0.001).unwrap_err(), SchemaError::NoneHeldOut { n_rows: 90 });
        let all = SchemaError::AllHeldOut { left: 2, n_rows: 90, needed: 4 };
        assert_eq!(held(0.99).unwrap_err(), all);
    }

    #[test]
    fn a_category_that_only_held_out_rows_have_was_never_met() {
        let by = DependsOn::TimeOrder("at".into());
        let options = SchemaOptions { depends_on: Some(by), ..options() };
        // In reverse, so that the last rows are the first of the table.
        let reversed: Vec<usize> = (0..100).rev().collect();
        let mut table = table(100).select(&reversed);
        let Cells::Numbers { values, .. } = &mut table.columns[1].cells else { panic!("numbers") };
        *values = (0..100).map(f64::from).collect();
        let HeldOut { training, held_out, report } =
            Dataset::from_table_holding_out(table, &options, 0.2, 1).unwrap();
        let Column::Categorical { codes, n_levels } = &held_out.columns()[0] else { panic!() };
        assert_eq!(*n_levels, 3);
        assert_eq!(codes.iter().filter(|&&c| c == UNSEEN_CODE).count(), 2);
        assert_eq!(training.n_rows() + held_out.n_rows(), 90);
        let all = training.concat(&held_out);
        let Column::Categorical { codes, .. } = &all.columns()[0] else { panic!() };
        assert_eq!(codes.iter().filter(|&&c| c == MISSING_CODE).count(), 2);
        assert_eq!(all.labels().len(), 90);
        assert!(training.dependence().is_some());
        assert_eq!(training.columns().len(), 1, "the time is no feature");
        assert_eq!(report.left_out().count(), 1);
    }
}
