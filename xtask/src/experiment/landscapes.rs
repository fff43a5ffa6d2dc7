//! Hyperparameter landscapes, true and predicted after 135 seconds of TensorOboe (paper, Figures 18 and 21).

use std::sync::Arc;

use pitchpipe_learn::SearchSpace;
use pitchpipe_surrogate::policy::{Overhead, PaperLoop, PaperSettings, Rounds, Vectors};
use pitchpipe_surrogate::simulate::replay_charging;
use pitchpipe_surrogate::{Ranks, least_squares};

use super::Context;
use super::csv::{Csv, short};
use super::replays::{FLOOR_SECS, N_ESTIMATORS, Part, SLICE, recording, tensor_alone};
use crate::reference::recorded::{BASELINE, KINDS};

/// The paper's examples: OpenML id, kind of estimator.
const EXAMPLES: [(u32, &str); 4] = [(23, "ET"), (1014, "DT"), (799, "kNN"), (40971, "Logit")];

/// Seconds of searching before the prediction.
const SECS: f64 = 135.0;

/// TensorOboe's rank in the paper.
const RANK: usize = 20;

pub(super) fn landscapes(context: &Context) -> Result<Csv, String> {
    let said = |e: pitchpipe_surrogate::SurrogateError| e.to_string();
    let paper = &context.paper;
    let recording = recording(paper)?;
    let space = SearchSpace::paper();
    let examples = if context.quick { &EXAMPLES[..1] } else { &EXAMPLES[..] };
    let mut csv = Csv::new(
        "published tensor, 214 other datasets each; recorded runtimes, none below .5 s; Oboe's prefix (mean, one-hot, standardized, not reduced); replicates: mean over the other three imputers",
        &["dataset", "kind", "estimator", "setting", "true", "replicates", "predicted", "observed"],
    );
    for &(id, of) in examples {
        let out = paper.dataset_ids.iter().position(|&d| d == id).ok_or("no such dataset")?;
        let rows: Vec<usize> = (0..paper.dataset_ids.len()).filter(|&i| i != out).collect();
        let known = Part::of(paper, &rows, &|_, _| true).observed(paper)?;
        let (embedding, ranks, _) = tensor_alone(&known, RANK).map_err(said)?;
        let all = (0..embedding.n_pipelines()).collect();
        let vectors = Vectors::tucker(Arc::clone(&embedding), all, ranks).map_err(said)?;
        let settings = PaperSettings {
            overhead: Overhead::Floor { secs: FLOOR_SECS },
            ..PaperSettings::default()
        };
        let row = recording.row(out);
        let (secs, baseline) = (row.all_secs(), Some(BASELINE));
        let mut policy =
            PaperLoop::with(vectors, &secs, SECS, Rounds::Doubling, baseline, settings)
                .map_err(said)?;
        let trace = replay_charging(&mut policy, &row, SECS, 1, FLOOR_SECS).map_err(said)?;
        let seen = trace.ranking(SECS);
        let y = embedding.at(Ranks { datasets: policy.rank(), ..ranks }).map_err(said)?;
        let predicted = least_squares(y.view(), &seen).map_err(said)?;
        let &(_, first, last) = KINDS.iter().find(|k| k.0 == of).ok_or("no such kind")?;
        for estimator in first..=last {
            let j = SLICE * N_ESTIMATORS + estimator;
            let setting = space.estimators()[estimator].to_string();
            let setting = setting.replace([',', '"'], ";");
            let truth = row.error(j).map_or(String::new(), short);
            let replicates = short(row.replicate_error(j));
            let was_seen = u8::from(seen.iter().any(|s| s.0 == j));
            let cells: [&dyn std::fmt::Display; 8] = [
                &id,
                &of,
                &estimator,
                &setting,
                &truth,
                &replicates,
                &short(predicted[j]),
                &was_seen,
            ];
            csv.push(&cells);
        }
        eprintln!("  {of} on {id}: {} pipelines observed", seen.len());
    }
    Ok(csv)
}
