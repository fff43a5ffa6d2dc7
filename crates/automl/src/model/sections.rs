//! A model as the sections of its file: what describes it as JSON, to which fields may be added, and what it has learnt
//! as postcard, whose enums only ever get more variants at their ends.

use std::collections::BTreeMap;

use pitchpipe_learn::{FittedPipeline, Pipeline};
use pitchpipe_table::{Decision, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::container::{MOST_BYTES, Packed, Section};
use super::{BaseLearner, ColumnKind, Model, ModelFileError, counted};
use crate::ensemble::Combination;
use crate::history::History;
use crate::online::{Report, in_words};

/// The sections that every file has, and the one that those of models made from a table have.
const MODEL: &str = "model";
const LEARNERS: &str = "learners";
const REPORT: &str = "report";
const SCHEMA: &str = "schema";

/// What a report tells beyond the rest; a model does without.
const HISTORY: &str = "history";

/// No description is longer than this: what it is read into takes a dozen times as much.
const MOST_JSON: u64 = 128 << 20;

/// Each list of numbers takes so many bytes of a file on average, or more.
const BYTES_OF_A_LIST: usize = 4;

/// The version of each of them.
const VERSION: u32 = 1;

/// What is predicted, from what, and how.
#[derive(Serialize, Deserialize)]
struct Plan {
    n_classes: usize,
    columns: Vec<ColumnKind>,
    decision: Decision,
    combination: Combination,
    #[serde(with = "in_words::all")]
    pipelines: Vec<Pipeline>,
}

/// The numbers that predictions are made of.
#[derive(Serialize, Deserialize)]
struct Learners<M> {
    priors: Vec<f64>,
    weights: Vec<f64>,
    models: Vec<M>,
}

impl Model {
    /// The sections of its file.
    pub(super) fn sections(&self) -> Result<Vec<Section>, ModelFileError> {
        let plan = Plan {
            n_classes: self.n_classes,
            columns: self.columns.clone(),
            decision: self.decision,
            combination: self.combination,
            pipelines: self.learners.iter().map(|l| l.pipeline.clone()).collect(),
        };
        let learners = Learners {
            priors: self.priors.clone(),
            weights: self.learners.iter().map(|l| l.weight).collect(),
            models: self.learners.iter().map(|l| l.models.as_slice()).collect(),
        };
        let bytes = postcard::to_stdvec(&learners).map_err(|e| invalid(LEARNERS, &e))?;
        let mut sections = vec![
            json(MODEL, &plan)?,
            json(REPORT, &self.report)?,
            Section { name: LEARNERS.to_owned(), version: VERSION, bytes },
        ];
        if let Some(schema) = &self.schema {
            sections.push(json(SCHEMA, schema)?);
        }
        if let Some(history) = &self.history {
            sections.push(history_section(history)?);
        }
        Ok(sections)
    }

    /// The model that sections describe; those with unknown names are skipped.
    pub(super) fn from_sections(sections: Vec<Packed<'_>>) -> Result<Self, ModelFileError> {
        let mut by_name = Sections(BTreeMap::new());
        for section in sections {
            by_name.0.insert(section.name.clone(), section);
        }
        let plan: Plan = by_name.json(MODEL)?;
        let report: Report = by_name.json(REPORT)?;
        let schema = match by_name.0.contains_key(SCHEMA) {
            true => Some(by_name.json::<Schema>(SCHEMA)?),
            false => None,
        };
        let history = by_name.history()?;
        let learners = by_name.learners()?;
        let Plan { n_classes, columns, decision, combination, pipelines } = plan;
        let Learners { priors, weights, models } = learners;
        if pipelines.len() != models.len() || weights.len() != models.len() {
            let what = "it does not have one weight per base learner".to_owned();
            return Err(ModelFileError::Invalid { what });
        }
        let learners = pipelines.into_iter().zip(weights).zip(models);
        let learners = learners
            .map(|((pipeline, weight), models)| BaseLearner { pipeline, weight, models })
            .collect();
        Ok(Self {
            schema,
            columns,
            n_classes,
            priors,
            decision,
            combination,
            learners,
            report,
            out_of_fold: None,
            history,
        })
    }
}

/// The history as a section.
pub(super) fn history_section(history: &History) -> Result<Section, ModelFileError> {
    json(HISTORY, history)
}

struct Sections<'a>(BTreeMap<String, Packed<'a>>);

impl Sections<'_> {
    fn bytes(&self, name: &'static str, limit: u64) -> Result<Vec<u8>, ModelFileError> {
        let section = self.0.get(name).ok_or_else(|| {
            let what = format!("it has no section {name:?}");
            ModelFileError::Invalid { what }
        })?;
        if section.version != VERSION {
            let (found, known) = (section.version, VERSION);
            return Err(ModelFileError::OtherSection { name, found, known });
        }
        section.unpack(limit)
    }

    fn json<T: DeserializeOwned>(&self, name: &'static str) -> Result<T, ModelFileError> {
        serde_json::from_slice(&self.bytes(name, MOST_JSON)?).map_err(|e| invalid(name, &e))
    }

    /// The history, where there is one of the version known: a model need not be refused for a report's sake.
    fn history(&self) -> Result<Option<History>, ModelFileError> {
        match self.0.get(HISTORY) {
            Some(section) if section.version == VERSION => self.json(HISTORY).map(Some),
            _ => Ok(None),
        }
    }

    fn learners(&self) -> Result<Learners<Vec<FittedPipeline>>, ModelFileError> {
        let bytes = self.bytes(LEARNERS, MOST_BYTES)?;
        let mut from = postcard::Deserializer::from_bytes(&bytes);
        let learners = counted::read(&mut from, bytes.len(), BYTES_OF_A_LIST);
        let rest = learners.and_then(|learners| Ok((learners, from.finalize()?)));
        let (learners, rest) = rest.map_err(|e| invalid(LEARNERS, &e))?;
        match rest.len() {
            0 => Ok(learners),
            n => Err(ModelFileError::Invalid { what: format!("{n} bytes too many") }),
        }
    }
}

fn json(name: &str, value: &impl Serialize) -> Result<Section, ModelFileError> {
    let bytes = serde_json::to_vec(value).map_err(|e| invalid(name, &e))?;
    Ok(Section { name: name.to_owned(), version: VERSION, bytes })
}

fn invalid(section: &str, error: &dyn std::error::Error) -> ModelFileError {
    ModelFileError::Invalid { what: format!("section {section:?}: {error}") }
}
