"""What was learnt from other tables, from Python."""

import numpy as np
import pytest

from pitchpipe import PitchpipeClassifier, meta


def test_the_surrogate_inside_has_facts():
    surrogate = meta.load()
    assert surrogate.n_pipelines == 23_475
    assert meta.info()["datasets"] == surrogate.facts["datasets"]
    assert " > " in surrogate.best_on_average
    with pytest.raises(OSError):
        meta.load("absent.surrogate")


def test_what_was_run_moves_what_is_expected(quick, rows):
    pytest.importorskip("pandas")
    before = meta.expected(*rows)
    clf = quick().fit(*rows)
    after = meta.expected(*rows, after=clf)
    assert list(before.columns) == ["pipeline", "error", "seconds"]
    assert (before["seconds"] > 0).all() and (before["error"] >= 0).all()
    done = clf.search_history_.iloc[0]
    at = before["pipeline"] == done["pipeline"]
    nearer = abs(after["error"][at] - done["error"]) < abs(before["error"][at] - done["error"])
    assert nearer.item()


def write_table(path, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)).round(3)
    labels = np.where(X[:, 0] + seed * X[:, 1] > 0, "x", "y")
    lines = [f"{a},{b},{c},{label}" for (a, b, c), label in zip(X, labels)]
    path.write_text("\n".join(["a,b,c,class", *lines]) + "\n")


def test_the_commands_of_meta_training_are_functions(tmp_path):
    for folder, seeds in {"tables": range(5), "more": [5]}.items():
        (tmp_path / folder).mkdir()
        for seed in seeds:
            write_table(tmp_path / folder / f"t{seed}.csv", seed)
    assert meta.describe(tmp_path / "tables" / "t0.csv", target="class")
    settings = {"no_slice": True, "threads": 1}
    meta.collect(tmp_path / "tables", store=tmp_path / "store", estimators=["gaussian_nb", "decision_tree"], **settings)
    assert meta.info(tmp_path / "store")["datasets"][0]["finished"] > 0
    own = meta.train(store=tmp_path / "store", out=tmp_path / "own.surrogate", method="bayes")
    assert [d["name"] for d in own.facts["datasets"]] == [f"t{seed}" for seed in range(5)]
    meta.collect(tmp_path / "more", store=tmp_path / "new", estimators=["gaussian_nb"], **settings)
    out = tmp_path / "more.surrogate"
    extended = meta.extend(tmp_path / "own.surrogate", store=tmp_path / "new", out=out)
    assert [d["name"] for d in extended.facts["datasets"]] == [f"t{seed}" for seed in range(6)]
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    clf = PitchpipeClassifier(repeatable=True, max_evaluations=3, n_jobs=1, surrogate=out)
    assert clf.fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda f: meta.describe(f / "absent.csv"), FileNotFoundError, "no such file"),
        (lambda f: meta.describe(f), IsADirectoryError, "is a directory"),
        (lambda f: meta.info(f / "absent"), FileNotFoundError, "not a store"),
        (lambda f: meta.collect(f / "absent", store=f / "s"), FileNotFoundError, "no such file"),
        (lambda f: meta.train(store=f / "absent", out=f / "o"), FileNotFoundError, "not a store"),
        (lambda f: meta.extend(f / "absent", store=f, out=f / "o"), FileNotFoundError, "os error 2"),
        (lambda f: meta.describe(f / "odd.csv"), ValueError, "NUL byte"),
        (lambda f: meta.train(store=f, out=f / "o", method="magic"), ValueError, "expected matrix"),
    ],
)
def test_a_file_that_cannot_be_read_is_the_systems_error(tmp_path, call, kind, words):
    (tmp_path / "odd.csv").write_bytes(b"a\0b\n1,2\n")
    with pytest.raises((OSError, ValueError), match=words) as error:
        call(tmp_path)
    assert error.type is kind and not str(error.value).startswith("error: ")
