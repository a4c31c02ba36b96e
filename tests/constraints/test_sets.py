"""Constraints in sets: boxes, points and second-order cones, solved, proven, refuted, and refused."""

import cvxpy as cp
import numpy as np
import pytest

from psdopt import (
    AutogradProblem,
    Constrained,
    Constraint,
    QuadraticSDP,
    Status,
    TermSum,
    certify,
    compatible,
    constraints,
    solve,
)
from psdopt.certificates.constrained.recession import proven_ray
from psdopt.constraints import Box, SecondOrder, SparseForms, Stacked, Trace, Zero, norm_bound
from psdopt.errors import IncompatibleError, InvalidInputError, InvalidTypeError
from psdopt.geometries import FlatQuotient, PSDCone
from psdopt.methods import (
    AugmentedLagrangian,
    BoundaryPoint,
    DualNewton,
    InteriorPoint,
    SphereGradient,
)
from psdopt.terms import LinearTerm, LogDet
from psdopt.terms.measurements import Entries, PairDistances
from psdopt.testing import parametrize_with_checks
from psdopt.testing.constrained import DenseConstraints, conic_optimum
from psdopt.testing.gallery import cone_problems
from tests.instances import symmetric

N = 5
ROWS, COLS = np.triu_indices(N)
ALL = Entries(ROWS, COLS, N)
COUNT = len(ROWS)
METHODS = [None, InteriorPoint(), BoundaryPoint(), AugmentedLagrangian()]
named = pytest.mark.parametrize("method", METHODS, ids=lambda m: "chosen" if m is None else m.name)


def linear(seed: int, *groups: Constraint) -> Constrained:
    return Constrained(QuadraticSDP(C=0.5 * symmetric(np.random.default_rng(seed), N)), list(groups))


def target(seed: int) -> np.ndarray:
    """All entries of a semidefinite matrix of rank two, with errors."""
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((N, 2))
    return (Y @ Y.T)[ROWS, COLS] + 0.3 * rng.standard_normal(COUNT)


def mixed(seed: int) -> Constrained:
    """Two cones of different sizes with values that all depend on M, an equation and an inequality."""
    rng = np.random.default_rng(seed)
    forms = SparseForms.of([np.eye(N), *(symmetric(rng, N) for _ in range(6))])
    held = Stacked([forms, norm_bound(ALL, target(seed), 4.0).measurement])
    offset = np.concatenate([[-8.0], rng.standard_normal(6), [-4.0], target(seed)])
    cones = Constraint(held, SecondOrder(offset, sizes=[7, COUNT + 1]), name="cones")
    return linear(seed, cones, constraints.entries([0], [1], N, upper=0.1), constraints.entries([2], [2], N, 1.0))


#: A fifth of the trace, and all entries, whose norm is larger for every M far away.
SHARE = Stacked([SparseForms.of([0.2 * np.eye(N)]), ALL])
INSTANCES = {
    "ball": linear(0, norm_bound(ALL, target(0), 2.5)),
    "small ball": linear(1, norm_bound(Entries([0, 1, 2], [0, 1, 2], N), 1.0, 1e-3), constraints.trace(N, upper=9.0)),
    "norm below a share of the trace": linear(2, Constraint(SHARE, SecondOrder(np.append(-1.0, target(2))))),
    "mixed": mixed(3),
}


@named
@pytest.mark.parametrize("name", INSTANCES)
def test_answers_agree_with_a_conic_solver(name, method) -> None:
    problem = INSTANCES[name]
    optimum = conic_optimum(problem)
    result = solve(problem, method=method, tol=1e-6)
    assert result.optimal
    assert result.value == pytest.approx(optimum.value, rel=1e-5, abs=1e-5)
    certificate, dense = result.certificate, DenseConstraints(problem)
    M = result.matrix.to_dense()
    assert certificate.constraints.primal_infeasibility == pytest.approx(
        dense.relative_violation(M), rel=1e-6, abs=1e-15
    )
    y = certificate.constraints.multipliers
    assert np.array_equal(y, problem.admissible(y))
    S = 2.0 * problem.problem.C.to_dense() + dense.adjoint(y)
    assert np.linalg.eigvalsh(S)[0] >= -1e-5 * np.linalg.norm(S)


@pytest.mark.parametrize("name", INSTANCES)
def test_no_multipliers_prove_too_much(name) -> None:
    """Bad multipliers, outside of the dual cone and of any size, give valid bounds or none."""
    problem, rng = INSTANCES[name], np.random.default_rng(7)
    optimum = conic_optimum(problem).value
    best = solve(problem, tol=1e-7)
    y = best.certificate.constraints.multipliers
    inner = problem.cones.groups[0][0]
    pulled = y.copy()
    pulled[inner[0]] = 0.0  # the price of the radius is left out
    turned = y.copy()
    turned[inner[1:]] = -y[inner[1:]]
    tries = [
        pulled,
        turned,
        -y,
        2.0 * y,
        *(10.0 ** rng.uniform(-2, 2) * rng.standard_normal(problem.m) for _ in range(20)),
    ]
    for each in tries:
        found = certify(problem, best.matrix.factor, dual=each)
        if found.dual_value is not None:
            assert found.dual_value <= optimum + 1e-5 * max(1.0, abs(optimum))
        assert not found.infeasible
    for each in (turned, -y):
        assert not certify(problem, best.matrix.factor, dual=each).proves(1e-4)


EMPTY = norm_bound(Entries([0, 0, 1], [0, 1, 1], N), np.array([-2.0, 0.3, 1.0]), 1.5)


@pytest.mark.parametrize(("method", "definite"), [
    *((method, True) for method in METHODS), (InteriorPoint(), False), (AugmentedLagrangian(), False),
])  # fmt: skip
def test_a_ball_without_semidefinite_matrices_is_proven_empty(method, definite) -> None:
    """M_00 <= −0.5, with a definite C or one that falls along rows without constraints."""
    problem = Constrained(QuadraticSDP(C=np.eye(N)), EMPTY) if definite else linear(0, EMPTY)
    result = solve(problem, method=method)
    assert result.status is Status.INFEASIBLE
    y = result.certificate.constraints.infeasibility_proof
    dense = DenseConstraints(problem)
    assert dense.support(y) < 0.0
    assert np.linalg.eigvalsh(dense.adjoint(y))[0] >= 0.0


@pytest.mark.parametrize("name", INSTANCES)
def test_cones_bound_the_trace(name) -> None:
    """A constant radius does, and so does a norm that outgrows the other side; no feasible matrix exceeds it."""
    problem = INSTANCES[name]
    limit, most = problem.trace_limit, DenseConstraints(problem).largest_trace
    assert (1.0 - 1e-6) * most <= limit.value <= 20.0 * most
    w = limit.weights
    assert np.allclose(w, problem.admissible(w), rtol=1e-14, atol=0.0)
    assert np.linalg.eigvalsh(DenseConstraints(problem).adjoint(w))[0] >= 1.0 - 1e-12
    assert problem.support(w) <= limit.value * (1.0 + 1e-12)


@named
def test_a_ball_that_leaves_directions_open_is_proven_unbounded(method) -> None:
    C = np.diag([1.0, 1.0, 1.0, 1.0, -1.0])
    problem = Constrained(QuadraticSDP(C=C), norm_bound(Entries([0, 0, 1], [0, 1, 1], N), 1.0, 0.5))
    result = solve(problem, method=method)
    assert result.status is Status.UNBOUNDED
    R = result.certificate.constraints.ray
    D = R @ R.T
    assert np.trace(C @ D) < 0.0
    assert np.allclose(problem.measured(R), 0.0, atol=1e-12)


def test_a_direction_counts_only_if_its_values_are_in_the_cone() -> None:
    """Along D = (e + f)(e + f)ᵀ, |k M_01| <= M_00 + M_11 holds for k = 1 and not for k = 3, and ⟨C, D⟩ < 0."""
    C, e = np.array([[1.0, -1.2], [-1.2, 1.0]]), np.ones((2, 1))
    problems = {}
    for k in (1.0, 3.0):
        values = SparseForms([0, 1, 0], [0, 1, 1], np.array([[1.0, 1.0, 0.0], [0.0, 0.0, k]]), 2)
        problems[k] = Constrained(QuadraticSDP(C=C), Constraint(values, SecondOrder([-1.0, 0.0])))
    assert solve(problems[1.0]).status is Status.UNBOUNDED
    assert proven_ray(problems[1.0], e) is not None
    assert proven_ray(problems[3.0], e) is None
    tight = solve(problems[3.0])
    assert tight.optimal
    assert tight.value == pytest.approx(conic_optimum(problems[3.0]).value, abs=1e-6)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # of the other solver, which has no interior here
def test_a_face_beside_a_cone_contradicts_nothing() -> None:
    """On the face 1ᵀM1 = 0 the constant first value of the ball vanishes too, as everywhere."""
    centred = constraints.sparse_forms([np.ones((N, N))], 0.0)
    P = np.eye(N) - 1.0 / N
    near = P @ np.diag(np.arange(1.0, N + 1.0)) @ P
    problem = linear(4, centred, norm_bound(ALL, near[ROWS, COLS], 1.0))
    assert problem.face is not None
    result = solve(problem, tol=1e-6)
    assert result.optimal
    if (other := conic_optimum(problem)) is not None:  # on some processors Clarabel has no accurate answer
        assert result.value == pytest.approx(other.value, rel=1e-4)


def test_log_dets_in_a_ball() -> None:
    """−log det M with all entries of M in a ball around a matrix, against the conic solver."""
    b, C = np.where(ROWS == COLS, 2.0, 0.1), np.diag(np.arange(1.0, N + 1.0))
    problem = Constrained(TermSum([LinearTerm(C), LogDet(N)]), norm_bound(ALL, b, 1.0))
    result = solve(problem, tol=1e-7)
    assert result.optimal
    M = cp.Variable((N, N), PSD=True)
    held = cp.hstack([M[i, j] for i, j in zip(ROWS, COLS, strict=True)]) - b
    expected = cp.Problem(cp.Minimize(cp.trace(C @ M) - cp.log_det(M)), [cp.norm(held) <= 1.0]).solve(
        solver=cp.SCS, eps=1e-8
    )
    assert result.value == pytest.approx(expected, abs=1e-4)


def test_a_curved_objective_in_a_ball() -> None:
    A = symmetric(np.random.default_rng(1), N)
    problem = Constrained(QuadraticSDP(A @ A.T, 0.5, A), norm_bound(ALL, target(5), 2.5))
    result = solve(problem, tol=1e-6)
    assert result.optimal
    assert result.value == pytest.approx(conic_optimum(problem).value, rel=1e-4)
    smooth = AutogradProblem(lambda M: (M * M).sum() - 3.0 * M.trace(), N, convex=True)
    ball = Constrained(smooth, norm_bound(ALL, target(5), 2.5))
    assert solve(ball, tol=1e-4).certificate.constraints.primal_infeasibility <= 1e-4


@pytest.mark.parametrize(("method", "geometry"), [
    (SphereGradient(), FlatQuotient(N, 2)), (DualNewton(), PSDCone(N)),
])  # fmt: skip
def test_methods_without_cones_refuse_them(method, geometry) -> None:
    near = Constrained(QuadraticSDP(None, 0.5, np.eye(N)), [constraints.diagonal(N, 1.0), norm_bound(ALL, 0.0, 9.0)])
    assert not compatible(near, geometry, method)
    with pytest.raises(IncompatibleError, match="Constrained lacks"):
        solve(near, geometry, method)


def test_sparse_cliques_keep_the_cone() -> None:
    """A chain of 90 rows, which is split into cliques, with its entries in a ball."""
    n = 90
    i = np.concatenate([np.arange(n), np.arange(n - 1)])
    j = np.concatenate([np.arange(n), np.arange(1, n)])
    C = np.diag(np.full(n - 1, 1.0), 1)
    problem = Constrained(QuadraticSDP(C=C + C.T), norm_bound(Entries(i, j, n), np.where(i == j, 1.0, 0.0), 2.0))
    assert problem.conic.split is not None
    result = solve(problem, method=InteriorPoint(), tol=1e-6)
    assert result.optimal
    assert np.linalg.norm(problem.measured(result.matrix.factor)[1:] - np.where(i == j, 1.0, 0.0)) <= 2.0 + 1e-6


def test_a_warm_start_takes_multipliers_of_cones() -> None:
    problem = INSTANCES["mixed"]
    first = solve(problem, method=InteriorPoint())
    again = solve(problem, method=InteriorPoint(), start=first.matrix, dual=first.certificate.constraints.multipliers)
    assert again.optimal
    assert again.iterations < first.iterations


def test_boxes_and_points_are_the_bounds_that_they_spell() -> None:
    low, high = np.linspace(-1.0, 0.0, COUNT), np.linspace(1.0, 2.0, COUNT)
    plain, box = Constraint(ALL, low, high), Constraint(ALL, Box(low, high))
    assert np.array_equal(plain.lower, box.lower)
    assert np.array_equal(plain.upper, box.upper)
    assert np.all(Constraint(ALL, Box(upper=2.0)).lower == -np.inf)
    point = Constraint(ALL, Zero(low), name="point")
    assert np.array_equal(point.lower, low)
    assert np.array_equal(point.upper, low)
    assert point.name == "point"
    assert np.all(Constraint(ALL, Zero()).upper == 0.0)
    assert repr(Constraint(ALL, SecondOrder(sizes=[5, 10]))) == "Constraint(Entries, m=15, equations=0, cones=2)"
    assert repr(SecondOrder(1.0, [2, 3])) == "SecondOrder(1.0, sizes=(2, 3))"
    assert (repr(Box(0.0, 1.0)), repr(Zero(2.0))) == ("Box(0.0, 1.0)", "Zero(2.0)")


def test_a_radius_of_zero_leaves_equations() -> None:
    group = norm_bound(ALL, target(0), 0.0)
    assert group.cones is None
    assert np.array_equal(group.lower, target(0))
    assert np.array_equal(group.upper, target(0))


def test_measurements_without_entries_can_be_in_a_ball() -> None:
    """Distances between rows of data, whose forms are not written out: the augmented Lagrangian alone takes them."""
    rng = np.random.default_rng(3)
    X, i = rng.standard_normal((20, 4)), np.arange(10)
    far = PairDistances(i, i + 10, X)
    problem = Constrained(QuadraticSDP(B=1.0, C=np.zeros((4, 4))), norm_bound(far, 1.0, 0.5))
    assert problem.forms is None
    result = solve(problem, tol=1e-6)
    assert result.optimal
    assert np.linalg.norm(problem.measured(result.matrix.factor)[1:] - 1.0) == pytest.approx(0.5, rel=1e-5)
    assert result.value == pytest.approx(conic_optimum(problem).value, rel=1e-4)


@pytest.mark.parametrize(("make", "error", "words"), [
    (lambda: Constraint(ALL, SecondOrder(sizes=[5, 9])), InvalidInputError, "15 in all.*found .5, 9., 14 in all"),
    (lambda: Constraint(Trace(N), SecondOrder()), InvalidInputError, "at least 2 each"),
    (lambda: SecondOrder(sizes=[1, 14]), InvalidInputError, "at least 2"),
    (lambda: SecondOrder(sizes=3), InvalidTypeError, "sequence"),
    (lambda: SecondOrder(np.nan), InvalidInputError, "offset"),
    (lambda: SecondOrder(np.zeros((2, 2))), InvalidInputError, "vector"),
    (lambda: Constraint(ALL, SecondOrder(np.zeros(3))), InvalidInputError, "length 15"),
    (lambda: Constraint(ALL, Zero(1.0), 2.0), InvalidTypeError, "only set"),
    (lambda: Constraint(ALL, 0.0, Box(0.0, 1.0)), InvalidTypeError, "place of lower"),
    (lambda: Constraint(ALL, Box(1.0, 0.0)), InvalidInputError, "lower must not exceed upper"),
    (lambda: norm_bound(ALL, np.zeros(3), 1.0), InvalidInputError, "center must be"),
    (lambda: norm_bound(ALL, 0.0, -1.0), InvalidInputError, "radius"),
    (lambda: norm_bound(constraints.trace(N, 1.0), 0.0, 1.0), InvalidTypeError, "measurement"),
])  # fmt: skip
def test_what_is_no_set_is_refused(make, error, words) -> None:
    with pytest.raises(error, match=words):
        make()


def test_a_cone_that_no_matrix_reaches_is_refused() -> None:
    zero = SparseForms([0], [0], np.zeros((1, 1)), N)
    with pytest.raises(InvalidInputError, match="a cone where it is at least 1"):
        linear(0, Constraint(Stacked([zero, ALL]), SecondOrder(np.append(1.0, np.zeros(COUNT)))))


#: With a trace bound of its own: one that is implied may change, within what is true, if a constraint is given twice.
STATED = Constrained(INSTANCES["mixed"].problem, INSTANCES["mixed"].constraints, trace_bound=40.0)


@parametrize_with_checks([*cone_problems().values(), STATED])
def test_conformance(check):
    check()


@pytest.mark.parametrize("seed", [10, 12, 19])
def test_a_valley_that_leads_nowhere_is_proven_unbounded_once_m_has_grown(seed) -> None:
    """Steps that follow a bent valley ended without progress, at values of −1e12, with the ray before their eyes."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8))
    d = rng.normal(size=n)
    d[-1] = -abs(d[-1]) * 10.0 ** rng.integers(-2, 2)
    i, j = np.triu_indices(n - 1)
    few = rng.choice(i.size, size=min(i.size, int(rng.integers(1, n)) + 1), replace=False)
    bounded = norm_bound(Entries(i[few], j[few], n), *((1.0, 0.5) if seed % 2 else (0.0, 1.0)))
    result = solve(Constrained(QuadraticSDP(C=np.diag(d)), bounded), method=AugmentedLagrangian(), rng=0)
    assert result.status is Status.UNBOUNDED
