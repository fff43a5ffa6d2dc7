//! `pitchpipe describe`: what a table holds, before anything is learnt from it.

mod json;
mod summary;

use pitchpipe_table::{CancelCheck, Dataset, MetaFeature, Schema, TableReport, read};

use crate::args::DescribeArgs;
use crate::failure::Failure;

/// What there is to say about a file.
struct Description<'a> {
    file: &'a str,
    target: Option<&'a str>,
    report: &'a TableReport,
    /// Empty where they were not asked for.
    meta_features: Vec<MetaFeature>,
}

pub(crate) fn run(args: &DescribeArgs) -> Result<String, Failure> {
    let source = args.table.source();
    let file = source.name();
    let table =
        read(&source, &args.table.read_options(args.target.as_ref()), &CancelCheck::never())?;
    let options = args.table.schema_options(args.target.as_ref());
    let unclear = |error| Failure::of_schema(&file, &error);
    let (meta_features, report) = if args.meta_features {
        let (dataset, report) = Dataset::from_table(table, &options).map_err(unclear)?;
        let features = pitchpipe_automl::meta_features(&dataset)
            .map_err(|error| Failure::new(format!("{file}: {error}")))?;
        (features, report)
    } else {
        (Vec::new(), Schema::infer(table, &options).map_err(unclear)?.1)
    };
    let target = args.target.as_deref();
    let description = Description { file: &file, target, report: &report, meta_features };
    Ok(if args.json { json::of(&description) } else { summary::of(&description) })
}
