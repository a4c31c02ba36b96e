"""A fit that will take long says so before it starts: time and memory from the counts of its cost formula."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

from psdopt_plugins.estimators import options_for_solve
from psdopt_plugins.limits import FACTOR_ORDER

#: Processor seconds from which on a fit says its estimate.
LONG = 30.0
#: Operations of a processor second. Measured on one core at 2 GHz with OpenBLAS (float64): the 2 n³ flops of a product
#: took 30 · 10⁹ a second, the 9 n³ of an eigendecomposition 6 · 10⁹, sums over gathered rows 1 · 10⁹.
RATE = 4e9
UNITS = {"hours": 3600.0, "minutes": 60.0}


class LongFitWarning(UserWarning):
    """A fit that is about to start is expected to take more than 30 s of processor time."""


def say_if_long(
    estimator: Any,
    shape: tuple[int, ...],
    once: float,
    run: float,
    *,
    numbers: float,
    shorter: str,
    stacklevel: int = 3,
) -> None:
    """A LongFitWarning, before the work starts, if it is expected to take more than LONG seconds on one core.

    It names estimator, shape, time, memory, and what makes the fit shorter. It is a warning, not output or a log
    message: a user sees it without asking, and can hide it, or turn it into a refusal, by
    ``warnings.filterwarnings("error", category=LongFitWarning)``. Time and memory are those of the cost formula with
    typical numbers of steps, and may be wrong by a factor of three.

    Parameters
    ----------
    shape : of the data. once : operations outside :func:`psdopt.solve`. run : those in it; `max_time` cuts them.
    numbers : float64 numbers in memory beside the data. shorter : what the user can change, beside `max_time`.
    """
    limit, seconds = options_for_solve(estimator.solver_options).get("max_time"), run / RATE
    if isinstance(limit, Real) and float(limit) >= 0.0:
        seconds = min(seconds, float(limit))
    seconds += once / RATE
    if seconds > LONG:
        name, unit = next(((name, unit) for name, unit in UNITS.items() if seconds >= 2.0 * unit), ("seconds", 1.0))
        warnings.warn(
            f"{type(estimator).__name__} on data of shape {tuple(shape)} is expected to take about "
            f"{seconds / unit:.0f} {name} of processor time and {8 * numbers / 2**30:.1f} GiB of memory; "
            f"less with {shorter}" + (", or with max_time in solver_options" if run > once else ""),
            LongFitWarning,
            stacklevel=stacklevel,
        )


def entries(X: Any) -> int:
    """Stored entries of X (m, d), dense, sparse, in blocks or on a device: the multiplications of X times a vector."""
    return int(getattr(X, "nnz", X.shape[0] * X.shape[1]))


def products(X: Any, r: int) -> float:
    """Operations of one product with X and one with Xᵀ, r columns each; few columns take about as long as 30."""
    return float(entries(X)) * (r + 30)


def search(n: int, X: Any, share: float = 1.0) -> float:
    """Operations of the nearest neighbours of n samples in a `share` of X (m, d): distances to all, and their order."""
    return share * n * (0.25 * entries(X) + 12.0 * int(X.shape[0]))


def quadratic_fit(X: Any, rank: int | None, steps: int) -> tuple[float, float]:
    """(once, run) of a quadratic F(M) of order d: XᵀX and an eigendecomposition, or `steps` at a limited rank."""
    d = int(X.shape[1])
    once = 0.25 * d * entries(X)
    if rank is None and d <= FACTOR_ORDER:
        return once + 9.0 * d * d * d, 0.0
    return once, steps * (float(rank or d) + 30.0) * min(entries(X), d * d)
