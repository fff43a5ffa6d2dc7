"""One system's predictions, timed: `predict.py SYSTEM FOLDER BUDGET OUT`.

FOLDER holds train.npy, test.npy (the label is the last column). The system fits within BUDGET seconds on one core, then
predicts all rows of the test table and single rows; these are timed in CPU seconds. Each runs in an environment of its own, so imports are where they are
needed. OUT gets seconds and accuracy as JSON.
"""

import json
import os
import sys
import time
import warnings

import numpy as np

ONE_ROW_TIMES = 100
TIMES = 1


def pitchpipe(X, y, budget):
    from pitchpipe import PitchpipeClassifier

    model = PitchpipeClassifier(budget, n_jobs=1).fit(frame(X), y)
    return model.predict_proba, frame, f"{len(model.ensemble_)} pipelines"


def autogluon(X, y, budget):
    from autogluon.tabular import TabularPredictor

    predictor = TabularPredictor(label="y", eval_metric="balanced_accuracy", path="autogluon", verbosity=0)
    predictor.fit(frame(X).assign(y=y), time_limit=budget, num_cpus=1, num_gpus=0)
    predictor.persist()
    return (lambda x: predictor.predict_proba(x).to_numpy()), frame, predictor.model_best


def flaml(X, y, budget):
    from flaml import AutoML

    model = AutoML()
    model.fit(frame(X), y, task="classification", metric="log_loss", time_budget=budget, n_jobs=1, seed=0, verbose=0)
    return model.predict_proba, frame, model.best_estimator


def forest(X, y, budget):
    """As many trees as fit into the budget."""
    from sklearn.ensemble import RandomForestClassifier

    started = time.monotonic()
    model = RandomForestClassifier(10, random_state=0, n_jobs=1, warm_start=True).fit(X, y)
    a_tree = (time.monotonic() - started) / 10
    model.n_estimators = max(11, int(budget / a_tree))
    model.fit(X, y)
    return model.predict_proba, (lambda x: x), f"{model.n_estimators} trees"


def timed(work, times):
    """CPU seconds of each call, of which other programs on the machine take nothing, and what the last one gave."""
    secs = []
    for _ in range(times):
        started = time.process_time()
        gave = work()
        secs.append(time.process_time() - started)
    return secs, gave


def frame(X):
    import pandas

    return pandas.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])], copy=False)


SYSTEMS = {"pitchpipe": pitchpipe, "autogluon": autogluon, "flaml": flaml, "forest": forest}


def main():
    warnings.filterwarnings("ignore")
    system, folder, budget, out = sys.argv[1:]
    train, test = np.load(f"{folder}/train.npy"), np.load(f"{folder}/test.npy")
    X, y = np.ascontiguousarray(train[:, :-1]), train[:, -1].astype(int)
    # One core for everyone, so that thread pools of other libraries do not count.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    started = time.monotonic()
    predict, prepared, what = SYSTEMS[system](X, y, float(budget))
    fit_secs = time.monotonic() - started
    rows, truth = prepared(np.asfortranarray(test[:, :-1])), test[:, -1].astype(int)
    all_secs, probabilities = timed(lambda: np.asarray(predict(rows)), TIMES)
    singles = iter(rows[i : i + 1] for i in range(ONE_ROW_TIMES + 1))
    one_secs, _ = timed(lambda: predict(next(singles)), ONE_ROW_TIMES)
    said = {
        "system": system,
        "what": what,
        "fit_secs": fit_secs,
        "all_secs": float(np.min(all_secs)),
        "one_secs": float(np.median(one_secs)),
        "accuracy": float(np.mean(probabilities.argmax(axis=1) == truth)),
    }
    with open(out, "w") as file:
        json.dump(said, file)


if __name__ == "__main__":
    main()
