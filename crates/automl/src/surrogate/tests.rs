//! The file of a surrogate, whole and damaged.

use ndarray::Array2;
use pitchpipe_learn::Pipeline;
use pitchpipe_learn::search_space::Block;
use pitchpipe_surrogate::bayes::{Prior, PriorSettings, Scale};
use pitchpipe_surrogate::complete::{KernelModel, KernelParts};

use super::*;
use crate::offline::train::{Stack, StackRow};
use crate::offline::{About, Seen};

const N_PIPELINES: usize = 23_424;

/// Numbers that vary by both of their coordinates.
fn wave(i: usize, j: usize) -> f32 {
    0.3 + 0.1 * ((i * 37 + j % 911) as f32 * 0.37).sin() + 0.05 * (i as f32).cos()
}

fn example() -> Surrogate {
    let errors = Array2::from_shape_fn((5, N_PIPELINES), |(i, j)| wave(i, j));
    let prior = Prior::fit(errors.view(), Scale::Root, &PriorSettings::plain(3)).unwrap();
    let sizes: Vec<TableSize> = (1..6)
        .map(|i| TableSize {
            n_rows: 100 * i,
            n_features: 3 + i,
            n_encoded: 5 + 2 * i,
            n_classes: Some(1 + i),
            largest_scale: Some(0.5 * i as f64),
        })
        .collect();
    let secs = errors.mapv(|e| e * 2.0);
    let kernel = KernelParts {
        n_datasets: 5,
        s2: 2.25,
        beta: 0.01,
        atoms: (0..10).map(|at| wave(at / 5, at % 5)).collect(),
        codes: (0..2 * N_PIPELINES).map(|at| wave(at % 2, at / 2)).collect(),
        row_means: vec![0.3; 5],
    };
    let embedding = |pipelines: Vec<u32>| Embedding {
        y: Array2::from_shape_fn((4, pipelines.len()), |(i, j)| wave(i, j)),
        pipelines,
        initial_rank: 2,
    };
    let space = SearchSpace::paper();
    let tensor = PaperEmbedding::fit(errors.view(), space.estimators().len()).unwrap();
    let paper = PaperParts {
        kernel: Some(tensor.clone()),
        tensor: Some(tensor),
        oboe_deviations: Some(vec![0.02; 183]),
        runtimes: Some(PaperRuntimes::fit(&space, &sizes, secs.view()).unwrap()),
    };
    Surrogate {
        paper: Part::made(paper),
        facts: TrainingFacts {
            search_space: crate::offline::search_space_key(),
            ..TrainingFacts::default()
        },
        native: Some(Part::made(prior.clone())),
        decided: Some(Part::made(prior)),
        oboe: Some(Part::made(embedding((0..183).collect()))),
        tensor_oboe: None,
        kernel_oboe: Some(Part::made(KernelModel::try_from(kernel).unwrap())),
        runtimes: Runtimes::fit(&space, &sizes, secs.view()).unwrap(),
        best_on_average: 21_669.into(),
        embeddings: DatasetEmbeddings::default(),
        added: Vec::new(),
        space,
    }
}

#[test]
fn bytes_give_the_same_surrogate_back_to_the_digits_that_matter() {
    let ours = example();
    let read = Surrogate::from_bytes(&ours.to_bytes().unwrap()).unwrap();
    assert_eq!(read.facts(), ours.facts());
    assert_eq!(read.best_on_average(), ours.best_on_average());
    let (a, b) = (ours.prior(ErrorKind::Decided).unwrap(), read.prior(ErrorKind::Decided).unwrap());
    let apart =
        |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(apart(a.mean(), b.mean()) < 5e-4 && apart(a.noise(), b.noise()) < 1e-5);
    let factors = (a.factor() - b.factor()).iter().fold(0.0_f32, |most, d| most.max(d.abs()));
    assert!(factors < 2e-3, "{factors}");
    let size = TableSize {
        n_rows: 250,
        n_features: 5,
        n_encoded: 8,
        n_classes: Some(3),
        largest_scale: None,
    };
    let (a, b) = (ours.runtimes().predict_secs(&size), read.runtimes().predict_secs(&size));
    assert!(a.iter().zip(&b).all(|(a, b)| (a / b).ln().abs() < 0.02));
    let (a, b) = (ours.oboe().unwrap(), read.oboe().unwrap());
    assert_eq!((a.initial_rank, &a.pipelines), (b.initial_rank, &b.pipelines));
    let observed = [(1_usize, 0.2_f64), (500, 0.4)].into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
    let kernel = |s: &Surrogate| {
        s.kernel_oboe().unwrap().predict_dataset(&observed.0, &observed.1, 0.1).unwrap()
    };
    assert!(apart(&kernel(&ours), &kernel(&read)) < 0.01);
    // A second round changes nothing more.
    assert_eq!(
        Surrogate::from_bytes(&read.to_bytes().unwrap()).unwrap().to_bytes().unwrap(),
        read.to_bytes().unwrap()
    );
}

#[test]
fn the_section_of_the_papers_systems_comes_back() {
    let ours = example();
    let read = Surrogate::from_bytes(&ours.to_bytes().unwrap()).unwrap();
    let (a, b) = (ours.paper_parts(), read.paper_parts());
    let (x, y) = (a.tensor.as_ref().unwrap(), b.tensor.as_ref().unwrap());
    assert_eq!((x.initial, x.embedding.most()), (y.initial, y.embedding.most()));
    let (x, y) = (x.embedding.parts().0, y.embedding.parts().0);
    let apart = (x - y).iter().fold(0.0_f32, |most, d| most.max(d.abs()));
    assert!(apart < 1e-3, "{apart}");
    assert_eq!(b.oboe_deviations.as_ref().map(Vec::len), Some(183));
    let size = TableSize {
        n_rows: 250,
        n_features: 5,
        n_encoded: 8,
        n_classes: Some(2),
        largest_scale: None,
    };
    let secs = |parts: &PaperParts| {
        parts.runtimes.as_ref().unwrap().predict_secs(&SearchSpace::paper(), &size)
    };
    for (x, y) in secs(a).into_iter().zip(secs(b)) {
        let (x, y) = (x.unwrap(), y.unwrap());
        assert!(x > 0.0 && (x / y - 1.0).abs() < 1e-2, "{x} {y}");
    }
}

#[test]
fn a_cut_or_changed_file_is_a_typed_error() {
    let bytes = example().to_bytes().unwrap();
    assert!(matches!(Surrogate::from_bytes(b"PK\x03\x04"), Err(SurrogateFileError::NotASurrogate)));
    let step = (bytes.len() / 97).max(1);
    for at in (0..bytes.len()).step_by(step).chain(0..12) {
        assert!(Surrogate::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        assert!(Surrogate::from_bytes(&changed).is_err(), "byte {at}");
    }
    let mut later = bytes;
    later[4] = 9;
    let message = Surrogate::from_bytes(&later).unwrap_err().to_string();
    assert_eq!(message, "surrogate format 9; this pitchpipe reads formats 1 to 4");
}

#[test]
fn lies_within_a_sound_file_are_noticed() {
    // The checksum guards against accidents, not against someone who writes his own.
    let altered = |change: fn(&mut Surrogate)| {
        let mut surrogate = example();
        change(&mut surrogate);
        Surrogate::from_bytes(&surrogate.to_bytes().unwrap()).map(|_| ()).unwrap_err().to_string()
    };
    let space = altered(|s| {
        let mut product = s.space.blocks()[0].as_product().cloned().unwrap();
        product.estimators.swap(3, 4);
        let block = Block::product("paper", product);
        s.space = Arc::new(SearchSpace::new(vec![block]).unwrap());
    });
    assert!(space.starts_with("this surrogate is of other pipelines: block paper"), "{space}");
    assert!(space.contains("as estimator 3"), "{space}");
    fn oboe(surrogate: &mut Surrogate) -> &mut Embedding {
        Arc::make_mut(surrogate.oboe.as_mut().unwrap().get_mut())
    }
    let beyond = altered(|s| oboe(s).pipelines[3] = 1 << 30);
    assert!(beyond.contains("does not exist"), "{beyond}");
    let rank = altered(|s| oboe(s).initial_rank = 0);
    assert!(rank.contains("wrong size"), "{rank}");
    let infinite = altered(|s| oboe(s).y[(0, 0)] = f32::INFINITY);
    assert!(infinite.contains("not a number"), "{infinite}");
}

#[test]
fn bytes_that_ask_for_more_than_there_is_get_nothing() {
    let frame = |body: &[u8]| {
        let compressed = zstd::bulk::compress(body, 1).unwrap();
        let mut bytes = b"ppSU\x02\x00".to_vec();
        bytes.extend(crc32fast::hash(&compressed).to_le_bytes());
        bytes.extend(compressed);
        bytes
    };
    // Lengths of all ones, and a body of nothing but zeros that would unpack to a gigabyte.
    for body in [vec![0xff; 64], vec![0; 1 << 20], Vec::new()] {
        assert!(Surrogate::from_bytes(&frame(&body)).is_err());
    }
}

#[test]
fn the_embedded_surrogate_speaks_of_all_pipelines() {
    let surrogate = Surrogate::embedded();
    let n_pipelines = SearchSpace::all().n_pipelines();
    assert!(n_pipelines > N_PIPELINES && surrogate.space().n_pipelines() == n_pipelines);
    for kind in [ErrorKind::Native, ErrorKind::Decided] {
        assert_eq!(surrogate.prior(kind).map(|p| p.n_pipelines()), Some(n_pipelines));
    }
    assert_eq!(surrogate.oboe().map(|e| e.pipelines.len()), Some(183));
    assert!(surrogate.kernel_oboe().is_some());
    let size = TableSize {
        n_rows: 1000,
        n_features: 20,
        n_encoded: 20,
        n_classes: Some(2),
        largest_scale: None,
    };
    let secs = surrogate.runtimes().predict_secs(&size);
    assert!(secs.len() == n_pipelines && secs.iter().all(|t| t.is_finite() && *t > 0.0));
    let bytes = include_bytes!("../../data/default.surrogate");
    assert!(bytes.len() < 5_000_000, "{} bytes", bytes.len());
}

#[test]
fn a_part_gives_the_same_numbers_packed_and_put_together() {
    let bytes = example().to_bytes().unwrap();
    let read = Surrogate::from_bytes(&bytes).unwrap();
    let packed = read.prior_numbers(ErrorKind::Decided).unwrap();
    assert!(matches!(packed, PriorNumbers::Packed(_)), "nobody asked for it yet");
    let prior = read.prior(ErrorKind::Decided).unwrap();
    let whole = read.prior_numbers(ErrorKind::Decided).unwrap();
    assert!(matches!(whole, PriorNumbers::Whole(_)));
    assert_eq!((&*packed.mean(), &*packed.noise()), (prior.mean(), prior.noise()));
    let (mut a, mut b) = (vec![0.0; N_PIPELINES], vec![0.0; N_PIPELINES]);
    for i in 0..packed.rank() {
        packed.read_row(i, &mut a);
        whole.read_row(i, &mut b);
        assert_eq!(a, b);
        assert_eq!(a, prior.factor().row(i).to_vec());
    }
    // A part that was changed is no longer what was packed.
    let mut changed = read.clone();
    Arc::make_mut(changed.oboe.as_mut().unwrap().get_mut()).y[(0, 0)] = 7.0;
    assert_eq!(changed.oboe().unwrap().y[(0, 0)], 7.0);
    assert_ne!(read.oboe().unwrap().y[(0, 0)], 7.0);
}

/// The example with the embeddings of its datasets, which it needs to be extended.
fn extensible() -> (Surrogate, Array2<f32>) {
    let errors = Array2::from_shape_fn((5, N_PIPELINES), |(i, j)| wave(i, j));
    let mut surrogate = example();
    let prior = surrogate.prior(ErrorKind::Native).unwrap();
    let embedded = prior.embed(errors.view()).unwrap();
    surrogate.embeddings.native = Some(embedded.clone());
    surrogate.embeddings.decided = Some(embedded);
    surrogate.facts.datasets = (0..5)
        .map(|i| TrainedDataset {
            name: format!("table-{i}"),
            content: None,
            is_published: false,
            n_entries: N_PIPELINES,
        })
        .collect();
    (surrogate, errors)
}

#[test]
fn a_row_taken_in_moves_the_prior_as_training_with_it_would() {
    let (mut surrogate, errors) = extensible();
    let new =
        Array2::from_shape_fn(
            (6, N_PIPELINES),
            |(i, j)| {
                if i < 5 { errors[(i, j)] } else { wave(9, j) }
            },
        );
    let trained = Prior::fit(new.view(), Scale::Root, &PriorSettings::plain(3)).unwrap();
    let native: Vec<(usize, f64)> = (0..N_PIPELINES).map(|j| (j, f64::from(new[(5, j)]))).collect();
    let row = DatasetRow { name: "new".into(), decided: native.clone(), native, content: None };
    surrogate.add_dataset(&row).unwrap();
    let extended = surrogate.prior(ErrorKind::Native).unwrap();
    for j in (0..N_PIPELINES).step_by(97) {
        assert!((extended.mean()[j] - trained.mean()[j]).abs() < 1e-5, "mean of {j}");
    }
    assert_eq!(surrogate.facts().datasets.len(), 6);
    assert_eq!(surrogate.embeddings.native.as_ref().map(Array2::ncols), Some(6));
    assert!(matches!(surrogate.add_dataset(&row), Err(ExtendError::Known { .. })));
    // And it is written and read like any other.
    let read = Surrogate::from_bytes(&surrogate.to_bytes().unwrap()).unwrap();
    assert_eq!(read.facts(), surrogate.facts());
}

#[test]
fn a_column_estimated_anew_comes_out_as_it_was_trained() {
    let (mut surrogate, errors) = extensible();
    let pipeline = PipelineId::from(4321);
    let before = surrogate.prior(ErrorKind::Native).unwrap();
    let observed: Vec<(usize, f64)> = (0..5).map(|i| (i, f64::from(errors[(i, 4321)]))).collect();
    let column = PipelineColumn { pipeline, native: observed.clone(), decided: observed };
    surrogate.set_pipeline(&column).unwrap();
    let after = surrogate.prior(ErrorKind::Native).unwrap();
    assert!((before.mean()[4321] - after.mean()[4321]).abs() < 0.03);
    let (a, b) = (before.factor(), after.factor());
    let apart = (0..3).map(|i| (a[(i, 4321)] - b[(i, 4321)]).abs()).fold(0.0, f32::max);
    assert!(apart < 0.05, "{apart}");
    assert_eq!(a.column(4322), b.column(4322));
    let nothing = PipelineColumn { pipeline, native: Vec::new(), decided: Vec::new() };
    assert!(matches!(surrogate.set_pipeline(&nothing), Err(ExtendError::Nothing { .. })));
}

/// A second block: boosting with a rate that the paper does not have, without the steps before it that trees do not need.
fn second_block() -> Block {
    let paper = SearchSpace::paper();
    let like = paper.pipeline(21_669.into());
    let rates = [0.03, 0.3].map(|learning_rate| {
        let estimator = like.estimator.to_string().replace("0.25", &learning_rate.to_string());
        Pipeline { estimator: estimator.parse().unwrap(), ..like.clone() }
    });
    Block::list("rates", rates.to_vec())
}

/// A store's rows with the second block measured on the first three datasets, and on one that is new.
fn measured(errors: &Array2<f32>) -> Stack {
    let paper = SearchSpace::paper();
    let space = SearchSpace::new(paper.blocks().iter().cloned().chain([second_block()]).collect());
    let size = TableSize {
        n_rows: 300,
        n_features: 6,
        n_encoded: 9,
        n_classes: Some(2),
        largest_scale: None,
    };
    let row = |i: usize| {
        let seen = |pipeline: usize, error: f32| Seen {
            pipeline: pipeline as u32,
            error,
            decided: Some(error),
            runtime_s: 0.5 + error,
        };
        let known = (0..40).map(|j| seen(500 * j, wave(i, 500 * j)));
        let new = (0..2).map(|j| seen(N_PIPELINES + j, wave(i, 21_669) + 0.1));
        StackRow {
            name: if i < 5 { format!("table-{i}") } else { "new".to_owned() },
            is_published: false,
            about: Some(About { content: None, size }),
            seen: known.chain(new).collect(),
        }
    };
    assert_eq!(errors[(1, 3)], wave(1, 3));
    Stack {
        space: Arc::new(space.unwrap()),
        rows: [0, 1, 2, 9].map(row).to_vec(),
        left_out: Vec::new(),
        too_few: Vec::new(),
        damaged: Vec::new(),
    }
}

#[test]
fn a_store_with_a_block_that_is_not_known_adds_its_columns_and_the_file_keeps_them() {
    let (mut surrogate, errors) = extensible();
    let before = surrogate.prior(ErrorKind::Native).unwrap().mean()[21_669];
    let extension = surrogate.extend(&measured(&errors)).unwrap();
    assert_eq!((extension.datasets, extension.n_entries), (vec!["new".to_owned()], 40));
    let block = &extension.blocks[0];
    assert_eq!((block.name.as_str(), block.n_pipelines, block.n_measured), ("rates", 2, 2));
    assert_eq!((block.n_entries, block.n_datasets), (8, 4));
    assert_eq!(block.kin, ["gradient_boosting"]);
    let read = Surrogate::from_bytes(&surrogate.to_bytes().unwrap()).unwrap();
    assert_eq!(read.added_blocks(), surrogate.added_blocks());
    assert_eq!(read.space().key(), surrogate.space().key());
    for surrogate in [&surrogate, &read] {
        assert_eq!(surrogate.space().n_pipelines(), N_PIPELINES + 2);
        for kind in [ErrorKind::Native, ErrorKind::Decided] {
            let prior = surrogate.prior(kind).unwrap();
            assert_eq!(prior.n_pipelines(), N_PIPELINES + 2);
            // A tenth more than the column it is like, on the scale of roots.
            let mean = prior.mean()[N_PIPELINES];
            assert!(mean > before + 0.01, "{mean}, and {before} of the column it is like");
        }
        assert_eq!(surrogate.kernel_oboe().unwrap().n_pipelines(), N_PIPELINES + 2);
        let size = TableSize {
            n_rows: 300,
            n_features: 6,
            n_encoded: 9,
            n_classes: Some(2),
            largest_scale: None,
        };
        let secs = surrogate.runtimes().predict_secs(&size);
        assert_eq!(secs.len(), N_PIPELINES + 2);
        assert!((secs[N_PIPELINES] / 0.9).ln().abs() < 0.7, "{}", secs[N_PIPELINES]);
    }
    // Once more brings nothing.
    let again = surrogate.extend(&measured(&errors)).unwrap();
    assert!(again.datasets.is_empty() && again.blocks.is_empty());
}

#[test]
fn a_block_that_was_not_measured_leans_on_its_kin() {
    let (mut surrogate, errors) = extensible();
    let mut stack = measured(&errors);
    stack.rows.clear();
    let extension = surrogate.extend(&stack).unwrap();
    assert_eq!((extension.blocks[0].n_measured, extension.blocks[0].n_entries), (0, 0));
    let prior = surrogate.prior(ErrorKind::Decided).unwrap();
    let boosting =
        |j: &usize| surrogate.space().kind((*j as u32).into()).name() == "gradient_boosting";
    let kin: Vec<f64> = (118 * 183..119 * 183).filter(boosting).map(|j| prior.mean()[j]).collect();
    let mean = kin.iter().sum::<f64>() / kin.len() as f64;
    assert!((prior.mean()[N_PIPELINES + 1] - mean).abs() < 1e-5);
}

#[test]
fn the_surrogate_inside_the_program_has_all_its_parts() {
    // The program itself trusts its own bytes: here each part is put together.
    let ours = Surrogate::from_bytes(include_bytes!("../../data/default.surrogate")).unwrap();
    assert_eq!(ours.space.key(), SearchSpace::all().key(), "it speaks of every pipeline there is");
    assert!(ours.native.is_some() && ours.decided.is_some());
    assert!(ours.oboe.is_some() && ours.kernel_oboe.is_some());
    assert!(ours.tensor_oboe.is_none(), "Tucker's are in their place");
    let PaperParts { tensor, kernel, oboe_deviations, runtimes } = ours.paper_parts();
    assert!(tensor.is_some() && kernel.is_some(), "the paper's embeddings");
    assert!(oboe_deviations.is_some() && runtimes.is_some(), "the paper's designs and runtimes");
}
