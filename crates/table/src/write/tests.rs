use super::*;
use crate::{CancelCheck, Cells, ReadOptions, Source, read};

fn columns() -> Vec<OutputColumn> {
    let texts = ["plain", "a,b", "say \"no\"", " padded", ""].map(String::from).to_vec();
    let text = OutputCells::Text { codes: vec![0, 1, 2, 3, 1], texts };
    let numbers = OutputCells::Numbers(vec![0.1, 1.0, 1e-300, 2.0 / 3.0, 0.0]);
    vec![
        OutputColumn { name: "a \"name\"".into(), cells: text },
        OutputColumn { name: "p".into(), cells: numbers },
    ]
}

#[test]
fn every_format_reads_back_as_it_was() {
    for format in [OutputFormat::Csv, OutputFormat::Tsv, OutputFormat::Parquet, OutputFormat::Arrow]
    {
        let bytes = format.encode(&columns()).unwrap();
        let source = Source::Bytes { name: "out".into(), bytes };
        let table = read(&source, &ReadOptions::default(), &CancelCheck::never()).unwrap();
        assert_eq!(table.columns[0].name, "a \"name\"", "{format:?}");
        let Cells::Text { codes, dictionary } = &table.columns[0].cells else {
            panic!("{format:?}: text stays text")
        };
        let texts: Vec<&str> = codes.iter().map(|&c| dictionary[c as usize].as_str()).collect();
        assert_eq!(texts, ["plain", "a,b", "say \"no\"", " padded", "a,b"], "{format:?}");
        let Cells::Numbers { values, .. } = &table.columns[1].cells else {
            panic!("{format:?}: numbers stay numbers")
        };
        assert_eq!(values, &[0.1, 1.0, 1e-300, 2.0 / 3.0, 0.0], "{format:?}");
    }
}

#[test]
fn the_name_chooses_the_format() {
    let of = |name: &str| OutputFormat::of_path(Path::new(name));
    assert_eq!(of("x.csv").unwrap(), OutputFormat::Csv);
    assert_eq!(of("dir.parquet/x.TSV").unwrap(), OutputFormat::Tsv);
    assert_eq!(of("x.parquet").unwrap(), OutputFormat::Parquet);
    assert_eq!(of("x.feather").unwrap(), OutputFormat::Arrow);
    assert!(matches!(of("x.xlsx"), Err(WriteError::UnknownExtension { .. })));
    assert!(matches!(of("csv"), Err(WriteError::UnknownExtension { .. })));
}

#[test]
fn a_file_is_replaced_whole_and_nothing_else_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.csv");
    write_atomically(&path, b"first").unwrap();
    check_writable(&path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"first");
    write_atomically(&path, b"second").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"second");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn places_that_cannot_be_written_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    assert!(matches!(check_writable(folder.path()), Err(WriteError::IsDirectory { .. })));
    let err = write_atomically(&place("not/here.csv"), b"").unwrap_err();
    assert!(matches!(err, WriteError::NoFolder { .. }), "{err}");
    std::fs::write(place("file"), b"").unwrap();
    let err = check_writable(&place("file/x.csv")).unwrap_err();
    assert!(matches!(err, WriteError::NoFolder { .. }), "{err}");
}

#[test]
#[cfg(unix)]
fn a_link_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("target.csv"), folder.path().join("link.csv"));
    std::fs::write(&target, b"old").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    write_atomically(&link, b"new").unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(std::fs::read(&target).unwrap(), b"new");
}

#[test]
#[cfg(unix)]
fn a_replaced_file_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.csv");
    std::fs::write(&path, b"old").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    write_atomically(&path, b"new").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_read_only_file_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.csv");
    std::fs::write(&path, b"old").unwrap();
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    let err = write_atomically(&path, b"new").unwrap_err();
    assert_eq!(err.to_string(), format!("{} is read-only", path.display()));
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
}

#[test]
fn missing_cells_stay_missing() {
    let text = OutputCells::Text { codes: vec![0, MISSING_CODE], texts: vec!["a".into()] };
    let instants = OutputCells::from(Cells::Instants { seconds: [f64::NAN, 0.0].into() });
    let columns = [
        OutputColumn { name: "t".into(), cells: text },
        OutputColumn { name: "n".into(), cells: OutputCells::Numbers(vec![f64::NAN, 1.0]) },
        OutputColumn { name: "i".into(), cells: instants },
    ];
    assert_eq!(OutputFormat::Csv.encode(&columns).unwrap(), b"t,n,i\na,,\n,1,1970-01-01\n");
    for format in [OutputFormat::Parquet, OutputFormat::Arrow] {
        let source = Source::Bytes { name: "out".into(), bytes: format.encode(&columns).unwrap() };
        let table = read(&source, &ReadOptions::default(), &CancelCheck::never()).unwrap();
        let Cells::Text { codes, .. } = &table.columns[0].cells else { panic!("{format:?}") };
        assert_eq!(codes[1], MISSING_CODE, "{format:?}");
        let Cells::Numbers { values, .. } = &table.columns[1].cells else { panic!("{format:?}") };
        assert!(values[0].is_nan() && values[1] == 1.0, "{format:?}");
    }
}
