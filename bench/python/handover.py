"""What handing a table over costs: `handover.py COMMAND FOLDER N_ROWS`.

Prints the memory that a table of float64 takes on its way in, the time of a Python program beside that of the command on the same table,
the time of the import, and how soon Ctrl-C ends a search, in a program and in a notebook's kernel.
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
# Seconds after which a search is stopped.
MOMENTS = (0.1, 0.3, 0.7, 1.1, 1.9, 2.7, 4.5, 7.0)
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

    for what in ("the first fit, the surrogate inside included", "a later one"):
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        before = memory("VmRSS")
        times = 1 + (until_begun() - before) / size
        print(f"  and until the search has begun, labels and types included: {times:.3f}x in {what}")


# What the command does: start, read, search, write. The clock stands at the end of each step.
FIT = """
import sys, time
now = lambda: (time.monotonic(), time.process_time())
times = [now()]
import pandas, sklearn.base
frame = pandas.read_parquet(sys.argv[1])
y = frame.pop("y")
times.append(now())
from pitchpipe import PitchpipeClassifier
PitchpipeClassifier(repeatable=True, max_evaluations=10, n_jobs=1).fit(frame, y).save(sys.argv[2])
times.append(now())
for a, b in zip(times, times[1:]):
    print(b[0] - a[0], b[1] - a[1])
"""


def process(line):
    """Wall and CPU seconds of a process from its start to its end, and what it says."""
    before, started = os.times(), time.monotonic()
    said = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    wall, after = time.monotonic() - started, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, cpu, said


def overhead(command, folder, n_rows):
    """A Python program from the import of this package to the saved model, beside the whole command, in turns. What pandas and
    scikit-learn take to be imported and to read the file is told apart."""
    rng = np.random.default_rng(1)
    frame = pandas.DataFrame(rng.normal(size=(n_rows, N_COLUMNS)), columns=[f"c{j}" for j in range(N_COLUMNS)])
    path, model = folder / f"table-{n_rows}.parquet", folder / "m.pp"
    frame.assign(y=np.where(frame["c0"] + frame["c1"] > 0, "up", "down")).to_parquet(path)
    line = [command, "fit", path, "--target", "y", "--out", model, "--repeatable", "--max-evaluations", "10"]
    ours, theirs, foreign = [], [], []
    for _ in range(ROUNDS):
        said = process([sys.executable, "-c", FIT, path, model])[2]
        for line_of, times in zip(said.splitlines(), (foreign, ours)):
            times.append(tuple(float(secs) for secs in line_of.split()))
        model.unlink()
        theirs.append(process([*line, "--threads", "1", "--quiet"])[:2])
        model.unlink()
    for at, what in enumerate(("wall", "CPU")):
        own, command_secs, others = (min(secs[at] for secs in times) for times in (ours, theirs, foreign))
        more = own - command_secs
        print(
            f"{n_rows} rows, 10 pipelines, {what}: {own:.3f}s to import, fit and save in Python (after {others:.3f}s for pandas, "
            f"scikit-learn and reading), {command_secs:.3f}s for the whole command from Parquet; overhead {more * 1e3:.0f} ms "
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
    for delay in MOMENTS:
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
    tell_stops("Ctrl-C", late)


def tell_stops(what, late):
    worst = max(late)
    print(
        f"{what} at {len(late)} moments on 2000 x 20: ends within {worst:.3f}s, median {statistics.median(late):.3f}s "
        f"(below {LIMIT_STOP}: {verdict(worst, LIMIT_STOP)})"
    )


CELL = """
import time, warnings
warnings.simplefilter("ignore")
try:
    PitchpipeClassifier(60, n_jobs=1, verbose=1).fit(X, y)
except KeyboardInterrupt:
    pass
print(time.monotonic())
"""


def stopping_a_notebook():
    """The same by a kernel's stop button, with the bar and its curve drawn."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3")

    def run(program, late=None):
        said = ""

        def hear(message):
            nonlocal said
            if message["msg_type"] == "stream":
                said += message["content"]["text"]

        if late is not None:
            sent = []
            threading.Timer(late, lambda: (sent.append(time.monotonic()), manager.interrupt_kernel())).start()
        client.execute_interactive(program, output_hook=hear, timeout=120)
        # One clock for all processes of a machine.
        return None if late is None else float(said.split()[-1]) - sent[0]

    run("import numpy as np; from pitchpipe import PitchpipeClassifier")
    run("X = np.random.default_rng(0).normal(size=(2000, 20)); y = X[:, 0] > 0")
    late = [run(CELL, delay) for delay in MOMENTS]
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    tell_stops("stop in a notebook's kernel", late)


def main():
    # Also where a script in the background or nohup had it ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    command, folder, n_rows = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    importing()
    hand_over(n_rows)
    overhead(command, folder, 300)
    overhead(command, folder, 5_000)
    stopping()
    stopping_a_notebook()


if __name__ == "__main__":
    main()
