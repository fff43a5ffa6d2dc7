"""The classifier, by scikit-learn's conventions."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native, _settings, _show
from ._input import Frame, default_names, frame_of, is_dataframe
from ._native import Model
from ._progress import Progress
from ._target import Target, classes_of, known_target
from ._warnings import PitchpipeWarning

if TYPE_CHECKING:
    from typing_extensions import Self

    class _Base:
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    _NotFitted = AttributeError
else:
    try:
        from sklearn.base import BaseEstimator, ClassifierMixin
        from sklearn.exceptions import NotFittedError as _NotFitted

        class _Base(ClassifierMixin, BaseEstimator):
            pass

    except ImportError:
        from ._without_sklearn import Base as _Base
        from ._without_sklearn import NotFittedError as _NotFitted

Array = np.ndarray[Any, Any]
Callback = Callable[[dict[str, Any]], Any]

# A parameter whose words are longer is not kept with the model.
_LONGEST_WORDS = 200


class PitchpipeClassifier(_Base):
    """The best ensemble of pipelines that a time budget allows.

    Pipelines (imputer, encoder, scaler, reducer, estimator) are cross-validated, the most promising first, and those that do
    well together become the model. Tables may have missing cells, categories and dates; nothing needs to be prepared.

    Parameters
    ----------
    time_budget : float or str, default=60
        Seconds for all of ``fit``, or a text such as ``"5m"``.
    max_evaluations : int, optional
        End after so many pipelines.
    method : str, default="auto"
        How pipelines are chosen: "auto", or the paper's "oboe", "tensor-oboe" and "kernel-oboe", or "random" and "random-oboe".
    ensemble : {"average", "vote"}, optional
        How base learners are combined; by default the paper's methods vote and the others average.
    design : {"greedy", "weighted", "convex", "random"}, optional
        How the paper's methods choose what to run first; "convex" is for "oboe" only. By default "greedy".
    runtimes : {"paper", "log"}, optional
        How the paper's methods predict runtimes: by the paper's polynomials of seconds, or by those of logarithms that the other
        methods use. By default "paper".
    kernel_prediction : {"embeddings", "codes"}, optional
        How "kernel-oboe" predicts errors: by the embeddings of the tensor that its kernel method completed, or by the closed form
        on its codes. By default "embeddings".
    rank_rule : {"datasets", "estimators", "both"}, optional
        Which rank the paper's methods raise after a round that improved on the last; "oboe" has that of datasets only. By
        default "datasets".
    first_target : float, optional
        The seconds of the first round of the paper's methods; by default the rule of the published code.
    last_round : {"rest", "none"}, optional
        What the paper's methods do when the target of a round would pass half of the budget, where the paper ends: one more round
        of the rest of the time, or nothing. By default "rest".
    best_predicted : int, optional
        How many of the best-predicted pipelines a round of the paper's methods runs and makes the ensemble of; by default as many
        as the time allows, and the best of all that was run.
    validation_share : float, optional
        The share of the rows that the paper's methods keep apart, to raise ranks by the ensemble's error on them; by default they
        go by its cross-validated error.
    category_fill : {"mode", "codes"}, optional
        How the paper's methods fill missing categories where they fill numbers by a mean or a median. By default "mode" for
        "oboe" and "codes" for the others.
    n_folds : int, optional
        On how many folds pipelines are cross-validated; by default three, and five on fewer than 500 rows where base learners are
        averaged.
    metric : str, default="balanced_error"
        What the model is to be good at: "balanced_error", "balanced_accuracy", "accuracy", "log_loss", "macro_f1" or "roc_auc".
    n_jobs : int, optional
        How many threads to use, -1 for all cores. By default all cores, and inside another parallel loop (``cross_val_score``,
        ``GridSearchCV``, joblib) that loop's share, so that threads do not multiply.
    random_state : int, RandomState or None, default=0
        The seed of folds and of all random numbers; None draws one.
    memory_limit : int or str, optional
        Bytes to use at most, or a text such as ``"4GB"``; by default 70 % of what is free.
    categorical_features : list of str, int or bool, optional
        Columns of categories, even if they are numbers: names, positions, or a mask.
    numeric_features : list of str or int, optional
        Columns of numbers, even if they are declared as categories.
    exclude : list of str or int, optional
        Columns to leave out.
    include : list of str or int, optional
        Columns to learn from although they would be left out, such as a number for each row.
    max_classes : int
        How many classes the labels may have.
    max_levels : int
        How many categories of a column are told apart; the rarest of more count as one.
    missing_values : list, optional
        Values that stand for a missing cell, besides None, NaN and NaT.
    group : str or int, optional
        Rows with the same value in this column are never both learnt from and measured on. The column is no feature.
    time_order : str or int, optional
        Learn from the past and measure on what comes later, in the order of this column. The column is no feature.
    surrogate : path, optional
        A surrogate of your own, as ``pitchpipe meta train`` writes them, instead of the one inside.
    repeatable : bool, default=False
        Make the fit the same every time, on any number of threads; asks for ``max_evaluations``.
    fast_predict : bool, default=False
        Leave out of the ensemble what takes much of the time of a prediction and changes its error by no more than noise.
    refit : bool, default=True
        Where some rows had to be left out of the search, fit again on all that time allows.
    decision : {"model", "most-probable", "balanced"}, default="model"
        How ``predict`` makes labels of probabilities. A model's own rule is that of its metric: made for balanced error, rare
        classes count as much as common ones, and the label need not be the most probable class.
    class_weight : dict or "balanced", optional
        How much a mistake about each class costs; those not named cost 1. ``predict`` then takes the class whose probability times
        its weight is largest, whatever the metric. The search itself is not weighted. With "balanced" the weights are inversely
        proportional to the number of rows of each class.
    holdout : float, optional
        Keep this share of the rows back; nothing sees them until the model is made, and its scores are of them.
    verbose : int, default=0
        With 1, a line in a terminal, a bar with the error curve in a notebook.
    callback : callable, optional
        Called with each event of the search, a dict. The search ends, and keeps the best so far, where it returns something true.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted.
    n_features_in_ : int
        How many columns there were.
    feature_names_in_ : ndarray of str
        Their names, where they had any.
    leaderboard_, search_history_ : DataFrame, or list of dict
        The best pipelines; all that were tried. DataFrames where pandas or polars is there.
    ensemble_ : list of dict
        The base learners: weight, pipeline, settings, number of models.
    scores_ : dict
        Cross-validated scores, each with its standard error, and those of something plain on the same rows.
    feature_importances_ : ndarray
        By how much the error grows when a column is shuffled, measured when asked for.
    interrupted_ : bool
        Whether Ctrl-C ended the search, and the model is the best until then.
    notes_ : list of str
        What was decided about the table.
    model_ : Model
        The native model.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 3))
    >>> y = np.where(X[:, 0] > 0, "up", "down")
    >>> clf = PitchpipeClassifier(repeatable=True, max_evaluations=10, n_jobs=1)
    >>> clf.fit(X, y).predict([[2.0, 0.0, 0.0]])
    array(['up'], dtype='<U4')
    >>> clf.classes_.tolist()
    ['down', 'up']
    >>> bool(clf.scores_["balanced_accuracy"]["score"] > 0.8)
    True
    """

    def __init__(
        self,
        time_budget: float | str = _native.DEFAULT_TIME_BUDGET,
        *,
        max_evaluations: int | None = None,
        method: str = "auto",
        ensemble: str | None = None,
        design: str | None = None,
        runtimes: str | None = None,
        kernel_prediction: str | None = None,
        rank_rule: str | None = None,
        first_target: float | None = None,
        last_round: str | None = None,
        best_predicted: int | None = None,
        validation_share: float | None = None,
        category_fill: str | None = None,
        n_folds: int | None = None,
        metric: str = "balanced_error",
        n_jobs: int | None = None,
        random_state: Any = 0,
        memory_limit: int | str | None = None,
        categorical_features: Any = None,
        numeric_features: Any = None,
        exclude: Any = None,
        include: Any = None,
        max_classes: int = _native.MAX_CLASSES,
        max_levels: int = _native.MAX_LEVELS,
        missing_values: Any = None,
        group: str | int | None = None,
        time_order: str | int | None = None,
        surrogate: str | os.PathLike[str] | None = None,
        repeatable: bool = False,
        fast_predict: bool = False,
        refit: bool = True,
        decision: str = "model",
        class_weight: dict[Any, float] | str | None = None,
        holdout: float | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.time_budget = time_budget
        self.max_evaluations = max_evaluations
        self.method = method
        self.ensemble = ensemble
        self.design = design
        self.runtimes = runtimes
        self.kernel_prediction = kernel_prediction
        self.rank_rule = rank_rule
        self.first_target = first_target
        self.last_round = last_round
        self.best_predicted = best_predicted
        self.validation_share = validation_share
        self.category_fill = category_fill
        self.n_folds = n_folds
        self.metric = metric
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.memory_limit = memory_limit
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.exclude = exclude
        self.include = include
        self.max_classes = max_classes
        self.max_levels = max_levels
        self.missing_values = missing_values
        self.group = group
        self.time_order = time_order
        self.surrogate = surrogate
        self.repeatable = repeatable
        self.fast_predict = fast_predict
        self.refit = refit
        self.decision = decision
        self.class_weight = class_weight
        self.holdout = holdout
        self.verbose = verbose
        self.callback = callback

    def fit(
        self, X: Any, y: Any = None, *, validation: tuple[Any, Any] | None = None, **unknown: Any
    ) -> Self:
        """Search for the best ensemble.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list of rows
            The table: numpy, pandas, polars, pyarrow, or whatever speaks the Arrow or the dataframe protocol.
        y : array-like
            The label of each row: text, whole numbers or booleans.
        validation : tuple of (X, y), optional
            Rows to choose pipelines by, with the same columns; by default, cross-validation.

        Returns
        -------
        PitchpipeClassifier
            The classifier itself.

        Raises
        ------
        ValueError
            The table or a parameter is wrong, in words.
        pitchpipe.OutOfTime
            No pipeline finished within the time budget.
        """
        started = time.monotonic()
        _refuse(unknown)
        frame = frame_of(X, _settings.size(self.memory_limit))
        target = Target(y)
        _check_lengths(frame.n_rows, len(target.codes))
        if len(target.classes) < 2:
            raise ValueError(
                f"y is of one class, {target.classes.tolist()[0]!r}, in all {frame.n_rows} rows, so there is nothing to tell apart"
                if len(target.classes)
                else "Found array with 0 sample(s) while a minimum of 1 is required."
            )
        settings = self._settings(frame, target)
        weights = _settings.class_weights(self.class_weight, target.classes, target.codes)
        if weights is not None and self.decision != "model":
            raise ValueError("class_weight and decision exclude each other: both say how labels are made of probabilities")
        history: list[dict[str, Any]] = []
        progress = None
        if self.verbose:
            progress = Progress(settings["time_budget"], settings["max_evaluations"])
        y_table = target.table(frame.table.names)
        settings["target"] = target.name
        validated = None if validation is None else self._validation(frame, target, validation)
        listener, tick = _Listener(history, progress, self.callback), None if progress is None else progress.tick
        # The last thing, so that all that was done here counts.
        settings["elapsed"] = time.monotonic() - started
        try:
            model, notes, interrupted = _native.fit(frame.table, y_table, settings, listener, tick, validated)
        finally:
            if progress is not None:
                progress.close()
        self._adopt(model, target.classes, frame)
        self._history = history
        self._class_weights = weights
        self.notes_ = [text for _, text in notes]
        self.interrupted_ = interrupted
        _warn(notes)
        if interrupted:
            n = model.inspect()["report"]["n_evaluated"]
            warnings.warn(
                f"interrupted: the model is the best of the {n} pipelines that had finished", PitchpipeWarning, stacklevel=2
            )
        return self

    def _settings(self, frame: Frame, target: Target) -> dict[str, Any]:
        names = frame.table.names
        if self.decision not in ("model", "most-probable", "balanced"):
            raise ValueError(
                f"there is no decision {self.decision!r}; choose among model, most-probable and balanced"
            )
        if self.group is not None and self.time_order is not None:
            raise ValueError("group and time_order exclude each other: rows hang together in one way")
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback is {self.callback!r}, but must be a function of one argument")
        _settings.whole(self.verbose, "verbose", 0)
        return {
            "target": target.name,
            "label_type": target.label_type,
            "time_budget": _settings.seconds(self.time_budget),
            "elapsed": 0.0,
            "max_evaluations": _settings.whole(self.max_evaluations, "max_evaluations", 1),
            "method": _settings.word(self.method, "method"),
            "ensemble": _settings.word_or_none(self.ensemble, "ensemble"),
            "metric": _settings.word(self.metric, "metric"),
            "n_threads": _settings.n_threads(self.n_jobs),
            "seed": _settings.seed(self.random_state),
            "memory_limit": _settings.size(self.memory_limit),
            "categorical": _settings.names(self.categorical_features, "categorical_features", names),
            "numeric": _settings.names(self.numeric_features, "numeric_features", names),
            "exclude": _settings.names(self.exclude, "exclude", names),
            "include": _settings.names(self.include, "include", names),
            "max_classes": _settings.whole(self.max_classes, "max_classes", 2, 1_000_000),
            "max_levels": _settings.whole(self.max_levels, "max_levels", 2, 1_000_000),
            "missing": _settings.cells(self.missing_values, "missing_values"),
            "group": _settings.column(self.group, "group", names),
            "time_order": _settings.column(self.time_order, "time_order", names),
            "surrogate": None if self.surrogate is None else os.fspath(self.surrogate),
            "repeatable": _settings.flag(self.repeatable, "repeatable"),
            "fast_predict": _settings.flag(self.fast_predict, "fast_predict"),
            "refit": _settings.flag(self.refit, "refit"),
            "holdout": _settings.share(self.holdout, "holdout"),
            "design": _settings.word_or_none(self.design, "design"),
            "runtimes": _settings.word_or_none(self.runtimes, "runtimes"),
            "kernel_prediction": _settings.word_or_none(self.kernel_prediction, "kernel_prediction"),
            "rank_rule": _settings.word_or_none(self.rank_rule, "rank_rule"),
            "first_target": None if self.first_target is None else float(self.first_target),
            "last_round": _settings.word_or_none(self.last_round, "last_round"),
            "best_predicted": _settings.whole(self.best_predicted, "best_predicted", 1),
            "validation_share": _settings.share(self.validation_share, "validation_share"),
            "category_fill": _settings.word_or_none(self.category_fill, "category_fill"),
            "n_folds": _settings.whole(self.n_folds, "n_folds", 2),
            "call": self._call(),
        }

    def _call(self) -> str:
        """How the model is made, for who looks at its file later."""
        given, defaults = self.get_params(deep=False), PitchpipeClassifier().get_params(deep=False)
        differing = {name: value for name, value in given.items() if repr(value) != repr(defaults.get(name))}
        words = [f"{name}={_in_short(value)}" for name, value in differing.items()]
        return f"{type(self).__name__}({', '.join(words)}).fit(X, y)"

    def _validation(self, frame: Frame, target: Target, validation: Any) -> tuple[Any, Any]:
        if not isinstance(validation, (tuple, list)) or len(validation) != 2:
            raise ValueError(f"validation is a {type(validation).__name__}, but must be a tuple of two: (X, y)")
        X, y = validation
        rows = frame_of(X, _settings.size(self.memory_limit))
        table = rows.table if rows.names and frame.names else rows.table.renamed(frame.table.names)
        labels = Target(y)
        _check_lengths(rows.n_rows, len(labels.codes))
        unknown = sorted(set(labels.classes.tolist()) - set(target.classes.tolist()))
        if unknown:
            raise ValueError(f"the validation rows have labels that y has not: {unknown[:5]}")
        labels.name = target.name
        return table, labels.table([])

    def _adopt(self, model: Model, classes: Array, frame: Frame | None) -> None:
        self.model_ = model
        self.classes_ = classes
        # Those of an earlier fit.
        self._importances: Array | None = None
        if frame is not None:
            self.n_features_in_ = frame.n_columns
            self._columns: list[str] | None = frame.table.names
            if frame.names is not None:
                self.feature_names_in_ = np.array(frame.names, dtype=object)
            elif hasattr(self, "feature_names_in_"):
                del self.feature_names_in_

    def _later(self, X: Any, stacklevel: int = 3) -> Any:
        """A later table under the names of the training table."""
        self._check_fitted()
        frame = frame_of(X, _settings.size(self.memory_limit))
        named = getattr(self, "feature_names_in_", None) is not None
        if frame.names is not None and named:
            return frame.table
        if frame.n_columns != self.n_features_in_:
            raise ValueError(
                f"X has {frame.n_columns} features, but PitchpipeClassifier is expecting {self.n_features_in_} features "
                "as input."
            )
        if named:
            warnings.warn(
                "X does not have valid feature names, but PitchpipeClassifier was fitted with feature names",
                UserWarning,
                stacklevel=stacklevel,
            )
        elif frame.names is not None and is_dataframe(X):
            warnings.warn(
                "X has feature names, but PitchpipeClassifier was fitted without feature names",
                UserWarning,
                stacklevel=stacklevel,
            )
        if self._columns is None:
            raise ValueError(
                "the model file was written before the order of columns was kept, so X must have their names\n"
                "help: pass a DataFrame, or fit the model anew"
            )
        return frame.table.renamed(self._columns)

    def predict(self, X: Any) -> Array:
        """The label of each row, by the rule that ``decision`` names.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list of rows
            Columns are found by name where both tables have names: in whatever order, and more of them are ignored.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        if getattr(self, "_class_weights", None) is not None:
            weighted: Array = self.classes_[np.argmax(self._probabilities(X) * self._class_weights, axis=1)]
            return weighted
        table = self._later(X)
        _check_rows(table.n_rows)
        codes, notes = self.model_.predict(table, self.decision, _settings.n_threads(self.n_jobs))
        _warn(notes)
        labels: Array = self.classes_[codes]
        return labels

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, in the order of ``classes_``.

        Parameters
        ----------
        X : DataFrame, array, sparse matrix or list of rows

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self._probabilities(X)

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithm of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            logarithms: Array = np.log(self._probabilities(X))
        return logarithms

    def _probabilities(self, X: Any) -> Array:
        table = self._later(X, stacklevel=4)
        _check_rows(table.n_rows)
        probabilities, notes = self.model_.predict_proba(table, _settings.n_threads(self.n_jobs))
        _warn(notes, stacklevel=4)
        return probabilities

    def evaluate(self, X: Any, y: Any) -> dict[str, Any]:
        """Scores by all metrics, by class, and who is taken for whom, as ``pitchpipe evaluate --json`` has them."""
        rows = self._labelled(X, y)
        evaluation: dict[str, Any] = self.model_.evaluate(*rows, _settings.n_threads(self.n_jobs))
        return evaluation

    def permutation_importance(self, X: Any, y: Any) -> list[dict[str, Any]]:
        """By how much the error grows when a column is shuffled, on rows of your own, with standard errors."""
        rows = self._labelled(X, y)
        measured = self.model_.importances(_settings.n_threads(self.n_jobs), rows)
        return [{"column": c, "increase": i, "standard_error": e} for c, i, e in measured or []]

    def _labelled(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Later rows and their labels, as two tables."""
        rows = self._later(X)
        labels, unknown = known_target(y, self.classes_, self.model_)
        _check_lengths(rows.n_rows, labels.n_rows)
        if unknown:
            warnings.warn(
                f"rows whose labels the model does not know are left out: {len(unknown)}, such as {unknown[0]!r}",
                PitchpipeWarning,
                stacklevel=3,
            )
        return rows, labels

    @property
    def feature_importances_(self) -> Array:
        self._check_fitted()
        if self._importances is None:
            measured = self.model_.importances(_settings.n_threads(self.n_jobs))
            if measured is None:
                raise AttributeError(
                    "the rows that the model learnt from are gone: use permutation_importance(X, y)"
                )
            increase = {column: value for column, value, _ in measured}
            self._importances = np.array([increase.get(name, 0.0) for name in self._columns or []])
        return self._importances

    @property
    def _report(self) -> dict[str, Any]:
        self._check_fitted()
        report: dict[str, Any] = self.model_.inspect()["report"]
        return report

    @property
    def leaderboard_(self) -> Any:
        return _table([_flat(candidate) for candidate in self._report["leaderboard"]])

    @property
    def search_history_(self) -> Any:
        self._check_fitted()
        told = ("finished", "failed", "out_of_time")
        return _table([event for event in self._history if event["event"] in told])

    @property
    def ensemble_(self) -> list[dict[str, Any]]:
        learners: list[dict[str, Any]] = self._report["base_learners"]
        return learners

    @property
    def scores_(self) -> dict[str, Any]:
        report = self._report
        errors = report.get("standard_errors") or {}
        scores: dict[str, Any] = {}
        for name, score in report["scores"].items():
            if score is not None:
                plain = {b["name"]: b["scores"].get(name) for b in report["baselines"]}
                scores[name] = {"score": score, "standard_error": errors.get(name), **plain}
        return scores

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file, which the command line reads, too."""
        self._check_fitted()
        if getattr(self, "_class_weights", None) is not None:
            warnings.warn(
                "class_weight is not part of a model file: once loaded, the model makes labels by its own rule; pickle keeps it",
                PitchpipeWarning,
                stacklevel=2,
            )
        self.model_.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file, of Python or of the command line.

        Labels are what they were in ``fit``; those of models that the command line made are text.
        """
        model = Model.load(os.fspath(path))
        inside = model.inspect()
        report, schema = inside["report"], inside["schema"]
        if schema is None:
            raise ValueError("the model was fitted on columns without names, so it cannot take a table")
        made = cls(
            time_budget=report["budget_secs"], method=report["method"], metric=report["metric"], random_state=report["seed"]
        )
        made._adopt(model, classes_of(model), None)
        names = [c["name"] for c in schema["columns"]] + [c["name"] for c in schema["left_out"]]
        made.n_features_in_ = len(names)
        made._columns = default_names(len(names))
        if set(names) != set(made._columns):
            made._columns = model.columns
            made.feature_names_in_ = np.array(names if model.columns is None else model.columns, dtype=object)
        made._history = []
        made.notes_ = []
        made.interrupted_ = False
        return made

    def to_script(self) -> str:
        """The model as a scikit-learn script, as ``pitchpipe export`` writes it."""
        self._check_fitted()
        return self.model_.script()

    def report(self, path: str | os.PathLike[str], X: Any = None, y: Any = None) -> None:
        """Write a page about the model, to open in a browser, as ``pitchpipe report`` does.

        One file that needs no network: the verdict, how the search went, the leaderboard, the ensemble, confusion, curves,
        calibration, how much each column matters.

        Parameters
        ----------
        path : path
            Where to write it, such as ``"report.html"``.
        X, y : optional
            Rows that the model has not seen and their labels: the page then says what the model is worth there, too.
        """
        self._check_fitted()
        if (X is None) != (y is None):
            raise ValueError("a report on other rows needs both X and y")
        rows = None if X is None else self._labelled(X, y)
        self.model_.report(os.fspath(path), type(self).__name__, _settings.n_threads(self.n_jobs), rows)

    def plot_search(self, ax: Any = None) -> Any:
        """Plot each pipeline's error over time, and the ensemble's; needs matplotlib."""
        return _show.plot_search(self._report, self._history, ax)

    def plot_leaderboard(self, top: int = 10, ax: Any = None) -> Any:
        """Plot the errors of the best pipelines, those of the ensemble darker; needs matplotlib."""
        return _show.plot_leaderboard(self._report, top, ax)

    def _repr_html_(self) -> str:
        if not self.__sklearn_is_fitted__():
            import html

            return f"<pre>{html.escape(repr(self))}</pre>"
        return _show.page(self._report, self._history)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        # scikit-learn's own shows parameters, fitted or not.
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise _NotFitted(
                "This PitchpipeClassifier instance is not fitted yet. Call 'fit' with appropriate arguments before using "
                "this estimator."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


class _Listener:
    """Keeps the history, shows progress, asks the user's function."""

    def __init__(
        self, history: list[dict[str, Any]], progress: Progress | None, callback: Callback | None
    ) -> None:
        self.history = history
        self.progress = progress
        self.callback = callback

    def __call__(self, event: dict[str, Any]) -> Any:
        self.history.append(event)
        if self.progress is not None:
            self.progress.hear(event)
        return None if self.callback is None else self.callback(event)


def _refuse(unknown: dict[str, Any]) -> None:
    if unknown.pop("sample_weight", None) is not None:
        raise ValueError(
            "sample_weight is not supported\nhelp: repeat rows in proportion to their weights, or choose a metric that "
            "counts classes alike (balanced_error, the default)"
        )
    if unknown:
        raise TypeError(f"fit() got an unexpected keyword argument {next(iter(unknown))!r}")


def _check_lengths(n_rows: int, n_labels: int) -> None:
    if n_rows != n_labels:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{n_rows}, {n_labels}]")


def _check_rows(n_rows: int) -> None:
    if n_rows == 0:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")


def _warn(notes: list[tuple[bool, str]], stacklevel: int = 3) -> None:
    for is_warning, text in notes:
        if is_warning:
            warnings.warn(text, PitchpipeWarning, stacklevel=stacklevel)


def _in_short(value: Any) -> str:
    words = repr(value)
    return "..." if callable(value) or len(words) > _LONGEST_WORDS else words


def _flat(candidate: dict[str, Any]) -> dict[str, Any]:
    """A candidate with its scores beside its error."""
    scores = candidate["scores"]
    return {**{k: v for k, v in candidate.items() if k != "scores"}, **scores}


def _table(rows: list[dict[str, Any]]) -> Any:
    """A DataFrame, where there is something to make one with."""
    try:
        import pandas

        return pandas.DataFrame(rows)
    except ImportError:
        pass
    try:
        import polars

        return polars.DataFrame(rows, infer_schema_length=None)
    except ImportError:
        return rows
