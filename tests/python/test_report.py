"""Reports open in a browser without a complaint and without a network, and say what `--json` says."""

import json
import re
import subprocess
from pathlib import Path

import browser
import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
PITCHPIPE = ROOT / "target/release/pitchpipe"
SECTIONS = ["verdict", "search", "leaderboard", "ensemble", "predictions", "columns", "landscape", "data", "reproduce"]
HOSTILE = ["</script><script>window.hit=1</script>", "<img src=x onerror=window.hit=1>", "\"';&amp;`${1}", "\u202ename\u2066", "x" * 10_000]


@pytest.fixture(scope="module")
def chromium():
    program = browser.find()
    if program is None:
        pytest.skip("there is no Chromium, and none could be installed")
    one = browser.Browser(program)
    yield one
    one.close()


def table(n_rows, n_classes, names=("a", "b", "c", "d"), classes=None, gaps=False):
    """Rows whose class depends on the first two columns."""
    draw = np.random.default_rng(n_rows)
    classes = classes or [f"class {k}" for k in range(n_classes)]
    x = draw.normal(size=(n_rows, 2))
    angle = (np.arctan2(x[:, 1], x[:, 0]) / np.pi + 1) / 2 + 0.03 * draw.normal(size=n_rows)
    y = np.clip((angle * n_classes).astype(int), 0, n_classes - 1)
    words = np.array(["red", "green", "blue"])[draw.integers(0, 3, n_rows)].astype(object)
    noise = draw.normal(size=n_rows)
    if gaps:
        words[draw.random(n_rows) < 0.1] = None
        noise[draw.random(n_rows) < 0.2] = np.nan
    columns = dict(zip(names, [x[:, 0], x[:, 1], words, noise]))
    return pd.DataFrame({**columns, "target": np.array(classes, dtype=object)[y]})


def run(folder, *args):
    done = subprocess.run([PITCHPIPE, *map(str, args)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def fit(folder, frame, *args, target="target", n=12):
    frame.to_csv(folder / "table.csv", index=False)
    fixed = ["--target", target, "--out", "m.pp", "--report", "fit.html", "--json", "--threads", "2"]
    printed = run(folder, "fit", "table.csv", *fixed, "--time-budget", "60s", "--max-evaluations", n, *args)
    return json.loads(printed.splitlines()[-1])


def data_of(page):
    text = page.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))


def resolve(value, key):
    for part in key.split("."):
        if part == "length":
            return len(value)
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def check_page(chromium, page, **how):
    """Opens a page and gives the numbers that it shows, by key."""
    chromium.open(page, **how)
    assert chromium.evaluate("document.documentElement.dataset.ready") is not None
    assert chromium.complaints() == []
    assert chromium.requests() == []
    if "media" not in how:
        assert chromium.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it is wider than the screen"
    shown = chromium.evaluate(
        "Array.from(document.querySelectorAll('[data-key]'), e => [e.dataset.key, e.dataset.value, e.textContent])"
    )
    return {key: (value, text) for key, value, text in shown if value is not None}


FITS = {
    "two classes, categories and gaps": (table(400, 2, gaps=True), 16),
    "ten classes": (table(600, 10), 10),
    "20,000 rows": (table(20_000, 2), 6),
    "60 rows": (table(60, 2), 12),
}


@pytest.mark.parametrize("which", FITS)
def test_a_report_shows_every_section_and_the_numbers_of_json(chromium, tmp_path, which):
    frame, n = FITS[which]
    saved = fit(tmp_path, frame, n=n)
    inspected = json.loads(run(tmp_path, "inspect", "m.pp", "--json"))
    assert saved["report"] == inspected["report"]
    page = tmp_path / "fit.html"
    assert page.stat().st_size < 3_000_000
    assert 0 < saved["history_bytes"] < 200_000
    shown = check_page(chromium, page)
    ids = chromium.evaluate("Array.from(document.querySelectorAll('main > section'), e => e.id)")
    assert ids == SECTIONS
    assert chromium.evaluate("document.querySelectorAll('main svg[role=img][aria-label]').length") >= 8
    of_report = {key: shown for key, shown in shown.items() if key.startswith("report.")}
    assert len(of_report) > 40
    for key, (value, _) in of_report.items():
        assert float(value) == resolve(inspected, key), key
    score = inspected["report"]["scores"]["balanced_error"]
    assert f"{score:.4f}" in chromium.evaluate("document.getElementById('verdict-sentence').textContent")
    history = data_of(page)["history"]
    assert sum(t["outcome"] == "finished" for t in history["trials"]) == saved["report"]["n_evaluated"]
    matrix = history["curves"]["confusion"]
    right = sum(row[k] for k, row in enumerate(matrix)) / sum(map(sum, matrix))
    assert right == pytest.approx(saved["report"]["scores"]["accuracy"])
    for key, (value, _) in shown.items():
        if key.startswith("history.curves.confusion"):
            assert int(value) == resolve(matrix, key.removeprefix("history.curves.confusion."))


def test_a_report_on_other_rows_has_their_scores_and_what_matters_there(chromium, tmp_path):
    fit(tmp_path, table(400, 2, gaps=True))
    table(300, 2, gaps=True).to_csv(tmp_path / "holdout.csv", index=False)
    run(tmp_path, "report", "m.pp", "--table", "holdout.csv", "--out", "r.html")
    for how in ({}, {"width": 390, "dark": True}, {"media": "print", "width": 800}):
        shown = check_page(chromium, tmp_path / "r.html", **how)
    evaluated = json.loads(run(tmp_path, "evaluate", "m.pp", "holdout.csv", "--json"))
    for metric, value in evaluated["scores"].items():
        assert float(shown[f"held_out.evaluation.scores.{metric}"][0]) == value
    sentence = chromium.evaluate("document.getElementById('verdict-sentence').textContent")
    assert f"{evaluated['scores']['balanced_error']:.4f} \u00b1 0." in sentence and "the most common class (0.5000)" in sentence
    inspected = json.loads(run(tmp_path, "inspect", "m.pp", "--table", "holdout.csv", "--json"))
    increases = sorted((i["error_increase"] for i in inspected["importance"]), reverse=True)
    assert [float(shown[f"importance.{i}.error_increase"][0]) for i in range(4)] == increases
    data = data_of(tmp_path / "r.html")
    assert {i["column"] for i in data["importance"][:2]} == {"a", "b"}
    assert data["dependence"][0]["column"] in "ab" and len(data["dependence"][0]["values"]) > 10


def test_hostile_names_are_text(chromium, tmp_path):
    frame = table(120, 2, names=HOSTILE[:4], classes=[HOSTILE[0], HOSTILE[1]])
    frame = frame.rename(columns={"target": HOSTILE[2] + "t"})
    frame[HOSTILE[4]] = np.arange(120) % 7
    fit(tmp_path, frame, target=HOSTILE[2] + "t")
    holdout = "<b onclick=1>&amp;.csv"
    frame.to_csv(tmp_path / holdout, index=False)
    run(tmp_path, "report", "m.pp", "--table", holdout, "--out", "r.html")
    for page in ("fit.html", "r.html"):
        check_page(chromium, tmp_path / page, width=500)
        assert chromium.evaluate("window.hit") is None
        assert chromium.evaluate("document.querySelectorAll('main img, main script, main b[onclick]').length") == 0
        text = chromium.evaluate("document.querySelector('main').textContent")
        assert HOSTILE[0] in text and HOSTILE[1][:20] in text and "x" * 50 in text


def test_a_model_without_history_says_what_is_missing(chromium, tmp_path):
    saved = fit(tmp_path, table(100, 2), "--no-history")
    assert saved["history_bytes"] is None
    run(tmp_path, "report", "m.pp", "--out", "r.html")
    check_page(chromium, tmp_path / "r.html")
    ids = chromium.evaluate("Array.from(document.querySelectorAll('main > section'), e => e.id)")
    assert ids == SECTIONS
    assert "keeps no history" in chromium.evaluate("document.getElementById('search').textContent")
    assert data_of(tmp_path / "r.html")["history"] is None


def test_a_table_is_sorted_by_the_keyboard(chromium, tmp_path):
    fit(tmp_path, table(100, 2))
    check_page(chromium, tmp_path / "fit.html")
    column = "Array.from(document.querySelectorAll('#leaderboard tbody tr'), r => +r.querySelector('[data-key$=secs]').dataset.value)"
    chromium.evaluate("Array.from(document.querySelectorAll('#leaderboard th button')).find(b => b.textContent === 'CPU s').focus()")
    for kind in ("keyDown", "keyUp"):
        chromium.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")
    times = chromium.evaluate(column)
    assert times == sorted(times) and len(times) > 3


def test_models_are_compared_row_by_row(chromium, tmp_path):
    fit(tmp_path, table(400, 2))
    (tmp_path / "m.pp").rename(tmp_path / "good.pp")
    blind = table(400, 2)
    blind["a"], blind["b"] = blind["d"], 0.5 * blind["d"]
    fit(tmp_path, blind, n=4)
    table(300, 2).to_csv(tmp_path / "holdout.csv", index=False)
    printed = run(tmp_path, "compare", "good.pp", "good.pp", "m.pp", "--table", "holdout.csv", "--out", "c.html", "--json")
    compared = json.loads(printed)
    same, worse = (model["difference"] for model in compared["models"][1:])
    assert (same["difference"], same["p_value"]) == (0, 1)
    assert worse["difference"] > 0.1 and worse["low"] > 0 and worse["p_value_adjusted"] < 0.01
    shown = check_page(chromium, tmp_path / "c.html")
    for key, (value, _) in shown.items():
        assert float(value) == resolve(compared, key), key
    text = run(tmp_path, "compare", "good.pp", "m.pp", "--table", "holdout.csv")
    assert f"{compared['models'][2]['error']:.4f}" in text
