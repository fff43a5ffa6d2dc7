"""One system's predictions, timed: `predict.py SYSTEM FOLDER BUDGET OUT`.

FOLDER holds train.npy, test.npy (the label is the last column). The system is asked to fit within BUDGET seconds on one core; what it
took, by the clock and in CPU seconds, is told, its imports aside. Then it predicts all rows of the test table and single rows, timed in
CPU seconds. Each system runs in an environment of its own, so imports are where they are needed. OUT gets seconds and accuracy as JSON.
"""

import json
import os
import sys
import time
import warnings

import numpy as np

ONE_ROW_TIMES = 100
TIMES = 1


def pitchpipe(X, y, budget, fast_predict=False):
    from pitchpipe import PitchpipeClassifier

    with Fit() as fit:
        model = PitchpipeClassifier(budget, n_jobs=1, fast_predict=fast_predict).fit(frame(X), y)
    return fit, model.predict_proba, frame, f"{len(model.ensemble_)} pipelines"


def pitchpipe_fast(X, y, budget):
    """Without the members that predict slowly and add little."""
    return pitchpipe(X, y, budget, fast_predict=True)


def autogluon(X, y, budget):
    from autogluon.tabular import TabularPredictor

    predictor = TabularPredictor(label="y", eval_metric="balanced_accuracy", path="autogluon", verbosity=0)
    with Fit() as fit:
        predictor.fit(frame(X).assign(y=y), time_limit=budget, num_cpus=1, num_gpus=0)
    predictor.persist()
    return fit, (lambda x: predictor.predict_proba(x).to_numpy()), frame, predictor.model_best


def flaml(X, y, budget):
    from flaml import AutoML

    model = AutoML()
    settings = {"metric": "log_loss", "n_jobs": 1, "seed": 0, "verbose": 0}
    with Fit() as fit:
        model.fit(frame(X), y, task="classification", time_budget=budget, **settings)
    return fit, model.predict_proba, frame, model.best_estimator


def forest(X, y, budget):
    """As many trees as fit into the budget."""
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(10, random_state=0, n_jobs=1, warm_start=True)
    with Fit() as fit:
        started = time.monotonic()
        while True:
            model.fit(X, y)
            spent = time.monotonic() - started
            n_more = int(len(model.estimators_) * (budget - spent) / spent)
            if n_more < 1:
                break
            # Carefully, as the first trees may be the slow ones.
            model.n_estimators += max(1, n_more // 2)
    return fit, model.predict_proba, (lambda x: x), f"{model.n_estimators} trees"


class Fit:
    """What a fit takes, by the clock and in CPU seconds, those of processes that it starts included."""

    def __enter__(self):
        self.started = time.monotonic(), self.cpu()
        return self

    def __exit__(self, *what):
        self.secs = time.monotonic() - self.started[0]
        self.cpu_secs = self.cpu() - self.started[1]

    @staticmethod
    def cpu():
        return sum(os.times()[:4])


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


SYSTEMS = {
    "pitchpipe": pitchpipe,
    "pitchpipe-fast": pitchpipe_fast,
    "autogluon": autogluon,
    "flaml": flaml,
    "forest": forest,
}


def main():
    warnings.filterwarnings("ignore")
    system, folder, budget, out = sys.argv[1:]
    train, test = np.load(f"{folder}/train.npy"), np.load(f"{folder}/test.npy")
    X, y = np.ascontiguousarray(train[:, :-1]), train[:, -1].astype(int)
    # One core for everyone, so that thread pools of other libraries do not count.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    fit, predict, prepared, what = SYSTEMS[system](X, y, float(budget))
    rows, truth = prepared(np.asfortranarray(test[:, :-1])), test[:, -1].astype(int)
    all_secs, probabilities = timed(lambda: np.asarray(predict(rows)), TIMES)
    singles = iter(rows[i : i + 1] for i in range(ONE_ROW_TIMES + 1))
    one_secs, _ = timed(lambda: predict(next(singles)), ONE_ROW_TIMES)
    said = {
        "system": system,
        "what": what,
        "fit_secs": fit.secs,
        "fit_cpu_secs": fit.cpu_secs,
        "all_secs": float(np.min(all_secs)),
        "one_secs": float(np.median(one_secs)),
        "accuracy": float(np.mean(probabilities.argmax(axis=1) == truth)),
    }
    with open(out, "w") as file:
        json.dump(said, file)


if __name__ == "__main__":
    main()
