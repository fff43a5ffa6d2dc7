"""AutoML within a time budget: give a table and a number of seconds, get an ensemble of pipelines.

    >>> from pitchpipe import PitchpipeClassifier
    >>> X = [[i % 7, "ab"[i % 2]] for i in range(60)]
    >>> y = [i % 2 for i in range(60)]
    >>> clf = PitchpipeClassifier(repeatable=True, max_evaluations=10).fit(X, y)
    >>> clf.predict([[3, "a"], [3, "b"]])
    array([0, 1])

:class:`PitchpipeClassifier` follows scikit-learn's conventions and needs numpy alone; where scikit-learn is installed, it is
one of its estimators. What is heavy is imported when it is first asked for.
"""

from typing import TYPE_CHECKING, Any

from ._native import OutOfTime, __version__
from ._warnings import PitchpipeWarning

if TYPE_CHECKING:
    from . import experimental, meta
    from ._classifier import PitchpipeClassifier

__all__ = ["OutOfTime", "PitchpipeClassifier", "PitchpipeWarning", "__version__", "experimental", "meta"]


def __getattr__(name: str) -> Any:
    if name == "PitchpipeClassifier":
        from ._classifier import PitchpipeClassifier

        globals()[name] = PitchpipeClassifier
        return PitchpipeClassifier
    if name in ("experimental", "meta"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
