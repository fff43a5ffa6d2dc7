//! A store: a folder of shards that only ever grows by whole files.
//!
//! ```text
//! store.json                     the facts every entry shares: search space, folds, caps
//! lock                           held while a collector is at work
//! shards/DATASET/0007-9f2c….parquet   a batch of entries; the name carries the content's hash
//! datasets/DATASET.json          the dataset's size and content hash
//! quarantine/…                   shards whose content does not match their name
//! ```
//!
//! A shard is written beside its place and renamed into it, so a collector killed at any instant leaves
//! whole shards and perhaps one stray temporary file, which the next one removes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pitchpipe_learn::SearchSpace;
use pitchpipe_table::write_atomically;

use super::compact::{COMPACT, Compact};
use super::entry::Entry;
use super::error::{OfflineError, at};
use super::seen::Seen;
use super::shard::Shard;
use super::space_facts::{self, joined, space_of};
use crate::surrogate::TableSize;

pub(crate) const FACTS_FILE: &str = "store.json";
const LOCK_FILE: &str = "lock";
const SHARDS: &str = "shards";
const ABOUT: &str = "datasets";
const QUARANTINE: &str = "quarantine";
/// How files end that are being written.
const TEMPORARY: &str = ".tmp";

/// What is known of a dataset besides its entries.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct About {
    /// The hash of its content, where it was seen.
    pub content: Option<String>,
    /// Its size.
    pub size: TableSize,
}

/// Facts that all entries of a store share.
pub type Facts = BTreeMap<String, String>;

/// An open store.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    facts: Facts,
    /// What its pipelines are numbers of.
    space: Arc<SearchSpace>,
    /// The entries, where the store is in its compact form.
    compact: Option<Compact>,
    /// Held while the store may be written; the system lets go of it when the process ends, however.
    _lock: Option<File>,
}

impl Store {
    /// Opens a store for writing, or makes a new one with these facts.
    ///
    /// # Errors
    /// If another collector has it open, or one of its facts differs from those given.
    pub fn open_or_create(folder: &Path, facts: &Facts) -> Result<Self, OfflineError> {
        fs::create_dir_all(folder.join(SHARDS)).map_err(at(folder))?;
        let lock = take_lock(folder)?;
        let is_new = !folder.join(FACTS_FILE).exists();
        let mut found = if is_new { facts.clone() } else { read_facts(folder)? };
        // Entries of different engines are kept apart, and the compact form only ever read: a store without
        // such facts has to stay so.
        let none = "(none)".to_owned();
        let unsaid: Vec<String> = [SOURCE, FORM].map(str::to_owned).into();
        let unsaid = unsaid.iter().filter(|name| !facts.contains_key(*name)).map(|n| (n, &none));
        let is_of_space = |name: &str| [space_facts::KEY, space_facts::BLOCKS].contains(&name);
        for (name, wanted) in facts.iter().chain(unsaid).filter(|(name, _)| !is_of_space(name)) {
            let found = found.get(name).map_or("(none)", String::as_str);
            if found != wanted {
                return Err(OfflineError::StoreDiffers {
                    path: folder.to_owned(),
                    name: name.clone(),
                    found: found.to_owned(),
                    wanted: wanted.clone(),
                });
            }
        }
        let wanted = space_of(facts, &SearchSpace::all(), folder)?;
        let before = space_of(&found, &wanted, folder)?;
        let other =
            |source| OfflineError::OtherSpace { path: folder.to_owned(), source: Box::new(source) };
        let space = joined(&before, &wanted).map_err(other)?;
        if space.n_pipelines() > before.n_pipelines() {
            found.extend(space_facts::facts_of(&space));
        }
        if is_new || space.n_pipelines() > before.n_pipelines() {
            write_facts(folder, &found)?;
        }
        let folder = folder.to_owned();
        let store = Self { folder, facts: found, space, compact: None, _lock: Some(lock) };
        store.remove_temporaries()?;
        Ok(store)
    }

    /// Opens a store for reading.
    pub fn open(folder: &Path) -> Result<Self, OfflineError> {
        if !folder.join(FACTS_FILE).exists() {
            return Err(OfflineError::NotAStore { path: folder.to_owned() });
        }
        let facts = read_facts(folder)?;
        let space = space_of(&facts, &SearchSpace::all(), folder)?;
        let is_compact = facts.get(FORM).is_some_and(|form| form == COMPACT);
        let compact = is_compact.then(|| Compact::read(folder, &space)).transpose()?;
        let folder = folder.to_owned();
        Ok(Self { folder, facts, space, compact, _lock: None })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What its pipelines are numbers of.
    pub fn space(&self) -> &Arc<SearchSpace> {
        &self.space
    }

    /// The facts that all entries share.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The datasets that have a folder, by name.
    pub fn datasets(&self) -> Result<Vec<String>, OfflineError> {
        if let Some(compact) = &self.compact {
            return Ok(compact.entries.keys().cloned().collect());
        }
        names_in(&self.folder.join(SHARDS))
    }

    /// Adds a batch of entries of one dataset.
    ///
    /// When it returns, the batch is on disk whole; when it does not, the store is as it was.
    pub fn append(
        &self,
        dataset: &str,
        facts: Facts,
        entries: Vec<Entry>,
    ) -> Result<(), OfflineError> {
        let shard = Shard { dataset: dataset.to_owned(), facts, entries };
        self.append_bytes(dataset, &shard.to_bytes(&self.space)?)
    }

    /// Adds a shard of one dataset as the bytes that it is already.
    pub(super) fn append_bytes(&self, dataset: &str, bytes: &[u8]) -> Result<(), OfflineError> {
        let folder = self.folder.join(SHARDS).join(dataset);
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        let number =
            names_in(&folder)?.iter().filter_map(|n| number_of(n)).max().map_or(0, |n| n + 1);
        write_whole(&folder.join(format!("{number:04}-{:016x}.parquet", hash(bytes))), bytes)
    }

    /// What the finished entries of a dataset came to, without the readable rest: much sooner read.
    pub fn seen(
        &self,
        dataset: &str,
        damaged: &mut Vec<PathBuf>,
    ) -> Result<Vec<Seen>, OfflineError> {
        if let Some(compact) = &self.compact {
            let entries = compact.entries.get(dataset).into_iter().flatten();
            return Ok(entries.filter_map(|(_, entry)| Seen::of(entry)).collect());
        }
        let mut seen = BTreeMap::new();
        self.visit(dataset, damaged, |bytes| {
            for entry in Seen::read(bytes).ok()? {
                self.space.id(entry.pipeline as usize)?;
                seen.entry(entry.pipeline).or_insert(entry);
            }
            Some(())
        })?;
        Ok(seen.into_values().collect())
    }

    /// All shards of a dataset. A shard whose content does not match its name, or that cannot be
    /// understood, is moved to the quarantine if the store is open for writing, and named in `damaged`.
    pub fn shards(
        &self,
        dataset: &str,
        damaged: &mut Vec<PathBuf>,
    ) -> Result<Vec<Shard>, OfflineError> {
        let mut shards = Vec::new();
        self.visit(dataset, damaged, |bytes| {
            let shard = Shard::from_bytes(bytes).ok()?;
            let is_known = |entry: &Entry| self.space.id(entry.pipeline as usize).is_some();
            shard.entries.iter().all(is_known).then(|| shards.push(shard))
        })?;
        Ok(shards)
    }

    /// Hands the bytes of each shard of a dataset to `take`, which says whether it understood them.
    fn visit(
        &self,
        dataset: &str,
        damaged: &mut Vec<PathBuf>,
        mut take: impl FnMut(Vec<u8>) -> Option<()>,
    ) -> Result<(), OfflineError> {
        let folder = self.folder.join(SHARDS).join(dataset);
        for name in names_in(&folder)? {
            let path = folder.join(&name);
            if name.ends_with(TEMPORARY) {
                continue;
            }
            let bytes = fs::read(&path).map_err(at(&path))?;
            if !is_sound(&name, &bytes) || take(bytes).is_none() {
                self.quarantine(dataset, &path)?;
                damaged.push(path);
            }
        }
        Ok(())
    }

    /// Puts down what is known of a dataset besides its entries.
    pub fn describe(&self, dataset: &str, about: &About) -> Result<(), OfflineError> {
        let folder = self.folder.join(ABOUT);
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        let path = folder.join(format!("{dataset}.json"));
        let text = serde_json::to_vec(about)
            .map_err(|source| OfflineError::Facts { path: path.clone(), source })?;
        if fs::read(&path).is_ok_and(|have| have == text) {
            return Ok(());
        }
        write_whole(&path, &text)
    }

    /// What is known of a dataset besides its entries, if anything.
    pub fn about(&self, dataset: &str) -> Result<Option<About>, OfflineError> {
        if let Some(compact) = &self.compact {
            return Ok(compact.about.get(dataset).cloned());
        }
        let path = self.folder.join(ABOUT).join(format!("{dataset}.json"));
        match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)
                .map(Some)
                .map_err(|source| OfflineError::Facts { path, source }),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(OfflineError::Io { path, source }),
        }
    }

    /// The entries of a dataset, by pipeline; of two for one pipeline the first counts.
    pub fn entries(
        &self,
        dataset: &str,
        damaged: &mut Vec<PathBuf>,
    ) -> Result<BTreeMap<u32, Entry>, OfflineError> {
        if let Some(compact) = &self.compact {
            return Ok(compact.entries.get(dataset).cloned().unwrap_or_default());
        }
        let mut entries = BTreeMap::new();
        for shard in self.shards(dataset, damaged)? {
            for entry in shard.entries {
                entries.entry(entry.pipeline).or_insert(entry);
            }
        }
        Ok(entries)
    }

    /// The pipelines that need no second run on a dataset with this content hash.
    pub fn done(
        &self,
        dataset: &str,
        content: &str,
        damaged: &mut Vec<PathBuf>,
    ) -> Result<BTreeSet<u32>, OfflineError> {
        let mut done = BTreeSet::new();
        for shard in self.shards(dataset, damaged)? {
            if shard.facts.get(CONTENT).is_some_and(|have| have != content) {
                return Err(OfflineError::DatasetChanged { dataset: dataset.to_owned() });
            }
            done.extend(shard.entries.iter().map(|e| e.pipeline));
        }
        Ok(done)
    }

    fn quarantine(&self, dataset: &str, path: &Path) -> Result<(), OfflineError> {
        if self._lock.is_none() {
            return Ok(());
        }
        let folder = self.folder.join(QUARANTINE);
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        let name = path.file_name().expect("a shard has a name").to_string_lossy();
        fs::rename(path, folder.join(format!("{dataset}-{name}"))).map_err(at(path))
    }

    fn remove_temporaries(&self) -> Result<(), OfflineError> {
        let shards = self.folder.join(SHARDS);
        for dataset in names_in(&shards)? {
            let folder = shards.join(dataset);
            for name in names_in(&folder)? {
                if name.ends_with(TEMPORARY) {
                    let path = folder.join(name);
                    fs::remove_file(&path).map_err(at(&path))?;
                }
            }
        }
        Ok(())
    }
}

/// The fact that says where entries come from that were not collected here.
pub const SOURCE: &str = "source";

/// The fact that says in which form a store is, where it is not a folder of shards.
pub(super) const FORM: &str = "form";

/// The fact that holds a dataset's content hash.
pub const CONTENT: &str = "dataset_content";

fn take_lock(folder: &Path) -> Result<File, OfflineError> {
    let path = folder.join(LOCK_FILE);
    let lock = File::create(&path).map_err(at(&path))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(fs::TryLockError::WouldBlock) => {
            Err(OfflineError::StoreInUse { path: folder.to_owned() })
        }
        Err(fs::TryLockError::Error(source)) => Err(OfflineError::Io { path, source }),
    }
}

fn read_facts(folder: &Path) -> Result<Facts, OfflineError> {
    let path = folder.join(FACTS_FILE);
    let text = fs::read(&path).map_err(at(&path))?;
    serde_json::from_slice(&text).map_err(|source| OfflineError::Facts { path, source })
}

/// Writes the facts of a store.
pub(super) fn write_facts(folder: &Path, facts: &Facts) -> Result<(), OfflineError> {
    let path = folder.join(FACTS_FILE);
    let text = serde_json::to_vec_pretty(facts)
        .map_err(|source| OfflineError::Facts { path: path.clone(), source })?;
    write_whole(&path, &text)
}

/// Writes a file so that it is either whole at `path` or not there.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), OfflineError> {
    Ok(write_atomically(path, bytes)?)
}

/// The sorted names in a folder; none if there is no such folder.
fn names_in(folder: &Path) -> Result<Vec<String>, OfflineError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(OfflineError::Io { path: folder.to_owned(), source }),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.map_err(at(folder))?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn hash(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

/// The running number in a shard's name.
fn number_of(name: &str) -> Option<u32> {
    name.split('-').next()?.parse().ok()
}

/// Whether these bytes are what the file's name promises.
fn is_sound(name: &str, bytes: &[u8]) -> bool {
    let promised = || {
        let digits = name.strip_suffix(".parquet")?.split('-').next_back()?;
        u64::from_str_radix(digits, 16).ok()
    };
    promised() == Some(hash(bytes))
}
