"""One foreign system on one split: `peer.py SYSTEM TRAIN TEST OUT SEED [BUDGET]`.

TRAIN and TEST are Parquet files: numbers are floats, nominal columns are dictionaries, the target is `class` and
is not in TEST. OUT gets {"classes", "predicted", "probabilities", "fit_secs", "n_evaluated"} as JSON. Each system
runs in an environment of its own (requirements/automl-*.txt), so imports are where they are needed.
"""

import json
import sys
import time
import warnings

import numpy as np
import pandas as pd

TARGET = "class"


def balanced_error(y, predicted):
    """The paper's balanced error rate: the mean over classes of (FNR + FPR) / 2."""
    rates = []
    for c in np.unique(y):
        is_c = y == c
        fpr = np.mean(predicted[~is_c] == c) if not is_c.all() else 0.0
        rates.append((np.mean(predicted[is_c] != c) + fpr) / 2)
    return float(np.mean(rates))


def read(train_path, test_path):
    """Training rows, their classes as codes, the classes' names, and test rows with the training rows' levels."""
    train, test = pd.read_parquet(train_path), pd.read_parquet(test_path)
    classes, y = np.unique(train.pop(TARGET).astype(str).to_numpy(dtype=object), return_inverse=True)
    for name in train.columns[[isinstance(t, pd.CategoricalDtype) for t in train.dtypes]]:
        test[name] = pd.Categorical(test[name], categories=train[name].cat.categories)
    return train, y, [str(c) for c in classes], test[train.columns]


def one_hot(x):
    """The usual preparation for what takes numbers only: impute, then one column per level."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    nominal = [isinstance(t, pd.CategoricalDtype) for t in x.dtypes]
    levels = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    )
    return make_column_transformer(
        (SimpleImputer(strategy="median"), x.columns[~np.array(nominal)]), (levels, x.columns[nominal])
    )


def as_objects(x):
    """Levels as plain text with None for missing, which is what scikit-learn's imputer takes."""
    x = x.copy()
    for name, dtype in x.dtypes.items():
        if isinstance(dtype, pd.CategoricalDtype):
            cells = x[name].astype(object)
            x[name] = cells.where(cells.notna(), np.nan).astype(object)
    return x


def random_forest(x, y, test, seed, _):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(one_hot(x), RandomForestClassifier(random_state=seed)).fit(as_objects(x), y)
    return lambda: (model.predict(as_objects(test)), model.predict_proba(as_objects(test))), None


def hist_gradient_boosting(x, y, test, seed, _):
    from sklearn.ensemble import HistGradientBoostingClassifier

    # Missing cells and levels are its own business (`categorical_features="from_dtype"`).
    model = HistGradientBoostingClassifier(random_state=seed).fit(x, y)
    return lambda: (model.predict(test), model.predict_proba(test)), None


def lightgbm(n_rounds):
    def fit(x, y, test, seed, _):
        from lightgbm import LGBMClassifier

        # Missing cells and levels are its own business.
        model = LGBMClassifier(n_estimators=n_rounds, num_leaves=31, n_jobs=1, random_state=seed, verbose=-1).fit(x, y)
        return lambda: (model.predict(test), model.predict_proba(test)), None

    return fit


def flaml(x, y, test, seed, budget):
    from flaml import AutoML

    def metric(x_val, y_val, estimator, labels, x_train, y_train, *_, **__):
        error = balanced_error(np.asarray(y_val), np.asarray(estimator.predict(x_val)))
        return error, {"balanced_error": error}

    model = AutoML()
    model.fit(x, y, task="classification", metric=metric, time_budget=budget, n_jobs=1, seed=seed, verbose=0)
    n_evaluated = sum(model._iter_per_learner.values())
    return lambda: (model.predict(test), model.predict_proba(test)), n_evaluated


def tpot(x, y, test, seed, budget):
    from tpot import TPOTClassifier

    # It takes numbers only; ten folds and the linear search space are its defaults. One evaluation may take a
    # third of the budget instead of ten minutes.
    preparation = one_hot(x)
    model = TPOTClassifier(
        scorers=["balanced_accuracy"],
        scorers_weights=[1],
        max_time_mins=budget / 60,
        max_eval_time_mins=budget / 180,
        n_jobs=1,
        random_state=seed,
        verbose=0,
    )
    model.fit(preparation.fit_transform(as_objects(x)), y)
    rows = preparation.transform(as_objects(test))

    def predict():
        predicted = np.asarray(model.predict(rows))
        if hasattr(model, "predict_proba"):
            return predicted, model.predict_proba(rows)
        return predicted, np.eye(int(y.max()) + 1)[predicted.astype(int)]

    return predict, len(model.evaluated_individuals)


def autogluon(x, y, test, seed, budget, **options):
    from autogluon.tabular import TabularPredictor

    predictor = TabularPredictor(label=TARGET, eval_metric="balanced_accuracy", path="autogluon", verbosity=1)
    predictor.fit(x.assign(**{TARGET: y}), time_limit=budget, num_cpus=1, num_gpus=0, **options)
    n_classes = int(y.max()) + 1

    def predict():
        return predictor.predict(test).to_numpy(), predictor.predict_proba(test)[list(range(n_classes))].to_numpy()

    return predict, len(predictor.model_names())


def autogluon_best(*args):
    # Trying first whether stacking helps takes a quarter of the time, and can leave it without any model.
    return autogluon(*args, presets="best_quality", dynamic_stacking=False)


SYSTEMS = {
    "random-forest": random_forest,
    "hist-gradient-boosting": hist_gradient_boosting,
    "lightgbm-100": lightgbm(100),
    "lightgbm-400": lightgbm(400),
    "flaml": flaml,
    "tpot": tpot,
    "autogluon": autogluon,
    "autogluon-best": autogluon_best,
}


def main():
    warnings.filterwarnings("ignore")
    system, train_path, test_path, out, seed, *budget = sys.argv[1:]
    x, y, classes, test = read(train_path, test_path)
    begun = time.monotonic()
    predict, n_evaluated = SYSTEMS[system](x, y, test, int(seed), float(budget[0]) if budget else None)
    fit_secs = time.monotonic() - begun
    predicted, probabilities = predict()
    answer = {
        "classes": classes,
        "predicted": [classes[int(c)] for c in predicted],
        "probabilities": np.asarray(probabilities, dtype=float).tolist(),
        "fit_secs": fit_secs,
        "n_evaluated": n_evaluated,
    }
    with open(out, "w") as file:
        json.dump(answer, file)


if __name__ == "__main__":
    main()
