"""Geometries without a tangent vector: checks of motion are trivial there, and the others still look."""

import numpy as np

from psdopt import Geometry
from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Defect
from psdopt.testing import CheckStatus, run_checks


class Projectors(Geometry):
    """M = U Uᵀ for U (n, k) with orthonormal columns; one point where k = n."""

    abilities = frozenset({Ability.FACTOR, Ability.RIEMANNIAN})
    retraction_order = 2

    def __init__(self, n, k):
        self.n, self.k, self.rank, self.dimension = n, k, k, k * (n - k)

    def __repr__(self):
        return f"Projectors({self.n}, {self.k})"

    def check_point(self, point):
        U = np.asarray(point)
        if U.shape != (self.n, self.k) or not np.all(np.isfinite(U)):
            return Defect("wrong shape or not finite", 1.0, 0.0)
        apart = float(np.linalg.norm(U.T @ U - np.eye(self.k)))
        return Defect("columns are not orthonormal", apart, 1e-10) if apart > 1e-10 else None

    def check_vector(self, point, vector):
        D = np.asarray(vector)
        if D.shape != (self.n, self.k) or not np.all(np.isfinite(D)):
            return Defect("wrong shape or not finite", 1.0, 0.0)
        apart = float(np.linalg.norm(point.T @ D))
        allowed = 1e-10 * max(1.0, float(np.linalg.norm(D)))
        return Defect("no tangent vector", apart, allowed) if apart > allowed else None

    def random_point(self, rng):
        return np.linalg.qr(rng.standard_normal((self.n, self.k)))[0]

    def factor(self, point):
        return point

    def from_factor(self, Y):
        U, _, Vt = np.linalg.svd(Y, full_matrices=False)
        if Y.shape[1] == self.k:
            return U @ Vt
        return U[:, : self.k]

    def inner(self, point, left, right):
        return float(np.vdot(left, right))

    def horizontal(self, point, ambient):
        return ambient - point @ (point.T @ ambient)

    def random_vector(self, point, rng):
        D = self.horizontal(point, rng.standard_normal((self.n, self.k)))
        size = np.linalg.norm(D)
        return D / size if size > 1e-10 else np.zeros_like(D)

    def gradient(self, point, S):
        return self.horizontal(point, 2.0 * (S @ point))

    def retract(self, point, vector):
        return self.from_factor(point + vector)


def test_projectors_pass():
    failures = [str(record) for record in run_checks(Projectors(5, 2)) if not record.ok]
    assert failures == []


def test_a_single_point_has_no_failures_of_rounding():
    records = run_checks(Projectors(4, 4))
    assert [str(record) for record in records if not record.ok] == []
    skipped = [record.diagnosis for record in records if record.verdict is CheckStatus.SKIPPED]
    assert "the tangent space is {0}" in skipped


def test_a_horizontal_part_that_is_always_zero_hides_nothing():
    class Nothing(Projectors):
        def horizontal(self, point, ambient):
            return 0.0 * ambient

        def gradient(self, point, S):
            return super().horizontal(point, 2.0 * (S @ point))

        def random_vector(self, point, rng):
            D = super().horizontal(point, rng.standard_normal((self.n, self.k)))
            return D / np.linalg.norm(D)

    assert "geometry.horizontal_orthogonal" not in {r.name for r in run_checks(Projectors(5, 2)) if not r.ok}
    assert {record.name for record in run_checks(Nothing(5, 2)) if not record.ok}
