//! `pitchpipe completions` and `pitchpipe man`: what shells and manuals know about the command line.

use std::path::PathBuf;

use clap::{Args as ClapArgs, CommandFactory};
use clap_complete::Shell;

use crate::args::Args;
use crate::failure::Failure;
use crate::text::counted;

/// Print a completion script for a shell.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  pitchpipe completions bash > ~/.local/share/bash-completion/completions/pitchpipe
  pitchpipe completions zsh > ~/.zfunc/_pitchpipe
  pitchpipe completions fish > ~/.config/fish/completions/pitchpipe.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Write the manual pages, one for each command.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  pitchpipe man --out ~/.local/share/man/man1
  man pitchpipe-fit")]
pub(crate) struct ManArgs {
    /// The folder to write them to; made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn completions(args: &CompletionsArgs) -> String {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "pitchpipe", &mut script);
    String::from_utf8(script).expect("clap writes text")
}

pub(crate) fn man(args: &ManArgs) -> Result<String, Failure> {
    let folder = args.out.display();
    let failed = |e: std::io::Error| {
        let help = "name a folder that can be written to".to_owned();
        Failure::with_help(format!("{folder}: could not be written: {e}"), help)
    };
    std::fs::create_dir_all(&args.out).map_err(failed)?;
    clap_mangen::generate_to(Args::command(), &args.out).map_err(failed)?;
    let n = std::fs::read_dir(&args.out)
        .map_err(failed)?
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("pitchpipe"))
        .count();
    Ok(format!("{} in {folder}\n", counted(n, "manual page")))
}
