//! Reads one table and prints, as JSON, what it cost: `time_read FILE [REPEATS]`.
//!
//! Used by `bench/table/bench.py` to stand next to pyarrow and pandas.

use std::path::Path;
use std::time::Instant;

use cpu_time::ProcessTime;
use pitchpipe_table::{CancelCheck, ReadOptions, Source, read};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("usage: time_read FILE [REPEATS]");
    let repeats: usize = arguments.next().map_or(1, |n| n.parse().expect("REPEATS is a number"));
    let source = Source::from_argument(Path::new(&file));
    let (mut cpu, mut wall) = (Vec::new(), Vec::new());
    let mut shape = (0, 0);
    for _ in 0..repeats {
        let (cpu_start, wall_start) = (ProcessTime::now(), Instant::now());
        let table = read(&source, &ReadOptions::default(), &CancelCheck::never());
        cpu.push(cpu_start.elapsed().as_secs_f64());
        wall.push(wall_start.elapsed().as_secs_f64());
        let table = table.unwrap_or_else(|e| panic!("{e}"));
        shape = (table.n_rows, table.columns.len());
    }
    println!(
        "{}",
        serde_json::json!({
            "cpu_secs": cpu,
            "wall_secs": wall,
            "peak_bytes": peak_bytes(),
            "shape": shape,
        })
    );
}

/// The most memory the process has held, where the system tells (Linux).
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}
