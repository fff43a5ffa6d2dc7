"""The package: its import, its command, its types, its examples."""

import doctest
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import pitchpipe
from pitchpipe import PitchpipeClassifier, PitchpipeWarning


def run(*args, **options):
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, check=False, **options)


def test_the_import_is_light():
    program = "import sys, pitchpipe; print(sorted({'sklearn', 'pandas', 'numpy', 'scipy'} & set(sys.modules)))"
    assert run("-c", program).stdout.strip() == "[]"


def test_it_works_without_scikit_learn():
    program = """
import sys
for absent in ("sklearn", "pandas", "polars", "pyarrow", "scipy", "joblib"):
    sys.modules[absent] = None
import numpy as np
from pitchpipe import PitchpipeClassifier
X = np.arange(80.0).reshape(40, 2) % 7
y = X[:, 0] > 3
clf = PitchpipeClassifier(repeatable=True, max_evaluations=5, n_jobs=1).fit(X, y)
print(clf, clf.score(X, y), type(clf.leaderboard_).__name__)
print(clf.set_params(metric="accuracy").get_params()["metric"])
"""
    said = run("-c", program)
    words = "PitchpipeClassifier(max_evaluations=5, n_jobs=1, repeatable=True) 1.0 list\naccuracy\n"
    assert said.stdout == words, said.stderr


def test_the_command_comes_with_it():
    said = run("-m", "pitchpipe", "--version")
    assert said.stdout == f"pitchpipe {pitchpipe.__version__}\n"
    wrong = run("-m", "pitchpipe", "fit")
    assert wrong.returncode == 2 and "--target" in wrong.stderr and "Usage: pitchpipe fit" in wrong.stderr
    absent = run("-m", "pitchpipe", "inspect", "absent.pp")
    assert absent.returncode == 1 and absent.stderr.startswith("error: absent.pp: no such file")


def test_docstrings_show_what_happens():
    from pitchpipe import _classifier

    for module in (pitchpipe, _classifier):
        names = {"PitchpipeClassifier": PitchpipeClassifier}
        assert doctest.testmod(module, extraglobs=names, optionflags=doctest.ELLIPSIS).failed == 0


def test_types_are_accepted_by_mypy(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(
        "from pitchpipe import PitchpipeClassifier\n"
        "clf = PitchpipeClassifier('5s', n_jobs=1)\n"
        "score: float = clf.fit([[1.0]], [1]).score([[1.0]], [1])\n"
        "names: list[str] = clf.model_.classes or []\n"
    )
    # Checked where it is installed, the whole of site-packages would count as the program's own.
    shutil.copytree(Path(pitchpipe.__file__).parent, tmp_path / "pitchpipe", ignore=shutil.ignore_patterns("*.so"))
    checked = run("-m", "mypy", "--strict", "--ignore-missing-imports", "pitchpipe", "program.py", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout


def test_files_that_are_no_models_are_refused(tmp_path, quick, rows):
    with pytest.raises(FileNotFoundError, match="no such file\nhelp: check the path"):
        PitchpipeClassifier.load(tmp_path / "absent.pp")
    (tmp_path / "odd.pp").write_text("hello")
    with pytest.raises(ValueError, match="is not a pitchpipe model"):
        PitchpipeClassifier.load(tmp_path / "odd.pp")
    with pytest.raises(OSError, match="there is no folder"):
        quick().fit(*rows).save(tmp_path / "nowhere" / "m.pp")


def test_warnings_point_to_who_called(quick, tmp_path):
    X = [["a"], ["b"]] * 20
    clf = quick(class_weight="balanced").fit(X, [0, 1] * 20)
    for ask in (clf.predict, clf.predict_proba, clf.predict_log_proba):
        with pytest.warns(PitchpipeWarning, match="never met in training") as told:
            ask([["new"]])
        assert told[0].filename == __file__, ask
    with pytest.warns(PitchpipeWarning, match="class_weight is not part of a model file"):
        clf.save(tmp_path / "m.pp")


def test_what_may_be_wrong_is_a_warning(quick):
    X = [[str(i % 5)] for i in range(40)]
    X[3] = ["oops"]
    with pytest.warns(PitchpipeWarning, match="is taken as text"):
        clf = quick().fit(X, [i % 2 for i in range(40)])
    with pytest.warns(PitchpipeWarning, match="never met in training"):
        clf.predict([["new"]])


def test_there_is_something_to_look_at(quick, rows):
    X, y = rows
    clf = quick().fit(X, y)
    page = clf._repr_html_()
    assert "balanced accuracy" in page and "±" in page and "<svg" in page
    assert "PitchpipeClassifier(" in quick()._repr_html_()
    assert sum(learner["weight"] for learner in clf.ensemble_) == pytest.approx(1)
    assert len(clf.search_history_) == 6 and len(clf.leaderboard_) > 0
    score = clf.scores_["balanced_accuracy"]
    assert score["standard_error"] > 0 and score["majority class"] == 0.5
    importances = clf.feature_importances_
    assert importances.shape == (4,) and importances[0] > importances[3]
    assert {row["column"] for row in clf.permutation_importance(X, y)} == {"x0", "x1", "x2", "x3"}
    assert clf.evaluate(X, y)["scores"]["accuracy"] == pytest.approx(clf.score(X, y))
    assert "sklearn" in clf.to_script()


def test_a_report_is_a_page(quick, rows, tmp_path):
    X, y = rows
    clf = quick().fit(X[:150], y[:150])
    clf.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and "of the training table" in page and "PitchpipeClassifier" in page
    clf.report(tmp_path / "other.html", X[150:], y[150:])
    assert "50 rows of X" in (tmp_path / "other.html").read_text()
    clf.save(tmp_path / "m.pp")
    PitchpipeClassifier.load(tmp_path / "m.pp").report(tmp_path / "loaded.html")
    with pytest.raises(ValueError, match="needs both X and y"):
        clf.report(tmp_path / "r.html", X)
    with pytest.raises(OSError, match="there is no folder"):
        clf.report(tmp_path / "nowhere" / "r.html")


def test_a_second_fit_measures_columns_anew(quick, rows):
    X, y = rows
    clf = quick().fit(X, y)
    assert clf.feature_importances_.argmax() in (0, 1)
    clf.fit(X[:, :3], (X[:, 2] > 0).astype(int))
    assert clf.feature_importances_.shape == (3,) and clf.feature_importances_.argmax() == 2


def test_a_loaded_model_knows_the_order_of_columns(quick, rows, tmp_path):
    """Where a column in the middle was left out, later ones must not move up."""
    pandas = pytest.importorskip("pandas")
    X, y = rows
    frame = pandas.DataFrame({"a": X[:, 2], "same": 1.0, "b": X[:, 0], "empty": np.nan, "c": X[:, 1]})
    clf = quick().fit(frame, y)
    assert [c["name"] for c in clf.model_.inspect()["schema"]["left_out"]] == ["same", "empty"]
    clf.save(tmp_path / "m.pp")
    loaded = PitchpipeClassifier.load(tmp_path / "m.pp")
    assert loaded.feature_names_in_.tolist() == list(frame.columns) and loaded.n_features_in_ == 5
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        of_array = loaded.predict_proba(frame.to_numpy())
    np.testing.assert_array_equal(of_array, clf.predict_proba(frame))
    # As from a file that does not say.
    loaded._columns = None
    np.testing.assert_array_equal(loaded.predict_proba(frame), clf.predict_proba(frame))
    with pytest.raises(ValueError, match="before the order of columns was kept"), pytest.warns(UserWarning):
        loaded.predict(frame.to_numpy())


def test_a_page_says_how_the_model_was_made_and_what_is_odd_about_its_table(quick, tmp_path):
    X = [[str(i % 5)] for i in range(40)]
    X[3] = ["oops"]
    with pytest.warns(PitchpipeWarning, match="is taken as text"):
        clf = quick(callback=print_nothing).fit(X, [i % 2 for i in range(40)])
    clf.save(tmp_path / "m.pp")
    for i, model in enumerate((clf, PitchpipeClassifier.load(tmp_path / "m.pp"))):
        model.report(tmp_path / f"{i}.html")
        page = (tmp_path / f"{i}.html").read_text()
        assert "PitchpipeClassifier(callback=..., max_evaluations=6, n_jobs=1, repeatable=True).fit(X, y)" in page
        assert "39 of its 40 cells are numbers" in page


def print_nothing(event):
    return None


def test_plots_are_drawn(quick, rows):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    clf = quick().fit(*rows)
    assert clf.plot_search().get_xlabel() == "seconds"
    assert len(clf.plot_leaderboard(top=3).patches) == 3


def test_decisions_groups_holdouts_and_validation(quick, rows):
    X, y = rows
    rare = np.where(np.arange(200) % 20 == 0, 1, 0)
    clf = quick().fit(X, rare)
    often = {d: clf.set_params(decision=d).predict(X).sum() for d in ("most-probable", "balanced")}
    assert often["balanced"] > often["most-probable"]
    assert quick(holdout=0.25).fit(X, y).model_.inspect()["report"]["n_rows_scored"] == 50
    grouped = quick(group=3).fit(np.c_[X[:, :3], np.arange(200) // 4], y)
    assert [c["name"] for c in grouped.model_.inspect()["schema"]["left_out"]] == ["x3"]
    chosen = quick().fit(X[:150], y[:150], validation=(X[150:], y[150:]))
    assert chosen.score(X, y) > 0.8


def test_progress_is_a_line_and_a_picture():
    from pitchpipe._progress import Progress

    progress = Progress(10.0, 4)
    for n in range(1, 4):
        progress.hear(
            {"event": "finished", "elapsed_secs": float(n), "n_evaluated": n, "best_error": 1 / n, "ensemble_error": None}
        )
    assert progress.text() == "3.0s of 10s, 3 pipelines of 4, error 0.3333"
    assert "<polyline" in progress.html()


def test_the_clock_goes_on_while_nothing_is_told(rows, monkeypatch):
    from pitchpipe import _classifier
    from pitchpipe._progress import Progress

    shown = []

    class Noted(Progress):
        def _show(self):
            super()._show()
            shown.append(self.elapsed)

    progress = Noted(10.0, None)
    time.sleep(0.25)
    progress.tick()
    assert shown and shown[-1] >= 0.25
    monkeypatch.setattr(_classifier, "Progress", Noted)
    shown.clear()
    # Events that take their time, as slow pipelines do, leave the clock to the ticks.
    PitchpipeClassifier(1.5, n_jobs=1, verbose=1).fit(*rows)
    assert len(shown) >= 3 and shown == sorted(shown)


def test_shells_derived_from_jupyters_are_notebooks(monkeypatch):
    IPython = pytest.importorskip("IPython")
    from pitchpipe import _progress

    class ZMQInteractiveShell:
        pass

    class OfColab(ZMQInteractiveShell):
        pass

    monkeypatch.setattr(IPython, "get_ipython", OfColab)
    monkeypatch.setattr("IPython.display.display", lambda *args, **options: "a place")
    assert _progress._notebook() == "a place"
    monkeypatch.setattr(IPython, "get_ipython", object)
    assert _progress._notebook() is None


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_pages_show_programs_that_run(page, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    root = Path(__file__).parents[3]
    folder = tmp_path / "examples" / "data"
    folder.mkdir(parents=True)
    for table in (root / "examples" / "data").iterdir():
        (folder / table.name).write_bytes(table.read_bytes())
    monkeypatch.chdir(tmp_path)
    blocks = (root / page).read_text().split("```python\n")[1:]
    assert blocks
    for block in blocks:
        program = block.split("```")[0].replace("time_budget=10", "time_budget=2")
        exec(compile(program, page, "exec"), {})
