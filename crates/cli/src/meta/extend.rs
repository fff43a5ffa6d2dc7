//! `pitchpipe meta extend`.

use std::collections::BTreeSet;
use std::path::Path;

use pitchpipe_automl::offline::Store;
use pitchpipe_automl::offline::train::{Stack, StackRow};
use pitchpipe_automl::surrogate::{DatasetRow, ExtendError, PipelineColumn, Surrogate};
use serde_json::json;

use super::args::ExtendArgs;
use crate::failure::Failure;
use crate::output::{self, Product};
use crate::text::counted;

pub(crate) fn run(args: &ExtendArgs) -> Result<String, Failure> {
    output::check_name(&args.out, Product::Surrogate, "surrogate")?;
    let inputs: [&Path; 2] = [&args.surrogate, &args.store];
    output::check(&args.out, &inputs, Product::Surrogate, args.force)?;
    let mut surrogate = Surrogate::read(&args.surrogate)?;
    let stack = Stack::read(&[Store::open(&args.store)?], &BTreeSet::new())?;
    let added = if args.pipelines.is_empty() {
        let rows = add_rows(&mut surrogate, &stack)?;
        if rows.is_empty() {
            let message = "the surrogate knows every dataset of the store".to_owned();
            let help = "collect others, or name --pipelines to estimate anew".to_owned();
            return Err(Failure::with_help(message, help));
        }
        rows
    } else {
        let columns = args.pipelines.iter().map(|&p| set_column(&mut surrogate, &stack, p));
        columns.collect::<Result<Vec<_>, _>>()?
    };
    surrogate.write(&args.out)?;
    let what = if args.pipelines.is_empty() { "dataset" } else { "pipeline" };
    if args.json {
        let object = json!({"extended_by": what, "added": added});
        return Ok(format!("{object}\n"));
    }
    let names = added.join(", ");
    Ok(format!(
        "{} taken in: {names}\nwritten to {}\n",
        counted(added.len(), what),
        args.out.display()
    ))
}

fn add_rows(surrogate: &mut Surrogate, stack: &Stack) -> Result<Vec<String>, Failure> {
    let mut added = Vec::new();
    for row in &stack.rows {
        let content = row.about.as_ref().and_then(|a| a.content.clone());
        if content.as_deref().is_some_and(|c| surrogate.facts().knows_content(c)) {
            continue;
        }
        let new = DatasetRow {
            name: row.name.clone(),
            content,
            native: errors(row, |s| Some(s.error)),
            decided: errors(row, |s| s.decided),
        };
        match surrogate.add_dataset(&new) {
            Ok(()) => added.push(row.name.clone()),
            Err(ExtendError::Known { .. }) => {}
            Err(e) => return Err(Failure::new(format!("{}: {e}", row.name))),
        }
    }
    Ok(added)
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

fn errors(
    row: &StackRow,
    of: fn(&pitchpipe_automl::offline::Seen) -> Option<f32>,
) -> Vec<(usize, f64)> {
    row.seen.iter().filter_map(|s| Some((s.pipeline as usize, f64::from(of(s)?)))).collect()
}
