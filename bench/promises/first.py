"""Is there a first model within a second of the start, on every table?

Every table of the corpus, training and test, for two seconds on one thread. The clock runs outside, from before the process
starts to the line that says that there is an ensemble: from then on Ctrl-C would keep it. Every run is recorded when it
ends, and the same command goes on where it was.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from runs import ROOT, Record, corpus, loads, target_of

LIMIT = 1.0


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="no more tables than this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pitchpipe", default=str(ROOT / "target/release/pitchpipe"))
    parser.add_argument("--corpus", nargs="*", default=[str(ROOT / f"../shared/corpus/{part}") for part in ("train", "test")])
    parser.add_argument("--record", default=str(ROOT / "target/bench/promises/first.jsonl"))
    return parser.parse_args()


def measure(args, path, target):
    target = target_of(args.pitchpipe, path, target)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.pp"
        arguments = [args.pitchpipe, "fit", path, "--target", target, "--time-budget", "2s", "--threads", "1"]
        began, first = time.monotonic(), None
        child = subprocess.Popen([*arguments, "--seed", str(args.seed), "--json", "--out", model], stdout=subprocess.PIPE)
        for line in child.stdout:
            if first is None and json.loads(line)["event"] == "ensemble_changed":
                first = time.monotonic() - began
        code = child.wait()
        return {"first": first, "code": code, "seconds": time.monotonic() - began, "model_loads": loads(args.pitchpipe, model)}


def main():
    args = options()
    record = Record(args.record)
    tables = [table for folder in args.corpus for table in corpus(folder)][: args.runs]
    rows = []
    for path, target in tables:
        key = f"{args.seed} {path.parent.name} {path.name}"
        if key not in record.rows:
            record.add({"key": key, **measure(args, path, target)})
        row = record.rows[key]
        rows.append(row)
        if row["first"] is None or row["first"] > LIMIT or not row["model_loads"]:
            print(f"{key}: first model after {row['first']} s, exit {row['code']}", flush=True)
    times = sorted(row["first"] if row["first"] is not None else float("inf") for row in rows)
    late = sum(t > LIMIT for t in times)
    unloadable = sum(not row["model_loads"] for row in rows)
    print(f"{len(rows)} tables: first model after {times[len(times) // 2]:.3f} s (median), {times[-1]:.3f} s at most;", end=" ")
    print(f"{late} after more than {LIMIT:.0f} s, {unloadable} without a model that loads")
    sys.exit(1 if late or unloadable else 0)


if __name__ == "__main__":
    main()
