//! What programs rely on: the JSON object, standard input, a pipe that closes early.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

fn pitchpipe() -> Command {
    Command::new(env!("CARGO_BIN_EXE_pitchpipe"))
}

/// Runs the command with bytes on its standard input.
fn describe(input: &[u8], args: &[&str]) -> Value {
    let mut child = pitchpipe()
        .args(["describe", "-", "--json"])
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_json_object_counts_the_table_as_read() {
    let csv = "id,size,shop,kind\na,1,x,yes\nb,,x,no\nc,2.5,x,\nd,4,x,\"no\"\n";
    let object = describe(csv.as_bytes(), &["--target", "kind"]);
    for (key, expected) in [
        ("rows", json!(4)),
        ("features", json!(3)),
        ("numeric", json!(1)),
        ("categorical", json!(2)),
        ("dates", json!(0)),
        ("missing_cells", json!(1)),
        ("rows_without_target", json!(1)),
        ("classes", json!({"no": 2, "yes": 1})),
        (
            "left_out",
            json!({
                "id": "a different text in every row",
                "shop": "the same value, \"x\", in every row",
            }),
        ),
        ("file", json!("standard input")),
        ("target", json!("kind")),
    ] {
        assert_eq!(object[key], expected, "{key}");
    }
}

#[test]
fn without_a_target_every_column_is_a_feature() {
    let object = describe(b"x\ty\n1\ta\n2\tb\n3\ta\n", &[]);
    assert_eq!((&object["features"], &object["target"]), (&json!(2), &Value::Null));
    assert_eq!(object["classes"], json!({}));
}

#[test]
fn odd_names_stay_valid_json() {
    let object =
        describe("\"a \"\"b\"\"\",ключ\n1,é\n2,ü\n3,é\n".as_bytes(), &["--target", "ключ"]);
    assert_eq!(object["columns"][0]["name"], "a \"b\"");
    assert_eq!(object["classes"], json!({"é": 2, "ü": 1}));
}

#[test]
fn ten_thousand_columns_are_described_in_a_page() {
    let line = |cell: &dyn Fn(usize) -> String| (0..10_000).map(cell).collect::<Vec<_>>().join(",");
    let rows = (0..4).map(|r| line(&move |c| (c * r % 7).to_string()));
    let csv: Vec<String> = std::iter::once(line(&|c| format!("x{c}"))).chain(rows).collect();
    let mut child = pitchpipe()
        .args(["describe", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(csv.join("\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(text.contains("4 rows, 10000 columns"), "{text}");
    assert!(text.contains("… and 9940 more columns; --json lists them all"), "{text}");
    assert!(text.lines().count() < 200);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let header: Vec<String> = (0..20_000).map(|i| format!("a_rather_long_name_{i}")).collect();
    let csv = format!("{}\n{}\n", header.join(","), vec!["1"; 20_000].join(","));
    let mut child = pitchpipe()
        .args(["describe", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(csv.as_bytes()).unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}
