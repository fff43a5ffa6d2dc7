use super::*;
use crate::Stream;
use proptest::prelude::*;
use rand::RngExt;

fn knn(k: usize, p: Minkowski) -> Knn {
    Knn { n_neighbors: NonZeroUsize::new(k).unwrap(), p }
}

/// All distances, sorted by distance and row.
fn by_hand(train: &Features, test: &Features, k: usize, p: Minkowski) -> Vec<Vec<u32>> {
    let distance = |i: usize, q: usize| -> f64 {
        let differences = train.row(i).iter().zip(test.row(q)).map(|(a, b)| a - b);
        match p {
            Minkowski::Manhattan => differences.map(f64::abs).sum(),
            Minkowski::Euclidean => differences.map(|d| d * d).sum(),
        }
    };
    let nearest = |q: usize| {
        let mut all: Vec<_> = (0..train.n_rows()).map(|i| (distance(i, q), i as u32)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all[..k].iter().map(|&(_, i)| i).collect()
    };
    (0..test.n_rows()).map(nearest).collect()
}

fn search(train: &Features, test: &Features, k: usize, p: Minkowski) -> Vec<Vec<u32>> {
    let ctx = FitContext::unhurried();
    let found = SearchIndex::build(train, p, &ctx).unwrap().search(train, test, k, &ctx).unwrap();
    (0..found.n_queries()).map(|q| found.nearest(q).to_vec()).collect()
}

fn random(n_rows: usize, n_cols: usize, seed: u64, cell: impl Fn(f64) -> f64) -> Features {
    let mut rng = Stream::new(seed).rng();
    let cells = (0..n_rows * n_cols).map(|_| cell(rng.random::<f64>())).collect();
    Features::from_columns(n_rows, n_cols, cells)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn finds_what_comparing_with_every_row_finds(
        n in 1_usize..400, n_test in 1_usize..70, p in 1_usize..20, k in 1_usize..16, seed: u64,
        manhattan: bool, kind in 0..4,
    ) {
        let cell = |u: f64| match kind {
            0 => u - 0.5,
            1 => (u * 3.0).floor(),                                  // ties everywhere
            2 => 1e6 + u * 1e-3,                                     // far from the origin
            _ => if u > 0.99 { 1e8 } else { u },                     // outliers
        };
        let (train, test) = (random(n, p, seed, cell), random(n_test, p, !seed, cell));
        let metric = if manhattan { Minkowski::Manhattan } else { Minkowski::Euclidean };
        let k = k.min(n);
        let (ours, theirs) = (search(&train, &test, k, metric), by_hand(&train, &test, k, metric));
        if kind == 1 {
            prop_assert_eq!(ours, theirs);
        } else {
            // Sums in another order may swap rows whose distances differ in the last bit.
            let differing = ours.iter().zip(&theirs).filter(|(a, b)| a != b).count();
            prop_assert!(differing * 20 <= n_test, "{} of {}", differing, n_test);
        }
    }
}

#[test]
fn asks_for_as_many_rows_as_neighbours() {
    let x = Features::from_columns(3, 1, vec![0.0; 3]);
    let y = Labels::from_codes([0, 1, 1], 2);
    let err = Knn::default().fit(&x, &y, &FitContext::unhurried()).unwrap_err();
    assert_eq!(err.to_string(), "knn asks for 5 rows but was given 3");
}

#[test]
fn the_earlier_row_wins_a_draw_and_the_smaller_class_a_draw_of_votes() {
    let x = Features::from_columns(4, 1, vec![1.0, -1.0, 1.0, -1.0]);
    let y = Labels::from_codes([1, 0, 0, 1], 2);
    let query = Features::from_columns(1, 1, vec![0.0]);
    let ctx = FitContext::unhurried();
    let label = |k| {
        let model = knn(k, Minkowski::Euclidean).fit(&x, &y, &ctx).unwrap();
        model.predict(&query, &ctx).unwrap().labels.codes()[0]
    };
    assert_eq!((label(1), label(2)), (1, 0));
}

#[test]
fn huge_and_tiny_numbers_keep_their_order() {
    let ctx = FitContext::unhurried();
    for scale in [1e300, 1e-300, 1.0, 5e-324, f64::MAX / 40.0] {
        let x = Features::from_columns(
            6,
            1,
            [-40.0, -30.0, 1.0, 2.0, 30.0, 40.0].map(|v| v * scale).into(),
        );
        let y = Labels::from_codes([0, 0, 1, 1, 2, 2], 3);
        for p in [Minkowski::Manhattan, Minkowski::Euclidean] {
            let model = knn(1, p).fit(&x, &y, &ctx).unwrap();
            let test =
                Features::from_columns(4, 1, [-33.0, 1.0, 38.0, 3.0].map(|v| v * scale).into());
            let found = model.predict(&test, &ctx).unwrap();
            assert_eq!(found.labels.codes(), [0, 1, 2, 1], "scale {scale}, {p:?}");
        }
    }
    // A query beyond all training rows, even in units of their spread.
    let x = Features::from_columns(2, 1, vec![1e-200, -1e-200]);
    let model = knn(1, Minkowski::Euclidean).fit(&x, &Labels::from_codes([0, 1], 2), &ctx).unwrap();
    let test = Features::from_columns(2, 1, vec![1e300, -1e300]);
    assert!(
        model.predict(&test, &ctx).unwrap().probabilities.values().iter().all(|p| p.is_finite())
    );
}

#[test]
fn a_family_gives_what_each_member_gives_alone() {
    let (x, test) = (random(300, 7, 1, |u| (u * 8.0).floor()), random(90, 7, 2, |u| u * 8.0));
    let y = Labels::from_codes((0..300).map(|i| i % 3), 3);
    let ctx = FitContext::unhurried();
    let members: Vec<Knn> =
        [1, 15, 3, 301, 8].into_iter().map(|k| knn(k, Minkowski::Manhattan)).collect();
    let together = Knn::evaluate_family(&members, &x, &y, &test, true, &ctx);
    for (member, got) in members.iter().zip(together) {
        match member.fit(&x, &y, &ctx) {
            Err(e) => assert_eq!(got.unwrap_err(), e),
            Ok(model) => {
                let (got, alone) = (got.unwrap(), model.predict(&test, &ctx).unwrap());
                assert_eq!(got.prediction, alone);
                assert_eq!(got.model.unwrap().predict(&test, &ctx).unwrap(), alone);
            }
        }
    }
}

#[test]
fn stops_at_the_deadline_and_at_the_memory_ceiling() {
    let x = random(50, 3, 1, |u| u);
    let y = Labels::from_codes((0..50).map(|i| i % 2), 2);
    let model = Knn::default().fit(&x, &y, &FitContext::unhurried()).unwrap();
    let late = FitContext::unhurried().with_deadline(Some(std::time::Instant::now()));
    assert_eq!(model.predict(&x, &late).unwrap_err(), FitError::OutOfTime);
    let poor = FitContext::unhurried().with_memory_limit(Some(100));
    assert!(matches!(Knn::default().fit(&x, &y, &poor), Err(FitError::OutOfMemory { .. })));
}
