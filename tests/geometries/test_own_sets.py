"""Sets of one's own, written by the public contract alone: they pass the kit, and runs on them end in true words.

The Fantope {M ⪰ 0 : M ⪯ I, tr M = k} offers a projection, the elliptope {M ⪰ 0 : M_ii = 1} factors of unit rows with
the least Riemannian group. Neither says how small ⟨S, N⟩ may be over the set, so that no run may claim an optimum.
"""

import numpy as np
import pytest

from psdopt import Ability, Atom, Defect, Geometry, LowRankPSD, QuadraticSDP, Status, compatible, solve
from psdopt.constraints import Constrained, diagonal
from psdopt.methods import ConjugateGradient, shipped_methods
from psdopt.testing import run_checks

EPS = np.finfo(float).eps
HONEST = {Status.STATIONARY, Status.NO_PROGRESS, Status.ITERATION_LIMIT}


class Fantope(Geometry):
    """{M (n, n) : 0 ⪯ M ⪯ I, tr M = k}."""

    def __init__(self, n, k):
        self.n, self.k, self.trace = n, k, float(k)
        self.abilities = frozenset({Ability.PROJECTION})

    def check_point(self, point):
        Y = np.asarray(point)
        if Y.ndim != 2 or Y.shape[0] != self.n or Y.shape[1] == 0 or not np.all(np.isfinite(Y)):
            return Defect(f"a factor must be finite, of shape ({self.n}, r); found {Y.shape}", float(Y.size), 0.0)
        values = np.linalg.eigvalsh(Y.T @ Y)
        error, allowed = max(abs(values.sum() - self.k), values[-1] - 1.0), 64 * EPS * self.n * self.k
        return (
            Defect("eigenvalues must lie in [0, 1] and sum to k, off by", error, allowed) if error > allowed else None
        )

    def random_point(self, rng):
        return self.from_factor(rng.standard_normal((self.n, self.n)))

    def factor(self, point):
        return point

    def from_factor(self, Y):
        return self.project(Y @ Y.T).factor

    def project(self, M):
        """Eigenvalues moved by one number and cut to [0, 1], so that their sum is k."""
        values, vectors = np.linalg.eigh(0.5 * (M + M.T))
        low, high = values[0] - 1.0, values[-1]
        for _ in range(200):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if np.clip(values - middle, 0.0, 1.0).sum() > self.k else (low, middle)
        values = np.clip(values - high, 0.0, 1.0)
        inside = (values > 0.0) & (values < 1.0)
        values[inside] += (self.k - values.sum()) / max(inside.sum(), 1)
        used = values > 0.0
        return LowRankPSD(vectors[:, used] * np.sqrt(values[used]))

    def __repr__(self):
        return f"Fantope(n={self.n}, k={self.k})"


def rows(Y, Z):
    return np.sum(Y * Z, axis=1, keepdims=True)


class Elliptope(Geometry):
    """{Y Yᵀ : Y (n, r), |y_i| = 1}, Y ~ Y O. `restricted` by default: steps keep the diagonal of M."""

    def __init__(self, n, r):
        self.n, self.rank = n, r
        self.trace = float(n)
        self.abilities = frozenset({Ability.FACTOR, Ability.RIEMANNIAN})

    def check_point(self, point):
        Y = np.asarray(point)
        if Y.shape != (self.n, self.rank) or not np.all(np.isfinite(Y)):
            return Defect(f"a point must have shape ({self.n}, {self.rank}); found {Y.shape}", float(Y.size), 0.0)
        error, allowed = float(np.max(np.abs(rows(Y, Y) - 1.0))), 64 * EPS * self.rank
        return Defect("rows must have length one, off by", error, allowed) if error > allowed else None

    def check_vector(self, point, vector):
        D = np.asarray(vector)
        if D.shape != (self.n, self.rank) or not np.all(np.isfinite(D)):
            return Defect(f"a vector must have shape ({self.n}, {self.rank}); found {D.shape}", float(D.size), 0.0)
        error, allowed = float(np.linalg.norm(D - self.horizontal(point, D))), 1e4 * EPS * float(np.linalg.norm(D))
        return Defect("not tangent and horizontal, off by", error, allowed) if error > allowed else None

    def random_point(self, rng):
        return self.from_factor(rng.standard_normal((self.n, self.rank)))

    def random_vector(self, point, rng):
        D = self.horizontal(point, rng.standard_normal(point.shape))
        return D / (np.linalg.norm(D) or 1.0)

    def factor(self, point):
        return point

    def from_factor(self, Y):
        U, s, _ = np.linalg.svd(np.asarray(Y, dtype=float), full_matrices=False)
        Y = np.pad((U * s)[:, : self.rank], ((0, 0), (0, max(self.rank - len(s), 0))))
        Y[~np.any(Y, axis=1), 0] = 1.0
        return Y / np.sqrt(rows(Y, Y))

    def inner(self, point, left, right):
        return float(np.vdot(left, right))

    def horizontal(self, point, ambient):
        """Tangent to the unit rows, and orthogonal to Y Ω for skew Ω, which is tangent to them by itself."""
        Z = ambient - point * rows(point, ambient)
        values, Q = np.linalg.eigh(point.T @ point)
        skew = Q.T @ (point.T @ Z - Z.T @ point) @ Q
        sums = values[:, None] + values[None, :]
        return Z - point @ (Q @ (skew / np.maximum(sums, EPS * self.n)) @ Q.T)

    def gradient(self, point, S):
        G = 2.0 * (S @ point)
        return G - point * rows(point, G)

    def retract(self, point, vector):
        Y = point + vector
        return Y / np.sqrt(rows(Y, Y))

    def __repr__(self):
        return f"Elliptope(n={self.n}, r={self.rank})"


def symmetric(n, seed=0):
    C = np.random.default_rng(seed).standard_normal((n, n))
    return C + C.T


def suiting(problem, geometry):
    methods = [*shipped_methods(), ConjugateGradient("none")]
    return [method for method in methods if compatible(problem, geometry, method)]


@pytest.mark.parametrize(
    "geometry", [Fantope(6, 2), Fantope(5, 4), Elliptope(6, 3), Elliptope(5, 5), Elliptope(4, 1)], ids=repr
)
def test_they_pass_the_kit(geometry):
    for record in run_checks(geometry):
        assert record.verdict.value != "failed", str(record)


@pytest.mark.parametrize("linear", [False, True], ids=["nearest", "linear"])
def test_runs_on_the_fantope_end_at_its_minimum_and_claim_no_proof(linear):
    geometry, C = Fantope(6, 2), symmetric(6)
    problem = QuadraticSDP(None, None if linear else 1.0, C if linear else -C)
    best = np.linalg.eigh(C)[1][:, :2] if linear else geometry.project(C).factor
    methods = suiting(problem, geometry)
    assert [method.name for method in methods] == ["ProjectedGradient"]
    for start in (None, LowRankPSD(np.eye(6) / np.sqrt(3.0))):
        result = solve(problem, geometry, methods[0], start=start, tol=1e-7, rng=0)
        assert result.status in HONEST
        assert geometry.check_point(result.matrix.factor) is None
        assert result.value == pytest.approx(problem.at(best).value, rel=1e-9)
        # the certificate knows the trace alone: its gap is true, and too large to prove anything
        assert result.certificate.gap >= result.value - problem.at(best).value - 1e-9


@pytest.mark.parametrize("r", [2, 6])
def test_runs_on_the_elliptope_end_stationary_and_claim_no_proof(r):
    geometry, C = Elliptope(6, r), symmetric(6, 1)
    problem = QuadraticSDP(None, 1.0, -C)
    least = solve(Constrained(problem, diagonal(6, 1.0)), tol=1e-9)
    assert least.optimal
    names = []
    for method in suiting(problem, geometry):
        result = solve(problem, geometry, method, tol=1e-6, max_iterations=3000, rng=0)
        names.append(method.name)
        assert result.status in HONEST, method
        assert geometry.check_point(result.matrix.factor) is None
        assert result.value >= least.value - 1e-6 * abs(least.value)
        G = geometry.gradient(result.matrix.factor, result.state.evaluation.gradient)
        assert np.linalg.norm(G) <= 1e-4 * np.linalg.norm(result.state.evaluation.factor_gradient())
        if r == 6:  # without a limit on the rank every stationary point that a run ends at is the minimum
            assert result.value == pytest.approx(least.value, rel=1e-6)
    assert sorted(names) == ["ConjugateGradient", "ConjugateGradient", "TrustRegions"]


class WithOracle(Fantope):
    """A Fantope that claims extreme points of rank one: true for k = 1, where it is the spectraplex, and else a lie."""

    def __init__(self, n, k):
        super().__init__(n, k)
        self.abilities |= {Ability.LINEAR_ORACLE}

    def minimize_linear(self, S, tol, warm_start=None):
        values, vectors = np.linalg.eigh(S @ np.eye(self.n))
        v = np.sqrt(self.k) * vectors[:, 0]
        return Atom(v, self.k * float(values[0]), 64 * EPS * self.k * float(np.abs(values).max()), self.n)


def test_a_set_with_a_linear_oracle_is_proven():
    problem, geometry = QuadraticSDP(None, 1.0, -symmetric(6)), WithOracle(6, 1)
    best = problem.at(geometry.project(symmetric(6)).factor).value
    methods = suiting(problem, geometry)
    assert [method.name for method in methods] == ["FrankWolfe", "ProjectedGradient"]
    for method in methods:
        result = solve(problem, geometry, method, tol=1e-6, rng=0)
        assert result.optimal
        assert result.value == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("k", [1, 2])
def test_the_kit_names_an_oracle_that_answers_outside_the_set(k):
    failed = {record.name for record in run_checks(WithOracle(6, k)) if record.verdict.value == "failed"}
    assert failed == (set() if k == 1 else {"geometry.linear_oracle"})
