//! A file that is whole or not there: written beside its place, then moved to it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

use super::WriteError;

/// Writes a file so that, whatever happens, nobody ever sees half of it: what was there before stays until
/// the new bytes are complete and on the disk. The permissions of a file that is replaced are kept.
///
/// A path that is no regular file (`/dev/stdout`, a named pipe) is written to as it is.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    check_place(path)?;
    let failed = |source| WriteError::Io { file: path.display().to_string(), source };
    if is_special(path) {
        return OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut file| file.write_all(bytes))
            .map_err(failed);
    }
    let (temporary, mut file) = Temporary::beside(path).map_err(failed)?;
    let place = resolved(path);
    let written = file.write_all(bytes).and_then(|()| {
        keep_permissions(&place, &temporary.path)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&temporary.path, &place)
    });
    match written {
        Ok(()) => temporary.forget(),
        Err(source) => {
            temporary.remove();
            return Err(failed(source));
        }
    }
    Ok(())
}

/// Finds out whether a file could be written, before the work that its contents cost.
pub fn check_writable(path: &Path) -> Result<(), WriteError> {
    check_place(path)?;
    if is_special(path) {
        return Ok(());
    }
    let failed = |source| WriteError::Io { file: path.display().to_string(), source };
    let (temporary, file) = Temporary::beside(path).map_err(failed)?;
    drop(file);
    temporary.remove();
    Ok(())
}

/// Removes what is half written, and starts no other file from now on: for a process that is about to end.
///
/// Whoever is writing fails, or waits for ever.
pub fn abandon_writes() {
    for _ in 0..PATIENCE {
        let half_written = match HALF_WRITTEN.try_lock() {
            Ok(list) => list,
            Err(TryLockError::Poisoned(list)) => list.into_inner(),
            Err(TryLockError::WouldBlock) => {
                thread::sleep(Duration::from_millis(1));
                continue;
            }
        };
        for path in half_written.iter() {
            let _ = fs::remove_file(path);
        }
        std::mem::forget(half_written);
        return;
    }
}

/// Milliseconds to wait for whoever holds the list: a thread that will never move again may do so.
const PATIENCE: u32 = 500;

/// The temporary files that there are.
static HALF_WRITTEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A thread that panicked while it held the lock leaves a list that is still right.
fn half_written() -> MutexGuard<'static, Vec<PathBuf>> {
    HALF_WRITTEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A file that is being written, known to [`abandon_writes`].
pub(super) struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// A new file in the folder of `path`: only within one file system is moving a file one step.
    pub(super) fn beside(path: &Path) -> io::Result<(Self, File)> {
        let place = resolved(path);
        let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let process = std::process::id();
        // Made and noted under one lock, so that no file is ever there and not in the list.
        let mut half_written = half_written();
        let mut attempt = 0;
        loop {
            let path = folder_of(&place).join(format!(".{name}.{process}-{attempt}.tmp"));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => {
                    attempt += 1;
                }
                result => {
                    let file = result?;
                    half_written.push(path.clone());
                    return Ok((Self { path }, file));
                }
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// It is there under this name no longer.
    fn forget(self) {
        half_written().retain(|path| *path != self.path);
    }

    pub(super) fn remove(self) {
        // The first error is the one to tell; a temporary file that stays is the lesser evil.
        let _ = fs::remove_file(&self.path);
        self.forget();
    }
}

/// A file that takes another's place has its permissions, and its owner where that may be given away.
pub(super) fn keep_permissions(place: &Path, temporary: &Path) -> io::Result<()> {
    let Ok(facts) = fs::metadata(place) else { return Ok(()) };
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, chown};
        let ours = fs::metadata(temporary)?;
        if (ours.uid(), ours.gid()) != (facts.uid(), facts.gid()) {
            let _ = chown(temporary, Some(facts.uid()), Some(facts.gid()));
        }
    }
    fs::set_permissions(temporary, facts.permissions())
}

pub(super) fn check_place(path: &Path) -> Result<(), WriteError> {
    let file = || path.display().to_string();
    if path.is_dir() {
        return Err(WriteError::IsDirectory { file: file() });
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        let folder = folder.display().to_string();
        return Err(WriteError::NoFolder { file: file(), folder });
    }
    // Moving a file over another asks nobody whether that one may be written to.
    if fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().readonly()) {
        return Err(WriteError::ReadOnly { file: file() });
    }
    Ok(())
}

pub(super) fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| !facts.is_file())
}

/// Where a link leads, so that the link stays one.
pub(super) fn resolved(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}
