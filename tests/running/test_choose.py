"""What is chosen where nothing is said."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Constrained, FlatQuotient, PSDCone, QuadraticSDP, Status, TermSum, constraints, solve
from psdopt.contracts.abilities import Ability
from psdopt.methods import AugmentedLagrangian, ConjugateGradient, DualNewton, InteriorPoint, LagrangeNewton
from psdopt.running.choose import choose, first_rank
from psdopt.terms import Entries, LeastSquares, MeasuredTerm, QuadraticForms

N = 6


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def problem() -> QuadraticSDP:
    return QuadraticSDP(A=np.eye(N), C=-np.diag(np.arange(1.0, N + 1.0)))


@pytest.mark.parametrize(("n", "rank"), [(1, 1), (128, 128), (129, 40), (10_000, 100)])
def test_first_rank(n, rank):
    assert first_rank(n) == rank


def test_what_was_chosen_is_named():
    geometry, method, chosen = choose(problem(), FlatQuotient(N, 2), None)
    assert chosen == ("method",)
    assert Ability.STRAIGHT in geometry.abilities
    assert method.descends
    geometry, method, chosen = choose(problem(), None, ConjugateGradient())
    assert chosen == ("geometry",)
    assert geometry.rank == N
    assert choose(problem(), geometry, method)[2] == ()


def test_newton_begins_where_constraints_leave_a_face():
    """M_00 + M_11 − 2 M_01 = 0 has no strictly feasible M: an augmented Lagrangian takes thousands of steps."""
    n, rng = 4, np.random.default_rng(2)
    i, j = np.triu_indices(n, 1)
    fit = TermSum([MeasuredTerm(Entries(i, j, n), LeastSquares(rng.uniform(-1.0, 1.0, len(i))), 1.0)])
    limits = [constraints.distances([0], [1], 0.0, n=n), constraints.diagonal(n, upper=1.0)]
    hard = Constrained(fit, limits)
    _, method, _ = choose(hard, None, None)
    assert isinstance(method, LagrangeNewton)
    result = solve(hard, rng=0)
    M = result.matrix.to_dense()
    assert result.status is Status.OPTIMAL
    assert result.iterations < 100
    assert abs(M[0, 0] + M[1, 1] - 2.0 * M[0, 1]) < 1e-6


def test_a_distance_on_a_face_is_no_matter_for_its_dual(rng):
    """⟨11ᵀ, M⟩ = 0 leaves a face, on which the dual of the distance has no minimiser: 971 steps of DualNewton."""
    n = 30
    G = rng.standard_normal((n, n))
    distance = QuadraticSDP(B=0.5, C=-0.25 * (G + G.T))
    two = constraints.entries([0, 1], [1, 2], n, lower=0.1, upper=0.1)
    hard = Constrained(distance, [constraints.sparse_forms([np.ones((n, n))], [0.0]), two])
    assert not isinstance(choose(hard, None, None)[1], DualNewton)
    assert isinstance(choose(hard, PSDCone(n), None)[1], DualNewton)  # a geometry that is given is kept
    assert isinstance(choose(Constrained(distance, two), None, None)[1], DualNewton)
    result = solve(hard, rng=0)
    assert result.status is Status.OPTIMAL
    assert result.iterations < 50
    assert abs(np.sum(result.matrix.to_dense())) < 1e-6


def triangles(n, rng):
    """Max-cut of a random graph with every triangle inequality, 4 (n over 3) of them beside n equations."""
    A = np.triu(rng.random((n, n)) < 0.5, 1)
    L = np.diag((A + A.T).sum(axis=0)) - (A + A.T)
    forms = []
    for i, j, k in itertools.combinations(range(n), 3):
        for s, t in itertools.product((1.0, -1.0), repeat=2):
            B = np.zeros((n, n))
            B[i, j], B[i, k], B[j, k] = s, t, s * t
            forms.append(sp.csr_array(B + B.T) / 2.0)
    groups = [constraints.diagonal(n, 1.0), constraints.sparse_forms(forms, lower=-np.ones(len(forms)))]
    return Constrained(QuadraticSDP(C=-L / 8.0), groups)


def test_many_inequalities_are_not_split(rng):
    """Few of many triangle inequalities hold with equality, and splitting the dual was slow to tell which."""
    small = triangles(8, rng)
    assert isinstance(choose(small, None, None)[1], InteriorPoint)
    result = solve(small)
    assert result.status is Status.OPTIMAL
    assert isinstance(choose(triangles(14, rng), None, None)[1], AugmentedLagrangian)
    other = solve(small, method=AugmentedLagrangian())
    assert other.status is Status.OPTIMAL
    assert other.value == pytest.approx(result.value, rel=1e-5)


def test_a_curved_function_under_constraints_is_solved_by_newton_on_factor_and_multipliers():
    """Nearly contradictory bounds have large multipliers, for which a penalty would have to grow to rounding."""
    Q = np.random.default_rng(0).standard_normal((12, N))
    fit = TermSum([MeasuredTerm(QuadraticForms(Q), LeastSquares(np.arange(12.0)))])
    curved = Constrained(fit, constraints.trace(N, 1.0))
    assert isinstance(choose(curved, None, None)[1], LagrangeNewton)
    assert solve(curved, tol=1e-9).optimal
