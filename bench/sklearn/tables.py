"""Tables for the benchmarks: `tables.py FOLDER NAME…` writes NAME.f64 (row-major, NaN for missing) and NAME.json."""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification


def made(n_rows, n_cols, n_classes):
    informative = min(n_cols, max(4, n_cols // 3))
    return make_classification(
        n_rows, n_cols, n_informative=informative, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=1
    )


def mixed(n_rows=500):
    """Missing, nominal and constant columns among numeric ones."""
    rng = np.random.default_rng(3)
    x, y = made(n_rows, 9, 2)
    nominal = [(np.digitize(rng.normal(y, 1.5), np.linspace(-1, 2, k - 1))).astype(float) for k in (2, 3, 4, 5, 8, 12)]
    x = np.column_stack([x, *nominal, np.full(n_rows, 2.0)])
    for j in (0, 1, 2, 9, 11):
        x[rng.random(n_rows) < 0.1, j] = np.nan
    return x, y, [9 <= j < 15 for j in range(16)]


def table(name):
    bundled = {
        "iris-150x4": load_iris,
        "wine-178x13": load_wine,
        "breast-cancer-569x30": load_breast_cancer,
        "digits-1797x64": load_digits,
    }
    if name in bundled:
        return *bundled[name](return_X_y=True), None
    if name == "mixed-500x16":
        return mixed()
    kind, size = name.rsplit("-", 1)
    n_rows, n_cols = map(int, size.split("x"))
    return *made(n_rows, n_cols, {"two": 2, "three": 3, "five": 5}[kind]), None


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:]:
        x, y, categorical = table(name)
        x = np.ascontiguousarray(x, dtype=np.float64)
        x.tofile(folder / f"{name}.f64")
        about = {"categorical": categorical or [False] * x.shape[1], "y": [int(c) for c in y]}
        (folder / f"{name}.json").write_text(json.dumps(about))


if __name__ == "__main__":
    main()
