"""How large the report is, how soon it can be used, how smooth the live page stays, what serving it costs, whether fits with a
report keep their budget, and how long a comparison of large tables takes.

Prints one line a figure. Run by `cargo xtask bench report`; needs a Chromium. Names of measures (report, smoothness, cost, budget,
comparison) pick some.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/python"))

import browser  # noqa: E402
from test_live import events_of  # noqa: E402
from test_report import PITCHPIPE, fit, table  # noqa: E402

FRAMES = """
window.gaps = [];
{ let last = performance.now(); const look = (now) => { gaps.push(now - last); last = now; requestAnimationFrame(look); }; requestAnimationFrame(look); }
"""


def with_trials(page, n):
    """The same page as if so many pipelines had been tried: those that were, again and again with other numbers."""
    text = page.read_text(encoding="utf-8")
    before, data, after = re.match(r'(.*id="data">)(.*?)(</script>.*)', text, re.S).groups()
    data = json.loads(data)
    trials, end = data["history"]["trials"], data["report"]["elapsed_secs"]
    data["history"]["trials"] = [
        {**trials[i % len(trials)], "error": 0.1 + (i * 7919 % 1000) / 2500, "predicted_error": 0.2, "ended_secs": end * i / n} for i in range(n)
    ]
    other = page.with_name(f"{n}.html")
    other.write_text(before + json.dumps(data).replace("<", "\\u003c") + after, encoding="utf-8")
    return other


def report(chromium, folder):
    fit(folder, table(400, 2, gaps=True), n=40)
    for n in (2_000, 10_000):
        page = with_trials(folder / "fit.html", n)
        ready = []
        for _ in range(5):
            chromium.open(page)
            ready.append(int(chromium.evaluate("document.documentElement.dataset.ready")))
            chromium.leave()
        print(f"report of {n} pipelines: {page.stat().st_size / 1e6:.2f} MB, usable after {sorted(ready)[2]} ms (median of 5; worst {max(ready)} ms)")


def smoothness(chromium, folder):
    (folder / "run.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events_of(10_000)))
    command = [PITCHPIPE, "report", "--live", "run.jsonl", "--speed", "3"]
    server = subprocess.Popen(list(map(str, command)), cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        chromium.open(server.stderr.readline().split()[1])
        chromium.evaluate(FRAMES)
        chromium.wait_for("RUN.trials.length === 10000", 90)
        gaps = sorted(chromium.evaluate("gaps"))
        draw = chromium.evaluate("document.documentElement.dataset.drawMs")
    finally:
        server.kill()
        server.wait()
    slow = sum(gap for gap in gaps if gap > 100) / sum(gaps)
    print(f"live page, 10000 pipelines in 20 s: all charts drawn in {draw} ms; frames: median {gaps[len(gaps) // 2]:.0f} ms, "
          f"99 % within {gaps[int(len(gaps) * 0.99)]:.0f} ms, worst {gaps[-1]:.0f} ms, {100 * slow:.1f} % of the time in frames over 100 ms")


def cpu_seconds(pid):
    """CPU seconds of each thread of a process, by its number and name."""
    spent = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            name, nanoseconds = (task / "comm").read_text().strip(), int((task / "schedstat").read_text().split()[0])
        except OSError:
            continue
        spent[task.name, name] = nanoseconds / 1e9
    return spent


def cost(chromium, folder):
    table(2000, 3).to_csv(folder / "table.csv", index=False)
    command = [PITCHPIPE, "fit", "table.csv", "--target", "target", "--time-budget", "30s", "--out", "live.pp", "--threads", "2", "--live"]
    process = subprocess.Popen(list(map(str, command)), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    chromium.open(process.stderr.readline().split()[1])
    spent, ended = {}, 0
    while not ended:
        try:
            # Threads that have ended keep what they had.
            spent.update(cpu_seconds(process.pid))
        except OSError:
            pass
        time.sleep(0.05)
        ended, _, usage = os.wait4(process.pid, os.WNOHANG)
    # Threads of a search live for less than the time between two looks: all of them count by what the process had in all.
    served, total = sum(secs for (_, name), secs in spent.items() if name == "live"), usage.ru_utime + usage.ru_stime
    process.stderr.close()
    print(f"live page, fit of 30 s on 2 threads with a browser looking: serving took {served:.3f} s of {total:.1f} s of CPU, {100 * served / total:.2f} %")


def budget(chromium, folder):
    """Ten fits with a report: the wall time of the whole process against the budget."""
    over = []
    for i in range(10):
        n_rows, secs = (60, 400, 2_000, 20_000, 100_000)[i % 5], 3 + i % 3
        table(n_rows, 2 + i % 4, gaps=i % 2 == 0).to_csv(folder / "table.csv", index=False)
        command = [PITCHPIPE, "fit", "table.csv", "--target", "target", "--time-budget", f"{secs}s", "--out", "b.pp", "--report", "b.html", "--force"]
        begun = time.monotonic()
        subprocess.run(list(map(str, command)), cwd=folder, check=True, capture_output=True)
        over.append(time.monotonic() - begun - secs)
    print(f"ten fits with a report, budgets of 3 to 5 s, 60 to 100,000 rows: the latest ended {max(over):+.2f} s from its budget, "
          f"{sum(late > 0.1 for late in over)} more than 0.1 s after it")


def comparison(chromium, folder):
    """Two models on a million rows; what the draws take is the difference to one evaluation of each."""
    fit(folder, table(400, 2), n=4)
    table(1_000_000, 2).to_csv(folder / "large.csv", index=False)

    def seconds(*args):
        begun = time.monotonic()
        subprocess.run([str(PITCHPIPE), *args], cwd=folder, check=True, capture_output=True)
        return time.monotonic() - begun

    both, one = seconds("compare", "m.pp", "m.pp", "--table", "large.csv"), seconds("evaluate", "m.pp", "large.csv")
    print(f"comparison of two models on 1,000,000 rows: {both:.1f} s; two evaluations take {2 * one:.1f} s")


MEASURES = (report, smoothness, cost, budget, comparison)


def main():
    program = browser.find()
    if program is None:
        sys.exit("there is no Chromium, and none could be installed")
    chromium = browser.Browser(program)
    with tempfile.TemporaryDirectory() as folder:
        for measure in MEASURES:
            if not sys.argv[1:] or measure.__name__ in sys.argv[1:]:
                measure(chromium, Path(folder))
    chromium.close()


if __name__ == "__main__":
    main()
