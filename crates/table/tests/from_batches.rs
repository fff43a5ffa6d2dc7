//! Tables handed over in memory as Arrow record batches.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use pitchpipe_table::{
    CancelCheck, Cells, Column, Dataset, RawTable, ReadOptions, Schema, SchemaError, SchemaOptions,
    TableError, from_batches, from_batches_until,
};

fn batch(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    RecordBatch::try_from_iter(columns.iter().cloned()).unwrap()
}

fn table(batches: &[RecordBatch]) -> Result<RawTable, TableError> {
    from_batches("data", batches, &ReadOptions::default())
}

fn doubles(values: Vec<f64>) -> ArrayRef {
    Arc::new(Float64Array::from(values))
}

fn place(table: &RawTable) -> *const f64 {
    let Cells::Numbers { values, .. } = &table.columns[0].cells else { panic!("numbers") };
    values.as_ptr()
}

#[test]
fn doubles_without_nulls_are_shared_all_the_way_to_the_dataset() {
    let values = vec![1.5, f64::NAN, 2.5, 3.5];
    let given = values.as_ptr();
    let classes: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "a", "b"]));
    let table = table(&[batch(&[("x", doubles(values)), ("y", classes)])]).unwrap();
    assert_eq!(place(&table), given);

    let options = SchemaOptions { target: Some("y".into()), ..SchemaOptions::default() };
    let (dataset, _) = Dataset::from_table(table.clone(), &options).unwrap();
    let Column::Numeric(values) = &dataset.columns()[0] else { panic!("a numeric feature") };
    assert_eq!(values.as_ptr(), given);
    let frame = dataset.schema().unwrap().apply(table).unwrap().frame;
    let Column::Numeric(values) = &frame.columns()[0] else { panic!("a numeric feature") };
    assert_eq!(values.as_ptr(), given);
}

#[test]
fn a_slice_of_an_array_is_shared_too() {
    let whole = Float64Array::from((0..10).map(f64::from).collect::<Vec<f64>>());
    let table = table(&[batch(&[("x", Arc::new(whole.slice(4, 3)))])]).unwrap();
    assert_eq!(place(&table), whole.values()[4..].as_ptr());
    assert_eq!(table.n_rows, 3);
}

#[test]
fn what_has_to_change_is_copied_and_right() {
    let options = ReadOptions { also_missing: vec!["-99".into()], ..ReadOptions::default() };
    let holey: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.5), None, Some(-99.0)]));
    let whole: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, -99]));
    let batch = batch(&[("x", holey), ("n", whole), ("z", doubles(vec![-99.0, 0.5, 1.0]))]);
    let two = from_batches("data", &[batch.clone(), batch], &options).unwrap();
    assert_eq!(two.n_rows, 6);
    let missing = |j: usize| match &two.columns[j].cells {
        Cells::Numbers { values, .. } => values.iter().map(|v| v.is_nan()).collect::<Vec<bool>>(),
        other => panic!("{other:?} are no numbers"),
    };
    assert_eq!(missing(0), [false, true, true, false, true, true]);
    assert_eq!(missing(1), [false, false, true, false, false, true]);
    assert_eq!(missing(2), [true, false, false, true, false, false]);
}

#[test]
fn batches_follow_each_other() {
    let part = |values: Vec<f64>| batch(&[("x", doubles(values))]);
    let table = table(&[part(vec![1.5]), part(vec![2.5, 3.5]), part(vec![])]).unwrap();
    let Cells::Numbers { values, integers: false } = &table.columns[0].cells else {
        panic!("numbers")
    };
    assert_eq!(*values, [1.5, 2.5, 3.5]);
}

#[test]
fn what_cannot_be_a_table_is_refused() {
    let said = |batches: &[RecordBatch]| table(batches).unwrap_err().to_string();
    assert_eq!(said(&[]), "data has no columns");
    let (x, z) = (batch(&[("x", doubles(vec![1.0]))]), batch(&[("z", doubles(vec![1.0]))]));
    let different = "data is damaged: its Arrow data cannot be decoded (its record batches have different columns)";
    assert_eq!(said(&[x, z]), different);
    let infinite = batch(&[("x", doubles(vec![0.0, f64::INFINITY]))]);
    assert_eq!(
        said(&[infinite]),
        "data: column \"x\" holds \"inf\" in row 2, but numbers must be finite"
    );
}

fn wide() -> RecordBatch {
    let text = |texts: [&str; 4]| -> ArrayRef { Arc::new(StringArray::from(texts.to_vec())) };
    batch(&[
        ("same", doubles(vec![1.0; 4])),
        ("a", doubles(vec![1.5, 2.5, 2.5, 4.0])),
        ("kind", text(["x", "y", "x", "y"])),
        ("empty", doubles(vec![f64::NAN; 4])),
        ("b", doubles(vec![0.5, 2.5, 1.5, 4.0])),
    ])
}

#[test]
fn a_schema_knows_the_order_of_all_columns() {
    let options = SchemaOptions { target: Some("kind".into()), ..SchemaOptions::default() };
    let (dataset, _) = Dataset::from_table(table(&[wide()]).unwrap(), &options).unwrap();
    let schema = dataset.schema().unwrap();
    let order = ["same", "a", "empty", "b"];
    assert_eq!(schema.names_in_order().unwrap(), order);
    let mut written = serde_json::to_value(&**schema).unwrap();
    let read: Schema = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(read.names_in_order().unwrap(), order);
    // Files of before do not say, and still read.
    for column in written["left_out"].as_array_mut().unwrap() {
        column.as_object_mut().unwrap().remove("position").unwrap();
    }
    let read: Schema = serde_json::from_value(written).unwrap();
    assert_eq!((read.names_in_order(), read.left_out().len()), (None, 2));
}

#[test]
fn a_table_in_memory_is_left_when_it_is_time_to_stop() {
    let stop = CancelCheck::new(|| true);
    let options = ReadOptions::default();
    let read = from_batches_until("data", &[wide()], &options, &stop);
    assert!(matches!(read, Err(TableError::Cancelled)));
    let options =
        SchemaOptions { target: Some("kind".into()), cancel: stop, ..SchemaOptions::default() };
    let made = Dataset::from_table(table(&[wide()]).unwrap(), &options);
    assert_eq!(made.unwrap_err(), SchemaError::Cancelled);
}
