"""What a search says while it runs: a line in a terminal, a bar with the error curve in a notebook."""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any

Event = dict[str, Any]

# Seconds between two pictures.
PACE = 0.2


class Progress:
    """Hears events and shows how far the search is."""

    def __init__(self, budget: float, max_evaluations: int | None) -> None:
        self.budget = budget
        self.max_evaluations = max_evaluations
        self.curve: list[tuple[float, float]] = []
        self.n_evaluated = 0
        self.elapsed = 0.0
        self.told_at = self.shown_at = time.monotonic()
        self.told = 0.0
        self.handle: Any = _notebook()
        self.is_terminal = self.handle is None and sys.stderr.isatty()

    def hear(self, event: Event) -> None:
        """Take note of an event, and show it if the last picture is old."""
        self.elapsed = self.told = event["elapsed_secs"]
        self.told_at = time.monotonic()
        if event["event"] == "finished":
            self.n_evaluated = event["n_evaluated"]
            error = event["ensemble_error"]
            self.curve.append((self.elapsed, event["best_error"] if error is None else error))
        if event["event"] == "done" or self.told_at - self.shown_at >= PACE:
            self._show()

    def tick(self) -> None:
        """The clock goes on, also while nothing is told."""
        now = time.monotonic()
        self.elapsed = self.told + now - self.told_at
        if now - self.shown_at >= PACE:
            self._show()

    def close(self) -> None:
        """Leave the terminal with a fresh line."""
        if self.is_terminal:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def text(self) -> str:
        """One line."""
        n = f"{self.n_evaluated} pipeline" + ("" if self.n_evaluated == 1 else "s")
        of = "" if self.max_evaluations is None else f" of {self.max_evaluations}"
        best = f", error {self.curve[-1][1]:.4f}" if self.curve else ""
        return f"{self.elapsed:.1f}s of {self.budget:g}s, {n}{of}{best}"

    def html(self) -> str:
        """A bar and the error curve."""
        done = self.elapsed / self.budget if self.budget else 1.0
        if self.max_evaluations:
            done = max(done, self.n_evaluated / self.max_evaluations)
        return (
            f'<div><progress value="{min(done, 1.0):.3f}" max="1" style="width:300px"></progress> {self.text()}<br>'
            f"{curve_svg(self.curve)}</div>"
        )

    def _show(self) -> None:
        self.shown_at = time.monotonic()
        if self.handle is not None:
            self.handle.update(_drawn(self.html()))
        elif self.is_terminal:
            sys.stderr.write(f"\r\033[K{self.text()}")
            sys.stderr.flush()


def _notebook() -> Any:
    """A place to draw in, where the program is a notebook's."""
    if "IPython" not in sys.modules:
        return None
    display: Any = importlib.import_module("IPython.display")
    get_ipython: Any = importlib.import_module("IPython").get_ipython

    shell = get_ipython()
    # Others derive theirs from Jupyter's: Colab, for one.
    if "ZMQInteractiveShell" not in [kind.__name__ for kind in type(shell).__mro__]:
        return None
    return display.display(_drawn(""), display_id=True)


def _drawn(text: str) -> Any:
    return importlib.import_module("IPython.display").HTML(text)


def curve_svg(curve: list[tuple[float, float]], width: int = 300, height: int = 60) -> str:
    """Errors over time, as a small picture."""
    if len(curve) < 2:
        return ""
    start, end = curve[0][0], curve[-1][0]
    low, high = min(e for _, e in curve), max(e for _, e in curve)
    across, down = (end - start) or 1.0, (high - low) or 1.0
    points = " ".join(
        f"{2 + (t - start) / across * (width - 4):.1f},{2 + (high - e) / down * (height - 4):.1f}"
        for t, e in curve
    )
    return (
        f'<svg width="{width}" height="{height}" role="img" aria-label="error over time, from {high:.4f} to {low:.4f}">'
        f'<polyline points="{points}" fill="none" stroke="#2a6f97" stroke-width="1.5"/></svg>'
    )
