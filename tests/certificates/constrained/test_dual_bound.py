"""Bounds of one vector of multipliers: formulas, without a bound on the trace, on a face, and where none is."""

import math

import numpy as np
import pytest

from psdopt import AutogradProblem, Constrained, QuadraticSDP, Status, TermSum, certify, constraints, solve
from psdopt.certificates.constrained.cone_bound import _plus_linear, cone_bound
from psdopt.certificates.constrained.dual_bound import Bounded, dual_bound
from psdopt.certificates.constrained.face_multipliers import handed_out
from psdopt.methods import AugmentedLagrangian, InteriorPoint
from psdopt.problems.composite import Composite
from psdopt.terms import LeastSquares, MeasuredTerm, QuadraticForms
from tests.constraints.faces.test_face import E, centred, hidden
from tests.instances import symmetric

N = 5


def bound_of(problem: Constrained, y: np.ndarray, Y: np.ndarray | None = None) -> Bounded:
    evaluation = problem.at(np.ones((N, 1)) if Y is None else Y)
    M = evaluation.factor @ evaluation.factor.T
    gradient = np.asarray(evaluation.gradient @ np.eye(N))
    offset = evaluation.value - float(np.sum(gradient * M))
    return dual_bound(problem, evaluation, offset, problem.admissible(y), 1e-9)


def test_with_a_bounded_trace_positive_eigenvalues_are_worth_nothing() -> None:
    problem = Constrained(QuadraticSDP(C=0.5 * np.eye(N)), constraints.trace(N, upper=3.0))
    assert bound_of(problem, np.array([1.0])).bound == pytest.approx(-3.0)
    assert bound_of(problem, np.array([-1.0])).bound == pytest.approx(0.0)  # y < 0 has no bound to push against
    turned = Constrained(QuadraticSDP(C=-0.5 * np.eye(N)), constraints.trace(N, upper=3.0))
    assert bound_of(turned, np.array([0.25])).bound == pytest.approx(-0.75 - 0.75 * 3.0)


def test_without_a_bound_on_the_trace_only_a_slack_that_is_psd_proves() -> None:
    C = symmetric(np.random.default_rng(3), N)
    problem = Constrained(QuadraticSDP(C=0.5 * C), constraints.entries([0, 0], [0, 1], N, 1.0))
    assert problem.trace_limit is None
    none = bound_of(problem, np.zeros(2))
    assert none.bound is None
    assert none.rank()[0] == -math.inf
    definite = Constrained(QuadraticSDP(C=0.5 * (C + 20.0 * np.eye(N))), problem.constraints)
    some = bound_of(definite, np.array([0.5, -0.25]))
    assert some.bound == pytest.approx(-0.25)
    assert some.rank() > none.rank()


def test_a_definite_objective_proves_without_a_bound_on_the_trace() -> None:
    """C = I and A*(y) = −y (E_01 + E_10)/2: S has least eigenvalue 1 − |y|/2, and θ y, θ = 2/|y|, the largest bound."""
    problem = Constrained(QuadraticSDP(C=0.5 * np.eye(N)), constraints.entries([0], [1], N, 3.0))
    assert problem.trace_limit is None
    assert bound_of(problem, np.array([-1.0])).bound == pytest.approx(3.0)
    found = bound_of(problem, np.array([-4.0]))
    assert found.bound == pytest.approx(6.0)  # tr M >= 2 |M_01|
    assert found.bound <= 6.0
    assert found.y == pytest.approx(np.array([-2.0]))
    assert np.linalg.eigvalsh(np.asarray(found.S @ np.eye(N)))[0] >= 0.0
    assert found.pair.lower_bound == 0.0


def test_rows_of_all_sizes_are_proven_psd_each_by_its_own_rounding() -> None:
    """λ_min(S) is 1e-22 |S|, and S is definite: no bound on the trace is needed."""
    D = 10.0 ** np.linspace(-11.0, 0.0, N)
    S = D[:, None] * (np.eye(N) + 0.1 * np.ones((N, N))) * D
    y = np.array([0.25])
    place = np.zeros((N, N))
    place[N - 1, N - 1] = 1.0
    problem = Constrained(QuadraticSDP(C=0.5 * (S - y[0] * place)), constraints.entries([N - 1], [N - 1], N, 1.0))
    found = bound_of(problem, y)
    assert found.bound == pytest.approx(-0.25)
    assert found.pair.lower_bound >= 0.0
    indefinite = S - y[0] * place
    indefinite[0, 1] = indefinite[1, 0] = 3.0 * D[0] * D[1]
    worse = Constrained(QuadraticSDP(C=0.5 * indefinite), problem.constraints)
    assert bound_of(worse, y).bound is None


def test_on_a_face_multipliers_of_its_own_rows_are_zero_and_the_rest_is_compressed() -> None:
    C = symmetric(np.random.default_rng(4), N)
    forms = [np.ones((N, N)), np.eye(N)]
    problem = Constrained(QuadraticSDP(C=0.5 * C), constraints.sparse_forms(forms, [0.0, 2.0]))
    found = bound_of(problem, np.array([1e6, -0.5]))
    assert np.array_equal(found.y, [0.0, -0.5])
    P = np.eye(N) - np.ones((N, N)) / N
    inside = np.linalg.eigvalsh(P @ (C - 0.5 * np.eye(N)) @ P + 1e3 * np.ones((N, N)) / N)[0]
    assert found.bound == pytest.approx(1.0 + 2.0 * min(inside, 0.0), rel=1e-7)
    optimum = solve(problem, tol=1e-8).value
    assert found.bound <= optimum + 1e-7 * abs(optimum)


@pytest.mark.parametrize("size", [0.3, 4.0])
@pytest.mark.parametrize("rho", [0.2, 3.0])
@pytest.mark.parametrize("least", [-2.5, -0.3, 0.4])
def test_a_strongly_convex_function_has_a_bound_where_the_slack_is_not_psd(size, rho, least) -> None:
    """min F on the cone, −|C₋|²/(2 rho), if λ_min(S) < 0, without a bound on the trace; the base alone where S ⪰ 0."""
    M = size * np.diag([1.0, 2.0, 0.0, 0.0, 0.0])
    C = np.diag([1.0, 2.0, least, 3.0, 3.0]) - rho * M  # ∇F(M) = C + rho M
    problem = Constrained(QuadraticSDP(B=0.5 * rho, C=0.5 * C), constraints.entries([0], [1], N, 0.0))
    assert problem.trace_limit is None
    Y = np.sqrt(M)[:, :2]
    found, value = bound_of(problem, np.zeros(1), Y), problem.at(Y).value
    assert found.base == pytest.approx(value - 5.0 * size)
    expected = found.base if least > 0.0 else -np.sum(np.minimum(np.diagonal(C), 0.0) ** 2) / (2.0 * rho)
    assert found.bound == pytest.approx(expected, rel=1e-9)
    assert found.bound <= value
    assert found.pair.lower_bound == pytest.approx(least, rel=1e-10)


ORDER = 6


def free(face: bool, kind: str = "quadratic", weight: float = 1.0) -> Constrained:
    """Constraints that leave tr M free beside a curved F."""
    rng = np.random.default_rng(0)
    G, X = rng.standard_normal((ORDER, ORDER)), rng.standard_normal((30, ORDER))
    if kind == "quadratic":
        F = QuadraticSDP(A=G @ G.T + np.eye(ORDER), B=np.diag([1.0, 2.0, 1.0, 3.0, 1.0, 1.0]), C=-weight * (G + G.T))
    elif kind == "fit":
        F = TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(rng.standard_normal(30)))])
    else:
        F = AutogradProblem(lambda M: ((M - G - G.T) ** 4).sum(), ORDER, convex=True)
    groups = [constraints.entries([0, 1], [1, 2], ORDER, [0.0, 0.5])]
    return Constrained(F, [*groups, constraints.distances([3], [4], 0.0, n=ORDER)] if face else groups)


@pytest.mark.parametrize("kind", ["quadratic", "fit", "autograd"])
@pytest.mark.parametrize("face", [False, True])
def test_curved_objectives_are_proven_optimal_without_a_bound_on_the_trace(kind, face) -> None:
    problem = free(face, kind)
    assert problem.trace_limit is None
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.certificate.gap_relative <= 1e-6
    assert result.certificate.constraints.trace_bound is None
    bounded = solve(Constrained(problem.problem, problem.constraints, trace_bound=10.0 * result.matrix.trace()))
    assert bounded.value == pytest.approx(
        result.value, abs=2e-6 * max(abs(result.value), abs(result.value - problem.value_at_zero()))
    )


@pytest.mark.parametrize("face", [False, True])
def test_the_bound_is_below_feasible_values_whatever_the_multipliers(face) -> None:
    problem, rng = free(face), np.random.default_rng(1)
    best = solve(problem, tol=1e-8)
    found = 0
    for scale in (0.0, 1e-3, 1.0, 100.0):
        y = best.certificate.constraints.multipliers + scale * rng.standard_normal(problem.m)
        bound = cone_bound(problem, best.matrix.factor, y, 1e-3 * abs(best.value))
        found += bound is not None
        assert bound is None or bound <= best.value + 1e-8 * abs(best.value)
    assert found >= 2


def test_none_where_none_is() -> None:
    linear = Constrained(QuadraticSDP(C=np.eye(ORDER)), constraints.entries([0], [1], ORDER, 1.0))
    Y, y = np.eye(ORDER), np.zeros(1)
    assert cone_bound(linear, Y, y, 1.0) is None
    F = AutogradProblem(lambda M: ((M - 1.0) ** 4).sum(), ORDER)  # not said to be convex
    assert cone_bound(Constrained(F, linear.constraints), Y, y, 1.0) is None
    flat = Constrained(QuadraticSDP(A=np.diag([1.0] * 5 + [0.0]), C=-np.eye(ORDER)), linear.constraints)
    assert cone_bound(flat, Y, y, 1.0) is None  # F falls without end along the last coordinate
    assert certify(flat, Y, dual=y).gap is None


def test_a_linear_part_is_a_term_of_a_sum_and_an_own_problem_elsewhere() -> None:
    """A sum whose evaluations are its own keeps them."""

    class Own(TermSum):
        def at(self, Y):
            return super().at(Y)

    rng = np.random.default_rng(0)
    A, Y = np.diag([1.0, -2.0, 3.0]), rng.standard_normal((3, 2))
    terms = [MeasuredTerm(QuadraticForms(rng.standard_normal((5, 3))), LeastSquares(np.ones(5)))]
    for F, kind in (
        (TermSum(terms, 2.0), TermSum),
        (Own(terms, 2.0), Composite),
        (QuadraticSDP(None, 1.0, np.eye(3)), None),
    ):
        L = _plus_linear(F, A)
        assert kind is None or type(L) is kind
        assert L.at(Y).value == pytest.approx(F.at(Y).value + np.sum(A * (Y @ Y.T)), rel=1e-12)


def test_multipliers_are_handed_out_with_a_slack_that_is_semidefinite_to_tolerance() -> None:
    for problem in (hidden(E(0, 0, 100.0) + E(3, 3) + E(1, 2, 7.0)), centred(6, np.ones(6))):
        for method in (InteriorPoint(), AugmentedLagrangian()):
            certificate = solve(problem, method=method).certificate
            y, C = certificate.constraints.multipliers, problem.conic.C.toarray()
            low = np.linalg.eigvalsh(problem.conic.slack(y).toarray())[0]
            assert low >= -1e-6 * (1.0 + np.abs(C).max())
            assert np.linalg.eigvalsh(problem.conic.slack(0.0 * y).toarray())[0] < -0.1
            again = certify(problem, solve(problem, method=method).matrix, dual=y)
            assert again.proves(1e-6)
            assert again.dual_value == pytest.approx(certificate.dual_value, rel=1e-6, abs=1e-6)


def test_the_multiples_of_a_face_of_a_face_are_of_growing_size() -> None:
    """M_00 = 0, so that M_01 = 0 and M_11 + 2 M_01 = 0 says M_11 = 0: no multiple of both rows is enough alone."""
    rows = constraints.sparse_forms([E(0, 0), E(1, 1) + E(0, 1)], [0.0, 0.0])
    problem = Constrained(
        QuadraticSDP(C=E(0, 2) + E(1, 2) + E(3, 3) + E(2, 2, 1e-3)), [rows, constraints.trace(4, 1.0)]
    )
    assert len(problem.face.stages) == 2
    y = handed_out(problem, problem.at(np.eye(4)), np.zeros(3), np.zeros(3), 0.0, 1e-3)
    assert y[0] > y[1] > 0.0
    assert np.linalg.eigvalsh(problem.conic.slack(y).toarray())[0] >= -1e-3


def six_hump_camel() -> Constrained:
    """tr of the Gram matrix of the camel's sum of squares, whose y³, x y² and x² y vanish one after the other."""
    monomials = [(i, j) for i in range(4) for j in range(4 - i)]
    camel = {(2, 0): 4.0, (4, 0): -2.1, (6, 0): 1.0 / 3.0, (1, 1): 1.0, (0, 2): -4.0, (0, 4): 4.0}
    sums: dict[tuple[int, int], np.ndarray] = {}
    for r, (i, j) in enumerate(monomials):
        for s, (k, m) in enumerate(monomials):
            sums.setdefault((i + k, j + m), np.zeros((10, 10)))[r, s] += 1.0
    first = sums.pop((0, 0))
    b = np.array([camel.get(degrees, 0.0) for degrees in sums])
    return Constrained(QuadraticSDP(C=0.5 * first), [constraints.sparse_forms(list(sums.values()), b)])


@pytest.mark.parametrize("method", [InteriorPoint(), None])
def test_a_face_of_a_face_has_multipliers_of_the_whole_cone(method) -> None:
    """The multipliers are moments: those of degrees that vanish on the face are none of the face's problem."""
    problem = six_hump_camel()
    result = solve(problem, method=method)
    assert result.status is Status.OPTIMAL
    assert problem.face.order == 7
    assert result.value == pytest.approx(1.0316284535, abs=1e-6)
    certificate = result.certificate
    y = certificate.constraints.multipliers
    assert np.linalg.eigvalsh(problem.conic.slack(y).toarray())[0] >= -1e-6
    assert certificate.constraints.dimacs["dual"] <= 1e-6
    assert certificate.dual_value == pytest.approx(1.0316284535, abs=1e-6)


def test_a_path_begins_on_a_face_that_needs_no_search() -> None:
    """It took 36 steps on the whole cone before."""
    assert solve(six_hump_camel(), method=InteriorPoint()).iterations <= 15


def test_inequalities_that_define_a_face_get_multipliers_of_their_sign() -> None:
    """M_00 <= 0 and ⟨A, M⟩ >= 0 for −A ⪰ 0 on rows 1, 2: M = 0 there; min 2 M_03 + 2 M_13 + M_33 at tr M = 1."""
    A = -(E(1, 1, 2.0) + E(2, 2, 2.0) + E(1, 2))
    rows = constraints.sparse_forms([E(0, 0), A], lower=[-np.inf, 0.0], upper=[0.0, np.inf])
    problem = Constrained(QuadraticSDP(C=E(0, 3, 2.0) + E(1, 3, 2.0) + E(3, 3)), [rows, constraints.trace(4, 1.0)])
    certificate = solve(problem).certificate
    y = certificate.constraints.multipliers
    assert certificate.proves(1e-6)
    np.testing.assert_array_equal(problem.admissible(y), y)
    assert y[0] > 0.0 > y[1]
    assert np.linalg.eigvalsh(problem.conic.slack(y).toarray())[0] >= -1e-5
