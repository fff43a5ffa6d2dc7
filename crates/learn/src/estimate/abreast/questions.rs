//! What trees ask of a row, each question once, and the answers for a block of rows.

use std::ops::Range;

use super::ladder::Ladder;
use super::{Rows, WORDS};
use crate::Features;

/// What a node asks.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Question<'t> {
    /// Is the number of this column at most this one, or missing where that counts as well?
    AtMost { column: u32, threshold: f64, or_missing: bool },
    /// Is the bin of this column in the set, 256 bins to a part?
    Among { column: u32, set: &'t [[u64; 4]] },
}

/// How cells are read.
pub(in super::super) trait Cells {
    /// The number that thresholds are compared with.
    fn number(&self, cell: f64) -> f64;

    /// The bin of a column of categories, and how many there are.
    fn bin(&self, column: usize, cell: f64) -> usize;
    fn n_bins(&self, column: usize) -> usize;
}

/// Takes questions in.
#[derive(Default)]
pub(super) struct Asker<'t> {
    /// Column, threshold, whether a missing number counts as well, and the question's number.
    numbers: Vec<(u32, f64, bool, u32)>,
    /// Column and set.
    sets: Vec<(u32, &'t [[u64; 4]], u32)>,
    n_asked: u32,
}

/// Questions by column.
#[derive(Clone, Debug, Default)]
pub(super) struct Questions {
    n: usize,
    numbers: Vec<Numbers>,
    levels: Vec<Levels>,
}

/// What is asked of a column of numbers.
#[derive(Clone, Debug)]
struct Numbers {
    column: usize,
    /// The number of its first question; the others follow.
    first: usize,
    thresholds: Ladder,
    /// The threshold of each question, ascending, and whether a missing number counts as well.
    asked: Vec<(u32, bool)>,
}

/// What is asked of a column of categories.
#[derive(Clone, Debug)]
struct Levels {
    column: usize,
    first: usize,
    n_bins: usize,
    asked: Vec<Set>,
}

/// A set of bins.
#[derive(Clone, Debug)]
struct Set {
    /// Those in it, or those that are not, whichever are fewer.
    listed: Vec<u16>,
    lists_others: bool,
}

impl Set {
    /// Of so many bins.
    fn of(set: &[[u64; 4]], n_bins: usize) -> Self {
        let is_in = |bin: usize| {
            set.get(bin / 256).is_some_and(|part| part[bin / 64 % 4] >> (bin % 64) & 1 == 1)
        };
        let lists_others = 2 * (0..n_bins).filter(|&bin| is_in(bin)).count() > n_bins;
        let listed = (0..n_bins).filter(|&bin| is_in(bin) != lists_others);
        Self { listed: listed.map(|bin| bin as u16).collect(), lists_others }
    }
}

impl<'t> Asker<'t> {
    /// Adds a question and gives its number in the order of asking.
    pub(super) fn ask(&mut self, question: Question<'t>) -> u32 {
        let number = self.n_asked;
        self.n_asked += 1;
        match question {
            Question::AtMost { column, threshold, or_missing } => {
                // Adding 0 turns -0 into 0: the two are one number.
                self.numbers.push((column, threshold + 0.0, or_missing, number));
            }
            Question::Among { column, set } => self.sets.push((column, set, number)),
        }
        number
    }

    /// The questions, and for each that was asked its number among these.
    pub(super) fn done(mut self, cells: &impl Cells) -> (Questions, Vec<u32>) {
        let mut number_of = vec![0; self.n_asked as usize];
        let mut questions = Questions::default();
        self.numbers
            .sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        for of_column in self.numbers.chunk_by(|a, b| a.0 == b.0) {
            let (first, mut thresholds, mut asked) = (questions.n, Vec::new(), Vec::new());
            for same in of_column.chunk_by(|a, b| a.1 == b.1) {
                for same in same.chunk_by(|a, b| a.2 == b.2) {
                    let number = (first + asked.len()) as u32;
                    same.iter().for_each(|q| number_of[q.3 as usize] = number);
                    asked.push((thresholds.len() as u32, same[0].2));
                }
                thresholds.push(same[0].1);
            }
            let (column, thresholds) = (of_column[0].0 as usize, Ladder::of(thresholds));
            questions.n += asked.len();
            questions.numbers.push(Numbers { column, first, thresholds, asked });
        }
        self.sets.sort_by_key(|set| set.0);
        for of_column in self.sets.chunk_by(|a, b| a.0 == b.0) {
            let (column, first) = (of_column[0].0 as usize, questions.n);
            let n_bins = cells.n_bins(column);
            let set = |&(_, set, _): &(u32, &[[u64; 4]], u32)| Set::of(set, n_bins);
            for (at, &(_, _, number)) in of_column.iter().enumerate() {
                number_of[number as usize] = (first + at) as u32;
            }
            questions.n += of_column.len();
            let asked = of_column.iter().map(set).collect();
            questions.levels.push(Levels { column, first, n_bins, asked });
        }
        (questions, number_of)
    }
}

impl Questions {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.n
    }

    /// Answers all of them for some rows, at most a block of them.
    #[inline(always)]
    pub(super) fn answer(
        &self,
        x: &Features,
        cells: &impl Cells,
        rows: Range<usize>,
        answers: &mut [Rows],
    ) {
        let mut sets = Vec::new();
        for numbers in &self.numbers {
            let column = &x.column(numbers.column)[rows.clone()];
            let answers = &mut answers[numbers.first..][..numbers.asked.len()];
            numbers.answer(column, cells, &mut sets, answers);
        }
        for levels in &self.levels {
            let column = &x.column(levels.column)[rows.clone()];
            let answers = &mut answers[levels.first..][..levels.asked.len()];
            let bins = column.iter().map(|&cell| cells.bin(levels.column, cell));
            levels.answer(bins, &mut sets, answers);
        }
    }
}

#[inline(always)]
fn insert(row: usize, set: &mut Rows) {
    set[row / 64] |= 1 << (row % 64);
}

#[inline(always)]
fn or(a: Rows, b: Rows) -> Rows {
    std::array::from_fn(|w| a[w] | b[w])
}

impl Numbers {
    /// Parts the rows between the thresholds, and then takes those below each together. `between` is for use again.
    #[inline(always)]
    fn answer(
        &self,
        column: &[f64],
        cells: &impl Cells,
        between: &mut Vec<Rows>,
        answers: &mut [Rows],
    ) {
        let missing = self.thresholds.len() + 1;
        between.clear();
        between.resize(missing + 1, [0; WORDS]);
        for (row, &cell) in column.iter().enumerate() {
            let number = cells.number(cell);
            let place = self.thresholds.below(number);
            insert(row, &mut between[if number.is_nan() { missing } else { place }]);
        }
        let (mut below, mut next) = ([0; WORDS], 0);
        for (answer, &(threshold, or_missing)) in answers.iter_mut().zip(&self.asked) {
            while next <= threshold as usize {
                below = or(below, between[next]);
                next += 1;
            }
            *answer = if or_missing { or(below, between[missing]) } else { below };
        }
    }
}

impl Levels {
    /// Parts the rows among the bins, and takes those of each set together. `of_bin` is for use again.
    #[inline(always)]
    fn answer(
        &self,
        bins: impl Iterator<Item = usize>,
        of_bin: &mut Vec<Rows>,
        answers: &mut [Rows],
    ) {
        of_bin.clear();
        of_bin.resize(self.n_bins, [0; WORDS]);
        bins.enumerate().for_each(|(row, bin)| insert(row, &mut of_bin[bin]));
        for (answer, set) in answers.iter_mut().zip(&self.asked) {
            let listed = set.listed.iter().map(|&bin| of_bin[usize::from(bin)]);
            let rows = listed.fold([0; WORDS], or);
            *answer = if set.lists_others { rows.map(|word| !word) } else { rows };
        }
    }
}
