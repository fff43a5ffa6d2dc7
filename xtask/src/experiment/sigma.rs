//! How far each pipeline's error is from its prediction (paper, Figure 19).

use pitchpipe_surrogate::design::deviations;
use pitchpipe_surrogate::{Ranks, TuckerEmbedding};

use super::csv::{Csv, short};
use super::replays::N_ESTIMATORS;
use super::{Context, completed};

/// The rank of TensorOboe in the paper.
const RANK: usize = 20;

/// The width of a bin.
const WIDTH: f64 = 0.0025;

/// Standard deviations of all pipelines, in bins.
pub(super) fn deviations_of_pipelines(context: &Context) -> Result<Csv, String> {
    let said = |e: pitchpipe_surrogate::SurrogateError| e.to_string();
    let errors = completed(&context.paper, RANK)?;
    let (embedding, _) =
        TuckerEmbedding::fit(errors.view(), N_ESTIMATORS, Ranks::both(RANK)).map_err(said)?;
    let y = embedding.at(Ranks::both(RANK)).map_err(said)?;
    let found = deviations(errors.view(), y.view());
    let mut csv = Csv::new(
        "published tensor, 215 datasets, embeddings of ranks 20 and 20; standard deviation of E - X'Y by column",
        &["from", "to", "pipelines"],
    );
    let highest = found.iter().copied().fold(0.0, f64::max);
    let n_bins = (highest / WIDTH).floor() as usize + 1;
    for bin in 0..n_bins {
        let (low, high) = (bin as f64 * WIDTH, (bin + 1) as f64 * WIDTH);
        let count = found.iter().filter(|&&d| d >= low && d < high).count();
        csv.push(&[&short(low), &short(high), &count]);
    }
    Ok(csv)
}
