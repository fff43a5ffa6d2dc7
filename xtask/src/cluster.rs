//! What runs on a real Ray cluster on this machine: the tests in tests/cluster, and the benchmarks in bench/cluster.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::tests::run;
use crate::{python, wheel};

/// What `cargo xtask bench cluster` measures.
#[derive(Args)]
pub(crate) struct Options {
    /// A folder of tables or a manifest; the example tables where none is named
    #[arg(long, value_name = "PATH")]
    corpus: Option<PathBuf>,

    /// Flags of `meta collect` that say which pipelines
    #[arg(long, value_name = "FLAGS")]
    scope: Option<String>,

    /// Tasks in flight
    #[arg(long, default_value_t = 10_000)]
    tasks: usize,

    /// CPU hours of all tasks of the cluster that is simulated
    #[arg(long, default_value_t = 830.0)]
    cpu_hours: f64,
}

/// Runs the tests on a cluster of two nodes. Where Ray has no wheel for this machine they are left out, but not in CI.
pub(crate) fn test(wheel: &Path, in_ci: bool) -> Result<(), String> {
    let python = match python::environment("cluster") {
        Ok(python) => python,
        Err(error) if in_ci || ray_has_a_wheel() => return Err(error),
        Err(_) => {
            eprintln!("tests/cluster is left out: Ray has no wheel for this machine's Python");
            return Ok(());
        }
    };
    wheel::install(&python, wheel)?;
    run(Command::new(python)
        .args(["-m", "pytest", "-q", "tests/cluster"])
        .current_dir(python::root()))
}

/// Measures on this machine, then simulates a large cluster from that.
pub(crate) fn bench(options: &Options) -> Result<(), String> {
    let python = python::environment("cluster")?;
    wheel::install(&python, &wheel::build()?)?;
    let measured = python::root().join("target/bench/cluster.json");
    let script = |name: &str| python::root().join("bench/cluster").join(name);
    let mut measure = Command::new(&python);
    measure.arg(script("measure.py")).arg("--out").arg(&measured);
    measure.arg("--tasks").arg(options.tasks.to_string());
    if let Some(corpus) = &options.corpus {
        measure.arg("--corpus").arg(corpus);
    }
    if let Some(scope) = &options.scope {
        measure.arg(format!("--scope={scope}"));
    }
    run(&mut measure)?;
    let hours = options.cpu_hours.to_string();
    run(Command::new(&python)
        .arg(script("simulate.py"))
        .arg(&measured)
        .args(["--cpu-hours", &hours]))
}

/// Whether a wheel can be had: anything but pip's word that there is none counts as yes.
fn ray_has_a_wheel() -> bool {
    let requirements = python::root().join("requirements/cluster.txt");
    let asked = Command::new("python3")
        .args(["-m", "pip", "install", "--dry-run", "--quiet", "--disable-pip-version-check"])
        .args(["--no-deps", "--only-binary", ":all:", "--ignore-installed", "-r"])
        .arg(requirements)
        .output();
    let said = asked.map(|done| String::from_utf8_lossy(&done.stderr).into_owned());
    !said.is_ok_and(|said| said.contains("No matching distribution"))
}
