"""scikit-learn's conventions, by scikit-learn's own checks and in its own tools."""

import itertools
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from pitchpipe import PitchpipeClassifier


def test_scikit_learns_checks_pass(quick):
    """None is expected to fail."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(quick(max_evaluations=5), on_fail=None, on_skip=None)
    failed = [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]
    assert failed == []
    assert sum(r["status"] == "passed" for r in results) > 40


def test_parameters_are_stored_as_given():
    clf = PitchpipeClassifier("5m", metric="nonsense", n_jobs=-7)
    assert clf.get_params()["time_budget"] == "5m"
    assert clone(clf).get_params() == clf.get_params()
    assert clf.set_params(metric="accuracy").metric == "accuracy"
    assert is_classifier(clf)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"metric": "acuracy"}, "there is no metric \"acuracy\"; choose among balanced_error"),
        ({"method": "obo"}, "there is no method \"obo\"; choose among auto, oboe"),
        ({"ensemble": "mean"}, "choose average or vote"),
        ({"decision": "mean"}, "choose among model, most-probable and balanced"),
        ({"time_budget": "-1s"}, "time_budget is '-1s'"),
        ({"time_budget": 0}, "more than nothing"),
        ({"max_evaluations": 0}, "at least 1"),
        ({"max_evaluations": None}, "at least 1 for a repeatable run"),
        ({"n_jobs": 0}, "other than 0"),
        ({"holdout": 1.5}, "between 0 and 1"),
        ({"memory_limit": "4 parsecs"}, "such as '500MB' or '4GB'"),
        ({"categorical_features": [9]}, "X has 4 columns"),
        ({"categorical_features": ["q"]}, "no column \"q\""),
        ({"class_weight": "even"}, "must be 'balanced', a dict"),
        ({"class_weight": {7: 2.0}}, "names the class 7, which y has not"),
        ({"class_weight": {0: -1.0}}, "not negative"),
        ({"class_weight": "balanced", "decision": "balanced"}, "exclude each other"),
        ({"group": 0, "time_order": 1}, "exclude each other"),
        ({"metric": None}, "metric is None, but must be a text"),
        ({"method": 3}, "method is 3, but must be a text"),
        ({"repeatable": "no"}, "repeatable is 'no', but must be True or False"),
        ({"refit": 1}, "refit is 1, but must be True or False"),
        ({"verbose": "yes"}, "verbose is 'yes'"),
        ({"callback": 3}, "callback is 3, but must be a function"),
        ({"random_state": 2**70}, "below 2**64"),
        ({"missing_values": [None]}, "missing_values holds None"),
        ({"max_levels": 1}, "max_levels is 1, but must be a whole number of at least 2"),
        ({"include": ["q"]}, "no column \"q\", given as include"),
        ({"method": "oboe", "design": "best"}, "there is no design \"best\"; choose among greedy, weighted"),
        ({"design": "greedy"}, "the design is greedy, but must be left out, but for oboe"),
        ({"method": "oboe", "runtimes": "exact"}, "choose among paper, log"),
        ({"method": "kernel-oboe", "kernel_prediction": "both"}, "choose among embeddings, codes"),
        ({"method": "oboe", "rank_rule": "both"}, "which alone have a rank of estimators"),
        ({"method": "oboe", "first_target": -1.0}, "first_target=-1.0"),
        ({"method": "oboe", "last_round": "all"}, "choose among rest, none"),
        ({"best_predicted": 5}, "left out, but for oboe"),
        ({"method": "oboe", "validation_share": 1.0}, "between 0 and 1"),
        ({"method": "oboe", "category_fill": "mean"}, "choose among mode, codes"),
        ({"n_folds": 1}, "at least 2"),
    ],
)
def test_wrong_parameters_are_named_in_fit(quick, rows, settings, words):
    with pytest.raises(ValueError) as error:
        quick(**settings).fit(*rows)
    assert words in str(error.value)


def test_the_papers_methods_have_their_ways(quick, rows):
    ways = {"method": "kernel-oboe", "design": "random", "runtimes": "log", "kernel_prediction": "codes"}
    plain = quick(method="kernel-oboe", max_evaluations=20).fit(*rows)
    other = quick(max_evaluations=20, **ways).fit(*rows)
    tried = [[event["pipeline"] for event in clf._history if event["event"] == "finished"] for clf in (plain, other)]
    assert tried[0] != tried[1]


def test_the_papers_methods_keep_to_the_letter_where_they_are_told(quick, rows):
    letter = {"first_target": 0.05, "last_round": "none", "best_predicted": 5, "validation_share": 0.15, "n_folds": 5}
    clf = quick(method="tensor-oboe", max_evaluations=20, rank_rule="estimators", **letter).fit(*rows)
    assert clf.predict(rows[0]).shape == (200,)


def test_an_unfitted_classifier_says_so(quick):
    with pytest.raises(NotFittedError):
        quick().predict([[1.0]])
    assert not hasattr(quick(), "leaderboard_")


def test_it_works_in_scikit_learns_tools(quick, rows):
    X, y = rows
    assert make_pipeline(StandardScaler(), quick()).fit(X, y).score(X, y) > 0.9
    assert cross_val_score(quick(n_jobs=None), X, y, cv=2, n_jobs=2).mean() > 0.8
    search = GridSearchCV(quick(), {"metric": ["accuracy", "log_loss"]}, cv=2).fit(X, y)
    assert search.best_estimator_.metric in ("accuracy", "log_loss")
    stack = StackingClassifier([("pitchpipe", quick())], LogisticRegression(), cv=2).fit(X, y)
    assert stack.score(X, y) > 0.9
    calibrated = CalibratedClassifierCV(quick(), cv=2).fit(X, y)
    assert calibrated.predict_proba(X).shape == (200, 2)


def test_it_takes_what_a_column_transformer_gives(quick, rows):
    pandas = pytest.importorskip("pandas")
    X, y = rows
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(e=np.where(X[:, 2] > 0, "u", "v"))
    columns = ColumnTransformer([("e", OneHotEncoder(sparse_output=False), ["e"])], remainder="passthrough")
    pipeline = make_pipeline(columns.set_output(transform="pandas"), quick()).fit(frame, y)
    assert "e__e_u" in pipeline[-1].feature_names_in_
    assert pipeline.score(frame, y) > 0.9


def test_an_unfitted_classifier_measures_nothing(quick, rows):
    for measure in (quick().evaluate, quick().permutation_importance):
        with pytest.raises(NotFittedError):
            measure(*rows)


def test_columns_and_classes_beyond_what_is_usual(quick, rows):
    pandas = pytest.importorskip("pandas")
    X, y = rows
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(name=[f"n{i}" for i in range(200)])
    left_out = quick().fit(frame, y)
    assert any('include=["name"]' in note for note in left_out.notes_), left_out.notes_
    taken_in = quick(include=["name"], max_levels=3).fit(frame, y)
    columns = {column["name"]: column for column in taken_in.model_.inspect()["schema"]["columns"]}
    assert "name" in columns
    with pytest.raises(ValueError, match="max_classes=") as error:
        quick(max_classes=5).fit(X, np.arange(200) % 10)
    assert "--" not in str(error.value)


def test_help_is_for_python(quick, rows):
    """What only a reader of files can be told is not told to who hands over a table."""
    pandas = pytest.importorskip("pandas")
    X, y = rows
    twice = pandas.DataFrame(X, columns=["a", "b", "a", "c"])
    with pytest.raises(ValueError, match='both named "a"\nhelp: rename one of them$'):
        quick().fit(twice, y)


@pytest.mark.parametrize("given", [-999, [-999], [-999.0], "-999", ["?", -999]], ids=str)
def test_missing_values_are_one_or_several(quick, given):
    X = np.where(np.arange(120) % 4 == 0, -999.0, np.arange(120.0) % 7)[:, None]
    plain = quick().fit(np.where(X == -999, np.nan, X), X[:, 0] > 3).predict_proba(np.where(X == -999, np.nan, X))
    np.testing.assert_array_equal(quick(missing_values=given).fit(X, X[:, 0] > 3).predict_proba(X), plain)


def test_weights_are_refused_with_what_to_do(quick, rows):
    with pytest.raises(ValueError, match="repeat rows in proportion"):
        quick().fit(*rows, sample_weight=np.ones(200))


def test_class_weights_move_labels(quick, rows):
    X, _ = rows
    rare = np.where(np.arange(200) % 10 == 0, "rare", "usual")
    often = {}
    for name, weight in {"none": None, "even": {"rare": 1}, "balanced": "balanced", "much": {"rare": 1000.0}}.items():
        clf = quick(class_weight=weight, metric="accuracy").fit(X, rare)
        often[name] = int((clf.predict(X) == "rare").sum())
    assert often["none"] == often["even"] < often["balanced"] <= often["much"]


ROOT = Path(__file__).parents[3]

# Flags that are something else in Python: the table's own, files that are written, and what is told.
ELSEWHERE = {
    "--target", "--out", "--force", "--report", "--no-history", "--live", "--quiet", "--help",
    "--format", "--delimiter", "--header", "--no-header", "--no-usual-missing", "--max-columns", "--max-row",
}  # fmt: skip

# Flags without a parameter.
MISSING: set[str] = set()


def flags_of_fit():
    """The flags of `pitchpipe fit` and their defaults, as its help has them."""
    said = subprocess.run(
        [sys.executable, "-m", "pitchpipe", "fit", "--help"], capture_output=True, text=True, check=True
    ).stdout
    defaults = {}
    for line in said.split("Examples:")[0].splitlines():
        if flag := re.match(r" {2,6}(?:-., )?(--[a-z-]+)", line):
            at = flag[1]
            defaults[at] = None
        if default := re.search(r"\[default: (.*)\]", line):
            defaults[at] = default[1]
    return defaults


def test_defaults_are_the_command_lines():
    """The table of docs/python.md names every parameter and every flag, and each pair has one default."""
    parameters = PitchpipeClassifier().get_params()
    flags, named = flags_of_fit(), set()
    page = (ROOT / "docs/python.md").read_text().split("## Parameters")[1].split("## Tables")[0]
    for row in re.findall(r"^\| (`.*?) \|(.*?)\| .* \|$", page, re.MULTILINE):
        pairs = itertools.zip_longest(re.findall(r"`(.+?)`", row[0]), re.findall(r"`(.+?)`", row[1]))
        for parameter, flag in pairs:
            if parameter in parameters:
                named.add(parameter)
            if flag is None or flag == "predict --decision":
                continue
            default = flags.pop(flag)
            if parameter in parameters:
                assert in_flags(parameters[parameter]) == default, parameter
    assert named == set(parameters)
    assert set(flags) - ELSEWHERE == MISSING


def in_flags(default):
    """A default as the command's help writes it; what is off by default has none there."""
    if default is None or isinstance(default, bool):
        return None
    return f"{default:g}s" if isinstance(default, float) else str(default).replace("_", "-")
