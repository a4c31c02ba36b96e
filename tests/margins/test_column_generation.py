"""ColumnGeneration: both masters against a conic solver, true gaps every round, degenerate data, resuming."""

import pickle
import sys
import warnings

import numpy as np
import pytest

from psdopt import certify, solve
from psdopt.compatibility import compatible
from psdopt.errors import IncompatibleError, InvalidInputError, InvalidTypeError, UnknownNameError
from psdopt.geometries import FlatQuotient
from psdopt.geometries.spectraplex import Spectraplex
from psdopt.images import Images
from psdopt.margins import SignedSquares
from psdopt.margins.column_generation import ColumnGeneration
from psdopt.margins.loss import CappedMargin
from psdopt.margins.masters import BlockMaster, LPMaster, Smoothing
from psdopt.margins.masters.lp import _from_scratch
from psdopt.margins.masters.newton_system import NewtonSystem
from psdopt.margins.problem import MarginProblem
from psdopt.methods import ConjugateGradient
from psdopt.result import Status
from psdopt.terms.measurements import Entries, PairDistances, QuadraticForms, TripletDifferences

EPS = np.finfo(float).eps


def triplets(rng, samples, m):
    return np.array([rng.choice(samples, 3, replace=False) for _ in range(m)])


def instance(d=6, m=40, nu=0.2, seed=0, offset=0.0, samples=25):
    """Random triplets: the optimum may have either sign."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, d)) + offset
    t = triplets(rng, samples, m)
    return MarginProblem(TripletDifferences(*t.T, X), None if nu is None else 1.0 / (nu * m)), X, t


def matrices(X, t):
    far, near = X[t[:, 0]] - X[t[:, 2]], X[t[:, 0]] - X[t[:, 1]]
    return far[:, :, None] * far[:, None, :] - near[:, :, None] * near[:, None, :]


def conic_optimum(A, C):
    cp = pytest.importorskip("cvxpy")
    m, d, _ = A.shape
    M, rho, xi = cp.Variable((d, d), PSD=True), cp.Variable(), cp.Variable(m, nonneg=True)
    constraints = [cp.trace(M) == 1.0, A.reshape(m, -1) @ cp.vec(M, order="C") >= rho - xi]
    problem = cp.Problem(cp.Maximize(rho - C * cp.sum(xi)), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cvxpy calls 1e-7 inaccurate
        problem.solve(solver="CLARABEL")
    return float(problem.value)


def check_bounds(problem, result, A):
    """Value and bound of the last state, recomputed from the dense A_r."""
    M, w = result.matrix.to_dense(), result.state.dual
    a = np.einsum("rij,ij->r", A, M)
    scale = np.abs(A).sum(axis=(1, 2)).max()
    slack = 64 * EPS * len(A) * scale
    assert abs(np.trace(M) - 1.0) <= slack
    assert np.linalg.eigvalsh(M)[0] >= -slack
    rhos = a[:, None] - problem.C * np.maximum(a[:, None] - a[None, :], 0.0).sum(axis=1)[:, None]
    assert abs(result.value + rhos.max()) <= slack
    assert w.min() >= 0.0
    assert w.max() <= problem.C + slack
    assert abs(w.sum() - 1.0) <= slack
    assert result.state.bound <= -np.linalg.eigvalsh(np.einsum("r,rij->ij", w, A))[-1] + slack


@pytest.mark.parametrize("nu", [None, 0.07, 0.5, 1.0])
@pytest.mark.parametrize("offset", [0.0, 30.0])
def test_the_block_master_reaches_the_conic_optimum(nu, offset):
    problem, X, t = instance(nu=nu, offset=offset, seed=3)
    A = matrices(X, t)
    result = solve(problem, Spectraplex(6), ColumnGeneration(columns=2), tol=1e-6, max_iterations=40)
    optimum = conic_optimum(A, problem.C)
    assert result.status is Status.OPTIMAL
    assert abs(-result.value - optimum) <= 1e-5 * abs(optimum) + 1e-7 * np.abs(A).max()
    check_bounds(problem, result, A)


@pytest.mark.parametrize("options", [{}, {"stabilization": "none"}, {"columns": 3}], ids=str)
def test_the_linear_program_reaches_the_conic_optimum(options):
    pytest.importorskip("highspy")
    problem, X, t = instance(d=3, m=30, seed=1)
    A = matrices(X, t)
    result = solve(problem, Spectraplex(3), ColumnGeneration(master="lp", **options), tol=1e-4, max_iterations=150)
    assert result.status is Status.OPTIMAL
    optimum = conic_optimum(A, problem.C)
    assert abs(-result.value - optimum) <= 2e-4 * abs(optimum)
    check_bounds(problem, result, A)
    theta = result.state.theta
    assert theta.min() >= 0.0
    assert np.isclose(theta.sum(), 1.0)


@pytest.mark.parametrize("options", [{}, {"columns": 2}, {"stabilization": "none"}, {"master": "lp"}], ids=str)
def test_gaps_are_true_in_every_round(options):
    problem, X, t = instance(d=5, m=30, seed=8)
    optimum = conic_optimum(matrices(X, t), problem.C)
    result = solve(problem, Spectraplex(5), ColumnGeneration(**options), tol=1e-7, max_iterations=25)
    records = result.history.records
    slack = 1e-6 * max(abs(optimum), 1e-2)
    values, bounds = np.array([r["value"] for r in records]), np.array([r["bound"] for r in records])
    assert np.all(values >= -optimum - slack)
    assert np.all(bounds <= -optimum + slack)
    assert np.all(np.diff(values) <= 0.0)
    assert np.all(np.diff(bounds) >= 0.0)
    assert np.allclose([r["gap"] for r in records], np.maximum(values - bounds, 0.0))


@pytest.mark.parametrize("nu", [0.02, 0.1, 0.5, 0.99])
@pytest.mark.parametrize(("d", "m", "samples"), [(1, 56, 9), (2, 5, 4), (5, 75, 30), (8, 75, 12), (11, 20, 40)])
def test_any_shape_of_instance_is_certified(d, m, samples, nu):
    problem, _, _ = instance(d=d, m=m, nu=max(nu, 1.0 / m), seed=d * m, samples=samples)
    assert solve(problem, Spectraplex(d), ColumnGeneration(), tol=1e-5, max_iterations=30).optimal


def test_a_negative_optimum_is_not_taken_for_the_end():
    """Started at pi = 0 the printed algorithm stops with no column when λ_max(H(w)) <= 0 (erratum E-P1)."""
    X = np.array([[0.0, 0.0], [2.0, 1.0], [1.0, 0.5]])
    problem = MarginProblem(TripletDifferences([0], [1], [2], X))
    result = solve(problem, Spectraplex(2), ColumnGeneration(), tol=1e-8)
    assert result.optimal
    assert abs(result.value) <= 1e-8  # the direction orthogonal to all differences has margin zero
    contradictory = MarginProblem(TripletDifferences([0, 0], [1, 2], [2, 1], np.random.default_rng(0).random((3, 2))))
    assert solve(contradictory, Spectraplex(2), ColumnGeneration(), tol=1e-5).optimal


def test_one_feasible_weight_is_an_eigenvalue_problem():
    problem, X, t = instance(nu=1.0)  # C m = 1: w = 1/m
    result = solve(problem, Spectraplex(6), ColumnGeneration(), tol=1e-9)
    mean = matrices(X, t).mean(axis=0)
    assert result.optimal
    assert np.isclose(-result.value, np.linalg.eigvalsh(mean)[-1], rtol=1e-9)


def test_repeated_triplets_and_coinciding_points():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((10, 4))
    X[5:] = X[:5]
    t = np.repeat(triplets(rng, 10, 12), 3, axis=0)
    problem = MarginProblem(TripletDifferences(*t.T, X), 2.0 / len(t))
    result = solve(problem, Spectraplex(4), ColumnGeneration(), tol=1e-6, max_iterations=60)
    assert result.optimal
    same = MarginProblem(TripletDifferences([0, 1], [1, 2], [2, 0], np.ones((3, 4))), 1.0)
    result = solve(same, Spectraplex(4), ColumnGeneration(), tol=1e-6)
    assert result.optimal
    assert result.value == 0.0


def test_kernel_entries_in_place_of_data():
    rng = np.random.default_rng(5)
    t = triplets(rng, 8, 25)
    problem = MarginProblem(TripletDifferences(*t.T, n=8), 1.0 / 5.0)
    result = solve(problem, Spectraplex(8), ColumnGeneration(), tol=1e-6, max_iterations=60)
    assert result.optimal
    assert np.isclose(-result.value, conic_optimum(matrices(np.eye(8), t), problem.C), rtol=1e-4)


def test_a_master_of_bounded_width_still_has_true_gaps():
    problem, X, t = instance(d=12, m=60, seed=4)
    method = ColumnGeneration(columns=3, max_columns=9)
    result = solve(problem, Spectraplex(12), method, tol=1e-3, max_iterations=30)
    assert all(record["generated"] <= 9 for record in result.history.records)
    check_bounds(problem, result, matrices(X, t))
    lp = solve(problem, Spectraplex(12), ColumnGeneration(master="lp", max_columns=20), tol=1e-3, max_iterations=40)
    assert lp.history.records[-1]["generated"] <= 20
    check_bounds(problem, lp, matrices(X, t))


@pytest.mark.parametrize("options", [{}, {"master": "lp"}], ids=str)
def test_a_state_can_be_pickled_and_stepped_again(options):
    problem, _, _ = instance()
    method = ColumnGeneration(**options)
    geometry = Spectraplex(6)
    state = method.init(problem, geometry, geometry.random_point(np.random.default_rng(0)))
    for _ in range(3):
        state = method.step(state)
    expected = method.step(state)
    again, resumed = method.step(state), method.step(pickle.loads(pickle.dumps(state)))
    for other in (again, resumed):
        assert np.isclose(other.gap, expected.gap, rtol=1e-6)
        assert np.allclose(other.dual, expected.dual, atol=1e-6)


def test_runs_without_highspy(monkeypatch):
    problem, _, _ = instance(d=3, m=20)
    monkeypatch.setitem(sys.modules, "highspy", None)
    slow = solve(problem, Spectraplex(3), ColumnGeneration(master="lp"), tol=1e-3, max_iterations=60)
    assert slow.optimal


def test_the_two_linear_programs_agree():
    pytest.importorskip("highspy")
    rng = np.random.default_rng(7)
    loss, master = CappedMargin(15, 0.2), LPMaster()
    columns = [rng.standard_normal(15) for _ in range(6)]
    for count in (1, 3, 6, 4):
        warm, cold = master.solve(columns[:count], loss), _from_scratch(columns[:count], loss)
        A = np.array(columns[:count])
        assert np.isclose((A @ warm.dual).max(), (A @ cold.dual).max())
        assert np.isclose(loss.value(np.diag(warm.weights) @ A), -(A @ warm.dual).max())


def test_block_master_stops_at_the_gap_it_is_given():
    problem, _, _ = instance(d=7, m=50, seed=9)
    squares = problem.margins().squares(problem.at(np.eye(7)))
    best = None
    for gap in (1e-1, 1e-3, 1e-6):
        answer = BlockMaster().solve(squares, problem.loss, gap)
        primal = -problem.loss.value(squares.forms(answer.weights))
        dual = np.linalg.eigvalsh(squares.combination(answer.dual / answer.dual.sum()))[-1]
        assert primal - 1e-12 <= dual <= primal + gap
        assert np.linalg.eigvalsh(answer.weights)[0] > 0.0
        best = answer if best is None or answer.steps >= best.steps else best
    assert best.steps > 0
    warm = BlockMaster().solve(squares, problem.loss, 1e-6, (best.weights, best.dual))
    assert warm.steps <= best.steps


@pytest.mark.parametrize("spread", [0.0, 3.0, 6.0])
@pytest.mark.parametrize("k", [2, 9])
def test_newton_system_is_solved(spread, k):
    rng = np.random.default_rng(k)
    squares = SignedSquares(rng.standard_normal((90, k)), _signs(45))
    E = 10.0 ** rng.uniform(-spread, spread, 45)
    system, r = NewtonSystem(squares, E), rng.standard_normal(45)
    x = system.solve(r)
    dense = squares.gram() + np.diag(E)
    exact = np.linalg.solve(dense, r)
    assert (x - exact) @ dense @ (x - exact) <= 1e-8 * (exact @ dense @ exact)


def _signs(m):
    import scipy.sparse as sp

    columns = np.arange(2 * m)
    return sp.csr_array((np.tile([1.0, -1.0], m), columns, np.arange(0, 2 * m + 1, 2)), shape=(m, 2 * m))


def _measurements(rng):
    X = rng.standard_normal((9, 5))
    t = triplets(rng, 9, 14)
    return {
        "triplets": (TripletDifferences(*t.T, X), matrices(X, t)),
        "kernel": (TripletDifferences(*t.T, n=9), matrices(np.eye(9), t)),
        "pairs": (PairDistances(t[:, 0], t[:, 1], X), _squares(X[t[:, 0]] - X[t[:, 1]])),
        "forms": (QuadraticForms(X), _squares(X)),
    }


def _squares(Z):
    return Z[:, :, None] * Z[:, None, :]


@pytest.mark.parametrize("kind", ["triplets", "kernel", "pairs", "forms"])
def test_structure_equals_the_dense_matrices(kind):
    rng = np.random.default_rng(1)
    measurement, A = _measurements(rng)[kind]
    n, m, k = measurement.n, measurement.size, 3
    V, w = rng.standard_normal((n, k)), rng.standard_normal(m)
    T = rng.standard_normal((k, k))
    T = T + T.T
    small = np.einsum("ia,rij,jb->rab", V, A, V)
    problem = MarginProblem(measurement)
    squares = problem.margins().squares(problem.at(V))
    slack = 64 * EPS * np.abs(small).max() * m * k
    assert np.abs(squares.forms(T) - np.einsum("rab,ab->r", small, T)).max() <= slack
    assert np.abs(squares.combination(w) - np.einsum("r,rab->ab", w, small)).max() <= slack
    assert np.abs(squares.squares() - np.einsum("raa->ra", small)).max() <= slack
    gram = np.einsum("rab,sab->rs", small, small)
    assert np.abs(squares.gram() - gram).max() <= slack * np.abs(small).max()
    assert np.abs(squares.vectors() @ squares.vectors().T - gram).max() <= slack * np.abs(small).max()
    some = np.array([4, 1, 7])
    assert np.allclose(squares.rows(some).forms(T), squares.forms(T)[some])
    assert np.all(squares.sizes() >= np.linalg.norm(small, 2, axis=(1, 2)) - slack)


def test_a_measurement_that_offers_no_signs_is_refused_before_any_work():
    entries = MarginProblem(Entries([0], [1], 3))
    assert "lacks margins" in compatible(entries, Spectraplex(3), ColumnGeneration()).message
    with pytest.raises(InvalidTypeError, match=r"offer signs and directions, as .*; found Entries"):
        entries.margins().squares(entries.at(np.eye(3)))
    with pytest.raises(InvalidTypeError, match="Entries offers no signs and directions"):
        Entries([0], [1], 3).directions(Images((), np.eye(3)))


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"master": "sdp"}, UnknownNameError, "master 'sdp'"),
        ({"stabilization": "smoothing"}, UnknownNameError, "stabilization"),
        ({"stabilization": "level", "master": "lp"}, UnknownNameError, "stabilization"),
        ({"master": 3}, InvalidTypeError, "master must be 'block', 'lp' or offer solve; found int"),
        ({"stabilization": 3}, InvalidTypeError, "offer ask and observe; found int"),
        ({"stabilization": Smoothing(0.5)}, InvalidTypeError, "with master 'lp'"),
        ({"columns": 0}, InvalidInputError, "columns must be"),
        ({"columns": True}, InvalidInputError, "columns must be"),
        ({"max_columns": 1.5}, InvalidInputError, "max_columns must be"),
        ({"columns": 5, "max_columns": 5}, InvalidInputError, "max_columns must exceed"),
    ],
)
def test_bad_parameters_are_named(arguments, error, text):
    with pytest.raises(error, match=text):
        ColumnGeneration(**arguments)


def test_what_does_not_fit_is_refused_before_any_work():
    problem, _, _ = instance()
    assert not compatible(problem, FlatQuotient(6, 2), ColumnGeneration())
    assert not compatible(problem.smoothed(0.1), Spectraplex(6), ColumnGeneration())
    with pytest.raises(IncompatibleError, match="gradient"):
        solve(problem, FlatQuotient(6, 2), ConjugateGradient())


def test_certificate_makes_any_hint_feasible():
    problem, X, t = instance(seed=6)
    optimum = conic_optimum(matrices(X, t), problem.C)
    Y = Spectraplex(6).random_point(np.random.default_rng(0))
    for hint in (None, np.zeros(40), np.full(40, 7.0), np.random.default_rng(1).standard_normal(40)):
        certificate = certify(problem, Y, trace=1.0, dual=hint)
        assert certificate.value - certificate.gap <= -optimum + 1e-6
    with pytest.raises(InvalidInputError, match="dual"):
        certify(problem, Y, trace=1.0, dual=np.ones(3))


@pytest.mark.parametrize("options", [{"columns": 1}, {"master": "lp"}], ids=str)
def test_a_run_goes_on_from_its_checkpoint(tmp_path, options):
    problem, _, _ = instance(d=4)
    method, file = ColumnGeneration(**options), tmp_path / "run"
    whole = solve(problem, Spectraplex(4), method, tol=1e-6, max_iterations=9)
    solve(problem, Spectraplex(4), method, tol=1e-6, max_iterations=2, checkpoint=file)
    resumed = solve(problem, Spectraplex(4), method, tol=1e-6, max_iterations=9, resume=file)
    assert whole.iterations > 2
    assert resumed.iterations == whole.iterations
    assert np.isclose(resumed.value, whole.value, rtol=1e-6)
