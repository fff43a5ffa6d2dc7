//! Where a result goes: checked before the work that it costs, so that nothing is lost by writing it.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use clap::Args as ClapArgs;
use pitchpipe_automl::Model;
use pitchpipe_automl::export::SCRIPT_OPENING;
use pitchpipe_automl::surrogate::Surrogate;
use pitchpipe_table::check_writable;

use crate::failure::Failure;

/// Whether what is there may be replaced.
#[derive(Clone, Copy, Debug, ClapArgs)]
pub(crate) struct ForceArgs {
    /// Replace FILE even if it is something else than this command writes
    #[arg(long)]
    pub(crate) force: bool,
}

/// What a command writes, known by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Product {
    Model,
    Surrogate,
    Script,
    Report,
}

impl Product {
    fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Surrogate => "surrogate",
            Self::Script => "script",
            Self::Report => "report",
        }
    }

    fn opening(self) -> &'static [u8] {
        match self {
            Self::Model => Model::MAGIC,
            Self::Surrogate => Surrogate::MAGIC,
            Self::Script => SCRIPT_OPENING.as_bytes(),
            Self::Report => pitchpipe_report::OPENING.as_bytes(),
        }
    }
}

/// Names of tables: a model under such a name would be taken for one.
const TABLE_EXTENSIONS: [&str; 10] =
    ["csv", "tsv", "arff", "parquet", "arrow", "feather", "json", "gz", "zst", "py"];

/// A model or a surrogate is neither called like a table nor written to standard output.
pub(crate) fn check_name(out: &Path, product: Product, extension: &str) -> Result<(), Failure> {
    let name = product.name();
    if out.as_os_str() == "-" {
        return Err(Failure::with_help(
            format!(
                "--out -: a {name} is not written to standard output, where a broken pipe would lose it"
            ),
            format!("name a file, such as {name}.{extension}"),
        ));
    }
    let given = out.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
    if let Some(given) = given.filter(|e| TABLE_EXTENSIONS.contains(&e.as_str())) {
        return Err(Failure::with_help(
            format!("{}: a {name} file is no .{given} file", out.display()),
            format!("call it {}, say", out.with_extension(extension).display()),
        ));
    }
    Ok(())
}

/// Finds out whether a file can be written, is no input of the same command, and holds nothing but what this command
/// writes, unless that is forced.
pub(crate) fn check(
    out: &Path,
    inputs: &[&Path],
    product: Product,
    force: ForceArgs,
) -> Result<(), Failure> {
    check_is_no_input(out, inputs)?;
    check_writable(out)?;
    if force.force || is_empty_or(out, product) {
        return Ok(());
    }
    Err(Failure::with_help(
        format!("{} is there already, and is no {} of pitchpipe", out.display(), product.name()),
        "name another file, or pass --force to replace it".to_owned(),
    ))
}

/// Two results do not go to one file.
pub(crate) fn check_differs(report: &Path, out: &Path) -> Result<(), Failure> {
    let is_same = identity(report).is_some_and(|one| Some(one) == identity(out));
    match report == out || is_same {
        false => Ok(()),
        true => Err(Failure::with_help(
            format!("{} cannot hold both the model and the report", out.display()),
            "name another file with --report".to_owned(),
        )),
    }
}

/// An output that is also an input would be gone.
pub(crate) fn check_is_no_input(out: &Path, inputs: &[&Path]) -> Result<(), Failure> {
    let Some(ours) = identity(out) else { return Ok(()) };
    let input = inputs.iter().find(|input| identity(input).is_some_and(|other| other == ours));
    match input {
        None => Ok(()),
        Some(input) => {
            let (out, input) = (out.display(), input.display());
            let is = if input.to_string() == "-" {
                format!("{out} is what standard input reads")
            } else {
                format!("{out} is also read by this command, as {input}")
            };
            Err(Failure::with_help(
                format!("{is}, and would be replaced"),
                "name another file with --out".to_owned(),
            ))
        }
    }
}

/// What a path leads to, under whichever name: a device, as `/dev/null` or a terminal, is nothing that can be lost.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let path = if path.as_os_str() == "-" { Path::new("/dev/stdin") } else { path };
    let facts = fs::metadata(path).ok().filter(|f| f.is_file() || f.is_dir())?;
    Some((facts.dev(), facts.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<std::path::PathBuf> {
    fs::canonicalize(path).ok()
}

/// Whether there is nothing that could be lost.
fn is_empty_or(out: &Path, product: Product) -> bool {
    let Ok(facts) = fs::metadata(out) else { return true };
    if !facts.is_file() || facts.len() == 0 {
        return true;
    }
    let opening = product.opening();
    let mut first = vec![0; opening.len()];
    File::open(out).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == opening
}
