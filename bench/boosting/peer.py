"""One fit of a peer on a table that `cargo xtask bench boosting` wrote: seconds and the error on new rows.

usage: peer.py SYSTEM FOLDER THREADS

Prints one JSON object: wall and CPU seconds of the fit, its bins included, and the error on the test rows.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

warnings.filterwarnings("ignore")


def read(folder: Path):
    about = json.loads((folder / "about.json").read_text())
    n, n_cols = about["n_train"] + about["n_test"], about["n_cols"]
    x = np.fromfile(folder / "x.f64", dtype="<f8").reshape(n_cols, n).T
    y = np.fromfile(folder / "y.u32", dtype="<u4").astype(np.int32)
    cut = about["n_train"]
    return about, (x[:cut], y[:cut]), (x[cut:], y[cut:])


def lightgbm(about, threads, x, y, quantised=False):
    import lightgbm as lgb

    categories = [j for j, is_category in enumerate(about["categories"]) if is_category]
    n_classes = about["n_classes"]
    settings = {
        "objective": "binary" if n_classes == 2 else "multiclass",
        "num_leaves": about["leaves"],
        "learning_rate": about["learning_rate"],
        "min_data_in_leaf": about["min_rows"],
        "max_bin": 255,
        "lambda_l2": about["l2"],
        "num_threads": threads,
        "verbose": -1,
        "seed": 0,
        "use_quantized_grad": quantised,
    }
    if n_classes > 2:
        settings["num_class"] = n_classes
    data = lgb.Dataset(x, y, categorical_feature=categories, params=settings)
    model = lgb.train(settings, data, num_boost_round=about["rounds"])

    def predict(x):
        p = model.predict(x, num_threads=threads)
        return (p > 0.5).astype(int) if n_classes == 2 else p.argmax(axis=1)

    return predict


def xgboost(about, threads, x, y):
    import xgboost as xgb

    n_classes = about["n_classes"]
    settings = {
        "objective": "binary:logistic" if n_classes == 2 else "multi:softprob",
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": about["leaves"],
        "max_depth": 0,
        "eta": about["learning_rate"],
        "min_child_weight": 0,
        "lambda": about["l2"],
        "max_bin": 255,
        "nthread": threads,
    }
    if n_classes > 2:
        settings["num_class"] = n_classes
    types = ["c" if is_category else "q" for is_category in about["categories"]]
    has_categories = "c" in types

    def matrix(kind, x, y=None, **more):
        # Quantile sketches want rows.
        x = np.ascontiguousarray(x, dtype=np.float32)
        return kind(x, y, feature_types=types, enable_categorical=has_categories, nthread=threads, **more)

    data = matrix(xgb.QuantileDMatrix, x, y, max_bin=255)
    model = xgb.train(settings, data, num_boost_round=about["rounds"])

    def predict(x):
        p = model.predict(matrix(xgb.DMatrix, x))
        return (p > 0.5).astype(int) if n_classes == 2 else p.argmax(axis=1)

    return predict


def catboost(about, threads, x, y):
    import catboost as cb

    categories = [j for j, is_category in enumerate(about["categories"]) if is_category]
    model = cb.CatBoostClassifier(
        iterations=about["rounds"],
        learning_rate=about["learning_rate"],
        grow_policy="Lossguide",
        max_leaves=about["leaves"],
        min_data_in_leaf=about["min_rows"],
        border_count=254,
        boosting_type="Plain",
        l2_leaf_reg=about["l2"],
        thread_count=threads,
        allow_writing_files=False,
        verbose=False,
        random_seed=0,
    )

    def pool(x, y=None):
        if not categories:
            return cb.Pool(np.ascontiguousarray(x, dtype=np.float32), y)
        numbers = [j for j in range(x.shape[1]) if j not in categories]
        data = cb.FeaturesData(
            num_feature_data=np.ascontiguousarray(x[:, numbers], dtype=np.float32),
            cat_feature_data=x[:, categories].astype(np.int64).astype("S6").astype(object),
        )
        return cb.Pool(data, y)

    model.fit(pool(x, y))
    return lambda x: model.predict(pool(x)).ravel().astype(int)


def sklearn(about, threads, x, y):
    from sklearn.ensemble import HistGradientBoostingClassifier

    # Categories with more than 255 levels are refused: those beyond are made one.
    def cut(x):
        if not any(about["categories"]):
            return x
        x = x.copy()
        for j, is_category in enumerate(about["categories"]):
            if is_category:
                x[:, j] = np.minimum(x[:, j], 254)
        return x

    model = HistGradientBoostingClassifier(
        max_iter=about["rounds"],
        learning_rate=about["learning_rate"],
        max_leaf_nodes=about["leaves"],
        min_samples_leaf=about["min_rows"],
        l2_regularization=about["l2"],
        max_bins=255,
        early_stopping=False,
        categorical_features=about["categories"] if any(about["categories"]) else None,
    )
    model.fit(cut(x), y)
    return lambda x: model.predict(cut(x))


SYSTEMS = {
    "lightgbm": lightgbm,
    "lightgbm-quantised": lambda *given: lightgbm(*given, quantised=True),
    "xgboost": xgboost,
    "catboost": catboost,
    "sklearn": sklearn,
}


def main():
    name, folder, threads = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    about, (x, y), (test_x, test_y) = read(folder)
    fit = SYSTEMS[name]
    # Libraries are loaded and their threads started before the clock.
    small = dict(about, rounds=1)
    fit(small, threads, x[:2000], y[:2000] if len(set(y[:2000])) == about["n_classes"] else np.arange(2000) % about["n_classes"])
    wall, cpu = time.perf_counter(), time.process_time()
    predict = fit(about, threads, x, y)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    error = float((predict(test_x) != test_y).mean())
    print(json.dumps({"wall": wall, "cpu": cpu, "error": error}))


main()
