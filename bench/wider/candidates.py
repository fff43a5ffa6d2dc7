"""Estimators that the search space does not have, as scikit-learn has them: what they say out of fold, and of other rows.

candidates.py FOLDER: reads train.parquet and test.parquet (written by `cargo xtask bench automl`'s splits), codes.json (classes of
the training rows by number) and writes NAME.bin for each candidate (single precision, rows by classes: out of fold, then other rows)
and candidates.json with names and seconds.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, SplineTransformer, StandardScaler, TargetEncoder

FOLDS = 3
# A candidate whose first fold takes longer is left out on that table.
MOST_SECS = 60.0


def prepared(x, categories, *, numeric=()):
    """Means and standard units for numbers, then `numeric`; `categories` for the others."""
    is_category = [isinstance(dtype, pd.CategoricalDtype) for dtype in x.dtypes]
    nominal = [c for c, yes in zip(x.columns, is_category) if yes]
    others = [c for c, yes in zip(x.columns, is_category) if not yes]
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler(), *numeric), others),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), categories), nominal),
    )


def one_hot():
    return OneHotEncoder(handle_unknown="ignore", max_categories=50, sparse_output=False)


def target(seed):
    return TargetEncoder(random_state=seed)


def candidates(x, seed):
    def logistic(c, **more):
        return LogisticRegression(C=c, max_iter=300, **more)

    def boosting(**settings):
        return HistGradientBoostingClassifier(random_state=seed, categorical_features="from_dtype", **settings)

    def trees(kind, **settings):
        return make_pipeline(prepared(x, one_hot()), kind(random_state=seed, **settings))

    def on_targets(estimator):
        return make_pipeline(prepared(x, target(seed)), estimator)

    yield "target encoding, logistic regression", on_targets(logistic(1.0))
    yield "target encoding, random forest", on_targets(RandomForestClassifier(100, random_state=seed))
    yield "target encoding, boosting", on_targets(boosting(learning_rate=0.1, max_leaf_nodes=15))
    for c in (0.1, 10.0):
        spline = prepared(x, one_hot(), numeric=(SplineTransformer(n_knots=8, knots="quantile"),))
        yield f"splines, logistic regression (C {c})", make_pipeline(spline, logistic(c))
    if x.shape[1] <= 40:
        products = PolynomialFeatures(2, interaction_only=False, include_bias=False)
        pairs = prepared(x, one_hot(), numeric=(products,))
        yield "products of columns, logistic regression", make_pipeline(pairs, StandardScaler(), logistic(0.1))
    for gamma in (0.3, 1.0):
        scale = gamma / x.shape[1]
        kernel = Nystroem(gamma=scale, n_components=400, random_state=seed)
        yield f"kernel approximation (gamma {gamma}), logistic regression", make_pipeline(prepared(x, one_hot()), kernel, logistic(10.0))
    yield "random forest, 500 trees", trees(RandomForestClassifier, n_estimators=500)
    yield "random forest, 300 trees, leaves of 3, a third of the columns", trees(
        RandomForestClassifier, n_estimators=300, min_samples_leaf=3, max_features=0.33
    )
    yield "extra trees, 500 trees", trees(ExtraTreesClassifier, n_estimators=500)
    yield "extra trees, 300 trees, all columns", trees(ExtraTreesClassifier, n_estimators=300, max_features=None)
    yield "extra trees, 300 trees, leaves of 3, a third of the columns", trees(
        ExtraTreesClassifier, n_estimators=300, min_samples_leaf=3, max_features=0.33
    )
    yield "random forest, balanced classes", trees(RandomForestClassifier, n_estimators=100, class_weight="balanced_subsample")
    yield "logistic regression, balanced classes", make_pipeline(prepared(x, one_hot()), logistic(1.0, class_weight="balanced"))
    yield "boosting, balanced classes", boosting(learning_rate=0.1, max_leaf_nodes=15, class_weight="balanced")
    yield "perceptron of 256 and 128, stopped early", make_pipeline(
        prepared(x, one_hot()), MLPClassifier((256, 128), early_stopping=True, max_iter=100, random_state=seed)
    )


def probabilities(model, x, n_classes):
    p = np.full((len(x), n_classes), 0.0)
    p[:, model.classes_] = model.predict_proba(x)
    return p


def measured(model, x, y, test, n_classes, seed):
    """Out of fold and of other rows, and the CPU seconds; `None` where it takes too long."""
    begun = time.process_time()
    inside, outside = np.zeros((len(x), n_classes)), np.zeros((len(test), n_classes))
    for train, held in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(x, y):
        model.fit(x.iloc[train], y[train])
        if time.process_time() - begun > MOST_SECS and not inside.any():
            return None
        inside[held] = probabilities(model, x.iloc[held], n_classes)
        outside += probabilities(model, test, n_classes) / FOLDS
    return inside, outside, time.process_time() - begun


def main():
    warnings.filterwarnings("ignore")
    folder, seed = Path(sys.argv[1]), 0
    train, test = (pd.read_parquet(folder / f"{part}.parquet") for part in ("train", "test"))
    x = train.drop(columns="class")
    for name in x.columns:
        if isinstance(x[name].dtype, pd.CategoricalDtype):
            test[name] = test[name].astype(pd.CategoricalDtype(x[name].cat.categories))
    y = np.array(json.loads((folder / "codes.json").read_text()))
    n_classes, found = int(y.max()) + 1, []
    for i, (name, model) in enumerate(candidates(x, seed)):
        try:
            answer = measured(model, x, y, test[x.columns], n_classes, seed)
        except ValueError as error:
            print(f"{folder.name}: {name}: {error}", file=sys.stderr)
            continue
        if answer is None:
            continue
        inside, outside, secs = answer
        np.concatenate([inside, outside]).astype("<f4").tofile(folder / f"{i}.bin")
        found.append({"file": f"{i}.bin", "name": name, "secs": secs})
    (folder / "candidates.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
