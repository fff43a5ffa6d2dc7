//! The contract of policies, under whatever may happen to what they ask for.

use std::sync::Arc;

use ndarray::Array2;
use pitchpipe_surrogate::bayes::{Prior, Scale};
use pitchpipe_surrogate::policy::{
    Auto, AutoSettings, AutoSetup, DesignRule, InOrder, KernelSetup, LastRound, Next, Observation,
    Overhead, PaperLoop, PaperSettings, Policy, RankRule, Rounds, Step, Vectors, kernel_oboe,
};
use pitchpipe_surrogate::search::{Action, Actions, SearchSettings};
use pitchpipe_surrogate::{Ranks, TuckerEmbedding};
use proptest::prelude::*;

const N: usize = 24;

/// The budget that policies are told of.
const BUDGET_SECS: f64 = 8.0;

fn wave(i: usize, j: usize) -> f32 {
    0.2 * ((i + 1) as f32 * (j + 1) as f32 * 0.37).sin() + if i == 0 { 0.5 } else { 0.0 }
}

fn auto(secs: &[Option<f64>], settings: AutoSettings) -> Box<dyn Policy> {
    let factor = Array2::from_shape_fn((4, N), |(i, j)| wave(i, j));
    let prior = Prior::from_parts(Scale::Root, vec![0.5; N], factor.view(), vec![0.01; N]);
    let family = |a: usize| Action { members: (4 * a..4 * a + 4).collect(), cost_factor: 1.3 };
    let actions = Arc::new(Actions::new(N, (0..N / 4).map(family)).unwrap());
    let setup = AutoSetup {
        kinds: (0..N).map(|j| j / 4 % 3).collect(),
        preparations: (0..N).map(|j| j / 12).collect(),
        opening: vec![2, 5],
        most_members: Box::new(|action, n_rows| if action == 1 { n_rows } else { usize::MAX }),
        most_rows: 4,
        ..AutoSetup::plain(Arc::new(prior.unwrap()).posterior(), actions, secs)
    };
    Box::new(Auto::new(setup, settings).unwrap())
}

/// Every policy there is, over pipelines that take these times.
fn policies(secs: &[Option<f64>]) -> Vec<(&'static str, Box<dyn Policy>)> {
    let y = Array2::from_shape_fn((6, N), |(i, j)| wave(i, j));
    let (embedding, _) = TuckerEmbedding::fit(y.view(), 6, Ranks::both(5)).unwrap();
    let embedding = Arc::new(embedding);
    let paper = |rounds, baseline| {
        PaperLoop::new(y.view(), 2, secs, BUDGET_SECS, rounds, baseline).unwrap()
    };
    let regress = |_: &[usize], errors: &[f64], ridge: f64| {
        let sum: f64 = errors.iter().sum();
        Ok((0..N).map(|j| (j as f64 * sum + ridge).sin()).collect())
    };
    let (codes, budget_secs) = (y.view(), BUDGET_SECS);
    let kernel = KernelSetup {
        codes,
        regress: Box::new(regress),
        secs,
        budget_secs,
        baseline: Some(3),
        settings: PaperSettings::default(),
    };
    let set = |settings: PaperSettings| {
        let (all, ranks) = ((0..N).collect(), Ranks { datasets: 2, estimators: 1 });
        let vectors = Vectors::tucker(Arc::clone(&embedding), all, ranks).unwrap();
        let rounds = Rounds::Doubling;
        PaperLoop::with(vectors, secs, BUDGET_SECS, rounds, Some(1), settings).unwrap()
    };
    let with = |design, overhead, rank_rule| {
        set(PaperSettings { design, overhead, rank_rule, ..PaperSettings::default() })
    };
    let to_the_letter = PaperSettings {
        first_target_secs: Some(0.5),
        last_round: LastRound::None,
        n_best: Some(3),
        ..PaperSettings::default()
    };
    let few = PaperSettings { n_best: Some(2), ..PaperSettings::default() };
    let (measured, floor) = (Overhead::Measured, Overhead::Floor { secs: 0.1 });
    let weights = (0..N).map(|j| 0.1 + j as f64 / 20.0).collect();
    vec![
        ("auto", auto(secs, AutoSettings::default())),
        ("search", auto(secs, AutoSettings::search_alone(SearchSettings::default()))),
        ("paper, doubling", Box::new(paper(Rounds::Doubling, Some(1)))),
        ("paper, doubling, no baseline", Box::new(paper(Rounds::Doubling, None))),
        ("paper, once", Box::new(paper(Rounds::Once { design_share: 0.5 }, None))),
        ("kernel", Box::new(kernel_oboe(kernel).unwrap())),
        ("tucker, weighted", Box::new(with(DesignRule::Weighted(weights), floor, RankRule::Both))),
        (
            "tucker, convex",
            Box::new(with(DesignRule::Convex, Overhead::None, RankRule::Estimators)),
        ),
        (
            "tucker, random",
            Box::new(with(DesignRule::Random { seed: 3 }, measured, RankRule::Both)),
        ),
        ("tucker, to the letter", Box::new(set(to_the_letter))),
        ("tucker, two best", Box::new(set(few))),
        ("random", Box::new(InOrder::random(secs.to_vec(), 7))),
    ]
}

/// What becomes of a pipeline.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Finished { error: f64, secs: f64 },
    OutOfTime { secs: f64 },
    Failed,
    NeverBegun,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => (0.0..1.0, 1e-4..2.0).prop_map(|(error, secs)| Fate::Finished { error, secs }),
        1 => (1e-4..4.0).prop_map(|secs| Fate::OutOfTime { secs }),
        1 => Just(Fate::Failed),
        1 => Just(Fate::NeverBegun),
    ]
}

fn seen(pipeline: usize, fate: Fate, n_rows: usize) -> Option<Observation> {
    let (error, secs) = match fate {
        Fate::Finished { error, secs } => (Some(error), Some(secs)),
        Fate::OutOfTime { secs } => (None, Some(secs)),
        Fate::Failed => (None, None),
        Fate::NeverBegun => return None,
    };
    Some(Observation { pipeline, error, secs, n_rows })
}

/// Drives a policy to its end: `n_workers` ask, steps come back in an order that `turns` decides, and a share of their
/// times passes on the clock, perhaps none.
fn drive(
    name: &str,
    policy: &mut dyn Policy,
    fates: &[Fate],
    turns: &[usize],
    n_workers: usize,
    passing: f64,
) -> Result<(), TestCaseError> {
    let mut n_begun = 0;
    for n_rows in [1, 2, 4] {
        policy.resized(n_rows, &[0.5; N]);
        let (mut left_secs, mut pending): (f64, Vec<Step>) = (BUDGET_SECS, Vec::new());
        loop {
            let next = match pending.len() < n_workers {
                true => policy.next(left_secs).unwrap(),
                false => Next::Wait,
            };
            match next {
                Next::Run(step) => {
                    prop_assert!(!step.members.is_empty(), "{name}");
                    prop_assert!(step.cost_secs.is_finite(), "{name}: {step:?}");
                    n_begun += step.members.len();
                    prop_assert!(n_begun <= 3 * N, "{name} goes on for ever");
                    pending.push(step);
                    continue;
                }
                Next::Wait => prop_assert!(!pending.is_empty(), "{name} waits for nothing"),
                Next::Done if pending.is_empty() => break,
                Next::Done => {}
            }
            let step = pending.remove(turns[n_begun % turns.len()] % pending.len());
            let fate_of = |j: usize| fates[(j + n_rows) % fates.len()];
            let observations: Vec<Observation> =
                step.members.iter().filter_map(|&j| seen(j, fate_of(j), n_rows)).collect();
            let took = observations.iter().filter_map(|o| o.secs).fold(0.0, f64::max);
            left_secs -= passing * took;
            policy.observe(&step, &observations).unwrap();
            policy.ensembled(0.3 / n_begun as f64);
        }
        // The best are run again on more rows, whether or not the policy asked for them.
        let again: Vec<Observation> =
            (0..2).filter_map(|j| seen(j, fates[j % fates.len()], 2 * n_rows)).collect();
        policy.observe_unasked(&again).unwrap();
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_policy_ends_and_waits_only_for_what_is_pending(
        secs in prop::collection::vec(prop::option::weighted(0.9, 1e-3..12.0), N),
        fates in prop::collection::vec(fate(), 1..40),
        turns in prop::collection::vec(0_usize..8, 1..20),
        n_workers in 1_usize..6,
        passing in prop_oneof![Just(0.0), 0.0..1.0],
    ) {
        for (name, mut policy) in policies(&secs) {
            drive(name, &mut *policy, &fates, &turns, n_workers, passing)?;
        }
    }
}

#[test]
fn the_paper_s_loop_ends_where_nothing_was_seen_and_all_take_more_than_an_eighth_of_the_time() {
    let secs = vec![Some(BUDGET_SECS / 3.0); N];
    for (name, mut policy) in policies(&secs) {
        drive(name, &mut *policy, &[Fate::Failed], &[0], 1, 0.0).unwrap();
    }
    // And it does not give up before it has tried what fits.
    let y = Array2::from_shape_fn((6, N), |(i, j)| wave(i, j));
    let mut policy =
        PaperLoop::new(y.view(), 2, &secs, BUDGET_SECS, Rounds::Doubling, None).unwrap();
    assert!(matches!(policy.next(BUDGET_SECS).unwrap(), Next::Run(_)));
}

#[test]
fn what_was_run_on_few_rows_may_be_run_again_on_more() {
    let secs = vec![Some(0.01); N];
    let finished = [Fate::Finished { error: 0.2, secs: 0.01 }];
    for (name, mut policy) in policies(&secs) {
        let mut ran = [vec![], vec![]];
        for (level, n_rows) in [1, 2].into_iter().enumerate() {
            policy.resized(n_rows, &[0.01; N]);
            while let Next::Run(step) = policy.next(BUDGET_SECS).unwrap() {
                ran[level].extend(step.members.clone());
                let observed: Vec<Observation> =
                    step.members.iter().filter_map(|&j| seen(j, finished[0], n_rows)).collect();
                policy.observe(&step, &observed).unwrap();
            }
        }
        let again = ran[1].iter().filter(|j| ran[0].contains(j)).count();
        // The order of a control is fixed, and one round is one round.
        let is_once = name == "random" || name == "paper, once";
        assert_eq!(again > 0, !is_once, "{name}: {ran:?}");
    }
}
