//! `pitchpipe compare`: several models side by side on one table.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use pitchpipe_automl::{Answers, Evaluation, LabelledRows, Model, paired_differences};
use pitchpipe_report::{ComparedModel, ComparisonData};
use pitchpipe_table::{CancelCheck, Labels, Source, write_atomically};

use crate::Done;
use crate::failure::Failure;
use crate::model_table::{AsText, labelled, load, read_for, schema_of};
use crate::notes::Voice;
use crate::output::{self, ForceArgs, Product};
use crate::table_args::ReadingArgs;
use crate::text::{aligned, counted, shown};

const LONGEST_NAME: usize = 40;

/// Measure several models on one table, and say which differences are more than chance.
///
/// Differences are from the first model, by the metric that it was made for, on the same rows. Intervals and p-values come
/// from drawing the rows anew 1000 times; p-values are adjusted for the number of comparisons.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  pitchpipe compare old.pp new.pp --table holdout.csv
  pitchpipe compare a.pp b.pp c.pp --table holdout.csv --out comparison.html")]
pub(crate) struct CompareArgs {
    /// The models that `pitchpipe fit` wrote, two or more
    #[arg(required = true, num_args = 2..)]
    models: Vec<PathBuf>,

    /// A table with the target that none of them was fitted on
    #[arg(long, value_name = "TABLE")]
    table: PathBuf,

    /// Also write a page, to open in a browser
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,

    /// The seed of the draws
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    #[command(flatten)]
    force: ForceArgs,

    #[command(flatten)]
    reading: ReadingArgs,
}

/// What a model says of the table, its classes in the order of the first model's.
struct Measured {
    truth: Labels,
    labels: Labels,
    probabilities: Vec<f64>,
    evaluation: Evaluation,
}

pub(crate) fn run(args: &CompareArgs) -> Result<Done, Failure> {
    if let Some(out) = &args.out {
        let models = args.models.iter().map(PathBuf::as_path);
        let inputs: Vec<&Path> = models.chain([args.table.as_path()]).collect();
        output::check(out, &inputs, Product::Report, args.force)?;
    }
    let models: Vec<Model> = args.models.iter().map(|path| load(path)).collect::<Result<_, _>>()?;
    let classes = classes_of(&models[0]);
    let mut measured = Vec::new();
    for (path, model) in args.models.iter().zip(&models) {
        measured.push(measure(args, path, model, &classes)?);
    }
    let data = compared(args, &models, &measured)?;
    if let Some(out) = &args.out {
        write_atomically(out, data.to_html().as_bytes())?;
    }
    let text = match args.json {
        true => serde_json::to_string(&data).expect("a comparison is plain data") + "\n",
        false => text(args, &data),
    };
    Ok(if args.out.is_some() { Done::saved(text) } else { Done::printed(text) })
}

fn classes_of(model: &Model) -> Vec<String> {
    model.class_names().unwrap_or_default().to_vec()
}

fn measure(
    args: &CompareArgs,
    path: &Path,
    model: &Model,
    classes: &[String],
) -> Result<Measured, Failure> {
    let schema = schema_of(model)?;
    let own = classes_of(model);
    let place = |name: &String| classes.iter().position(|class| class == name);
    // The place of each of its classes among those of the first model.
    let places: Option<Vec<usize>> = own.iter().map(place).collect();
    let Some(places) = places.filter(|_| own.len() == classes.len()) else {
        return Err(Failure::with_help(
            format!("{} predicts other classes than {}", path.display(), args.models[0].display()),
            "compare models of one target".to_owned(),
        ));
    };
    let file = Source::from_argument(&args.table).name();
    let table = read_for(schema, &args.table, &args.reading, AsText::NONE, &CancelCheck::never())?;
    let LabelledRows { dataset, .. } = labelled(schema, &file, table, Voice::default())?.rows;
    let said =
        model.predict(dataset.frame()).map_err(|error| Failure::of_prediction(&file, &error))?;
    let evaluation = model.evaluation(dataset.labels(), &said.labels, said.probabilities.values());
    let renamed = |labels: &Labels| {
        let codes = labels.codes().iter().map(|&code| places[code as usize] as u32);
        Labels::from_codes(codes, classes.len())
    };
    let mut probabilities = vec![0.0; said.probabilities.values().len()];
    let rows = said.probabilities.values().chunks_exact(classes.len());
    for (row, to) in rows.zip(probabilities.chunks_exact_mut(classes.len())) {
        row.iter().zip(&places).for_each(|(p, &place)| to[place] = *p);
    }
    let (truth, labels) = (renamed(dataset.labels()), renamed(&said.labels));
    Ok(Measured { truth, labels, probabilities, evaluation })
}

fn compared(
    args: &CompareArgs,
    models: &[Model],
    measured: &[Measured],
) -> Result<ComparisonData, Failure> {
    let metric = models[0].report().metric;
    let table = Source::from_argument(&args.table).name();
    let first = &measured[0];
    let other = args.models.iter().zip(measured).find(|(_, m)| m.truth != first.truth);
    if let Some((path, _)) = other {
        return Err(Failure::new(format!(
            "{} reads other classes in {table} than {}, so that they cannot be compared row by row",
            path.display(),
            args.models[0].display()
        )));
    }
    let answers: Vec<Answers<'_>> = measured
        .iter()
        .map(|m| Answers { labels: &m.labels, probabilities: &m.probabilities })
        .collect();
    let differences =
        paired_differences(metric, &first.truth, answers[0], &answers[1..], args.seed).ok_or_else(
            || {
                let name = metric.name().replace('_', " ");
                Failure::new(format!("{table}: its rows are of one class, which has no {name}"))
            },
        )?;
    let differences = std::iter::once(None).chain(differences.into_iter().map(Some));
    let each = args.models.iter().zip(models).zip(measured).zip(differences);
    let compared = each.map(|(((path, model), measured), difference)| ComparedModel {
        file: path.display().to_string(),
        n_base_learners: model.base_learners().len(),
        error: measured.evaluation.scores.error(metric),
        evaluation: measured.evaluation.clone(),
        difference,
    });
    Ok(ComparisonData {
        version: env!("CARGO_PKG_VERSION"),
        n_rows: first.truth.len(),
        table,
        metric: metric.name().to_owned(),
        models: compared.collect(),
    })
}

fn text(args: &CompareArgs, data: &ComparisonData) -> String {
    let head = ["error", "difference", "95 % interval", "p", "adjusted", "accuracy", "model"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for model in &data.models {
        let mut cells = vec![format!("{:.4}", model.error)];
        cells.extend(match &model.difference {
            None => ["(the first)", "", "", ""].map(str::to_owned).to_vec(),
            Some(d) => vec![
                format!("{:+.4}", d.difference),
                format!("{:+.4} to {:+.4}", d.low, d.high),
                format!("{:.3}", d.p_value),
                format!("{:.3}", d.p_value_adjusted),
            ],
        });
        cells.push(format!("{:.4}", model.evaluation.scores.accuracy));
        cells.push(shown(&model.file, LONGEST_NAME));
        rows.push(cells);
    }
    let mut text = format!(
        "{}: {}; error by {}, of which less is better\n{}",
        shown(&data.table, LONGEST_NAME),
        counted(data.n_rows, "row"),
        data.metric.replace('_', " "),
        aligned(&rows, "  ", &[0, 1, 2, 3, 4, 5]),
    );
    if let Some(out) = &args.out {
        text += &format!("\n{}: open it in a browser\n", out.display());
    }
    text
}
