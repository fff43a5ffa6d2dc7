//! The three completions, entries missing at random and by runtime (paper, Figures 13 and 16).

use pitchpipe_surrogate::complete::{EmOptions, Kfmc, complete_tucker};
use pitchpipe_surrogate::{PartialTensor, SurrogateError};

use super::Context;
use super::csv::{Csv, short};
use super::ranks::{cut, matrix, tucker};
use crate::reference::partial;

/// The draw of held-out entries.
const DRAW: u64 = 1;

/// The paper's number of atoms.
const ATOMS: usize = 215;

/// Name and errors of each completion; `beta` is the kernel method's.
fn errors(
    training: &PartialTensor<f32>,
    rank: usize,
    beta: f64,
    judge: &dyn Fn(&[f32]) -> f64,
    with_kernel: bool,
) -> Result<Vec<(&'static str, f64)>, SurrogateError> {
    let mut found = vec![
        ("EM-matrix", judge(&matrix(training, rank)?)),
        ("EM-Tucker", judge(&tucker(training, rank, rank)?)),
    ];
    if with_kernel {
        let kfmc = Kfmc { beta, ..Kfmc::new(ATOMS) };
        found.push(("KFMC", judge(&kfmc.complete(training)?.values)));
    }
    // Ours: components shrunk towards what noise would give.
    let [a, b, c, d] = [4, 2, 2, 8];
    let options = EmOptions { max_rounds: 100, ..EmOptions::shrunk() };
    let shrunk = complete_tucker(training, &[rank, a, b, c, d, rank], &options)?;
    found.push(("EM-Tucker, shrunk", judge(&shrunk.values)));
    Ok(found)
}

/// Ranks of 40, as in the paper's figure.
pub(super) fn at_random(context: &Context) -> Result<Csv, String> {
    let shares: &[f64] = if context.quick { &[0.5] } else { &[0.1, 0.3, 0.5, 0.7, 0.9] };
    let whole = partial(&context.paper, f32::INFINITY)?;
    let mut csv = Csv::new(
        "published tensor, 215 datasets, one draw; ranks 40, 215 atoms, EM at most 100 rounds",
        &["share_missing", "method", "relative_error"],
    );
    for &share in shares {
        let (training, held) = whole.hold_out(share, DRAW);
        let beta = if share > 0.8 { 0.1 } else { 0.01 };
        let judge = |values: &[f32]| whole.relative_error_at(values, &held);
        let found =
            errors(&training, 40, beta, &judge, !context.quick).map_err(|e| e.to_string())?;
        for (method, error) in found {
            eprintln!("  {share} {method}: {error:.4}");
            csv.push(&[&share, &method, &short(error)]);
        }
    }
    Ok(csv)
}

/// Ranks of 25, as in the paper's figure.
pub(super) fn by_runtime(context: &Context) -> Result<Csv, String> {
    let limits: &[f32] = if context.quick { &[20.0] } else { &[10.0, 20.0, 40.0, 80.0] };
    let mut csv = Csv::new(
        "published tensor, 215 datasets; entries slower than the threshold are missing; ranks 25, 215 atoms",
        &["threshold_s", "method", "relative_error"],
    );
    for &limit in limits {
        let (whole, training, held) = cut(context, limit)?;
        let judge = |values: &[f32]| whole.relative_error_at(values, &held);
        let found =
            errors(&training, 25, 0.01, &judge, !context.quick).map_err(|e| e.to_string())?;
        for (method, error) in found {
            eprintln!("  {limit} s {method}: {error:.4}");
            csv.push(&[&limit, &method, &short(error)]);
        }
    }
    Ok(csv)
}
