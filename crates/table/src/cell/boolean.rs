//! Yes and no, in all their spellings.

use super::{CellRule, Found, Texts};

/// What a cell says, and in which family of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Truth {
    pub(crate) is_true: bool,
    pub(crate) family: Family,
}

/// Words that go in pairs. A single letter may stand for anything: `n` for north, `t` for two. So letters are taken
/// for truth values only where their own pair is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    TrueFalse,
    YesNo,
    OnOff,
    TF,
    YN,
    Digits,
}

/// Pairs in the order of [`Family`], no before yes.
const WORDS: [(Family, &str, &str); 6] = [
    (Family::TrueFalse, "false", "true"),
    (Family::YesNo, "no", "yes"),
    (Family::OnOff, "off", "on"),
    (Family::TF, "f", "t"),
    (Family::YN, "n", "y"),
    (Family::Digits, "0", "1"),
];

/// The truth that a cell speaks of, in any case.
pub(super) fn truth(text: &str) -> Option<Truth> {
    let text = text.trim();
    WORDS.iter().find_map(|&(family, no, yes)| {
        let is_true = text.eq_ignore_ascii_case(yes);
        (is_true || text.eq_ignore_ascii_case(no)).then_some(Truth { is_true, family })
    })
}

/// Which of two names is the true one, where they are a pair of truth values: `["n", "y"]` is 1.
pub(crate) fn truth_pair(names: &[String]) -> Option<(usize, Family)> {
    let [first, second] = names else { return None };
    let (a, b) = (truth(first)?, truth(second)?);
    let is_pair = a.family == b.family && a.is_true != b.is_true && a.family != Family::Digits;
    is_pair.then_some((usize::from(b.is_true), a.family))
}

impl Truth {
    /// What a cell says to somebody who knows the words of one family: other letters mean nothing to them.
    pub(crate) fn of(text: &str, family: Family) -> Option<bool> {
        let truth = truth(text)?;
        let is_letter = matches!(truth.family, Family::TF | Family::YN);
        let is_foreign = is_letter && matches!(family, Family::TF | Family::YN);
        (truth.family == family || !is_foreign).then_some(truth.is_true)
    }
}

/// Truth values in more spellings than two; a plain pair is a pair of categories.
pub(super) fn find(column: &Texts<'_>) -> Option<Found> {
    let (least, most) = (3, 24);
    if !(least..=most).contains(&column.present.len()) {
        return None;
    }
    let spoken = || column.present.iter().map(|&i| truth(&column.texts[i]));
    if spoken().any(|truth| truth.is_none()) {
        return None;
    }
    let has = |family: Family, is_true: bool| {
        spoken().any(|truth| truth == Some(Truth { is_true, family }))
    };
    let met = |family: Family| has(family, false) || has(family, true);
    let is_pair = |family: Family| has(family, false) && has(family, true);
    let letters_are_pairs =
        [Family::TF, Family::YN].into_iter().all(|family| !met(family) || is_pair(family));
    let is_one_alphabet = !(met(Family::TF) && met(Family::YN));
    let has_pair = WORDS.iter().any(|&(family, ..)| family != Family::Digits && is_pair(family));
    let has_both = spoken().flatten().any(|t| t.is_true) && spoken().flatten().any(|t| !t.is_true);
    if has_both && has_pair && is_one_alphabet && letters_are_pairs {
        column.read(CellRule::Boolean)
    } else {
        None
    }
}
