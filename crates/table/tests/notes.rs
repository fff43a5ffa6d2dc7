//! What the reader and the schema decide is said, and labels and rows stay as they are.

mod common;

use common::{read_as, said, show};
use pitchpipe_table::{
    CancelCheck, Dataset, Note, RawTable, ReadOptions, SchemaOptions, Severity, Source,
    TableReport, read,
};

/// Reads a table whose column `y` is to be predicted.
fn labelled(csv: &str) -> RawTable {
    let options = ReadOptions { target: Some("y".into()), ..ReadOptions::default() };
    read_as("t.csv", csv.as_bytes(), &options).unwrap()
}

fn learnt(table: RawTable) -> (Dataset, TableReport) {
    let options = SchemaOptions { target: Some("y".into()), ..SchemaOptions::default() };
    Dataset::from_table(table, &options).unwrap()
}

fn classes(csv: &str) -> Vec<String> {
    learnt(labelled(csv)).1.classes.into_iter().map(|(class, _)| class).collect()
}

#[test]
fn blank_lines_are_rows_except_at_the_end() {
    for (csv, cells, note) in [
        (
            "a,b\n1,x\n\n2,y\n",
            "int: 1 - 2",
            Some("line 3 is blank and counts as a row of missing cells"),
        ),
        ("a,b\n1,x\n2,y\n\n\n", "int: 1 2", None),
        (
            "a,b\r\n1,x\r\n\r\n2,y\r\n\r\n",
            "int: 1 - 2",
            Some("line 3 is blank and counts as a row of missing cells"),
        ),
        ("\n\na,b\n1,x\n2,y", "int: 1 2", None),
        (
            "a,b\n\n1,x\n\n\n2,y\n",
            "int: - 1 - - 2",
            Some("3 lines are blank (line 2 is the first) and count as rows of missing cells"),
        ),
        ("a\n1\n\n2\n", "int: 1 - 2", Some("line 3 is blank and counts as a row of missing cells")),
    ] {
        let t = read_as("t.csv", csv.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(show(&t, 0), cells, "{csv:?}");
        assert_eq!(said(&t), Vec::from_iter(note), "{csv:?}");
    }
}

#[test]
fn blank_lines_across_blocks_keep_every_row_in_its_place() {
    let mut csv = String::from("a,b\n");
    for i in 0..60_000 {
        csv += &if i % 7 == 3 { "\n".to_owned() } else { format!("{i},{}\n", "x".repeat(i % 11)) };
    }
    let t = read_as("t.csv", csv.as_bytes(), &ReadOptions::default()).unwrap();
    let expected: Vec<String> =
        (0..60_000).map(|i| if i % 7 == 3 { "-".to_owned() } else { i.to_string() }).collect();
    assert_eq!(show(&t, 0), format!("int: {}", expected.join(" ")));
}

#[test]
fn blank_lines_cannot_fill_the_memory() {
    let header: Vec<String> = (0..10_000).map(|i| format!("c{i}")).collect();
    let csv = format!("{}\n{}{}\n", header.join(","), "\n".repeat(10_000), ",".repeat(9_999));
    let err = read_as("t.csv", csv.as_bytes(), &ReadOptions::default()).unwrap_err();
    assert_eq!(
        err.to_string(),
        "t.csv: 10000 blank lines in succession (from line 2) are no rows of a table"
    );
}

#[test]
fn labels_stay_as_they_are_written() {
    for (labels, expected) in [
        (["02139", "10001", "02139", "10001"], ["02139", "10001"]),
        (["1.0", "0.0", "1.0", "0.0"], ["0.0", "1.0"]),
        (["10", "9", "10", "9"], ["9", "10"]),
        (["True", "False", "True", "False"], ["False", "True"]),
        (
            ["9007199254740993", "9007199254740992", "9007199254740993", "9007199254740992"],
            ["9007199254740992", "9007199254740993"],
        ),
    ] {
        let rows = labels.iter().enumerate().map(|(i, label)| format!("{i}.5,{label}\n"));
        let csv = format!("x,y\n{}", rows.collect::<String>());
        assert_eq!(classes(&csv), expected);
    }
}

#[test]
fn numbers_and_text_give_the_same_classes_in_the_same_order() {
    let csv = "x,y\n.5,10\n1.5,9\n2.5,10\n3.5,-1\n4.5,9\n5.5,nan\n";
    let numbers = read_as("t.csv", csv.as_bytes(), &ReadOptions::default()).unwrap();
    let (as_numbers, _) = learnt(numbers);
    let (as_text, _) = learnt(labelled(csv));
    assert_eq!(as_numbers.labels(), as_text.labels());
    assert_eq!(as_numbers.content_hash(), as_text.content_hash());
}

#[test]
fn one_number_written_in_two_ways_is_one_class_and_said() {
    let (dataset, report) = learnt(labelled("x,y\n.5,1\n1.5,1.0\n2.5,2\n3.5,1\n4.5,2\n"));
    assert_eq!(report.classes, [("1".to_owned(), 3), ("2".to_owned(), 2)]);
    assert!(report.warnings().any(|note| matches!(note, Note::MergedClasses { .. })));

    // A later table may write them differently, and be read with or without its target in mind.
    let schema = dataset.schema().unwrap();
    for later in ["x,y\n.5,1.0\n.7,2.0\n", "x,y\n.5,01\n.7,2\n"] {
        let plain = read_as("t.csv", later.as_bytes(), &ReadOptions::default()).unwrap();
        for table in [plain, labelled(later)] {
            assert_eq!(schema.apply(table).unwrap().truth, Some(vec![Some(0), Some(1)]), "{later}");
        }
    }
}

#[test]
fn quantities_and_dates_are_no_classes_when_read_as_text_either() {
    let refused = |cell: &dyn Fn(usize) -> String| {
        let rows: String = (0..100).map(|i| format!("{i}.5,{}\n", cell(i))).collect();
        let options = SchemaOptions { target: Some("y".into()), ..SchemaOptions::default() };
        Dataset::from_table(labelled(&format!("x,y\n{rows}")), &options).unwrap_err().to_string()
    };
    assert!(refused(&|i| format!("{}.25", i)).contains("it looks like a quantity"));
    assert!(refused(&|i| format!("2024-01-{:02}", i % 28 + 1)).contains("holds dates"));
}

#[test]
fn rows_without_a_label_are_counted_by_word() {
    let csv = "x,y\n.5,a\n1.5,None\n2.5,b\n3.5,\n4.5,NA\n5.5,None\n6.5,a\n7.5,b\n8.5,a\n9.5,b\n";
    let (_, report) = learnt(labelled(csv));
    let warning = report.warnings().next().unwrap();
    assert_eq!(
        warning.to_string(),
        "left out 4 of 10 rows without a value in \"y\" (rows 2, 4, 5, 6): 2 \"None\", 1 empty, 1 \"NA\"; \
         if \"None\" is a class, pass --no-usual-missing, and --missing for what is none"
    );
}

#[test]
fn columns_left_out_are_noted_with_their_reason() {
    let (_, report) =
        learnt(labelled("x,c,e,y\n1.5,k,,a\n2.5,k,,b\n3.5,k,,a\n4.5,k,,b\n5.5,k,,a\n6.5,k,,b\n"));
    let said: Vec<String> = report.notes.iter().map(Note::to_string).collect();
    assert_eq!(
        said,
        [
            "column \"c\" is left out: the same value, \"k\", in every row",
            "column \"e\" is left out: no cell has a value"
        ]
    );
}

#[test]
fn notes_are_values_that_survive_json() {
    let note = Note::BlankLines { n: 3, first_line: 7 };
    let json = serde_json::to_value(&note).unwrap();
    assert_eq!(json, serde_json::json!({ "kind": "blank_lines", "n": 3, "first_line": 7 }));
    assert_eq!(serde_json::from_value::<Note>(json).unwrap(), note);
    assert_eq!(note.severity(), Severity::Warning);
}

#[test]
fn lists_are_cut_and_count_what_they_list() {
    let many = |stem: &str| (0..15).map(|i| format!("{stem}{i}")).collect::<Vec<String>>();
    let classes = Note::UnusedClasses { classes: many("k") };
    assert_eq!(
        classes.to_string(),
        "no row has the declared class k0, k1, k2, k3, k4 and 10 more classes"
    );
    let columns = Note::PossibleCodes { columns: vec!["a".into(), "b\u{1b}[31m".into()] };
    assert!(columns.to_string().starts_with("a, b\\u{1b}[31m hold few different"));
}

#[test]
fn a_header_alone_is_a_table_of_no_rows_where_that_is_allowed() {
    let options = ReadOptions { allow_no_rows: true, ..ReadOptions::default() };
    let t = read_as("t.csv", b"a,b\n", &options).unwrap();
    assert_eq!((t.n_rows, t.columns.len(), t.has_header), (0, 2, Some(true)));
    let (dataset, _) = learnt(labelled("a,b,y\n.5,u,p\n1.5,v,q\n2.5,u,p\n3.5,v,q\n"));
    let frame = dataset.schema().unwrap().apply(t).unwrap().frame;
    assert_eq!((frame.n_rows(), frame.columns().len()), (0, 2));
}

#[test]
fn later_tables_are_separated_as_the_first_was_unless_they_are_not() {
    // Nobody who is not told finds out what separates these cells.
    let csv = "a~b~y\n5~u,1~p\n3~v,2~q\n9~u,3~p\n4~v,2~q\n8~u,1~p\n6~v,3~q\n";
    let told = ReadOptions { delimiter: Some(b'~'), ..ReadOptions::default() };
    let (dataset, _) = learnt(read_as("t.csv", csv.as_bytes(), &told).unwrap());
    let schema = dataset.schema().unwrap();
    assert_eq!(schema.reading().delimiter, Some('~'));
    let json = serde_json::to_value(schema.reading()).unwrap();
    assert_eq!(json["delimiter"], "~");
    let later = |text: &str, options: ReadOptions| {
        let source = Source::Bytes { name: "l.csv".into(), bytes: text.as_bytes().to_vec() };
        let table = schema.read(&source, options, &CancelCheck::never()).unwrap();
        table.columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(later("b~a\nu,1~1\n", ReadOptions::default()), ["b", "a"]);
    assert_eq!(later("a;b\n1;u,1\n2;v,2\n", ReadOptions::default()), ["a", "b"]);
    // What the user says goes first.
    let comma = ReadOptions { delimiter: Some(b','), ..ReadOptions::default() };
    assert_eq!(later("b~a\nu~1\n", comma), ["b~a"]);
}

#[test]
fn the_header_that_was_found_is_remembered() {
    for (csv, has_header) in [("a,b\n1,2\n", true), ("1.5,2\n2.5,3\n3.5,7\n", false)] {
        let source = Source::Bytes { name: "t.csv".into(), bytes: csv.as_bytes().to_vec() };
        let table = read(&source, &ReadOptions::default(), &CancelCheck::never()).unwrap();
        assert_eq!(table.has_header, Some(has_header), "{csv:?}");
    }
}
