"""Balanced errors of scikit-learn's estimators over seeds: `errors.py JOB.json OUT.jsonl`, resumable.

A job names data files ({"x": row-major numbers, "y": codes, "fold": the fold that tests each row}) and
settings; every fold is standardised by its training rows. Used by `cargo xtask parity` and `golden`.
"""

import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np
import sklearn
from sklearn.preprocessing import StandardScaler

from components import balanced_error_rate, estimator

# These draw nothing at random that matters: one seed says it all.
DETERMINISTIC = {"GaussianNb", "Knn"}


def errors(data, spec, n_seeds):
    x, y = np.asarray(data["x"], dtype=float), np.asarray(data["y"])
    fold, n_classes = np.asarray(data["fold"]), int(np.max(data["y"])) + 1
    seeds = 1 if next(iter(spec)) in DETERMINISTIC else n_seeds
    parts = []
    for f in np.unique(fold):
        scaler = StandardScaler().fit(x[fold != f])
        parts.append((scaler.transform(x[fold != f]), y[fold != f], scaler.transform(x[fold == f]), y[fold == f]))
    found = []
    for seed in range(seeds):
        per_fold = []
        for train, y_train, test, y_test in parts:
            model = estimator(spec, seed, n_classes).fit(train, y_train)
            per_fold.append(balanced_error_rate(y_test, model.predict(test)))
        found.append(float(np.mean(per_fold)))
    return found


def main():
    warnings.filterwarnings("ignore")
    job, out = json.load(open(sys.argv[1])), sys.argv[2]
    done = set()
    if os.path.exists(out):
        done = {json.loads(line)["key"] for line in open(out)}
    with open(out, "a") as lines:
        for path in job["data"]:
            data = json.load(open(path))
            for spec in job["specs"]:
                key = f"{Path(path).stem} {json.dumps(spec, sort_keys=True)}"
                if key in done:
                    continue
                line = {
                    "key": key,
                    "scikit_learn": sklearn.__version__,
                    "data": Path(path).stem,
                    "spec": spec,
                    "errors": errors(data, spec, job["n_seeds"]),
                }
                lines.write(json.dumps(line) + "\n")
                lines.flush()


if __name__ == "__main__":
    main()
