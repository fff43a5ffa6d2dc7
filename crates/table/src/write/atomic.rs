//! A file that is whole or not there: written beside its place, then moved to it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::WriteError;

/// Writes a file so that, whatever happens, nobody ever sees half of it: what was there before stays until
/// the new bytes are complete.
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
    let (temporary, mut file) = temporary_beside(path).map_err(failed)?;
    let written = file.write_all(bytes).and_then(|()| {
        drop(file);
        fs::rename(&temporary, resolved(path))
    });
    written.map_err(|source| {
        // The first error is the one to tell; a temporary file that stays is the lesser evil.
        let _ = fs::remove_file(&temporary);
        failed(source)
    })
}

/// Finds out whether a file could be written, before the work that its contents cost.
pub fn check_writable(path: &Path) -> Result<(), WriteError> {
    check_place(path)?;
    if is_special(path) {
        return Ok(());
    }
    let failed = |source| WriteError::Io { file: path.display().to_string(), source };
    let (temporary, file) = temporary_beside(path).map_err(failed)?;
    drop(file);
    fs::remove_file(temporary).map_err(failed)
}

fn check_place(path: &Path) -> Result<(), WriteError> {
    let file = || path.display().to_string();
    if path.is_dir() {
        return Err(WriteError::IsDirectory { file: file() });
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        let folder = folder.display().to_string();
        return Err(WriteError::NoFolder { file: file(), folder });
    }
    Ok(())
}

fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| !facts.is_file())
}

/// Where a link leads, so that the link stays one.
fn resolved(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// A new file in the folder of `path`: only within one file system is moving a file one step.
fn temporary_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let place = resolved(path);
    let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let process = std::process::id();
    let mut attempt = 0;
    loop {
        let temporary = folder_of(&place).join(format!(".{name}.{process}-{attempt}.tmp"));
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
            result => return result.map(|file| (temporary, file)),
        }
    }
}
