//! The policies of the paper's three systems, over the computations of a table.

use std::sync::Arc;

use ndarray::{Array2, Axis};
use pitchpipe_learn::PipelineId;
use pitchpipe_surrogate::policy::{
    self, DesignRule, KernelSetup, LastRound, Overhead, PaperLoop, PaperSettings, RankRule, Rounds,
    Vectors,
};

use super::policies::{Columns, Mapped, Setup};
use super::{AutoMlError, DesignKind, KernelPrediction, LastRoundKind, RankGrowth, RuntimeKind};
use crate::surrogate::{Embedding, PaperEmbedding};

type Policy = Result<Option<Mapped>, AutoMlError>;

/// Oboe: the estimators of one preparation that are distinct computations here.
pub(super) fn oboe(setup: &Setup<'_>, embedding: &Embedding) -> Result<Mapped, AutoMlError> {
    let columns = Columns::of_embedding(&setup.space, embedding);
    let deviations = setup.surrogate.paper_parts().oboe_deviations.as_deref();
    nested(setup, embedding, columns, deviations)
}

/// TensorOboe: Tucker embeddings where the surrogate has them. Older surrogates have principal components alone.
pub(super) fn tensor_oboe(setup: &Setup<'_>) -> Policy {
    if let Some(embedding) = &setup.surrogate.paper_parts().tensor {
        return tucker(setup, embedding).map(Some);
    }
    let Some(embedding) = setup.surrogate.tensor_oboe() else { return Ok(None) };
    let columns = Columns::of_embedding(&setup.space, embedding);
    nested(setup, embedding, columns, None).map(Some)
}

/// KernelOboe: as TensorOboe on the tensor that KFMC completed, or by its codes.
pub(super) fn kernel_oboe(setup: &Setup<'_>) -> Policy {
    let by_codes = setup.paper.kernel_prediction == Some(KernelPrediction::Codes);
    match &setup.surrogate.paper_parts().kernel {
        Some(embedding) if !by_codes => tucker(setup, embedding).map(Some),
        _ => codes(setup),
    }
}

/// The paper's loop over nested embeddings.
fn nested(
    setup: &Setup<'_>,
    embedding: &Embedding,
    columns: Columns,
    deviations: Option<&[f32]>,
) -> Result<Mapped, AutoMlError> {
    let y = embedding.y.select(Axis(1), &columns.at);
    let rank = embedding.initial_rank.clamp(1, y.nrows());
    let settings = settings(setup, deviations, &columns.at)?;
    let policy = looped(setup, Vectors::nested(y, rank)?, &columns.ids, settings)?;
    Ok(Mapped::new(policy, columns.ids))
}

/// The paper's loop over the paper's pipelines that are distinct computations here.
fn tucker(setup: &Setup<'_>, of: &PaperEmbedding) -> Result<Mapped, AutoMlError> {
    let search = setup.space.search();
    let range = search.paper_block().map_or(0..0, |(_, range)| range);
    let columns = Columns::of(&setup.space, range.map(|j| search.id(j)));
    let vectors = Vectors::tucker(Arc::clone(&of.embedding), columns.at.clone(), of.initial)?;
    let settings = settings(setup, Some(&of.deviations), &columns.at)?;
    let policy = looped(setup, vectors, &columns.ids, settings)?;
    Ok(Mapped::new(policy, columns.ids))
}

fn looped(
    setup: &Setup<'_>,
    vectors: Vectors,
    ids: &[PipelineId],
    settings: PaperSettings,
) -> Result<PaperLoop, AutoMlError> {
    let (secs, baseline) = (setup.secs_of(ids), setup.baseline(ids));
    let rounds = Rounds::Doubling;
    Ok(PaperLoop::with(vectors, &secs, setup.budget_secs, rounds, baseline, settings)?)
}

/// KernelOboe by the regression on codes, where the surrogate has them.
fn codes(setup: &Setup<'_>) -> Policy {
    let Some(model) = setup.surrogate.kernel_oboe() else { return Ok(None) };
    let Columns { at, ids } = Columns::of(&setup.space, setup.space.search().ids().map(Some));
    let settings = settings(setup, None, &at)?;
    let codes: Vec<&[f32]> = at.iter().filter_map(|&c| model.code(c)).collect();
    let n_atoms = codes.first().map_or(0, |code| code.len());
    // z: atoms x computations.
    let z = Array2::from_shape_fn((n_atoms, codes.len()), |(i, j)| codes[j][i]);
    let surrogate = Arc::clone(setup.surrogate);
    let regress = move |seen: &[usize], errors: &[f64], ridge: f64| {
        let model = surrogate.kernel_oboe().expect("it was there a moment ago");
        let pipelines: Vec<usize> = seen.iter().map(|&j| at[j]).collect();
        let all = model.predict_dataset(&pipelines, errors, ridge)?;
        Ok(at.iter().map(|&c| all[c]).collect())
    };
    let policy = policy::kernel_oboe(KernelSetup {
        codes: z.view(),
        regress: Box::new(regress),
        secs: &setup.secs_of(&ids),
        budget_secs: setup.budget_secs,
        baseline: setup.baseline(&ids),
        settings,
    })?;
    Ok(Some(Mapped::new(policy, ids)))
}

/// What was asked for, or is as the paper has it; an option that the surrogate has nothing for is an error.
fn settings(
    setup: &Setup<'_>,
    deviations: Option<&[f32]>,
    columns: &[usize],
) -> Result<PaperSettings, AutoMlError> {
    let lacks = |what| Err(AutoMlError::OptionNotInSurrogate { what });
    let parts = setup.surrogate.paper_parts();
    if setup.paper.runtimes == Some(RuntimeKind::Paper) && parts.runtimes.is_none() {
        return lacks("runtimes in the paper's form");
    }
    let by_embeddings = setup.paper.kernel_prediction == Some(KernelPrediction::Embeddings);
    if by_embeddings && parts.kernel.is_none() {
        return lacks("the kernel prediction by embeddings");
    }
    let design = match setup.paper.design.unwrap_or_default() {
        DesignKind::Greedy => DesignRule::Greedy,
        DesignKind::Convex => DesignRule::Convex,
        DesignKind::Random => DesignRule::Random { seed: setup.seed },
        DesignKind::Weighted => {
            let Some(all) = deviations else { return lacks("weighted designs") };
            // A pipeline that was added later is predicted as the worst of those known.
            let worst = all.iter().copied().fold(0.0, f32::max);
            let of = |&c: &usize| f64::from(all.get(c).copied().unwrap_or(worst));
            DesignRule::Weighted(columns.iter().map(of).collect())
        }
    };
    // Where runs are to be repeatable the clock may not decide.
    let overhead = if setup.corrects_times { Overhead::Measured } else { Overhead::None };
    let rank_rule = match setup.paper.rank_rule.unwrap_or_default() {
        RankGrowth::Datasets => RankRule::Datasets,
        RankGrowth::Estimators => RankRule::Estimators,
        RankGrowth::Both => RankRule::Both,
    };
    let last_round = match setup.paper.last_round.unwrap_or_default() {
        LastRoundKind::Rest => LastRound::Rest,
        LastRoundKind::None => LastRound::None,
    };
    Ok(PaperSettings {
        design,
        rank_rule,
        first_target_secs: setup.paper.first_target.map(|t| t.as_secs_f64()),
        last_round,
        n_best: setup.paper.best_predicted,
        overhead,
    })
}
