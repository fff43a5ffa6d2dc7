"""What was learnt from other tables, from Python."""

import pytest

from pitchpipe import meta


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


def test_the_commands_of_meta_training_are_functions(tmp_path):
    lines = ["a,b,class"] + [f"{i},{i * i % 7},{'xy'[i % 2]}" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    assert meta.describe(tmp_path / "t.csv", target="class")
    meta.collect(
        tmp_path / "t.csv", store=tmp_path / "store", estimators=["gaussian_nb"], no_slice=True, threads=1
    )
    assert meta.info(tmp_path / "store")["datasets"][0]["finished"] > 0
    with pytest.raises(ValueError, match="absent"):
        meta.describe(tmp_path / "absent.csv")
