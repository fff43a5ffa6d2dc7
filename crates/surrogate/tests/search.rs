//! The search and the policies replayed on a small synthetic record of low rank.

use std::sync::Arc;

use ndarray::Array2;
use pitchpipe_surrogate::SurrogateError;
use pitchpipe_surrogate::bayes::{Prior, PriorRows, PriorSettings, Scale};
use pitchpipe_surrogate::policy::{
    Auto, AutoSettings, AutoSetup, InOrder, LastRound, Next, PaperLoop, PaperSettings, Policy,
    Rounds, Vectors,
};
use pitchpipe_surrogate::search::{Action, Actions, Rule, Search, SearchSettings};
use pitchpipe_surrogate::simulate::{Recording, Trace, replay};

const N: usize = 120;

/// Errors of low rank with a little noise; seconds from .1 to 3.
fn record(m: usize) -> (Array2<f32>, Array2<f32>) {
    let errors = Array2::from_shape_fn((m, N), |(i, j)| {
        let (i, j) = (i as f64, j as f64);
        let level = 0.35 + 0.1 * (1.7 * i).sin();
        let shape =
            0.12 * (0.9 * i).cos() * (0.11 * j).sin() + 0.1 * (2.3 * i).sin() * (0.07 * j).cos();
        (level + shape + 0.01 * (12.9898 * i + 78.233 * j).sin()) as f32
    });
    let secs =
        Array2::from_shape_fn((m, N), |(i, j)| (0.1 + ((j * 7 + i) % 30) as f32 * 0.1).abs());
    (errors, secs)
}

fn families() -> Actions {
    let family = |a: usize| Action { members: (6 * a..6 * a + 6).collect(), cost_factor: 1.0 };
    Actions::new(N, (0..N / 6).map(family)).unwrap()
}

fn prior(errors: &Array2<f32>, out: usize) -> Arc<Prior> {
    let rows = PriorRows::new(errors.view(), Scale::Root).unwrap();
    Arc::new(rows.without(out, &PriorSettings::plain(8)).unwrap())
}

fn searched(rule: Rule, actions: Actions, n_workers: usize, budget: f64) -> (f64, Trace) {
    let (errors, secs) = record(20);
    let recording = Recording::new(errors.clone(), secs, N).unwrap();
    let row = recording.row(3);
    let actions = Arc::new(actions);
    let settings = SearchSettings { rule, ..SearchSettings::default() };
    let secs = row.all_secs();
    let setup = AutoSetup::plain(prior(&errors, 3).posterior(), actions, &secs);
    let mut policy = Auto::new(setup, AutoSettings::search_alone(settings)).unwrap();
    let trace = replay(&mut policy, &row, budget, n_workers).unwrap();
    let regret = trace.ranking(budget).first().map_or(1.0, |best| best.1) - row.lowest_error();
    (regret, trace)
}

#[test]
fn every_rule_finds_a_good_pipeline_in_a_small_part_of_the_time() {
    for rule in [Rule::Max, Rule::Sum, Rule::Joint, Rule::JointFifth, Rule::Thompson] {
        for actions in [Actions::singles(N), families()] {
            let (regret, _) = searched(rule, actions, 1, 10.0);
            assert!(regret < 0.03, "{rule:?}: {regret}");
        }
    }
}

#[test]
fn a_search_repeats_itself_and_more_workers_see_more() {
    let (_, once) = searched(Rule::JointFifth, families(), 1, 8.0);
    let (_, again) = searched(Rule::JointFifth, families(), 1, 8.0);
    assert_eq!(once, again);
    let (_, three) = searched(Rule::JointFifth, families(), 3, 8.0);
    assert!(three.n_pipelines() > once.n_pipelines());
}

#[test]
fn no_pipeline_is_run_twice_and_all_fit() {
    let (_, trace) = searched(Rule::Max, Actions::singles(N), 2, 15.0);
    let mut seen: Vec<usize> = trace.ranking(15.0).iter().map(|s| s.0).collect();
    let n = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), n);
}

#[test]
fn the_paper_s_loop_finds_good_pipelines_in_one_round_and_in_doubling_rounds() {
    let (errors, secs) = record(20);
    let recording = Recording::new(errors.clone(), secs, N).unwrap();
    let row = recording.row(3);
    let kept: Vec<usize> = (0..20).filter(|&i| i != 3).collect();
    let others = errors.select(ndarray::Axis(0), &kept);
    // Any rows that span the others' row space do for embeddings.
    let y = others.slice_axis(ndarray::Axis(0), (..6).into()).to_owned();
    for rounds in [Rounds::Once { design_share: 0.5 }, Rounds::Doubling] {
        let secs = row.all_secs();
        let mut policy = PaperLoop::new(y.view(), 4, &secs, 30.0, rounds, Some(5)).unwrap();
        let trace = replay(&mut policy, &row, 30.0, 1).unwrap();
        let regret = trace.ranking(30.0)[0].1 - row.lowest_error();
        assert!(regret < 0.03, "{rounds:?}: {regret}");
    }
    let none = PaperLoop::new(y.view(), 7, &row.all_secs(), 30.0, Rounds::Doubling, None);
    assert!(matches!(none.map(|_| ()), Err(SurrogateError::Rank { rank: 7, side: 6, .. })));
}

#[test]
fn the_paper_s_loop_heeds_its_first_target_its_last_round_and_how_many_it_elects() {
    let (errors, secs) = record(20);
    let recording = Recording::new(errors.clone(), secs, N).unwrap();
    let row = recording.row(3);
    let y = errors.slice_axis(ndarray::Axis(0), (4..8).into()).to_owned();
    let secs = row.all_secs();
    let with = |settings: PaperSettings| {
        let vectors = Vectors::nested(y.clone(), 2)?;
        PaperLoop::with(vectors, &secs, 32.0, Rounds::Doubling, None, settings)
    };
    let usual = PaperSettings::default;
    let run = |settings: PaperSettings| {
        let mut policy = with(settings).unwrap();
        let first = policy.target_secs();
        let trace = replay(&mut policy, &row, 32.0, 1).unwrap();
        (first, trace, policy.target_secs(), policy.voters())
    };
    let (_, all, _, voters) = run(usual());
    assert_eq!(voters, None);
    let (first, ..) = run(PaperSettings { first_target_secs: Some(0.5), ..usual() });
    assert_eq!(first, 0.5);
    let half = PaperSettings { first_target_secs: Some(16.0), ..usual() };
    let (_, half, last, _) = run(PaperSettings { last_round: LastRound::None, ..half });
    assert!(last == 16.0 && half.n_steps() < all.n_steps(), "{last}");
    let (_, few, _, voters) = run(PaperSettings { n_best: Some(2), ..usual() });
    assert_eq!(voters.map(|v| v.len()), Some(2));
    assert!(few.n_steps() < all.n_steps());
    for wrong in [
        PaperSettings { first_target_secs: Some(0.0), ..usual() },
        PaperSettings { n_best: Some(0), ..usual() },
    ] {
        assert!(matches!(with(wrong).map(|_| ()), Err(SurrogateError::Setting { .. })));
    }
}

#[test]
fn a_policy_may_start_with_given_actions_and_go_on_from_another_posterior() {
    let (errors, secs) = record(20);
    let recording = Recording::new(errors.clone(), secs, N).unwrap();
    let row = recording.row(3);
    let (actions, prior) = (Arc::new(families()), prior(&errors, 3));
    let secs = row.all_secs();
    let policy = |opening: Vec<usize>| {
        let setup = AutoSetup::plain(prior.posterior(), actions.clone(), &secs);
        let settings = AutoSettings::search_alone(SearchSettings::default());
        Auto::new(AutoSetup { opening, ..setup }, settings).unwrap()
    };
    let plain = replay(&mut policy(vec![]), &row, 12.0, 1).unwrap();

    let first = replay(&mut policy(vec![7, 2]), &row, 12.0, 1).unwrap();
    let seen: Vec<usize> = first.ranking(12.0).iter().map(|s| s.0).collect();
    assert!((42..48).chain(12..18).all(|j| seen.contains(&j)));

    // The posterior it has anyway changes nothing; one of other pipelines is refused.
    let mut again = policy(vec![]);
    again.rethink(prior.posterior()).unwrap();
    assert_eq!(replay(&mut again, &row, 12.0, 1).unwrap(), plain);
    let factor = Array2::<f32>::ones((1, 2));
    let other = Prior::from_parts(Scale::Root, vec![0.3; 2], factor.view(), vec![0.1; 2]).unwrap();
    let refused = again.rethink(Arc::new(other).posterior());
    assert!(matches!(refused, Err(SurrogateError::Size { wanted: N, got: 2, .. })));
}

#[test]
fn looking_ahead_to_the_end_of_the_budget_allows_dearer_actions() {
    let (errors, secs) = record(20);
    let recording = Recording::new(errors.clone(), secs, N).unwrap();
    let row = recording.row(3);
    let actions = Arc::new(Actions::singles(N));
    let first_cost = |least_share: f64| {
        let settings = SearchSettings { rule: Rule::Max, least_share, ..Default::default() };
        let posterior = prior(&errors, 3).posterior();
        let mut search =
            Search::new(settings, actions.clone(), posterior, &row.all_secs()).unwrap();
        let chosen = search.choose(20.0).unwrap().unwrap();
        row.secs(chosen).unwrap()
    };
    // When only one more action counts, cost does not matter at all.
    assert!(first_cost(1.0) > first_cost(0.0));
}

#[test]
fn the_more_a_step_costs_of_its_own_the_less_it_matters_what_its_fits_cost() {
    let (errors, secs) = record(20);
    let recording = Recording::new(errors.clone(), secs, N).unwrap();
    let row = recording.row(3);
    let settings = SearchSettings { rule: Rule::Max, ..SearchSettings::default() };
    let posterior = prior(&errors, 3).posterior();
    let actions = Arc::new(Actions::singles(N));
    let mut search = Search::new(settings, actions, posterior, &row.all_secs()).unwrap();
    let mut first_cost = |overhead_secs: f64| {
        search.count_overhead(overhead_secs);
        row.secs(search.choose(20.0).unwrap().unwrap()).unwrap()
    };
    assert!(first_cost(1000.0) > first_cost(0.0));
}

#[test]
fn of_a_family_that_does_not_fit_the_cheaper_members_are_run() {
    let (errors, _) = record(20);
    let actions = Arc::new(families());
    // Each member takes a second more than the one before.
    let secs: Vec<Option<f64>> = (0..N).map(|j| Some(1.0 + (j % 6) as f64)).collect();
    let posterior = prior(&errors, 3).posterior();
    let search = Search::new(SearchSettings::default(), actions, posterior, &secs);
    let mut search = search.unwrap();
    let action = search.choose(3.5).unwrap().expect("three of six members fit");
    let members = search.members_within(action, 3.5);
    assert_eq!(members, (6 * action..6 * action + 3).collect::<Vec<_>>());
    assert_eq!(search.cost_secs(action, &members), 3.0);
    assert_eq!(search.members_within(action, 6.0).len(), 6);
    assert_eq!(search.choose(0.5).unwrap(), None, "no member fits");
    assert!(!search.has_any_within(0.5) && search.has_any_within(1.0));
    // What was begun is over with, the members that did not fit with it.
    search.start(action, members).unwrap();
    search.finish(action);
    assert!(!search.fits(action, 6.0));
}

#[test]
fn the_paper_s_loop_takes_predictions_from_elsewhere() {
    let (errors, secs) = record(20);
    let recording = Recording::new(errors.clone(), secs, N).unwrap();
    let row = recording.row(3);
    let y = errors.slice_axis(ndarray::Axis(0), (4..8).into()).to_owned();
    let told: Vec<f64> = (0..N).map(|j| row.error(j).unwrap()).collect();
    let rounds = Rounds::Once { design_share: 0.2 };
    let policy = PaperLoop::new(y.view(), 4, &row.all_secs(), 15.0, rounds, None).unwrap();
    let mut policy = policy.predicting(Box::new(move |_| Ok(told.clone())));
    let trace = replay(&mut policy, &row, 15.0, 1).unwrap();
    assert_eq!(trace.ranking(15.0)[0].1, row.lowest_error());
}

#[test]
fn what_cannot_be_run_is_never_chosen_and_a_budget_of_nothing_ends_at_once() {
    let (mut errors, mut secs) = record(5);
    errors.row_mut(2).fill(0.0);
    secs.row_mut(2).fill(0.0);
    secs[(2, 7)] = 1.0;
    errors[(2, 7)] = 0.3;
    let recording = Recording::new(errors, secs, N).unwrap();
    let row = recording.row(2);
    let mut policy = InOrder::new((0..N).collect(), row.all_secs());
    assert_eq!(replay(&mut policy, &row, 10.0, 1).unwrap().n_pipelines(), 1);
    assert_eq!(policy.next(0.0).unwrap(), Next::Done);
    let (regret, trace) = searched(Rule::Max, Actions::singles(N), 1, 0.05);
    assert_eq!(trace.n_pipelines(), 0);
    assert!(regret > 0.0);
}

#[test]
fn bad_input_is_a_typed_error() {
    let (errors, _) = record(6);
    let posterior = || prior(&errors, 0).posterior();
    let singles = Arc::new(Actions::singles(N));
    let make = |secs: &[Option<f64>]| {
        Search::new(SearchSettings::default(), singles.clone(), posterior(), secs).map(|_| ())
    };
    assert!(matches!(make(&[Some(1.0); 5]), Err(SurrogateError::Size { .. })));
    for bad in [0.0, -1.0, f64::NAN] {
        let mut secs = vec![Some(1.0); N];
        secs[9] = Some(bad);
        assert!(matches!(make(&secs), Err(SurrogateError::NotPositive { at: 9, .. })));
    }
    let action =
        |members: Vec<usize>, cost_factor| Actions::new(4, [Action { members, cost_factor }]);
    assert!(matches!(action(vec![], 1.0), Err(SurrogateError::Empty { .. })));
    assert!(matches!(action(vec![4], 1.0), Err(SurrogateError::OutOfRange { .. })));
    assert!(matches!(action(vec![1], 0.0), Err(SurrogateError::NotPositive { .. })));
    assert!(matches!(Actions::new(4, []), Err(SurrogateError::Empty { .. })));
    let nan = Recording::new(Array2::from_elem((2, 3), f32::NAN), Array2::ones((2, 3)), 3);
    assert!(matches!(nan.map(|_| ()), Err(SurrogateError::NotFinite { .. })));
}

#[test]
fn a_choice_among_some_is_one_of_them() {
    let (errors, secs) = record(20);
    let recording = Recording::new(errors.clone(), secs, N).unwrap();
    let row = recording.row(3);
    let actions = Arc::new(families());
    let posterior = prior(&errors, 3).posterior();
    let settings = SearchSettings { rule: Rule::Max, ..SearchSettings::default() };
    let mut search = Search::new(settings, actions.clone(), posterior, &row.all_secs()).unwrap();
    let is_odd = |action: usize| action % 2 == 1;
    let mut chosen = Vec::new();
    while let Some(action) = search.choose_among(f64::INFINITY, 1, &is_odd).unwrap() {
        assert!(is_odd(action) && !chosen.contains(&action));
        chosen.push(action);
        let errors: Vec<(usize, f64)> =
            actions.members(action).iter().filter_map(|&j| Some((j, row.error(j)?))).collect();
        search.record(action, &errors).unwrap();
        // Where all may be chosen, among all is what it was.
        let of_all = search.choose(f64::INFINITY).unwrap();
        assert_eq!(search.choose_among(f64::INFINITY, 1, &|_| true).unwrap(), of_all);
    }
    assert_eq!(chosen.len(), actions.len() / 2);
    assert_eq!(search.choose_among(0.0, 1, &|_| true).unwrap(), None, "nothing fits no time");
}
