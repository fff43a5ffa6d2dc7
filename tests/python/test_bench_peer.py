"""What bench/automl/peer.py hands to the systems, and the error it gives them to minimise."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

PATH = Path(__file__).parents[2] / "bench/automl/peer.py"
SPEC = importlib.util.spec_from_file_location("peer", PATH)
peer = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(peer)


def test_balanced_error_by_hand():
    y = np.array([0, 0, 0, 0, 0, 1, 1, 1, 2, 2])
    predicted = np.array([0, 0, 0, 1, 2, 1, 1, 0, 2, 3])
    expected = ((0.4 + 0.2) / 2 + (1 / 3 + 1 / 7) / 2 + (0.5 + 1 / 8) / 2) / 3
    assert peer.balanced_error(y, predicted) == pytest.approx(expected)
    assert peer.balanced_error(y, np.zeros(10)) == 0.5
    assert peer.balanced_error(y, y) == 0


def test_test_rows_have_the_training_rows_levels(tmp_path):
    colours = pd.Categorical(["red", None, "blue", "red"])
    pd.DataFrame({"size": [1.0, 2.0, np.nan, 4.0], "colour": colours, "class": ["2", "10", "2", "10"]}).to_parquet(
        tmp_path / "train.parquet"
    )
    unseen = pd.Categorical(["green", "blue"])
    pd.DataFrame({"size": [1.0, 2.0], "colour": unseen}).to_parquet(tmp_path / "test.parquet")
    x, y, classes, test = peer.read(tmp_path / "train.parquet", tmp_path / "test.parquet")
    assert [classes[code] for code in y] == ["2", "10", "2", "10"]
    assert list(x.columns) == list(test.columns) == ["size", "colour"]
    assert test["colour"].dtype == x["colour"].dtype
    assert test["colour"].isna().tolist() == [True, False]
    objects = peer.as_objects(x)["colour"].tolist()
    assert objects[0] == "red" and objects[1] is not None and np.isnan(objects[1])
