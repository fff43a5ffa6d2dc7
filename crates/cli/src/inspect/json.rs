//! A model for machines: one JSON object.

use pitchpipe_automl::{Importance, Model, Speed};
use pitchpipe_report::{importance_json, report_json};
use pitchpipe_table::{Input, Kind, Schema};
use serde_json::{Value, json};

pub(super) fn of(
    file: &str,
    model: &Model,
    importances: Option<&[Importance]>,
    speed: Option<&Speed>,
) -> String {
    let mut object = json!({
        "file": file,
        "report": report_json(model),
        "schema": model.schema().map(schema_json),
    });
    if let Some(importances) = importances {
        object["importance"] = importance_json(importances);
    }
    if let Some(Speed { learner_secs, row_secs, single_row_secs }) = speed {
        object["speed"] = json!({
            "learner_secs": learner_secs,
            "row_secs": row_secs,
            "single_row_secs": single_row_secs,
        });
    }
    format!("{object}\n")
}

/// The columns that a model expects.
pub fn schema_json(schema: &Schema) -> Value {
    let columns = schema.inputs().iter().map(|input| {
        let mut column = column_json(input);
        if let Some(rule) = &input.rule {
            column["read_as"] = json!(rule.in_words());
        }
        column
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

fn column_json(input: &Input) -> Value {
    match &input.kind {
        Kind::Numeric => json!({"name": input.name, "kind": "numeric"}),
        Kind::Categorical(levels) => {
            json!({"name": input.name, "kind": "categorical", "levels": levels.names()})
        }
        Kind::Date(parts) => json!({
            "name": input.name, "kind": "date",
            "parts": parts.iter().map(|part| part.name()).collect::<Vec<_>>(),
        }),
        Kind::FreeText(groups) => {
            json!({"name": input.name, "kind": "free_text", "parts": groups.names()})
        }
    }
}
