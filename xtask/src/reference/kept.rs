//! Results kept on disk, so that a long run that was stopped goes on where it was.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::python;

/// Results of this very program, by what they are results of; one JSON object a line.
pub(crate) struct Kept {
    path: Option<PathBuf>,
    known: Mutex<HashMap<String, Value>>,
}

impl Kept {
    /// Keeps nothing.
    pub(crate) fn nothing() -> Self {
        Self { path: None, known: Mutex::default() }
    }

    /// Takes over what an earlier run of the same build left behind in target/reference.
    pub(crate) fn resume() -> Result<Self, String> {
        Self::within("reference", true)
    }

    /// In a folder of target. Another build, another file: its figures may be others.
    pub(crate) fn within(folder: &str, takes_over: bool) -> Result<Self, String> {
        let program = std::env::current_exe().and_then(std::fs::read).map_err(|e| e.to_string())?;
        let folder = python::root().join("target").join(folder);
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let path = folder.join(format!("{:08x}.jsonl", checksum(&program)));
        if !takes_over && path.exists() {
            std::fs::remove_file(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        // A line that was cut off when the run was stopped is computed again.
        let line = |l: &str| serde_json::from_str::<(String, Value)>(l).ok();
        let known = text.lines().filter_map(line).collect();
        Ok(Self { path: Some(path), known: Mutex::new(known) })
    }

    /// The result kept under `key`, or a new one, which is then kept.
    pub(crate) fn or<T: Serialize + DeserializeOwned, E>(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        if let Some(value) = self.get(key) {
            return Ok(value);
        }
        let value = make()?;
        self.keep(key, &value);
        Ok(value)
    }

    /// The result kept under `key`.
    pub(crate) fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let known = self.known.lock().ok().and_then(|known| known.get(key).cloned());
        known.and_then(|v| serde_json::from_value(v).ok())
    }

    /// Keeps a result for a later run.
    pub(crate) fn keep<T: Serialize>(&self, key: &str, value: &T) {
        if let (Some(path), Ok(line)) = (&self.path, serde_json::to_string(&(key, value))) {
            let mut known = self.known.lock();
            if let (Ok(known), Ok(value)) = (&mut known, serde_json::to_value(value)) {
                known.insert(key.to_owned(), value);
            }
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
            if let Err(e) = file.and_then(|mut f| f.write_all(format!("{line}\n").as_bytes())) {
                eprintln!("not kept for a later run: {}: {e}", path.display());
            }
        }
    }
}

/// FNV-1a: tells one build from another.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, &b| (sum ^ u32::from(b)).wrapping_mul(0x0100_0193))
}
