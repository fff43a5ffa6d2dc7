//! Tables of noise: normal columns, and two classes of equal size that have nothing to do with them.

use std::fmt::Write;
use std::path::Path;

use pitchpipe_learn::Stream;
use pitchpipe_table::{Labels, holdout};

/// How many columns there are.
const N_COLUMNS: usize = 10;

/// A table's name; [`n_rows`] reads it back.
pub(super) fn name(n_rows: usize) -> String {
    format!("noise-{n_rows}")
}

/// The rows of a table of this name, where it is one of noise.
pub(super) fn n_rows(name: &str) -> Option<usize> {
    name.strip_prefix("noise-")?.parse().ok()
}

/// Writes a table as CSV.
pub(super) fn write(path: &Path, n_rows: usize, seed: u64) -> Result<(), String> {
    let stream = Stream::new(seed).named("noise").child(n_rows as u64);
    let header: Vec<String> = (0..N_COLUMNS).map(|k| format!("x{k}")).collect();
    let mut text = format!("{},class\n", header.join(","));
    // Half of the rows, drawn: the second class.
    let second = holdout(&Labels::from_codes(vec![0; n_rows], 1), 0.5, seed).test;
    for row in 0..n_rows {
        for column in 0..N_COLUMNS {
            // Twelve uniform numbers make one that is near enough to normal.
            let cell = stream.child(row as u64).child(column as u64);
            let uniform = |k: u64| cell.child(k).key() as f64 / u64::MAX as f64;
            let normal = (0..12).map(uniform).sum::<f64>() - 6.0;
            write!(text, "{normal:.6},").expect("text takes all that is written");
        }
        let class = if second.binary_search(&row).is_ok() { "b" } else { "a" };
        text += &format!("{class}\n");
    }
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_rows_are_of_each_class() {
        let path = std::env::temp_dir().join(format!("pitchpipe-noise-{}.csv", std::process::id()));
        write(&path, 50, 3).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(text.lines().count(), 51);
        assert_eq!(text.lines().filter(|line| line.ends_with(",b")).count(), 25);
        assert_eq!(n_rows(&name(50)), Some(50));
    }
}
