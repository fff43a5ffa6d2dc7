"""Labels: what Python holds, and the names of classes that a model speaks of."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ._arrow import RecordBatch
from ._columns import decoded, dictionary_of, is_missing, text_of
from ._native import Model, Table

Array = np.ndarray[Any, Any]

# As on the command line: with more classes than this, and hardly a row for each, labels look like a quantity.
FEW_CLASSES = 20

# So many labels are looked up at a time.
_PART = 1 << 16


class Target:
    """Labels as codes into sorted classes."""

    def __init__(self, y: Any, name: str | None = None) -> None:
        self.name = name or getattr(y, "name", None) or "target"
        if not isinstance(self.name, str):
            self.name = str(self.name)
        labels = labels_of(y)
        self.label_type, labels = _typed(labels)
        self.classes, self.codes = _coded(labels)
        if len(self.classes) > FEW_CLASSES and len(self.classes) > len(labels) // 2:
            warnings.warn(
                f"The number of unique classes is greater than 50% of the number of samples: y holds {len(self.classes)} "
                f"different values in {len(labels)} rows, and may be a quantity rather than a class.",
                UserWarning,
                stacklevel=4,
            )

    def table(self, feature_names: list[str]) -> Table:
        """A table of the target alone, under a name that no feature has."""
        while self.name in feature_names:
            self.name += "_"
        levels = text_of(written(self.classes, self.label_type))
        batch = RecordBatch([self.name], [dictionary_of(self.codes, levels)], len(self.codes))
        return Table(batch)


def _code_of(classes: Array) -> Any:
    """The smallest type that holds the positions of classes: tables may have millions of rows."""
    return np.int8 if len(classes) <= 128 else np.int32


def _coded(labels: Array) -> tuple[Array, Array]:
    """The sorted classes, and the position of each label among them."""
    if labels.dtype == object:
        cells = labels.tolist()
        classes = np.array(sorted(set(cells)), dtype=object)
        positions = {label: at for at, label in enumerate(classes.tolist())}
        return classes, np.fromiter(map(positions.__getitem__, cells), dtype=_code_of(classes), count=len(cells))
    classes = np.unique(labels)
    codes = np.empty(len(labels), dtype=_code_of(classes))
    # In parts, so that a large table takes no more memory.
    for start in range(0, len(labels), _PART):
        codes[start : start + _PART] = np.searchsorted(classes, labels[start : start + _PART])
    return classes, codes


def known_target(y: Any, classes: Array, model: Model) -> tuple[Table, list[Any]]:
    """Labels of later rows, as a table in the words of a model, and those that it does not know, which are missing there."""
    labels = labels_of(y)
    positions = {label: at for at, label in enumerate(classes.tolist())}
    known = [decoded(label, "y") if isinstance(label, bytes) else label for label in labels.tolist()]
    codes = np.array([positions.get(label, -1) for label in known], dtype=np.int32)
    levels = text_of(list(model.classes or []))
    name = model.target or "target"
    unknown = [label for label in known if label not in positions]
    return Table(RecordBatch([name], [dictionary_of(codes, levels)], len(codes))), unknown


def labels_of(y: Any) -> Array:
    """Labels as a one-dimensional array, each of them there."""
    if y is None:
        raise ValueError(
            "This PitchpipeClassifier estimator requires y to be passed, but the target y is None."
        )
    if hasattr(y, "toarray"):
        raise ValueError("y is a sparse matrix: pass an array of labels, such as y.toarray().ravel()")
    if type(y).__module__.split(".")[0] == "pyarrow":
        array = np.array(y.to_pylist(), dtype=object)
    elif hasattr(y, "to_numpy"):
        array = y.to_numpy()
    else:
        array = np.asarray(y)
        if array.dtype.kind in "US" and isinstance(y, (list, tuple)) and not _are_text(y):
            array = np.array(list(y), dtype=object)
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
            "(n_samples,), for example using ravel().",
            _conversion_warning(),
            stacklevel=4,
        )
        array = array.ravel()
    if array.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    if array.dtype.kind == "f":
        if np.isnan(array).any():
            raise ValueError("Input y contains NaN: leave rows without a label out")
        if np.isinf(array).any():
            raise ValueError("Input y contains infinity or a value too large")
    elif array.dtype.kind in "OT":
        missing = [i for i, label in enumerate(array.tolist()) if is_missing(label)]
        if missing:
            raise ValueError(
                f"Input y contains NaN: row {missing[0] + 1} has no label; leave such rows out"
            )
    return array


def _are_text(labels: Any) -> bool:
    return all(isinstance(label, (str, bytes)) for label in labels)


def _typed(labels: Array) -> tuple[str, Array]:
    """What labels are, and the labels as an array of just that."""
    if labels.dtype.kind == "O":
        cells = labels.tolist()
        if all(isinstance(cell, str) for cell in cells):
            return "text", np.array(cells, dtype=object)
        if all(isinstance(cell, bytes) for cell in cells):
            return "text", np.array([decoded(cell, "y") for cell in cells], dtype=object)
        labels = np.array(cells)
        if labels.dtype.kind not in "biuf":
            raise ValueError(
                "Unknown label type: unknown. Labels are all text, all numbers or all booleans, but y holds "
                f"{sorted({type(cell).__name__ for cell in cells})}"
            )
    kind = labels.dtype.kind
    if kind == "b":
        return "boolean", labels
    if kind in "iu":
        return "integer", labels
    if kind == "f":
        if (labels != np.floor(labels)).any():
            raise ValueError(
                f"Unknown label type: continuous. y holds {len(np.unique(labels))} different numbers with a fraction in "
                f"{len(labels)} rows: it looks like a quantity, and pitchpipe predicts classes\n"
                "help: replace the numbers by ranges (such as low, middle, high)"
            )
        return "real", labels
    if kind == "U":
        return "text", labels
    if kind == "S":
        return "text", np.array([decoded(cell, "y") for cell in labels.tolist()])
    if kind == "T":
        return "text", np.array(labels.tolist(), dtype=object)
    raise ValueError(f"Unknown label type: {labels.dtype}. pitchpipe predicts classes")


def written(classes: Array, label_type: str) -> list[str]:
    """The names of classes."""
    if label_type == "boolean":
        return ["true" if label else "false" for label in classes.tolist()]
    return [str(label) for label in classes.tolist()]


def classes_of(model: Model) -> Array:
    """The labels that the classes of a model stand for."""
    names = model.classes or []
    if model.label_type == "boolean":
        return np.array([name == "true" for name in names])
    if model.label_type == "integer":
        return np.array([int(name) for name in names])
    if model.label_type == "real":
        return np.array([float(name) for name in names])
    return np.array(names)


def _conversion_warning() -> type[Warning]:
    try:
        from sklearn.exceptions import DataConversionWarning
    except ImportError:
        return UserWarning
    warning: type[Warning] = DataConversionWarning
    return warning
