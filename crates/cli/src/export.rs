//! `pitchpipe export`: the ensemble as a scikit-learn script.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use pitchpipe_automl::export::script_of;
use pitchpipe_table::write_atomically;

use crate::Done;
use crate::failure::Failure;
use crate::model_table::load;
use crate::output::{self, ForceArgs, Product};

/// Write a model's pipelines as a scikit-learn script.
///
/// The script holds every base learner as a make_pipeline(...) with the same hyperparameters, its weight, the
/// columns and the rule that decides. It fits the pipelines anew on a table and predicts another, read as the model's
/// was: delimiter, encoding and a header are found out. It needs Python, pandas and scikit-learn 1.2 to 1.9, and not
/// pitchpipe.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  pitchpipe export model.pp --out model.py
  python model.py training.csv new.csv > predictions.csv")]
pub(crate) struct ExportArgs {
    /// The model that `pitchpipe fit` wrote
    model: PathBuf,

    /// Where to write the script; standard output if not given
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    force: ForceArgs,
}

pub(crate) fn run(args: &ExportArgs) -> Result<Done, Failure> {
    let out = args.out.as_ref().filter(|out| out.as_os_str() != "-");
    if let Some(out) = out {
        output::check(out, &[&args.model], Product::Script, args.force)?;
    }
    let model = load(&args.model)?;
    let script = script_of(&model)
        .map_err(|error| Failure::new(format!("{}: {error}", args.model.display())))?;
    match out {
        None => Ok(Done::printed(script)),
        Some(out) => {
            write_atomically(out, script.as_bytes())?;
            let out = out.display();
            Ok(Done::saved(format!("{out}: run it with python {out} TRAINING_TABLE NEW_TABLE\n")))
        }
    }
}
