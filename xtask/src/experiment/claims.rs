//! Claims that must hold even on the small part that `--quick` computes: the command fails where one does not.

use super::csv::Csv;

/// The cells of the row that a number is in.
type Cells = &'static [(&'static str, &'static str)];

/// A number of a table, or a number.
enum Place {
    At(&'static str, Cells),
    Number(f64),
}

use Place::{At, Number};

/// One claim: the table, the claim in words, and two numbers of which the first must be lower.
type Claim = (&'static str, &'static str, Place, Place);

const CLAIMS: &[Claim] = &[
    (
        "missing-at-random",
        "the tensor is completed better than the matrix",
        At("relative_error", &[("share_missing", "0.5"), ("method", "EM-Tucker")]),
        At("relative_error", &[("share_missing", "0.5"), ("method", "EM-matrix")]),
    ),
    (
        "missing-at-random",
        "shrunk components complete better than plain ones",
        At("relative_error", &[("share_missing", "0.5"), ("method", "EM-Tucker; shrunk")]),
        At("relative_error", &[("share_missing", "0.5"), ("method", "EM-Tucker")]),
    ),
    (
        "missing-by-runtime",
        "the tensor is completed better than the matrix",
        At("relative_error", &[("threshold_s", "20"), ("method", "EM-Tucker")]),
        At("relative_error", &[("threshold_s", "20"), ("method", "EM-matrix")]),
    ),
    (
        "tensor-against-matrix",
        "slow pipelines are predicted better by the tensor",
        At("tensor_error", &[("threshold_s", "20"), ("rank", "20")]),
        At("matrix_error", &[("threshold_s", "20"), ("rank", "20")]),
    ),
    (
        "rank-heatmaps",
        "training errors fall with the ranks",
        At("training_error", &[("dataset_rank", "40"), ("estimator_rank", "40")]),
        At("training_error", &[("dataset_rank", "5"), ("estimator_rank", "5")]),
    ),
    (
        "rank-heatmaps",
        "test errors are larger at the lowest ranks",
        At("test_error", &[("dataset_rank", "40"), ("estimator_rank", "40")]),
        At("test_error", &[("dataset_rank", "5"), ("estimator_rank", "5")]),
    ),
    (
        "runtime-prediction",
        "logarithms predict runtimes better than seconds do",
        At("percent_within_2", &[("form", FORM_PAPER), ("kind", "all")]),
        At("percent_within_2", &[("form", FORM_OURS), ("kind", "all")]),
    ),
    (
        "runtime-distribution",
        "over 90 % of pipelines finish in less than 20 seconds",
        Number(0.9),
        At("share_within", &[("seconds", "20")]),
    ),
    (
        "runtime-distribution",
        "over 95 % of pipelines finish in less than 80 seconds",
        Number(0.95),
        At("share_within", &[("seconds", "80")]),
    ),
    (
        "best-estimators",
        "no kind of estimator is the best on half of the 215 datasets",
        At("value", &[("what", "GBT")]),
        Number(107.5),
    ),
    (
        "singular-values",
        "singular values decay",
        At("ratio_to_first", &[("matrix", "datasets (215 x 23424)"), ("k", "20")]),
        At("ratio_to_first", &[("matrix", "datasets (215 x 23424)"), ("k", "2")]),
    ),
    (
        "designs-slice",
        "greedy designs are better than random ones for short limits",
        At("regret", &[("limit_share", "0.01"), ("method", "greedy")]),
        At("regret", &[("limit_share", "0.01"), ("method", "random")]),
    ),
    (
        "designs-slice",
        "greedy designs are made faster than convex ones",
        At("design_cpu_s", &[("limit_share", "0.01"), ("method", "greedy")]),
        At("design_cpu_s", &[("limit_share", "0.01"), ("method", "convex")]),
    ),
    (
        "systems",
        "TensorOboe is better than the baseline alone",
        At("regret", &[("budget_s", "120"), ("system", "TensorOboe")]),
        At("regret", &[("budget_s", "120"), ("system", "baseline")]),
    ),
];

const FORM_PAPER: &str = "paper: degree 3 in (n p log n) of seconds";
const FORM_OURS: &str = "ours: degree 2 in (log n log p) of log seconds";

/// Fails where a claim about this table does not hold.
pub(super) fn check(name: &str, csv: &Csv) -> Result<(), String> {
    let value = |place: &Place| match place {
        At(column, cells) => csv.number(column, cells),
        Number(number) => Ok(*number),
    };
    for (table, claim, lower, higher) in CLAIMS.iter().filter(|c| c.0 == name) {
        let (low, high) = (value(lower)?, value(higher)?);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_that_does_not_hold_is_an_error_and_so_is_a_table_without_its_numbers() {
        let table = |at_20: &dyn std::fmt::Display| {
            let mut csv = Csv::new("", &["seconds", "share_within"]);
            csv.push(&[&"20", at_20]);
            csv.push(&[&"80", &"0.99"]);
            csv
        };
        assert!(check("runtime-distribution", &table(&"0.96")).is_ok());
        let err = check("runtime-distribution", &table(&"0.89")).unwrap_err();
        assert!(err.contains("0.9 is not below 0.89"), "{err}");
        assert!(check("systems", &table(&"0.96")).is_err());
        assert!(check("sigma", &table(&"0.89")).is_ok());
    }
}
