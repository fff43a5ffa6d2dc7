//! `pitchpipe export`: the ensemble as a scikit-learn script.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use pitchpipe_automl::export::script_of;
use pitchpipe_table::{check_writable, write_atomically};

use crate::failure::Failure;
use crate::model_table::load;

/// Write a model's pipelines as a scikit-learn script.
///
/// The script holds every base learner as a make_pipeline(...) with the same hyperparameters, its weight, the
/// columns and the rule that decides. It fits the pipelines anew on a table and predicts another; it needs Python,
/// scikit-learn and pandas, and not pitchpipe.
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
}

pub(crate) fn run(args: &ExportArgs) -> Result<String, Failure> {
    let out = args.out.as_ref().filter(|out| out.as_os_str() != "-");
    if let Some(out) = out {
        check_writable(out)?;
    }
    let model = load(&args.model)?;
    let script = script_of(&model)
        .map_err(|error| Failure::new(format!("{}: {error}", args.model.display())))?;
    match out {
        None => Ok(script),
        Some(out) => {
            write_atomically(out, script.as_bytes())?;
            let out = out.display();
            Ok(format!("{out}: run it with python {out} TRAINING_TABLE NEW_TABLE\n"))
        }
    }
}
