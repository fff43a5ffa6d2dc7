//! `pitchpipe describe`: what a table holds, before anything is learnt from it.

mod json;
mod summary;

use pitchpipe_table::{CancelCheck, Report, Schema, read};

use crate::args::DescribeArgs;
use crate::failure::Failure;

/// What there is to say about a file.
struct Description<'a> {
    file: &'a str,
    target: Option<&'a str>,
    report: &'a Report,
}

pub(crate) fn run(args: &DescribeArgs) -> Result<String, Failure> {
    let source = args.table.source();
    let file = source.name();
    let table =
        read(&source, &args.table.read_options(args.target.as_ref()), &CancelCheck::never())?;
    let options = args.table.schema_options(args.target.as_ref());
    let (_, report) =
        Schema::infer(table, &options).map_err(|error| Failure::of_schema(&file, &error))?;
    let description = Description { file: &file, target: args.target.as_deref(), report: &report };
    Ok(if args.json { json::of(&description) } else { summary::of(&description) })
}
