//! What can go wrong in the offline phase.

use std::path::PathBuf;

use pitchpipe_learn::search_space::SpaceMismatch;
use thiserror::Error;

/// Why the offline phase could not go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OfflineError {
    /// A file or folder could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file could not be written.
    #[error(transparent)]
    Write(#[from] pitchpipe_table::WriteError),
    /// Another collector works on the store.
    #[error("{}: another collector is at work on this store", path.display())]
    StoreInUse {
        /// The store's folder.
        path: PathBuf,
    },
    /// The store was made with other settings.
    #[error("{}: this store has {name} {found}, but {wanted} was asked for", path.display())]
    StoreDiffers {
        /// The store's folder.
        path: PathBuf,
        /// Which setting.
        name: String,
        /// Its value in the store.
        found: String,
        /// The value asked for.
        wanted: String,
    },
    /// The folder is a store that is not in its compact form.
    #[error("{}: a store with runs of its own lies there, which would be lost", path.display())]
    OtherStore {
        /// The folder.
        path: PathBuf,
    },
    /// The store's pipelines are not those of this program.
    #[error("{}: {source}", path.display())]
    OtherSpace {
        /// The store's folder.
        path: PathBuf,
        /// Where they differ.
        source: Box<SpaceMismatch>,
    },
    /// The pipelines to collect are not those of the store.
    #[error(transparent)]
    Space(#[from] SpaceMismatch),
    /// The folder is not a store.
    #[error("{}: not a store (it has no {})", path.display(), super::store::FACTS_FILE)]
    NotAStore {
        /// The folder.
        path: PathBuf,
    },
    /// The dataset's content is not what the store's entries were computed from.
    #[error("dataset {dataset} has changed since its entries were collected")]
    DatasetChanged {
        /// Which dataset.
        dataset: String,
    },
    /// There is no table in the corpus.
    #[error("{}: no table found", path.display())]
    EmptyCorpus {
        /// The corpus.
        path: PathBuf,
    },
    /// Two tables would have one name in the store.
    #[error("two tables are called {name}: {} and {}", first.display(), second.display())]
    SameName {
        /// The name.
        name: String,
        /// One file.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// A table of the corpus cannot be used.
    #[error("{}: {message}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A pipeline was asked for that the search space does not have.
    #[error("there are {n_pipelines} pipelines, numbered from 0, so none is number {number}")]
    NoPipeline {
        /// The number asked for.
        number: u32,
        /// How many pipelines there are.
        n_pipelines: usize,
    },
    /// No pipeline can be evaluated on a dataset.
    #[error("no pipeline can be evaluated: {reason}")]
    NoEvaluation {
        /// Why.
        reason: String,
    },
    /// A shard lacks a column, or it has another type.
    #[error("a shard has no usable column {name:?}")]
    MissingColumn {
        /// The column's name.
        name: &'static str,
    },
    /// A shard holds a status that this version does not know.
    #[error("a shard has the unknown status {word:?}")]
    UnknownStatus {
        /// The word met.
        word: String,
    },
    /// A shard cannot be read or written as Parquet.
    #[error("parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A shard's columns do not fit together.
    #[error("arrow: {0}")]
    Arrow(#[from] arrow_schema::ArrowError),
    /// The store's facts cannot be understood.
    #[error("{}: {source}", path.display())]
    Facts {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

impl OfflineError {
    /// The next thing to try, where there is one.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::StoreInUse { .. } => {
                Some("wait until it has ended, or collect into another --store".into())
            }
            Self::StoreDiffers { name, found, .. } => Some(format!(
                "collect with {name} {found} as before, or into another --store"
            )),
            Self::OtherSpace { source, .. } if matches!(**source, SpaceMismatch::Unknown { .. }) => {
                Some("upgrade pitchpipe".into())
            }
            Self::OtherSpace { .. } => Some(
                "read it with the pitchpipe that wrote it, or collect into another --store".into(),
            ),
            Self::DatasetChanged { dataset } => Some(format!(
                "restore the file, or remove the folder of {dataset} under the store's shards/ to collect it anew"
            )),
            Self::EmptyCorpus { .. } => Some(
                "name a folder of tables, a table, or a tab-separated manifest with a column \"file\""
                    .into(),
            ),
            Self::Write(error) => error.help(),
            Self::OtherStore { .. } => Some("name another folder".into()),
            Self::SameName { .. } => Some("rename one of the files".into()),
            Self::NotAStore { .. } => Some("name a folder made by `pitchpipe meta collect`".into()),
            _ => None,
        }
    }
}

/// Adds the path to an input or output error.
pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> OfflineError {
    move |source| OfflineError::Io { path: path.into(), source }
}
