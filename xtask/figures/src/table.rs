//! A table of results: lines of cells under named columns, comments in front.

use std::path::Path;

/// The rows of a table.
pub(crate) struct Table {
    /// What the numbers were made from.
    pub(crate) data: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
        let data = text.lines().find_map(|l| l.strip_prefix("# data: ")).unwrap_or_default();
        let data = data.to_owned();
        let mut lines = text.lines().filter(|l| !l.starts_with('#'));
        let cells = |line: &str| -> Vec<String> { line.split(',').map(str::to_owned).collect() };
        let columns = cells(lines.next().ok_or("an empty table")?);
        let rows: Vec<Vec<String>> = lines.map(cells).collect();
        if let Some(row) = rows.iter().find(|row| row.len() != columns.len()) {
            return Err(format!("a row of {} cells: {}", row.len(), row.join(",")));
        }
        Ok(Self { data, columns, rows })
    }

    fn at(&self, column: &str) -> usize {
        let found = self.columns.iter().position(|c| c == column);
        found.unwrap_or_else(|| panic!("the table has a column {column}"))
    }

    /// The cells of a column.
    pub(crate) fn words(&self, column: &str) -> Vec<&str> {
        let at = self.at(column);
        self.rows.iter().map(|row| row[at].as_str()).collect()
    }

    /// The same as numbers; what is none is NaN.
    pub(crate) fn numbers(&self, column: &str) -> Vec<f64> {
        self.words(column).into_iter().map(|w| w.parse().unwrap_or(f64::NAN)).collect()
    }

    /// The distinct cells of a column, in their order.
    pub(crate) fn distinct(&self, column: &str) -> Vec<&str> {
        let mut found = Vec::new();
        for word in self.words(column) {
            if !found.contains(&word) {
                found.push(word);
            }
        }
        found
    }

    /// Points (x, y) of the rows with this cell in a column.
    pub(crate) fn points(&self, of: (&str, &str), x: &str, y: &str) -> Vec<(f64, f64)> {
        let (key, x, y) = (self.words(of.0), self.numbers(x), self.numbers(y));
        let rows = (0..key.len()).filter(|&i| key[i] == of.1);
        rows.map(|i| (x[i], y[i])).filter(|p| p.0.is_finite() && p.1.is_finite()).collect()
    }

    /// The rows with this cell in a column, as a table.
    pub(crate) fn only(&self, column: &str, cell: &str) -> Self {
        let at = self.at(column);
        let rows = self.rows.iter().filter(|row| row[at] == cell).cloned().collect();
        Self { data: self.data.clone(), columns: self.columns.clone(), rows }
    }
}
