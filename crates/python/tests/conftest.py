"""What the tests share."""

import signal

import numpy as np
import pytest

from pitchpipe import PitchpipeClassifier


@pytest.fixture(autouse=True)
def ctrl_c_is_heard():
    """Also by programs that were started where it is ignored, such as by ``nohup`` or in the background of a script."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def quick():
    """A classifier that takes a moment and is the same every time."""

    def make(**settings):
        given = {"repeatable": True, "max_evaluations": 6, "n_jobs": 1, **settings}
        return PitchpipeClassifier(**given)

    return make


@pytest.fixture
def rows():
    """Two hundred rows of numbers, and labels that two of the columns tell."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)
