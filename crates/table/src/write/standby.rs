//! A whole file that lies beside its place, and takes it only where the process cannot go on.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, TryLockError};

use super::WriteError;
use super::atomic::{Temporary, check_place, is_special, keep_permissions, resolved};

/// What waits.
static STANDBY: Mutex<Option<Standby>> = Mutex::new(None);

struct Standby {
    temporary: Temporary,
    place: PathBuf,
}

/// Writes bytes beside `path`, where they wait for [`take_over`] instead of those that waited before. What is no plain file
/// has nothing beside it.
pub fn stand_by(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    check_place(path)?;
    if is_special(path) {
        return Ok(());
    }
    let failed = |source| WriteError::Io { file: path.display().to_string(), source };
    let (temporary, mut file) = Temporary::beside(path).map_err(failed)?;
    let place = resolved(path);
    let written = file.write_all(bytes).and_then(|()| keep_permissions(&place, temporary.path()));
    if let Err(source) = written {
        temporary.remove();
        return Err(failed(source));
    }
    let mut waiting = STANDBY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(before) = waiting.replace(Standby { temporary, place }) {
        before.temporary.remove();
    }
    Ok(())
}

/// Removes what waits: it is not needed any more.
pub fn stand_down() {
    let waiting = STANDBY.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(waiting) = waiting {
        waiting.temporary.remove();
    }
}

/// Moves what waits to its place, for which no memory is needed; tells whether it is there.
pub fn take_over() -> bool {
    let waiting = match STANDBY.try_lock() {
        Ok(waiting) => waiting,
        Err(TryLockError::Poisoned(waiting)) => waiting.into_inner(),
        // Somebody is just changing it, and will not come to an end.
        Err(TryLockError::WouldBlock) => return false,
    };
    let is_there = waiting
        .as_ref()
        .is_some_and(|standby| fs::rename(standby.temporary.path(), &standby.place).is_ok());
    std::mem::forget(waiting);
    is_there
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_takes_its_place_only_when_it_is_told_to() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("m.pp");
        let n_files = || fs::read_dir(folder.path()).unwrap().count();
        stand_by(&place, b"one").unwrap();
        stand_by(&place, b"two").unwrap();
        assert_eq!((n_files(), place.exists()), (1, false));
        stand_down();
        assert_eq!(n_files(), 0);
        stand_by(&place, b"three").unwrap();
        assert!(take_over());
        assert_eq!((n_files(), fs::read(&place).unwrap()), (1, b"three".to_vec()));
    }
}
