"""CPU seconds of scikit-learn's cross-validation: `timings.py JOB.json OUT.jsonl`, resumable.

A job lists tables and pipelines on them. Fold after fold a pipeline is prepared, fitted and asked. A fold
over `fold_cap_secs` stands for all three; a pipeline over `cap_secs` is stopped and counts as that long,
both to scikit-learn's favour or nearly so. Lines already in OUT are not measured again.
"""

import json
import os
import signal
import sys
import time
import warnings

import numpy as np
import sklearn

from components import Preparation, estimator


class Table:
    def __init__(self, about):
        x = np.fromfile(about["x"], dtype=np.float64).reshape(-1, len(about["categorical"]))
        self.x, self.categorical = x, about["categorical"]
        self.y, self.fold = np.asarray(about["y"]), np.asarray(about["fold"])
        self.n_classes = int(self.y.max()) + 1

    def cross_validate(self, pipeline, fold_cap_secs):
        total, n_folds = 0.0, int(self.fold.max()) + 1
        for f in range(n_folds):
            own = self.fold != f
            train, y, test = self.x[own], self.y[own], self.x[~own]
            start = time.process_time()
            preparation = Preparation(pipeline["preparation"], self.categorical)
            train = preparation.fit_transform(train, y)
            model = estimator(pipeline["estimator"], 0, self.n_classes).fit(train, y)
            model.predict(preparation.transform(test))
            secs = time.process_time() - start
            total += secs
            if secs > fold_cap_secs:
                return secs * n_folds
        return total


def stop(*_):
    raise TimeoutError


def measure(table, case, job):
    """The least of a few runs where these are short; None where scikit-learn refuses the pipeline."""
    best, spent = None, 0.0
    for _ in range(job["repeats"]):
        signal.setitimer(signal.ITIMER_PROF, job["cap_secs"])
        try:
            secs = table.cross_validate(case["pipeline"], job["fold_cap_secs"])
        except TimeoutError:
            secs = job["cap_secs"]
        except ValueError:
            return None
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        best = secs if best is None else min(best, secs)
        spent += secs
        if spent > 0.3:
            break
    return best


def main():
    warnings.filterwarnings("ignore")
    signal.signal(signal.SIGPROF, stop)
    job, out = json.load(open(sys.argv[1])), sys.argv[2]
    if job["fold_cap_secs"] is None:  # JSON has no infinity
        job["fold_cap_secs"] = float("inf")
    done = set()
    if os.path.exists(out):
        done = {json.loads(line)["key"] for line in open(out)}
    tables = {}
    with open(out, "a") as lines:
        for case in job["cases"]:
            if case["key"] in done:
                continue
            name = case["table"]
            if name not in tables:
                tables = {name: Table(job["tables"][name])}
            secs = measure(tables[name], case, job)
            line = {"key": case["key"], "secs": secs, "scikit_learn": sklearn.__version__}
            lines.write(json.dumps(line) + "\n")
            lines.flush()


if __name__ == "__main__":
    main()
