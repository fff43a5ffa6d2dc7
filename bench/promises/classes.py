"""A minute on 100,000 rows of 1,000 classes, in 4 GB: is there a model, and how good is it on other rows?

Two tables of the same classes are made, clouds in ten columns. Fails where there is no model within the time and the memory.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from runs import ROOT, run

N_CLASSES, N_COLUMNS = 1_000, 10
TOLERANCE = 0.1


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=60)
    parser.add_argument("--memory", type=int, default=4_000_000_000)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--pitchpipe", default=str(ROOT / "target/release/pitchpipe"))
    return parser.parse_args()


def write(path, n_rows, seed):
    """Each class is a cloud around a place of its own."""
    places = random.Random("places")
    middles = [[places.gauss(0, 1.5) for _ in range(N_COLUMNS)] for _ in range(N_CLASSES)]
    draw = random.Random(f"{path.name} {seed}")
    with path.open("w") as file:
        file.write(",".join(f"x{j}" for j in range(N_COLUMNS)) + ",class\n")
        for i in range(n_rows):
            kind = i % N_CLASSES
            file.write(",".join(f"{draw.gauss(middle, 1):.3f}" for middle in middles[kind]) + f",c{kind}\n")


def main():
    args = options()
    with tempfile.TemporaryDirectory() as folder:
        train, test, model = (Path(folder) / name for name in ("train.csv", "test.csv", "model.pp"))
        write(train, 100_000, args.seed)
        write(test, 10_000, args.seed)
        result = run([
            args.pitchpipe, "fit", train, "--target", "class", "--time-budget", f"{args.budget}s", "--memory", str(args.memory),
            "--threads", str(args.threads), "--out", model, "--quiet",
        ])
        over, peak = result["seconds"] - args.budget, result["peak_bytes"]
        print(f"exit {result['code']}, {over:+.3f} s beyond the budget, peak {peak / 1e6:.0f} of {args.memory / 1e6:.0f} MB")
        for line in result["said"]:
            print(f"  {line}")
        is_fine = result["code"] == 0 and over <= TOLERANCE and peak <= args.memory
        if result["code"] == 0:
            scored = subprocess.run([args.pitchpipe, "evaluate", model, test, "--json"], capture_output=True, check=True)
            scores = json.loads(scored.stdout)["scores"]
            print(f"on 10,000 other rows: accuracy {scores['accuracy']:.4f}, balanced error {scores['balanced_error']:.4f}")
            report = json.loads(subprocess.run([args.pitchpipe, "inspect", model, "--json"], capture_output=True, check=True).stdout)["report"]
            counts = ", ".join(f"{report[name]} {name[2:]}" for name in ("n_evaluated", "n_failed", "n_out_of_time"))
            print(f"{counts}; models of {report['n_rows_used']} of {report['n_rows']} rows")
    sys.exit(0 if is_fine else 1)


if __name__ == "__main__":
    main()
