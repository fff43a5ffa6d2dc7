"""Times reading a CSV file of 1,000,000 rows by 20 mixed columns: pitchpipe, pyarrow, pandas.

Run by `cargo xtask bench table`. Each reader runs in a process of its own, on one thread, REPEATS times in
turn; the table shows the best CPU time of each, its wall time, its peak memory, and the ratios.
"""

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path

ROWS = 1_000_000
SEED = 20
REPEATS = 3

PEERS = {
    "pyarrow": """
import pyarrow.csv as csv
run = lambda path: csv.read_csv(path, read_options=csv.ReadOptions(use_threads=False))
""",
    "pandas": """
import pandas as pd
run = lambda path: pd.read_csv(path, engine="c")
""",
}

HARNESS = """
import json, sys, time
cpu, wall = [], []
for _ in range(int(sys.argv[2])):
    table = None
    c, w = time.process_time(), time.perf_counter()
    table = run(sys.argv[1])
    cpu.append(time.process_time() - c)
    wall.append(time.perf_counter() - w)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
peak = int(status["VmHWM"].split()[0]) * 1024
print(json.dumps({"cpu_secs": cpu, "wall_secs": wall, "peak_bytes": peak, "shape": list(table.shape)}))
"""


def generate(path: Path, rows: int) -> None:
    """20 columns: 8 of floats, 5 of integers, 4 of short strings, 2 of dates, 1 of booleans."""
    draw = random.Random(SEED)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(3, 12))) for _ in range(20_000)]
    number, gauss, below = draw.random, draw.gauss, draw.randrange
    header = [f"f{i}" for i in range(8)] + [f"i{i}" for i in range(5)] + [f"s{i}" for i in range(4)]
    header += ["day", "moment", "flag"]
    with path.open("w") as out:
        out.write(",".join(header) + "\n")
        for row in range(rows):
            cells = [
                f"{gauss(0, 100):.2f}",
                f"{gauss(0, 1):.4f}",
                f"{number():.6f}" if number() > 0.05 else "",
                f"{number() * 1000:.3f}",
                f"{gauss(0, 1):.9f}",
                repr(gauss(0, 1)),
                repr(number()) if number() > 0.1 else "NA",
                f"{gauss(0, 1e6):.5e}",
                str(row),
                str(below(10)),
                str(below(100_000)) if number() > 0.05 else "",
                str(below(-1000, 1000)),
                str(below(2_000_000_000)),
                words[below(5)],
                words[below(100)] if number() > 0.02 else "",
                words[below(20_000)],
                f"user{below(200_000)}",
                f"20{below(25):02}-{1 + below(12):02}-{1 + below(28):02}",
                f"20{below(25):02}-{1 + below(12):02}-{1 + below(28):02} {below(24):02}:{below(60):02}:{below(60):02}",
                "true" if number() < 0.3 else "false",
            ]
            out.write(",".join(cells) + "\n")


def measure(command: list[str]) -> dict:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reader", required=True, help="the built example time_read")
    parser.add_argument("--folder", required=True, type=Path, help="where the generated file is kept")
    parser.add_argument("--rows", type=int, default=ROWS)
    args = parser.parse_args()

    path = args.folder / f"mixed-{args.rows}x20.csv"
    if not path.exists():
        args.folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        generate(partial, args.rows)
        partial.rename(path)
    size = path.stat().st_size
    os.environ["OMP_NUM_THREADS"] = "1"

    commands = {"pitchpipe": [args.reader, str(path), "1"]}
    for name, setup in PEERS.items():
        commands[name] = [sys.executable, "-c", setup + HARNESS, str(path), "1"]
    best: dict[str, dict] = {}
    for _ in range(REPEATS):  # in turn, so that a busy machine is busy for all
        for name, command in commands.items():
            got = measure(command)
            got = {"cpu": min(got["cpu_secs"]), "wall": min(got["wall_secs"]), "peak": got["peak_bytes"], "shape": got["shape"]}
            have = best.setdefault(name, got)
            for key in ("cpu", "wall", "peak"):
                have[key] = min(have[key], got[key])
    ours = best["pitchpipe"]
    print(f"{path.name}: {size / 1e6:.0f} MB, {ours['shape'][0]} x {ours['shape'][1]}; best of {REPEATS}, one thread")
    print(f"{'reader':<10} {'CPU s':>7} {'wall s':>7} {'MB/s':>6} {'peak/file':>9} {'CPU vs pitchpipe':>17}")
    for name, got in best.items():
        print(
            f"{name:<10} {got['cpu']:>7.3f} {got['wall']:>7.3f} {size / 1e6 / got['cpu']:>6.0f}"
            f" {got['peak'] / size:>9.2f} {got['cpu'] / ours['cpu']:>17.2f}"
        )


if __name__ == "__main__":
    main()
