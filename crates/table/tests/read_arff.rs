//! ARFF, good and bad, through the front door.

mod common;

use common::{complaint, names, read_as, said, show, table};
use pitchpipe_table::{Cells, ReadOptions};

const HEADER: &str = "\
% a comment
@RELATION 'my table'

@attribute 'it\\'s a \"name\"' NUMERIC
@Attribute \"b c\" {x, 'y z', \"it's\" , w%}
@attribute n integer % whole
@attribute s String
@attribute d DATE 'dd/MM/yyyy'
@attribute c{no,
   yes}
@DATA
";

#[test]
fn every_type_is_read() {
    let t = table(format!(
        "{HEADER}1.5,x,3,'a, \\'b\\'',24/12/2020,yes\n% no row\n\n?,'y z',?,?,?,no\n-2,\"it's\",4,\"?\", 1/1/1970 , w% \n"
    )
    .replace(", w% \n", ",yes\n"));
    assert_eq!(names(&t), ["it's a \"name\"", "b c", "n", "s", "d", "c"]);
    assert_eq!(show(&t, 0), "num: 1.5 - -2");
    assert_eq!(show(&t, 1), "nominal: x y z it's");
    assert_eq!(show(&t, 2), "int: 3 - 4");
    assert_eq!(show(&t, 3), "text: a, 'b' - ?");
    assert_eq!(show(&t, 4), "instant: 1608768000 - 0");
    assert_eq!(show(&t, 5), "nominal: yes no yes");
    let Cells::Nominal { levels, .. } = &t.columns[1].cells else { panic!("declared nominal") };
    assert_eq!(levels, &["x", "y z", "it's", "w%"]);
}

#[test]
fn sparse_rows_leave_out_zeros() {
    let t = table(format!("{HEADER}{{0 7, 1 'y z', 3 hello}}\n{{ }}\n{{5 yes,2 ?}}, {{0.5}}\n"));
    assert_eq!(show(&t, 0), "int: 7 0 0");
    assert_eq!(show(&t, 1), "nominal: y z x x");
    assert_eq!(show(&t, 2), "int: 0 0 -");
    assert_eq!(show(&t, 3), "text: hello - -");
    assert_eq!(show(&t, 5), "nominal: no no yes");
    assert_eq!(said(&t), ["the rows' instance weights were left out"]);
}

#[test]
fn rows_may_be_separated_by_tabs_or_spaces() {
    let t = table("@relation r\n@attribute a real\n@attribute b {u,v}\n@data\n1\tu\n2 v\n3 , u\n");
    assert_eq!(show(&t, 0), "int: 1 2 3");
    assert_eq!(show(&t, 1), "nominal: u v u");
}

#[test]
fn a_numeric_column_may_be_read_as_text() {
    let options = ReadOptions { categorical: vec!["a".into()], ..ReadOptions::default() };
    let text = b"@relation r\n@attribute a integer\n@data\n007\n?\n12\n";
    assert_eq!(show(&read_as("t.arff", text, &options).unwrap(), 0), "text: 007 - 12");
}

#[test]
fn faults_are_named() {
    let rows = |rows: &str| complaint(format!("{HEADER}{rows}\n"));
    assert_eq!(
        rows("1,x,3,s,?,yes\n1,q,3,s,?,yes"),
        "t.csv: column \"b c\" holds \"q\" in row 2, which is not one of its declared values\n\
         correct the cell, or the column's declaration"
    );
    assert!(rows("one,x,3,s,?,yes").contains("holds \"one\" in row 1, which is not a number"));
    assert!(rows("inf,x,3,s,?,yes").contains("numbers must be finite"));
    assert!(rows("1,x,3,s,2020-12-24,yes").contains("which is not a date of the declared form"));
    assert!(
        rows("1,x,3").starts_with("t.csv: row 1 (line 12) has 3 cells, but there are 6 columns")
    );
    assert!(rows("1,x,3,'s,?,yes").contains("row 1 (line 12), column \"s\": a quote opens"));
    assert!(rows("{9 1}").contains("expected an index below the number of columns, found \"9\""));
    assert!(rows("{0 1, 0 2}").contains("expected each index once"));
    assert!(rows("{0 1").contains("expected a comma or a closing brace"));
    assert!(rows("{x 1}").contains("expected a column's index"));
    assert!(rows("").contains("has 6 columns but no rows"));
}

#[test]
fn faulty_declarations_are_named_with_their_line() {
    let header = |h: &str| complaint(format!("@relation r\n{h}\n@data\n1\n"));
    assert!(header("@attribute a relational").contains("column \"a\" is of type relational"));
    assert!(header("@attribute a number").contains("line 2: expected numeric, real, integer"));
    assert!(header("@attribute").contains("line 2: expected a name and a type"));
    assert!(header("@attribute 'a numeric").contains("line 2: expected a closing quote"));
    assert!(header("@attribute a {x,y").contains("line 3: expected a closing brace"));
    assert!(header("@attribute a date 'yyyy-ww'").contains("of type date \"yyyy-ww\""));
    assert!(header("hello").contains("line 2: expected @attribute or @data, found \"hello\""));
    assert!(header("").contains("has no columns"));
    assert!(header("@attribute a real\n@attribute a real").contains("columns 1 and 2 are both"));
    assert!(complaint("@relation r\n@attribute a real\n").contains("expected @data"));
}
