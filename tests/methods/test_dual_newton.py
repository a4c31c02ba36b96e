"""Semismooth Newton on multipliers: the nearest correlation matrix and its kin."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg

from psdopt import Constrained, FlatQuotient, Outcome, PSDCone, QuadraticSDP, Status, certify, constraints, solve
from psdopt.certificates.constrained.scales import relative_violation
from psdopt.certificates.scales import stationarity_scale
from psdopt.constraints.measurements import SparseForms
from psdopt.linalg.arrays import SymmetricPattern
from psdopt.methods import AugmentedLagrangian, DualNewton, dual_newton
from psdopt.methods.dual_newton import DualNewtonState, _parts_of, decomposed
from psdopt.methods.nearest import newton_direction


def correlation(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    G = rng.uniform(-1.0, 1.0, (n, n))
    G = 0.5 * (G + G.T)
    np.fill_diagonal(G, 1.0)
    return G


def nearest(G: np.ndarray, *groups) -> Constrained:
    """|M − G|² − |G|²."""
    return Constrained(QuadraticSDP(B=1.0, C=-G), list(groups) or constraints.diagonal(len(G), 1.0))


def test_convergence_is_quadratic_at_the_end() -> None:
    result = solve(nearest(correlation(40)), PSDCone(40), DualNewton(), tol=1e-12, max_iterations=30)
    errors = result.history["infeasibility"]
    last = errors[errors < 1e-2]
    assert result.iterations <= 12
    assert last[1] <= 0.05 * last[0]
    assert last[2] <= 0.05 * last[1]


def test_fixed_entries_without_a_trace_bound_are_certified_by_curvature() -> None:
    G = correlation(8, 3)
    problem = nearest(G, constraints.entries([0, 1, 2], [0, 1, 5], 8, [1.0, 2.0, 0.3]))
    result = solve(problem)
    assert problem.trace_limit is None
    assert result.method == "DualNewton"
    assert result.status is Status.OPTIMAL
    other = solve(problem, FlatQuotient(8, 8), AugmentedLagrangian(), tol=1e-5)
    assert other.value == pytest.approx(result.value, rel=1e-4)


def test_contradictory_equations_are_not_optimal() -> None:
    problem = nearest(correlation(4), constraints.entries([0], [0], 4, -1.0))
    assert solve(problem).status is Status.INFEASIBLE


def weighted(n: int = 5) -> tuple[Constrained, np.ndarray, list[np.ndarray], np.ndarray]:
    """(3.4/2) |M|² + ⟨C, M⟩ with ⟨A_t, M⟩ = b_t, the A_t of different norms: problem, C, A and b."""
    rng = np.random.default_rng(11)
    C = rng.standard_normal((n, n))
    C = C + C.T
    A = [np.zeros((n, n)) for _ in range(4)]
    A[0][0, 0], A[1][2, 2] = 5.0, 0.1
    A[2][0, 1] = A[2][1, 0] = 2.0
    A[3][1, 3] = A[3][3, 1] = A[3][3, 3] = -1.0
    b = np.array([5.0, 0.2, 0.7, -1.5])
    problem = Constrained(QuadraticSDP(B=1.7, C=0.5 * C), constraints.sparse_forms(A, b))
    return problem, C, A, b


def primal(C, A, y):
    """Π(−C − A*(y))/rho, its eigenvalues and |Π|²/(2 rho)."""
    values, V = np.linalg.eigh(-C - sum(w * each for w, each in zip(y, A, strict=True)))
    up = np.maximum(values, 0.0)
    return (V * up) @ V.T / 3.4, values, float(up @ up) / 6.8


def at_multipliers(problem: Constrained, y: np.ndarray, step: float = 0.0) -> DualNewtonState:
    parts = _parts_of(problem)
    return DualNewton()._at(parts, PSDCone(problem.n), y, step, decomposed(parts, y))


def test_what_is_known_at_multipliers() -> None:
    problem, C, A, b = weighted()
    y = np.array([0.3, -0.4, 0.2, 0.5])
    state = at_multipliers(problem, y, 0.25)
    M, values, half = primal(C, A, y)
    np.testing.assert_allclose(state.evaluation.matrix.to_dense(), M, atol=1e-12)
    np.testing.assert_allclose(state.known[0], values, atol=1e-12)
    assert state.known[2] == pytest.approx(half + y @ b, rel=1e-12)
    assert state.extras["dual_bound"] == pytest.approx(-state.known[2], rel=1e-12)
    off = relative_violation(problem, problem.measured(state.evaluation.factor), state.evaluation.factor)
    assert state.extras["infeasibility"] == off
    value = 1.7 * np.sum(M * M) + np.sum(C * M)
    unit = problem.duality.value_unit(value, float(np.trace(M)))
    relative = max(off, abs(value + state.known[2]) / unit)
    scale = stationarity_scale(problem, state.evaluation.value, state.evaluation.size)
    assert state.gradient_norm == pytest.approx(2.0 * relative * scale, rel=1e-9)
    assert (state.step, state.outcome, state.dual.ray) == (0.25, Outcome.RUNNING, None)


@pytest.mark.parametrize("share", [1e-7, 1e-2])
def test_directions_solve_the_damped_newton_system_in_units_of_the_constraints(share) -> None:
    """(H + delta I) d = r, H the derivative of A(M(y)) by y; as accurate as the residual is small."""
    _, C, A, b = weighted()
    y, h = np.array([0.3, -0.4, 0.2, 0.5]), 1e-6
    for shift in (-3.0, 0.0, 3.0):  # few positive eigenvalues, and few others
        moved = Constrained(QuadraticSDP(B=1.7, C=0.5 * (C + shift * np.eye(5))), constraints.sparse_forms(A, b))
        method = DualNewton()
        state = at_multipliers(moved, y)
        scale = 1.0 / moved.norms

        def at(z, shift=shift):
            M = primal(C + shift * np.eye(5), A, z)[0]
            return np.array([np.sum(each * M) for each in A])

        H = -np.array([(at(y + h * e) - at(y - h * e)) / (2.0 * h) for e in np.eye(4)]).T
        H = scale[:, None] * H * scale
        r = np.array([1.0, -2.0, 0.5, 1.5])
        r *= share * np.linalg.norm(scale * b) / np.linalg.norm(r)
        damping = 1e-3 * share / 3.4
        d = newton_direction(_parts_of(moved), *state.known[:2], r, method.inner)
        left = np.linalg.norm(H @ d + damping * d - r)
        assert left <= (min(0.1, share) + 1e-5) * np.linalg.norm(r)
        if share < 1e-3:
            np.testing.assert_allclose(d, np.linalg.solve(H + damping * np.eye(4), r), rtol=1e-3)


def test_a_step_descends_by_armijo_along_the_direction() -> None:
    problem, C, A, b = weighted()
    method = DualNewton()
    state = method.init(problem, PSDCone(5), None)
    np.testing.assert_array_equal(state.y, np.zeros(4))
    for _ in range(30):
        after = method.step(state)
        if after.outcome is not Outcome.RUNNING:
            break
        scale = 1.0 / problem.norms
        residual = scale * (problem.measured(state.evaluation.factor) - b)
        np.testing.assert_allclose(state.residual, residual, rtol=1e-12, atol=1e-15)
        d = scale * newton_direction(_parts_of(problem), *state.known[:2], residual, method.inner)
        np.testing.assert_allclose(after.y, state.y + after.step * d, atol=1e-10)
        gradient = b - problem.measured(state.evaluation.factor)
        rounding = 8.0 * np.finfo(float).eps * abs(state.known[2])
        assert after.known[2] <= state.known[2] + 1e-4 * after.step * (gradient @ d) + rounding
        assert np.log2(after.step) == round(np.log2(after.step)) <= 0.0
        state = after
    M = primal(C, A, state.y)[0]
    np.testing.assert_allclose([np.sum(each * M) for each in A], b, atol=1e-8)


def test_multipliers_much_larger_than_the_objective_are_tried_as_a_proof() -> None:
    problem = nearest(correlation(3), constraints.entries([0, 1], [0, 1], 3, [-1.0, 1.0]))
    size = np.linalg.norm(problem.nearest.C)
    for share, tried in ((2.0, False), (100.0, True)):
        state = at_multipliers(problem, np.array([share * size, 0.0]))
        assert (state.dual.ray is not None) == tried
        assert state.outcome is (Outcome.FINISHED if tried else Outcome.RUNNING)
    assert np.linalg.norm(problem.norms * state.dual.ray) == pytest.approx(1.0)


def nearly_singular(n: int) -> np.ndarray:
    """Correlations of five factors with little noise, their entries moved by up to 0.01."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 5)) @ rng.standard_normal((5, 2 * n)) + 0.01 * rng.standard_normal((n, 2 * n))
    E = np.triu(rng.uniform(-0.01, 0.01, (n, n)), 1)
    return np.corrcoef(X) + E + E.T


@pytest.fixture
def decompositions(monkeypatch) -> list[str]:
    """Names of all routines of NumPy and SciPy called that decompose a matrix of order above 9, in order."""
    found: list[str] = []

    def counted(name, routine):
        def call(A, *args, **kwargs):
            if len(A) >= 10:
                found.append(name)
            return routine(A, *args, **kwargs)

        return call

    for module in (np.linalg, scipy.linalg):
        for name in ("eigh", "eigvalsh", "svd", "qr", "cholesky"):
            monkeypatch.setattr(module, name, counted(name, getattr(module, name)))
    monkeypatch.setattr("psdopt.linalg.definite.dpotrf", counted("dpotrf", scipy.linalg.lapack.dpotrf))
    return found


@pytest.mark.parametrize("make", [correlation, nearly_singular])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [20, 90])
def test_a_run_decomposes_once_per_step_and_its_proof_not_at_all(make, weighted, n, decompositions) -> None:
    """An accepted trial's spectrum is the next step's, and its negative part proves S ⪰ 0."""
    G = make(n)
    w = np.linspace(0.7, 1.4, n) if weighted else np.ones(n)
    problem = nearest((w[:, None] * G) * w, constraints.diagonal(n, w**2))
    assert problem.face is None
    decompositions.clear()
    result = solve(problem, PSDCone(n), DualNewton())
    assert result.status is Status.OPTIMAL
    assert (result.history["step"][1:] == 1.0).all()  # no trial was refused
    assert decompositions == ["eigh"] * (result.iterations + 1)
    certificate = result.certificate
    assert certificate.value - certificate.dual_value <= 1e-6 * certificate.unit
    assert np.diag(result.matrix.to_dense()) == pytest.approx(w**2, rel=1e-12)


@pytest.mark.parametrize("size", [1e-12, 1e-3])
def test_a_factor_of_the_slack_is_checked_and_a_wrong_one_costs_only_a_decomposition(size, decompositions) -> None:
    problem = nearest(correlation(30))
    state = solve(problem, PSDCone(30), DualNewton()).state
    P = state.dual.slack + size * np.random.default_rng(0).standard_normal(state.dual.slack.shape)
    decompositions.clear()
    found = certify(problem, state.evaluation, dual=replace(state.dual, slack=P), proof="needed")
    assert found.proves(1e-6)
    assert (decompositions == []) == (size < 1e-6)
    S = problem.problem.at(state.evaluation.factor).gradient @ np.eye(30) + np.diag(state.y)
    assert found.lower_bound <= np.linalg.eigvalsh(S)[0]


def test_directions_take_few_products_where_constraints_differ_in_curvature(monkeypatch) -> None:
    """The diagonal of the Hessian scales them: a dozen products at most with weights of 0.1 to 10; else dozens."""
    products: list[int] = []

    def counted(*arguments):
        before = len(calls)
        d = newton_direction(*arguments)
        products.append(len(calls) - before)
        return d

    calls: list[int] = []
    times = SparseForms.times
    monkeypatch.setattr(dual_newton, "newton_direction", counted)
    monkeypatch.setattr(SparseForms, "times", lambda self, x, V: (calls.append(1), times(self, x, V))[1])

    def most(w) -> int:
        products.clear()
        G = correlation(60)
        solve(nearest((w[:, None] * G) * w, constraints.diagonal(60, w**2)), PSDCone(60), DualNewton(), tol=1e-9)
        return max(products)

    wide = np.geomspace(0.1, 10.0, 60)
    assert max(most(np.ones(60)), most(wide)) <= 12
    monkeypatch.setattr(SparseForms, "pair_squares", lambda self, U, V: np.zeros(self.size))
    assert most(wide) > 24


def test_the_places_of_the_constraints_are_sorted_once(monkeypatch) -> None:
    """Neither a constraint nor the certificate sorts them again for sparse sums of the A_t; a diagonal never is."""
    made: list[int] = []
    sort = SymmetricPattern.__init__
    monkeypatch.setattr(SymmetricPattern, "__init__", lambda self, i, j, n: (made.append(n), sort(self, i, j, n))[1])
    for groups, times in (((), 0), ((constraints.entries([0], [3], 20, 0.5),), 1)):
        made.clear()
        problem = nearest(correlation(20), constraints.diagonal(20, 1.0), *groups)
        assert solve(problem, PSDCone(20), DualNewton()).status is Status.OPTIMAL
        assert made == [20] * times


@pytest.mark.parametrize(("n", "steps"), [(20, 2), (100, 2), (200, 2)])
def test_a_run_begins_at_the_best_multiple_of_the_identity_for_no_further_decomposition(
    n, steps, decompositions
) -> None:
    """It costs no decomposition, no other multiple has a lower dual function, and two steps do instead of 3 or 4."""
    E = np.triu(np.random.default_rng(n).uniform(-1.0, 1.0, (n, n)), 1)
    problem = nearest(E + E.T + np.eye(n))
    decompositions.clear()
    first = DualNewton().init(problem, PSDCone(n), None)
    assert decompositions == ["eigh"]
    y, parts = first.y, _parts_of(problem)
    values, _, theta = decomposed(parts, y)
    np.testing.assert_allclose(first.known[0], values, atol=1e-10 * np.abs(values).max())
    assert first.known[2] == pytest.approx(theta, rel=1e-12)
    assert np.ptp(y) <= 1e-12 * np.abs(y).max() > 0.0
    assert all(decomposed(parts, share * y)[2] > theta for share in (0.0, 0.9, 1.1))
    result = solve(problem, PSDCone(n), DualNewton())
    assert result.status is Status.OPTIMAL
    assert result.iterations <= steps


def test_a_trace_that_is_not_fixed_leaves_the_start_at_zero() -> None:
    problem = nearest(correlation(4), constraints.entries([0, 1, 2], [1, 2, 3], 4, 0.2))
    assert not DualNewton().init(problem, PSDCone(4), None).y.any()
