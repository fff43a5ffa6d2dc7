//! A dataset: typed columns in the form that training wants, with labels.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::schema::{Assembled, assemble};
use crate::{Labels, RawTable, Report, Schema, SchemaError, SchemaOptions};

/// The code that stands for a missing cell of a categorical column.
pub const MISSING_CODE: u32 = u32::MAX;

/// The code that stands for a category never met in training. Only [`Schema::apply`] makes it, at
/// prediction time: one-hot encoding turns it into all zeros; integer codes have no number for it, and
/// treat it as missing.
pub const UNSEEN_CODE: u32 = u32::MAX - 1;

/// One feature's cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Column {
    /// Numbers; a missing cell is NaN (and only a missing cell is).
    Numeric(Vec<f64>),
    /// Codes into a dictionary of `n_levels` levels; a missing cell is [`MISSING_CODE`], and in tables met
    /// after training a category that is not in the dictionary is [`UNSEEN_CODE`].
    Categorical {
        /// One code per row.
        codes: Vec<u32>,
        /// The size of the dictionary: codes are below it.
        n_levels: u32,
    },
}

impl Column {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Numeric(values) => values.len(),
            Self::Categorical { codes, .. } => codes.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the cell of each row is missing.
    pub fn is_missing(&self, row: usize) -> bool {
        match self {
            Self::Numeric(values) => values[row].is_nan(),
            Self::Categorical { codes, .. } => codes[row] == MISSING_CODE,
        }
    }

    /// The cells of the given rows, in the order given.
    pub fn select(&self, rows: &[usize]) -> Self {
        match self {
            Self::Numeric(values) => Self::Numeric(rows.iter().map(|&r| values[r]).collect()),
            Self::Categorical { codes, n_levels } => Self::Categorical {
                codes: rows.iter().map(|&r| codes[r]).collect(),
                n_levels: *n_levels,
            },
        }
    }
}

/// Feature columns of equal length, with the class of each row, and the schema that they came by.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    columns: Vec<Column>,
    labels: Labels,
    schema: Option<Arc<Schema>>,
}

impl Dataset {
    /// A dataset from its parts, without names.
    ///
    /// # Panics
    /// If a column is not as long as the labels.
    pub fn new(columns: Vec<Column>, labels: Labels) -> Self {
        let fits = |c: &Column| c.len() == labels.len();
        assert!(columns.iter().all(fits), "a column differs in length from the labels");
        Self { columns, labels, schema: None }
    }

    /// A dataset from a table that was read, and a report of what was understood and what was left out.
    ///
    /// Rows whose target is missing are left out, and so are columns with nothing to learn from; the
    /// report names them.
    ///
    /// ```
    /// use pitchpipe_table::{CancelCheck, Dataset, ReadOptions, SchemaOptions, Source, read};
    ///
    /// let bytes = b"size,colour,kind\n1,red,a\n2,,b\n3,red,a\n4,blue,\n5,blue,b\n".to_vec();
    /// let source = Source::Bytes { name: "things.csv".into(), bytes };
    /// let table = read(&source, &ReadOptions::default(), &CancelCheck::never())?;
    /// let options = SchemaOptions { target: Some("kind".into()), ..SchemaOptions::default() };
    /// let (dataset, report) = Dataset::from_table(table, &options)?;
    /// assert_eq!((dataset.n_rows(), dataset.columns().len()), (4, 2));
    /// assert_eq!(report.classes, [("a".to_owned(), 2), ("b".to_owned(), 2)]);
    /// assert_eq!(report.n_rows_without_target, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_table(
        table: RawTable,
        options: &SchemaOptions,
    ) -> Result<(Self, Report), SchemaError> {
        if options.target.is_none() {
            let columns = table.columns.into_iter().map(|column| column.name).collect();
            return Err(SchemaError::NoTarget { columns });
        }
        let Assembled { schema, columns, labels, report } = assemble(table, options)?;
        if columns.is_empty() {
            let left_out = report.left_out().map(|(n, r)| (n.to_owned(), r.to_string())).collect();
            return Err(SchemaError::NoFeatures { left_out });
        }
        let labels = labels.expect("a target was named, and assemble() found its column");
        Ok((Self { columns, labels, schema: Some(Arc::new(schema)) }, report))
    }

    /// The feature columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The class of each row.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.labels.len()
    }

    /// The schema, where the dataset was made from a table.
    pub fn schema(&self) -> Option<&Arc<Schema>> {
        self.schema.as_ref()
    }

    /// The given rows, in the order given.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            columns: self.columns.iter().map(|column| column.select(rows)).collect(),
            labels: self.labels.select(rows),
            schema: self.schema.clone(),
        }
    }

    /// A number that depends on the cells and labels and on nothing else: not on names, nor on the
    /// machine. It is the key of what is remembered about a dataset, and the seed of its folds.
    pub fn content_hash(&self) -> u64 {
        let mut hash = Xxh3::new();
        let mut number = |n: usize| hash.update(&(n as u64).to_le_bytes());
        number(self.n_rows());
        number(self.columns.len());
        number(self.labels.n_classes());
        update_codes(&mut hash, self.labels.codes());
        for column in &self.columns {
            match column {
                Column::Numeric(values) => {
                    hash.update(b"n");
                    // One NaN and one zero, however they came about.
                    let bits =
                        |v: &f64| if v.is_nan() { f64::NAN.to_bits() } else { (v + 0.0).to_bits() };
                    values.iter().for_each(|v| hash.update(&bits(v).to_le_bytes()));
                }
                Column::Categorical { codes, n_levels } => {
                    hash.update(b"c");
                    hash.update(&n_levels.to_le_bytes());
                    update_codes(&mut hash, codes);
                }
            }
        }
        hash.digest()
    }
}

fn update_codes(hash: &mut Xxh3, codes: &[u32]) {
    codes.iter().for_each(|code| hash.update(&code.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset() -> Dataset {
        let numbers = Column::Numeric(vec![1.5, f64::NAN, 0.0]);
        let codes = Column::Categorical { codes: vec![0, 1, MISSING_CODE], n_levels: 2 };
        Dataset::new(vec![numbers, codes], Labels::from_codes([0, 1, 1], 2))
    }

    #[test]
    fn rows_are_selected_in_the_order_given() {
        let picked = dataset().select(&[2, 0]);
        assert_eq!(picked.labels().codes(), [1, 0]);
        assert_eq!(picked.columns()[0], Column::Numeric(vec![0.0, 1.5]));
        let codes = Column::Categorical { codes: vec![MISSING_CODE, 0], n_levels: 2 };
        assert_eq!(picked.columns()[1], codes);
    }

    #[test]
    fn the_content_hash_stands_still() {
        // Pinned: folds and caches are keyed by it.
        assert_eq!(dataset().content_hash(), 11_604_696_062_938_893_984);
    }

    #[test]
    fn the_content_hash_sees_every_part() {
        let base = dataset().content_hash();
        let with = |columns: Vec<Column>, codes: [u32; 3], n_classes| {
            Dataset::new(columns, Labels::from_codes(codes, n_classes)).content_hash()
        };
        let columns = || dataset().columns;
        assert_ne!(base, with(columns(), [0, 1, 0], 2));
        assert_ne!(base, with(columns(), [0, 1, 1], 3));
        assert_ne!(base, with(columns()[..1].to_vec(), [0, 1, 1], 2));
        let mut swapped = columns();
        swapped.reverse();
        assert_ne!(base, with(swapped, [0, 1, 1], 2));
        let mut numbers = columns();
        numbers[0] = Column::Numeric(vec![1.5, f64::NAN, 1e-300]);
        assert_ne!(base, with(numbers, [0, 1, 1], 2));
        let mut codes = columns();
        codes[1] = Column::Categorical { codes: vec![0, 1, MISSING_CODE], n_levels: 3 };
        assert_ne!(base, with(codes, [0, 1, 1], 2));
    }

    #[test]
    fn the_content_hash_knows_one_missing_and_one_zero() {
        let mut same = dataset();
        same.columns[0] = Column::Numeric(vec![1.5, -f64::NAN, -0.0]);
        assert_eq!(same.content_hash(), dataset().content_hash());
    }
}
