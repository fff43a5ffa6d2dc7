//! As much of JSON Schema as docs/schema uses; a word it does not know is an error, not a pass.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

/// The schema of a file in docs/schema.
fn load(name: &str) -> Value {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    serde_json::from_slice(&fs::read(folder.join(name)).unwrap()).unwrap()
}

/// What of a value is not as the schema in a file says; empty where all is.
pub(crate) fn check(value: &Value, schema: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    check_at(value, &load(schema), "", &mut wrong);
    wrong
}

fn check_at(value: &Value, schema: &Value, at: &str, wrong: &mut Vec<String>) {
    let mut say = |what: String| wrong.push(format!("{at}: {what}"));
    for (word, rule) in schema.as_object().expect("a schema is an object") {
        match word.as_str() {
            "$schema" | "description" | "additionalProperties" => (),
            "$ref" => return check_at(value, &load(rule.as_str().unwrap()), at, wrong),
            "type" => {
                if !types(rule).iter().any(|name| is_of(value, name)) {
                    say(format!("{value} is no {rule}"));
                }
            }
            "const" if value != rule => say(format!("{value} is not {rule}")),
            "enum" if !rule.as_array().unwrap().contains(value) => {
                say(format!("{value} is none of {rule}"));
            }
            "const" | "enum" => (),
            "minimum" | "maximum" => {
                let (value, bound) = (value.as_f64(), rule.as_f64().unwrap());
                let is_in = |v: f64| if word == "minimum" { v >= bound } else { v <= bound };
                if !value.is_none_or(is_in) {
                    say(format!("{value:?} is beyond the {word} of {bound}"));
                }
            }
            "required" => {
                for name in rule.as_array().unwrap().iter().filter_map(Value::as_str) {
                    if value.is_object() && value.get(name).is_none() {
                        say(format!("there is no {name}"));
                    }
                }
            }
            "properties" | "items" | "oneOf" | "anyOf" => (),
            other => say(format!("the checker does not know {other}")),
        }
    }
    check_parts(value, schema, at, wrong);
}

fn check_parts(value: &Value, schema: &Value, at: &str, wrong: &mut Vec<String>) {
    if let (Some(fields), Some(known)) = (value.as_object(), schema.get("properties")) {
        for (name, field) in fields {
            match known.get(name) {
                Some(rule) => check_at(field, rule, &format!("{at}.{name}"), wrong),
                None if schema["additionalProperties"] == false => {
                    wrong.push(format!("{at}: {name} is not known"));
                }
                None => (),
            }
        }
    }
    if let (Some(items), Some(rule)) = (value.as_array(), schema.get("items")) {
        for (i, item) in items.iter().enumerate() {
            check_at(item, rule, &format!("{at}[{i}]"), wrong);
        }
    }
    for word in ["oneOf", "anyOf"] {
        let Some(choices) = schema.get(word).and_then(Value::as_array) else { continue };
        let tried: Vec<Vec<String>> = choices
            .iter()
            .map(|choice| {
                let mut own = Vec::new();
                check_at(value, choice, at, &mut own);
                own
            })
            .collect();
        let n_right = tried.iter().filter(|own| own.is_empty()).count();
        if n_right == 0 || (word == "oneOf" && n_right > 1) {
            let nearest = tried.into_iter().min_by_key(Vec::len).unwrap_or_default();
            wrong.push(format!("{at}: {n_right} of the choices fit; of the nearest: {nearest:?}"));
        }
    }
}

fn types(rule: &Value) -> Vec<&str> {
    match rule {
        Value::String(name) => vec![name],
        names => names.as_array().unwrap().iter().filter_map(Value::as_str).collect(),
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}
