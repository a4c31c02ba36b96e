"""The linearised equations of a part of the cone whose points are vectors: x >= 0, or second-order cones."""

from __future__ import annotations

from typing import Protocol

import scipy.sparse as sp

from psdopt.linalg.arrays import Array


class VectorPart(Protocol):
    """What the equations ask of a part: its objective C, the weights ν of its logarithms, A x and Aᵀv."""

    C: Array
    weights: Array | None

    def measure(self, x: Array) -> Array: ...

    def adjoint(self, v: Array) -> Array: ...

    def reach(self, root: Array, d: Array, accuracy: float) -> float: ...


class Metric(Protocol):
    """H, a positive definite map on the matrices or vectors of one part of a standard form; A H A* is (m, m)."""

    def add_to(self, M: Array, fresh: bool) -> None:
        """M (m, m) += A H A*, in its upper triangle. `fresh` : whether M is zero."""

    def sparse(self) -> sp.csr_array:
        """A H A*."""

    def root(self) -> Array:
        """G (m, numbers) with G Gᵀ = A H A*."""

    def moved(self, w: Array) -> Array:
        """H A*(w)."""


class VectorMetric(Metric, Protocol):
    """H with H z = x, and the second-order term of the product of x and z."""

    def times(self, d: Array) -> Array: ...

    def corrected(self, dx: Array, dz: Array, z: Array) -> Array: ...


class LocalVector:
    """dx = (t + ν) z⁻¹ − x − H dz − T at x, z and v, with the factors `roots` of x and z; see :mod:`.interior_steps`.

    Attributes: `metric` H; `known`, A (x + H r − ν z⁻¹) with r = C − Aᵀv − z; `inverse`, A z⁻¹; `curved`, A T for the
    second-order term T of the last direction, None before.
    """

    def __init__(
        self,
        part: VectorPart,
        metric: VectorMetric,
        x: Array,
        z: Array,
        inverse: Array,
        v: Array,
        roots: tuple[Array, Array],
    ) -> None:
        self.part, self.metric, self.z, self.zi, self.roots = part, metric, z, inverse, roots
        self.rest = part.C - part.adjoint(v) - z
        self.x = x if part.weights is None else x - part.weights * inverse
        self.known = part.measure(self.x + metric.times(self.rest))
        self.inverse = part.measure(inverse)
        self.T: Array | float = 0.0
        self.curved: Array | None = None

    def along(self, target: float, dv: Array) -> tuple[Array, Array]:
        """dx, dz towards x ∘ z = target + ν that follow from dv."""
        dz = self.rest - self.part.adjoint(dv)
        return target * self.zi - self.x - self.metric.times(dz) - self.T, dz

    def reaches(self, dx: Array, dz: Array, accuracy: float) -> tuple[float, float]:
        """The largest alpha with x + alpha dx in the cones, and that of z and dz."""
        return self.part.reach(self.roots[0], dx, accuracy), self.part.reach(self.roots[1], dz, accuracy)

    def correct(self, dx: Array, dz: Array) -> None:
        """Add the second-order term of the last direction to all later ones."""
        self.T = self.metric.corrected(dx, dz, self.z)
        self.curved = self.part.measure(self.T)
