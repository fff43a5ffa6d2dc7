"""What the user asks of a search, checked, as the native part takes it."""

from __future__ import annotations

import math
import multiprocessing
import numbers
import os
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from ._input import imported

_SECONDS = {"ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_BYTES = {
    "": 1, "b": 1, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "t": 1e12, "tb": 1e12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30,
}  # fmt: skip


def seconds(time_budget: Any) -> float:
    """A time as the command line takes it: 90, "90s", "1.5m", "2h"."""
    number = _with_unit(time_budget, _SECONDS, "time_budget", "seconds, or a text such as '30s', '5m' or '1h'")
    if not 0 < number < 1e9:
        raise ValueError(f"time_budget is {time_budget!r}, but must be more than nothing and less than thirty years")
    return number


def size(memory_limit: Any) -> int | None:
    """A size as the command line takes it: 4_000_000_000, "4GB", "500MB"."""
    if memory_limit is None:
        return None
    number = _with_unit(memory_limit, _BYTES, "memory_limit", "bytes, or a text such as '500MB' or '4GB'")
    if not 1 <= number < 1e18:
        raise ValueError(f"memory_limit is {memory_limit!r}, but must be a size such as '500MB' or '4GB'")
    return int(number)


def _with_unit(value: Any, units: dict[str, Any], name: str, wanted: str) -> float:
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]*)\s*", value)
        if match is not None and match[2].lower() in units:
            try:
                return float(match[1]) * float(units[match[2].lower()])
            except ValueError:
                pass
    elif isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise ValueError(f"{name} is {value!r}, but must be a number of {wanted}")


def whole(value: Any, name: str, least: int, most: int | None = None) -> int | None:
    """A whole number of at least so much, or None."""
    if value is None:
        return None
    if isinstance(value, (bool, np.bool_)) and least == 0:
        value = int(value)
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {value!r}, but must be a whole number of at least {least}")
    if most is not None and int(value) > most:
        raise ValueError(f"{name} is {value}, but must be at most {most}")
    return int(value)


def word(value: Any, name: str) -> str:
    """One of several words; which there are, the native part knows."""
    if not isinstance(value, str):
        raise ValueError(f"{name} is {value!r}, but must be a text")
    return str(value)


def word_or_none(value: Any, name: str) -> str | None:
    """The same, or None."""
    return None if value is None else word(value, name)


def flag(value: Any, name: str) -> bool:
    """True or False, and nothing that merely counts as such: ``"no"`` would be true."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} is {value!r}, but must be True or False")
    return bool(value)


def cells(value: Any, name: str) -> list[str]:
    """What some cells hold, as text: several, or a single one."""
    if value is None:
        return []
    if isinstance(value, (str, numbers.Real)) or not isinstance(value, Iterable):
        value = [value]
    wrong = [item for item in value if not isinstance(item, (str, numbers.Real))]
    if wrong:
        raise ValueError(f"{name} holds {wrong[0]!r}, but must hold texts or numbers")
    return [_shown(item) for item in value]


def _shown(cell: Any) -> str:
    # As the reader writes a number.
    whole_number = isinstance(cell, numbers.Real) and not isinstance(cell, numbers.Integral) and float(cell).is_integer()
    return str(int(cell)) if whole_number else str(cell)


def share(value: Any, name: str) -> float | None:
    """A share between 0 and 1, or None."""
    if value is None:
        return None
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0 < float(value) < 1:
        raise ValueError(f"{name} is {value!r}, but must be a number between 0 and 1, such as 0.2")
    return float(value)


def seed(random_state: Any) -> int:
    """A seed from whatever scikit-learn takes for a ``random_state``."""
    if random_state is None:
        return int(np.random.mtrand._rand.randint(2**31 - 1))
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        if not 0 <= int(random_state) < 2**64:
            raise ValueError(f"random_state is {random_state}, but must be at least 0 and below 2**64")
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    raise ValueError(f"random_state is {random_state!r}, but must be a whole number, a RandomState or None")


def n_threads(n_jobs: Any) -> int:
    """How many threads to use: so many; for None all that are ours, inside another parallel loop its share; for a
    negative number all cores but ``-n_jobs - 1``."""
    if n_jobs is None:
        return _share_of_cores()
    if not isinstance(n_jobs, numbers.Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(f"n_jobs is {n_jobs!r}, but must be a whole number other than 0, or None")
    if n_jobs < 0:
        return max(1, _share_of_cores() + 1 + int(n_jobs))
    return int(n_jobs)


def class_weights(value: Any, classes: Any, codes: Any) -> Any:
    """The weight of each class, in their order, or None."""
    if value is None:
        return None
    if isinstance(value, str):
        if value != "balanced":
            raise ValueError(f"class_weight is {value!r}, but must be 'balanced', a dict of weights by class, or None")
        counts = np.bincount(codes, minlength=len(classes))
        return len(codes) / (len(classes) * counts)
    if not isinstance(value, dict):
        raise ValueError(
            f"class_weight is a {type(value).__name__}, but must be 'balanced', a dict of weights by class, or None"
        )
    known = classes.tolist()
    unknown = [label for label in value if label not in known]
    if unknown:
        raise ValueError(f"class_weight names the class {unknown[0]!r}, which y has not")
    weights = np.array([value.get(label, 1.0) for label in known], dtype=np.float64)
    if not (np.isfinite(weights) & (weights >= 0)).all() or not weights.any():
        raise ValueError(f"class_weight is {value!r}, but weights must be finite and not negative, and one above 0")
    return weights


def _share_of_cores() -> int:
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    # A worker of a pool of processes: the pool has the other cores.
    if multiprocessing.current_process().daemon:
        return 1
    # A thread of a joblib loop.
    joblib = imported("joblib")
    if joblib is not None:
        backend = joblib.parallel.get_active_backend()[0]
        if getattr(backend, "nesting_level", 0):
            cores = min(cores, _environment_threads() or 1)
    # A worker of joblib's is told its share this way.
    return min(cores, _environment_threads() or cores)


def _environment_threads() -> int | None:
    for variable in ("PITCHPIPE_NUM_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(variable, "")
        if text.isdigit() and int(text) > 0:
            return int(text)
    return None


def names(value: Any, parameter: str, features: list[str]) -> list[str]:
    """Columns by name, position or mask, as scikit-learn takes ``categorical_features``."""
    if value is None:
        return []
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, Iterable):
        raise ValueError(f"{parameter} is {value!r}, but must be a list of columns")
    items = list(value)
    if items and all(isinstance(item, (bool, np.bool_)) for item in items):
        if len(items) != len(features):
            raise ValueError(f"{parameter} is a mask of {len(items)} columns, but X has {len(features)}")
        return [name for name, is_in in zip(features, items) if is_in]
    found = []
    for item in items:
        if isinstance(item, numbers.Integral):
            if not -len(features) <= int(item) < len(features):
                raise ValueError(f"{parameter} names column {item}, but X has {len(features)} columns")
            found.append(features[int(item)])
        elif isinstance(item, str):
            found.append(item)
        else:
            raise ValueError(f"{parameter} holds {item!r}, which is neither a column's name nor its position")
    return found


def column(value: Any, parameter: str, features: list[str]) -> str | None:
    """One column by name or position, or None."""
    return None if value is None else names([value], parameter, features)[0]
