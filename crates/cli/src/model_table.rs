//! A model from its file, and later tables in its terms.

use std::io::Read;
use std::path::Path;

use pitchpipe_automl::Model;
use pitchpipe_table::{
    Applied, CancelCheck, Dataset, Labels, MissingCells, RawTable, ReadOptions, Schema, Source,
    TableError, Target, read,
};

use crate::failure::Failure;
use crate::table_args::ReadingArgs;

/// Reads a model file.
pub(crate) fn load(path: &Path) -> Result<Model, Failure> {
    Model::read(path).map_err(|error| Failure::of_model_file(path, &error))
}

/// The schema of a model that was fitted by this command, which always has one.
pub(crate) fn schema_of(model: &Model) -> Result<&Schema, Failure> {
    model.schema().ok_or_else(|| {
        Failure::new(
            "the model was fitted on columns without names, so it cannot take a table".into(),
        )
    })
}

/// Reads a table for a schema: columns of categories as text, so that a code such as `007` keeps its zeros.
pub(crate) fn read_for(
    schema: &Schema,
    file: &Path,
    reading: &ReadingArgs,
    missing: &MissingCells,
    cancel: &CancelCheck,
) -> Result<RawTable, Failure> {
    let source = kept(Source::from_argument(file))?;
    let mut options = reading.options(schema.categorical_columns());
    missing.add_to(&mut options);
    match read(&source, &options, cancel) {
        // The reader names one column that is not there; the schema names them all.
        Err(TableError::NoSuchColumn { .. }) => {
            Ok(read(&source, &ReadOptions { categorical: Vec::new(), ..options }, cancel)?)
        }
        result => Ok(result?),
    }
}

/// Standard input can be read once only, so it is kept.
fn kept(source: Source) -> Result<Source, Failure> {
    if source != Source::Stdin {
        return Ok(source);
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|e| Failure::new(format!("standard input: could not be read: {e}")))?;
    Ok(Source::Bytes { name: source.name(), bytes })
}

/// The rows of a later table that have a class, and what is to be said about the rest.
pub(crate) struct Labelled {
    pub(crate) dataset: Dataset,
    pub(crate) notes: Vec<String>,
}

/// Matches a table that must have the target.
pub(crate) fn labelled(schema: &Schema, file: &str, table: RawTable) -> Result<Labelled, Failure> {
    let Applied { frame, truth, mut notes } =
        schema.apply(table).map_err(|error| Failure::of_schema(file, &error))?;
    let target = schema.target().expect("a model has a target");
    let truth = truth.ok_or_else(|| {
        Failure::with_help(
            format!("{file} has no column {:?}, which the model predicts", target.name),
            "add the true classes, or use pitchpipe predict".to_owned(),
        )
    })?;
    let n_rows = frame.n_rows();
    let rows: Vec<usize> = (0..n_rows).filter(|&row| truth[row].is_some()).collect();
    if rows.is_empty() {
        let message =
            format!("{file}: no row has one of the model's classes in column {:?}", target.name);
        let help = format!("the classes are {}", target.classes.join(", "));
        return Err(Failure::with_help(message, help));
    }
    if rows.len() < n_rows {
        let n = n_rows - rows.len();
        notes.push(format!(
            "{n} of {n_rows} rows have no class, or one that the model does not know, and are left out"
        ));
    }
    let labels = Labels::from_codes(truth.into_iter().flatten(), target.classes.len());
    let dataset = Dataset::from_parts(frame.select(&rows), Target::Classes(labels));
    Ok(Labelled { dataset, notes })
}

/// Says on standard error what did not match but did not stand in the way.
pub(crate) fn warn(file: &str, notes: &[String]) {
    for note in notes {
        eprintln!("note: {file}: {}", crate::text::shown(note, 400));
    }
}
