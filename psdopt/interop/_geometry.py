"""A pymanopt manifold as a psdopt geometry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Defect, Geometry, array_defect
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.tolerances import EPS

#: Tolerance for "does not change", in units of eps · size · cond(Y)².
SLACK = 1024.0


class PymanoptGeometry(Geometry):
    """A manifold whose points are factors Y or matrices M.

    Parameters
    ----------
    manifold : a ``pymanopt.manifolds.manifold.Manifold`` whose points are real arrays.
    n : order of M.
    points : "factors" (M = Y Yᵀ, Y the point), or "matrices" (the point is M itself, symmetric PSD).
    from_factor : callable Y -> point; default for factors: the retraction of the zero vector at Y.
    trace : the fixed trace of all members, if there is one.
    closed : whether limits of members are members; None: unless points are definite matrices.

    pymanopt has no validity test. A point is accepted if the retraction along zero does not change it, a tangent vector
    if the projection does not change it.
    """

    def __init__(
        self,
        manifold: Any,
        n: int,
        points: str = "factors",
        *,
        from_factor: Callable[[Array], Any] | None = None,
        trace: float | None = None,
        closed: bool | None = None,
    ) -> None:
        if points not in ("factors", "matrices"):
            raise InvalidInputError(f"points must be 'factors' or 'matrices'; found {points!r}")
        self.manifold, self.n, self.points, self.trace = manifold, int(n), points, trace
        self._from_factor = from_factor
        plain = self.random_point(np.random.default_rng(0))
        matrix = isinstance(plain, np.ndarray) and plain.ndim == 2 and not np.iscomplexobj(plain)
        if not matrix or plain.shape[0] != self.n:
            found = plain.shape if isinstance(plain, np.ndarray) else type(plain).__name__
            raise InvalidInputError(f"points of {manifold} must be real arrays with n = {n} rows; found {found}")
        self._shape = plain.shape
        # definite matrices have singular limits, which are not members
        self.closed = (points == "factors" or not _definite(plain)) if closed is None else closed
        #: Metrics on matrices are defined on symmetric vectors only.
        self.horizontal_is_orthogonal = points == "factors"
        self.abilities = frozenset({Ability.RIEMANNIAN, *([Ability.FACTOR] if points == "factors" else [])})

    def check_point(self, point: Any) -> Defect | None:
        point = np.asarray(point)
        defect = array_defect(point, point.shape == self._shape, f"a point must have shape {self._shape}")
        if defect is not None:
            return defect
        if self.points == "matrices" and not self.closed and not _definite(point):
            return Defect("the matrix is singular to rounding", 1.0, 0.0)
        with np.errstate(all="ignore"):
            kept = np.asarray(self.manifold.retraction(point, np.zeros(self._shape)))
        allowed = SLACK * EPS * self.n * norm(point)
        distance = norm(kept - point)
        return None if distance <= allowed else Defect("not on the manifold, |R(0) - x|", distance, allowed)

    def check_vector(self, point: Any, vector: Any) -> Defect | None:
        vector = np.asarray(vector)
        defect = array_defect(vector, vector.shape == self._shape, f"a vector must have shape {self._shape}")
        if defect is not None:
            return defect
        s = np.linalg.svd(self.factor(point), compute_uv=False)
        allowed = SLACK * EPS * self.n * norm(vector) * float((s[0] / max(s[-1], EPS * s[0])) ** 2)
        distance = norm(self.horizontal(point, vector) - vector)
        return None if distance <= allowed else Defect("not tangent, |horizontal(v) - v|", distance, allowed)

    def random_point(self, rng: np.random.Generator) -> Any:
        with _seeded(rng):
            return self.manifold.random_point()

    def random_vector(self, point: Any, rng: np.random.Generator) -> Any:
        with _seeded(rng):
            vector = self.manifold.random_tangent_vector(point)
        return vector / self.norm(point, vector)

    def factor(self, point: Any) -> Array:
        if self.points == "factors":
            return np.asarray(point)
        values, vectors = np.linalg.eigh(0.5 * (point + point.T))
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

    def from_factor(self, Y: Array) -> Any:
        if self._from_factor is not None:
            return self._from_factor(Y)
        if self.points == "matrices":
            return Y @ Y.T
        r = self._shape[1]
        if Y.shape[1] > r:
            U, s, _ = np.linalg.svd(Y, full_matrices=False)
            Y = U[:, :r] * s[:r]
        Y = np.concatenate([Y, np.zeros((self.n, r - Y.shape[1]))], axis=1)
        return self.manifold.retraction(Y, np.zeros(self._shape))

    def inner(self, point: Any, left: Any, right: Any) -> float:
        return float(self.manifold.inner_product(point, left, right))

    def horizontal(self, point: Any, ambient: Any) -> Any:
        return self.manifold.projection(point, ambient)

    def gradient(self, point: Any, S: Any) -> Any:
        """The manifold's conversion of the Euclidean gradient: 2 S Y for factors, S for matrices (n products)."""
        euclidean = 2.0 * (S @ point) if self.points == "factors" else S @ np.eye(self.n)
        return self.manifold.euclidean_to_riemannian_gradient(point, np.asarray(euclidean))

    def velocity(self, point: Any, vector: Any) -> Array:
        """The velocity of the factor: the vector itself, or ½ V Y⁻ᵀ for a matrix velocity V."""
        if self.points == "factors":
            return np.asarray(vector)
        return np.asarray(0.5 * np.linalg.solve(self.factor(point), vector).T)

    def retract(self, point: Any, vector: Any) -> Any:
        return self.manifold.retraction(point, vector)

    def transport(self, point: Any, target: Any, vector: Any) -> Any:
        return self.manifold.transport(point, target, vector)

    def euclidean_to_riemannian_hessian(self, point: Any, gradient: Any, hessian: Any, vector: Any) -> Any:
        """The manifold's own conversion."""
        return self.manifold.euclidean_to_riemannian_hessian(point, gradient, hessian, vector)

    def __repr__(self) -> str:
        return f"from_pymanopt({type(self.manifold).__name__}, n={self.n}, points={self.points!r})"


@contextmanager
def _seeded(rng: np.random.Generator) -> Iterator[None]:
    """Seed NumPy's global generator, which pymanopt uses, from `rng`, and restore it afterwards."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def _definite(M: Array) -> bool:
    """Whether all eigenvalues of the symmetric M (n, n) are above rounding of the largest. O(n³)."""
    values = np.linalg.eigvalsh(0.5 * (M + M.T))
    return bool(values[0] > SLACK * EPS * len(M) * values[-1])
