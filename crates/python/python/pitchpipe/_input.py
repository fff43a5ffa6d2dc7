"""Tables in whatever form Python has them, as the native part takes them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._arrow import Column, RecordBatch
from ._columns import column_of, dictionary_of
from ._native import Table

Array = np.ndarray[Any, Any]

# So many rows are copied without a thought, if they are numbers of these types.
_FEW_ROWS = 1_000
_COPIED = [np.dtype(kind) for kind in ("f8", "f4", "i8", "i4")]


class Frame:
    """A table: the native one, the names that the user gave to its columns (if any), its size."""

    def __init__(self, table: Table, names: list[str] | None) -> None:
        self.table = table
        self.names = names
        self.n_rows: int = table.n_rows
        self.n_columns = len(table.names)


def frame_of(X: Any, memory_limit: int | None = None) -> Frame:
    """Take a table in: numpy, pandas, polars, pyarrow, scipy.sparse, anything with the Arrow or the dataframe
    interface, or lists of rows."""
    if _is_of(X, "pandas") and hasattr(X, "iloc"):
        return _from_pandas(X)
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        return _from_sparse(X, memory_limit)
    if isinstance(X, np.ndarray):
        return _from_numpy(_without_mask(X))
    if _is_of(X, "polars") and type(X).__name__ == "LazyFrame":
        raise ValueError("X is a lazy frame: call .collect() first")
    if hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__"):
        table = Table(X)
        return _checked(Frame(table, list(table.names)))
    if hasattr(X, "__dataframe__"):
        return _from_interchange(X)
    if hasattr(X, "__array__"):
        return _from_numpy(np.asarray(X))
    return _from_rows(X)


def default_names(n_columns: int) -> list[str]:
    """What columns without a name are called, as scikit-learn calls them."""
    return [f"x{i}" for i in range(n_columns)]


def _is_of(thing: Any, package: str) -> bool:
    return type(thing).__module__.split(".")[0] == package


def _made(names: list[str] | None, columns: list[Column], n_rows: int) -> Frame:
    batch = RecordBatch(names or default_names(len(columns)), columns, n_rows)
    return _checked(Frame(Table(batch), names))


def _of_numbers(names: list[str] | None, values: Array) -> Frame:
    return _checked(Frame(Table.of_numbers(names or default_names(values.shape[1]), values), names))


def _checked(frame: Frame) -> Frame:
    if frame.n_columns == 0:
        raise ValueError(
            f"0 feature(s) (shape=({frame.n_rows}, 0)) while a minimum of 1 is required."
        )
    return frame


def _from_numpy(X: Array) -> Frame:
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{X}\n")
    if X.dtype.names is not None:
        raise ValueError("X is a structured array: make a DataFrame of it")
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead:\narray={X}.\nReshape your data either using "
            "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it contains a "
            "single sample."
        )
    n_rows, n_columns = X.shape
    names = default_names(n_columns)
    if _are_few_numbers(X):
        return _of_numbers(None, X)
    if X.dtype.kind in "iufb" and not X.flags.f_contiguous:
        X = np.asfortranarray(X)
    return _made(None, [column_of(X[:, j], names[j]) for j in range(n_columns)], n_rows)


def _without_mask(X: Array) -> Array:
    """A plain array, in which cells that were masked are missing."""
    if not isinstance(X, np.ma.MaskedArray):
        return np.asarray(X)
    masked: Any = X if X.dtype.kind == "f" else X.astype(object)
    filled: Array = masked.filled(np.nan)
    return filled


def _from_rows(X: Any) -> Frame:
    if isinstance(X, (str, bytes)) or not isinstance(X, Sequence):
        raise ValueError(
            f"Expected 2D array, got scalar array instead: X is a {type(X).__name__}. Pass a DataFrame, an array "
            "or a list of rows."
        )
    if len(X) and not all(isinstance(row, (Sequence, np.ndarray)) for row in X):
        raise ValueError(
            f"Expected 2D array, got 1D array instead:\narray={str(X)[:200]}.\nReshape your data either using "
            "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it contains a "
            "single sample."
        )
    lengths = {len(row) for row in X}
    if len(lengths) > 1:
        raise ValueError(f"the rows of X have {min(lengths)} to {max(lengths)} cells; they must be equally long")
    n_columns = lengths.pop() if lengths else 0
    names = default_names(n_columns)
    columns = []
    for j in range(n_columns):
        cells = np.empty(len(X), dtype=object)
        cells[:] = [row[j] for row in X]
        columns.append(column_of(cells, names[j]))
    return _made(None, columns, len(X))


def _from_sparse(X: Any, memory_limit: int | None) -> Frame:
    if len(X.shape) != 2:
        raise ValueError(f"Expected 2D array, got {len(X.shape)}D array instead: X is a sparse array of shape {X.shape}")
    n_rows, n_columns = X.shape
    size = n_rows * n_columns * 8
    free = _free_memory()
    limit = memory_limit if memory_limit is not None else free // 2
    if size > limit:
        raise ValueError(
            f"X is a sparse matrix of {n_rows} x {n_columns}, which takes {size / 1e9:.1f} GB as a table, but "
            f"{limit / 1e9:.1f} GB may be used\nhelp: take fewer columns (such as by sklearn's SelectKBest or TruncatedSVD)"
        )
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X is a sparse matrix of complex numbers")
    return _from_numpy(np.asfortranarray(X.toarray()))


def _free_memory() -> int:
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 4 << 30


def _from_interchange(X: Any) -> Frame:
    try:
        from pyarrow.interchange import from_dataframe
    except ImportError:
        try:
            from pandas.api.interchange import from_dataframe
        except ImportError:
            raise ValueError(
                f"X is a {type(X).__name__}, which speaks the dataframe protocol only\n"
                "help: install pyarrow or pandas, or pass a numpy array"
            ) from None
    return frame_of(from_dataframe(X))


def _from_pandas(X: Any) -> Frame:
    if X.ndim != 2:
        raise ValueError("Expected 2D array, got 1D array instead: X is a Series; use X.to_frame(), or X.to_frame().T for one row")
    if X.columns.nlevels > 1:
        raise ValueError(
            "X has columns of several levels (a MultiIndex)\n"
            "help: give each a single name, such as X.columns = ['_'.join(map(str, c)) for c in X.columns]"
        )
    names = list(X.columns)
    are_text = [isinstance(name, str) for name in names]
    if any(are_text) and not all(are_text):
        kinds = sorted({type(name).__name__ for name in names})
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{kinds} as feature name / column name types.\nhelp: X.columns = X.columns.astype(str)"
        )
    shown = [str(name) for name in names]
    given = shown if all(are_text) and shown else None
    values = _few_numbers(X)
    if values is None:
        columns = [_from_series(X.iloc[:, j], shown[j]) for j in range(X.shape[1])]
    elif _are_few_numbers(values):
        return _of_numbers(given, values)
    else:
        columns = [column_of(values[:, j], name) for j, name in enumerate(shown)]
    return _made(given, columns, X.shape[0])


def _few_numbers(X: Any) -> Array | None:
    """A few rows that are all of one type of numbers: pandas takes long to cut out one column after the other."""
    if X.shape[0] > _FEW_ROWS or X.shape[1] == 0:
        return None
    first, *others = X.dtypes.tolist()
    if not isinstance(first, np.dtype) or first.kind not in "iufb" or any(dtype != first for dtype in others):
        return None
    return np.asfortranarray(X.to_numpy())


def _are_few_numbers(values: Array) -> bool:
    """Whether the native part is to copy them, as it takes less time than to share so few."""
    return 0 < values.shape[0] <= _FEW_ROWS and values.dtype in _COPIED and values.flags.aligned


def _from_series(series: Any, name: str) -> Column:
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return column_of(series.to_numpy(), name)
    kind = type(dtype).__name__
    if kind == "CategoricalDtype":
        return dictionary_of(
            np.asarray(series.cat.codes), column_of(_levels(series.cat.categories), name)
        )
    if kind == "SparseDtype":
        return _from_series(series.sparse.to_dense(), name)
    if kind == "DatetimeTZDtype":
        return column_of(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), name)
    if kind == "PeriodDtype":
        return column_of(series.dt.to_timestamp().to_numpy(), name)
    letter = getattr(dtype, "kind", "O")
    if letter in "biu":
        missing = series.isna()
        if bool(missing.any()):
            series = series.fillna(False if letter == "b" else 0)
        target = bool if letter == "b" else dtype.numpy_dtype
        return column_of(series.to_numpy(dtype=target), name, ~missing.to_numpy(dtype=bool))
    if letter == "f":
        return column_of(series.to_numpy(dtype=dtype.numpy_dtype, na_value=np.nan), name)
    if letter == "M" and getattr(getattr(dtype, "pyarrow_dtype", None), "tz", None) is None:
        return column_of(series.to_numpy(dtype="datetime64[us]", na_value=np.datetime64("NaT")), name)
    return column_of(series.astype(object).to_numpy(dtype=object), name)


def _levels(categories: Any) -> Array:
    if isinstance(categories.dtype, np.dtype):
        return np.asarray(categories)
    return np.asarray(categories.astype(object), dtype=object)


def is_dataframe(X: Any) -> bool:
    """Whether the columns of X have names."""
    return not isinstance(X, np.ndarray) and (
        hasattr(X, "columns") or hasattr(X, "column_names") or hasattr(X, "__arrow_c_stream__")
    )


def imported(package: str) -> Any:
    """A package that was imported already, or None."""
    return sys.modules.get(package)
