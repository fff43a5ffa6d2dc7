"""One fit of a peer on a table of `large.py`: large_peer.py PEER TRAIN TEST SEED BUDGET THREADS.

Prints one JSON object: seconds of reading and of fitting, and probabilities of the test rows' classes in a file beside. Levels
are categories and gaps are gaps, as each peer takes them.
"""

import json
import sys
import tempfile
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd

warnings.filterwarnings("ignore")


def read(train_path, test_path):
    train, test = pd.read_csv(train_path), pd.read_csv(test_path)
    classes, y = np.unique(train.pop("class").to_numpy(dtype=str), return_inverse=True)
    test = test[train.columns]
    for name in train.columns:
        if not pd.api.types.is_numeric_dtype(train[name]):
            train[name] = train[name].astype("category")
            test[name] = pd.Categorical(test[name], categories=train[name].cat.categories)
    return train, y, [str(c) for c in classes], test


def lightgbm(n_rounds):
    def fit(x, y, seed, _, threads):
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=n_rounds, num_leaves=31, n_jobs=threads, random_state=seed, verbose=-1).fit(x, y)

    return fit


def hist_gradient_boosting(x, y, seed, *_):
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=seed).fit(x, y)


def flaml(x, y, seed, budget, threads):
    from flaml import AutoML

    model = AutoML()
    model.fit(x, y, task="classification", metric="roc_auc_ovr" if len(set(y)) > 2 else "roc_auc", time_budget=budget,
              n_jobs=threads, seed=seed, verbose=0)
    return model


def autogluon(x, y, _, budget, threads):
    from autogluon.tabular import TabularPredictor

    # Its models are read from there again when it predicts, so it lasts as long as what is given.
    place = tempfile.TemporaryDirectory()
    path = f"{place.name}/autogluon"
    predictor = TabularPredictor(label="class", eval_metric="balanced_accuracy", path=path, verbosity=0)
    # From `good_quality` on it fits every model eight times, and a minute is too short for one such on a million rows.
    predictor.fit(x.assign(**{"class": y}), presets="medium_quality", time_limit=budget, num_cpus=threads, num_gpus=0)
    return SimpleNamespace(
        place=place,
        predict=lambda new: predictor.predict(new, as_pandas=False),
        predict_proba=lambda new: predictor.predict_proba(new)[list(range(y.max() + 1))].to_numpy(dtype=float),
    )


PEERS = {
    "lightgbm-100": lightgbm(100),
    "lightgbm-400": lightgbm(400),
    "hist-gradient-boosting": hist_gradient_boosting,
    "flaml": flaml,
    "autogluon": autogluon,
}


def main():
    name, train, test, seed, budget, threads, out = sys.argv[1:]
    start = time.monotonic()
    x, y, classes, new = read(train, test)
    read_secs = time.monotonic() - start
    start = time.monotonic()
    model = PEERS[name](x, y, int(seed), float(budget), int(threads))
    fit_secs = time.monotonic() - start
    shares = np.bincount(y) / len(y)
    p = model.predict_proba(new)
    told = {
        "read_secs": read_secs,
        "fit_secs": fit_secs,
        "classes": classes,
        "own": np.asarray(classes)[np.asarray(model.predict(new)).astype(int)].tolist(),
        # Our decision for the balanced error.
        "decided": np.asarray(classes)[((p - shares) / (shares * (1 - shares))).argmax(axis=1)].tolist(),
        "probabilities": p.tolist(),
    }
    with open(out, "w") as file:
        json.dump(told, file)


if __name__ == "__main__":
    main()
