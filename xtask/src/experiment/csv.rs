//! A table of results with where it came from.

use std::fmt::Display;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::python;

/// Rows under named columns.
#[derive(Serialize, Deserialize)]
pub(crate) struct Csv {
    /// What the numbers were made from.
    data: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Where a table comes from.
pub(crate) struct Origin {
    /// The commit that the program was built from.
    pub(crate) commit: String,
    /// What made the table.
    pub(crate) command: String,
    /// What that took.
    pub(crate) secs: f64,
}

impl Csv {
    pub(crate) fn new(data: impl Into<String>, columns: &[&'static str]) -> Self {
        Self::of(data, columns.iter().map(|&c| c.to_owned()).collect())
    }

    /// With columns that are not known beforehand.
    pub(crate) fn of(data: impl Into<String>, columns: Vec<String>) -> Self {
        Self { data: data.into(), columns, rows: Vec::new() }
    }

    /// Adds a row: as many cells as there are columns. Commas within a cell become semicolons.
    pub(crate) fn push(&mut self, cells: &[&dyn Display]) {
        self.push_cells(cells.iter().map(ToString::to_string).collect());
    }

    /// The same of cells that are written already.
    pub(crate) fn push_cells(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        self.rows.push(cells.into_iter().map(|c| c.replace(',', ";")).collect());
    }

    /// The number in a column of the one row that has these cells.
    pub(crate) fn number(&self, column: &str, cells: &[(&str, &str)]) -> Result<f64, String> {
        let at = |name: &str| {
            let found = self.columns.iter().position(|c| *c == name);
            found.ok_or_else(|| format!("the table has no column {name}"))
        };
        let mut wanted = Vec::new();
        for (name, cell) in cells {
            wanted.push((at(name)?, *cell));
        }
        let is_meant = |row: &&Vec<String>| wanted.iter().all(|(at, cell)| row[*at] == *cell);
        let row = self.rows.iter().find(is_meant).ok_or_else(|| format!("no row has {cells:?}"))?;
        row[at(column)?].parse().map_err(|e| format!("{column}: {e}"))
    }

    /// How many rows there are.
    #[cfg(test)]
    pub(crate) fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// Writes it, with the command, the data, the commit and the date in front; all of it or nothing.
    pub(crate) fn write(&self, path: &Path, origin: &Origin) -> Result<(), String> {
        let Origin { commit, command, secs } = origin;
        let mut text = format!("# command: {command}\n# data: {}\n", self.data);
        text += &format!("# commit: {commit}\n# date: {}\n", said("date", &["-u", "+%F"]));
        text += &format!("# took: {secs:.1} s\n");
        text += &format!("{}\n", self.columns.join(","));
        for row in &self.rows {
            text += &format!("{}\n", row.join(","));
        }
        let part = path.with_extension("csv.part");
        std::fs::write(&part, text)
            .and_then(|()| std::fs::rename(&part, path))
            .map_err(|e| format!("{}: {e}", path.display()))
    }
}

/// A number as tables have it: four significant digits.
pub(crate) fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    format!("{value:.digits$}")
}

/// The commit, and whether nothing that figures depend on differs from it.
pub(crate) fn commit() -> (String, bool) {
    let head = said("git", &["rev-parse", "--short", "HEAD"]);
    let code = ["status", "--porcelain", "--", "crates", "xtask", "Cargo.lock"];
    (head, said("git", &code).is_empty())
}

fn said(program: &str, arguments: &[&str]) -> String {
    let out = Command::new(program).args(arguments).current_dir(python::root()).output();
    out.ok().map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned()).unwrap_or_default()
}
