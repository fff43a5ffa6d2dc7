"""Does the whole process keep its time budget and its memory ceiling?

Random (table, budget, threads, ceiling), among them a table of 500,000 rows and one of 5,000 features. Every run is
recorded when it ends, and the same command goes on where it was, unless the program is another. With `--jobs 2` two runs go on
side by side and each has a harder time of it. Fails where a run took more than its budget and a tenth
of a second, used more memory than its ceiling, or ended without a model and without saying why.
"""

import argparse
import hashlib
import os
import random
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from runs import ROOT, Record, corpus, generated, loads, run, target_of

TOLERANCE = 0.1


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--pitchpipe", default=str(ROOT / "target/release/pitchpipe"))
    parser.add_argument("--corpus", default=str(ROOT / "../shared/corpus/test"))
    parser.add_argument("--record", default=str(ROOT / "target/bench/promises/budget.jsonl"))
    return parser.parse_args()


def available():
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def plan(args, tables, large):
    """The runs: every fourth is on one of the large tables."""
    build = hashlib.sha256(Path(args.pitchpipe).read_bytes()).hexdigest()[:12]
    for i in range(args.runs):
        draw = random.Random(f"{args.seed} {i}")
        path, target = large[i // 4 % 2] if i % 4 == 0 else draw.choice(tables)
        budget = round(draw.uniform(1, 20), 1)
        threads = draw.randint(1, os.cpu_count() or 1)
        memory = draw.choice([None, None, 500_000_000, 1_500_000_000])
        yield {
            "key": f"{build} {args.seed} {i} {path.name}", "path": str(path), "target": target,
            "budget": budget, "threads": threads, "memory": memory,
        }


def measure(args, record, job):
    if job["key"] in record.rows:
        return record.rows[job["key"]]
    target = target_of(args.pitchpipe, job["path"], job["target"])
    ceiling = job["memory"] or int(0.7 * (available() or 0)) or None
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.pp"
        arguments = [
            args.pitchpipe, "fit", job["path"], "--target", target, "--time-budget", f"{job['budget']}s",
            "--threads", str(job["threads"]), "--out", str(model), "--quiet",
        ]
        if job["memory"]:
            arguments += ["--memory", str(job["memory"])]
        result = run(arguments)
        fine = loads(args.pitchpipe, model) if result["code"] == 0 else result["said"][:1] != []
    row = {**job, **result, "ceiling": ceiling, "fine": fine, "load": os.getloadavg()[0]}
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
        f"{Path(row['path']).name[:32]:<32} {row['budget']:>5.1f}s x{row['threads']} {over:>+7.3f}s  CPU {row['cpu_seconds']:>6.1f}s  "
        f"{peak:>6.0f} of {ceiling:>6.0f} MB  load {row['load']:>4.1f}  exit {row['code']} {' '.join(problems(row))} {said}"
    )


def main():
    args = options()
    record = Record(args.record)
    tables, large = corpus(args.corpus), generated(ROOT / "target/bench/promises/tables")
    rows = []
    print(f"{'table':<32} budget thr  beyond budget")
    with ThreadPoolExecutor(args.jobs) as pool:
        for row in pool.map(lambda job: measure(args, record, job), plan(args, tables, large)):
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
