//! Signs for missing cells that the user adds, in text and in typed formats.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use pitchpipe_table::{CancelCheck, Cells, MISSING_CODE, RawTable, ReadOptions, Source, read};

fn read_bytes(name: &str, bytes: Vec<u8>, options: &ReadOptions) -> RawTable {
    let source = Source::Bytes { name: name.into(), bytes };
    read(&source, options, &CancelCheck::never()).unwrap()
}

fn also(tokens: &[&str]) -> ReadOptions {
    let also_missing = tokens.iter().map(|&t| t.to_owned()).collect();
    ReadOptions { also_missing, ..ReadOptions::default() }
}

/// Whether each cell is missing.
fn missing(cells: &Cells) -> Vec<bool> {
    match cells {
        Cells::Numbers { values, .. } => values.iter().map(|v| v.is_nan()).collect(),
        Cells::Text { codes, .. } | Cells::Nominal { codes, .. } => {
            codes.iter().map(|&code| code == MISSING_CODE).collect()
        }
        Cells::Instants { seconds } => seconds.iter().map(|s| s.is_nan()).collect(),
    }
}

#[test]
fn added_tokens_leave_the_usual_ones_in_force() {
    let csv = b"x,y\n1,a\nNA,b\n-99,a\n4,b\n".to_vec();
    let table = read_bytes("t.csv", csv.clone(), &also(&["-99"]));
    assert_eq!(missing(&table.columns[0].cells), [false, true, true, false]);
    let only = ReadOptions { missing: Some(Vec::new()), ..also(&["-99"]) };
    let table = read_bytes("t.csv", csv, &ReadOptions { categorical: vec!["x".into()], ..only });
    assert_eq!(missing(&table.columns[0].cells), [false, false, true, false]);
}

#[test]
fn tokens_count_in_every_column_of_a_typed_file() {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("whole", Arc::new(Int64Array::from(vec![-99, 1, 2]))),
        ("real", Arc::new(Float64Array::from(vec![f64::INFINITY, -99.0, 2.5]))),
        ("text", Arc::new(StringArray::from(vec!["unknown", "a", "b"]))),
        ("level", Arc::new(DictionaryArray::<Int32Type>::from_iter(["a", "unknown", "b"]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();

    let table = read_bytes("t.parquet", bytes, &also(&["-99", "inf", "unknown"]));
    let found: Vec<Vec<bool>> = table.columns.iter().map(|c| missing(&c.cells)).collect();
    let expected =
        [[true, false, false], [true, true, false], [true, false, false], [false, true, false]];
    assert_eq!(found, expected);
}
