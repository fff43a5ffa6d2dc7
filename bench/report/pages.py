"""How large the report is, how soon it can be used, how smooth the live page stays, and what serving it costs.

Prints one line a figure. Run by `cargo xtask bench report`; needs a Chromium.
"""

import json
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
    spent = {}
    while process.poll() is None:
        try:
            # Threads that have ended keep what they had.
            spent.update(cpu_seconds(process.pid))
        except OSError:
            break
        time.sleep(0.05)
    process.stderr.read()
    process.wait()
    served, total = sum(secs for (_, name), secs in spent.items() if name == "live"), sum(spent.values())
    print(f"live page, fit of 30 s on 2 threads with a browser looking: serving took {served:.3f} s of {total:.1f} s of CPU, {100 * served / total:.2f} %")


def main():
    program = browser.find()
    if program is None:
        sys.exit("there is no Chromium, and none could be installed")
    chromium = browser.Browser(program)
    with tempfile.TemporaryDirectory() as folder:
        for measure in (report, smoothness, cost):
            measure(chromium, Path(folder))
    chromium.close()


if __name__ == "__main__":
    main()
