"""Hypothesis strategies: spectrum, frame and scale drawn separately; everything shrinks to the identity.

Needs the extra ``psdopt[testing]``. Profiles "ci" (derandomised, 15 examples) and "thorough" (300) are
registered by :func:`register_profiles`; choose one with ``hypothesis.settings.load_profile``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array
from psdopt.testing.regimes import REGIMES, Case

#: Exponents of two that a spectrum is made of: cond(Y) stays below 2^12.
SMALLEST_EXPONENT = -24
KINDS = ("any", "ones", "clustered", "one-dominant", "rank-deficient")


def register_profiles() -> None:
    """Register the profiles "ci" and "thorough" with hypothesis."""
    quiet = [HealthCheck.too_slow]
    settings.register_profile(
        "ci", max_examples=15, derandomize=True, deadline=None, print_blob=True, suppress_health_check=quiet
    )
    settings.register_profile("thorough", max_examples=300, deadline=None, print_blob=True, suppress_health_check=quiet)


@st.composite
def spectra(draw: st.DrawFn, *, size: int, kind: str | None = None) -> Array:
    """Eigenvalues (size,), descending, of order one: integer powers of two, equal, clustered, or partly zero.

    `kind` is one of `KINDS`; None draws one. Raises InvalidInputError for another kind or size < 1.
    """
    if size < 1 or (kind is not None and kind not in KINDS):
        raise InvalidInputError(f"size must be at least 1 and kind one of {KINDS}; found {size} and {kind!r}")
    kind = draw(st.sampled_from(KINDS)) if kind is None else kind
    exponents = draw(st.lists(st.integers(SMALLEST_EXPONENT, 0), min_size=size, max_size=size))
    values: Array = np.asarray(np.exp2(sorted(exponents, reverse=True)), dtype=np.float64)
    if kind == "ones":
        values = np.ones(size)
    elif kind == "clustered":
        values = np.asarray(1.0 + 2.0**-30 * np.arange(size)[::-1], dtype=np.float64)
    elif kind == "one-dominant":
        values = np.asarray(np.where(np.arange(size) == 0, 1.0, 2.0**-10))
    elif kind == "rank-deficient":
        values[size - draw(st.integers(0, size - 1)) :] = 0.0
    return values


@st.composite
def frames(draw: st.DrawFn, *, n: int, r: int | None = None) -> Array:
    """Orthonormal columns (n, r), r <= n, as products of plane rotations: shrinks to the first columns of I."""
    r = n if r is None else r
    if not 1 <= r <= n:
        raise InvalidInputError(f"r must lie between 1 and n = {n}; found {r}")
    Q = np.eye(n)
    turns = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(0, 15)), max_size=2 * n))
    for i, j, eighth in turns:
        if i != j:
            c, s = np.cos(eighth * np.pi / 8.0), np.sin(eighth * np.pi / 8.0)
            Q[[i, j]] = np.array([[c, -s], [s, c]]) @ Q[[i, j]]
    return Q[:, :r]


def scales(*, exponents: Sequence[int] = (0, 8, -8)) -> st.SearchStrategy[float]:
    """Powers of ten, the first of `exponents` being the simplest."""
    return st.sampled_from([10.0**k for k in exponents])


@st.composite
def factors(draw: st.DrawFn, *, n: int, r: int | None = None, kind: str | None = None) -> Array:
    """Y (n, r) = frame · diag(√(scale · spectrum)) · rotation; r <= n is drawn if not given."""
    r = draw(st.integers(1, n)) if r is None else r
    values = draw(scales()) * draw(spectra(size=r, kind=kind))
    return np.asarray((draw(frames(n=n, r=r)) * np.sqrt(values)) @ draw(frames(n=r)).T)


#: Named regimes of a factor: (order n, rank r, kind of spectrum, scale of M), None where it is drawn.
NAMED: dict[str, tuple[int | None, int | None, str | None, float]] = {
    "full-rank": (None, None, "any", 1.0),
    "rank-deficient": (None, None, "rank-deficient", 1.0),
    "repeated": (None, None, "ones", 1.0),
    "clustered": (None, None, "clustered", 1.0),
    "near-singular": (None, None, "one-dominant", 1.0),
    "n = 1": (1, 1, "any", 1.0),
    "r = n": (None, -1, "any", 1.0),
    "scale-up": (None, None, "any", 1e8),
    "scale-down": (None, None, "any", 1e-8),
}


@st.composite
def regime_factors(draw: st.DrawFn, *, regime: str | None = None, largest: int = 6) -> Array:
    """Y (n, r) of a named regime, 1 <= r <= n <= `largest`; None draws the regime as well, the simplest first."""
    regime = draw(st.sampled_from(list(NAMED))) if regime is None else regime
    if regime not in NAMED:
        raise InvalidInputError(f"regime must be one of {', '.join(map(repr, NAMED))}; found {regime!r}")
    order, rank, kind, scale = NAMED[regime]
    n = draw(st.integers(2, largest)) if order is None else order
    deficient = regime == "rank-deficient"
    r = draw(st.integers(1 + deficient, n)) if rank is None else n if rank == -1 else rank
    values = scale * draw(spectra(size=r, kind=kind))
    if deficient:
        values[-1] = 0.0
    return np.asarray((draw(frames(n=n, r=r)) * np.sqrt(values)) @ draw(frames(n=r)).T)


@st.composite
def psd_matrices(draw: st.DrawFn, *, n: int, kind: str | None = None) -> Array:
    """Dense symmetric positive semidefinite (n, n)."""
    Y = draw(factors(n=n, r=n, kind=kind))
    return Y @ Y.T


@st.composite
def ambient_vectors(draw: st.DrawFn, *, n: int, r: int) -> Array:
    """Small integer (n, r) matrices: vectors off every tangent space, easy to read when they fail."""
    entries = draw(st.lists(st.integers(-3, 3), min_size=n * r, max_size=n * r))
    return np.array(entries, dtype=float).reshape(n, r)


def cases() -> st.SearchStrategy[Case]:
    """Samples for a check: a regime (the simplest first) and a seed."""
    return st.builds(Case, st.sampled_from(list(REGIMES)), st.integers(0, 2**16))


@st.composite
def partitions(draw: st.DrawFn, *, count: int, parts: int = 5) -> list[NDArray[np.intp]]:
    """Numbers below `count` in at most `parts` parts, empty ones included, for :class:`psdopt.testing.Split`.

    Shrinks to one part of all. Raises InvalidInputError for count < 1 or parts < 1.
    """
    if count < 1 or parts < 1:
        raise InvalidInputError(f"count and parts must be at least 1; found {count} and {parts}")
    cuts = sorted(draw(st.lists(st.sampled_from((0, 1, count - 1, count)) | st.integers(0, count), max_size=parts - 1)))
    order = np.random.default_rng(draw(st.integers(0, 2**16))).permutation(count) if draw(st.booleans()) else None
    items = np.arange(count) if order is None else order
    return np.split(items.astype(np.intp), cuts)
