"""The algebra of the surrogate, as the search itself uses it: numpy arrays in and out.

Error matrices are datasets x pipelines, error tensors datasets x one axis for each step of a pipeline; entries that were not
observed are NaN. Embeddings are rank x pipelines, as in the paper.

    >>> import numpy as np
    >>> from pitchpipe.experimental import surrogate
    >>> rng = np.random.default_rng(0)
    >>> truth = 0.3 + rng.normal(size=(30, 2)) @ rng.normal(size=(2, 40)) / 20
    >>> seen = np.where(rng.random(truth.shape) < 0.7, truth, np.nan)
    >>> done = surrogate.complete_em(seen, rank=3)
    >>> bool(surrogate.relative_error(truth, done.values, np.isnan(seen)) < 0.01)
    True

What is here may change from release to release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .. import _native, _settings
from .._native import KernelModel, Policy, Prior, Tucker

__all__ = [
    "Completion",
    "Design",
    "KernelModel",
    "Pca",
    "Policy",
    "Prior",
    "Recording",
    "Relaxed",
    "Runtimes",
    "Trace",
    "Tucker",
    "auto_policy",
    "complete",
    "complete_em",
    "complete_kfmc",
    "complete_tucker",
    "design_by_size",
    "design_by_time",
    "design_from_prior",
    "design_random",
    "design_relaxed",
    "energy_rank",
    "in_order_policy",
    "kernel_policy",
    "least_squares",
    "paper_policy",
    "pca",
    "prior",
    "random_policy",
    "relative_error",
    "replay",
    "tucker",
]

Floats = npt.NDArray[np.float64]


def _wide(values: Any) -> Floats:
    return np.ascontiguousarray(values, dtype=np.float64)


def _narrow(values: Any) -> npt.NDArray[np.float32]:
    return np.ascontiguousarray(values, dtype=np.float32)


def _threads() -> int:
    return _settings.n_threads(None)


@dataclass
class Completion:
    """A completed matrix or tensor.

    Attributes
    ----------
    values : ndarray
        The completed array: observed entries as they were.
    residuals : list of float
        The norm of what observed entries are missed by, round by round.
    tucker : Tucker, optional
        The decomposition, of Tucker completions.
    model : KernelModel, optional
        The dictionary and the codes, of KFMC.
    ranks, shrinkage, held_out_error
        What :func:`complete` chose, and the relative error on the entries that it held out for that.
    """

    values: Floats
    residuals: list[float] = field(default_factory=list)
    tucker: Tucker | None = None
    model: KernelModel | None = None
    ranks: list[int] | None = None
    shrinkage: float | None = None
    held_out_error: float | None = None


def _em(
    shrinkage: float | None, tolerance: float | None, settled: float | None, max_rounds: int | None
) -> dict[str, Any]:
    return {"shrinkage": shrinkage, "tolerance": tolerance, "settled": settled, "max_rounds": max_rounds}


def complete_em(
    errors: Any,
    rank: int,
    *,
    shrinkage: float | None = None,
    tolerance: float | None = None,
    settled: float | None = None,
    max_rounds: int | None = None,
) -> Completion:
    """Complete an error matrix by EM with truncated singular value decompositions (Oboe).

    Parameters
    ----------
    errors : array
        NaN where nothing was observed. A tensor is taken as the matrix of its first axis by all others.
    rank : int
        How many singular values are kept.
    shrinkage : float, optional
        How strongly they are shrunk, in times of the noise that is estimated; 0 is the plain algorithm.
    tolerance, settled, max_rounds
        When it ends: the residual's relative change (plain), the moves of what is filled in (shrunk), the rounds.
    """
    values, residuals = _native.complete_matrix(
        _wide(errors), rank, _em(shrinkage, tolerance, settled, max_rounds), _threads()
    )
    return Completion(values, residuals)


def complete_tucker(
    errors: Any,
    ranks: Sequence[int],
    *,
    shrinkage: float | None = None,
    tolerance: float | None = None,
    settled: float | None = None,
    max_rounds: int | None = None,
) -> Completion:
    """Complete an error tensor by EM with Tucker decompositions (TensorOboe); parameters as for :func:`complete_em`.

    Parameters
    ----------
    errors : array
        NaN where nothing was observed.
    ranks : sequence of int
        The rank of each axis.
    """
    values, tucker, residuals = _native.complete_tucker(
        _wide(errors), list(ranks), _em(shrinkage, tolerance, settled, max_rounds), _threads()
    )
    return Completion(values, residuals, tucker=tucker)


def complete(errors: Any, *, seed: int = 0) -> Completion:
    """Complete an error tensor with ranks and shrinkage chosen on entries that are held out: what ``meta train`` does."""
    values, tucker, residuals, ranks, shrinkage, error = _native.complete_chosen(_wide(errors), seed, _threads())
    return Completion(
        values, residuals, tucker=tucker, ranks=ranks, shrinkage=shrinkage, held_out_error=error
    )


def complete_kfmc(
    errors: Any,
    dictionary: int,
    *,
    beta: float | None = None,
    momentum: float | None = None,
    damping: float | None = None,
    batch: int | None = None,
    inner_iterations: int | None = None,
    passes: int | None = None,
    bandwidth: float | None = None,
    seed: int | None = None,
) -> Completion:
    """Complete an error matrix whose columns lie near a manifold, by mini-batch KFMC (KernelOboe).

    Parameters
    ----------
    errors : array
        NaN where nothing was observed.
    dictionary : int
        How many atoms stand for all columns.
    beta, momentum, damping, batch, inner_iterations, passes, bandwidth, seed
        As in the paper's algorithm; by default what ``meta train`` uses.
    """
    settings = {
        "beta": beta, "momentum": momentum, "damping": damping, "batch": batch,
        "inner_iterations": inner_iterations, "passes": passes, "bandwidth": bandwidth, "seed": seed,
    }  # fmt: skip
    values, model = _native.complete_kfmc(_wide(errors), dictionary, settings, _threads())
    return Completion(values, model=model)


def relative_error(truth: Any, predicted: Any, among: Any) -> float:
    """The paper's relative error on the entries that a mask marks: squared residual over squared norm."""
    mask = np.asarray(among, dtype=bool)
    marked = _wide(truth)[mask]
    missed = marked - _wide(predicted)[mask]
    return float(missed @ missed / (marked @ marked))


def tucker(tensor: Any, ranks: Sequence[int], *, sweeps: int = 10) -> Tucker:
    """Decompose a whole tensor: HOOI from the truncated HOSVD."""
    return Tucker(_wide(tensor), list(ranks), sweeps, _threads())


@dataclass
class Pca:
    """Principal components, ``E ~ datasets.T @ pipelines``; those of a smaller rank are the first rows."""

    singular_values: Floats
    datasets: Floats
    pipelines: Floats


def pca(matrix: Any, rank: int) -> Pca:
    """Embed the rows and the columns of a complete error matrix (Oboe)."""
    return Pca(*_native.pca(_wide(matrix), rank, _threads()))


def energy_rank(singular_values: Any, share: float = 0.97) -> int:
    """The smallest rank that holds a share of the energy, by default the paper's."""
    return _native.energy_rank(_wide(singular_values), share)


@dataclass
class Design:
    """Pipelines to run, in the order they were chosen, and their seconds together."""

    pipelines: list[int]
    secs: float


def _sigma(sigma: Any) -> Floats | None:
    return None if sigma is None else _wide(sigma)


def design_by_size(Y: Any, size: int, *, sigma: Any = None) -> Design:
    """Choose so many pipelines that tell most of all others: a greedy D-optimal design.

    Parameters
    ----------
    Y : array of shape (rank, n_pipelines)
        Embeddings.
    size : int
        How many pipelines.
    sigma : array, optional
        The standard deviation with which each pipeline is predicted, for weighted least squares.
    """
    return Design(*_native.design_by_size(_narrow(Y), size, _sigma(sigma)))


def design_by_time(Y: Any, secs: Any, limit: float, *, sigma: Any = None) -> Design:
    """The same within a time: the largest gain per second first."""
    return Design(*_native.design_by_time(_narrow(Y), _wide(secs), limit, _sigma(sigma)))


def design_from_prior(prior: Prior, secs: Any, limit: float) -> Design:
    """Choose what shrinks the covariance of a prior most per second."""
    return Design(*_native.design_from_prior(prior, _wide(secs), limit))


def design_random(secs: Any, limit: float, *, fill: bool = False, seed: int = 0) -> Design:
    """The control: pipelines at random until one does not fit; with ``fill`` such are passed over."""
    return Design(*_native.design_random(_wide(secs), limit, fill, seed))


@dataclass
class Relaxed:
    """A relaxed design: the share of each pipeline, the objective and how far it is from the best, rounded."""

    shares: Floats
    objective: float
    gap: float
    rounded: Design


def design_relaxed(Y: Any, secs: Any, limit: float, *, criterion: str = "D") -> Relaxed:
    """Solve the convex relaxation of the design, for criterion "D", "A" or "E"; with all seconds 1, ``limit`` is a number."""
    shares, objective, gap, rounded = _native.design_relaxed(_narrow(Y), _wide(secs), limit, criterion)
    return Relaxed(shares, objective, gap, Design(*rounded))


def least_squares(Y: Any, pipelines: Sequence[int], errors: Any) -> Floats:
    """Predict the errors of all pipelines on a dataset from those of some (the paper's way)."""
    return _native.least_squares(_narrow(Y), [int(j) for j in pipelines], _wide(errors))


def prior(
    rows: Any, *, rank: int | None = None, n_estimators: int | None = None, scale: str = "root"
) -> Prior:
    """Learn a Gaussian over all pipelines from complete rows, datasets x pipelines.

    Parameters
    ----------
    rows : array
        Complete errors.
    rank : int, optional
        How many directions of the covariance are kept.
    n_estimators : int, optional
        Shrink towards a covariance that is separable into estimators (so many, the axis that varies fastest) and what comes
        before them, as the search does.
    scale : {"root", "plain"}
        Errors count by their square roots, or as they are.
    """
    return Prior(_narrow(rows), rank, n_estimators, scale, _threads())


class Runtimes:
    """Predict the seconds of each pipeline from the size of a dataset.

    Parameters
    ----------
    sizes : array of shape (n_datasets, 2) or (n_datasets, 3)
        Rows, features and, where they are known, classes.
    secs : array of shape (n_datasets, n_pipelines)
        Recorded seconds, NaN where there are none.
    families : sequence of int, optional
        The family of each pipeline: one with few records leans on its family.
    form : {"log-log", "paper", "paper-log"}
        Logarithms on a polynomial of logarithms; the paper's polynomials of seconds, or of their logarithms.
    """

    def __init__(
        self, sizes: Any, secs: Any, *, families: Sequence[int] | None = None, form: str = "log-log"
    ) -> None:
        recorded = _narrow(secs)
        of = [0] * recorded.shape[1] if families is None else [int(family) for family in families]
        self._fitted = _native.Runtimes(_wide(sizes), recorded, of, form)

    def predict(self, n_rows: float, n_features: float, n_classes: float | None = None) -> Floats:
        """The seconds of each pipeline on a dataset of this size."""
        return self._fitted.predict(n_rows, n_features, n_classes)


class AnyPolicy(Protocol):
    """What a policy of your own must have."""

    def next(self, left: float) -> Any:
        """The next pipeline, or a list of pipelines that one run reveals; None to wait for what is pending, or to end."""

    def observe(self, seen: list[tuple[int, float | None, float | None]]) -> Any:
        """A run has come back: pipeline, error and seconds of each, None where nothing was recorded."""


def in_order_policy(order: Sequence[int], secs: Any) -> Policy:
    """Pipelines in a fixed order, those left out that no longer fit; seconds as expected, NaN for what cannot be run."""
    return Policy.in_order([int(j) for j in order], _wide(secs))


def random_policy(secs: Any, *, seed: int = 0) -> Policy:
    """Pipelines in random order."""
    return Policy.random(_wide(secs), seed)


def paper_policy(
    Y: Any,
    rank: int,
    secs: Any,
    budget: float,
    *,
    design_share: float | None = None,
    baseline: int | None = None,
) -> Policy:
    """The paper's loop: design, predict by least squares, run what is predicted to be best.

    Parameters
    ----------
    Y : array of shape (largest rank, n_pipelines)
        Nested embeddings, of which ``rank`` rows are used at first.
    secs : array
        Predicted seconds, NaN where a pipeline cannot be run.
    budget : float
        All the seconds there are.
    design_share : float, optional
        One round, with this share of it for the design; by default rounds that double.
    baseline : int, optional
        A pipeline to run first.
    """
    return Policy.paper(_narrow(Y), rank, _wide(secs), budget, design_share, baseline)


def kernel_policy(model: KernelModel, secs: Any, budget: float, *, baseline: int | None = None) -> Policy:
    """The same on the codes of KFMC."""
    return Policy.kernel(model, _wide(secs), budget, baseline)


def auto_policy(
    prior: Prior, secs: Any, *, families: Sequence[tuple[Sequence[int], float]] | None = None
) -> Policy:
    """The search that pitchpipe ships: expected improvement per second under a prior.

    Parameters
    ----------
    families : sequence of (members, cost factor), optional
        What one run reveals, and its cost in times of its slowest member; by default each pipeline by itself.
    """
    given = None if families is None else [([int(j) for j in m], float(c)) for m, c in families]
    return Policy.auto(prior, _wide(secs), given)


@dataclass
class Trace:
    """What a replay found: seconds, pipelines and errors in the order they came to be known, and the number of runs."""

    seconds: Floats
    pipelines: npt.NDArray[np.uint64]
    errors: Floats
    n_steps: int

    def best_by(self, seconds: float) -> float:
        """The lowest error seen by then; infinite where there is none."""
        return float(np.min(self.errors[self.seconds <= seconds], initial=np.inf))


class Recording:
    """Recorded errors and seconds, datasets x pipelines, to replay policies on; NaN where nothing was recorded.

    Parameters
    ----------
    errors, secs : array of shape (n_datasets, n_pipelines)
    """

    def __init__(self, errors: Any, secs: Any) -> None:
        recorded = _narrow(errors)
        self._inner = _native.Recording(recorded, _narrow(secs), max(1, recorded.shape[1]))

    def replay(self, dataset: int, policy: Policy | AnyPolicy, budget: float, *, n_workers: int = 1) -> Trace:
        """Run a policy on a dataset until the budget of recorded seconds is spent. A policy of ours is used up by that."""
        return Trace(*self._inner.replay(dataset, policy, budget, n_workers))

    def lowest_error(self, dataset: int) -> float:
        """The lowest error recorded."""
        return self._inner.bounds(dataset)[0]

    def total_seconds(self, dataset: int) -> float:
        """What all pipelines together took."""
        return self._inner.bounds(dataset)[1]


def replay(
    errors: Any, secs: Any, dataset: int, policy: Policy | AnyPolicy, budget: float, *, n_workers: int = 1
) -> Trace:
    """Replay a policy once: ``Recording(errors, secs).replay(dataset, policy, budget)``."""
    return Recording(errors, secs).replay(dataset, policy, budget, n_workers=n_workers)
