"""Writes crates/learn/tests/golden from scikit-learn: `golden.py FOLDER [COMPONENT…]`, run by `cargo xtask golden`.

Layout: data/NAME.json holds a table once ("x" row-major with null for missing, "y", "categorical",
"fold" = row number modulo 3 within its class); COMPONENT/NAME.json holds cases on that table. Fold 0
tests, folds 1 and 2 train; stochastic cases cross-validate over all three.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import sklearn
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from components import ADDED, Preparation, estimator
from errors import errors

N_SEEDS = 10


def rounded(values, digits=10):
    return [float(f"{v:.{digits}g}") for v in np.ravel(values)]


def folds(y):
    y, fold = np.asarray(y), np.zeros(len(y), dtype=int)
    for c in np.unique(y):
        fold[y == c] = np.arange((y == c).sum()) % 3
    return fold.tolist()


def table(x, y, categorical=None):
    x = np.asarray(x, dtype=float)
    cells = [[None if np.isnan(v) else (int(v) if v == int(v) else float(v)) for v in row] for row in x]
    return {
        "x": cells,
        "y": [int(c) for c in y],
        "categorical": categorical or [False] * x.shape[1],
        "fold": folds(y),
    }


def mixed(n=135):
    """Numeric, skewed, constant and nominal columns, with missing cells and one column without any."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, 3, n)
    columns = [
        rng.normal(y, 1.0),
        np.exp(rng.normal(0, 2, n)).round(3),
        rng.integers(0, 4, n).astype(float),
        np.full(n, 3.5),
        rng.normal(0, 1e-3, n) + 1e3,
        ((y + rng.integers(0, 3, n)) % 5).astype(float),
        rng.integers(0, 12, n).astype(float),
        np.full(n, np.nan),
        rng.normal(0, 1, n).round(1),
        rng.normal(-y, 2.0),
    ]
    x = np.column_stack(columns)
    for j in (0, 1, 2, 5, 8):
        x[rng.random(n) < 0.12, j] = np.nan
    return table(x, y, [j in (2, 5, 6) for j in range(10)])


def tables():
    iris, wine, cancer, digits = load_iris(), load_wine(), load_breast_cancer(), load_digits()
    return {
        "iris": table(iris.data, iris.target),
        "wine": table(wine.data, wine.target),
        "breast-cancer": table(cancer.data, cancer.target),
        "digits": table(digits.data[:400], digits.target[:400]),
        "mixed": mixed(),
    }


def arrays(data):
    x = np.array([[np.nan if v is None else v for v in row] for row in data["x"]], dtype=float)
    return x, np.array(data["y"]), np.array(data["fold"])


def preparations():
    plain = {"imputer": "Mean", "encoder": "None", "scaler": "None", "reducer": "None"}
    for imputer in ("Constant", "Mean", "Median", "MostFrequent"):
        yield {**plain, "imputer": imputer}
        yield {**plain, "imputer": imputer, "encoder": "OneHot"}
    yield {**plain, "scaler": "Standardise"}
    yield {**plain, "encoder": "OneHot", "scaler": "Standardise"}
    for share in ("Quarter", "Half", "ThreeQuarters"):
        for kind in ("Pca", "SelectKBest"):
            for scaler in ("Standardise", "None"):
                yield {**plain, "scaler": scaler, "reducer": {kind: share}}
    yield {**plain, "reducer": "VarianceThreshold"}
    yield {**plain, "encoder": "OneHot", "scaler": "Standardise", "reducer": "VarianceThreshold"}


def prepared(data, setting):
    x, y, fold = arrays(data)
    preparation = Preparation(setting, data["categorical"])
    preparation.fit_transform(x[fold != 0], y[fold != 0])
    # Fifteen rows say as much as fifty.
    test = preparation.transform(x[fold == 0][:15])
    return {"setting": setting, "n_cols": test.shape[1], "x": rounded(test)}


# Single answers: what is deterministic, or agrees over all seeds.
SINGLE = {
    "gaussian_nb": [{"GaussianNb": {}}],
    "knn": [{"Knn": {"n_neighbors": k, "p": p}} for k in (1, 5, 15) for p in ("Manhattan", "Euclidean")],
    "decision_tree": [{"DecisionTree": {"min_samples_split": s}} for s in ({"Count": 2}, {"Count": 32}, {"Fraction": 0.01})],
    "logistic_regression": [
        {"LogisticRegression": {"c": c, "solver": "Liblinear", "penalty": p}} for c in (0.25, 4.0) for p in ("L1", "L2")
    ],
    "linear_svm": [{"LinearSvm": {"c": c}} for c in (0.125, 1.0)],
}

# Boosting looks at all features: where ten seeds agree, no tie between splits was decisive; other cases are not recorded.
BOOSTED = {
    "adaboost": [
        # This release keeps weights from falling below the machine's epsilon, and we do not: with fewer classes,
        # stumps or a lower rate none does.
        {"AdaBoost": {"n_estimators": n, "learning_rate": 1.0}} for n in (1, 10, 50)
    ],
    "gradient_boosting": [
        {"GradientBoosting": {"learning_rate": rate, "max_depth": depth, "max_features": "All"}}
        for rate, depth in ((0.1, 1), (0.5, 1), (0.05, 2), (0.1, 3))
    ],
}

SINGLE |= {module.NAME: [{kind: case} for case in module.CASES] for kind, module in ADDED.items()}

# Mean balanced errors over seeds.
STOCHASTIC = [
    {"AdaBoost": {"n_estimators": 50, "learning_rate": 1.0}},
    {"AdaBoost": {"n_estimators": 100, "learning_rate": 1.5}},
    {"ExtraTrees": {"min_samples_split": {"Count": 2}, "criterion": "Gini"}},
    {"ExtraTrees": {"min_samples_split": {"Count": 32}, "criterion": "Entropy"}},
    {"GradientBoosting": {"learning_rate": 0.1, "max_depth": 3, "max_features": "Log2"}},
    {"GradientBoosting": {"learning_rate": 0.1, "max_depth": 3, "max_features": "All"}},
    {"LogisticRegression": {"c": 1.0, "solver": "Saga", "penalty": "L1"}},
    {"LogisticRegression": {"c": 1.0, "solver": "Saga", "penalty": "L2"}},
    {"Mlp": {"learning_rate_init": 0.001, "solver": "Adam", "alpha": 0.0001}},
    {"Mlp": {"learning_rate_init": 0.01, "solver": "Adam", "alpha": 0.01}},
    {"Mlp": {"learning_rate_init": 0.001, "solver": "Sgd", "alpha": 0.0001}},
    {"Mlp": {"learning_rate_init": 0.01, "solver": "Sgd", "alpha": 0.01}},
    {"Perceptron": {}},
    {"RandomForest": {"min_samples_split": {"Count": 2}, "criterion": "Gini"}},
    {"RandomForest": {"min_samples_split": {"Count": 32}, "criterion": "Entropy"}},
    {"LinearSvm": {"c": 16.0}},
]


def tight(model):
    """liblinear run to its optimum instead of to its default tolerance."""
    if "tol" in model.get_params() and hasattr(model, "C"):
        model.set_params(tol=1e-10, max_iter=1_000_000)
    return model


def draws_at_the_last(model, test):
    """Rows whose last neighbour and the next are equally far: scikit-learn takes either."""
    k = model.n_neighbors
    distances, _ = model.kneighbors(test, n_neighbors=k + 1)
    return distances[:, k] - distances[:, k - 1] <= 1e-9 * distances[:, k]


def answered(data, spec):
    """Labels where every seed agrees (null elsewhere), and probabilities where there are any."""
    x, y, fold = arrays(data)
    scaler = StandardScaler().fit(x[fold != 0])
    train, test = scaler.transform(x[fold != 0]), scaler.transform(x[fold == 0])
    kind = next(iter(spec))
    seeds = range(N_SEEDS) if kind == "DecisionTree" else [0]
    models = [tight(estimator(spec, seed, y.max() + 1)).fit(train, y[fold != 0]) for seed in seeds]
    labels = np.array([model.predict(test) for model in models])
    agreed = (labels == labels[0]).all(axis=0)
    if kind == "Knn":
        agreed = ~draws_at_the_last(models[0], test)
    case = {"spec": spec, "labels": [int(c) if same else None for c, same in zip(labels[0], agreed)]}
    if hasattr(models[0], "predict_proba") and kind != "DecisionTree":
        case["probabilities"] = rounded(models[0].predict_proba(test))
    return case


def agreed(data, spec):
    """Labels and probabilities if every seed gives the same, and else nothing."""
    x, y, fold = arrays(data)
    scaler = StandardScaler().fit(x[fold != 0])
    train, test = scaler.transform(x[fold != 0]), scaler.transform(x[fold == 0])
    models = [estimator(spec, seed, y.max() + 1).fit(train, y[fold != 0]) for seed in range(N_SEEDS)]
    probabilities = np.array([model.predict_proba(test) for model in models])
    if np.abs(probabilities - probabilities[0]).max() > 1e-12:
        return []
    labels = [int(c) for c in models[0].predict(test)]
    return [{"spec": spec, "labels": labels, "probabilities": rounded(probabilities[0])}]


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, separators=(",", ":")) + "\n")


def main():
    warnings.filterwarnings("ignore")
    folder, only, version = Path(sys.argv[1]), sys.argv[2:], sklearn.__version__

    def record(component, name, cases):
        if not only or component in only:
            value = {"scikit_learn": version, "cases": list(cases)}
            write(folder / component / f"{name}.json", value)
            print(f"{component} on {name}", file=sys.stderr, flush=True)

    for name, data in tables().items():
        write(folder / "data" / f"{name}.json", data)
        if name != "digits":
            record("preparation", name, (prepared(data, setting) for setting in preparations()))
        if name == "mixed":
            continue
        for component, specs in SINGLE.items():
            record(component, name, (answered(data, spec) for spec in specs))
        if name != "digits":
            for component, specs in BOOSTED.items():
                few = specs[:1] if (component, name) == ("adaboost", "wine") else specs
                record(component, name, (case for spec in few for case in agreed(data, spec)))
        # Ten classes of digits take scikit-learn's boosting most of an hour.
        if name != "digits":
            means = ({"spec": spec, "errors": rounded(errors(data, spec, N_SEEDS), 6)} for spec in STOCHASTIC)
            record("stochastic", name, means)


if __name__ == "__main__":
    main()
