"""What the promise checks share: tables, one run of the command, and a record that goes on where it was."""

import json
import os
import random
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = [("penguins.csv", "species"), ("wine.csv", "cultivar"), ("breast-cancer.csv.gz", "diagnosis")]


def corpus(folder):
    """(path, target) of the tables of a corpus, or of the example data where there is none."""
    index = Path(folder) / "INDEX.tsv"
    if not index.exists():
        print(f"no corpus at {folder}: the example data stand in for it")
        return [(ROOT / "examples/data" / name, target) for name, target in EXAMPLES]
    return [(index.parent / line.split("\t")[0], "class") for line in index.read_text().splitlines()[1:]]


def generated(folder):
    """A long and a wide table, with something to find in each; written once."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, n_rows, n_columns in [("long-500000x12.csv", 500_000, 12), ("wide-400x5000.csv", 400, 5_000)]:
        path = folder / name
        if not path.exists():
            write(path, n_rows, n_columns)
        made.append((path, "class"))
    return made


MAKING = threading.Lock()


def shaped(folder, n_rows, n_columns, n_classes):
    """A table of so many rows, columns and classes, of which the first columns tell something; written once.

    Most cells are drawn from a thousand made rows, so that a hundred million of them are written in a minute.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{n_rows}x{n_columns}x{n_classes}.csv"
    with MAKING:
        if path.exists():
            return path
        draw = random.Random(path.name)
        n_telling = min(3, n_columns)
        tails = ["".join(f",{draw.gauss(0, 1):.3f}" for _ in range(n_columns - n_telling)) for _ in range(min(n_rows, 1_000))]
        unfinished = path.with_suffix(".tmp")
        with unfinished.open("w") as file:
            file.write(",".join(f"x{j}" for j in range(n_columns)) + ",class\n")
            for i in range(n_rows):
                kind = i % n_classes
                telling = ",".join(f"{draw.gauss(kind * (j + 1) * 7 % n_classes, 0.6):.3f}" for j in range(n_telling))
                file.write(f"{telling}{draw.choice(tails)},c{kind}\n")
        unfinished.rename(path)
    return path


def write(path, n_rows, n_columns):
    draw = random.Random(path.name)
    unfinished = path.with_suffix(".tmp")
    with unfinished.open("w") as file:
        file.write(",".join(f"x{j}" for j in range(n_columns)) + ",shop,class\n")
        for _ in range(n_rows):
            cells = [draw.gauss(0, 1) for _ in range(n_columns)]
            shop = draw.choice("abcdefgh")
            score = cells[0] * cells[1] + cells[2] + (shop in "abc") + draw.gauss(0, 0.5)
            kind = "low" if score < -0.5 else "high" if score > 1 else "middle"
            file.write(",".join(f"{cell:.3f}" for cell in cells) + f",{shop},{kind}\n")
    unfinished.rename(path)


def target_of(command, path, target):
    """Tables of a corpus call their target `class`, or have it in the last column."""
    if target != "class":
        return target
    described = json.loads(subprocess.run([command, "describe", path, "--json"], capture_output=True, check=True).stdout)
    names = [column["name"] for column in described["columns"]]
    return "class" if "class" in names else names[-1]


def run(arguments, signal_after=None, signal=None):
    """One run of the whole process: exit code, seconds, CPU seconds, peak memory, what it said."""
    began = time.monotonic()
    child = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    signalled = None
    if signal_after is not None:
        time.sleep(max(0.0, began + signal_after - time.monotonic()))
        signalled = time.monotonic()
        if child.poll() is None:
            child.send_signal(signal)
    # The pipe is read to its end first: with it, no process waits for us.
    said = child.stderr.read().decode(errors="replace")
    if child.returncode is None:
        _, status, usage = os.wait4(child.pid, 0)
        ended = time.monotonic()
        code = os.waitstatus_to_exitcode(status)
        child.returncode = code
        cpu, peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
    else:
        code, ended, cpu, peak = child.returncode, time.monotonic(), None, None
    return {
        "code": code,
        "seconds": ended - began,
        "after_signal": None if signalled is None else ended - signalled,
        "cpu_seconds": cpu,
        "peak_bytes": peak,
        "said": said.strip().splitlines()[-2:],
    }


def loads(command, model):
    return subprocess.run([command, "inspect", model, "--json"], capture_output=True).returncode == 0


class Record:
    """One JSON object a line: runs that are there are not run again."""

    def __init__(self, path):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.rows = {row["key"]: row for row in map(json.loads, lines)}
        self.lock = threading.Lock()

    def add(self, row):
        with self.lock, self.path.open("a") as file:
            self.rows[row["key"]] = row
            file.write(json.dumps(row) + "\n")
