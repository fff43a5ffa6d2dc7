//! Free text as numbers: how long it is, how many words it has, and which groups of words.

use serde::{Deserialize, Serialize};

use crate::{Cells, Column, MISSING_CODE};

/// Cells that have so many words on average are free text; shorter ones are names.
const FEWEST_WORDS: f64 = 3.0;

/// Every word falls into one of so many groups, by its hash.
const GROUPS: u32 = 64;

/// The groups of words that training tells apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WordGroups {
    groups: Vec<u32>,
}

impl WordGroups {
    /// The groups that some of these texts have and others do not.
    pub(crate) fn of(codes: &[u32], texts: &[String]) -> Self {
        let counted: Vec<Counted> = texts.iter().map(|text| Counted::of(text)).collect();
        let mut varies = vec![false; GROUPS as usize];
        let mut present = codes.iter().filter_map(|&code| counted.get(code as usize));
        let first = present.next();
        for text in present {
            for (group, varies) in varies.iter_mut().enumerate() {
                *varies |= first.is_some_and(|first| first.groups[group] != text.groups[group]);
            }
        }
        Self { groups: (0..GROUPS).filter(|&group| varies[group as usize]).collect() }
    }

    /// The groups, by their numbers.
    pub fn groups(&self) -> &[u32] {
        &self.groups
    }

    /// How many numbers stand for a text.
    pub fn n_features(&self) -> usize {
        2 + self.groups.len()
    }

    /// What the numbers are: `length`, `words`, `words_17`.
    pub fn names(&self) -> Vec<String> {
        let group = |group: &u32| format!("words_{group}");
        ["length", "words"]
            .map(str::to_owned)
            .into_iter()
            .chain(self.groups.iter().map(group))
            .collect()
    }

    /// A column for each number. A missing cell has no length and no words of any group.
    pub(crate) fn features(&self, codes: &[u32], texts: &[String]) -> Vec<Column> {
        let counted: Vec<Counted> = texts.iter().map(|text| Counted::of(text)).collect();
        let column = |of: &dyn Fn(&Counted) -> f64, missing: f64| {
            let number = |&code: &u32| match code {
                MISSING_CODE => missing,
                code => counted.get(code as usize).map_or(missing, of),
            };
            Column::numeric(codes.iter().map(number).collect::<Vec<f64>>())
        };
        let mut columns = vec![
            column(&|text| text.length as f64, f64::NAN),
            column(&|text| text.n_words as f64, f64::NAN),
        ];
        columns.extend(
            self.groups
                .iter()
                .map(|&group| column(&|text| text.groups[group as usize].into(), 0.0)),
        );
        columns
    }

    /// The cells as codes into texts, whatever they are.
    pub(crate) fn texts(cells: Cells) -> (Vec<u32>, Vec<String>) {
        match cells {
            Cells::Text { codes, dictionary: texts } | Cells::Nominal { codes, levels: texts } => {
                (codes.into(), texts)
            }
            Cells::Numbers { values, .. } | Cells::Instants { seconds: values } => {
                let (mut codes, mut texts) = (Vec::with_capacity(values.len()), Vec::new());
                for value in &values {
                    codes.push(if value.is_nan() { MISSING_CODE } else { texts.len() as u32 });
                    texts.extend((!value.is_nan()).then(|| value.to_string()));
                }
                (codes, texts)
            }
        }
    }
}

/// Whether cells are sentences rather than names.
pub(crate) fn is_free_text(codes: &[u32], texts: &[String]) -> bool {
    let n_words: Vec<usize> = texts.iter().map(|text| words(text).count()).collect();
    let (mut n_cells, mut total) = (0, 0);
    for n in codes.iter().filter_map(|&code| n_words.get(code as usize)) {
        n_cells += 1;
        total += n;
    }
    n_cells > 0 && total as f64 >= FEWEST_WORDS * f64::from(n_cells)
}

/// What is counted of a text.
struct Counted {
    length: usize,
    n_words: usize,
    groups: Vec<u16>,
}

impl Counted {
    fn of(text: &str) -> Self {
        let mut groups = vec![0u16; GROUPS as usize];
        let mut n_words = 0;
        for word in words(text) {
            let group = &mut groups[(hash(&word.to_lowercase()) % GROUPS) as usize];
            *group = group.saturating_add(1);
            n_words += 1;
        }
        Self { length: text.chars().count(), n_words, groups }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// FNV-1a: short enough for an exported script to have it, too.
fn hash(word: &str) -> u32 {
    word.bytes().fold(0x811C_9DC5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_free_text_and_names_are_not() {
        let texts = |all: &[&str]| all.iter().map(|&t| t.to_owned()).collect::<Vec<_>>();
        assert!(is_free_text(&[0, 1, MISSING_CODE], &texts(&["it is blue", "so, it is red!"])));
        assert!(!is_free_text(&[0, 1], &texts(&["Ada Lovelace", "Jean Bartik"])));
        assert!(!is_free_text(&[MISSING_CODE], &texts(&[])));
    }

    #[test]
    fn a_text_is_its_length_its_words_and_their_groups() {
        let texts = vec!["Good, good shoes".to_owned(), "bad shoes".to_owned()];
        let groups = WordGroups::of(&[0, 1], &texts);
        assert_eq!(groups.groups().len(), 2, "good and bad tell the texts apart, shoes do not");
        let columns = groups.features(&[0, MISSING_CODE], &texts);
        let Column::Numeric(length) = &columns[0] else { panic!("numbers") };
        assert!(length[0] == 16.0 && length[1].is_nan());
        assert!(columns[1].is_missing(1));
        let counts: Vec<f64> = columns[2..]
            .iter()
            .map(|column| match column {
                Column::Numeric(values) => values[0],
                Column::Categorical { .. } => panic!("numbers"),
            })
            .collect();
        assert!(counts.contains(&2.0) && counts.contains(&0.0));
        assert_eq!(groups.names().len(), groups.n_features());
    }

    #[test]
    fn words_fall_into_the_groups_that_scripts_find_too() {
        // FNV-1a of "a" and "foobar", as published.
        assert_eq!((hash("a"), hash("foobar")), (0xE40C_292C, 0xBF9C_F968));
    }
}
