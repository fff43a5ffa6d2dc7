//! Parquet and Arrow IPC, good and bad, through the front door.

mod common;

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal128Array,
    DictionaryArray, DurationSecondArray, Float16Array, Float32Array, Float64Array, Int8Array,
    Int64Array, LargeStringArray, ListArray, NullArray, RecordBatch, StringArray, StringViewArray,
    Time32SecondArray, TimestampMillisecondArray, TimestampNanosecondArray, UInt64Array,
};
use arrow::datatypes::{Int8Type, Int32Type};
use arrow::ipc::writer::{FileWriter, StreamWriter};
use common::{complaint, complaint_with, names, read_as, said, show, table};
use parquet::arrow::ArrowWriter;
use pitchpipe_table::{Cells, ReadOptions};

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true)))
        .unwrap()
}

fn file(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn stream(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn parquet(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn mixed() -> RecordBatch {
    let half = half::f16::from_f32;
    batch(vec![
        ("i8", Arc::new(Int8Array::from(vec![Some(1), None, Some(-3)]))),
        ("i64", Arc::new(Int64Array::from(vec![5, 6, 7]))),
        ("u64", Arc::new(UInt64Array::from(vec![Some(u64::MAX), None, Some(0)]))),
        ("f16", Arc::new(Float16Array::from(vec![half(0.5), half(2.0), half(-1.0)]))),
        ("f32", Arc::new(Float32Array::from(vec![Some(0.1), None, Some(f32::NAN)]))),
        ("f64", Arc::new(Float64Array::from(vec![1.0, 2.5, -0.125]))),
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        ("text", Arc::new(StringArray::from(vec![Some("b"), None, Some("a")]))),
        ("large", Arc::new(LargeStringArray::from(vec!["NA", "", "x"]))),
        ("view", Arc::new(StringViewArray::from(vec!["a string beyond 12 bytes", "s", "s"]))),
        ("bin", Arc::new(BinaryArray::from(vec![&b"p"[..], b"q", b"p"]))),
        ("dict", Arc::new(["z", "y", "z"].into_iter().collect::<DictionaryArray<Int8Type>>())),
        ("day", Arc::new(Date32Array::from(vec![Some(1), None, Some(-1)]))),
        ("day64", Arc::new(Date64Array::from(vec![86_400_000, 0, -86_400_000]))),
        ("ms", Arc::new(TimestampMillisecondArray::from(vec![1500, 0, -500]))),
        (
            "ns",
            Arc::new(
                TimestampNanosecondArray::from(vec![1_500_000_000, 0, 1]).with_timezone("UTC"),
            ),
        ),
        (
            "dec",
            Arc::new(
                Decimal128Array::from(vec![Some(12345), None, Some(-1)])
                    .with_precision_and_scale(10, 2)
                    .unwrap(),
            ),
        ),
        ("null", Arc::new(NullArray::new(3))),
        ("time", Arc::new(Time32SecondArray::from(vec![60, 0, 1]))),
    ])
}

#[test]
fn every_plain_type_is_read_from_every_format() {
    let mixed = mixed();
    for bytes in [file(&mixed), stream(&mixed), parquet(&mixed)] {
        let t = table(bytes);
        let want = [
            ("i8", "int: 1 - -3"),
            ("i64", "int: 5 6 7"),
            ("u64", "int: 18446744073709552000 - 0"),
            ("f16", "num: 0.5 2 -1"),
            ("f32", "num: 0.10000000149011612 - -"),
            ("f64", "num: 1 2.5 -0.125"),
            ("flag", "nominal: true - false"),
            ("text", "text: b - a"),
            ("large", "text: NA  x"),
            ("view", "text: a string beyond 12 bytes s s"),
            ("bin", "text: p q p"),
            ("dict", "nominal: z y z"),
            ("day", "instant: 86400 - -86400"),
            ("day64", "instant: 86400 0 -86400"),
            ("ms", "instant: 1.5 0 -0.5"),
            ("ns", "instant: 1.5 0 0.000000001"),
            ("dec", "num: 123.45 - -0.01"),
            ("null", "num: - - -"),
            ("time", "num: 60 0 1"),
        ];
        assert_eq!(names(&t), want.map(|(name, _)| name));
        for (i, (name, cells)) in want.into_iter().enumerate() {
            assert_eq!(show(&t, i), cells, "{name}");
        }
        assert_eq!(
            said(&t),
            ["column \"u64\" holds integers beyond 2^53, which were rounded to the nearest double"]
        );
    }
    let durations = batch(vec![("d", Arc::new(DurationSecondArray::from(vec![90, 1])))]);
    assert_eq!(show(&table(file(&durations)), 0), "num: 90 1");
}

#[test]
fn dictionaries_that_differ_between_batches_are_joined() {
    let part = |values: &[&str]| {
        let array: DictionaryArray<Int32Type> = values.iter().copied().collect();
        batch(vec![("d", Arc::new(array) as ArrayRef)])
    };
    let parts = [part(&["a", "b"]), part(&["c", "b"])];
    let mut writer = StreamWriter::try_new(Vec::new(), &parts[0].schema()).unwrap();
    for part in &parts {
        writer.write(part).unwrap();
    }
    let t = table(writer.into_inner().unwrap());
    assert_eq!(show(&t, 0), "nominal: a b c b");
    let Cells::Nominal { levels, .. } = &t.columns[0].cells else { panic!("a dictionary") };
    assert_eq!(levels, &["a", "b", "c"]);
}

#[test]
fn numbers_become_text_on_request_as_one_would_write_them() {
    let numbers = batch(vec![
        ("i", Arc::new(Int64Array::from(vec![Some(i64::MAX), None]))),
        ("f", Arc::new(Float64Array::from(vec![1.0, 0.5]))),
        ("s", Arc::new(StringArray::from(vec!["-", "x"]))),
    ]);
    let options = ReadOptions {
        categorical: vec!["i".into(), "f".into()],
        missing: Some(vec!["-".into()]),
        ..ReadOptions::default()
    };
    let t = read_as("t.parquet", &parquet(&numbers), &options).unwrap();
    assert_eq!(show(&t, 0), "text: 9223372036854775807 -");
    assert_eq!(show(&t, 1), "text: 1 0.5");
    assert_eq!(show(&t, 2), "text: - x");
    assert!(matches!(&t.columns[2].cells, Cells::Text { dictionary, .. } if dictionary == &["x"]));
    let unknown = ReadOptions { categorical: vec!["q".into()], ..ReadOptions::default() };
    assert_eq!(complaint_with(file(&numbers), &unknown), "t.csv has no column \"q\"");
}

#[test]
fn columns_that_hold_no_plain_cells_are_named() {
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), Some(2)])]);
    let nested = batch(vec![
        ("a", Arc::new(Int64Array::from(vec![1]))),
        ("tags", Arc::new(lists) as ArrayRef),
    ]);
    for bytes in [file(&nested), parquet(&nested)] {
        let complaint = complaint(bytes);
        assert!(complaint.starts_with("t.csv: column \"tags\" is of type List("), "{complaint}");
        assert!(
            complaint.ends_with("leave \"tags\" out of the file, or turn it into plain columns")
        );
    }
    let blob = batch(vec![("b", Arc::new(BinaryArray::from(vec![&b"ok"[..], b"\xff\xfe"])))]);
    assert!(
        complaint(parquet(&blob)).contains("column \"b\" is of type binary (row 2 is not UTF-8")
    );
}

#[test]
fn infinite_numbers_empty_tables_and_duplicate_names_are_refused() {
    let wild = batch(vec![("x", Arc::new(Float64Array::from(vec![1.0, f64::NEG_INFINITY])))]);
    assert!(complaint(file(&wild)).contains("column \"x\" holds \"-inf\" in row 2, but numbers"));
    let none = batch(vec![("x", Arc::new(Float64Array::from(Vec::<f64>::new())))]);
    assert!(complaint(parquet(&none)).starts_with("t.csv has 1 columns but no rows"));
    let column = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    let twice = batch(vec![("x", column()), ("x", column())]);
    assert!(complaint(stream(&twice)).starts_with("t.csv: columns 1 and 2 are both named \"x\""));
}

#[test]
fn cut_and_damaged_files_are_told_apart_from_good_ones() {
    let mixed = mixed();
    for (bytes, format) in [(file(&mixed), "Arrow"), (parquet(&mixed), "Parquet")] {
        let cut = complaint(&bytes[..bytes.len() * 2 / 3]);
        assert_eq!(
            cut,
            format!("t.csv ends before its {format} data does\ncopy or download the file again")
        );
    }
    let stream = stream(&mixed);
    assert!(complaint(&stream[..stream.len() * 2 / 3]).contains("its Arrow data"));
    let mut bytes = parquet(&mixed);
    let footer = bytes.len() - 100;
    bytes[footer..footer + 40].fill(0xff);
    assert!(complaint(bytes).starts_with("t.csv is damaged: its Parquet data cannot be decoded ("));
}
