"""CVXPY problems without an optimum: words, and the vectors that prove them, by CVXPY's own data."""

import contextlib
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from psdopt import Status
from psdopt.interop import _cone_small
from psdopt.interop._cone_solve import solved
from psdopt.interop.cvxpy import PSDOPT

from .cvxpy_problems import INFEASIBLE, UNBOUNDED


def names(build):
    return build.__name__


def forms(build):
    """The problem solved in each form that it has, and its value."""
    for form in ("primal", "dual"):
        problem = build()
        with contextlib.suppress(cp.SolverError):  # "form must be 'primal' or 'auto'", as another test holds
            yield problem, problem.solve(solver=PSDOPT(), form=form)


def cones(problem):
    """c, A, b of CVXPY's cone program; how far v is outside the cones, or with `free` outside of their duals."""
    data, _, _ = problem.get_problem_data(PSDOPT())
    dims = data["dims"]
    assert not dims.soc

    def outside(v, free):
        ends = np.cumsum([dims.zero + dims.nonneg, *(k * k for k in dims.psd)])
        blocks = [v[i:j].reshape(k, k) for i, j, k in zip(ends[:-1], ends[1:], dims.psd, strict=True)]
        least = min([0.0, *v[dims.zero : ends[0]], *(np.linalg.eigvalsh((B + B.T) / 2)[0] for B in blocks)])
        return max(0.0 if free else np.abs(v[: dims.zero]).max(initial=0.0), -least)

    return data["c"], data["A"], np.asarray(data["b"]), outside


@pytest.mark.parametrize("build", INFEASIBLE, ids=names)
def test_what_nothing_meets_is_infeasible_and_multipliers_prove_it(build):
    for problem, value in forms(build):
        assert value == np.inf
        assert problem.status == "infeasible"
        y = problem.solver_stats.extra_stats["proof"]
        _, A, b, outside = cones(problem)
        size = np.abs(y).max()
        assert np.abs(A.T @ y).max() <= 1e-9 * size
        assert outside(y, True) <= 1e-9 * size
        assert b @ y == pytest.approx(-1.0)


@pytest.mark.parametrize("build", UNBOUNDED, ids=names)
def test_what_falls_without_end_is_unbounded_and_a_ray_proves_it(build):
    for problem, value in forms(build):
        assert value == -np.inf
        assert problem.status == "unbounded"
        x = problem.solver_stats.extra_stats["proof"]
        c, A, _, outside = cones(problem)
        size = np.abs(x).max()
        assert outside(-(A @ x), False) <= 1e-9 * size
        assert c @ x == pytest.approx(-1.0)
        P = problem.get_problem_data(PSDOPT())[0].get("P")
        assert P is None or np.abs(P @ x).max() < 1e-9 * size


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_multipliers_of_what_is_infeasible_are_those_of_clarabel(form):
    """Where only one y proves it, up to a factor: bᵀy = −1 here."""
    x, X = cp.Variable(3), cp.Variable((2, 2), PSD=True)
    constraints = [x[0] + 2 * x[1] == 1, 2 * x[1] - x[2] == -2, x[0] + x[2] <= 1, X[0, 0] >= 1]
    b = [1.0, -2.0, 1.0, -1.0]
    problem = cp.Problem(cp.Minimize(cp.trace(X)), constraints)
    problem.solve(solver=PSDOPT(), form=form)
    found = [c.dual_value for c in constraints]
    problem.solve(solver="CLARABEL")
    if constraints[0].dual_value is None:
        pytest.skip("this CVXPY hands out no multipliers of infeasible problems")
    other = np.array([c.dual_value for c in constraints])
    assert np.allclose(found, other / -(b @ other), rtol=0, atol=1e-6)


def test_a_second_order_cone_without_a_point_is_infeasible_with_multipliers_of_its_shape():
    X, t = cp.Variable((2, 2), PSD=True), cp.Variable(2)
    cone, top, far = [cp.SOC(X[0, 0], t), X[0, 0] <= 1, t[0] + t[1] >= 2]
    problem = cp.Problem(cp.Minimize(cp.trace(X)), [cone, top, far])
    problem.solve(solver=PSDOPT())
    assert problem.status == "infeasible"
    if top.dual_value is None:
        pytest.skip("this CVXPY hands out no multipliers of infeasible problems")
    a, u = (np.ravel(v.value) for v in cone.dual_variables)
    assert a[0] >= np.linalg.norm(u) * (1.0 - 1e-9)
    assert np.allclose(-u, far.dual_value, rtol=0, atol=1e-4)
    assert top.dual_value >= a[0] - 1e-9  # the difference is an entry of the multiplier of X ⪰ 0
    assert top.dual_value - 2 * far.dual_value == pytest.approx(-1.0)


@pytest.mark.parametrize("form", ["auto", "primal", "dual"])
def test_a_ray_without_a_feasible_point_is_not_unbounded(form):
    """F falls along H_00 = H_11 = s, H_10 = −i s."""
    H, K = cp.Variable((3, 3), hermitian=True), cp.Variable((2, 2), hermitian=True)
    apart, below = H[0, 0] - H[1, 1] == 1, K[0, 0] == -1
    cases = [(H, [apart, H[2, 2] == 1], "unbounded"), (H, [apart, H[2, 2] == -1], "infeasible")]
    for V, rows, word in [*cases, (K, [below], "infeasible")] if form == "auto" else cases:
        problem = cp.Problem(cp.Minimize(cp.imag(V[1, 0])), [V >> 0, *rows])
        problem.solve(solver=PSDOPT(), form=form)
        assert problem.status == word


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning")
@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-8, 1e-10])
def test_a_finer_tol_takes_back_no_proven_word(tol):
    for build, word in ((INFEASIBLE[1], "infeasible"), (UNBOUNDED[0], "unbounded"), (UNBOUNDED[2], "unbounded")):
        problem = build()
        problem.solve(solver=PSDOPT(), tol=tol)
        assert problem.status == word


def test_a_failure_says_what_happened_and_how_far_it_came(monkeypatch):
    X = cp.Variable((6, 6), PSD=True)
    C = np.random.default_rng(0).standard_normal((6, 6))
    problem = cp.Problem(cp.Minimize(cp.trace((C + C.T) @ X)), [cp.diag(X) == 1, X[0, 1] >= 0.5])

    def stuck(forms, options, last, verbose):
        form = next(forms)
        answer = solved(form, {**options, "max_iterations": 1}, last, verbose)
        return form, replace(answer, status=Status.NO_PROGRESS, message="no progress: stuck")

    monkeypatch.setattr(_cone_small, "solved_in_either", stuck)
    with pytest.raises(
        cp.SolverError, match=r"^PSDOPT found no solution: no progress: stuck \(.*primal infeas\w+ \d.*\)$"
    ):
        problem.solve(solver=PSDOPT())


def without_multipliers():
    """z_0 = z_1 = 0 is all that the zero on the diagonal allows: the optimum is 0, and no multipliers prove it."""
    z = cp.Variable(3)
    total = cp.bmat([[0, z[0], z[1]], [z[0], z[2], 1], [z[1], 1, z[2] + 1]])
    return cp.Problem(cp.Minimize(z[0] + z[1]), [total >> 0])


def nearly_flat():
    """Bounded: the curvature along t is 1e-16 of that along y."""
    X, y, t = cp.Variable((2, 2), PSD=True), cp.Variable(), cp.Variable()
    fit = cp.square(y - 1) + cp.square(1e-8 * t - y) - t
    return cp.Problem(cp.Minimize(fit), [X >> y * np.eye(2), X[0, 0] >= t - 100 * y])


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning")
@pytest.mark.parametrize("build", [without_multipliers, nearly_flat], ids=names)
def test_what_is_bounded_is_not_unbounded(build):
    for form in ("auto", "primal", "dual"):
        problem = build()
        with contextlib.suppress(cp.SolverError):
            problem.solve(solver=PSDOPT(), form=form, max_time=3.0)
        assert problem.status not in ("unbounded", "infeasible", "infeasible_or_unbounded")


def test_what_no_multipliers_prove_infeasible_has_none():
    """X_00 = 0 makes X_01 zero, which is a proof on the face; y with A*(y) ⪰ 0 and bᵀy < 0 does not exist."""
    X = cp.Variable((2, 2), PSD=True)
    problem = cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 0] == 0, X[0, 1] == 1])
    problem.solve(solver=PSDOPT())
    assert problem.status == "infeasible"
    assert problem.solver_stats.extra_stats["proof"] is None
    assert problem.constraints[0].dual_value is None


@pytest.mark.parametrize("seed", [0, 2, 3, 4, 6, 7])
def test_a_ray_on_a_face_of_the_cone_is_found(seed):
    """The ray v vᵀ has v_0 = 0 and vᵀA v = 0: an entry, a trace and an equation are given."""
    rng = np.random.default_rng(seed)
    v = np.array([0.0, 1.0, rng.standard_normal()])
    A, C = (S + S.T for S in rng.standard_normal((2, 3, 3)))
    A[1, 1] -= v @ A @ v
    C[1, 1] -= v @ C @ v + 1.0
    D = rng.standard_normal((2, 2))
    X, B = cp.Variable((3, 3), PSD=True), cp.Variable((2, 2), PSD=True)
    held = [X[0, 0] <= 1, cp.trace(A @ X) == float(np.trace(A)), cp.trace(B) <= 2]  # the unit matrix is feasible
    problem = cp.Problem(cp.Minimize(cp.trace(C @ X) + cp.trace((D + D.T) @ B)), held)
    problem.solve(solver=PSDOPT())
    assert problem.status == "unbounded"


@pytest.mark.parametrize("objective", [lambda P: 0, cp.sum_squares], ids=["none", "squares"])
@pytest.mark.parametrize("n", [2, 3, 4, 6])
@pytest.mark.parametrize("seed", [0, 1])
def test_linear_matrix_inequalities_end_one_way_or_the_other(objective, n, seed):
    """AᵀP + P A ⪯ −I has a P ⪰ I if all eigenvalues of A lie to the left of 0; else v v*, A v = λ v, proves none."""
    A = np.random.default_rng(seed).standard_normal((n, n))
    A -= np.linalg.eigvals(A).real.max() * np.eye(n)
    for shift, status in ((-0.5, "optimal"), (0.5, "infeasible")):
        P, B = cp.Variable((n, n), symmetric=True), A + shift * np.eye(n)
        problem = cp.Problem(cp.Minimize(objective(P)), [P >> np.eye(n), B.T @ P + P @ B << -np.eye(n)])
        problem.solve(solver=PSDOPT(), clarabel=False)
        assert problem.status == status
        if status == "infeasible":
            y, (_, A_cone, b, outside) = problem.solver_stats.extra_stats["proof"], cones(problem)
            assert np.abs(A_cone.T @ y).max() <= 1e-9 * np.abs(y).max()
            assert outside(y, True) <= 1e-9 * np.abs(y).max()
            assert b @ y == pytest.approx(-1.0)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning")
@pytest.mark.parametrize("form", ["auto", "primal", "dual"])
def test_where_the_dual_has_another_value_its_value_is_no_optimum(form):
    """X_11 = 0 makes X_12 zero, so that X_00 = 1; the dual's value 0 belongs to X_12 = 1/2, X_22 → ∞."""
    X = cp.Variable((3, 3), PSD=True)
    problem = cp.Problem(cp.Minimize(X[0, 0]), [X[1, 1] == 0, X[0, 0] + 2 * X[1, 2] == 1])
    problem.solve(solver=PSDOPT(), form=form)
    assert problem.status == "optimal_inaccurate"
    assert form == "dual" or problem.value == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning")
def test_an_infimum_that_no_point_has_is_no_optimum():
    """min x with [[x, 1], [1, y]] ⪰ 0 is 0 in the limit y → ∞."""
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(x[0]), [cp.bmat([[x[0], 1], [1, x[1]]]) >> 0])
    problem.solve(solver=PSDOPT())
    assert problem.status == "optimal_inaccurate"
    assert abs(problem.value) <= 1e-6


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning")
@pytest.mark.parametrize("n", [4, 7])
def test_an_optimum_on_a_face_of_faces_is_found_without_multipliers(n):
    """X_00 = 0 and X_ii + 2 X_0,i+1 = 0 in turn leave X_nn = 1 alone; no multipliers make S semidefinite."""
    X = cp.Variable((n, n), PSD=True)
    chain = [X[i, i] + 2 * X[0, i + 1] == 0 for i in range(1, n - 1)]
    last = X[n - 1, n - 1] + 2 * X[n - 2, n - 1] == 1
    problem = cp.Problem(cp.Minimize(cp.trace(X)), [X[0, 0] == 0, *chain, last])
    problem.solve(solver=PSDOPT())
    assert problem.value == pytest.approx(1.0, abs=1e-9)
    assert problem.solver_stats.extra_stats["proven"] == "loosely"
