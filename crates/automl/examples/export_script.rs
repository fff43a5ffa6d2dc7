//! Writes the scikit-learn scripts of single pipelines, each with our own answers beside it, for the tests that
//! compare the two: `export_script TABLE TARGET FOLDER PIPELINE...`.

use std::error::Error;
use std::path::Path;

use pitchpipe_automl::export::{DecidedBy, Script};
use pitchpipe_learn::{FitContext, PipelineId, SearchSpace};
use pitchpipe_table::{
    CancelCheck, Dataset, MissingCells, OutputCells, OutputColumn, OutputFormat, ReadOptions,
    SchemaOptions, Source, read, write_atomically,
};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [table, target, folder, pipelines @ ..] = args.as_slice() else {
        return Err("usage: export_script TABLE TARGET FOLDER PIPELINE...".into());
    };
    let source = Source::from_argument(Path::new(table));
    let table = read(&source, &ReadOptions::default(), &CancelCheck::never())?;
    let options = SchemaOptions { target: Some(target.clone()), ..SchemaOptions::default() };
    let (dataset, _) = Dataset::from_table(table, &options)?;
    for number in pipelines {
        let id = SearchSpace::all().id(number.parse()?).ok_or("there is no such pipeline")?;
        write(&dataset, id, Path::new(folder))?;
    }
    Ok(())
}

fn write(dataset: &Dataset, id: PipelineId, folder: &Path) -> Result<(), Box<dyn Error>> {
    let schema = dataset.schema().ok_or("a dataset from a table has a schema")?;
    let missing = MissingCells::default().tokens();
    let pipeline = SearchSpace::all().pipeline(id);
    let learners = [(1.0, pipeline.clone())];
    let script = Script {
        schema,
        learners: &learners,
        rule: DecidedBy::MostProbable,
        missing: &missing,
        seed: 0,
    };
    write_atomically(&folder.join(format!("p{id}.py")), script.text()?.as_bytes())?;

    let ctx = FitContext::unhurried();
    let prediction = pipeline.fit(dataset, &ctx)?.predict(dataset.frame(), &ctx)?;
    let n_classes = prediction.labels.n_classes();
    let columns: Vec<OutputColumn> = (0..n_classes)
        .map(|k| {
            let values = prediction.probabilities.values().iter().skip(k).step_by(n_classes);
            OutputColumn {
                name: format!("class_{k}"),
                cells: OutputCells::Numbers(values.copied().collect()),
            }
        })
        .collect();
    write_atomically(&folder.join(format!("p{id}.csv")), &OutputFormat::Csv.encode(&columns)?)?;
    Ok(())
}
