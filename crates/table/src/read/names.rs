//! Column names: unique, and found when the user names one.

use std::collections::HashMap;

use crate::TableError;
use crate::nearest::nearest;

/// Refuses two columns of one name.
pub(super) fn check_names(names: &[String], file: &str) -> Result<(), TableError> {
    let mut seen = HashMap::with_capacity(names.len());
    for (i, name) in names.iter().enumerate() {
        if let Some(first) = seen.insert(name, i) {
            let (first, second) = (first + 1, i + 1);
            let (file, column) = (file.to_owned(), name.clone());
            return Err(TableError::DuplicateColumn { file, column, first, second });
        }
    }
    Ok(())
}

/// For each column, whether the user asked for it to be text.
pub(super) fn forced_columns(
    names: &[String],
    asked: &[String],
    file: &str,
) -> Result<Vec<bool>, TableError> {
    if let Some(unknown) = asked.iter().find(|name| !names.contains(name)) {
        return Err(no_such_column(file, unknown, names));
    }
    Ok(names.iter().map(|name| asked.contains(name)).collect())
}

fn no_such_column(file: &str, column: &str, names: &[String]) -> TableError {
    let similar = nearest(column, names.iter().map(String::as_str)).map(str::to_owned);
    TableError::NoSuchColumn { file: file.to_owned(), column: column.to_owned(), similar }
}
