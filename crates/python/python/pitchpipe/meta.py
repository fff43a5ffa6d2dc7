"""Meta-training from Python: what was learnt from other tables, and how to learn from tables of your own.

    >>> from pitchpipe import meta
    >>> surrogate = meta.load()
    >>> surrogate.n_pipelines
    23475

:func:`collect`, :func:`train`, :func:`extend` and :func:`info` are the commands ``pitchpipe meta …`` with their flags as
keyword arguments.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native, _settings
from ._classifier import PitchpipeClassifier, _table
from ._input import frame_of
from ._native import Surrogate
from ._target import Target
from ._warnings import PitchpipeWarning

__all__ = [
    "ErrorTensor",
    "Surrogate",
    "collect",
    "describe",
    "error_tensor",
    "expected",
    "extend",
    "info",
    "load",
    "published",
    "status",
    "train",
]

Path = str | os.PathLike[str]

# What the command says where a file or folder is the reason; other errors of the system have a number.
_OF_THE_SYSTEM: list[tuple[str, type[OSError]]] = [
    ("no such file|there is no folder|not a store", FileNotFoundError),
    ("is a directory", IsADirectoryError),
    ("could not be (read|written): ", OSError),
]


def load(path: Path | None = None) -> Surrogate:
    """Read a surrogate that :func:`train` wrote; without a path, the one inside."""
    return Surrogate(None if path is None else os.fspath(path))


def expected(
    X: Any, y: Any, surrogate: Surrogate | None = None, after: PitchpipeClassifier | None = None
) -> Any:
    """What a surrogate expects of every pipeline on a table.

    Parameters
    ----------
    X, y
        The table and its labels, as for ``PitchpipeClassifier.fit``.
    surrogate : Surrogate, optional
        By default the one inside.
    after : PitchpipeClassifier, optional
        A fitted classifier made for balanced error: what it found on this table is taken in.

    Returns
    -------
    DataFrame (or list of dict)
        ``pipeline``, the expected balanced ``error`` and the ``seconds`` that cross-validating it alone takes.

    Examples
    --------
    >>> X = [[i % 7, i % 3] for i in range(60)]
    >>> table = expected(X, [i % 2 for i in range(60)])
    >>> len(table)
    23475
    """
    frame, target = frame_of(X), Target(y)
    settings = PitchpipeClassifier()._settings(frame, target)
    labels = target.table(frame.table.names)
    settings["target"] = target.name
    observed: dict[str, float] = {}
    if after is not None:
        if after.metric.replace("-", "_") != "balanced_error":
            raise ValueError(f"after was made for {after.metric}, but a surrogate speaks of balanced_error")
        after._check_fitted()
        done = [event for event in after._history if event["event"] == "finished"]
        observed = {event["pipeline"]: event["error"] for event in done}
    known = surrogate or load()
    words, errors, seconds = known.expect(frame.table, labels, settings, list(observed.items()))
    rows = zip(words, errors.tolist(), seconds.tolist())
    return _table([{"pipeline": w, "error": e, "seconds": s} for w, e, s in rows])


@dataclass
class ErrorTensor:
    """What pipelines came to on datasets; NaN where nothing was observed.

    Attributes
    ----------
    datasets : list of str
        The names of the rows.
    pipelines : list of str
        What the columns are, in words; empty for the published tensor, whose settings are in its package.
    errors, seconds : ndarray of shape (n_datasets, n_pipelines)
        The score that was asked for, and the CPU seconds of the cross-validation.
    axes : tuple of int
        The sides of the paper's block, which the first columns are: imputer, encoder, standardizer, reducer, estimator.
    sizes : list
        Rows and columns of each dataset, None where they are not known.
    """

    datasets: list[str]
    pipelines: list[str]
    errors: npt.NDArray[np.float32]
    seconds: npt.NDArray[np.float32]
    axes: tuple[int, ...]
    sizes: list[tuple[int, int] | None] = field(default_factory=list)

    def tensor(self) -> npt.NDArray[np.float32]:
        """The errors of the paper's block with an axis for each step, datasets first."""
        if not self.axes:
            raise ValueError("the store has no pipelines of the paper's block, which alone has axes")
        n = int(np.prod(self.axes))
        return self.errors[:, :n].reshape(len(self.datasets), *self.axes)


def error_tensor(store: Path, score: str = "error") -> ErrorTensor:
    """Read a store that :func:`collect` wrote as arrays.

    Parameters
    ----------
    store : path
        The folder.
    score : str, default="error"
        "error" (balanced, under the estimators' own decisions, as published), "balanced_decision_error" (under the decision made
        for it), "accuracy", "log_loss", "auc" or "macro_f1".
    """
    datasets, pipelines, axes, errors, seconds, damaged = _native.read_store(
        os.fspath(store), score, _settings.n_threads(None)
    )
    for path in damaged:
        warnings.warn(f"{path} is damaged and was not read", PitchpipeWarning, stacklevel=2)
    return ErrorTensor(datasets, pipelines, errors, seconds, tuple(axes))


def published(wheel: Path) -> ErrorTensor:
    """Read the tensor that the paper's authors published, from the file ``oboe-0.2.0-py3-none-any.whl``.

    ``pip download oboe==0.2.0 --no-deps`` fetches it.
    """
    ids, axes, errors, seconds, sizes = _native.read_published(os.fspath(wheel))
    return ErrorTensor([str(i) for i in ids], [], errors, seconds, tuple(axes), sizes)


def collect(corpus: Path, *, store: Path, **flags: Any) -> None:
    """Cross-validate pipelines on every table of a corpus: ``pitchpipe meta collect``.

    With ``engine="ray"`` a Ray cluster does the work (``address="auto"``, say; see docs/cluster.md). :func:`status` says how
    far it is.
    """
    _command("meta", "collect", os.fspath(corpus), store=store, **flags)


def train(*, store: Path | list[Path], out: Path, **flags: Any) -> Surrogate:
    """Train a surrogate on stores: ``pitchpipe meta train``."""
    _command("meta", "train", store=store, out=out, **flags)
    return load(out)


def extend(surrogate: Path = "default", *, store: Path, out: Path, **flags: Any) -> Surrogate:
    """Take new tables or pipelines into a surrogate without training again: ``pitchpipe meta extend``."""
    _command("meta", "extend", os.fspath(surrogate), store=store, out=out, **flags)
    return load(out)


def info(path: Path = "default") -> dict[str, Any]:
    """What a store or a surrogate holds: ``pitchpipe meta info --json``."""
    said: dict[str, Any] = json.loads(_command("meta", "info", os.fspath(path), json=True))
    return said


def status(store: Path) -> dict[str, Any]:
    """How far a collection on a cluster is: ``pitchpipe meta status --json``."""
    said: dict[str, Any] = json.loads(_command("meta", "status", os.fspath(store), json=True))
    return said


def describe(table: Path, **flags: Any) -> dict[str, Any]:
    """What a file holds and how it is understood: ``pitchpipe describe --json``."""
    said: dict[str, Any] = json.loads(_command("describe", os.fspath(table), json=True, **flags))
    return said


def _command(*words: str, **flags: Any) -> str:
    """Runs the command in a process of its own, so that it can be interrupted and prints nothing here."""
    line = [sys.executable, "-m", "pitchpipe", *words]
    for name, value in flags.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            line.append(flag)
        elif isinstance(value, (list, tuple)):
            for item in value:
                line += [flag, str(item)]
        elif value is not None and value is not False:
            line += [flag, str(value)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        # Warnings may come before it.
        raise _failure(re.sub(r"\A.*?^error: ", "", done.stderr.strip(), flags=re.DOTALL | re.MULTILINE))
    return done.stdout


def _failure(said: str) -> Exception:
    """What the command said as an exception: one of the system's where a file is the reason."""
    message = said.split("\nhelp: ")[0]
    number = re.search(r"\(os error (\d+)\)", message)
    if number is not None:
        return type(OSError(int(number[1]), ""))(said)
    for words, kind in _OF_THE_SYSTEM:
        if re.search(words, message):
            return kind(said)
    return ValueError(said)
