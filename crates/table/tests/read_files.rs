//! Paths, compression and names, through the front door.

mod common;

use std::io::Write;
use std::path::{Path, PathBuf};

use common::{complaint, names, read_as, said, show, table};
use flate2::Compression;
use flate2::write::GzEncoder;
use pitchpipe_table::{CancelCheck, Format, ReadOptions, Source, TableError, read};

const CSV: &[u8] = b"a,b\n1,x\n2,y\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn read_path(path: PathBuf) -> Result<pitchpipe_table::RawTable, TableError> {
    read(&Source::Path(path), &ReadOptions::default(), &CancelCheck::never())
}

#[test]
fn compression_is_undone_whatever_the_files_name() {
    let zstd = zstd::encode_all(CSV, 3).unwrap();
    let two_members = [gzip(b"a,b\n1,x\n"), gzip(b"2,y\n")].concat();
    for (bytes, by) in [(gzip(CSV), "gzip"), (two_members, "gzip"), (zstd, "Zstandard")] {
        let t = table(bytes);
        assert_eq!(show(&t, 0), "int: 1 2");
        assert_eq!(said(&t), [format!("decompressed with {by}")]);
    }
    let arff = gzip(b"@relation r\n@attribute a real\n@data\n1\n");
    assert_eq!(show(&table(arff), 0), "int: 1");
}

#[test]
fn cut_and_damaged_archives_are_refused() {
    let rows = (0..5000).fold(String::from("a,b\n"), |t, i| t + &format!("{i},{}\n", i * i % 977));
    let (gz, zst) = (gzip(rows.as_bytes()), zstd::encode_all(rows.as_bytes(), 3).unwrap());
    for (bytes, format) in [(&gz, "gzip"), (&zst, "Zstandard")] {
        assert_eq!(
            complaint(&bytes[..bytes.len() / 2]),
            format!("t.csv ends before its {format} data does\ncopy or download the file again")
        );
        // Near the beginning: without a checksum Zstandard can only tell that its tables are wrong.
        let mut damaged = bytes.clone();
        damaged[12..60].fill(0xff);
        let told = complaint(damaged);
        assert!(told.starts_with("t.csv is damaged: its "), "{told}");
    }
}

#[test]
fn paths_that_lead_nowhere_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let told = |path: &Path| read_path(path.to_owned()).unwrap_err();
    let missing = folder.path().join("no.csv");
    let err = told(&missing);
    assert_eq!(err.to_string(), format!("{}: no such file", missing.display()));
    assert_eq!(err.help().unwrap(), "check the path");
    assert!(matches!(told(folder.path()), TableError::IsDirectory { .. }));
    assert!(matches!(told(&folder.path().join("no.csv/x")), TableError::NotFound { .. }));
    let file = folder.path().join("t.csv");
    std::fs::write(&file, CSV).unwrap();
    assert_eq!(read_path(file).unwrap().n_rows, 2);
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret.csv");
    std::fs::write(&file, CSV).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(&file).is_ok() {
        eprintln!("skipped: this user may read every file");
        return;
    }
    let err = read_path(file.clone()).unwrap_err();
    assert_eq!(err.to_string(), format!("{}: permission denied", file.display()));
}

#[test]
fn the_users_format_stands() {
    let options = ReadOptions { format: Some(Format::Csv), ..ReadOptions::default() };
    let t = read_as("t", b"@relation r\n1\n2\n", &options).unwrap();
    assert_eq!(names(&t), ["@relation r"]);
    let options = ReadOptions { format: Some(Format::Parquet), ..ReadOptions::default() };
    let err = read_as("t", CSV, &options).unwrap_err();
    assert!(matches!(err, TableError::Truncated { .. }), "{err}");
}

#[test]
fn a_dash_is_standard_input() {
    assert_eq!(Source::from_argument(Path::new("-")), Source::Stdin);
    assert_eq!(Source::from_argument(Path::new("a.csv")), Source::Path("a.csv".into()));
    assert_eq!(Source::Stdin.name(), "standard input");
}
