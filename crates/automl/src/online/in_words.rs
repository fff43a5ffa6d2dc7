//! Pipelines in files and events: as their text, by which they are known.

use std::collections::HashMap;
use std::sync::LazyLock;

use pitchpipe_learn::{Pipeline, PipelineId};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(pipeline: &Pipeline, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(pipeline)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Pipeline, D::Error> {
    let text = String::deserialize(from)?;
    parse(&text).ok_or_else(|| D::Error::custom(format!("there is no pipeline {text:?}")))
}

pub(crate) fn parse(text: &str) -> Option<Pipeline> {
    static ALL: LazyLock<HashMap<String, PipelineId>> =
        LazyLock::new(|| PipelineId::all().map(|id| (id.pipeline().to_string(), id)).collect());
    ALL.get(text).map(|id| id.pipeline())
}

/// The same for a list of them.
pub(crate) mod all {
    use serde::Serialize;

    use super::*;

    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct InWords(#[serde(with = "super")] Pipeline);

    pub(crate) fn serialize<S: Serializer>(all: &[Pipeline], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(all.iter().cloned().map(InWords))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Pipeline>, D::Error> {
        let all = Vec::<InWords>::deserialize(from)?;
        Ok(all.into_iter().map(|pipeline| pipeline.0).collect())
    }
}
