//! A model from its file, and later tables in its terms.

use std::path::Path;

use pitchpipe_automl::{LabelledRows, Model};
use pitchpipe_table::{CancelCheck, RawTable, ReadOptions, Schema, Source};

use crate::failure::Failure;
use crate::notes::{Remark, Voice, Weight, tell, tell_all};
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

/// Columns that are read as text beside those of categories.
pub(crate) enum AsText<'a> {
    These(&'a [String]),
    All,
}

impl AsText<'_> {
    pub(crate) const NONE: Self = Self::These(&[]);
}

/// Reads a table by the rules of a schema, and of the command line where it says otherwise.
pub(crate) fn read_for(
    schema: &Schema,
    file: &Path,
    reading: &ReadingArgs,
    as_text: AsText<'_>,
    cancel: &CancelCheck,
) -> Result<RawTable, Failure> {
    let source = Source::from_argument(file);
    let source = source.kept()?;
    read_from(schema, &source, reading, as_text, cancel)
}

/// The same of a source that can be read again.
pub(crate) fn read_from(
    schema: &Schema,
    source: &Source,
    reading: &ReadingArgs,
    as_text: AsText<'_>,
    cancel: &CancelCheck,
) -> Result<RawTable, Failure> {
    // A table without rows has no predictions, which is no error.
    let options =
        |columns: Vec<String>| ReadOptions { allow_no_rows: true, ..reading.options(columns) };
    let columns = match as_text {
        AsText::These(columns) => columns.to_vec(),
        AsText::All => {
            let table = schema.read(source, options(Vec::new()), cancel)?;
            table.columns.into_iter().map(|column| column.name).collect()
        }
    };
    schema
        .read(source, options(columns), cancel)
        .map_err(|error| Failure::from(error).of_a_models_table())
}

/// Rows that have a class, and what is to be said of their table.
pub(crate) struct Labelled {
    pub(crate) rows: LabelledRows,
    pub(crate) remarks: Vec<Remark>,
}

/// Matches a table that must have the target, and says what is to be said of it.
pub(crate) fn labelled(
    schema: &Schema,
    file: &str,
    table: RawTable,
    voice: Voice,
) -> Result<Labelled, Failure> {
    let labelled = matched(schema, file, table)?;
    let rows = &labelled.rows;
    tell(voice, file, &rows.notes);
    let lost: Option<String> = without_class(rows);
    tell_all(voice, file, Weight::Warning, lost.as_slice());
    Ok(labelled)
}

/// Matches a table that must have the target; nothing is said.
pub(crate) fn matched(schema: &Schema, file: &str, table: RawTable) -> Result<Labelled, Failure> {
    let rows =
        LabelledRows::of(schema, table).map_err(|error| Failure::of_prediction(file, &error))?;
    let lost = without_class(&rows).map(|text| Remark { severity: Weight::Warning, text });
    let remarks = rows.notes.iter().map(Remark::from).chain(lost).collect();
    Ok(Labelled { rows, remarks })
}

/// What is said of rows that cannot be measured on.
fn without_class(rows: &LabelledRows) -> Option<String> {
    let (n, n_rows) = (rows.n_left_out, rows.n_left_out + rows.dataset.n_rows());
    (n > 0).then(|| {
        format!(
            "{n} of {n_rows} rows have no class, or one that the model does not know, and are left out"
        )
    })
}
