//! Model files of format 1, as pitchpipe 0.1 wrote them: one piece of postcard, which says nothing of its own shape.
//!
//! The types here are that shape and never change. What fold models are made of is shared with later formats, and only
//! ever gets more variants at the ends of its enums.

use pitchpipe_learn::{FittedPipeline, Pipeline};
use pitchpipe_table::{Decision, Metric, MissingCells, Reading, Schema};
use serde::{Deserialize, Serialize};

use super::{BaseLearner, ColumnKind, Model, ModelFileError, counted};
use crate::ensemble::Combination;
use crate::online::{Candidate, Measured, Method, Report, StopReason, TimeSpent};
use crate::scores::Scores;

/// Each list or word takes so many bytes of a file on average, or more.
const BYTES_OF_A_LIST: usize = 2;

/// The whole file.
#[derive(Deserialize)]
struct Model1 {
    schema: Option<Schema1>,
    columns: Vec<ColumnKind1>,
    n_classes: usize,
    priors: Vec<f64>,
    decision: Decision1,
    combination: Combination1,
    learners: Vec<BaseLearner1>,
    missing: MissingCells1,
    report: Report1,
}

#[derive(Deserialize)]
enum ColumnKind1 {
    Numeric,
    Categorical { n_levels: u32 },
}

#[derive(Deserialize)]
enum Decision1 {
    Native,
    Accuracy,
    BalancedAccuracy,
    BalancedError,
}

#[derive(Deserialize)]
enum Combination1 {
    Average,
    Vote,
}

#[derive(Deserialize)]
struct BaseLearner1 {
    _pipeline: Pipeline1,
    weight: f64,
    /// These know the pipeline's text.
    models: Vec<FittedPipeline>,
}

/// A pipeline by its variants, which its text says as well.
#[derive(Deserialize)]
struct Pipeline1 {
    _imputer: u32,
    _encoder: u32,
    _scaler: u32,
    _reducer: Reducer1,
    _estimator: Estimator1,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only their widths matter")]
enum Reducer1 {
    Pca(u32),
    SelectKBest(u32),
    VarianceThreshold,
    None,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only their widths matter")]
enum Estimator1 {
    AdaBoost(u64, f64),
    DecisionTree(Split1),
    ExtraTrees(Split1, u32),
    GradientBoosting(f64, u64, u32),
    GaussianNb(),
    Knn(u64, u32),
    LogisticRegression(f64, u32, u32),
    Mlp(f64, u32, f64),
    Perceptron(),
    RandomForest(Split1, u32),
    LinearSvm((f64,)),
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only their widths matter")]
enum Split1 {
    Count(u32),
    Fraction(f64),
}

#[derive(Deserialize)]
struct MissingCells1 {
    instead: Option<Vec<String>>,
    also: Vec<String>,
}

/// As JSON it reads as a schema of today.
#[derive(Serialize, Deserialize)]
struct Schema1 {
    inputs: Vec<Input1>,
    target: Option<Target1>,
    left_out: Vec<LeftOut1>,
}

#[derive(Serialize, Deserialize)]
struct Input1 {
    name: String,
    kind: Kind1,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind1 {
    Numeric,
    Categorical(Levels1),
    Date(Vec<DatePart1>),
}

#[derive(Serialize, Deserialize)]
struct Levels1 {
    names: Vec<String>,
    has_other: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DatePart1 {
    Year,
    Month,
    Day,
    Weekday,
    Hour,
    Minute,
    ElapsedDays,
}

#[derive(Serialize, Deserialize)]
struct Target1 {
    name: String,
    classes: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct LeftOut1 {
    name: String,
    reason: Reason1,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reason1 {
    Excluded,
    AllMissing,
    Constant { value: String },
    UniqueText,
    FreeText { n_distinct: usize, n_present: usize },
}

#[derive(Deserialize)]
struct Report1 {
    method: Method1,
    metric: Metric1,
    seed: u64,
    budget_secs: f64,
    elapsed_secs: f64,
    n_rows: usize,
    n_features: usize,
    n_classes: usize,
    n_rows_used: usize,
    n_folds: usize,
    n_evaluated: usize,
    n_failed: usize,
    n_out_of_time: usize,
    ensemble: Errors1,
    leaderboard: Vec<Candidate1>,
    time_spent: Vec<(String, f64)>,
    stop_reason: StopReason1,
    notes: Vec<String>,
}

#[derive(Deserialize)]
enum Method1 {
    Auto,
    Oboe,
    TensorOboe,
    KernelOboe,
    Random,
    RandomOboe,
}

#[derive(Clone, Copy, Deserialize)]
enum Metric1 {
    BalancedError,
    BalancedAccuracy,
    Accuracy,
    LogLoss,
    MacroF1,
    RocAuc,
}

#[derive(Deserialize)]
struct Candidate1 {
    _id: Option<u32>,
    _pipeline: Pipeline1,
    text: String,
    error: f64,
    errors: Errors1,
    secs: f64,
    n_rows: usize,
    weight: f64,
}

/// Errors, whatever their names say.
#[derive(Deserialize)]
struct Errors1 {
    balanced_error: f64,
    balanced_accuracy: f64,
    accuracy: f64,
    log_loss: f64,
    macro_f1: f64,
    roc_auc: Option<f64>,
}

#[derive(Deserialize)]
enum StopReason1 {
    TimeBudget,
    MaxEvaluations,
    Cancelled,
    NothingLeft,
}

/// The model that the bytes of format 1 hold.
pub(super) fn read(plain: &[u8]) -> Result<Model, ModelFileError> {
    let invalid = |what: String| ModelFileError::Invalid { what };
    let mut from = postcard::Deserializer::from_bytes(plain);
    let model = counted::read::<Model1, _>(&mut from, plain.len(), BYTES_OF_A_LIST);
    let rest = model.and_then(|model| Ok((model, from.finalize()?)));
    let (model, rest) = rest.map_err(|e| invalid(e.to_string()))?;
    if !rest.is_empty() {
        return Err(invalid(format!("{} bytes too many", rest.len())));
    }
    model.into_model()
}

fn pipeline(text: &str) -> Result<Pipeline, ModelFileError> {
    text.parse()
        .ok()
        .ok_or_else(|| ModelFileError::Invalid { what: format!("there is no pipeline {text:?}") })
}

impl Model1 {
    fn into_model(self) -> Result<Model, ModelFileError> {
        let columns = self.columns.into_iter().map(|column| match column {
            ColumnKind1::Numeric => ColumnKind::Numeric,
            ColumnKind1::Categorical { n_levels } => ColumnKind::Categorical { n_levels },
        });
        let MissingCells1 { instead, also } = self.missing;
        let reading = Reading { missing: MissingCells { instead, also }, header: None };
        let schema = self.schema.map(Schema1::into_schema).transpose()?;
        Ok(Model {
            schema: schema.map(|schema| schema.with_reading(reading)),
            columns: columns.collect(),
            n_classes: self.n_classes,
            priors: self.priors,
            decision: match self.decision {
                Decision1::Native => Decision::Native,
                Decision1::Accuracy => Decision::Accuracy,
                Decision1::BalancedAccuracy => Decision::BalancedAccuracy,
                Decision1::BalancedError => Decision::BalancedError,
            },
            combination: match self.combination {
                Combination1::Average => Combination::Average,
                Combination1::Vote => Combination::Vote,
            },
            learners: self
                .learners
                .into_iter()
                .map(BaseLearner1::into_learner)
                .collect::<Result<_, _>>()?,
            report: self.report.into_report()?,
            out_of_fold: None,
            history: None,
        })
    }
}

impl BaseLearner1 {
    fn into_learner(self) -> Result<BaseLearner, ModelFileError> {
        let Self { weight, models, .. } = self;
        let Some(first) = models.first() else {
            return Err(ModelFileError::Invalid { what: "it has no base learners".to_owned() });
        };
        Ok(BaseLearner { pipeline: pipeline(first.name())?, weight, models })
    }
}

impl Schema1 {
    fn into_schema(self) -> Result<Schema, ModelFileError> {
        let schema = serde_json::to_value(self).and_then(serde_json::from_value);
        schema.map_err(|e| ModelFileError::Invalid { what: e.to_string() })
    }
}

impl Report1 {
    fn into_report(self) -> Result<Report, ModelFileError> {
        let leaderboard = self.leaderboard.into_iter().map(Candidate1::into_candidate);
        Ok(Report {
            method: match self.method {
                Method1::Auto => Method::Auto,
                Method1::Oboe => Method::Oboe,
                Method1::TensorOboe => Method::TensorOboe,
                Method1::KernelOboe => Method::KernelOboe,
                Method1::Random => Method::Random,
                Method1::RandomOboe => Method::RandomOboe,
            },
            metric: match self.metric {
                Metric1::BalancedError => Metric::BalancedError,
                Metric1::BalancedAccuracy => Metric::BalancedAccuracy,
                Metric1::Accuracy => Metric::Accuracy,
                Metric1::LogLoss => Metric::LogLoss,
                Metric1::MacroF1 => Metric::MacroF1,
                Metric1::RocAuc => Metric::RocAuc,
            },
            seed: self.seed,
            budget_secs: self.budget_secs,
            elapsed_secs: self.elapsed_secs,
            n_rows: self.n_rows,
            n_features: self.n_features,
            n_classes: self.n_classes,
            n_rows_used: self.n_rows_used,
            n_folds: self.n_folds,
            n_evaluated: self.n_evaluated,
            n_failed: self.n_failed,
            n_out_of_time: self.n_out_of_time,
            measured: Measured::Chosen,
            n_rows_scored: 0,
            scores: self.ensemble.into_scores(),
            standard_errors: None,
            baselines: Vec::new(),
            leaderboard: leaderboard.collect::<Result<_, _>>()?,
            time_spent: self
                .time_spent
                .into_iter()
                .map(|(what, secs)| TimeSpent { what, secs })
                .collect(),
            stop_reason: match self.stop_reason {
                StopReason1::TimeBudget => StopReason::TimeBudget,
                StopReason1::MaxEvaluations => StopReason::MaxEvaluations,
                StopReason1::Cancelled => StopReason::Cancelled,
                StopReason1::NothingLeft => StopReason::NothingLeft,
            },
            notes: self.notes,
        })
    }
}

impl Candidate1 {
    fn into_candidate(self) -> Result<Candidate, ModelFileError> {
        Ok(Candidate {
            pipeline: pipeline(&self.text)?,
            error: self.error,
            scores: self.errors.into_scores(),
            secs: self.secs,
            n_rows: self.n_rows,
            weight: self.weight,
        })
    }
}

impl Errors1 {
    fn into_scores(self) -> Scores {
        Scores {
            balanced_error: self.balanced_error,
            balanced_accuracy: 1.0 - self.balanced_accuracy,
            accuracy: 1.0 - self.accuracy,
            macro_f1: 1.0 - self.macro_f1,
            roc_auc: self.roc_auc.map(|error| 1.0 - error),
            log_loss: self.log_loss,
            brier_score: None,
        }
    }
}
