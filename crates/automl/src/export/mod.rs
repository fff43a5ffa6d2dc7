//! An ensemble as a scikit-learn script: something to read, to run and to carry on from without us.
//!
//! The script holds each base learner as a `make_pipeline(...)` with the same hyperparameters, its weight,
//! the columns as they are understood and the rule that decides. It fits each pipeline once on all rows of a
//! table, where we keep the models of the folds; so it agrees with the model in all but a few close cases.

mod categories;
mod components;
mod imports;

use std::fmt::Write;

use pitchpipe_learn::Pipeline;
use pitchpipe_learn::encode::Encoder;
use pitchpipe_learn::scikit_learn::{PythonHelper, PythonScript};
use pitchpipe_table::{CellRule, DateOrder, Decision, Input, Kind, Schema, ShortClock};

use crate::{Combination, Model};
use categories::Categories;
use components::{imputer, reducer, scaler};

/// The scikit-learn releases that scripts are tested on: the oldest and the newest.
pub const OLDEST: &str = "1.2";
/// The newest of them.
pub const NEWEST: &str = "1.9";

/// How every script begins.
pub const SCRIPT_OPENING: &str = "#!/usr/bin/env python3\n\"\"\"What pitchpipe found to predict ";

/// What a script is made of.
#[derive(Clone, Debug)]
pub struct Script<'a> {
    /// The columns and the classes.
    pub schema: &'a Schema,
    /// The base learners, each with its weight.
    pub learners: &'a [(f64, Pipeline)],
    /// How a row's class is decided.
    pub rule: DecidedBy,
    /// The cells that stand for a missing value.
    pub missing: &'a [String],
    /// The seed of the estimators that draw random numbers.
    pub seed: u64,
}

/// How the answers of the base learners become one class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DecidedBy {
    /// Each base learner has as many votes as its weight.
    MajorityVote,
    /// The class with the largest mean probability.
    MostProbable,
    /// The class with the largest mean probability divided by its share of the training rows.
    BalancedAccuracy,
    /// The class with the largest (p - share) / (share (1 - share)).
    BalancedError,
}

/// Why there is no script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The model was fitted on a dataset without column names.
    #[error("the model knows no column names, so a script could not read a table for it")]
    NoColumnNames,
}

const CELLS: &str = include_str!("cells.py");
const COLUMNS: &str = include_str!("columns.py");
const SOFT_DECISIONS: &str = include_str!("soft_decisions.py");
const SAMME_R: &str = include_str!("samme_r.py");
const MAIN: &str = include_str!("main.py");

/// The script of a model.
pub fn script_of(model: &Model) -> Result<String, ExportError> {
    let schema = model.schema().ok_or(ExportError::NoColumnNames)?;
    let learners: Vec<(f64, Pipeline)> =
        model.base_learners().iter().map(|l| (l.weight(), l.pipeline().clone())).collect();
    let rule = match (model.combination(), model.decision()) {
        (Combination::Vote, _) => DecidedBy::MajorityVote,
        (Combination::Average, Decision::Native | Decision::Accuracy) => DecidedBy::MostProbable,
        (Combination::Average, Decision::BalancedAccuracy) => DecidedBy::BalancedAccuracy,
        (Combination::Average, Decision::BalancedError) => DecidedBy::BalancedError,
    };
    let (missing, seed) = (schema.reading().missing.tokens(), model.report().seed);
    Script { schema, learners: &learners, rule, missing: &missing, seed }.text()
}

impl Script<'_> {
    /// The text of the script.
    pub fn text(&self) -> Result<String, ExportError> {
        let target = self.schema.target().ok_or(ExportError::NoColumnNames)?;
        let mut script = PythonScript::new(target.classes.len(), self.seed);
        let pipelines = self.pipelines(&mut script);
        let mut text = self.opening(&target.name);
        text += &imports::text(&script, self.reads_by_rules());
        text += &self.constants(&target.name, &target.classes);
        if script.needs(PythonHelper::SoftDecisions) {
            text += SOFT_DECISIONS;
        }
        if script.needs(PythonHelper::SammeR) {
            text += SAMME_R;
        }
        text += &pipelines;
        if self.reads_by_rules() {
            text += CELLS;
        }
        text += COLUMNS;
        text += &self.rule();
        text += MAIN;
        Ok(text)
    }

    fn opening(&self, target: &str) -> String {
        let n = self.learners.len();
        let pipelines = if n == 1 { "one pipeline".to_owned() } else { format!("{n} pipelines") };
        format!(
            r#"{SCRIPT_OPENING}{}: {pipelines}, as a scikit-learn script.

    python THIS_SCRIPT TRAINING_TABLE NEW_TABLE > predictions.csv

fits the pipelines on the first table (delimited text, Parquet or Arrow) and predicts the rows of the second. It asks
for pandas and scikit-learn {OLDEST} to {NEWEST}; install pitchpipe for the model itself, which needs neither.
"""

"#,
            docstring_word(target)
        )
    }

    fn constants(&self, target: &str, classes: &[String]) -> String {
        let mut text = format!("TARGET = {}\nCLASSES = {}\n\n", literal(target), list(classes));
        text += "# What each column is: a number, categories in the order of their codes, a date by its parts, or free text\n";
        text += "# by its groups of words.\n";
        text += "COLUMNS = {\n";
        for input in self.schema.inputs() {
            let kind = match &input.kind {
                Kind::Numeric => "\"number\"".to_owned(),
                Kind::Categorical(levels) => list(levels.names()),
                Kind::Date(parts) => {
                    let parts: Vec<String> = parts.iter().map(|p| literal(p.name())).collect();
                    format!("({},)", parts.join(", "))
                }
                Kind::FreeText(groups) => {
                    let groups: Vec<String> = groups.groups().iter().map(u32::to_string).collect();
                    format!("{{\"groups\": [{}]}}", groups.join(", "))
                }
            };
            writeln!(text, "    {}: {kind},", literal(&input.name)).expect("a string takes it");
        }
        text += "}\n";
        let positions: Vec<String> =
            self.categorical_positions().iter().map(usize::to_string).collect();
        text += &self.rules();
        text += &format!("CATEGORICAL = [{}]\n", positions.join(", "));
        let missing: Vec<String> =
            std::iter::once(String::new()).chain(self.missing.iter().cloned()).collect();
        text += &format!("MISSING = {}\n", list(&missing));
        text += &self.reading();
        text
    }

    /// How the training table was written.
    fn reading(&self) -> String {
        let reading = self.schema.reading();
        let is_position = |name: &String| {
            name.strip_prefix("column_").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
        };
        let mut names = self.schema.inputs().iter().map(|input| &input.name);
        // Models made before 0.2 do not say.
        let has_names = reading.header.unwrap_or_else(|| !names.all(is_position));
        let delimiter = reading.delimiter.unwrap_or(',').to_string();
        let has_names = if has_names { "True" } else { "False" };
        format!(
            "# How the training table was written.\nDELIMITER = {}\nHAS_NAMES = {has_names}\n\n\n",
            literal(&delimiter)
        )
    }

    /// How cells are read that are neither plain numbers nor ISO dates.
    fn rules(&self) -> String {
        let rule = |input: &Input| {
            let (kind, how) = match input.rule.as_ref()? {
                CellRule::Number(rule) => ("number", if rule.decimal_comma { "," } else { "." }),
                CellRule::Duration(ShortClock::HoursMinutes) => ("duration", "hours"),
                CellRule::Duration(ShortClock::MinutesSeconds) => ("duration", "minutes"),
                CellRule::Date(DateOrder::DayMonthYear) => ("date", "day first"),
                CellRule::Date(DateOrder::MonthDayYear | DateOrder::YearMonthDay) => ("date", ""),
                CellRule::Boolean => return None,
            };
            Some(format!("{}: ({}, {})", literal(&input.name), literal(kind), literal(how)))
        };
        let rules: Vec<String> = self.schema.inputs().iter().filter_map(rule).collect();
        format!(
            "# How cells are read that are neither plain numbers nor ISO dates.\nRULES = {{{}}}\n",
            rules.join(", ")
        )
    }

    /// Whether some cells are read by rules, or as free text.
    fn reads_by_rules(&self) -> bool {
        let is_read =
            |input: &Input| input.rule.is_some() || matches!(input.kind, Kind::FreeText(_));
        self.schema.inputs().iter().any(is_read)
    }

    /// Where the codes of categories stand among the features.
    fn categorical_positions(&self) -> Vec<usize> {
        let (mut positions, mut next) = (Vec::new(), 0);
        for input in self.schema.inputs() {
            match &input.kind {
                Kind::Categorical(_) => positions.push(next),
                Kind::Numeric | Kind::Date(_) | Kind::FreeText(_) => (),
            }
            next += input.kind.n_features();
        }
        positions
    }

    /// What columns of categories ask of the script; `None` where there are none.
    fn categories(&self) -> Option<Categories> {
        let n_levels = |input: &Input| match &input.kind {
            Kind::Categorical(levels) => Some(levels.names().len()),
            Kind::Numeric | Kind::Date(_) | Kind::FreeText(_) => None,
        };
        let most_levels = self.schema.inputs().iter().filter_map(n_levels).max()?;
        Some(Categories { most_levels })
    }

    fn pipelines(&self, script: &mut PythonScript) -> String {
        script.import("sklearn.pipeline", "make_pipeline");
        let n_features = self.schema.feature_names().len();
        let categories = self.categories();
        let mut text = String::new();
        if let Some(categories) = categories {
            text += &categories.helpers(self.learners, script);
        }
        text += "# Each pipeline with its weight.\nPIPELINES = [\n";
        for (weight, pipeline) in self.learners {
            let steps = &pipeline.preparation;
            let is_one_hot = categories.is_some() && steps.encoder == Encoder::OneHot;
            let encoder = is_one_hot.then(|| "one_hot()".to_owned());
            let first = categories.and_then(|categories| categories.first_step(steps.encoder));
            script.keeps_categories = steps.encoder == Encoder::Categories;
            let steps = [
                first,
                imputer(steps.imputer, categories.is_some(), script),
                encoder,
                scaler(steps.scaler, script),
                reducer(steps.reducer, n_features, script),
                Some(pipeline.estimator.scikit_learn(script)),
            ];
            writeln!(text, "    # {pipeline}\n    ({weight:?}, make_pipeline(").expect("it fits");
            for step in steps.into_iter().flatten() {
                writeln!(text, "        {step},").expect("a string takes it");
            }
            text += "    )),\n";
        }
        text + "]\n\n\n"
    }

    fn rule(&self) -> String {
        let (why, body) = match self.rule {
            DecidedBy::MajorityVote => ("The class with the most votes.", "votes"),
            DecidedBy::MostProbable => ("The most probable class.", "votes"),
            DecidedBy::BalancedAccuracy => (
                "The class that is most probable next to its share: best for the mean recall.",
                "votes / shares",
            ),
            DecidedBy::BalancedError => (
                "The class that gains most over its share: best for the balanced error rate.",
                "(votes - shares) / (shares * (1 - shares))",
            ),
        };
        let answers = match self.rule {
            DecidedBy::MajorityVote => {
                "np.eye(len(model.classes_))[np.searchsorted(model.classes_, model.predict(x))]"
            }
            _ => "model.predict_proba(x)",
        };
        format!(
            "def answers(model, x):\n    return {answers}\n\n\n\
             def decide(votes, shares):\n    \"\"\"{why}\"\"\"\n    return np.argmax({body}, axis=1)\n\n\n"
        )
    }
}

/// A Python string: JSON's are.
fn literal(text: &str) -> String {
    serde_json::to_string(text).expect("text can always be quoted")
}

fn list(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| literal(text)).collect();
    format!("[{}]", quoted.join(", "))
}

/// A name inside a docstring, which a quote or a backslash of its own must not end.
fn docstring_word(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || matches!(c, '"' | '\\') { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests;
