//! The categories of a column: which there are, in which order, and which one a later cell is.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::cell::{Family, Truth, truth_pair};
use crate::{Cells, MISSING_CODE, UNSEEN_CODE};

/// The level that stands for all rare texts of a column with very many.
pub const OTHER_LEVEL: &str = "(other)";

/// The categories of a column in the order of their codes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Levels {
    names: Vec<String>,
    /// Whether the last level is [`OTHER_LEVEL`], which then also takes texts never met in training.
    has_other: bool,
}

/// A column of categories: its levels and a code per row.
pub(super) struct Coded {
    pub(super) levels: Levels,
    pub(super) codes: Vec<u32>,
    /// How many rare texts became [`OTHER_LEVEL`].
    pub(super) n_merged: usize,
}

/// A later table's cells as codes, and the texts among them that are no level.
pub(super) struct Matched {
    pub(super) codes: Vec<u32>,
    /// Texts never met in training, each with its number of rows.
    pub(super) unseen: BTreeMap<String, usize>,
}

impl Levels {
    /// Levels under the given names, in this order.
    pub(super) fn new(names: Vec<String>) -> Self {
        Self { names, has_other: false }
    }

    /// The levels in the order of their codes.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many levels there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no level.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether the last level stands for all rare texts.
    pub fn has_other(&self) -> bool {
        self.has_other
    }

    /// Which level each cell is. `Err` says what the cells hold, where they cannot be categories of this
    /// column at all.
    pub(super) fn matching(&self, cells: &Cells) -> Result<Matched, String> {
        let finder = Finder::new(self);
        let mut unseen = BTreeMap::new();
        let mut miss = |text: String| {
            *unseen.entry(text).or_insert(0) += 1;
            self.unseen_code()
        };
        let codes = match cells {
            Cells::Text { codes, dictionary: texts } | Cells::Nominal { codes, levels: texts } => {
                let translated: Vec<Option<u32>> =
                    texts.iter().map(|t| finder.of_text(t)).collect();
                let translate = |&code: &u32| match code {
                    MISSING_CODE => MISSING_CODE,
                    _ => translated[code as usize]
                        .unwrap_or_else(|| miss(texts[code as usize].clone())),
                };
                codes.iter().map(translate).collect()
            }
            Cells::Numbers { values, .. } => {
                if let Some(number) = values.iter().find(|v| !v.is_nan())
                    && !finder.knows_numbers()
                {
                    return Err(format!("numbers such as {number}"));
                }
                let translate = |&value: &f64| match value {
                    v if v.is_nan() => MISSING_CODE,
                    v => finder.of_number(v).unwrap_or_else(|| miss(v.to_string())),
                };
                values.iter().map(translate).collect()
            }
            Cells::Instants { seconds } => match seconds.iter().find(|s| !s.is_nan()) {
                Some(&s) => {
                    return Err(format!("dates such as {}", super::dates::written_instant(s)));
                }
                None => vec![MISSING_CODE; seconds.len()],
            },
        };
        Ok(Matched { codes, unseen })
    }

    fn unseen_code(&self) -> u32 {
        if self.has_other { self.names.len() as u32 - 1 } else { UNSEEN_CODE }
    }
}

/// Finds a level by its text, or by its value where it is a number: `1`, `1.0` and `01` written to one
/// file by three programs are one level, unless training told them apart.
struct Finder<'a> {
    by_text: HashMap<&'a str, u32>,
    by_value: HashMap<u64, Option<u32>>,
    /// Where the levels are yes and no: the code of yes, and the words that they are said in.
    truth: Option<(usize, Family)>,
}

impl<'a> Finder<'a> {
    fn new(levels: &'a Levels) -> Self {
        let numbered = levels.names.iter().zip(0..);
        let by_text = numbered.clone().map(|(name, code)| (name.as_str(), code)).collect();
        let mut by_value = HashMap::new();
        for (name, code) in numbered {
            if let Some(value) = parse_number(name) {
                by_value.entry(key(value)).and_modify(|c| *c = None).or_insert(Some(code));
            }
        }
        Self { by_text, by_value, truth: truth_pair(&levels.names) }
    }

    fn of_text(&self, text: &str) -> Option<u32> {
        let exact = self.by_text.get(text).copied();
        exact.or_else(|| self.of_boolean(text)).or_else(|| self.of_number(parse_number(text)?))
    }

    fn of_number(&self, value: f64) -> Option<u32> {
        if let Some((yes, _)) = self.truth
            && (value == 0.0 || value == 1.0)
        {
            return Some(u32::from((value == 1.0) == (yes == 1)));
        }
        self.by_value.get(&key(value)).copied().flatten()
    }

    /// `TRUE`, `True` and `yes` are one.
    fn of_boolean(&self, text: &str) -> Option<u32> {
        let (yes, family) = self.truth?;
        Some(u32::from(Truth::of(text, family)? == (yes == 1)))
    }

    fn knows_numbers(&self) -> bool {
        self.truth.is_some() || !self.by_value.is_empty()
    }
}

/// `-0` and `0` are one number.
fn key(value: f64) -> u64 {
    (value + 0.0).to_bits()
}

/// A finite number written in full.
pub(super) fn parse_number(text: &str) -> Option<f64> {
    fast_float2::parse::<f64, _>(text.trim()).ok().filter(|v| v.is_finite())
}

/// Numbers as categories, in numeric order.
pub(super) fn levels_of_numbers(values: &[f64]) -> (Vec<String>, Vec<u32>) {
    let mut distinct: Vec<f64> = values.iter().filter(|v| !v.is_nan()).map(|v| v + 0.0).collect();
    distinct.sort_unstable_by(f64::total_cmp);
    distinct.dedup();
    let code = |&v: &f64| match v.is_nan() {
        true => MISSING_CODE,
        // `total_cmp` would tell -0 from 0, which are one level.
        false => distinct.partition_point(|d| *d < v) as u32,
    };
    let codes = values.iter().map(code).collect();
    (distinct.iter().map(f64::to_string).collect(), codes)
}

/// Texts as categories, in sorted order; by value where all of them are numbers. Texts that no row has
/// are no levels.
pub(super) fn levels_of_text(codes: &[u32], dictionary: &[String]) -> (Vec<String>, Vec<u32>) {
    let counts = count(codes, dictionary.len());
    let mut order: Vec<usize> = (0..dictionary.len()).filter(|&i| counts[i] > 0).collect();
    let value = |i: &usize| parse_number(&dictionary[*i]);
    if order.iter().all(|i| value(i).is_some()) {
        order.sort_by(|a, b| {
            let by_value = value(a).unwrap_or(0.0).total_cmp(&value(b).unwrap_or(0.0));
            by_value.then_with(|| dictionary[*a].cmp(&dictionary[*b]))
        });
    } else {
        order.sort_by(|a, b| dictionary[*a].cmp(&dictionary[*b]));
    }
    let mut position = vec![MISSING_CODE; dictionary.len()];
    for (rank, &i) in order.iter().enumerate() {
        position[i] = rank as u32;
    }
    let names = order.iter().map(|&i| dictionary[i].clone()).collect();
    (names, recoded(codes, &position))
}

/// Keeps the most frequent levels where there are too many; the earlier wins a draw. Encoders that want fewer merge more.
pub(super) fn merge_rare(names: Vec<String>, codes: Vec<u32>, most: usize) -> Coded {
    let most = most.max(2);
    if names.len() <= most {
        return Coded { levels: Levels::new(names), codes, n_merged: 0 };
    }
    let counts = count(&codes, names.len());
    let mut by_count: Vec<usize> = (0..names.len()).collect();
    by_count.sort_by_key(|&i| std::cmp::Reverse(counts[i]));
    let mut is_kept = vec![false; names.len()];
    by_count[..most - 1].iter().for_each(|&i| is_kept[i] = true);

    let n_merged = names.len() - (most - 1);
    let (mut kept, mut position) = (Vec::with_capacity(most), Vec::new());
    for (name, keep) in names.into_iter().zip(is_kept) {
        position.push(if keep { kept.len() as u32 } else { most as u32 - 1 });
        kept.extend(keep.then_some(name));
    }
    kept.push(OTHER_LEVEL.to_owned());
    let levels = Levels { names: kept, has_other: true };
    Coded { levels, codes: recoded(&codes, &position), n_merged }
}

/// How many rows each code has.
pub(super) fn count(codes: &[u32], n_levels: usize) -> Vec<usize> {
    let mut counts = vec![0; n_levels];
    for &code in codes.iter().filter(|&&c| c != MISSING_CODE) {
        counts[code as usize] += 1;
    }
    counts
}

fn recoded(codes: &[u32], position: &[u32]) -> Vec<u32> {
    let translate = |&code: &u32| match code {
        MISSING_CODE => MISSING_CODE,
        _ => position[code as usize],
    };
    codes.iter().map(translate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&t| t.to_owned()).collect()
    }

    #[test]
    fn text_is_sorted_and_numbers_among_it_by_value() {
        let sorted = |texts: &[&str]| {
            let codes: Vec<u32> = (0..texts.len() as u32).collect();
            levels_of_text(&codes, &strings(texts)).0
        };
        assert_eq!(sorted(&["pear", "apple", "fig"]), ["apple", "fig", "pear"]);
        assert_eq!(sorted(&["10", "9", "007"]), ["007", "9", "10"]);
        assert_eq!(sorted(&["10", "9", "x"]), ["10", "9", "x"]);
    }

    #[test]
    fn texts_without_rows_are_no_levels() {
        let (names, codes) = levels_of_text(&[2, MISSING_CODE, 0, 2], &strings(&["b", "c", "a"]));
        assert_eq!((names, codes), (strings(&["a", "b"]), vec![0, MISSING_CODE, 1, 0]));
    }

    #[test]
    fn numbers_are_levels_in_numeric_order() {
        let (names, codes) = levels_of_numbers(&[10.0, 9.0, f64::NAN, -0.0, 0.0, 2.5]);
        assert_eq!(names, ["0", "2.5", "9", "10"]);
        assert_eq!(codes, [3, 2, MISSING_CODE, 0, 0, 1]);
    }

    #[test]
    fn rare_texts_become_one_level_which_takes_new_texts_too() {
        let names: Vec<String> = (0..300).map(|i| format!("t{i:03}")).collect();
        // Every level once, and the last hundred of them twice.
        let codes: Vec<u32> = (0..300).chain(200..300).collect();
        let coded = merge_rare(names, codes, 256);
        assert_eq!((coded.levels.len(), coded.n_merged), (256, 45));
        assert_eq!(coded.levels.names()[255], OTHER_LEVEL);
        assert_eq!(coded.levels.names()[154], "t154");
        assert_eq!(coded.levels.names()[155], "t200");
        assert_eq!(coded.codes[155], 255);
        assert_eq!(coded.codes[399], 254);

        let later = Cells::Text { codes: [0, 1].into(), dictionary: strings(&["t299", "new"]) };
        assert_eq!(coded.levels.matching(&later).unwrap().codes, [254, 255]);
    }

    #[test]
    fn new_texts_are_unseen_and_counted() {
        let levels = Levels::new(strings(&["a", "b"]));
        let dictionary = strings(&["b", "new"]);
        let later = Cells::Text { codes: [1, 0, MISSING_CODE, 1].into(), dictionary };
        let matched = levels.matching(&later).unwrap();
        assert_eq!(matched.codes, [UNSEEN_CODE, 1, MISSING_CODE, UNSEEN_CODE]);
        assert_eq!(matched.unseen, BTreeMap::from([("new".to_owned(), 2)]));
    }

    #[test]
    fn numbers_find_the_level_of_their_value() {
        let levels = Levels::new(strings(&["1", "02", "x"]));
        let later = Cells::Numbers { values: [2.0, 1.0, f64::NAN, 7.0].into(), integers: true };
        assert_eq!(levels.matching(&later).unwrap().codes, [1, 0, MISSING_CODE, UNSEEN_CODE]);
        let later = Cells::Text { codes: [0, 1].into(), dictionary: strings(&["1.0", "2"]) };
        assert_eq!(levels.matching(&later).unwrap().codes, [0, 1]);
        // Where training told 1 from 01, a number cannot say which of the two it is.
        let levels = Levels::new(strings(&["01", "1"]));
        let later = Cells::Numbers { values: [1.0].into(), integers: true };
        assert_eq!(levels.matching(&later).unwrap().codes, [UNSEEN_CODE]);
    }

    #[test]
    fn booleans_are_known_in_any_spelling() {
        let levels = Levels::new(strings(&["false", "true"]));
        let dictionary = strings(&["TRUE", "False", "1", "maybe", "No", "on"]);
        let later = Cells::Text { codes: [0, 1, 2, 3, 4, 5].into(), dictionary };
        assert_eq!(levels.matching(&later).unwrap().codes, [1, 0, 1, UNSEEN_CODE, 0, 1]);
        // A letter of another alphabet may mean anything.
        let levels = Levels::new(strings(&["n", "y"]));
        let later =
            Cells::Text { codes: [0, 1, 2].into(), dictionary: strings(&["YES", "N", "t"]) };
        assert_eq!(levels.matching(&later).unwrap().codes, [1, 0, UNSEEN_CODE]);
    }

    #[test]
    fn numbers_and_dates_are_no_words() {
        let levels = Levels::new(strings(&["Lima", "Oslo"]));
        let numbers = Cells::Numbers { values: [f64::NAN, 3.5].into(), integers: false };
        assert_eq!(levels.matching(&numbers).err().unwrap(), "numbers such as 3.5");
        let dates = Cells::Instants { seconds: [86_400.0].into() };
        assert_eq!(levels.matching(&dates).err().unwrap(), "dates such as 1970-01-02");
        let nothing = Cells::Instants { seconds: [f64::NAN].into() };
        assert_eq!(levels.matching(&nothing).unwrap().codes, [MISSING_CODE]);
    }
}
