//! Training on more datasets than are held at once: as good as on all of them held, or nearly.

use pitchpipe_automl::offline::train::{Stack, StackRow, TrainMethod, Training};
use pitchpipe_automl::offline::{About, SearchSpace, Seen};
use pitchpipe_automl::surrogate::{DatasetRow, ErrorKind, Surrogate, TableSize};

const N_DATASETS: usize = 90;
const HELD: usize = 40;

/// A number between 0 and 1 that depends on two others alone.
fn uniform(a: usize, b: usize) -> f64 {
    let mut z = (a as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (b as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    for _ in 0..3 {
        z = (z ^ (z >> 30)).wrapping_mul(0x94d0_49bb_1331_11eb);
    }
    (z >> 11) as f64 / (1_u64 << 53) as f64
}

/// The true error: a level for each dataset, and what its three traits make of estimators and preparations.
fn truth(space: &SearchSpace, dataset: usize, pipeline: usize) -> f64 {
    let id = (pipeline as u32).into();
    let (p, f) = (space.preparation_index(id) as f64, space.estimator_index(id) as f64);
    let trait_of = |k: usize| uniform(dataset, 1_000_000 + k) - 0.5;
    (0.35
        + 0.3 * trait_of(0)
        + 0.25 * trait_of(1) * (f / 25.0).sin()
        + 0.15 * trait_of(2) * (f / 60.0).cos()
        + 0.05 * (p / 20.0).sin()
        + 0.1 * trait_of(1) * (p / 9.0).cos())
    .clamp(0.01, 0.95)
}

/// The slice and a random 4 % of each dataset, with a little noise; every second has decided errors, too.
fn stack() -> Stack {
    let space = SearchSpace::paper();
    let slice = space.behind(
        "impute(mean) > one_hot > standardise > all_features".parse().expect("a preparation"),
    );
    let slice: Vec<usize> = slice.into_iter().map(|id| id.index()).collect();
    let row = |dataset: usize| {
        let is_seen = |j: &usize| slice.contains(j) || uniform(dataset, *j) < 0.04;
        let seen = (0..space.n_pipelines()).filter(is_seen).map(|j| {
            let error = truth(&space, dataset, j) + 0.01 * (uniform(dataset, j + 7_000_000) - 0.5);
            Seen {
                pipeline: j as u32,
                error: error as f32,
                decided: (dataset % 2 == 0).then_some((0.9 * error) as f32),
                runtime_s: (0.01 + uniform(dataset, j + 9_000_000)) as f32,
            }
        });
        let size = TableSize {
            n_rows: 100 + dataset * 50,
            n_features: 5 + dataset % 9,
            n_encoded: 8 + dataset % 9,
            n_classes: Some(2),
            largest_scale: None,
        };
        StackRow {
            name: format!("made-{dataset}"),
            is_published: false,
            about: Some(About { content: Some(format!("{dataset:016x}")), size }),
            seen: seen.collect(),
        }
    };
    let rows = (0..N_DATASETS).map(row).collect();
    Stack { space, rows, left_out: Vec::new(), too_few: Vec::new(), damaged: Vec::new() }
}

/// How far a surrogate is off on fresh datasets, of which it saw so many pipelines.
fn off_by(surrogate: &Surrogate, n_looks: usize) -> f64 {
    let (space, prior) = (surrogate.space(), surrogate.prior(ErrorKind::Native).expect("trained"));
    let mut squares = 0.0;
    for dataset in N_DATASETS..N_DATASETS + 10 {
        let at: Vec<usize> = (0..n_looks).map(|k| k * 1171 + dataset).collect();
        let errors: Vec<f64> = at.iter().map(|&j| truth(space, dataset, j)).collect();
        let mut posterior = prior.posterior();
        if n_looks > 0 {
            posterior.observe(&at, &errors).expect("observed");
        }
        let predicted = posterior.predict();
        let all = 0..space.n_pipelines();
        squares += all.map(|j| (predicted[j] - truth(space, dataset, j)).powi(2)).sum::<f64>()
            / space.n_pipelines() as f64;
    }
    (squares / 10.0).sqrt()
}

#[test]
fn datasets_that_pass_by_teach_as_much_as_those_that_are_held() {
    let stack = stack();
    let methods = vec![TrainMethod::Tensor, TrainMethod::Bayes];
    let training = Training { methods, ..Training::default() };
    let held = training.run(&stack).expect("trained");
    let streamed = Training { at_once: HELD, ..training }.run(&stack).expect("trained");
    let (whole, blocks) = (off_by(&held, 20), off_by(&streamed, 20));
    assert!(blocks < 1.5 * whole + 0.01, "{blocks} in blocks, {whole} held");
    let unseen = off_by(&streamed, 0);
    assert!(blocks < 0.7 * unseen, "{blocks} after twenty pipelines, {unseen} after none");
    assert!(
        streamed.facts().datasets.len() == N_DATASETS
            && streamed.facts().n_entries == stack.n_entries()
    );
    let best = |surrogate: &Surrogate| {
        let j = surrogate.best_on_average().index();
        (0..N_DATASETS).map(|i| truth(&stack.space, i, j)).sum::<f64>() / N_DATASETS as f64
    };
    assert!(best(&streamed) < best(&held) + 0.01, "{} {}", best(&streamed), best(&held));
    for method in ["tensor", "decided"] {
        let done = streamed.facts().completions.iter().find(|c| c.method == method);
        let error = done.expect("completed").held_out_error;
        assert!(error < 0.05, "{method}: {error}");
    }
}

#[test]
fn a_surrogate_of_datasets_that_passed_by_is_whole() {
    let stack = stack();
    let trained = Training { at_once: HELD, ..Training::default() }.run(&stack).expect("trained");
    assert!(trained.oboe().is_some() && trained.paper_parts().tensor.is_some());
    assert!(trained.prior(ErrorKind::Decided).is_some());
    let paper = trained.paper_parts();
    assert!(paper.tensor.is_some() && paper.kernel.is_some() && paper.runtimes.is_some());
    assert_eq!(trained.kernel_oboe().map(|m| m.codes().nrows()), Some(stack.space.n_pipelines()));
    // It is written, read and extended like any other: all its parts have a row for each dataset.
    let mut read = Surrogate::from_bytes(&trained.to_bytes().expect("written")).expect("readable");
    let native = (0..200).map(|k| (k * 100, truth(&stack.space, 500, k * 100))).collect();
    read.add_dataset(&DatasetRow { name: "new".to_owned(), native, ..DatasetRow::default() })
        .expect("a row more");
    assert_eq!(read.facts().datasets.len(), N_DATASETS + 1);
}

#[test]
fn threads_change_nothing_where_datasets_pass_by() {
    let stack = stack();
    let methods = vec![TrainMethod::Bayes];
    let training = Training { at_once: HELD, methods, ..Training::default() };
    let with = |threads: usize| {
        let trained = pitchpipe_automl::on_threads(threads, || training.run(&stack));
        trained.expect("threads").expect("trained")
    };
    let (one, two) = (with(1), with(2));
    assert_eq!(one.prior(ErrorKind::Native), two.prior(ErrorKind::Native));
    assert_eq!(one.prior(ErrorKind::Decided), two.prior(ErrorKind::Decided));
}
