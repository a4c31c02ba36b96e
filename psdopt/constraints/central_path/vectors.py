"""Parts of the cone whose points are vectors, x >= 0 or second-order cones: what they share, and their equations."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.linalg.arrays import Array, both_ways


class VectorPart(ABC):
    """Vectors x of one kind of cone: products with their coefficients, in the rows of a standard form.

    Parameters
    ----------
    rows : the rows of M that the vectors stand for. C : the objective, of the shape of x. B : (m, numbers of x), the
    coefficients of x. degree : the number of products whose mean is mu. weights : ν of −Σ ν log x in the objective,
    None without any.
    """

    def __init__(
        self, rows: NDArray[np.intp], C: Array, B: sp.csr_array, degree: int, weights: Array | None = None
    ) -> None:
        self.rows, self.C, self.B, self.degree, self.weights = rows, C, B, degree, weights
        self.forth, self.back = both_ways(B)
        self.half = np.ones(C.size)

    def measure(self, x: Array) -> Array:
        """A x, (m,)."""
        return self.forth @ x.reshape(-1)

    def adjoint(self, v: Array) -> Array:
        """Aᵀ v, of the shape of x."""
        return (self.back @ v).reshape(self.C.shape)

    @abstractmethod
    def reach(self, root: Array, d: Array) -> float:
        """The largest alpha with x + alpha d in the cone for x with the factor `root`, infinite if there is none."""


class VectorMetric(ABC):
    """H with H z = x: a positive definite map on the vectors of one part. A H Aᵀ is (m, m)."""

    part: VectorPart

    @abstractmethod
    def add_to(self, M: Array, fresh: bool) -> None:
        """M (m, m) += A H Aᵀ."""

    @abstractmethod
    def sparse(self) -> sp.csr_array:
        """A H Aᵀ."""

    @abstractmethod
    def root(self) -> Array:
        """G (m, numbers) with G Gᵀ = A H Aᵀ."""

    @abstractmethod
    def times(self, d: Array) -> Array:
        """H d."""

    @abstractmethod
    def corrected(self, dx: Array, dz: Array, z: Array) -> Array:
        """The second-order term of the product of x and z along dx and dz."""

    def moved(self, w: Array) -> Array:
        """H Aᵀw."""
        return self.times(self.part.adjoint(w))


class LocalVector:
    """dx = (t + ν) z⁻¹ − x − H dz − T at x and z, with the factors `roots` of x and z; see :mod:`.interior_steps`.

    `R` : C − Aᵀv − z, None where it is rounding. Attributes: `metric` H; `inverse`, A z⁻¹; `terms` of the right-hand
    side: A (H R), −ν A z⁻¹ and, for the second-order term T of the last direction, A T.
    """

    def __init__(
        self, metric: VectorMetric, x: Array, z: Array, inverse: Array, R: Array | None, roots: tuple[Array, Array]
    ) -> None:
        self.part, self.metric, self.z, self.zi, self.R, self.roots = metric.part, metric, z, inverse, R, roots
        self.x = x if self.part.weights is None else x - self.part.weights * inverse
        self.inverse = self.part.measure(inverse)
        self.terms = [] if R is None else [self.part.measure(metric.times(R))]
        if self.part.weights is not None:
            self.terms.append(self.part.measure(self.x - x))
        self.fixed = len(self.terms)
        self.T: Array | float = 0.0

    def along(self, target: float, dv: Array) -> tuple[Array, Array]:
        """dx, dz towards x ∘ z = target + ν that follow from dv."""
        dz = self.part.adjoint(-dv)
        if self.R is not None:
            dz += self.R
        return target * self.zi - self.x - self.metric.times(dz) - self.T, dz

    def reaches(self, dx: Array, dz: Array, accuracy: float) -> tuple[float, float]:
        """The largest alpha with x + alpha dx in the cones, and that of z and dz."""
        return self.part.reach(self.roots[0], dx), self.part.reach(self.roots[1], dz)

    def correct(self, dx: Array, dz: Array) -> None:
        """Add the second-order term of the last direction to all later ones."""
        self.T = self.metric.corrected(dx, dz, self.z)
        self.terms[self.fixed :] = [self.part.measure(self.T)]
