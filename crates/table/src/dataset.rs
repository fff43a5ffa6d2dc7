//! A dataset: feature columns, and what is to be predicted of each row.

use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use crate::schema::{Assembled, assemble, row_numbers};
use crate::{
    Column, Dependence, Frame, Labels, RawTable, Reason, Schema, SchemaError, SchemaOptions,
    TableReport,
};

/// What is to be predicted, row by row.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Target {
    /// A class.
    Classes(Labels),
}

impl Target {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Classes(labels) => labels.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The target of the given rows, in the order given.
    pub fn select(&self, rows: &[usize]) -> Self {
        match self {
            Self::Classes(labels) => Self::Classes(labels.select(rows)),
        }
    }
}

/// A frame with its target, the schema that they came by, and which rows hang together.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    frame: Frame,
    target: Target,
    schema: Option<Arc<Schema>>,
    dependence: Dependence,
}

impl Dataset {
    /// A dataset from columns and the class of each row, without names.
    ///
    /// # Panics
    /// If a column is not as long as the labels.
    pub fn new(columns: Vec<Column>, labels: Labels) -> Self {
        let frame = Frame::new(columns, labels.len());
        Self::from_parts(frame, Target::Classes(labels))
    }

    /// A dataset from a frame and its target, without names.
    ///
    /// # Panics
    /// If they differ in length.
    pub fn from_parts(frame: Frame, target: Target) -> Self {
        assert_eq!(frame.n_rows(), target.len(), "a target for each row");
        Self { frame, target, schema: None, dependence: Dependence::Independent }
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
    ) -> Result<(Self, TableReport), SchemaError> {
        if options.target.is_none() {
            let columns = table.columns.into_iter().map(|column| column.name).collect();
            return Err(SchemaError::NoTarget { columns });
        }
        let indices = row_numbers(&table, options);
        Self::from_numbered_table(table, options, indices)
    }

    /// The same, of a table in which these columns number the rows.
    pub(crate) fn from_numbered_table(
        table: RawTable,
        options: &SchemaOptions,
        indices: Vec<(String, Reason)>,
    ) -> Result<(Self, TableReport), SchemaError> {
        let Assembled { schema, columns, labels, dependence, report } =
            assemble(table, options, indices)?;
        if columns.is_empty() {
            let left_out = report.left_out().map(|(n, r)| (n.to_owned(), r.to_string())).collect();
            return Err(SchemaError::NoFeatures { left_out });
        }
        let labels = labels.expect("a target was named, and assemble() found its column");
        let dataset = Self::new(columns, labels);
        Ok((Self { schema: Some(Arc::new(schema)), dependence, ..dataset }, report))
    }

    /// The feature columns.
    pub fn columns(&self) -> &[Column] {
        self.frame.columns()
    }

    /// The rows without their target: what prediction is given.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// What is to be predicted.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The class of each row.
    pub fn labels(&self) -> &Labels {
        match &self.target {
            Target::Classes(labels) => labels,
        }
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.frame.n_rows()
    }

    /// The schema, where the dataset was made from a table.
    pub fn schema(&self) -> Option<&Arc<Schema>> {
        self.schema.as_ref()
    }

    /// The same rows, of which these hang together.
    ///
    /// # Panics
    /// If there is not one group or place per row.
    pub fn with_dependence(self, dependence: Dependence) -> Self {
        if let Dependence::Groups(units) | Dependence::Order(units) = &dependence {
            assert_eq!(units.len(), self.n_rows(), "a group or place for each row");
        }
        Self { dependence, ..self }
    }

    /// Which rows hang together: what every split of them has to respect.
    pub fn dependence(&self) -> &Dependence {
        &self.dependence
    }

    /// The given rows, in the order given.
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            dependence: self.dependence.select(rows),
            frame: self.frame.select(rows),
            target: self.target.select(rows),
            schema: self.schema.clone(),
        }
    }

    /// These rows, and after them those of another dataset of the same columns and classes.
    ///
    /// # Panics
    /// If columns or classes differ.
    pub fn concat(&self, other: &Self) -> Self {
        let dependence = self.dependence.concat(&other.dependence);
        let codes = [self.labels().codes(), other.labels().codes()].concat();
        assert_eq!(self.labels().n_classes(), other.labels().n_classes(), "the same classes");
        let labels = Labels::from_codes(codes, self.labels().n_classes());
        let frame = self.frame.concat(&other.frame);
        Self { frame, target: Target::Classes(labels), schema: self.schema.clone(), dependence }
    }

    /// A number that depends on the cells and labels and on nothing else: not on names, nor on the
    /// machine. It is the key of what is remembered about a dataset, and the seed of its folds.
    pub fn content_hash(&self) -> u64 {
        let mut hash = Xxh3::new();
        let mut number = |n: usize| hash.update(&(n as u64).to_le_bytes());
        number(self.n_rows());
        number(self.columns().len());
        number(self.labels().n_classes());
        update_codes(&mut hash, self.labels().codes());
        for column in self.columns() {
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
    use crate::MISSING_CODE;

    fn dataset() -> Dataset {
        let numbers = Column::numeric([1.5, f64::NAN, 0.0]);
        let codes = Column::categorical([0, 1, MISSING_CODE], 2);
        Dataset::new(vec![numbers, codes], Labels::from_codes([0, 1, 1], 2))
    }

    #[test]
    fn rows_are_selected_in_the_order_given() {
        let picked = dataset().select(&[2, 0]);
        assert_eq!(picked.labels().codes(), [1, 0]);
        assert_eq!(picked.columns()[0], Column::numeric([0.0, 1.5]));
        let codes = Column::categorical([MISSING_CODE, 0], 2);
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
        let columns = || dataset().columns().to_vec();
        assert_ne!(base, with(columns(), [0, 1, 0], 2));
        assert_ne!(base, with(columns(), [0, 1, 1], 3));
        assert_ne!(base, with(columns()[..1].to_vec(), [0, 1, 1], 2));
        let mut swapped = columns();
        swapped.reverse();
        assert_ne!(base, with(swapped, [0, 1, 1], 2));
        let mut numbers = columns();
        numbers[0] = Column::numeric([1.5, f64::NAN, 1e-300]);
        assert_ne!(base, with(numbers, [0, 1, 1], 2));
        let mut codes = columns();
        codes[1] = Column::categorical([0, 1, MISSING_CODE], 3);
        assert_ne!(base, with(codes, [0, 1, 1], 2));
    }

    #[test]
    fn the_content_hash_knows_one_missing_and_one_zero() {
        let mut columns = dataset().columns().to_vec();
        columns[0] = Column::numeric([1.5, -f64::NAN, -0.0]);
        let same = Dataset::new(columns, dataset().labels().clone());
        assert_eq!(same.content_hash(), dataset().content_hash());
    }
}
