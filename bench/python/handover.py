"""What handing a table over costs: `handover.py COMMAND FOLDER N_ROWS`.

Prints the memory that a table of float64 takes on its way in, the time of `fit` beside that of the command on the same table, the
time of the import, and how soon Ctrl-C ends a search.
"""

import os
import signal
import statistics
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pandas

N_COLUMNS = 30
ROUNDS = 5
LIMIT_MEMORY, LIMIT_OVERHEAD, LIMIT_IMPORT, LIMIT_STOP = 1.2, 0.05, 0.2, 0.2


def memory(what):
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(what + ":"):
                return int(line.split()[1]) * 1024
    raise LookupError(what)


def peak(work):
    """The bytes by which the resident memory grows at most while `work` runs."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = memory("VmRSS")
    kept = work()
    return memory("VmHWM") - before, kept


def verdict(value, limit):
    return "ok" if value < limit else "NOT REACHED"


def hand_over(n_rows):
    from pitchpipe import PitchpipeClassifier
    from pitchpipe._input import frame_of

    rng = np.random.default_rng(0)
    block = np.empty((n_rows, N_COLUMNS), order="F")
    for j in range(N_COLUMNS):
        block[:, j] = rng.normal(size=n_rows)
    frame = pandas.DataFrame(block, columns=[f"c{j}" for j in range(N_COLUMNS)], copy=False)
    size = block.nbytes
    # Whatever is imported on first use is no part of a table.
    frame_of(frame[:10])
    growth, kept = peak(lambda: frame_of(frame))
    del kept
    times = 1 + growth / size
    print(f"hand-over of {n_rows} x {N_COLUMNS} float64 ({size / 1e6:.0f} MB): {times:.3f}x its memory (below {LIMIT_MEMORY}: {verdict(times, LIMIT_MEMORY)})")
    y = block[:, 0] + block[:, 1] > 0

    def until_begun():
        seen = {}

        def hear(event):
            seen.setdefault("peak", memory("VmHWM"))
            return True

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                PitchpipeClassifier(60, n_jobs=1, callback=hear).fit(frame, y)
            except Exception:
                pass
        return seen["peak"]

    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = memory("VmRSS")
    growth = until_begun() - before
    print(f"  and in fit until the search has begun, labels and types included: {1 + growth / size:.3f}x")


FIT = """
import sys, time, pandas
from pitchpipe import PitchpipeClassifier
frame = pandas.read_parquet(sys.argv[1])
y = frame.pop("y")
wall, cpu = time.monotonic(), time.process_time()
PitchpipeClassifier(repeatable=True, max_evaluations=10, n_jobs=1).fit(frame, y)
print(time.monotonic() - wall, time.process_time() - cpu)
"""


def overhead(command, folder, n_rows):
    """`fit` in a fresh Python beside the whole command, in turns; CPU seconds, which other programs do not lengthen."""
    rng = np.random.default_rng(1)
    frame = pandas.DataFrame(rng.normal(size=(n_rows, N_COLUMNS)), columns=[f"c{j}" for j in range(N_COLUMNS)])
    path, model = folder / f"table-{n_rows}.parquet", folder / "m.pp"
    frame.assign(y=np.where(frame["c0"] + frame["c1"] > 0, "up", "down")).to_parquet(path)
    line = [command, "fit", path, "--target", "y", "--out", model, "--repeatable", "--max-evaluations", "10"]
    ours, theirs = [], []
    for _ in range(ROUNDS):
        said = subprocess.run([sys.executable, "-c", FIT, path], check=True, capture_output=True, text=True).stdout
        ours.append(tuple(float(secs) for secs in said.split()))
        before, started = os.times(), time.monotonic()
        subprocess.run([*line, "--threads", "1", "--quiet"], check=True, capture_output=True)
        wall, after = time.monotonic() - started, os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        theirs.append((wall, cpu))
        model.unlink()
    (wall, cpu), (their_wall, their_cpu) = (map(min, zip(*times)) for times in (ours, theirs))
    more = cpu - their_cpu
    print(
        f"fit of {n_rows} rows, 10 pipelines, CPU: {cpu:.3f}s in Python, {their_cpu:.3f}s by the command from Parquet "
        f"(wall {wall:.3f}s and {their_wall:.3f}s); overhead {more * 1e3:.0f} ms "
        f"(below {LIMIT_OVERHEAD * 1e3:.0f}: {verdict(more, LIMIT_OVERHEAD)})"
    )


def importing():
    program = "import time; t = time.monotonic(); import pitchpipe; print(time.monotonic() - t)"
    secs = min(
        float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
        for _ in range(5)
    )
    print(f"import pitchpipe: {secs:.3f}s (below {LIMIT_IMPORT}: {verdict(secs, LIMIT_IMPORT)})")


def stopping():
    from pitchpipe import PitchpipeClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 20))
    y = X[:, 0] > 0
    late = []
    for delay in (0.3, 0.7, 1.1, 1.9, 2.7):
        sent = []

        def send():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(delay, send)
        timer.start()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                PitchpipeClassifier(60, n_jobs=1).fit(X, y)
            except KeyboardInterrupt:
                pass
        late.append(time.monotonic() - sent[0])
    worst = max(late)
    print(
        f"Ctrl-C at 5 moments on 2000 x 20: ends within {worst:.3f}s, median {statistics.median(late):.3f}s "
        f"(below {LIMIT_STOP}: {verdict(worst, LIMIT_STOP)})"
    )


def main():
    command, folder, n_rows = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    importing()
    hand_over(n_rows)
    overhead(command, folder, 300)
    overhead(command, folder, 5_000)
    stopping()


if __name__ == "__main__":
    main()
