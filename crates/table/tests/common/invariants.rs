//! What holds of every table that a reader returns, whatever bytes it came from.

use std::collections::HashSet;

use pitchpipe_table::{Cells, MISSING_CODE, RawTable};

/// # Panics
/// If the table breaks a promise.
pub(crate) fn check(table: &RawTable) {
    assert!(table.n_rows > 0, "a table without rows is an error");
    assert!(!table.columns.is_empty(), "a table without columns is an error");
    let names: HashSet<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names.len(), table.columns.len(), "names are unique");
    for column in &table.columns {
        let n_cells = match &column.cells {
            Cells::Numbers { values, integers } => {
                assert!(values.iter().all(|v| !v.is_infinite()), "numbers are finite");
                let whole = |v: &f64| v.is_nan() || v.fract() == 0.0;
                assert!(!integers || values.iter().all(whole), "integers are whole");
                values.len()
            }
            Cells::Instants { seconds } => {
                assert!(seconds.iter().all(|v| !v.is_infinite()), "instants are finite");
                seconds.len()
            }
            Cells::Text { codes, dictionary: levels } | Cells::Nominal { codes, levels } => {
                let in_range = |&c: &u32| c == MISSING_CODE || (c as usize) < levels.len();
                assert!(codes.iter().all(in_range), "codes are within their dictionary");
                let distinct: HashSet<&String> = levels.iter().collect();
                assert_eq!(distinct.len(), levels.len(), "levels are distinct");
                codes.len()
            }
        };
        assert_eq!(n_cells, table.n_rows, "a column is as long as the table");
    }
}
