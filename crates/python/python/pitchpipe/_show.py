"""A fitted classifier to look at: HTML and plots."""

from __future__ import annotations

import html
from typing import Any

from ._progress import curve_svg

_METRICS = [
    ("balanced_error", "balanced error"),
    ("balanced_accuracy", "balanced accuracy"),
    ("accuracy", "accuracy"),
    ("log_loss", "log loss"),
    ("macro_f1", "macro F1"),
    ("roc_auc", "ROC AUC"),
    ("brier_score", "Brier score"),
]

# So many base learners are shown.
_MOST_LEARNERS = 8


def curve_of(history: list[dict[str, Any]]) -> list[tuple[float, float]]:
    """The error of the ensemble, or of the best pipeline before there is one, over time."""
    curve = []
    for event in history:
        if event["event"] == "finished":
            error = event["ensemble_error"]
            curve.append((event["elapsed_secs"], event["best_error"] if error is None else error))
    return curve


def page(report: dict[str, Any], history: list[dict[str, Any]]) -> str:
    """Scores with their errors, the ensemble, the time line."""
    errors = report.get("standard_errors") or {}
    rows = []
    for key, name in _METRICS:
        score = report["scores"].get(key)
        if score is None:
            continue
        spread = f" ± {errors[key]:.4f}" if errors.get(key) is not None else ""
        mark = " (what it was made for)" if key == report["metric"] else ""
        others = "".join(
            f"<td>{b['scores'][key]:.4f}</td>" if b["scores"].get(key) is not None else "<td></td>"
            for b in report["baselines"]
        )
        rows.append(f"<tr><th>{name}{mark}</th><td>{score:.4f}{spread}</td>{others}</tr>")
    heads = "".join(f"<th>{html.escape(b['name'])}</th>" for b in report["baselines"])
    learners = "".join(
        f"<tr><td>{learner['weight']:.2f}</td><td style='text-align:left'><code>{html.escape(learner['pipeline'])}</code></td></tr>"
        for learner in report["base_learners"][:_MOST_LEARNERS]
    )
    return (
        "<div><b>PitchpipeClassifier</b>, "
        f"{report['n_evaluated']} pipelines in {report['elapsed_secs']:.1f}s on {report['n_rows']} rows"
        f"<table><tr><th></th><th>model</th>{heads}</tr>{''.join(rows)}</table>"
        f"<table><tr><th>weight</th><th>pipeline</th></tr>{learners}</table>"
        f"{curve_svg(curve_of(history))}</div>"
    )


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib: pip install matplotlib") from None
    return plt.subplots()[1]


def plot_search(report: dict[str, Any], history: list[dict[str, Any]], ax: Any = None) -> Any:
    """Each pipeline's error over time, and the ensemble's."""
    ax = _axes(ax)
    done = [event for event in history if event["event"] == "finished"]
    ax.scatter([e["elapsed_secs"] for e in done], [e["error"] for e in done], s=8, label="pipelines")
    curve = curve_of(history)
    ax.step([t for t, _ in curve], [e for _, e in curve], where="post", label="ensemble")
    ax.set_xlabel("seconds")
    ax.set_ylabel(report["metric"].replace("_", " "))
    ax.legend()
    return ax


def plot_leaderboard(report: dict[str, Any], top: int = 10, ax: Any = None) -> Any:
    """The errors of the best pipelines; those of the ensemble darker."""
    ax = _axes(ax)
    best = report["leaderboard"][:top][::-1]
    colours = ["#2a6f97" if candidate["weight"] > 0 else "#a9c9dc" for candidate in best]
    ax.barh(range(len(best)), [candidate["error"] for candidate in best], color=colours)
    ax.set_yticks(range(len(best)), [c["pipeline"].split(" > ")[-1] for c in best])
    ax.set_xlabel("error")
    return ax
