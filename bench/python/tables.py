"""The tables of `bench python`: `tables.py FOLDER N_TEST`."""

import sys
from pathlib import Path

import numpy as np

N_TRAIN, N_COLUMNS = 20_000, 30


def made(n, seed):
    """Numbers of which ten columns and some of their products tell the class; a tenth of the labels is noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_COLUMNS))
    score = X[:, :10] @ np.linspace(1, 0.1, 10) + X[:, 0] * X[:, 1] + np.abs(X[:, 2]) - 0.8
    y = (score > 0) ^ (rng.random(n) < 0.1)
    return np.c_[X, y]


def main():
    folder, n_test = Path(sys.argv[1]), int(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "train.npy", made(N_TRAIN, 0))
    np.save(folder / "test.npy", made(n_test, 1))


if __name__ == "__main__":
    main()
