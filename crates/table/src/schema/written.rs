//! Labels that are numbers, kept as they were written: `02139` and `1.0` are names of classes, not quantities.

use std::collections::HashMap;

use super::levels::{count, parse_number};
use crate::{MISSING_CODE, Note};

/// A target whose every cell is a number, by value and as written.
pub(super) struct WrittenNumbers {
    /// The classes by value, each in its most frequent spelling.
    pub(super) names: Vec<String>,
    /// The class of each row.
    pub(super) codes: Vec<u32>,
    /// The number of each row; NaN where it is missing.
    pub(super) values: Vec<f64>,
    /// The other spellings of each class.
    others: Vec<Vec<String>>,
}

impl WrittenNumbers {
    /// `None` where some cell is no number.
    pub(super) fn of(codes: &[u32], dictionary: &[String]) -> Option<Self> {
        let counts = count(codes, dictionary.len());
        let mut classes: Vec<(f64, Vec<usize>)> = Vec::new();
        let mut by_value: HashMap<String, usize> = HashMap::new();
        for (text, spelling) in dictionary.iter().enumerate() {
            // Among numbers it is a missing one, in any case.
            if counts[text] == 0 || spelling.trim().eq_ignore_ascii_case("nan") {
                continue;
            }
            let value = parse_number(spelling)?;
            let class = *by_value.entry(exact(spelling, value)).or_insert(classes.len());
            if class == classes.len() {
                classes.push((value, Vec::new()));
            }
            classes[class].1.push(text);
        }
        // The most frequent spelling first; the earlier wins a draw.
        for (_, spellings) in &mut classes {
            spellings.sort_by_key(|&text| std::cmp::Reverse(counts[text]));
        }
        let written = |text: usize| dictionary[text].trim().to_owned();
        classes.sort_by(|(a, x), (b, y)| {
            a.total_cmp(b).then_with(|| by_length(&written(x[0]), &written(y[0])))
        });
        let mut position = vec![MISSING_CODE; dictionary.len()];
        for ((_, spellings), class) in classes.iter().zip(0..) {
            spellings.iter().for_each(|&text| position[text] = class);
        }
        let class_of = |&code: &u32| position.get(code as usize).copied().unwrap_or(MISSING_CODE);
        let codes: Vec<u32> = codes.iter().map(class_of).collect();
        let value_of = |&code: &u32| classes.get(code as usize).map_or(f64::NAN, |class| class.0);
        let values = codes.iter().map(value_of).collect();
        let names = classes.iter().map(|(_, spellings)| written(spellings[0])).collect();
        let others = classes
            .iter()
            .map(|(_, spellings)| spellings[1..].iter().map(|&text| written(text)).collect())
            .collect();
        Some(Self { names, codes, values, others })
    }

    /// How many rows have a number.
    pub(super) fn n_present(&self) -> usize {
        self.values.iter().filter(|v| !v.is_nan()).count()
    }

    /// The classes that are written in more than one way.
    pub(super) fn merged(&self, target: &str) -> Vec<Note> {
        let note = |(kept, others): (&String, &Vec<String>)| {
            let mut merged: Vec<String> = others.iter().filter(|o| *o != kept).cloned().collect();
            merged.dedup();
            let (target, kept) = (target.to_owned(), kept.clone());
            (!merged.is_empty()).then_some(Note::MergedClasses { target, kept, merged })
        };
        self.names.iter().zip(&self.others).filter_map(note).collect()
    }
}

/// What two spellings of one number share. Whole numbers are compared by their digits, since a double does not
/// tell those beyond 2^53 apart.
fn exact(spelling: &str, value: f64) -> String {
    let text = spelling.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_whole = !whole.is_empty()
        && whole.bytes().all(|b| b.is_ascii_digit())
        && fraction.bytes().all(|b| b == b'0');
    match whole.trim_start_matches('0') {
        "" if is_whole => "0".to_owned(),
        digits if is_whole => format!("{sign}{digits}"),
        // As the whole numbers are written; 1e3 is 1000.
        _ => (value + 0.0).to_string(),
    }
}

/// Digits that a double holds for equal: the longer number is the larger.
fn by_length(a: &str, b: &str) -> std::cmp::Ordering {
    let by_size = a.len().cmp(&b.len()).then_with(|| a.cmp(b));
    if a.starts_with('-') { by_size.reverse() } else { by_size }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(texts: &[&str]) -> Option<WrittenNumbers> {
        let dictionary: Vec<String> = texts.iter().map(|&t| t.to_owned()).collect();
        WrittenNumbers::of(&(0..texts.len() as u32).collect::<Vec<u32>>(), &dictionary)
    }

    #[test]
    fn labels_are_ordered_by_value_and_stay_as_written() {
        for (texts, names) in [
            (&["10", "9", "02139"][..], &["9", "10", "02139"][..]),
            (&["1.0", "0.0"], &["0.0", "1.0"]),
            (&["9007199254740993", "9007199254740992"], &["9007199254740992", "9007199254740993"]),
            (
                &["-9007199254740993", "-9007199254740992"],
                &["-9007199254740993", "-9007199254740992"],
            ),
            (&["1e3", "+5", "-.5"], &["-.5", "+5", "1e3"]),
        ] {
            assert_eq!(classes(texts).unwrap().names, names, "{texts:?}");
        }
        assert!(classes(&["1", "x"]).is_none() && classes(&["1", "inf"]).is_none());
    }

    #[test]
    fn one_number_is_one_class_however_it_is_written() {
        let labels = classes(&["1", "1.0", "01", "+1", "2", "1e0", "-0", "0"]).unwrap();
        assert_eq!(labels.names, ["-0", "1", "2"]);
        assert_eq!(labels.codes, [1, 1, 1, 1, 2, 1, 0, 0]);
        let notes: Vec<String> = labels.merged("y").iter().map(Note::to_string).collect();
        assert_eq!(
            notes[1],
            "in the target \"y\" \"1.0\", \"01\", \"+1\", \"1e0\" and \"1\" are one number and so one class, \
             \"1\"; if not, pass --categorical y"
        );
    }

    #[test]
    fn nan_is_missing_among_numbers() {
        let labels = classes(&["1", "nan", "2"]).unwrap();
        assert_eq!(labels.codes, [0, MISSING_CODE, 1]);
        assert_eq!(labels.n_present(), 2);
    }
}
