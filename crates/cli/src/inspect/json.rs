//! A model for machines: one JSON object.

use pitchpipe_automl::{Importance, Model};
use pitchpipe_table::{Kind, Schema};
use serde_json::{Value, json};

pub(super) fn of(file: &str, model: &Model, importances: Option<&[Importance]>) -> String {
    let mut object = json!({
        "file": file,
        "report": report_json(model),
        "schema": model.schema().map(schema_json),
    });
    if let Some(importances) = importances {
        let all = importances.iter().map(|i| {
            json!({"column": i.column, "error_increase": i.increase, "standard_error": i.standard_error})
        });
        object["importance"] = all.collect();
    }
    format!("{object}\n")
}

/// How a model was made and what it is made of.
pub(crate) fn report_json(model: &Model) -> Value {
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

fn schema_json(schema: &Schema) -> Value {
    let columns = schema.inputs().iter().map(|input| match &input.kind {
        Kind::Numeric => json!({"name": input.name, "kind": "numeric"}),
        Kind::Categorical(levels) => {
            json!({"name": input.name, "kind": "categorical", "levels": levels.names()})
        }
        Kind::Date(parts) => json!({
            "name": input.name, "kind": "date",
            "parts": parts.iter().map(|part| part.name()).collect::<Vec<_>>(),
        }),
    });
    let left_out = schema
        .left_out()
        .iter()
        .map(|column| json!({"name": column.name, "reason": column.reason.to_string()}));
    let target = schema.target().map(|t| json!({"name": t.name, "classes": t.classes}));
    json!({
        "columns": columns.collect::<Vec<_>>(),
        "target": target,
        "left_out": left_out.collect::<Vec<_>>(),
    })
}
