//! How much each column matters to a model, on a table with the target.

use std::path::Path;

use pitchpipe_automl::{Importance, Model, importances};
use pitchpipe_table::{CancelCheck, Source};

use crate::failure::Failure;
use crate::model_table::{AsText, labelled, read_for, schema_of};
use crate::notes::Voice;
use crate::table_args::ReadingArgs;

pub(super) fn measure(
    model: &Model,
    file: &Path,
    reading: &ReadingArgs,
) -> Result<Vec<Importance>, Failure> {
    let schema = schema_of(model)?;
    let name = Source::from_argument(file).name();
    let table = read_for(schema, file, reading, AsText::NONE, &CancelCheck::never())?;
    let rows = labelled(schema, &name, table, Voice::default())?.rows;
    importances(model, &rows.dataset).map_err(|error| Failure::of_prediction(&name, &error))
}
