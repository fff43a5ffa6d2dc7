//! Tables as Python hands them over: anything with the Arrow C interface.

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema as ArrowSchema};
use numpy::PyReadonlyArray2;
use numpy::ndarray::{ArrayView1, ArrayView2};
use pitchpipe_table::{
    CancelCheck, RawTable, ReadOptions, Schema, TableError, from_batches, from_batches_until,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;

use crate::words::{TABLE, of_table};

/// A table in memory: shared with whoever made it, not copied.
#[pyclass(frozen, module = "pitchpipe._native")]
pub(crate) struct Table {
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl Table {
    /// From anything with `__arrow_c_stream__` or `__arrow_c_array__`.
    #[new]
    fn new(data: AnyRecordBatch) -> PyResult<Self> {
        let (mut batches, schema) = data.into_table()?.into_inner();
        if batches.is_empty() {
            batches.push(RecordBatch::new_empty(schema));
        }
        Ok(Self { batches })
    }

    /// From an array of numbers, which are copied: where rows are few that takes less time than to share column by column.
    #[staticmethod]
    fn of_numbers(names: Vec<String>, values: Numbers<'_>) -> PyResult<Self> {
        let columns = match &values {
            Numbers::Double(values) => columns_of::<Float64Type>(values.as_array()),
            Numbers::Single(values) => columns_of::<Float32Type>(values.as_array()),
            Numbers::Long(values) => columns_of::<Int64Type>(values.as_array()),
            Numbers::Int(values) => columns_of::<Int32Type>(values.as_array()),
        };
        let field = |(name, column): (String, &ArrayRef)| {
            Field::new(name, column.data_type().clone(), true)
        };
        if names.len() != columns.len() {
            return Err(PyValueError::new_err("a name for each column is needed"));
        }
        let fields: Vec<Field> = names.into_iter().zip(&columns).map(field).collect();
        let n_rows = columns.first().map_or(0, |column| column.len());
        let options = RecordBatchOptions::new().with_row_count(Some(n_rows));
        let schema = Arc::new(ArrowSchema::new(fields));
        RecordBatch::try_new_with_options(schema, columns, &options)
            .map(|batch| Self { batches: vec![batch] })
            .map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.batches[0].schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// How many rows there are.
    #[getter]
    fn n_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The same columns under other names.
    fn renamed(&self, names: Vec<String>) -> PyResult<Self> {
        let schema = self.batches[0].schema();
        if names.len() != schema.fields().len() {
            return Err(PyValueError::new_err("a name for each column is needed"));
        }
        let named = |(field, name): (&Arc<Field>, String)| field.as_ref().clone().with_name(name);
        let fields: Vec<Field> = schema.fields().iter().zip(names).map(named).collect();
        let schema = Arc::new(ArrowSchema::new(fields));
        let batch = |batch: &RecordBatch| {
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let columns = batch.columns().to_vec();
            RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)
                .map_err(|e| PyValueError::new_err(e.to_string()))
        };
        Ok(Self { batches: self.batches.iter().map(batch).collect::<PyResult<_>>()? })
    }
}

/// A two-dimensional array of numbers.
#[derive(FromPyObject)]
enum Numbers<'py> {
    Double(PyReadonlyArray2<'py, f64>),
    Single(PyReadonlyArray2<'py, f32>),
    Long(PyReadonlyArray2<'py, i64>),
    Int(PyReadonlyArray2<'py, i32>),
}

fn columns_of<T: ArrowPrimitiveType>(values: ArrayView2<'_, T::Native>) -> Vec<ArrayRef> {
    let column = |cells: ArrayView1<'_, T::Native>| {
        Arc::new(PrimitiveArray::<T>::from_iter_values(cells.iter().copied())) as ArrayRef
    };
    values.columns().into_iter().map(column).collect()
}

impl Table {
    /// The same table, for another thread.
    pub(crate) fn shared(&self) -> Self {
        Self { batches: self.batches.clone() }
    }

    /// With the target as one more column: to learn from.
    pub(crate) fn to_train(
        &self,
        y: &Self,
        options: &ReadOptions,
        cancel: &CancelCheck,
    ) -> Result<RawTable, TableError> {
        y.joined_to(from_batches_until(TABLE, &self.batches, options, cancel)?)
    }

    /// Read by the rules of a schema, without the GIL; with the target, where there is one.
    pub(crate) fn in_terms_of(
        &self,
        py: Python<'_>,
        y: Option<&Self>,
        schema: &Schema,
    ) -> PyResult<RawTable> {
        py.detach(|| self.read_by(y, schema)).map_err(of_table)
    }

    /// The same for who does not hold it.
    pub(crate) fn read_by(
        &self,
        y: Option<&Self>,
        schema: &Schema,
    ) -> Result<RawTable, TableError> {
        let options = ReadOptions { allow_no_rows: true, ..ReadOptions::default() };
        let table = schema.read_batches(TABLE, &self.batches, options)?;
        match y {
            Some(y) => y.joined_to(table),
            None => Ok(table),
        }
    }

    /// The target is a table of one column, whose name no feature has.
    fn joined_to(&self, mut table: RawTable) -> Result<RawTable, TableError> {
        let options = ReadOptions { allow_no_rows: true, ..ReadOptions::default() };
        let target = from_batches("y", &self.batches, &options)?;
        table.columns.extend(target.columns);
        Ok(table)
    }
}
