"""Reports open in a browser without a complaint and without a network, and say what `--json` says."""

import json
import os
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
        why = "there is no Chromium, and none could be installed"
        is_needed = os.environ.get("CI") == "true" or "PITCHPIPE_NEEDS_BROWSER" in os.environ
        pytest.fail(why) if is_needed else pytest.skip(why)
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


NUMBER = re.compile(r"([+-]?)(\d+(?:\.(\d+))?)( ms)?")


def said(text):
    """The numbers in a text, each with half a unit of its last decimal."""
    found = NUMBER.findall(text.replace("\u2212", "-").replace(",", ""))
    scales = [(1e-3 if ms else 1) * (-1 if sign == "-" else 1) for sign, _, _, ms in found]
    return [(scale * float(digits), 0.5001 * abs(scale) * 10.0 ** -len(decimals)) for (_, digits, decimals, _), scale in zip(found, scales)]


def check_texts(shown, spreads=None):
    """What stands in each place is its value, rounded; and its standard error after a sign of plus or minus."""
    for key, (value, text) in shown.items():
        value = float(value)
        if text in ("", "none"):
            assert value == 0, key
            continue
        if key.startswith("importance.") and key.endswith("standard_error"):
            # Half a 95 % interval of five shuffles.
            value *= 2.776
        (number, half), *more = said(text)
        assert abs(number - value) <= half, (key, value, text)
        if "\u00b1" in text and more:
            (spread, half), metric = more[0], key.rsplit(".", 1)[1]
            assert abs(spread - spreads[key.split(".")[0]][metric]) <= half, (key, text)


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
    check_texts(shown, {"report": inspected["report"]["standard_errors"]})
    score = inspected["report"]["scores"]["balanced_error"]
    sentence = chromium.evaluate("document.getElementById('verdict-sentence').textContent").replace("\u00a0", " ")
    assert f"{score:.4f}" in sentence
    for plain in inspected["report"]["baselines"]:
        gap, spread = (plain[part]["balanced_error"] for part in ("scores", "difference_standard_errors"))
        assert spread >= 0 and (gap == score or f"({gap:.4f}), by {abs(gap - score):.4f} \u00b1 {spread:.4f}" in sentence)
    history = data_of(page)["history"]
    assert sum(t["outcome"] == "finished" for t in history["trials"]) == saved["report"]["n_evaluated"]
    matrix = history["curves"]["confusion"]
    right = sum(row[k] for k, row in enumerate(matrix)) / sum(map(sum, matrix))
    assert right == pytest.approx(saved["report"]["scores"]["accuracy"])
    for key, (value, _) in shown.items():
        if key.startswith("history.curves.confusion"):
            assert int(value) == resolve(matrix, key.removeprefix("history.curves.confusion."))
    if len(matrix) == 2:
        assert float(shown["history.curves.threshold"][0]) == history["curves"]["threshold"]
    check_folded_tables(chromium, history)


def check_folded_tables(chromium, history):
    """Curves, calibration and the landscape can be read as tables."""
    chromium.evaluate("document.querySelectorAll('details.on-demand').forEach(d => { d.open = true; })")
    chromium.wait_for("Array.from(document.querySelectorAll('details.on-demand')).every(d => d.querySelector('table'))")
    rows = "Array.from(document.querySelectorAll('{} details.on-demand tbody'), b => Array.from(b.rows, r => Array.from(r.cells, c => c.textContent)))"
    roc, precision, calibration = chromium.evaluate(rows.format("#predictions"))
    assert len(roc) == len(precision) == 21 and roc[-1][1] == "1.000"
    first = history["curves"]["classes"][0]
    assert float(precision[0][1]) == pytest.approx(max(p for _, p in first["precision_recall"]), abs=6e-4)
    assert [float(row[0]) for row in calibration] == pytest.approx([b["predicted"] for b in history["curves"]["calibration"]], abs=6e-4)
    (landscape,) = chromium.evaluate(rows.format("#landscape"))
    assert len(landscape) == len(set(history["landscape"]["kinds"])) and len(landscape[0]) > 16
    n_tables = history["landscape"]["n_datasets"]
    assert f"{n_tables} other tables" in chromium.evaluate("document.getElementById('landscape').textContent")


def test_a_report_on_other_rows_has_their_scores_and_what_matters_there(chromium, tmp_path):
    fit(tmp_path, table(400, 2, gaps=True))
    table(300, 2, gaps=True).to_csv(tmp_path / "holdout.csv", index=False)
    run(tmp_path, "report", "m.pp", "--table", "holdout.csv", "--out", "r.html")
    for how in ({}, {"width": 390, "dark": True}, {"media": "print", "width": 800}):
        shown = check_page(chromium, tmp_path / "r.html", **how)
    evaluated = json.loads(run(tmp_path, "evaluate", "m.pp", "holdout.csv", "--json"))
    check_texts(shown, {"report": json.loads(run(tmp_path, "inspect", "m.pp", "--json"))["report"]["standard_errors"],
                        "held_out": data_of(tmp_path / "r.html")["held_out"]["evaluation"]["standard_errors"]})
    threshold = data_of(tmp_path / "r.html")["held_out"]["curves"]["threshold"]
    assert float(shown["held_out.curves.threshold"][0]) == threshold
    for metric, value in evaluated["scores"].items():
        assert float(shown[f"held_out.evaluation.scores.{metric}"][0]) == value
    sentence = chromium.evaluate("document.getElementById('verdict-sentence').textContent").replace("\u00a0", " ")
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
    holdout, model = "<b onclick=1>&amp;\u202e.csv", "<img src=x onerror=window.hit=1>\u202e\u2066'.pp"
    frame.to_csv(tmp_path / holdout, index=False)
    (tmp_path / "m.pp").rename(tmp_path / model)
    run(tmp_path, "report", model, "--table", holdout, "--out", "r.html")
    run(tmp_path, "compare", model, model, "--table", holdout, "--out", "c.html")
    check_page(chromium, tmp_path / "c.html", width=500)
    assert chromium.evaluate("window.hit") is None
    assert chromium.evaluate("document.querySelectorAll('main img, main b[onclick]').length") == 0
    text = chromium.evaluate("document.querySelector('main').textContent")
    assert model in text and holdout in text
    for page in ("fit.html", "r.html"):
        check_page(chromium, tmp_path / page, width=500)
        assert chromium.evaluate("window.hit") is None
        assert chromium.evaluate("document.querySelectorAll('main img, main script, main b[onclick]').length") == 0
        text = chromium.evaluate("document.querySelector('main').textContent")
        assert HOSTILE[0] in text and HOSTILE[1][:20] in text and "x" * 50 in text
    assert model in text
    bare = "Array.from(document.querySelectorAll('th, td, h1, p')).filter(e => Array.from(e.childNodes).some(n => n.nodeType === 3 && /[\u202e\u2066]/.test(n.data)))"
    assert chromium.evaluate(f"{bare}.length") == 0, "marks of direction reach what stands around them"


def test_a_model_without_history_says_what_is_missing(chromium, tmp_path):
    saved = fit(tmp_path, table(100, 2), "--no-history")
    assert saved["history_bytes"] is None
    run(tmp_path, "report", "m.pp", "--out", "r.html")
    check_page(chromium, tmp_path / "r.html")
    ids = chromium.evaluate("Array.from(document.querySelectorAll('main > section'), e => e.id)")
    assert ids == SECTIONS
    assert "keeps no history" in chromium.evaluate("document.getElementById('search').textContent")
    assert data_of(tmp_path / "r.html")["history"] is None


def test_another_method_shows_no_landscape_that_it_was_not_led_by(chromium, tmp_path):
    fit(tmp_path, table(100, 2), "--method", "random", n=6)
    check_page(chromium, tmp_path / "fit.html")
    assert data_of(tmp_path / "fit.html")["history"]["landscape"] is None
    text = chromium.evaluate("document.getElementById('landscape').textContent")
    assert "The method random does not begin" in text and "other tables had told" not in text


def test_paper_has_its_own_charts(chromium, tmp_path):
    fit(tmp_path, table(100, 2), n=6)
    check_page(chromium, tmp_path / "fit.html", width=1200, dark=True)
    widths = "Array.from(document.querySelectorAll('#search figure > div > svg, #search figure figure > svg:last-of-type'), s => +s.getAttribute('width'))"
    wide = chromium.evaluate(widths)
    chromium.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert max(chromium.evaluate(widths)) == 700 < max(wide)
    assert chromium.evaluate("Array.from(document.querySelectorAll('details'), d => d.open === !d.matches('.on-demand')).every(Boolean)")
    chromium.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert chromium.evaluate(widths) == wide


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_stand_out_in_light_in_dark_and_on_paper():
    style = (ROOT / "crates/report/assets/style.css").read_text()
    schemes = [dict(re.findall(r"--(\w+): (#\w{6});", block)) for block in re.findall(r":root \{(.*?)\}", style, re.S)]
    assert len(schemes) == 3
    for colours in schemes:
        ground = [colours[name] for name in ("page", "card", "wash")]
        # WCAG 2.2, AA: 4.5 for text, 3 for what charts are drawn with.
        for text in ("ink", "quiet", "one"):
            assert min(contrast(colours[text], g) for g in ground) >= 4.5, (text, colours)
        for drawn in ("one", "two", "three", "four", "five", "dot"):
            assert contrast(colours[drawn], colours["card"]) >= 3, (drawn, colours)
        assert contrast(colours["card"], colours["two"]) >= 4.5, "the stop button"


def test_a_table_is_sorted_by_the_keyboard(chromium, tmp_path):
    fit(tmp_path, table(100, 2))
    check_page(chromium, tmp_path / "fit.html")
    column = "Array.from(document.querySelectorAll('#leaderboard tbody tr'), r => +r.querySelector('[data-key$=secs]').dataset.value)"
    chromium.evaluate("Array.from(document.querySelectorAll('#leaderboard th button')).find(b => b.textContent === 'CPU').focus()")
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
    for i, model in enumerate(compared["models"]):
        own = {key: both for key, both in shown.items() if key.startswith(f"models.{i}.")}
        assert len(own) >= 6
        check_texts(own, {"models": model["evaluation"]["standard_errors"]})
    sentence = chromium.evaluate("document.querySelector('.verdict').textContent")
    assert "Of the 2 others, 1 differs from" in sentence and "good.pp" in sentence
    # Nothing is cut at the right of a desk's screen.
    assert chromium.evaluate("Array.from(document.querySelectorAll('.scroll')).every(e => e.scrollWidth <= e.clientWidth)")
    check_page(chromium, tmp_path / "c.html", width=390)
    text = run(tmp_path, "compare", "good.pp", "m.pp", "--table", "holdout.csv")
    assert f"{compared['models'][2]['error']:.4f}" in text
