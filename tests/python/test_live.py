"""The page of a search that runs: it grows, it stops the search, and only who has its address sees it."""

import json
import subprocess
import urllib.error
import urllib.request

import pytest
from test_report import PITCHPIPE, SECTIONS, chromium, run, table  # noqa: F401

POINTS = "document.querySelectorAll('#search svg path[d^=M]').length && RUN.trials.length"


class Fit:
    """A fit with a live page, and the address of that."""

    def __init__(self, folder, *args, file="table.csv", budget="10s", n_rows=2000):
        table(n_rows, 3).to_csv(folder / file, index=False)
        command = [PITCHPIPE, "fit", file, "--target", "target", "--time-budget", budget, "--out", "m.pp", "--threads", "2"]
        self.process = subprocess.Popen(
            [*map(str, command), "--live", *args], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        said = self.process.stderr.readline()
        assert said.startswith("live: http://127.0.0.1:"), said
        self.url = said.split()[1]

    def end(self):
        """The exit code, and what was printed."""
        printed, said = self.process.communicate(timeout=60)
        return self.process.returncode, printed, said


@pytest.fixture
def fit(tmp_path):
    begun = []

    def begin(*args, **how):
        begun.append(Fit(tmp_path, *args, **how))
        return begun[-1]

    yield begin
    for one in begun:
        if one.process.poll() is None:
            one.process.kill()
            one.process.communicate()


def status(url, **headers):
    """What a visitor is answered."""
    request = urllib.request.Request(url, headers=headers, method=headers.pop("method", "GET"))
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        return refused.code


def test_points_appear_and_stop_keeps_the_best_model(chromium, fit, tmp_path):  # noqa: F811
    one = fit(budget="60s")
    chromium.open(one.url)
    few = chromium.wait_for(POINTS)
    chromium.wait_for(f"RUN.trials.length > {few}")
    chromium.wait_for("RUN.ensemble.length")
    assert "thread 1" in chromium.wait_for("document.getElementById('thread-list').textContent")
    assert chromium.evaluate("+document.getElementById('budget').getAttribute('aria-valuenow')") < 100
    chromium.evaluate("document.getElementById('stop').click()")
    code, printed, _ = one.end()
    assert code == 3
    assert "the best model before the interrupt" in printed
    inspected = json.loads(run(tmp_path, "inspect", "m.pp", "--json"))
    assert inspected["report"]["stop_reason"] == "cancelled"
    # The report has come in the place of the page, though the command is over.
    ids = chromium.wait_for("location.pathname.endsWith('/report') && Array.from(document.querySelectorAll('main > section'), e => e.id)")
    assert ids == SECTIONS
    score = inspected["report"]["scores"]["balanced_error"]
    assert f"{score:.4f}" in chromium.evaluate("document.getElementById('verdict-sentence').textContent")
    assert chromium.complaints() == []
    assert all(url.startswith(one.url) for url in chromium.requests())


def test_a_browser_that_leaves_changes_nothing_and_sees_the_present_when_it_comes_back(chromium, fit):  # noqa: F811
    one = fit("--report", "r.html")
    chromium.open(one.url)
    few = chromium.wait_for(POINTS)
    chromium.leave()
    # On a phone this time.
    chromium.open(one.url, width=390, height=844)
    assert chromium.wait_for("RUN.begun && RUN.trials.length") >= few
    chromium.wait_for("document.querySelector('#thread-list td') !== null")
    assert chromium.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it is wider than the screen"
    chromium.leave()
    code, printed, _ = one.end()
    assert code == 0 and "saved: m.pp" in printed and "report: r.html" in printed


def test_a_visitor_without_the_token_or_from_elsewhere_is_refused(fit):
    one = fit()
    origin, token = one.url.removesuffix("/").rsplit("/", 1)
    assert status(one.url) == 200
    assert status(f"{one.url}events?from=0") == 200
    for path in ("/", "/events?from=0", "/stop", f"/{'0' * len(token)}/", f"/{token[:-1]}/", f"/{token}"):
        assert status(origin + path) == 403
    assert status(f"{origin}/{'0' * len(token)}/stop", method="POST") == 403
    assert status(f"{one.url}stop", method="POST", Origin="http://elsewhere.example") == 403
    assert status(f"{one.url}stop", method="POST", Host="elsewhere.example") == 403
    assert status(f"{one.url}events", **{"Sec-Fetch-Site": "cross-site"}) == 403
    code, _, _ = one.end()
    assert code == 0, "nobody has stopped it"


@pytest.fixture
def replay(tmp_path):
    begun = []

    def begin(*args):
        command = [PITCHPIPE, "report", *args]
        begun.append(subprocess.Popen(list(map(str, command)), cwd=tmp_path, stderr=subprocess.PIPE, text=True))
        said = begun[-1].stderr.readline()
        assert said.startswith("live: "), said
        return said.split()[1]

    yield begin
    for one in begun:
        one.kill()
        one.communicate()


def test_a_recorded_run_is_replayed_to_its_report(chromium, replay, tmp_path):  # noqa: F811
    table(300, 2).to_csv(tmp_path / "table.csv", index=False)
    options = ["--target", "target", "--out", "m.pp", "--json", "--max-evaluations", "20", "--time-budget", "30s"]
    lines = run(tmp_path, "fit", "table.csv", *options)
    (tmp_path / "run.jsonl").write_text(lines)
    events = [json.loads(line) for line in lines.splitlines()]
    n_finished = sum(event["event"] == "finished" for event in events)
    (tmp_path / "search.jsonl").write_text("".join(line + "\n" for line in lines.splitlines() if '"saved"' not in line))
    chromium.open(replay("--live", "search.jsonl", "--speed", "1000"))
    chromium.wait_for("document.getElementById('phase').textContent === 'The recorded run is over.'")
    assert chromium.evaluate("RUN.trials.filter(t => t.error !== null).length") == n_finished == 20
    assert chromium.evaluate("document.getElementById('stop').hidden")
    chromium.open(replay("--live", "run.jsonl", "--speed", "1000"))
    chromium.wait_for("document.getElementById('verdict-sentence') !== null")
    assert chromium.complaints() == []


def test_the_line_of_the_best_goes_on_to_where_its_rows_end(chromium, replay, tmp_path):  # noqa: F811
    name = "impute(mean) > one_hot > unscaled > all_features > knn(n_neighbors=1, p=2)"
    lines = [{"elapsed_secs": 0, "event": "begun", "method": "auto", "metric": "balanced_error", "budget_secs": 20, "n_rows": 9, "n_features": 3, "n_classes": 2}]
    for at, n_rows, error in ((1, 4, 0.4), (2, 4, 0.3), (5, 9, 0.35), (6, 9, 0.38), (7, 9, 0.2)):
        if n_rows not in [line.get("n_rows") for line in lines[1:]]:
            lines.append({"elapsed_secs": at - 1, "event": "level", "n_rows": n_rows, "of": 9})
        lines.append({"elapsed_secs": at, "event": "finished", "pipeline": name, "error": error, "balanced_error": error, "predicted_error": 0.3,
                      "secs": 0.01, "n_evaluated": 1, "best_error": 0.2, "ensemble_error": 0.2})
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(event) + "\n" for event in lines))
    chromium.open(replay("--live", "run.jsonl", "--speed", "1000"))
    chromium.wait_for("document.getElementById('phase').textContent === 'The recorded run is over.'")
    drawn = chromium.evaluate("bestLines(RUN.trials, 20).map(b => [b.line, b.at, b.error])")
    assert drawn == [[0, 1, 0.4], [0, 2, 0.3], [0, 5, 0.3], [1, 5, 0.35], [1, 7, 0.2], [1, 20, 0.2]]
    assert chromium.complaints() == []


def test_hostile_names_of_a_real_fit_are_text(chromium, fit):  # noqa: F811
    one = fit("--force", file="<img src=x onerror=window.hit=1>\u202e.csv", budget="3s", n_rows=200)
    chromium.open(one.url, width=500)
    chromium.wait_for(POINTS)
    assert "onerror=window.hit=1" in chromium.evaluate("document.querySelector('h1').textContent")
    assert chromium.evaluate("window.hit") is None
    assert chromium.evaluate("document.querySelectorAll('main img').length") == 0
    # At the end the report stands there, with the name in its command.
    chromium.wait_for("location.pathname.endsWith('/report') && document.getElementById('command') !== null")
    assert "onerror=window.hit=1" in chromium.evaluate("document.getElementById('command').textContent")
    assert chromium.evaluate("window.hit === undefined && document.querySelectorAll('main img').length === 0")
    assert chromium.complaints() == []
    assert one.end()[0] == 0


def events_of(n, names=("impute(mean) > one_hot > unscaled > all_features > knn(n_neighbors=1, p=2)",)):
    """A run of so many pipelines within a minute."""
    yield {"elapsed_secs": 0, "event": "begun", "method": "auto", "metric": "balanced_error", "budget_secs": 60, "n_rows": 9, "n_features": 3, "n_classes": 2}
    yield {"elapsed_secs": 0, "event": "level", "n_rows": 9, "of": 9}
    for i in range(n):
        at, error, name = 60 * i / n, 0.2 + (i * 7919 % 1000) / 2000, names[i % len(names)]
        yield {"elapsed_secs": at, "event": "started", "pipelines": [name]}
        yield {"elapsed_secs": at, "event": "finished", "pipeline": name, "error": error, "balanced_error": error, "predicted_error": 0.3,
               "secs": 0.01, "n_evaluated": i + 1, "best_error": 0.2, "ensemble_error": 0.2}
        if i % 500 == 0:
            learners = [{"pipeline": name, "weight": 1 / len(names)} for name in names]
            yield {"elapsed_secs": at, "event": "ensemble_changed", "error": 0.3 - i / n / 10, "base_learners": learners}


def test_ten_thousand_pipelines_are_a_few_elements_to_draw(chromium, replay, tmp_path):  # noqa: F811
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events_of(10_000)))
    chromium.open(replay("--live", "run.jsonl", "--speed", "1000"))
    chromium.wait_for("RUN.trials.length === 10000", 60)
    chromium.wait_for("document.getElementById('phase').textContent === 'The recorded run is over.'")
    assert chromium.evaluate("document.querySelectorAll('*').length") < 2000
    assert chromium.evaluate("document.getElementById('n-finished').textContent") == "10,000"
    assert chromium.complaints() == []


def test_hostile_names_on_a_live_page_are_text(chromium, replay, tmp_path):  # noqa: F811
    names = ["<img src=x onerror=window.hit=1>(</script>", "\u202eknn > \"'`${1}", "x" * 10_000]
    file = "<img src=x onerror=window.hit=1>.jsonl"
    (tmp_path / file).write_text("".join(json.dumps(event) + "\n" for event in events_of(9, names)))
    chromium.open(replay("--live", file, "--speed", "1000"), width=500)
    chromium.wait_for("document.getElementById('phase').textContent === 'The recorded run is over.'")
    assert chromium.evaluate("window.hit") is None
    assert chromium.evaluate("document.querySelectorAll('main img, main script').length") == 0
    assert names[0] in chromium.evaluate("document.querySelector('main').textContent")
    assert file in chromium.evaluate("document.querySelector('h1').textContent")
    assert chromium.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert chromium.complaints() == []
