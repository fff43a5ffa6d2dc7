//! Pipelines that a surrogate was not trained on, searched.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use pitchpipe_automl::offline::train::{Stack, StackRow};
use pitchpipe_automl::offline::{About, Seen};
use pitchpipe_automl::surrogate::{Surrogate, TableSize};
use pitchpipe_automl::{AutoMl, Happened};
use pitchpipe_learn::search_space::Block;
use pitchpipe_learn::{Pipeline, PipelineId, SearchSpace};
use pitchpipe_table::{Column, Dataset, Labels};

/// Datasets that the new pipelines were run on.
const N_MEASURED: usize = 30;

/// Boosting with rates that the paper does not have, without encoders and scales, which trees do not need.
fn block() -> Block {
    let rates = ["0.03", "0.3", "0.4"].map(|rate| {
        let text = format!(
            "impute(mean) > codes > unscaled > all_features > \
             gradient_boosting(learning_rate={rate}, max_depth=3, max_features=all)"
        );
        text.parse::<Pipeline>()
    });
    Block::list("rates", rates.into_iter().collect::<Result<_, _>>().expect("pipelines"))
}

/// Runs of the block on training datasets of the embedded surrogate, all but without errors.
fn runs() -> Stack {
    let paper = SearchSpace::paper();
    let blocks = paper.blocks().iter().cloned().chain([block()]).collect();
    let space = Arc::new(SearchSpace::new(blocks).expect("a space"));
    let size = TableSize {
        n_rows: 200,
        n_features: 4,
        n_encoded: 4,
        n_classes: Some(3),
        largest_scale: None,
    };
    let numbers = space.range_of("rates").expect("the block");
    let seen =
        |j: usize| Seen { pipeline: j as u32, error: 0.001, decided: Some(0.001), runtime_s: 0.05 };
    let surrogate = Surrogate::embedded();
    let own = surrogate.facts().datasets.iter().filter(|d| !d.is_published);
    let row = |name: &String| StackRow {
        name: name.clone(),
        is_published: false,
        about: Some(About { content: None, size }),
        seen: numbers.clone().map(seen).collect(),
    };
    let rows = own.take(N_MEASURED).map(|d| row(&d.name)).collect();
    // As few entries as a store of a small block has.
    Stack { space, rows: Vec::new(), left_out: Vec::new(), too_few: rows, damaged: Vec::new() }
}

fn dataset() -> Dataset {
    let n_rows = 150;
    let column =
        |j: usize| Column::Numeric((0..n_rows).map(|i| ((i * (j + 3)) % 17) as f64).collect());
    // One row in five is of the other class, for no reason that the columns know: no pipeline is without error.
    let class = |i: usize| u32::from(((i * 3) % 17 > 8) != i.is_multiple_of(5));
    let labels = Labels::from_codes((0..n_rows).map(class), 2);
    Dataset::new((0..4).map(column).collect(), labels)
}

#[test]
fn a_block_that_was_added_is_searched() {
    let mut surrogate = Arc::unwrap_or_clone(Surrogate::embedded());
    let extension = surrogate.extend(&runs()).expect("an extension");
    assert_eq!(extension.blocks[0].n_entries, 3 * N_MEASURED);
    let space = Arc::clone(surrogate.space());
    let numbers = space.range_of("rates").expect("the block");
    let is_new = |id: &_| numbers.contains(&PipelineId::index(*id));
    let new: Vec<Pipeline> = space.ids().filter(is_new).map(|id| space.pipeline(id)).collect();
    assert_eq!(new.len(), 3);
    let mut tried = 0;
    let model = AutoMl::new()
        .surrogate(Arc::new(surrogate))
        .time_budget(Duration::from_secs(3600))
        .max_evaluations(40)
        .fit_with(&dataset(), |event| {
            if let Happened::Finished { pipeline, .. } = &event.what {
                tried += usize::from(new.contains(pipeline));
            }
            ControlFlow::Continue(())
        })
        .expect("a model");
    // What did so well elsewhere is among the first to be run.
    assert!(tried > 0, "{:?}", model.report().leaderboard);
}
