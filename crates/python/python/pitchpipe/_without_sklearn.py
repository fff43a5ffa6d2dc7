"""What scikit-learn's base classes give an estimator, for where it is not installed."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np


class NotFittedError(ValueError, AttributeError):
    """The classifier was asked before it was fitted."""


class Base:
    """Parameters by name, and the share of right predictions."""

    @classmethod
    def _names(cls) -> list[str]:
        return sorted(list(inspect.signature(cls.__init__).parameters)[1:])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Any:
        """Set parameters of the constructor."""
        for name, value in params.items():
            if name not in self._names():
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: {self._names()!r}."
                )
            setattr(self, name, value)
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows that are predicted rightly."""
        right = np.asarray(y) == self.predict(X)  # type: ignore[attr-defined]
        return float(np.average(right, weights=sample_weight))

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        said = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not defaults[name].default and value != defaults[name].default
        ]
        return f"{type(self).__name__}({', '.join(said)})"
