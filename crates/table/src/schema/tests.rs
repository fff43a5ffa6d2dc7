//! From bytes to datasets, and later tables matched to them.

use super::*;
use crate::{
    CancelCheck, Column, Dataset, Labels, MISSING_CODE, Note, ReadOptions, Source, UNSEEN_CODE,
    read,
};

fn table(csv: &str) -> RawTable {
    let source = Source::Bytes { name: "t.csv".into(), bytes: csv.as_bytes().to_vec() };
    read(&source, &ReadOptions::default(), &CancelCheck::never()).unwrap()
}

fn target(name: &str) -> SchemaOptions {
    SchemaOptions { target: Some(name.into()), ..SchemaOptions::default() }
}

fn said(notes: &[Note]) -> Vec<String> {
    notes.iter().map(Note::to_string).collect()
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

const SHOP: &str = "\
id,size,colour,when,shop,empty,kind
x1,1,red,2024-01-01,here,,a
x2,2.5,,2024-02-01,here,,b
x3,,blue,2024-03-01,here,,a
x4,4,red,2024-04-01,here,,
x5,4,green,2024-05-01,here,,b
x6,5,red,2024-06-01,here,,b
";

fn shop() -> (Dataset, TableReport) {
    Dataset::from_table(table(SHOP), &target("kind")).unwrap()
}

#[test]
fn each_column_becomes_what_it_is() {
    let (dataset, report) = shop();
    let schema = dataset.schema().unwrap();
    let dates = ["when.month", "when.weekday", "when.elapsed_days"];
    assert_eq!(schema.feature_names(), [&["size", "colour"][..], &dates].concat());
    assert_eq!(dataset.labels(), &Labels::from_codes([0, 1, 0, 1, 1], 2));
    assert_eq!(dataset.columns()[1], Column::categorical(vec![2, MISSING_CODE, 0, 1, 2], 3));
    assert_eq!(dataset.columns()[2], Column::numeric(vec![1., 2., 3., 5., 6.]));
    let Column::Numeric(size) = &dataset.columns()[0] else { panic!("size is numeric") };
    assert!(size[2].is_nan() && size[3] == 4.0);

    let left_out: Vec<(&str, String)> =
        report.left_out().map(|(n, r)| (n, r.to_string())).collect();
    let expected = [
        ("id", "a different text in every row"),
        ("shop", "the same value, \"here\", in every row"),
        ("empty", "no cell has a value"),
    ];
    assert_eq!(left_out, expected.map(|(name, reason)| (name, reason.to_owned())));
}

#[test]
fn the_report_counts_the_table_as_read() {
    let (_, report) = shop();
    assert_eq!((report.n_rows, report.n_features(), report.n_missing_cells()), (6, 6, 8));
    assert_eq!(report.n_numeric() + report.n_categorical() + report.n_dates(), 6);
    assert_eq!(report.n_rows_without_target, 1);
    assert_eq!(
        report.warnings().map(Note::to_string).find(|w| w.starts_with("left out")).unwrap(),
        "left out 1 of 6 rows without a value in \"kind\" (row 4)"
    );
    assert_eq!(report.classes, [("a".to_owned(), 2), ("b".to_owned(), 3)]);
}

#[test]
fn few_whole_numbers_stay_numbers_and_that_is_said() {
    let rows: String = (0..60).map(|i| format!("{},{}\n", i % 4, i % 2)).collect();
    let csv = format!("grade,y\n{rows}");
    let (dataset, report) = Dataset::from_table(table(&csv), &target("y")).unwrap();
    assert!(matches!(dataset.columns()[0], Column::Numeric(_)));
    let said = "grade holds few different whole numbers, taken as numbers; if they are codes of \
                categories, pass --categorical";
    assert!(report.notes.iter().any(|note| note.to_string() == said), "{:?}", report.notes);

    let options = SchemaOptions { categorical: strings(&["grade"]), ..target("y") };
    let (dataset, report) = Dataset::from_table(table(&csv), &options).unwrap();
    assert!(matches!(dataset.columns()[0], Column::Categorical { n_levels: 4, .. }));
    assert_eq!((report.n_numeric(), report.n_categorical()), (0, 1));
    assert!(!report.notes.iter().any(|note| note.to_string().contains("whole numbers")));
}

#[test]
fn free_text_goes_unless_it_is_told_to_stay() {
    let rows: String = (0..120).map(|i| format!("{i}.5,name {},{}\n", i % 100, i % 2)).collect();
    let csv = format!("x,name,y\n{rows}");
    let (dataset, report) = Dataset::from_table(table(&csv), &target("y")).unwrap();
    assert_eq!(dataset.columns().len(), 1);
    let reasons: Vec<String> = report.left_out().map(|(_, r)| r.to_string()).collect();
    assert_eq!(reasons, ["names or free text: 100 different ones in 120 cells"]);

    let options = SchemaOptions { categorical: strings(&["name"]), ..target("y") };
    let (dataset, _) = Dataset::from_table(table(&csv), &options).unwrap();
    assert!(matches!(dataset.columns()[1], Column::Categorical { n_levels: 100, .. }));
}

#[test]
fn very_many_texts_are_cut_to_the_frequent_ones() {
    let rows: String = (0..1200).map(|i| format!("t{},{}\n", i % 400, i % 2)).collect();
    let csv = format!("t,y\n{rows}");
    let (dataset, _) = Dataset::from_table(table(&csv), &target("y")).unwrap();
    assert!(matches!(dataset.columns()[0], Column::Categorical { n_levels: 400, .. }));
    let limits = crate::Limits { n_levels: 256, ..crate::Limits::default() };
    let options = SchemaOptions { limits, ..target("y") };
    let (dataset, report) = Dataset::from_table(table(&csv), &options).unwrap();
    assert!(matches!(dataset.columns()[0], Column::Categorical { n_levels: 256, .. }));
    let said = "column \"t\" has 400 different texts; the 145 rarest count as one, \"(other)\"";
    assert!(report.notes.iter().any(|note| note.to_string() == said), "{:?}", report.notes);
}

#[test]
fn categories_can_be_told_to_be_numbers() {
    let csv = "flag,x,y\ntrue,1,a\nfalse,2,b\ntrue,3,a\n";
    let options = SchemaOptions { numeric: strings(&["flag"]), ..target("y") };
    let (dataset, _) = Dataset::from_table(table(csv), &options).unwrap();
    assert_eq!(dataset.columns()[0], Column::numeric(vec![1., 0., 1.]));

    let csv = "size,x,y\nS,1,a\n3,2,b\n4,3,a\n";
    let options = SchemaOptions { numeric: strings(&["size"]), ..target("y") };
    let err = Dataset::from_table(table(csv), &options).unwrap_err();
    assert_eq!(err.to_string(), "column \"size\" holds \"S\" in row 1, which is not a number");
}

#[test]
fn names_must_be_columns() {
    let err = Dataset::from_table(table(SHOP), &target("knid")).unwrap_err();
    assert_eq!(err.to_string(), "there is no column \"knid\", given as --target");
    assert_eq!(err.help(), "did you mean \"kind\"?");
    let options = SchemaOptions { exclude: strings(&["price"]), ..target("kind") };
    let err = Dataset::from_table(table(SHOP), &options).unwrap_err();
    assert_eq!(err.help(), "the columns are id, size, colour, when, shop, empty, kind");
    let err = Dataset::from_table(table(SHOP), &SchemaOptions::default()).unwrap_err();
    assert_eq!(err.to_string(), "no target column was named");
    let options = SchemaOptions { exclude: strings(&["kind"]), ..target("kind") };
    let err = Dataset::from_table(table(SHOP), &options).unwrap_err();
    assert_eq!(err.to_string(), "column \"kind\" is given as --target and as --exclude");
}

#[test]
fn a_table_without_features_is_refused_with_reasons() {
    let err = Dataset::from_table(table("id,y\nu,a\nv,b\n"), &target("y")).unwrap_err();
    assert_eq!(
        err.to_string(),
        "no column is left to learn from: \"id\" (a different text in every row)"
    );
}

#[test]
fn infinite_numbers_are_refused_where_they_are_used() {
    let cells = crate::Cells::Numbers { values: [1.0, f64::INFINITY, 2.0].into(), integers: false };
    let mut raw = table("x,y\n1,a\n2,b\n3,a\n");
    raw.columns.push(crate::RawColumn { name: "z".into(), cells });
    let err = Dataset::from_table(raw.clone(), &target("y")).unwrap_err();
    assert_eq!(err.to_string(), "column \"z\" holds inf in row 2, but numbers must be finite");
    let options = SchemaOptions { exclude: strings(&["z"]), ..target("y") };
    assert!(Dataset::from_table(raw, &options).is_ok());
}

// Later tables.

fn apply(csv: &str) -> Result<Applied, SchemaError> {
    shop().0.schema().unwrap().apply(table(csv))
}

#[test]
fn the_training_table_matches_itself() {
    let (dataset, _) = shop();
    let applied = apply(SHOP).unwrap();
    for (now, then) in applied.frame.columns().iter().zip(dataset.columns()) {
        let now = now.select(&[0, 1, 2, 4, 5]);
        // NaN is not equal to itself, so the cells are compared as printed.
        assert_eq!(format!("{now:?}"), format!("{then:?}"));
    }
    assert_eq!(applied.truth.unwrap(), [Some(0), Some(1), Some(0), None, Some(1), Some(1)]);
    assert!(applied.notes.is_empty(), "{:?}", applied.notes);
}

#[test]
fn order_and_extra_columns_do_not_matter() {
    let csv = "when,new,colour,size\n2024-06-02,1,red,3\n2024-07-07,2,violet,9\n";
    let applied = apply(csv).unwrap();
    assert_eq!(applied.frame.columns()[0], Column::numeric(vec![3., 9.]));
    assert_eq!(applied.frame.columns()[1], Column::categorical(vec![2, UNSEEN_CODE], 3));
    assert_eq!(applied.frame.columns()[2], Column::numeric(vec![6., 7.]));
    assert_eq!(applied.truth, None);
    assert_eq!(
        said(&applied.notes),
        [
            "column \"new\" was not there in training and is ignored",
            "column \"colour\" holds categories never met in training: \"violet\" (1 of 2 rows)",
        ]
    );
}

#[test]
fn all_missing_columns_are_named_at_once() {
    let err = apply("colour,x\nred,1\nblue,2\n").unwrap_err();
    assert_eq!(err, SchemaError::MissingColumns { columns: strings(&["size", "when"]) });
}

#[test]
fn all_columns_of_another_type_are_named_at_once() {
    let err = apply("size,colour,when\nbig,7,1.5\nsmall,8,2.5\n").unwrap_err();
    assert_eq!(
        err.to_string(),
        "columns are not what the model was trained on: \"size\" held numbers, but here it holds \
         \"big\" (row 1), \"colour\" held categories, but here it holds numbers such as 7, \"when\" \
         held dates, but here it holds numbers such as 1.5"
    );
}

#[test]
fn numbers_and_dates_given_as_text_are_converted() {
    let text = |texts: &[&str]| crate::Cells::Text {
        codes: (0..texts.len() as u32).chain([MISSING_CODE]).collect(),
        dictionary: strings(texts),
    };
    let column = |name: &str, cells| crate::RawColumn { name: name.into(), cells };
    let columns = vec![
        column("size", text(&["1.50", "2e1"])),
        column("colour", text(&["red", "blue"])),
        column("when", text(&["2024-06-02", "2025-01-01T10:00:00Z"])),
    ];
    let raw = RawTable { n_rows: 3, columns, ..RawTable::default() };
    let applied = shop().0.schema().unwrap().apply(raw).unwrap();
    let numbers = |j: usize| match &applied.frame.columns()[j] {
        Column::Numeric(values) => values[..2].to_vec(),
        Column::Categorical { .. } => panic!("a numeric feature"),
    };
    assert_eq!((numbers(0), numbers(2)), (vec![1.5, 20.], vec![6., 1.]));
    assert!(applied.frame.columns().iter().all(|column| column.is_missing(2)));
}

#[test]
fn a_column_without_values_fits_anywhere() {
    let applied = apply("size,colour,when\n,,\n,,\n").unwrap();
    assert!(
        applied.frame.columns().iter().all(|column| column.is_missing(0) && column.is_missing(1))
    );
}

#[test]
fn a_schema_survives_json() {
    let schema = shop().0.schema().unwrap().as_ref().clone();
    let json = serde_json::to_string(&schema).unwrap();
    assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema);
}

#[test]
fn a_word_among_few_numbers_is_pointed_out() {
    let csv = "age,y\n31,a\n18,b\nthirty,a\n18,b\n31,a\n";
    let (_, report) = Dataset::from_table(table(csv), &target("y")).unwrap();
    assert_eq!(
        report.warnings().next().unwrap().to_string(),
        "column \"age\" is taken as text: 4 of its 5 cells are numbers, but not \"thirty\" (row 3); \
         correct it, or name the signs for missing cells with --missing"
    );
    let options = SchemaOptions { categorical: strings(&["age"]), ..target("y") };
    let (_, report) = Dataset::from_table(table(csv), &options).unwrap();
    assert!(!report.warnings().any(|w| w.to_string().contains("age")), "{:?}", report.notes);
}

#[test]
fn cells_are_read_by_a_rule_that_later_tables_are_read_by_too() {
    let rows: String = (0..60)
        .map(|i| format!("\"{}.{:03},50 EUR\",{}\n", i % 5 + 1, i * 37 % 1000, i % 2))
        .collect();
    let options = target("y");
    let (dataset, report) =
        Dataset::from_table(table(&format!("price,y\n{rows}")), &options).unwrap();
    let Column::Numeric(prices) = &dataset.columns()[0] else { panic!("numbers") };
    assert_eq!(prices[1], 2037.5);
    assert_eq!(
        report.notes[0].to_string(),
        "column \"price\" is read as amounts of money in € with a decimal comma: \"1.000,50 EUR\" is 1000.5; \
         --categorical price keeps it as text"
    );
    // Through the file, as models keep it; a schema without rules is the older one.
    let json = serde_json::to_string(&**dataset.schema().unwrap()).unwrap();
    let schema: Schema = serde_json::from_str(&json).unwrap();
    let read_later = |csv: &str| {
        let source = Source::Bytes { name: "t.csv".into(), bytes: csv.into() };
        let table = schema.read(&source, ReadOptions::default(), &CancelCheck::never()).unwrap();
        schema.apply(table)
    };
    // Read as a plain number it would be one and a bit.
    let applied = read_later("price\n1.234\n").unwrap();
    assert_eq!(applied.frame.columns()[0], Column::numeric([1234.0]));
    let applied = read_later("price\n€ 7\nfree\n").unwrap();
    assert!(applied.frame.columns()[0].is_missing(1) && !applied.frame.columns()[0].is_missing(0));
    assert!(
        matches!(applied.notes[0], Note::OddCells { n_odd: 1, row: 2, .. }),
        "{:?}",
        applied.notes
    );
    let err = read_later("price\nfree\n").unwrap_err().to_string();
    assert!(
        err.ends_with("\"price\" held amounts of money, but here it holds \"free\" (row 1)"),
        "{err}"
    );
    assert!(!serde_json::to_string(&**shop().0.schema().unwrap()).unwrap().contains("rule"));
}

#[test]
fn a_thousand_among_hundreds_is_no_slip() {
    let rows: String = (0..60)
        .map(|i| {
            format!(
                "{},{}\n",
                if i == 7 { "\"1,234\"".to_owned() } else { (900 + i).to_string() },
                i % 2
            )
        })
        .collect();
    let (dataset, _) = Dataset::from_table(table(&format!("n,y\n{rows}")), &target("y")).unwrap();
    let Column::Numeric(values) = &dataset.columns()[0] else { panic!("numbers") };
    assert_eq!((values[7], values[8]), (1234.0, 908.0));
}

#[test]
fn too_many_classes_are_refused_with_their_number() {
    let rows: String = (0..60).map(|i| format!("{i}.5,k{}\n", i % 12)).collect();
    let csv = format!("x,y\n{rows}");
    let with = |n_classes: usize| {
        let limits = Limits { n_classes, ..Limits::default() };
        Dataset::from_table(table(&csv), &SchemaOptions { limits, ..target("y") })
    };
    assert_eq!(
        with(11).unwrap_err().to_string(),
        "the target \"y\" has 12 classes, and the limit is 11"
    );
    assert!(with(12).is_ok());
}

#[test]
fn later_tables_are_read_by_the_rules_of_the_first() {
    let source = |text: &str| Source::Bytes { name: "t.csv".into(), bytes: text.into() };
    let options = ReadOptions { also_missing: vec!["-99".into()], ..ReadOptions::default() };
    let first = source("size,code,kind\n1,007,a\n-99,008,b\n3,007,a\n4,008,b\n");
    let options = ReadOptions { categorical: vec!["code".into()], ..options };
    let table = read(&first, &options, &CancelCheck::never()).unwrap();
    let target = Some("kind".to_owned());
    let categorical = vec!["code".to_owned()];
    let wanted = SchemaOptions { target, categorical, ..SchemaOptions::default() };
    let (dataset, _) = crate::Dataset::from_table(table, &wanted).unwrap();
    let schema = dataset.schema().unwrap();
    // Kept with the schema, through its file as well.
    let json = serde_json::to_string(&**schema).unwrap();
    let schema: Schema = serde_json::from_str(&json).unwrap();
    let later = source("code,size\n007,-99\n008,2\n");
    let table = schema.read(&later, ReadOptions::default(), &CancelCheck::never()).unwrap();
    let frame = schema.apply(table).unwrap().frame;
    assert!(frame.columns()[0].is_missing(0) && !frame.columns()[0].is_missing(1));
    assert_eq!(frame.columns()[1], Column::categorical([0, 1], 2));
}
