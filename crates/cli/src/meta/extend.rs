//! `pitchpipe meta extend`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use pitchpipe_automl::offline::Store;
use pitchpipe_automl::offline::train::Stack;
use pitchpipe_automl::surrogate::{AddedBlock, Extension, PipelineColumn, Surrogate};
use serde_json::json;

use super::args::ExtendArgs;
use crate::console::say_line;
use crate::failure::Failure;
use crate::output::{self, Product};
use crate::text::counted;

pub(crate) fn run(args: &ExtendArgs) -> Result<String, Failure> {
    output::check_name(&args.out, Product::Surrogate, "surrogate")?;
    let inputs: [&Path; 2] = [&args.surrogate, &args.store];
    output::check(&args.out, &inputs, Product::Surrogate, args.force)?;
    let mut surrogate = if args.surrogate.as_os_str() == "default" {
        Arc::unwrap_or_clone(Surrogate::embedded())
    } else {
        Surrogate::read(&args.surrogate)?
    };
    let stack = Stack::read(&[Store::open(&args.store)?], &BTreeSet::new())?;
    if !args.pipelines.is_empty() {
        let columns = args.pipelines.iter().map(|&p| set_column(&mut surrogate, &stack, p));
        let numbers = columns.collect::<Result<Vec<_>, _>>()?;
        surrogate.write(&args.out)?;
        if args.json {
            return Ok(format!("{}\n", json!({"extended_by": "pipeline", "added": numbers})));
        }
        let what = counted(numbers.len(), "pipeline");
        let (names, out) = (numbers.join(", "), args.out.display());
        return Ok(format!("{what} estimated anew: {names}\nwritten to {out}\n"));
    }
    let extension = surrogate.extend(&stack).map_err(|e| Failure::new(e.to_string()))?;
    if extension.datasets.is_empty() && extension.blocks.is_empty() {
        let message =
            "the surrogate knows every dataset and every pipeline of the store".to_owned();
        let help = "collect others, or name --pipelines to estimate anew".to_owned();
        return Err(Failure::with_help(message, help));
    }
    for name in &extension.not_placed {
        let why = "has too few runs of known pipelines to be placed; its times alone are used";
        say_line(format_args!("warning: {name} {why}"));
    }
    surrogate.write(&args.out)?;
    if args.json {
        let object = json!({
            "extended_by": "dataset",
            "added": extension.datasets,
            "entries": extension.n_entries,
            "blocks": extension.blocks,
            "not_placed": extension.not_placed,
        });
        return Ok(format!("{object}\n"));
    }
    Ok(format!("{}written to {}\n", text(&extension), args.out.display()))
}

/// What was added, a line for the rows and one for each block.
fn text(extension: &Extension) -> String {
    let mut text = String::new();
    if !extension.datasets.is_empty() {
        let datasets = counted(extension.datasets.len(), "dataset");
        let entries = extension.n_entries;
        let names = extension.datasets.join(", ");
        text += &format!("{datasets} taken in, by {entries} runs: {names}\n");
    }
    for block in &extension.blocks {
        let AddedBlock { name, n_pipelines, n_measured, n_entries, n_datasets, kin } = block;
        let columns = counted(*n_pipelines, "column");
        let datasets = counted(*n_datasets, "dataset");
        text += &format!("{columns} added for block {name}: ");
        text += &format!("{n_measured} measured, by {n_entries} runs on {datasets}; ");
        text += &format!("kin: {}\n", kin.join(", "));
    }
    text
}

fn set_column(surrogate: &mut Surrogate, stack: &Stack, number: u32) -> Result<String, Failure> {
    let unknown = || {
        let last = surrogate.space().n_pipelines() - 1;
        let help = format!("pipelines are numbered from 0 to {last}");
        Failure::with_help(format!("there is no pipeline {number}"), help)
    };
    let pipeline = surrogate.space().id(number as usize).ok_or_else(unknown)?;
    let (mut native, mut decided) = (Vec::new(), Vec::new());
    for (at, dataset) in surrogate.facts().datasets.iter().enumerate() {
        let row = stack.rows.iter().find(|r| r.name == dataset.name);
        let seen = row.and_then(|r| r.seen.iter().find(|s| s.pipeline == number));
        if let Some(seen) = seen {
            native.push((at, f64::from(seen.error)));
            decided.extend(seen.decided.map(|e| (at, f64::from(e))));
        }
    }
    let column = PipelineColumn { pipeline, native, decided };
    surrogate.set_pipeline(&column).map_err(|e| {
        let help = "run it on datasets that the surrogate was trained on".to_owned();
        Failure::with_help(e.to_string(), help)
    })?;
    Ok(number.to_string())
}
