use std::collections::HashSet;

use proptest::prelude::*;

use super::*;
use crate::estimate::{GradientBoosting, HistogramBoosting, Knn, MinSamplesSplit, RandomForest};
use crate::impute::Imputer;

const BEST_ON_AVERAGE: &str = "impute(most_frequent) > codes > standardise > variance_threshold \
                               > gradient_boosting(learning_rate=0.25, max_depth=3, max_features=all)";

/// A block beside that of the paper: one estimator that the paper does not have, behind two preparations.
fn extra() -> Block {
    let estimator =
        EstimatorSpec::from(GradientBoosting { learning_rate: 0.3, ..Default::default() });
    let mut product = paper::block().as_product().cloned().unwrap();
    product.imputers.truncate(1);
    product.encoders.truncate(1);
    product.reducers.truncate(1);
    product.estimators = vec![estimator];
    Block::product("extra", product)
}

#[test]
fn the_best_pipeline_on_average_is_the_one_that_the_paper_names() {
    // ALGORITHMS §2 (iv): mode imputation, codes, standardise, drop constant features, boosting.
    let space = SearchSpace::paper();
    let id = space.id(21_669).unwrap();
    assert_eq!(space.pipeline(id).to_string(), BEST_ON_AVERAGE);
    assert_eq!((space.preparation_index(id), space.estimator_index(id)), (118, 75));
    assert_eq!(space.kind(id), EstimatorKind::GradientBoosting);
}

#[test]
fn every_pipeline_is_read_back_and_found_again() {
    let space = SearchSpace::paper();
    let mut texts = HashSet::new();
    for id in space.ids() {
        let pipeline = space.pipeline(id);
        let text = pipeline.to_string();
        assert_eq!(text.parse(), Ok(pipeline.clone()));
        assert_eq!(space.at(space.preparation_index(id), space.estimator_index(id)), Some(id));
        assert!(texts.insert(text));
    }
    let last = space.id(23_423).unwrap();
    assert_eq!(space.find(&space.pipeline(last)), Some(last));
    assert_eq!((texts.len(), space.id(23_424)), (23_424, None));
}

proptest! {
    #[test]
    fn any_setting_is_read_back(rate in any::<f64>(), share in any::<f64>(), k in 1usize..1000, count in any::<u32>()) {
        prop_assume!(rate.is_finite() && share.is_finite());
        let split = MinSamplesSplit::Fraction(share);
        for estimator in [
            EstimatorSpec::from(GradientBoosting { learning_rate: rate, max_depth: k, ..Default::default() }),
            RandomForest { min_samples_split: split, ..Default::default() }.into(),
            RandomForest { min_samples_split: MinSamplesSplit::Count(count), ..Default::default() }.into(),
            Knn { n_neighbors: k.try_into().unwrap(), ..Default::default() }.into(),
        ] {
            prop_assert_eq!(estimator.to_string().parse(), Ok(estimator));
        }
    }
}

#[test]
fn a_share_of_one_is_not_a_count_of_one() {
    assert_eq!(MinSamplesSplit::Fraction(1.0).to_string(), "1.0");
    assert_eq!("1.0".parse(), Ok(MinSamplesSplit::Fraction(1.0)));
    assert_eq!("1".parse(), Ok(MinSamplesSplit::Count(1)));
}

#[test]
fn estimators_stand_where_the_published_tensor_has_them() {
    let space = SearchSpace::paper();
    let name = |position: usize| space.estimators()[position].to_string();
    assert_eq!(name(0), "adaboost(n_estimators=100, learning_rate=1)");
    assert_eq!(name(17), "decision_tree(min_samples_split=256)");
    assert_eq!(name(18), "decision_tree(min_samples_split=2)");
    assert_eq!(name(24), "extra_trees(min_samples_split=0.0001, criterion=entropy)");
    assert_eq!(name(82), "gaussian_nb");
    assert_eq!(name(83), "knn(n_neighbors=1, p=1)");
    assert_eq!(name(130), "logistic_regression(c=4, solver=saga, penalty=l2)");
    assert_eq!(name(142), "mlp(learning_rate_init=0.01, solver=sgd, alpha=0.01)");
    assert_eq!(name(143), "perceptron");
    assert_eq!(name(160), "random_forest(min_samples_split=2, criterion=entropy)");
    assert_eq!(name(182), "linear_svm(c=8)");
    assert_eq!(space.kinds(), EstimatorKind::ALL[..11]);
}

#[test]
fn a_text_that_names_nothing_says_what_is_wrong() {
    let error = |text: &str| text.parse::<EstimatorSpec>().unwrap_err().to_string();
    assert!(error("kmm(p=1)").starts_with("there is no estimator \"kmm\"; there are adaboost, "));
    assert_eq!(error("knn(n_neighbors=3)"), "knn needs p=…");
    assert_eq!(error("knn(n_neighbors=0, p=2)"), "knn has no n_neighbors=0");
    assert_eq!(error("knn(n_neighbors=3, p=2, p=1)"), "knn has no further setting \"p\"");
    assert_eq!(error("gaussian_nb(x)"), "gaussian_nb has no further setting \"x\"");
    let steps = "impute(mean) > knn(n_neighbors=3, p=2)".parse::<Pipeline>().unwrap_err();
    assert!(
        steps.to_string().starts_with("5 components with \" > \" between them are wanted, not 2")
    );
    let encoder = BEST_ON_AVERAGE.replace("codes", "code").parse::<Pipeline>().unwrap_err();
    assert_eq!(
        encoder.to_string(),
        "there is no encoder \"code\"; there are one_hot, codes, categories"
    );
}

#[test]
fn gaps_and_categories_stay_only_before_an_estimator_that_takes_them() {
    let text = "keep_gaps > categories > unscaled > all_features > gaussian_nb";
    let error = text.parse::<Pipeline>().unwrap_err().to_string();
    assert!(error.contains("before an estimator that takes gaps"), "{error}");
    let boosting = EstimatorSpec::from(HistogramBoosting::default());
    let scaled = format!("keep_gaps > categories > standardise > all_features > {boosting}");
    assert!(scaled.parse::<Pipeline>().is_err());
    let as_it_is = format!("keep_gaps > categories > unscaled > all_features > {boosting}");
    let pipeline: Pipeline = as_it_is.parse().unwrap();
    assert_eq!((pipeline.preparation, pipeline.to_string()), (Preparation::AS_IT_IS, as_it_is));
    let wrong = Pipeline { estimator: Knn::default().into(), ..pipeline };
    let refused = SearchSpace::new(vec![Block::list("x", vec![wrong])]).unwrap_err();
    assert!(matches!(&refused, SpaceError::Steps { block, .. } if block == "x"), "{refused}");
}

#[test]
fn the_block_of_boosted_histograms_never_changes() {
    // Stores and surrogates have its key, too: add another block instead.
    let space = SearchSpace::all();
    let range = space.range_of(HISTOGRAM_BOOSTING).unwrap();
    assert_eq!((range.start, range.len()), (23_424, 51));
    let block = space.blocks().iter().find(|b| b.name() == HISTOGRAM_BOOSTING).unwrap();
    assert_eq!(BlockManifest::of(block).key(), "b0a41746f81bd570");
    let ids = || range.clone().map(|number| space.id(number).unwrap());
    for id in ids() {
        let pipeline = space.pipeline(id);
        assert_eq!(pipeline.to_string().parse(), Ok(pipeline.clone()));
        assert_eq!(space.find(&pipeline), Some(id));
    }
    let families: HashSet<usize> = ids().map(|id| space.family(id)).collect();
    assert_eq!(families.len(), 13);
}

#[test]
fn oboe_has_one_preparation_before_every_estimator() {
    let space = SearchSpace::paper();
    let ids = space.behind(Preparation::of_oboe(Imputer::MostFrequent));
    assert_eq!(ids.len(), 183);
    let text = "impute(most_frequent) > one_hot > standardise > all_features";
    assert!(ids.iter().all(|&id| space.preparation(id).to_string() == text));
}

#[test]
fn a_family_has_settings_of_one_kind() {
    let space = SearchSpace::paper();
    let slice = space.behind(Preparation::of_oboe(Imputer::Mean));
    for (i, &a) in slice.iter().enumerate() {
        for &b in slice[..i].iter().filter(|&&b| space.family(a) == space.family(b)) {
            assert_eq!(space.kind(a), space.kind(b));
        }
    }
    let n_families = slice.iter().map(|&id| space.family(id)).max().unwrap() + 1;
    assert!(n_families < 80, "{n_families}");
}

#[test]
fn the_key_of_the_paper_s_space_never_changes() {
    // Stores and surrogates have it; a change here means that none of them can be read.
    assert_eq!(SearchSpace::paper().key(), "paper-914adc4013d867d7");
}

#[test]
fn blocks_follow_each_other_and_share_components() {
    let space = SearchSpace::new(vec![paper::block(), extra()]).unwrap();
    assert_eq!(space.n_pipelines(), 23_426);
    assert_eq!(space.range_of("extra"), Some(23_424..23_426));
    assert_eq!((space.preparations().len(), space.estimators().len()), (128, 184));
    let (first, new) = (space.id(0).unwrap(), space.id(23_424).unwrap());
    assert_eq!(space.preparation_index(first), space.preparation_index(new));
    assert_eq!(space.find(&space.pipeline(new)), Some(new));
    assert_eq!(
        space.paper_block().map(|(p, range)| (p.axes(), range)),
        Some(([4, 2, 2, 8, 183], 0..23_424))
    );
    let again =
        SearchSpace::new(vec![paper::block(), Block::list("x", vec![space.pipeline(first)])]);
    assert!(matches!(again, Err(SpaceError::SamePipeline { block, .. }) if block == "x"));
    let twice = SearchSpace::new(vec![extra(), extra()]);
    assert!(matches!(twice, Err(SpaceError::SameName { .. })));
}

#[test]
fn a_manifest_gives_its_space_back() {
    let space = SearchSpace::new(vec![paper::block(), extra()]).unwrap();
    let text = serde_json::to_string(&space.manifest()).unwrap();
    let read: Manifest = serde_json::from_str(&text).unwrap();
    // With blocks that the program has, and with one that it does not have.
    let made = read.space(&SearchSpace::paper()).unwrap();
    assert_eq!((made.key(), made.n_pipelines()), (space.key(), 23_426));
    let new = space.id(23_425).unwrap();
    assert_eq!(made.pipeline(new), space.pipeline(new));
}

#[test]
fn numbers_are_mapped_by_block() {
    let list = Block::list("list", extra().pipelines());
    let (ours, theirs) = (
        SearchSpace::new(vec![paper::block(), extra()]).unwrap(),
        SearchSpace::new(vec![list.clone(), paper::block()]).unwrap(),
    );
    let mapping = SearchSpace::paper().manifest().check(&theirs).unwrap();
    assert_eq!(mapping.get(7), Some(PipelineId(9)));
    assert_eq!(mapping.get(23_424), None);
    let missing = ours.manifest().check(&theirs).unwrap_err();
    assert_eq!(missing.to_string(), "this pitchpipe has no block extra of the search space");
}

#[test]
fn a_component_that_differs_is_named() {
    let paper = SearchSpace::paper();
    let changed = |change: fn(&mut [Vec<String>; 5])| {
        let mut manifest = paper.manifest();
        let ComponentTexts::Product(steps) = &mut manifest.blocks[0].components else {
            panic!("a product")
        };
        change(steps);
        assert_ne!(manifest.key(), paper.key());
        let from_check = manifest.check(&paper).unwrap_err();
        assert_eq!(manifest.space(&paper).unwrap_err(), from_check);
        from_check.to_string()
    };
    let head = "block paper of the search space has";
    assert_eq!(
        changed(|steps| steps[4][97] = "knn(n_neighbors=10, p=1)".into()),
        format!(
            "{head} knn(n_neighbors=10, p=1) as estimator 97, but this pitchpipe has knn(n_neighbors=9, p=1) there"
        )
    );
    assert_eq!(
        changed(|steps| steps[3].swap(1, 6)),
        format!("{head} variance_threshold as reducer 1, but this pitchpipe has pca(50%) there")
    );
    assert_eq!(
        changed(|steps| steps[0].truncate(3)),
        format!("{head} nothing as imputer 3, but this pitchpipe has impute(most_frequent) there")
    );
}

#[test]
fn a_block_that_asks_for_too_much_gets_nothing() {
    let mut manifest = SearchSpace::new(vec![extra()]).unwrap().manifest();
    let ComponentTexts::Product(steps) = &mut manifest.blocks[0].components else { panic!() };
    for step in steps {
        *step = vec![step[0].clone(); 1 << 14];
    }
    let error = manifest.space(&SearchSpace::paper()).unwrap_err();
    assert!(error.to_string().contains("a search space has at most"), "{error}");
}

#[test]
fn with_categories_by_mode_pipelines_keep_their_numbers() {
    let (all, by_mode) = (SearchSpace::all(), SearchSpace::all().with_categories_by_mode());
    assert_eq!(by_mode.n_pipelines(), all.n_pipelines());
    for id in all.ids().step_by(997) {
        let (before, after) = (all.pipeline(id), by_mode.pipeline(id));
        assert_eq!(after.estimator, before.estimator);
        let imputer = before.preparation.imputer.with_categories_by_mode();
        assert_eq!(after.preparation, Preparation { imputer, ..before.preparation });
    }
}
