"""Boosting on histograms."""

from sklearn.ensemble import HistGradientBoostingClassifier

KIND = "HistogramBoosting"
NAME = "histogram_boosting"
PLAIN = {
    "learning_rate": 0.1,
    "max_leaf_nodes": 31,
    "min_samples_leaf": 20,
    "l2_regularization": 0.0,
    "column_share": 1.0,
    "row_share": 1.0,
    "max_iter": 100,
}
CASES = [
    PLAIN,
    {**PLAIN, "learning_rate": 0.3, "max_iter": 25},
    {**PLAIN, "max_leaf_nodes": 4, "min_samples_leaf": 5, "l2_regularization": 1.0},
]


def make(settings, seed, n_classes):
    assert settings["column_share"] == settings["row_share"] == 1.0, "this release draws neither"
    return HistGradientBoostingClassifier(
        learning_rate=settings["learning_rate"],
        max_leaf_nodes=settings["max_leaf_nodes"],
        min_samples_leaf=settings["min_samples_leaf"],
        l2_regularization=settings["l2_regularization"],
        max_iter=settings["max_iter"],
        early_stopping=False,
        random_state=seed,
    )
