"""Does the whole process keep its time budget and its memory ceiling?

Random (table, budget, threads, ceiling): made tables of 10 to 1,000,000 rows, 2 to 10,000 columns and 2 to 2,000 classes, budgets
of 1 to 5 s, threads from 1 to 4 a core, half of the runs beside two busy loops, a quarter with a report. Every run is recorded
when it ends, and the same command goes on where it was, unless the program is another. With `--jobs 2` two runs go on
side by side and each has a harder time of it. Fails where a run took more than its budget and a tenth
of a second, used more memory than its ceiling, or ended without a model and without saying why.
"""

import argparse
import hashlib
import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from runs import ROOT, Record, loads, run, shaped

TOLERANCE = 0.1

ROWS = [10, 30, 100, 1_000, 10_000, 100_000, 1_000_000]
COLUMNS = [2, 10, 50, 500, 10_000]
CLASSES = [2, 2, 3, 10, 100, 1_000, 2_000]

# Runs share so many tables, which take a few gigabytes.
N_TABLES = 24


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--pitchpipe", default=str(ROOT / "target/release/pitchpipe"))
    parser.add_argument("--most-cells", type=int, default=200_000_000)
    parser.add_argument("--record", default=str(ROOT / "target/bench/promises/budget.jsonl"))
    return parser.parse_args()


def available():
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def shapes(args):
    """The tables of this seed: rows, columns, classes; the first is the longest."""
    draw = random.Random(f"tables {args.seed}")
    drawn = [(1_000_000, 50, 3)] if args.most_cells >= 50_000_000 else []
    while len(drawn) < N_TABLES:
        shape = draw.choice(ROWS), draw.choice(COLUMNS), draw.choice(CLASSES)
        if shape[0] * shape[1] <= args.most_cells and shape[2] <= shape[0] // 3:
            drawn.append(shape)
    return drawn


def plan(args):
    """The runs."""
    build = hashlib.sha256(Path(args.pitchpipe).read_bytes()).hexdigest()[:12]
    tables = shapes(args)
    for i in range(args.runs):
        draw = random.Random(f"{args.seed} {i}")
        yield {
            "shape": draw.choice(tables),
            "budget": round(draw.uniform(1, 5), 1),
            "threads": draw.randint(1, 4 * (os.cpu_count() or 1)),
            "memory": draw.choice([None, None, None, 500_000_000, 1_500_000_000]),
            "busy": draw.random() < 0.5,
            "report": draw.random() < 0.25,
            "key": f"{build} {args.seed} {args.most_cells} {i}",
        }


@contextmanager
def load(is_busy):
    """Two loops beside, or none."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 if is_busy else 0)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def measure(args, record, job):
    if job["key"] in record.rows:
        return record.rows[job["key"]]
    path = shaped(ROOT / "target/bench/promises/tables", *job["shape"])
    ceiling = job["memory"] or int(0.7 * (available() or 0)) or None
    with tempfile.TemporaryDirectory() as folder, load(job["busy"]):
        model = Path(folder) / "model.pp"
        arguments = [
            args.pitchpipe, "fit", path, "--target", "class", "--max-classes", "2000", "--time-budget", f"{job['budget']}s",
            "--threads", str(job["threads"]), "--out", str(model), "--quiet",
        ]
        if job["memory"]:
            arguments += ["--memory", str(job["memory"])]
        if job["report"]:
            arguments += ["--report", str(Path(folder) / "report.html")]
        result = run(arguments)
        fine = loads(args.pitchpipe, model) if result["code"] == 0 else result["said"][:1] != []
    row = {**job, **result, "path": str(path), "ceiling": ceiling, "fine": fine, "load": os.getloadavg()[0]}
    record.add(row)
    return row


def problems(row):
    found = []
    if row["seconds"] > row["budget"] + TOLERANCE:
        found.append("OVERRUN")
    if row["ceiling"] and row["peak_bytes"] and row["peak_bytes"] > row["ceiling"]:
        found.append("MEMORY")
    if not row["fine"] or row["code"] not in (0, 1):
        found.append("NO MODEL AND NO REASON")
    return found


def line(row):
    over = row["seconds"] - row["budget"]
    peak, ceiling = row["peak_bytes"] / 1e6, (row["ceiling"] or 0) / 1e6
    said = "" if row["code"] == 0 else " | ".join(row["said"])
    return (
        f"{Path(row['path']).name[:32]:<32} {row['budget']:>5.1f}s x{row['threads']} {'busy' if row['busy'] else '    '} "
        f"{'report' if row['report'] else '      '} {over:>+7.3f}s  CPU {row['cpu_seconds']:>6.1f}s  "
        f"{peak:>6.0f} of {ceiling:>6.0f} MB  load {row['load']:>4.1f}  exit {row['code']} {' '.join(problems(row))} {said}"
    )


def main():
    args = options()
    record = Record(args.record)
    rows = []
    print(f"{'table':<32} budget thr  beyond budget")
    with ThreadPoolExecutor(args.jobs) as pool:
        for row in pool.map(lambda job: measure(args, record, job), plan(args)):
            rows.append(row)
            print(line(row), flush=True)
    over = sorted(row["seconds"] - row["budget"] for row in rows)
    print(f"\n{len(rows)} runs; beyond the budget: median {over[len(over) // 2]:+.3f}s, most {over[-1]:+.3f}s")
    models = sum(row["code"] == 0 for row in rows)
    counts = {name: sum(name in problems(row) for row in rows) for name in ("OVERRUN", "MEMORY", "NO MODEL AND NO REASON")}
    print(f"{models} models; " + ", ".join(f"{name.lower()}: {n}" for name, n in counts.items()))
    sys.exit(1 if any(counts.values()) else 0)


if __name__ == "__main__":
    main()
