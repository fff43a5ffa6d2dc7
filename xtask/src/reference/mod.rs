//! `cargo xtask reference`: the reference tables next to our own figures, on the authors' tensor.
//!
//! One file per group of tables. A group is a function from [`Context`] to tables; adding one is a
//! file and a line in [`GROUPS`].

mod completion;
mod designs;
mod kept;
mod mask;
mod policies;
mod prediction;
pub(crate) mod recorded;
mod runtimes;
mod searches;
mod spectrum;
mod systems;
mod table;

use std::path::PathBuf;

use pitchpipe_automl::offline::published::Published;

use crate::published;
pub(crate) use completion::partial;
pub(crate) use kept::Kept;
pub(crate) use recorded::families;
pub(crate) use table::{Row, Rule, Table, Verdict};

/// What every group works on.
pub(crate) struct Context {
    /// All 551 published datasets.
    pub(crate) all: Published,
    /// The 215 of the paper, in its order.
    pub(crate) paper: Published,
    /// Only what takes seconds.
    pub(crate) quick: bool,
    /// Only figures whose name contains this; groups of many slow figures heed it.
    pub(crate) matching: String,
    /// Simulations run on every so many datasets of their sets.
    pub(crate) every: usize,
    /// Results of an earlier run that was stopped.
    pub(crate) kept: Kept,
}

type Group = (&'static str, fn(&Context) -> Result<Vec<Table>, String>);

/// Every group, by the name `--only` knows it by.
const GROUPS: &[Group] = &[
    ("mask", mask::tables),
    ("spectrum", spectrum::tables),
    ("completion", completion::tables),
    ("runtimes", runtimes::tables),
    ("search", searches::tables),
    ("families", searches::families_tables),
    ("predicted-runtimes", searches::predicted_tables),
    ("workers", searches::workers_tables),
    ("variants", searches::variants_tables),
    ("systems", systems::tables),
    ("prediction", prediction::tables),
    ("designs", designs::tables),
];

/// Options of the command.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The wheel `oboe-0.2.0-py3-none-any.whl`; fetched by package name when left out.
    #[arg(long, value_name = "WHEEL")]
    tensor: Option<PathBuf>,
    /// Only what takes seconds.
    #[arg(long)]
    quick: bool,
    /// Simulate on every Nth dataset of each set only; with N above 1 their figures are shown, not judged.
    #[arg(long, value_name = "N", default_value_t = 1)]
    every: usize,
    /// Only these groups of tables.
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    only: Vec<String>,
    /// Only the completions whose name contains this.
    #[arg(long, value_name = "TEXT", default_value = "")]
    matching: String,
    /// Keep results in target/reference, and take over those of an earlier run of the same build.
    #[arg(long)]
    resume: bool,
}

/// Prints every table; fails when a reference is not reached.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    if let Some(unknown) = options.only.iter().find(|o| GROUPS.iter().all(|(name, _)| name != o)) {
        let known: Vec<&str> = GROUPS.iter().map(|(name, _)| *name).collect();
        return Err(format!("no group is called {unknown}; there are {}", known.join(", ")));
    }
    let wheel = match &options.tensor {
        Some(path) => path.clone(),
        None => published::wheel()?,
    };
    let all = Published::read(&wheel).map_err(|e| e.to_string())?;
    let paper = all.of_the_paper().map_err(|e| e.to_string())?;
    let matching = options.matching.clone();
    let every = options.every.max(1);
    let kept = if options.resume { Kept::resume()? } else { Kept::nothing() };
    let context = Context { all, paper, quick: options.quick, matching, every, kept };
    let mut counts = [0; 4];
    const VERDICTS: [Verdict; 4] =
        [Verdict::Reached, Verdict::Missed, Verdict::NotReproduced, Verdict::NotJudged];
    for (name, tables) in GROUPS {
        if !options.only.is_empty() && options.only.iter().all(|o| o != name) {
            continue;
        }
        for table in tables(&context)? {
            print!("{}", table.render());
            counts.iter_mut().zip(VERDICTS).for_each(|(n, v)| *n += table.count(v));
        }
    }
    let [reached, missed, not_reproduced, not_judged] = counts;
    println!(
        "\n{reached} figures reach their reference, {missed} miss it, {not_reproduced} that need not are not reproduced, {not_judged} have none or are of a sample"
    );
    if missed == 0 { Ok(()) } else { Err(format!("{missed} references are not reached")) }
}
