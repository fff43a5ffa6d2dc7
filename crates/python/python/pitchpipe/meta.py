"""Meta-training from Python: what was learnt from other tables, and how to learn from tables of your own.

    >>> from pitchpipe import meta
    >>> surrogate = meta.load()
    >>> surrogate.n_pipelines
    23424

:func:`collect`, :func:`train`, :func:`extend` and :func:`info` are the commands ``pitchpipe meta …`` with their flags as
keyword arguments.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from ._classifier import PitchpipeClassifier, _table
from ._input import frame_of
from ._native import Surrogate
from ._target import Target

__all__ = ["Surrogate", "collect", "describe", "expected", "extend", "info", "load", "train"]

Path = str | os.PathLike[str]


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
    23424
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


def collect(corpus: Path, *, store: Path, **flags: Any) -> None:
    """Cross-validate pipelines on every table of a corpus: ``pitchpipe meta collect``."""
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
        raise ValueError(done.stderr.strip().removeprefix("error: "))
    return done.stdout
