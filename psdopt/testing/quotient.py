"""Points, fibres and velocities of any geometry, as the geometry checks use them.

Matrices are compared, never representatives, so that point types do not matter. Optional members of a
geometry that are looked at, each with a default where the meaning allows one:

- ``move_along_fibre(tree, Q)``: Y → YQ for orthogonal Q, on points and (linearly) on vectors. Default for
  points that are factors: ``tree @ Q``.
- ``vertical(point, W)``: the fibre direction of a skew W, as an ambient vector. Default: from
  ``move_along_fibre`` where vectors look like points.
- ``velocity(point, vector)``: Ẏ (n, r), how the factor begins to move. Default: differences of ``to_matrix``.
- ``horizontal_is_orthogonal`` (default True): False where the horizontal space is a complement of the
  fibre only. ``retraction_order`` (default 1): 2 where R agrees with geodesics to second order.
- ``combine(point, a, u, b, v)``: vector arithmetic, where vectors are not arrays or tuples of arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.contracts.geometry import Geometry
from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS
from psdopt.testing import vectors
from psdopt.testing.record import Trivial
from psdopt.testing.regimes import Case
from psdopt.testing.slopes import derivative


def point_in(geometry: Geometry, case: Case) -> Any:
    """A point whose factor is drawn from the regime; does not count where the set has no such point."""
    plain = geometry.random_point(case.rng)
    r = int(geometry.factor(plain).shape[1])
    if case.regime == "rank-one" and r > 1:
        raise Trivial("the geometry has another rank")
    point = geometry.from_factor(case.factor(geometry.n, r))
    if geometry.check_point(point) is not None:
        raise Trivial("the set has no points in this regime")
    return point


def condition(geometry: Geometry, point: Any) -> float:
    """cond(M) over its range: cond(Y)², by which dividing by YᵀY amplifies rounding. inf if Y is rank-deficient."""
    s = np.linalg.svd(geometry.factor(point), compute_uv=False)
    return float((s[0] / s[-1]) ** 2) if s[-1] > max(geometry.n, 8) * EPS * s[0] else float("inf")


def regular_point(geometry: Geometry, case: Case) -> tuple[Any, float]:
    """A point in the interior of the quotient, and the rounding allowed there relative to the data."""
    point = point_in(geometry, case)
    if _rigid(geometry, point):
        raise Trivial("the tangent space is {0}")
    amplification = condition(geometry, point)
    if not amplification < 1e12:
        raise Trivial("the quotient is singular at rank-deficient points")
    return point, 512.0 * EPS * max(geometry.n, 8) * amplification


def _rigid(geometry: Geometry, point: Any) -> bool:
    """Whether nothing can move at `point`: ambient vectors have no horizontal part, and no S has a gradient."""
    rng = np.random.default_rng(0)
    rounding = 1e4 * EPS * geometry.n
    ambient = vectors.random_like(geometry.random_vector(point, rng), rng)
    if not vectors.size(geometry.horizontal(point, ambient)) <= rounding * vectors.size(ambient):
        return False
    S = rng.standard_normal((geometry.n, geometry.n))
    S, Y = S + S.T, geometry.factor(point)
    return vectors.size(geometry.gradient(point, S)) <= rounding * float(np.linalg.norm(S @ Y))


def unit_vector(geometry: Geometry, point: Any, case: Case) -> Any:
    """random_vector; does not count where the tangent space is {0}, which horizontal must then agree with."""
    vector = geometry.random_vector(point, case.rng)
    if vectors.size(vector) == 0.0:
        ambient = vectors.random_like(vector, case.rng)
        if vectors.size(geometry.horizontal(point, ambient)) <= 1e4 * EPS * geometry.n * vectors.size(ambient):
            raise Trivial("the tangent space is {0}")
    return vector


def dense(geometry: Geometry, point: Any) -> Array:
    """M as an array."""
    return geometry.to_matrix(point).to_dense()


def has_fibre_action(geometry: Geometry) -> bool:
    """Whether points can be moved to other representatives."""
    if hasattr(geometry, "move_along_fibre"):
        return True
    point = geometry.random_point(np.random.default_rng(0))
    return isinstance(point, np.ndarray) and np.array_equal(geometry.factor(point), point)


def moved(geometry: Geometry, tree: Any, Q: Array) -> Any:
    """The representative YQ of a point, or the same vector at that representative."""
    own = getattr(geometry, "move_along_fibre", None)
    return own(tree, Q) if own is not None else tree @ Q


def fibre_rank(geometry: Geometry, point: Any) -> int:
    """Order of the orthogonal group that acts on the fibre."""
    return int(geometry.factor(point).shape[1])


def vertical(geometry: Geometry, point: Any, case: Case) -> Any:
    """A direction along the fibre, of about the size of the point."""
    r = fibre_rank(geometry, point)
    if r < 2:
        raise Trivial("with one column the fibre has two points and no direction")
    W = case.skew(r)
    W /= np.linalg.norm(W)
    own = getattr(geometry, "vertical", None)
    if own is not None:
        return own(point, W)
    if not hasattr(geometry, "move_along_fibre"):
        return point @ W
    if type(geometry.random_vector(point, case.rng)) is not type(point):
        raise Trivial("vectors look unlike points, and the geometry has no vertical(point, W)")
    parts = []
    eye = np.eye(r)
    rotations = {h: np.linalg.solve(eye - 0.5 * h * W, eye + 0.5 * h * W) for h in (-1e-4, 1e-4)}
    for h, Q in rotations.items():
        turned = moved(geometry, point, np.asarray(Q, dtype=np.float64))
        parts.append(vectors.tree_map(lambda x, h=h: x / (2.0 * h), turned))
    return vectors.tree_map(lambda x, y: x + y, *parts)


def velocity(geometry: Geometry, point: Any, vector: Any) -> Array:
    """d/dt M along `vector`, (n, n)."""
    if type(geometry).velocity is not Geometry.velocity:
        half = np.asarray(geometry.velocity(point, vector)) @ geometry.factor(point).T
        return half + half.T
    if type(point) is not type(vector) or not vectors.same_layout(point, vector):
        raise Trivial("vectors look unlike points, and the geometry has no velocity()")
    length = vectors.size(vector)
    if length == 0.0:
        return np.zeros((geometry.n, geometry.n))
    unit = max(vectors.size(point), float(np.finfo(float).tiny)) / length

    def at(t: float) -> Array:
        return dense(geometry, vectors.tree_map(lambda x, d: x + t * unit * d, point, vector))

    return derivative(at, 0.05)[0] / unit
