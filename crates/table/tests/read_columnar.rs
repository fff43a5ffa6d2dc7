//! Parquet and Arrow IPC, good and bad, through the front door.

mod common;

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Date32Array, Date64Array, Decimal32Array,
    Decimal64Array, Decimal128Array, Decimal256Array, DictionaryArray, DurationMicrosecondArray,
    DurationMillisecondArray, DurationNanosecondArray, DurationSecondArray, FixedSizeBinaryArray,
    Float16Array, Float32Array, Float64Array, Int8Array, Int64Array, LargeBinaryArray,
    LargeStringArray, ListArray, NullArray, RecordBatch, StringArray, StringViewArray,
    Time32MillisecondArray, Time32SecondArray, Time64MicrosecondArray, Time64NanosecondArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt8Array, UInt64Array,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use common::{complaint, complaint_with, names, read_as, said, show, table};
use parquet::arrow::ArrowWriter;
use pitchpipe_table::{Cells, Dataset, Note, ReadOptions, SchemaOptions};

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

/// Columns of all types that have more than one way to be written, and how they are.
fn spelled() -> Vec<(ArrayRef, &'static str)> {
    let decimal =
        |array: Decimal128Array, scale| array.with_precision_and_scale(20, scale).unwrap();
    let fixed = FixedSizeBinaryArray::try_from_iter([b"ab", b"cd"].into_iter()).unwrap();
    let day = 86_400_i64;
    vec![
        (Arc::new(UInt8Array::from(vec![Some(255), None])), "255 -"),
        (Arc::new(Int8Array::from(vec![-128, 7])), "-128 7"),
        (Arc::new(UInt64Array::from(vec![u64::MAX, 0])), "18446744073709551615 0"),
        (Arc::new(Float16Array::from(vec![half::f16::from_f32(0.5), half::f16::NAN])), "0.5 -"),
        (Arc::new(Float32Array::from(vec![Some(0.1), None])), "0.10000000149011612 -"),
        (Arc::new(Float64Array::from(vec![1e21, -0.0])), "1000000000000000000000 -0"),
        (Arc::new(decimal(Decimal128Array::from(vec![-1, 12_345]), 2)), "-0.01 123.45"),
        (Arc::new(decimal(Decimal128Array::from(vec![12, 0]), -3)), "12000 0000"),
        (Arc::new(decimal(Decimal128Array::from(vec![12, 0]), 0)), "12 0"),
        (Arc::new(Decimal32Array::from(vec![Some(5), None])), "0.05 -"),
        (Arc::new(Decimal64Array::from(vec![1, -10_000_000])), "0.000001 -10.000000"),
        (Arc::new(Decimal256Array::from_iter([Some(7.into()), None])), "0.0000000007 -"),
        (Arc::new(Date32Array::from(vec![Some(19_000), None])), "2022-01-08 -"),
        (
            Arc::new(Date64Array::from(vec![day * 1000, -1])),
            "1970-01-02T00:00:00 1969-12-31T23:59:59.999",
        ),
        (
            Arc::new(TimestampSecondArray::from(vec![day * 365, -1])),
            "1971-01-01T00:00:00 1969-12-31T23:59:59",
        ),
        (
            Arc::new(TimestampMillisecondArray::from(vec![1500, 2000])),
            "1970-01-01T00:00:01.500 1970-01-01T00:00:02",
        ),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![Some(1), None]).with_timezone("+02:00")),
            "1970-01-01T02:00:00.000001+02:00 -",
        ),
        (
            Arc::new(TimestampNanosecondArray::from(vec![1, 0]).with_timezone("-0930")),
            "1969-12-31T14:30:00.000000001-09:30 1969-12-31T14:30:00-09:30",
        ),
        (
            Arc::new(TimestampSecondArray::from(vec![0, 60]).with_timezone("+00:00")),
            "1970-01-01T00:00:00Z 1970-01-01T00:01:00Z",
        ),
        (Arc::new(Time32SecondArray::from(vec![61, 0])), "00:01:01 00:00:00"),
        (Arc::new(Time32MillisecondArray::from(vec![1, 0])), "00:00:00.001 00:00:00"),
        (Arc::new(Time64MicrosecondArray::from(vec![Some(1), None])), "00:00:00.000001 -"),
        (Arc::new(Time64NanosecondArray::from(vec![1, 0])), "00:00:00.000000001 00:00:00"),
        (Arc::new(DurationSecondArray::from(vec![90, -1])), "PT90S -PT1S"),
        (Arc::new(DurationMillisecondArray::from(vec![1500, 0])), "PT1.5S P0D"),
        (Arc::new(DurationMicrosecondArray::from(vec![1, 0])), "PT0.000001S P0D"),
        (Arc::new(DurationNanosecondArray::from(vec![Some(1), None])), "PT0.000000001S -"),
        (Arc::new(NullArray::new(2)), "- -"),
        (Arc::new(StringArray::from(vec![Some("a"), None])), "a -"),
        (
            Arc::new(StringViewArray::from(vec![Some("beyond twelve bytes"), None])),
            "beyond twelve bytes -",
        ),
        (Arc::new(LargeBinaryArray::from(vec![Some(&b"a"[..]), None])), "a -"),
        (Arc::new(BinaryViewArray::from(vec![Some(&b"a"[..]), None])), "a -"),
        (Arc::new(fixed), "ab cd"),
    ]
}

#[test]
fn every_type_becomes_text_on_request() {
    for (array, want) in spelled() {
        let kind = array.data_type().clone();
        let asked = batch(vec![("x", array)]);
        let options = ReadOptions { categorical: vec!["x".into()], ..ReadOptions::default() };
        let t = read_as("t.arrow", &file(&asked), &options).unwrap();
        assert_eq!(show(&t, 0), format!("text: {want}"), "{kind}");
    }
}

#[test]
fn a_dictionary_may_hold_any_plain_type() {
    let keys = Int8Array::from(vec![Some(1), None, Some(0), Some(1)]);
    for (array, want) in spelled() {
        let kind = array.data_type().clone();
        let dictionary = DictionaryArray::new(keys.clone(), array);
        let t = table(file(&batch(vec![("x", Arc::new(dictionary))])));
        let (first, second) = want.rsplit_once(' ').unwrap();
        assert_eq!(show(&t, 0), format!("nominal: {second} - {first} {second}"), "{kind}");
    }
    let flags = Arc::new(BooleanArray::from(vec![true, false]));
    let t = table(file(&batch(vec![("x", Arc::new(DictionaryArray::new(keys, flags)))])));
    assert_eq!(show(&t, 0), "nominal: false - true false");
    let none = DictionaryArray::new(Int8Array::new_null(2), Arc::new(StringArray::new_null(0)));
    let t = table(file(&batch(vec![("x", Arc::new(none))])));
    assert_eq!(show(&t, 0), "nominal: - -");
}

#[test]
fn times_and_durations_are_read_as_seconds_in_every_unit() {
    let columns = vec![
        ("s", Arc::new(Time32SecondArray::from(vec![Some(61), None])) as ArrayRef),
        ("ms", Arc::new(Time32MillisecondArray::from(vec![Some(1), None]))),
        ("us", Arc::new(Time64MicrosecondArray::from(vec![Some(1), None]))),
        ("ns", Arc::new(Time64NanosecondArray::from(vec![Some(1), None]))),
        ("ds", Arc::new(DurationSecondArray::from(vec![Some(-90), None]))),
        ("dms", Arc::new(DurationMillisecondArray::from(vec![Some(1500), None]))),
        ("dus", Arc::new(DurationMicrosecondArray::from(vec![Some(1), None]))),
        ("dns", Arc::new(DurationNanosecondArray::from(vec![Some(1), None]))),
    ];
    let t = table(file(&batch(columns)));
    let want = ["61", "0.001", "0.000001", "0.000000001", "-90", "1.5", "0.000001", "0.000000001"];
    for (i, seconds) in want.iter().enumerate() {
        assert_eq!(show(&t, i), format!("num: {seconds} -"));
    }
}

#[test]
fn decimals_of_every_width_are_read_as_numbers() {
    let wide = "123456789012345678901234567890".parse().unwrap();
    let columns = vec![
        ("32", Arc::new(Decimal32Array::from(vec![Some(5), None])) as ArrayRef),
        ("64", Arc::new(Decimal64Array::from(vec![Some(-1_500_000), None]))),
        ("256", Arc::new(Decimal256Array::from_iter([Some(wide), None]))),
    ];
    let t = table(file(&batch(columns)));
    for (i, number) in ["0.05", "-1.5", "12345678901234567000"].iter().enumerate() {
        assert_eq!(show(&t, i), format!("num: {number} -"));
    }
}

#[test]
fn columns_that_hold_no_plain_cells_are_named() {
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), Some(2)])]);
    let nested = batch(vec![
        ("a", Arc::new(Int64Array::from(vec![1]))),
        ("tags", Arc::new(lists) as ArrayRef),
    ]);
    for bytes in [file(&nested), stream(&nested), parquet(&nested)] {
        let table = read_as("t.csv", &bytes, &ReadOptions::default()).unwrap();
        assert_eq!((names(&table), show(&table, 0)), (vec!["a"], "int: 1".to_owned()));
        let said = said(&table);
        assert!(
            said[0].starts_with("column \"tags\" is left out: it is of type List("),
            "{said:?}"
        );
        // What is to be predicted cannot be left out.
        let options = ReadOptions { target: Some("tags".into()), ..ReadOptions::default() };
        let complaint = complaint_with(bytes, &options);
        assert!(complaint.starts_with("t.csv: column \"tags\" is of type List("), "{complaint}");
        assert!(
            complaint.ends_with("leave \"tags\" out of the file, or turn it into plain columns")
        );
    }
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1)])]);
    let only = batch(vec![("tags", Arc::new(lists) as ArrayRef)]);
    assert!(complaint(parquet(&only)).starts_with("t.csv: column \"tags\" is of type List("));
    let blob = batch(vec![("b", Arc::new(BinaryArray::from(vec![&b"ok"[..], b"\xff\xfe"])))]);
    assert!(
        complaint(parquet(&blob)).contains("column \"b\" is of type binary (row 2 is not UTF-8")
    );
}

#[test]
fn a_column_that_is_not_read_can_be_left_out_by_name() {
    let tags = ListArray::from_iter_primitive::<Int32Type, _, _>(
        (0..6).map(|i| Some(vec![Some(i), Some(i + 1)])),
    );
    let bytes = parquet(&batch(vec![
        ("a", Arc::new(Float64Array::from(vec![1.0, 4.5, 2.0, 3.0, 7.0, 5.0]))),
        ("tags", Arc::new(tags) as ArrayRef),
        ("y", Arc::new(StringArray::from(vec!["u", "v", "u", "v", "u", "v"]))),
    ]));
    let table = || read_as("t.parquet", &bytes, &ReadOptions::default()).unwrap();
    let named = |exclude: &[&str], numeric: &[&str]| SchemaOptions {
        target: Some("y".into()),
        exclude: exclude.iter().map(|&name| name.into()).collect(),
        numeric: numeric.iter().map(|&name| name.into()).collect(),
        ..SchemaOptions::default()
    };
    let (dataset, report) = Dataset::from_table(table(), &named(&["tags"], &[])).unwrap();
    assert_eq!(dataset.columns().len(), 1);
    // It is as was asked for, so nothing is to be warned of, now or later.
    let said: Vec<String> = report.notes.iter().map(ToString::to_string).collect();
    assert!(
        said.iter().any(|n| n == "column \"tags\" is left out: excluded on request"),
        "{said:?}"
    );
    assert!(!report.notes.iter().any(|note| matches!(note, Note::Unreadable { .. })), "{said:?}");
    let applied = dataset.schema().unwrap().apply(table()).unwrap();
    assert_eq!(applied.notes, []);
    // Nothing else can be done with it, and a name that is not there is still an error.
    let refused = |options| Dataset::from_table(table(), &options).unwrap_err().to_string();
    let numeric = refused(named(&[], &["tags"]));
    assert!(
        numeric.starts_with("column \"tags\", given as --numeric, is of type List("),
        "{numeric}"
    );
    assert_eq!(refused(named(&["tag"], &[])), "there is no column \"tag\", given as --exclude");
}

#[test]
fn infinite_numbers_empty_tables_and_duplicate_names_are_refused() {
    let wild = batch(vec![("x", Arc::new(Float64Array::from(vec![1.0, f64::NEG_INFINITY])))]);
    assert!(complaint(file(&wild)).contains("column \"x\" holds \"-inf\" in row 2, but numbers"));
    let none = batch(vec![("x", Arc::new(Float64Array::from(Vec::<f64>::new())))]);
    assert!(complaint(parquet(&none)).starts_with("t.csv has 1 column but no rows"));
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
