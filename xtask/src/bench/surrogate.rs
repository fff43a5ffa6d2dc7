//! Completion next to numpy and tensorly, on the published tensor, one thread each.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use pitchpipe_automl::offline::published::Published;
use pitchpipe_surrogate::complete::{EmOptions, Kfmc, complete_matrix, complete_tucker};
use pitchpipe_surrogate::{PartialTensor, SurrogateError};
use serde::Deserialize;

use crate::reference::partial;
use crate::{published, python};

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The 551 datasets too, not only the 215 of the paper.
    #[arg(long)]
    all: bool,
    /// Share of the observed entries hidden.
    #[arg(long, default_value_t = 0.3)]
    missing: f64,
    /// At most so many rounds of EM around tensorly's tucker, of about five seconds each; 0 leaves it out. It
    /// ends by itself after some twenty.
    #[arg(long, default_value_t = 100)]
    tensorly_rounds: usize,
}

const RANK: usize = 40;

#[derive(Deserialize)]
struct Theirs {
    what: String,
    secs: f64,
    rounds: usize,
    error: f64,
}

/// Runs both sides and prints the ratios.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let all = Published::read(&published::wheel()?).map_err(|e| e.to_string())?;
    let python = python::environment("bench-surrogate")?;
    let paper = all.of_the_paper().map_err(|e| e.to_string())?;
    one(&paper, options, options.tensorly_rounds, &python)?;
    if options.all {
        one(&all.observed_above(0.0), options, 0, &python)?;
    }
    Ok(())
}

fn one(
    data: &Published,
    options: &Options,
    tensorly: usize,
    python: &PathBuf,
) -> Result<(), String> {
    let whole = partial(data, f32::INFINITY)?;
    let (training, held) = whole.hold_out(options.missing, 1);
    let (m, n) = whole.matrix_shape();
    println!(
        "\n{m} x {n}, {} of observed entries hidden, rank {RANK}, one thread",
        options.missing
    );
    let theirs = peer(&whole, &training, tensorly, python)?;
    let pool = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.map_err(|e| e.to_string())
    };
    let (single, double) = (pool(1)?, pool(2)?);
    println!(
        "  {:28} {:>9} {:>7} {:>7}   {:>9} {:>7} {:>7}   {:>6}  {:>12}",
        "", "peer s", "rounds", "error", "ours s", "rounds", "error", "ratio", "two threads"
    );
    for (name, peer, method) in METHODS {
        let Some(them) = theirs.iter().find(|t| t.what.starts_with(peer)) else { continue };
        let (clock, wall) = (cpu_time::ProcessTime::now(), Instant::now());
        let (values, rounds) =
            single.install(|| method(&training)).map_err(|e: SurrogateError| e.to_string())?;
        let (secs, alone) = (clock.elapsed().as_secs_f64(), wall.elapsed().as_secs_f64());
        let wall = Instant::now();
        double.install(|| method(&training)).map_err(|e| e.to_string())?;
        let together = wall.elapsed().as_secs_f64();
        let error = whole.relative_error_at(&values, &held);
        // Tensorly stopped before its end is charged the rounds that our plain EM needs.
        let (peer_secs, note) = match them.what.strip_prefix("tensorly") {
            Some(most) if most == them.rounds.to_string() => {
                (them.secs / them.rounds as f64 * rounds as f64, "  (peer per round x our rounds)")
            }
            _ => (them.secs, ""),
        };
        println!(
            "  {name:28} {peer_secs:9.2} {:7} {:7.4}   {secs:9.2} {rounds:7} {error:7.4}   {:5.1}x  {:11.2}x{note}",
            them.rounds,
            them.error,
            peer_secs / secs,
            alone / together
        );
    }
    Ok(())
}

type Method = fn(&PartialTensor<f32>) -> Result<(Vec<f32>, usize), SurrogateError>;

/// Name, the peer's program, ours.
const METHODS: [(&str, &str, Method); 6] = [
    ("EM-Tucker, plain", "tucker", |t| tucker(t, &EmOptions::plain())),
    ("EM-Tucker, shrunk (default)", "tucker", |t| tucker(t, &EmOptions::shrunk())),
    ("EM-matrix, plain", "matrix", |t| matrix(t, &EmOptions::plain())),
    ("EM-matrix, shrunk", "matrix", |t| matrix(t, &EmOptions::shrunk())),
    ("KFMC, one pass", "kfmc", |t| {
        let kernel = Kfmc { passes: 1, ..Kfmc::new(t.shape()[0]) }.complete(t)?;
        Ok((kernel.values, 1))
    }),
    ("EM-Tucker, plain / tensorly", "tensorly", |t| tucker(t, &EmOptions::plain())),
];

fn tucker(
    t: &PartialTensor<f32>,
    options: &EmOptions,
) -> Result<(Vec<f32>, usize), SurrogateError> {
    let done = complete_tucker(t, &[RANK, 4, 2, 2, 8, RANK], options)?;
    Ok((done.values, done.progress.residuals.len()))
}

fn matrix(
    t: &PartialTensor<f32>,
    options: &EmOptions,
) -> Result<(Vec<f32>, usize), SurrogateError> {
    let done = complete_matrix(t, RANK, options)?;
    Ok((done.values, done.progress.residuals.len()))
}

/// Hands the tensor to the peers' program and reads what it measured.
fn peer(
    whole: &PartialTensor<f32>,
    training: &PartialTensor<f32>,
    tensorly: usize,
    python: &PathBuf,
) -> Result<Vec<Theirs>, String> {
    let folder = python::root().join("target/bench/surrogate");
    let write = |name: &str, bytes: Vec<u8>| {
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(folder.join(name), bytes))
            .map_err(|e| format!("{}: {e}", folder.display()))
    };
    write("values.f32", whole.values().iter().flat_map(|v| v.to_le_bytes()).collect())?;
    let code = |(&seen, &kept): (&bool, &bool)| if kept { 1 } else { 2 * u8::from(seen) };
    write("mask.u8", whole.mask().iter().zip(training.mask()).map(code).collect())?;
    let about = serde_json::json!({ "shape": whole.shape(), "rank": RANK });
    write("shape.json", about.to_string().into_bytes())?;
    let mut command = Command::new(python);
    command
        .arg(python::root().join("bench/surrogate/peer.py"))
        .arg(&folder)
        .args(["tucker", "matrix", "kfmc"])
        .env("OPENBLAS_NUM_THREADS", "1")
        .env("OMP_NUM_THREADS", "1")
        .stderr(Stdio::inherit());
    if tensorly > 0 {
        command.arg(format!("tensorly{tensorly}"));
    }
    let output = command.output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(format!("bench/surrogate/peer.py failed: {}", output.status));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .map(|line| serde_json::from_str(line).map_err(|e| format!("{line}: {e}")))
        .collect()
}
