//! Columns that number the rows: they say nothing about rows to come, and all about a table that was sorted by class.

use super::{DependsOn, Reason, SchemaOptions};
use crate::{Cells, Labels, RawTable};

/// A column of an unsuspicious name that counts fewer rows than this may be a small quantity.
const FEWEST_ROWS: usize = 20;

/// A number for each row leaves out no more than half of the numbers in its range.
const DENSITY: usize = 2;

/// A random order of the classes has this many times the changes of class that a telling one has, at least.
const FEWER_RUNS: f64 = 5.0;

/// The columns of a table that number its rows, each with how that is known. What the user says of a column goes
/// first.
pub(crate) fn row_numbers(table: &RawTable, options: &SchemaOptions) -> Vec<(String, Reason)> {
    let is_first = |name: &String| table.columns.first().is_some_and(|c| c.name == *name);
    let reason = |name: &String, cells: &Cells| {
        if is_of_pandas(name) {
            return Some(Reason::IndexByName);
        }
        let Cells::Numbers { values, integers } = cells else { return None };
        // Whole floats, too: pandas writes `1.0` where it has had a missing cell.
        if !integers && !values.iter().all(|v| v.fract() == 0.0) {
            return None;
        }
        if is_reset(name) && are_distinct(values) {
            return Some(Reason::IndexByName);
        }
        let is_unnamed = table.unnamed.contains(name) || name.starts_with("Unnamed: ");
        if is_unnamed && is_first(name) && are_distinct(values) {
            return Some(Reason::UnnamedIndex);
        }
        is_row_number(values).then_some(Reason::RowNumber)
    };
    table
        .columns
        .iter()
        .filter(|column| is_free(&column.name, options))
        .filter_map(|column| Some((column.name.clone(), reason(&column.name, &column.cells)?)))
        .collect()
}

/// Whether nothing was said about a column.
fn is_free(name: &String, options: &SchemaOptions) -> bool {
    let said = [&options.include, &options.exclude, &options.categorical, &options.numeric];
    let is_target = options.target.as_ref() == Some(name);
    let depends = options.depends_on.as_ref().map(DependsOn::column) == Some(name);
    !is_target && !depends && !said.iter().any(|names| names.contains(name))
}

/// `__index_level_0__`, as pandas calls an index without a name in Parquet.
fn is_of_pandas(name: &str) -> bool {
    let level = name.strip_prefix("__index_level_").and_then(|rest| rest.strip_suffix("__"));
    level.is_some_and(|level| !level.is_empty() && level.bytes().all(|b| b.is_ascii_digit()))
}

/// `index` and `level_0`, as pandas calls an index that `reset_index` makes a column. People use these words, too: only a
/// number of its own for each row is one.
fn is_reset(name: &str) -> bool {
    let level = name.strip_prefix("level_");
    name == "index" || level.is_some_and(|l| !l.is_empty() && l.bytes().all(|b| b.is_ascii_digit()))
}

/// 0, 1, 2, … or 1, 2, 3, …
fn is_row_number(values: &[f64]) -> bool {
    let first = values.first().copied().unwrap_or(f64::NAN);
    values.len() >= FEWEST_ROWS
        && (first == 0.0 || first == 1.0)
        && values.iter().enumerate().all(|(row, &value)| value == first + row as f64)
}

fn are_distinct(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    values.len() > 1
        && !values.iter().any(|v| v.is_nan())
        && sorted.windows(2).all(|pair| pair[0] != pair[1])
}

/// Whether a column numbers the rows in an order that gives their classes away: a whole number of its own for each row,
/// hardly a number left out, and the classes one after the other.
pub(super) fn orders_the_target(
    name: &String,
    cells: &Cells,
    labels: &Labels,
    options: &SchemaOptions,
) -> bool {
    let Cells::Numbers { values, integers: true } = cells else { return false };
    let n = values.len();
    if n < FEWEST_ROWS || n != labels.len() || !is_free(name, options) {
        return false;
    }
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)));
    // A missing cell makes no difference to the range, but is not distinct from others.
    let is_dense = high - low < (DENSITY * n) as f64;
    if !is_dense || !are_distinct(values) {
        return false;
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let codes = labels.codes();
    let n_runs = 1 + order.windows(2).filter(|pair| codes[pair[0]] != codes[pair[1]]).count();
    let shares: f64 = labels.counts().iter().map(|&k| (k as f64 / n as f64).powi(2)).sum();
    let by_chance = 1.0 + (n as f64 - 1.0) * (1.0 - shares);
    n_runs <= 2 * labels.n_classes() && FEWER_RUNS * n_runs as f64 <= by_chance
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RawColumn;

    fn numbers(values: impl IntoIterator<Item = usize>) -> Cells {
        Cells::Numbers { values: values.into_iter().map(|v| v as f64).collect(), integers: true }
    }

    fn found(name: &str, cells: Cells, unnamed: bool) -> Option<Reason> {
        let table = RawTable {
            n_rows: cells.len(),
            columns: vec![RawColumn { name: name.into(), cells }],
            unnamed: if unnamed { vec![name.into()] } else { Vec::new() },
            ..RawTable::default()
        };
        row_numbers(&table, &SchemaOptions::default()).pop().map(|(_, reason)| reason)
    }

    #[test]
    fn an_index_is_known_by_its_name_or_by_counting_the_rows() {
        assert_eq!(found("__index_level_0__", numbers([7, 3]), false), Some(Reason::IndexByName));
        assert_eq!(found("Unnamed: 0", numbers([7, 3, 9]), false), Some(Reason::UnnamedIndex));
        assert_eq!(found("column_1", numbers([0, 1, 2]), true), Some(Reason::UnnamedIndex));
        assert_eq!(found("index", numbers([7, 3, 9]), false), Some(Reason::IndexByName));
        assert_eq!(found("level_0", numbers([7, 3, 9]), false), Some(Reason::IndexByName));
        assert_eq!(found("index", numbers([7, 3, 7]), false), None);
        let halves =
            Cells::Numbers { values: [0.5, 1.5, 2.5].into_iter().collect(), integers: false };
        assert_eq!(found("index", halves, false), None);
        let floats = Cells::Numbers { values: (0..30).map(f64::from).collect(), integers: false };
        assert_eq!(found("no", floats, false), Some(Reason::RowNumber));
        assert_eq!(found("no", numbers(0..30), false), Some(Reason::RowNumber));
        assert_eq!(found("no", numbers(1..31), false), Some(Reason::RowNumber));
        for (name, cells) in [
            ("no", numbers(2..32)),
            ("no", numbers((0..30).map(|i| 2 * i))),
            ("no", numbers(1..10)),
            ("__index_level_x__", numbers(0..5)),
            ("Unnamed: 0", numbers([1, 1, 2])),
        ] {
            assert_eq!(found(name, cells, false), None, "{name}");
        }
        assert_eq!(found("column_1", numbers([0, 1, 2]), false), None);
    }

    #[test]
    fn a_number_that_orders_the_classes_is_found_in_any_order_of_rows() {
        let options = SchemaOptions::default();
        let labels =
            |n: usize| Labels::from_codes((0..n).map(|row| u32::from(row * 7 % n >= n / 2)), 2);
        let shuffled = |n: usize| numbers((0..n).map(|row| row * 7 % n));
        let name = "id".to_owned();
        assert!(orders_the_target(&name, &shuffled(100), &labels(100), &options));
        // Every other row of a class is not one after the other.
        let mixed = Labels::from_codes((0..100).map(|row| row % 2), 2);
        assert!(!orders_the_target(&name, &shuffled(100), &mixed, &options));
        // A measurement leaves numbers out.
        let wide = numbers((0..100).map(|row| 10 * (row * 7 % 100)));
        assert!(!orders_the_target(&name, &wide, &labels(100), &options));
        let asked = SchemaOptions { include: vec![name.clone()], ..options };
        assert!(!orders_the_target(&name, &shuffled(100), &labels(100), &asked));
    }
}
