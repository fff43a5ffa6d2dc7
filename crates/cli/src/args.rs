//! The command line.

use clap::{Args as ClapArgs, Parser, Subcommand};

use crate::compare::CompareArgs;
use crate::evaluate::EvaluateArgs;
use crate::export::ExportArgs;
use crate::fit::FitArgs;
use crate::help_files::{CompletionsArgs, ManArgs};
use crate::inspect::InspectArgs;
use crate::meta::MetaArgs;
use crate::predict::PredictArgs;
use crate::report::ReportArgs;
use crate::table_args::TableArgs;

/// AutoML within a time budget.
#[derive(Debug, Parser)]
#[command(
    name = "pitchpipe",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "\
Begin with:
  pitchpipe fit table.csv --target COLUMN --time-budget 60s --out model.pp
  pitchpipe predict model.pp new.csv --out predictions.csv

Exit codes: 0 done, 1 the work failed, 2 the command line was wrong, 3 Ctrl-C ended a fit and the
best model so far was written."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Fit(Box<FitArgs>),
    Predict(PredictArgs),
    Evaluate(EvaluateArgs),
    Inspect(InspectArgs),
    Report(ReportArgs),
    Compare(CompareArgs),
    Export(ExportArgs),
    Describe(DescribeArgs),
    Meta(MetaArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

impl Command {
    /// Whether the first signal lets the command end in order, with what it has.
    pub(crate) fn is_patient(&self) -> bool {
        match self {
            Self::Fit(_) => true,
            Self::Meta(args) => args.is_patient(),
            _ => false,
        }
    }
}

/// Say what a table holds, before anything is learnt from it.
///
/// Shows what was read and how it was understood: each column's kind, its missing cells, the classes of the
/// target, and the columns that training would leave out, with the reason.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  pitchpipe describe penguins.csv
  pitchpipe describe penguins.csv --target species
  pitchpipe describe survey.csv --target answer --categorical region --missing -99
  pitchpipe describe measurements.parquet --json
  curl -s https://example.org/data.csv | pitchpipe describe -

What to look for: codes that are taken for numbers (--categorical), a sign for missing cells that is
taken for a value (--missing), a column that gives the answer away (--exclude).")]
pub(crate) struct DescribeArgs {
    /// The column to predict: its classes are counted
    #[arg(long, value_name = "COLUMN")]
    pub(crate) target: Option<String>,

    #[command(flatten)]
    pub(crate) table: TableArgs,

    /// Also compute the paper's meta-features: counts, moments, and how well simple models do on ten folds, which takes
    /// seconds on large tables
    #[arg(long, requires = "target")]
    pub(crate) meta_features: bool,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }
}
