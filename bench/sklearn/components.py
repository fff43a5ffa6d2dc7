"""Our settings as scikit-learn's objects, for scikit-learn 1.1.3 (parity) and current releases (speed).

A setting is the JSON of `pitchpipe_learn::estimate::EstimatorSpec`, e.g. {"Knn": {"n_neighbors": 5, "p":
"Euclidean"}}. What is not named there stays at scikit-learn's default.
"""

import importlib.util
from pathlib import Path

import numpy as np
import sklearn
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_classif
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

VERSION = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
SHARES = {"Quarter": 25, "Half": 50, "ThreeQuarters": 75}


def min_samples_split(setting):
    (kind, value), = setting.items()
    # A count of 1 is not in the grid, so an integer is a count and a float a fraction, as there.
    return int(value) if kind == "Count" else float(value)


def estimator(spec, seed, n_classes):
    """The scikit-learn estimator of a setting; `n_classes` matters to liblinear in current releases."""
    (kind, s), = spec.items()
    if kind == "AdaBoost":
        real = {"algorithm": "SAMME.R"} if VERSION < (1, 6) else {}
        return AdaBoostClassifier(
            n_estimators=s["n_estimators"], learning_rate=s["learning_rate"], random_state=seed, **real
        )
    if kind == "DecisionTree":
        return DecisionTreeClassifier(
            min_samples_split=min_samples_split(s["min_samples_split"]), random_state=seed
        )
    if kind in ("ExtraTrees", "RandomForest"):
        forest = ExtraTreesClassifier if kind == "ExtraTrees" else RandomForestClassifier
        return forest(
            min_samples_split=min_samples_split(s["min_samples_split"]),
            criterion=s["criterion"].lower(),
            random_state=seed,
        )
    if kind == "GradientBoosting":
        return GradientBoostingClassifier(
            learning_rate=s["learning_rate"],
            max_depth=s["max_depth"],
            max_features={"Log2": "log2", "All": None}[s["max_features"]],
            random_state=seed,
        )
    if kind == "GaussianNb":
        return GaussianNB()
    if kind == "Knn":
        return KNeighborsClassifier(
            n_neighbors=s["n_neighbors"], p={"Manhattan": 1, "Euclidean": 2}[s["p"]]
        )
    if kind == "LogisticRegression":
        return logistic(s, seed, n_classes)
    if kind == "Mlp":
        return MLPClassifier(
            learning_rate_init=s["learning_rate_init"],
            learning_rate="adaptive",
            solver=s["solver"].lower(),
            alpha=s["alpha"],
            random_state=seed,
        )
    if kind == "Perceptron":
        return Perceptron(random_state=seed)
    if kind == "LinearSvm":
        return LinearSVC(C=s["c"], dual=True, random_state=seed)
    if kind in ADDED:
        return ADDED[kind].make(s, seed, n_classes)
    raise ValueError(f"no such estimator: {kind}")


def added():
    """Estimators that the paper does not have, by kind: a file each in `estimators/`, with

    KIND (the name of ours), NAME (of its golden files), CASES (settings to record) and make(settings, seed, n_classes).
    """
    found = {}
    for path in sorted((Path(__file__).parent / "estimators").glob("*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found[module.KIND] = module
    return found


ADDED = added()


def logistic(s, seed, n_classes):
    solver, penalty = s["solver"].lower(), s["penalty"].lower()
    # Current releases say l1_ratio where 1.1.3 says penalty, and leave one-vs-rest to a wrapper.
    chosen = {"penalty": penalty} if VERSION < (1, 8) else {"l1_ratio": float(penalty == "l1")}
    model = LogisticRegression(C=s["c"], solver=solver, random_state=seed, **chosen)
    if solver == "liblinear" and n_classes > 2 and VERSION >= (1, 6):
        return OneVsRestClassifier(model)
    return model


class Preparation:
    """The four steps before the estimator, on numbers with NaN for missing, codes for categories."""

    def __init__(self, setting, categorical):
        self.setting, self.categorical = setting, np.asarray(categorical, dtype=bool)

    def fit_transform(self, x, y):
        s, n_raw = self.setting, x.shape[1]
        strategy = {
            "Constant": "constant",
            "Mean": "mean",
            "Median": "median",
            "MostFrequent": "most_frequent",
        }[s["imputer"]]
        self.imputer = SimpleImputer(strategy=strategy, fill_value=0 if strategy == "constant" else None)
        x = self.imputer.fit_transform(x)
        kept = np.ones(n_raw, dtype=bool) if strategy == "constant" else ~np.isnan(self.imputer.statistics_)
        self.codes = self.categorical[kept]
        self.encoder = None
        if s["encoder"] == "OneHot" and self.codes.any():
            dense = {"sparse": False} if VERSION < (1, 2) else {"sparse_output": False}
            self.encoder = OneHotEncoder(handle_unknown="ignore", **dense).fit(x[:, self.codes])
            x = self.encode(x)
        self.scaler = StandardScaler() if s["scaler"] == "Standardise" else None
        if self.scaler:
            x = self.scaler.fit_transform(x)
        self.reducer = self.make_reducer(s["reducer"], n_raw, len(x))
        return self.reducer.fit_transform(x, y) if self.reducer else x

    def encode(self, x):
        return np.hstack([self.encoder.transform(x[:, self.codes]), x[:, ~self.codes]])

    @staticmethod
    def make_reducer(setting, n_raw, n_rows):
        if setting == "None":
            return None
        if setting == "VarianceThreshold":
            return VarianceThreshold()
        (kind, share), = setting.items()
        n = n_raw * SHARES[share] // 100
        if kind == "Pca":
            return PCA(n_components=min(n, n_rows), svd_solver="full")
        return SelectKBest(f_classif, k=n)

    def transform(self, x):
        x = self.imputer.transform(x)
        if self.encoder:
            x = self.encode(x)
        if self.scaler:
            x = self.scaler.transform(x)
        return self.reducer.transform(x) if self.reducer else x


def balanced_error_rate(truth, predicted):
    """ALGORITHMS §3: the mean over the classes present of 1 - (sensitivity + specificity) / 2."""
    errors = []
    for c in np.unique(truth):
        own, said = truth == c, predicted == c
        sensitivity = said[own].mean()
        specificity = (~said[~own]).mean() if (~own).any() else 1.0
        errors.append(1 - (sensitivity + specificity) / 2)
    return float(np.mean(errors))
