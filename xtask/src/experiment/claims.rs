//! Claims that must hold even on the small part that `--quick` computes: the command fails where one does not.

use super::csv::Csv;

/// A number of a table: its column, and the cells of the row it is in.
type Place = (&'static str, &'static [(&'static str, &'static str)]);

/// One claim: the table, and two numbers of which the first must be lower.
type Claim = (&'static str, &'static str, Place, Place);

const CLAIMS: &[Claim] = &[
    (
        "missing-at-random",
        "the tensor is completed better than the matrix",
        ("relative_error", &[("share_missing", "0.5"), ("method", "EM-Tucker")]),
        ("relative_error", &[("share_missing", "0.5"), ("method", "EM-matrix")]),
    ),
    (
        "missing-by-runtime",
        "the tensor is completed better than the matrix",
        ("relative_error", &[("threshold_s", "20"), ("method", "EM-Tucker")]),
        ("relative_error", &[("threshold_s", "20"), ("method", "EM-matrix")]),
    ),
    (
        "rank-heatmaps",
        "training errors fall with the ranks",
        ("training_error", &[("dataset_rank", "40"), ("estimator_rank", "40")]),
        ("training_error", &[("dataset_rank", "5"), ("estimator_rank", "5")]),
    ),
    (
        "runtime-prediction",
        "logarithms predict runtimes better than seconds do",
        ("percent_within_2", &[("form", FORM_PAPER), ("kind", "all")]),
        ("percent_within_2", &[("form", FORM_OURS), ("kind", "all")]),
    ),
    (
        "singular-values",
        "singular values decay",
        ("ratio_to_first", &[("matrix", "datasets (215 x 23424)"), ("k", "20")]),
        ("ratio_to_first", &[("matrix", "datasets (215 x 23424)"), ("k", "2")]),
    ),
    (
        "systems",
        "TensorOboe is better than the baseline alone",
        ("regret", &[("budget_s", "120"), ("system", "TensorOboe")]),
        ("regret", &[("budget_s", "120"), ("system", "baseline")]),
    ),
];

const FORM_PAPER: &str = "paper: degree 3 in (n p log n) of seconds";
const FORM_OURS: &str = "ours: degree 2 in (log n log p) of log seconds";

/// Fails where a claim about this table does not hold.
pub(super) fn check(name: &str, csv: &Csv) -> Result<(), String> {
    for (table, claim, lower, higher) in CLAIMS.iter().filter(|c| c.0 == name) {
        let [low, high] = [lower, higher].map(|&(column, cells)| csv.number(column, cells));
        let (low, high) = (low?, high?);
        if low < high {
            println!("{table}: {claim} ({low} < {high})");
        } else {
            return Err(format!(
                "{table}: it does not hold that {claim}: {low} is not below {high}"
            ));
        }
    }
    Ok(())
}
