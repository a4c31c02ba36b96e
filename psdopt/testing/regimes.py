"""Where checks look: spectrum, frame and scale of a factor, drawn separately, in named regimes."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from psdopt.linalg.arrays import Array, norm, orthonormal_columns

Spectrum = Callable[[int, np.random.Generator], Array]


@dataclass(frozen=True)
class Regime:
    """Eigenvalues of M (relative to the largest), factor of scale, and width of Y as a function of n."""

    spectrum: Spectrum
    scale: float = 1.0
    width: Callable[[int], int] = lambda n: max(1, min(n, (n + 1) // 2))


def _generic(r: int, rng: np.random.Generator) -> Array:
    return 2.0 ** -rng.integers(0, 3, r).astype(float) * rng.uniform(0.8, 1.25, r)


def _repeated(r: int, rng: np.random.Generator) -> Array:
    return np.ones(r)


def _clustered(r: int, rng: np.random.Generator) -> Array:
    return 1.0 + 1e-9 * rng.standard_normal(r)


def _near_singular(r: int, rng: np.random.Generator) -> Array:
    return 10.0 ** -np.linspace(0.0, 6.0, r) if r > 1 else np.ones(1)


def _deficient(r: int, rng: np.random.Generator) -> Array:
    values = _generic(r, rng)
    values[r - r // 2 :] = 0.0
    return values


#: Named regimes, the simplest first: a failure is reported for the first one that fails.
REGIMES: dict[str, Regime] = {
    "full-rank": Regime(_generic),
    "rank-one": Regime(_generic, width=lambda n: 1),
    "full-width": Regime(_generic, width=lambda n: n),
    "repeated": Regime(_repeated),
    "clustered": Regime(_clustered),
    "near-singular": Regime(_near_singular),
    "rank-deficient": Regime(_deficient),
    "scale-up": Regime(_generic, 1e8),
    "scale-down": Regime(_generic, 1e-8),
}
#: Regimes in which YᵀY is invertible.
REGULAR = tuple(name for name in REGIMES if name != "rank-deficient")
#: A cheap selection.
FEW = ("full-rank", "rank-one", "scale-up")


@dataclass
class Case:
    """One sample: a regime and a seed. All drawing of a check goes through it, so that it can be repeated.

    up_to : of a check that runs the checks of parts, the version up to which they run; None for all.
    """

    regime: str = "full-rank"
    seed: int = 0
    up_to: str | None = None
    rng: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.seed, zlib.crc32(self.regime.encode())])

    def width(self, n: int) -> int:
        """Columns of Y in this regime."""
        return REGIMES[self.regime].width(n)

    def factor(self, n: int, r: int | None = None) -> Array:
        """Y (n, r) = frame · diag(√spectrum · √scale) · orthogonal."""
        regime = REGIMES[self.regime]
        r = regime.width(n) if r is None else min(r, n)
        spectrum = regime.scale * regime.spectrum(r, self.rng)
        frame = orthonormal_columns(self.rng, n, r)
        return (frame * np.sqrt(spectrum)) @ orthonormal_columns(self.rng, r, r)

    def direction(self, Y: Array) -> Array:
        """An ambient direction of about the size of Y."""
        D = self.rng.standard_normal(Y.shape)
        return D * (norm(Y) / norm(D))

    def skew(self, r: int) -> Array:
        """A skew (r, r) matrix with entries of order one."""
        W = self.rng.standard_normal((r, r))
        return W - W.T

    def orthogonal(self, r: int) -> Array:
        """A random orthogonal (r, r) matrix."""
        return orthonormal_columns(self.rng, r, r)

    def symmetric(self, n: int) -> Array:
        """A random symmetric (n, n) matrix with both signs in its spectrum."""
        W = self.rng.standard_normal((n, n))
        return 0.5 * (W + W.T)
