"""For researchers: parts that may change from release to release without notice."""

from . import surrogate

__all__ = ["surrogate"]
