//! What makes a score too good to be true, or too bad to be helped: a column that gives the answer away, one class
//! under several names, equal rows of different classes. All of it is said, none of it is changed.

use std::collections::BTreeMap;

use super::{Input, Kind};
use crate::{Column, Labels, MISSING_CODE, Note};

/// A column that is wrong about fewer rows than this share gives the answer away …
const FEW_ERRORS: f64 = 0.01;

/// … if the most common class alone is wrong about so many times more.
const HARDER: f64 = 10.0;

/// Fewer rows than this prove nothing.
const FEWEST_ROWS: usize = 40;

/// A number is cut into twice as many ranges as there are classes: with fewer rows than this in a range, on average, any number would do.
const FEWEST_IN_A_RANGE: usize = 10;

/// So many rows are looked at, fewer of a table with very many columns.
const MOST_ROWS: usize = 2000;
const MOST_CELLS: usize = 4_000_000;

/// Cells that are looked at for equal rows.
const MOST_CELLS_COMPARED: usize = 50_000_000;

/// Columns, each of which alone says the class of nearly every row.
pub(super) fn telling_columns(inputs: &[Input], columns: &[Column], labels: &Labels) -> Vec<Note> {
    let n = labels.len();
    let most = (MOST_CELLS / columns.len().max(1)).clamp(200, MOST_ROWS);
    let step = n.div_ceil(most).max(1);
    let rows: Vec<usize> = (0..n).step_by(step).collect();
    let codes: Vec<u32> = rows.iter().map(|&row| labels.codes()[row]).collect();
    let n_common = counts(&codes, labels.n_classes()).into_iter().max().unwrap_or(0);
    let by_chance = rows.len() - n_common;
    if rows.len() < FEWEST_ROWS {
        return Vec::new();
    }
    let mut next = 0;
    let mut notes = Vec::new();
    for input in inputs {
        let of_input = &columns[next..next + input.kind.n_features()];
        next += of_input.len();
        // The words of a text may well say what it is about.
        if matches!(input.kind, Kind::FreeText(_)) {
            continue;
        }
        let errors =
            of_input.iter().map(|column| n_errors(column, &rows, &codes, labels.n_classes()));
        let Some(n_errors) = errors.min() else { continue };
        let n_errors_f = n_errors as f64;
        if n_errors_f <= FEW_ERRORS * rows.len() as f64
            && HARDER * n_errors_f.max(1.0) <= by_chance as f64
        {
            notes.push(Note::TellingColumn {
                column: input.name.clone(),
                n_right: rows.len() - n_errors,
                n_rows: rows.len(),
            });
        }
    }
    notes
}

/// How many rows a column alone is wrong about.
fn n_errors(column: &Column, rows: &[usize], codes: &[u32], n_classes: usize) -> usize {
    match column {
        Column::Categorical { codes: levels, .. } => {
            let levels: Vec<u32> = rows.iter().map(|&row| levels[row]).collect();
            errors_of_levels(&levels, codes)
        }
        Column::Numeric(_) if 2 * n_classes * FEWEST_IN_A_RANGE > rows.len() => rows.len(),
        Column::Numeric(values) => {
            let mut sorted: Vec<(f64, u32)> =
                rows.iter().zip(codes).map(|(&row, &class)| (values[row], class)).collect();
            // Missing cells come last, as one value.
            sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            // Ranges of one class each leave few changes of class; most columns end here.
            let n_changes = sorted.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
            if n_changes > 2 * n_classes + (2.0 * FEW_ERRORS * rows.len() as f64) as usize {
                return rows.len();
            }
            errors_of_ranges(&sorted, n_classes)
        }
    }
}

/// A row is said to be of the class that most *other* rows of its level have.
fn errors_of_levels(levels: &[u32], codes: &[u32]) -> usize {
    let mut rows: Vec<(u32, u32)> = levels.iter().copied().zip(codes.iter().copied()).collect();
    rows.sort_unstable();
    rows.chunk_by(|a, b| a.0 == b.0).map(errors_of_level).sum()
}

/// The same for the rows of one level, sorted by class.
fn errors_of_level(rows: &[(u32, u32)]) -> usize {
    let counts: Vec<usize> = rows.chunk_by(|a, b| a.1 == b.1).map(<[_]>::len).collect();
    let most = counts.iter().copied().max().unwrap_or(0);
    let n_with_most = counts.iter().filter(|&&n| n == most).count();
    let second = counts.iter().copied().filter(|&n| n < most).max().unwrap_or(0);
    let is_wrong = |&&n: &&usize| {
        let most_of_others = if n == most && n_with_most == 1 { second } else { most };
        most_of_others >= n - 1
    };
    counts.iter().filter(is_wrong).sum()
}

/// Rows in the order of a number, cut into as many ranges as there are classes, and as many more: each range is said to
/// be of its most common class.
fn errors_of_ranges(sorted: &[(f64, u32)], n_classes: usize) -> usize {
    let range = |start: usize, end: usize| {
        let classes: Vec<u32> = sorted[start..end].iter().map(|pair| pair.1).collect();
        let n_errors = end - start - counts(&classes, n_classes).into_iter().max().unwrap_or(0);
        (n_errors, start, end)
    };
    let mut ranges = vec![range(0, sorted.len())];
    for _ in 1..2 * n_classes {
        // The range with the most errors is cut where that leaves the fewest.
        let Some(worst) = (0..ranges.len()).max_by_key(|&i| ranges[i].0) else { break };
        let (_, start, end) = ranges[worst];
        let Some(at) = best_cut(&sorted[start..end], n_classes) else { break };
        ranges[worst] = range(start, start + at);
        ranges.push(range(start + at, end));
    }
    ranges.into_iter().map(|(n_errors, ..)| n_errors).sum()
}

/// Where a range falls into two that are as pure as can be.
fn best_cut(range: &[(f64, u32)], n_classes: usize) -> Option<usize> {
    let classes: Vec<u32> = range.iter().map(|pair| pair.1).collect();
    let mut above = counts(&classes, n_classes);
    let mut below = vec![0; n_classes];
    // Squares prefer pure parts to large ones, where errors alone see no difference.
    let mut squares_above: usize = above.iter().map(|&k| k * k).sum();
    let mut squares_below = 0;
    let mut best = None;
    for at in 1..range.len() {
        let class = range[at - 1].1 as usize;
        squares_below += 2 * below[class] + 1;
        squares_above -= 2 * above[class] - 1;
        below[class] += 1;
        above[class] -= 1;
        let (here, before) = (range[at].0, range[at - 1].0);
        if here == before || (here.is_nan() && before.is_nan()) {
            continue;
        }
        let purity = |squares: usize, n: usize| squares as f64 / n as f64;
        let gain = purity(squares_below, at) + purity(squares_above, range.len() - at);
        if best.is_none_or(|(most, _)| gain > most) {
            best = Some((gain, at));
        }
    }
    best.map(|(_, at)| at)
}

fn counts(codes: &[u32], n_classes: usize) -> Vec<usize> {
    let mut counts = vec![0; n_classes];
    codes.iter().for_each(|&code| counts[code as usize] += 1);
    counts
}

/// Classes whose names differ in case, spaces and the like only.
pub(super) fn similar_classes(target: &str, classes: &[String]) -> Vec<Note> {
    let mut by_core: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for class in classes {
        let words = class.split(|c: char| c.is_whitespace() || matches!(c, '_' | '-'));
        let words: Vec<String> = words.filter(|w| !w.is_empty()).map(str::to_lowercase).collect();
        // Numbers with signs are no words: -1 and 1 are two classes.
        let core = if class.parse::<f64>().is_ok() { class.clone() } else { words.join(" ") };
        by_core.entry(core).or_default().push(class.clone());
    }
    let alike = by_core.into_values().filter(|classes| classes.len() > 1);
    alike.map(|classes| Note::SimilarClasses { target: target.to_owned(), classes }).collect()
}

/// Rows that are equal in every column but differ in class: no model can be right about all of them.
pub(super) fn contradictions(columns: &[Column], labels: &Labels) -> Option<Note> {
    let n_rows = labels.len().min(MOST_CELLS_COMPARED / columns.len().max(1));
    let mut rows: Vec<(u64, u32)> =
        labels.codes()[..n_rows].iter().map(|&class| (0, class)).collect();
    for column in columns {
        match column {
            Column::Numeric(values) => {
                let bits =
                    values.iter().map(|v| if v.is_nan() { u64::MAX } else { (v + 0.0).to_bits() });
                rows.iter_mut().zip(bits).for_each(|((hash, _), cell)| *hash = mixed(*hash, cell));
            }
            Column::Categorical { codes, .. } => {
                let cells = codes
                    .iter()
                    .map(|&code| if code == MISSING_CODE { u64::MAX } else { code.into() });
                rows.iter_mut().zip(cells).for_each(|((hash, _), cell)| *hash = mixed(*hash, cell));
            }
        }
    }
    // Sorted, equal rows lie together, those of the lowest class first.
    rows.sort_unstable();
    let contradict = |kind: &&[(u64, u32)]| kind[0].1 != kind[kind.len() - 1].1;
    let kinds = rows.chunk_by(|a, b| a.0 == b.0);
    let n_contradicting: usize = kinds.filter(contradict).map(<[_]>::len).sum();
    (n_contradicting > 0).then_some(Note::Contradictions { n_contradicting, n_rows })
}

fn mixed(hash: u64, cell: u64) -> u64 {
    let product = u128::from(hash ^ cell ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93_u128;
    (product >> 64) as u64 ^ (product as u64).rotate_left(17) ^ hash.rotate_left(5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(name: &str, kind: Kind) -> Input {
        Input { name: name.into(), kind, rule: None }
    }

    #[test]
    fn a_column_that_gives_the_answer_away_is_named() {
        let labels = Labels::from_codes((0..300).map(|row| row % 3), 3);
        let answer = Column::numeric(
            (0..300)
                .map(|row| f64::from(row % 3) * 10.0 + f64::from(row) / 1e3)
                .collect::<Vec<_>>(),
        );
        let noise =
            Column::numeric((0..300).map(|row| f64::from(row * 7919 % 271)).collect::<Vec<_>>());
        let code = Column::categorical((0..300).map(|row| (row + 1) % 3).collect::<Vec<u32>>(), 3);
        // A level for each row says nothing about other rows.
        let name = Column::categorical((0..300).collect::<Vec<u32>>(), 300);
        let kinds = ["answer", "noise", "code", "name"].map(|name| input(name, Kind::Numeric));
        let notes = telling_columns(&kinds, &[answer, noise, code, name], &labels);
        let named: Vec<&str> = notes
            .iter()
            .map(|note| match note {
                Note::TellingColumn { column, .. } => column.as_str(),
                other => panic!("{other}"),
            })
            .collect();
        assert_eq!(named, ["answer", "code"]);
    }

    #[test]
    fn a_row_is_judged_by_the_other_rows_of_its_level() {
        // A pair that agrees is right, one that does not is wrong, and so is a row alone.
        assert_eq!(errors_of_levels(&[0, 0, 1, 1, 2], &[5, 5, 5, 6, 5]), 3);
        // Two of one class and one of another: the two see one of each among the others.
        assert_eq!(errors_of_levels(&[0, 0, 0], &[1, 1, 2]), 3);
        assert_eq!(errors_of_levels(&[0, 0, 0, 0], &[1, 1, 2, 1]), 1);
    }

    #[test]
    fn with_as_many_ranges_as_rows_a_number_says_nothing() {
        let labels = Labels::from_codes((0..300).map(|row| row * 7 % 100), 100);
        let noise =
            Column::numeric((0..300).map(|row| f64::from(row * 7919 % 271)).collect::<Vec<_>>());
        assert_eq!(telling_columns(&[input("noise", Kind::Numeric)], &[noise], &labels), []);
    }

    #[test]
    fn one_class_under_several_names_is_suspected() {
        let classes = ["Yes", "YES", "yes ", "no", "1", "-1"].map(str::to_owned);
        let notes = similar_classes("y", &classes);
        let [Note::SimilarClasses { classes, .. }] = notes.as_slice() else { panic!("{notes:?}") };
        assert_eq!(classes, &["Yes", "YES", "yes "]);
    }

    #[test]
    fn equal_rows_of_different_classes_are_counted() {
        let columns = [
            Column::numeric([1.0, 1.0, 2.0, f64::NAN, f64::NAN]),
            Column::categorical([0, 0, 0, 1, 1], 2),
        ];
        let labels = Labels::from_codes([0, 1, 0, 1, 1], 2);
        let note = contradictions(&columns, &labels);
        assert_eq!(note, Some(Note::Contradictions { n_contradicting: 2, n_rows: 5 }));
        assert_eq!(contradictions(&columns, &Labels::from_codes([0, 0, 0, 1, 1], 2)), None);
    }
}
