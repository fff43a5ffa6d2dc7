//! Pipelines in files and events: as their text, by which they are known.

use pitchpipe_learn::Pipeline;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(pipeline: &Pipeline, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(pipeline)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Pipeline, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
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
