//! A model as programs read it: the same structure in `fit --json`, `inspect --json` and on the page.

use pitchpipe_automl::{Importance, Model};
use serde_json::{Value, json};

/// How a model was made and what it is made of.
pub fn report_json(model: &Model) -> Value {
    let learners = model.base_learners().iter().map(|learner| {
        json!({
            "weight": learner.weight(),
            "pipeline": learner.pipeline().to_string(),
            "settings": learner.pipeline(),
            "models": learner.n_models(),
        })
    });
    let mut object = serde_json::to_value(model.report()).expect("a report is plain data");
    object["base_learners"] = learners.collect();
    object["combination"] = json!(model.combination());
    object["decision"] = json!(model.decision());
    object
}

/// How much columns matter.
pub fn importance_json(importances: &[Importance]) -> Value {
    let all = importances.iter().map(|i| {
        json!({"column": i.column, "error_increase": i.increase, "standard_error": i.standard_error})
    });
    all.collect()
}
