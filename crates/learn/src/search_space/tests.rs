use std::collections::HashSet;

use super::*;
use crate::estimate::{GradientBoosting, MaxFeatures};
use crate::reduce::Share;

#[test]
fn the_best_pipeline_on_average_is_the_one_that_the_paper_names() {
    // ALGORITHMS §2 (iv): mode imputation, codes, standardise, drop constant features, boosting.
    let id = PipelineId::new(21_669).unwrap();
    assert_eq!(id.positions(), [3, 1, 0, 6, 75]);
    let pipeline = id.pipeline();
    assert_eq!(
        pipeline.preparation,
        Preparation {
            imputer: Imputer::MostFrequent,
            encoder: Encoder::None,
            scaler: Scaler::Standardise,
            reducer: Reducer::VarianceThreshold,
        }
    );
    let EstimatorSpec::GradientBoosting(GradientBoosting {
        learning_rate,
        max_depth,
        max_features,
    }) = pipeline.estimator
    else {
        panic!("gradient boosting, not {}", pipeline.estimator)
    };
    assert_eq!((learning_rate, max_depth, max_features), (0.25, 3, MaxFeatures::All));
}

#[test]
fn every_pipeline_is_found_again_and_has_a_name_of_its_own() {
    assert_eq!(estimators().len(), N_ESTIMATORS);
    let mut names = HashSet::new();
    for id in PipelineId::all() {
        let pipeline = id.pipeline();
        assert_eq!(PipelineId::of(&pipeline), Some(id));
        assert_eq!(PipelineId::from_positions(id.positions()), Some(id));
        assert!(names.insert(pipeline.to_string()));
    }
    assert_eq!(names.len(), 23_424);
    assert_eq!(PipelineId::new(N_PIPELINES), None);
    assert_eq!(PipelineId::from_positions([0, 0, 0, 8, 0]), None);
}

#[test]
fn estimators_stand_where_the_published_tensor_has_them() {
    let name = |position: usize| estimators()[position].to_string();
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
}

#[test]
fn a_pipeline_reads_like_its_steps() {
    let id = PipelineId::from_positions([1, 0, 0, 1, 182]).unwrap();
    assert_eq!(id.pipeline().preparation.reducer, Reducer::Pca(Share::Half));
    let text = "impute(mean) > one_hot > standardise > pca(50%) > linear_svm(c=8)";
    assert_eq!(id.pipeline().to_string(), text);
}

#[test]
fn the_oboe_slice_is_one_hot_standardised_and_unreduced() {
    let ids: Vec<_> = PipelineId::oboe_slice(Imputer::MostFrequent).collect();
    assert_eq!(ids.len(), 183);
    assert!(ids.iter().all(|id| id.positions()[..4] == [3, 0, 0, 7]));
}

#[test]
fn ids_out_of_range_do_not_load() {
    assert_eq!(serde_json::to_string(&PipelineId::new(7).unwrap()).unwrap(), "7");
    let err = serde_json::from_str::<PipelineId>("23424").unwrap_err();
    assert!(err.to_string().starts_with("there are 23424 pipelines, so none is number 23424"));
}
