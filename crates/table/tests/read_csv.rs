//! Delimited text, good and bad, through the front door.

mod common;

use common::{complaint, complaint_with, names, read_as, said, show, table};
use pitchpipe_table::{CancelCheck, ReadOptions, Source, TableError, read};

#[test]
fn a_table_that_would_take_too_much_memory_is_refused_before_it_does() {
    let text: String = (0..2_000).map(|i| format!("{i},{}\n", i % 7)).collect();
    let source = Source::Bytes { name: "t.csv".into(), bytes: format!("a,b\n{text}").into_bytes() };
    let within = |bytes: u64| {
        let mut options = ReadOptions::default();
        options.limits.bytes = Some(bytes);
        read(&source, &options, &CancelCheck::never())
    };
    // 2,000 rows of two numbers, and their text.
    assert!(matches!(within(30_000), Err(TableError::BeyondMemory { limit: 30_000, .. })));
    assert_eq!(within(100_000).unwrap().n_rows, 2_000);
}

#[test]
fn a_file_beyond_the_memory_is_refused_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    // No table at all: nobody has looked.
    std::fs::write(&path, [0; 2_000]).unwrap();
    let mut options = ReadOptions::default();
    options.limits.bytes = Some(1_000);
    let refused = read(&Source::Path(path), &options, &CancelCheck::never()).unwrap_err();
    assert!(matches!(refused, TableError::BeyondMemory { bytes: 4_500, limit: 1_000, .. }));
}

#[test]
fn each_column_takes_the_type_of_its_cells() {
    let t = table("i,f,s,d,m\n1,1.5,x,2024-03-10,\n-2,NA,y,?,\n,3e2,x,1970-01-01,null\n");
    assert_eq!(t.n_rows, 3);
    assert_eq!(names(&t), ["i", "f", "s", "d", "m"]);
    assert_eq!(show(&t, 0), "int: 1 -2 -");
    assert_eq!(show(&t, 1), "num: 1.5 - 300");
    assert_eq!(show(&t, 2), "text: x y x");
    assert_eq!(show(&t, 3), "instant: 1710028800 - 0");
    assert_eq!(show(&t, 4), "num: - - -");
    assert_eq!(said(&t), [""; 0]);
}

#[test]
fn quoted_cells_hold_delimiters_line_ends_and_quotes() {
    let t = table("a,b\r\n\"x, \"\"y\"\"\nz\",\"12\"\r\n5\" pipe,\"\"\r\n");
    assert_eq!(show(&t, 0), "text: x, \"y\"\nz 5\" pipe");
    assert_eq!(show(&t, 1), "int: 12 -");
}

#[test]
fn delimiters_are_detected() {
    for delimiter in [",", ";", "\t", "|"] {
        let text = "a,b,c\n1,x y,2.5\n2,z,3\n".replace(',', delimiter);
        let t = table(&text);
        assert_eq!(names(&t), ["a", "b", "c"], "{delimiter:?}");
        assert_eq!(show(&t, 2), "num: 2.5 3");
        assert_eq!(t.notes.is_empty(), delimiter == ",");
    }
}

#[test]
fn a_semicolon_file_may_use_decimal_commas() {
    let t = table("a;b\n1,5;x\n-2;y\n");
    assert_eq!(show(&t, 0), "num: 1.5 -2");
    assert_eq!(
        said(&t),
        ["cells are separated by semicolons", "commas in numbers were read as decimal commas"]
    );
}

#[test]
fn the_space_after_a_delimiter_is_left_off_where_all_have_one() {
    let t = table("39, State-gov, 77\n50, ?, 83\n38, \"a, b\", 21\n");
    assert_eq!(names(&t), ["column_1", "column_2", "column_3"]);
    assert_eq!(show(&t, 1), "text: State-gov - a, b");
    assert_eq!(show(&t, 2), "int: 77 83 21");
}

#[test]
fn a_first_row_like_the_others_is_data_and_names_that_count_up_are_names() {
    assert_eq!(table("1,x\n2,y\n").n_rows, 2);
    assert_eq!(names(&table("0,1,2\n5.5,7,8\n6,7,9\n")), ["0", "1", "2"]);
    assert_eq!(names(&table("name,2019,2020\na,1,5\nb,2,6\n")), ["name", "2019", "2020"]);
    assert_eq!(names(&table("a,b\nx,y\n")), ["a", "b"]);
    let options = ReadOptions { header: Some(false), ..ReadOptions::default() };
    assert_eq!(read_as("t.csv", b"a,b\nx,y\n", &options).unwrap().n_rows, 2);
    assert_eq!(names(&table("a,,c\n1,2,3\n")), ["a", "column_2", "c"]);
}

#[test]
fn a_later_cell_may_change_a_columns_type() {
    let mut text = String::from("n,d,e\n");
    for i in 0..20_000 {
        text += &format!("{i},2024-01-01,\n");
    }
    text += "1.5,soon,2024-01-02\n";
    for i in 0..20_000 {
        text += &format!("a{i},later,\n");
    }
    let t = table(&text);
    assert!(show(&t, 0).starts_with("text: 0 1 2 "), "as many words as numbers: text");
    assert!(show(&t, 1).ends_with(" later"));
    assert!(show(&t, 2).starts_with("instant: - - "));
}

#[test]
fn one_word_among_numbers_is_an_error_unless_the_column_is_categorical() {
    let mut text = String::from("id,age\n");
    for i in 1..=40 {
        text += &if i == 18 { format!("{i},thirty\n") } else { format!("{i},{}\n", 20 + i) };
    }
    assert_eq!(
        complaint(&text),
        "t.csv: column \"age\" holds \"thirty\" in row 18, but its other cells are numbers\n\
         correct the cell, or pass --categorical age, or --missing thirty if it stands for a missing value"
    );
    let options = ReadOptions { categorical: vec!["age".into()], ..ReadOptions::default() };
    let t = read_as("t.csv", text.as_bytes(), &options).unwrap();
    assert!(show(&t, 1).starts_with("text: 21 22 "));
    let options = ReadOptions { missing: Some(vec!["thirty".into()]), ..ReadOptions::default() };
    let t = read_as("t.csv", text.as_bytes(), &options).unwrap();
    assert!(show(&t, 1).contains(" 37 - 39 "));
}

#[test]
fn infinite_numbers_are_refused_and_nan_is_missing() {
    assert_eq!(
        complaint("a,b\n1,2\n2,-inf\n"),
        "t.csv: column \"b\" holds \"-inf\" in row 2, but numbers must be finite\n\
         correct the cell, or pass --missing -inf to read it as missing"
    );
    assert!(complaint("a\n1\n1e999\n").contains("holds \"1e999\" in row 2"));
    assert_eq!(show(&table("a\n1\nnan\nNaN\n"), 0), "int: 1 - -");
    assert_eq!(show(&table("a\nInfinity\nnorth\n"), 0), "text: Infinity north");
}

#[test]
fn structural_faults_name_row_line_and_remedy() {
    assert_eq!(
        complaint("a,b\n1,2\n\n3\n"),
        "t.csv: row 3 (line 4) has 1 cells, but there are 2 columns\n\
         correct the row, or pass --delimiter if the wrong one was detected"
    );
    assert!(complaint("a,b\n1,2\n3,4,5\n").starts_with("t.csv: row 2 (line 3) has 3 cells"));
    assert_eq!(
        complaint("a,b\n1,x\n2,\"y\n3,z\n"),
        "t.csv: row 2 (line 3), column \"b\": a quote opens and is never closed\n\
         close the quote, or double it if it belongs to the cell"
    );
    assert!(complaint("").starts_with("t.csv is empty\n"));
    assert!(complaint("\n\r\n").starts_with("t.csv is empty\n"));
    assert!(complaint("a,b\n").starts_with("t.csv has 2 columns but no rows\n"));
    assert_eq!(
        complaint("a,b,a\n1,2,3\n"),
        "t.csv: columns 1 and 3 are both named \"a\"\n\
         rename one of them, or pass --no-header if the first row is data"
    );
    assert!(complaint("a,b\n1,\0\n").starts_with("t.csv: line 2, column 2 holds a NUL byte"));
}

#[test]
fn an_unknown_categorical_column_is_named_with_its_likeness() {
    let options = ReadOptions { categorical: vec!["Age".into()], ..ReadOptions::default() };
    assert_eq!(
        complaint_with("age,b\n1,2\n", &options),
        "t.csv has no column \"Age\"\ndid you mean \"age\"?"
    );
}

#[test]
fn what_cannot_separate_cells_is_refused() {
    for delimiter in [b'"', b'\n', b'\r', 0, 0xe9] {
        let options = ReadOptions { delimiter: Some(delimiter), ..ReadOptions::default() };
        assert!(complaint_with("a,b\n1,2\n", &options).contains(" cannot separate cells\n"));
    }
    let options = ReadOptions { delimiter: Some(b':'), ..ReadOptions::default() };
    let t = read_as("t.csv", b"a:b\n1:2\n", &options).unwrap();
    assert_eq!(names(&t), ["a", "b"]);
    assert_eq!(said(&t), ["cells are separated by ':'"]);
}

#[test]
fn numbers_with_leading_zeros_are_noted() {
    let t = table("zip,n\n01234,0\n99999,0.5\n");
    assert_eq!(show(&t, 0), "int: 1234 99999");
    assert_eq!(
        said(&t),
        [
            "column \"zip\" is written with leading zeros but was read as numbers; if they are codes, pass \
          --categorical zip"
        ]
    );
}

#[test]
fn ten_thousand_columns_are_read() {
    let row = |f: &dyn Fn(usize) -> String| (0..10_000).map(f).collect::<Vec<_>>().join(",") + "\n";
    let mut text = row(&|i| format!("c{i}"));
    for r in 0..20 {
        text += &row(&|i| (r * i).to_string());
    }
    let t = table(&text);
    assert_eq!((t.columns.len(), t.n_rows), (10_000, 20));
    assert!(show(&t, 9_999).starts_with("int: 0 9999 19998 "));
}

#[test]
fn old_macintosh_line_ends_and_a_missing_last_one_are_read() {
    assert_eq!(show(&table("a,b\r1,x\r2,y"), 1), "text: x y");
    assert_eq!(show(&table("a\n1\n2"), 0), "int: 1 2");
}

#[test]
fn reading_stops_when_told_to() {
    let source = Source::Bytes { name: "t.csv".into(), bytes: b"a\n1\n".to_vec() };
    let err = read(&source, &ReadOptions::default(), &CancelCheck::new(|| true)).unwrap_err();
    assert!(matches!(err, TableError::Cancelled));
}
