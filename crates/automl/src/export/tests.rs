use pitchpipe_learn::{Preparation, SearchSpace};
use pitchpipe_table::{CancelCheck, Dataset, ReadOptions, SchemaOptions, Source, read};

use super::*;

const TABLE: &str = "size,colour,day,kind\n1,red,2024-01-01,a\n2,blue,2024-02-01,b\n\
                     3,red,2024-03-02,a\n4,blue,2025-01-01,\"b \"\"c\"\"\"\n5,green,2024-01-05,a\n";

fn schema(text: &str) -> std::sync::Arc<Schema> {
    let source = Source::Bytes { name: "t.csv".into(), bytes: text.as_bytes().to_vec() };
    let table = read(&source, &ReadOptions::default(), &CancelCheck::never()).unwrap();
    let options = SchemaOptions { target: Some("kind".into()), ..SchemaOptions::default() };
    let (dataset, _) = Dataset::from_table(table, &options).unwrap();
    dataset.schema().unwrap().clone()
}

fn script(learners: &[(f64, Pipeline)], rule: DecidedBy) -> String {
    let schema = schema(TABLE);
    Script { schema: &schema, learners, rule, missing: &["NA".to_owned()], seed: 7 }.text().unwrap()
}

fn pipeline(text: &str) -> Pipeline {
    text.parse().unwrap()
}

#[test]
fn a_pipeline_is_written_step_by_step() {
    let boosted = "impute(mean) > one_hot > standardise > select_k_best(50%) > \
                   gradient_boosting(learning_rate=0.25, max_depth=3, max_features=all)";
    let text = script(&[(0.75, pipeline(boosted))], DecidedBy::BalancedError);
    let expected = "    (0.75, make_pipeline(
        SimpleImputer(strategy=\"mean\"),
        one_hot(),
        StandardScaler(),
        SelectKBest(f_classif, k=3),
        GradientBoostingClassifier(learning_rate=0.25, max_depth=3, max_features=None, random_state=7),
    )),
]";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("CLASSES = [\"a\", \"b\", \"b \\\"c\\\"\"]"), "{text}");
    assert!(text.contains("    \"colour\": [\"blue\", \"green\", \"red\"],"), "{text}");
    assert!(text.contains("CATEGORICAL = [1]"), "{text}");
    assert!(text.contains("(votes - shares) / (shares * (1 - shares))"), "{text}");
}

#[test]
fn boosted_histograms_are_given_gaps_and_categories_as_they_are() {
    let boosted = "keep_gaps > categories > unscaled > all_features > histogram_boosting(learning_rate=0.1, \
                   max_leaf_nodes=31, min_samples_leaf=20, l2_regularization=1, column_share=1, row_share=1, \
                   max_iter=200)";
    let text = script(&[(1.0, pipeline(boosted))], DecidedBy::MostProbable);
    let expected = "make_pipeline(
        FunctionTransformer(unseen_is_missing),
        HistGradientBoostingClassifier(learning_rate=0.1, max_leaf_nodes=31, min_samples_leaf=20, \
                    l2_regularization=1.0, max_iter=200, early_stopping=False, \
                    categorical_features=CATEGORICAL or None, random_state=7),
    )";
    assert!(text.contains(expected), "{text}");
    assert!(
        text.contains("def unseen_is_missing(x):") && !text.contains("SimpleImputer"),
        "{text}"
    );
}

#[test]
fn many_levels_are_told_apart_by_how_frequent_they_are() {
    let rows = (0..600).map(|i| format!("shop{},{}\n", i % 300, i % 2));
    let schema = schema(&std::iter::once("shop,kind\n".to_owned()).chain(rows).collect::<String>());
    let of = |steps: &str| {
        let learners = [(1.0, pipeline(steps))];
        let rule = DecidedBy::MostProbable;
        Script { schema: &schema, learners: &learners, rule, missing: &[], seed: 7 }.text().unwrap()
    };
    let boosted = of(
        "keep_gaps > categories > unscaled > all_features > histogram_boosting(learning_rate=0.1, \
                      max_leaf_nodes=31, min_samples_leaf=20, l2_regularization=1, column_share=1, row_share=1, \
                      max_iter=200)",
    );
    assert!(boosted.contains("        RareShareACode(),\n"), "{boosted}");
    assert!(boosted.contains("def most_frequent(cells):"), "{boosted}");
    let one_hot = of("impute(constant) > one_hot > unscaled > all_features > gaussian_nb");
    assert!(one_hot.contains("encoder = FrequentOneHot("), "{one_hot}");
    assert!(!one_hot.contains("RareShareACode"), "{one_hot}");
}

#[test]
fn categories_are_filled_by_their_mode_where_the_pipeline_says_so() {
    let bayes = "impute(mean_or_mode) > one_hot > unscaled > all_features > gaussian_nb";
    let text = script(&[(1.0, pipeline(bayes))], DecidedBy::MostProbable);
    assert!(text.contains("        ByKind(\"mean\"),\n        one_hot(),\n"), "{text}");
    for part in ["class ByKind(", "import BaseEstimator", "import SimpleImputer"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn only_what_is_used_is_imported() {
    let bayes = "impute(constant) > codes > unscaled > all_features > gaussian_nb";
    let text = script(&[(1.0, pipeline(bayes))], DecidedBy::MostProbable);
    assert!(text.contains("from sklearn.naive_bayes import GaussianNB\n"));
    for absent in
        ["import re\n", "SoftDecisions", "StandardScaler", "OneHotEncoder", "VERSION", "ensemble"]
    {
        assert!(!text.contains(absent), "{absent} in {text}");
    }
    assert!(text.contains("FunctionTransformer(unseen_is_missing)"));
}

#[test]
fn every_estimator_has_an_expression() {
    for spec in SearchSpace::all().estimators() {
        let one = Pipeline { preparation: Preparation::default(), estimator: spec.clone() };
        let text = script(&[(1.0, one)], DecidedBy::MajorityVote);
        assert!(text.contains(&spec.scikit_learn(&mut PythonScript::new(3, 7))), "{spec}");
        assert!(text.contains("model.predict(x)"));
    }
}

#[test]
fn names_cannot_end_the_docstring() {
    assert_eq!(docstring_word("a\"\"\"\n\\b"), "a_____b");
}
