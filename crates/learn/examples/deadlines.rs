//! How far past a deadline the evaluation of a pipeline runs: random pipelines, tables and deadlines.
//!
//! Besides the time on the clock it measures the process's CPU time since the deadline, which other work
//! on the machine does not lengthen.
//!
//! ```text
//! deadlines [--cases N] [--rows MAX] [--threads N]
//! ```

mod support;

use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use pitchpipe_learn::{Outcome, SearchSpace, Validation};
use support::{Shape, generated, uniform};

struct Case {
    overshoot_ms: f64,
    cpu_ms: f64,
    text: String,
    is_out_of_time: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut n_cases, mut max_rows, mut threads) = (300, 100_000, 1);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let number = args.next().ok_or("a number is missing")?.parse::<usize>()?;
        match arg.as_str() {
            "--cases" => n_cases = number,
            "--rows" => max_rows = number,
            "--threads" => threads = number,
            other => return Err(format!("there is no option {other}").into()),
        }
    }
    let space = SearchSpace::paper();
    let mut uniform = uniform(5);
    let mut cases = Vec::new();
    // Tables are dear to generate: ten cases share one.
    for table in 0..n_cases.div_ceil(10) {
        let shape = Shape {
            n_rows: (300.0 * (max_rows as f64 / 300.0).powf(uniform())) as usize,
            n_cols: (4.0 * 25f64.powf(uniform())) as usize,
            n_classes: [2, 2, 3, 5, 10][(uniform() * 5.0) as usize],
            is_mixed: uniform() < 0.5,
        };
        // The largest table of all is among them.
        let largest = Shape { n_rows: max_rows, n_cols: 100, n_classes: 3, is_mixed: true };
        let shape = if table == 0 { largest } else { shape };
        let dataset = generated(shape, table as u64);
        for _ in 0..10.min(n_cases - cases.len()) {
            let number = (uniform() * space.n_pipelines() as f64) as u32;
            let pipeline = space.pipeline(number.into());
            let time = Duration::from_secs_f64(0.02 * 150f64.powf(uniform()));
            let deadline = Instant::now() + time;
            let options = Validation { threads, deadline: Some(deadline), ..Validation::default() };
            // Sleeps until the deadline and notes how much CPU the process has used by then.
            let watch = std::thread::spawn(move || {
                std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
                ProcessTime::now().as_duration()
            });
            let outcome = options.outcomes(&dataset, std::slice::from_ref(&pipeline))?.remove(0);
            let (end, cpu_end) = (Instant::now(), ProcessTime::now().as_duration());
            let cpu_deadline = watch.join().map_err(|_| "the watch stopped")?;
            let is_late = end > deadline;
            let cpu = if is_late { cpu_end.saturating_sub(cpu_deadline) } else { Duration::ZERO };
            cases.push(Case {
                overshoot_ms: end.saturating_duration_since(deadline).as_secs_f64() * 1e3,
                cpu_ms: cpu.as_secs_f64() * 1e3,
                text: format!("{:.0} ms, {shape:?}: {pipeline}", time.as_secs_f64() * 1e3),
                is_out_of_time: matches!(outcome, Outcome::OutOfTime { .. }),
            });
        }
    }
    let mut cpu: Vec<f64> = cases.iter().map(|case| case.cpu_ms).collect();
    cpu.sort_by(f64::total_cmp);
    cases.sort_by(|a, b| a.overshoot_ms.total_cmp(&b.overshoot_ms));
    let late = cases.iter().filter(|c| c.is_out_of_time).count();
    println!("{} cases, {late} out of time", cases.len());
    for percent in [50, 90, 95, 99, 100] {
        let at = (cases.len() * percent).div_ceil(100) - 1;
        let (clock, cpu) = (cases[at].overshoot_ms, cpu[at]);
        println!("{percent:>4} %: {clock:>7.1} ms past the deadline, {cpu:>7.1} ms of CPU");
    }
    println!("the farthest:");
    for case in cases.iter().rev().take(15) {
        println!("{:>7.1} ms ({:>5.1} of CPU)  {}", case.overshoot_ms, case.cpu_ms, case.text);
    }
    Ok(())
}
