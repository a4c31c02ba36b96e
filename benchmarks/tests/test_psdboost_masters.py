"""Other masters of column generation: solvers against each other, quadratic programs by their conditions."""

import sys

import numpy as np
import pytest

from benchmarks.psdboost_masters import ConicMaster, Level, Proximal, QuadraticMaster
from psdopt import ColumnGeneration, MarginProblem, Spectraplex, solve
from psdopt.errors import MissingDependencyError
from psdopt.linalg.simplex import project_simplex
from psdopt.margins import CappedMargin
from psdopt.margins.masters import BlockMaster, Unsolved
from psdopt.terms import TripletDifferences
from psdopt_plugins.metric_learning import MatrixGeneration, linear_program
from psdopt_plugins.metric_learning.linear_program import LinearProgram

EPS = np.finfo(float).eps


def instance(d=6, m=40, nu=0.2, seed=0, samples=25):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, d))
    t = np.array([rng.choice(samples, 3, replace=False) for _ in range(m)])
    return MarginProblem(TripletDifferences(*t.T, X), 1.0 / (nu * m))


def gap_of(squares, loss, answer):
    """λ_max(Σ w_r A_r) − (best margin at T), recomputed: what the two multipliers prove of each other."""
    upper = np.linalg.eigvalsh(squares.combination(answer.dual))[-1]
    return upper + loss.value(squares.forms(answer.weights))


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("k", [1, 2, 7])
def test_both_block_masters_solve_the_same_program(k, nu):
    pytest.importorskip("clarabel")
    problem = instance(d=7, m=50, nu=nu, seed=k)
    V = np.linalg.qr(np.random.default_rng(k).standard_normal((7, k)))[0]
    squares = problem.margins().squares(problem.at(V))
    scale = squares.sizes().max()
    for master in (ConicMaster(), BlockMaster()):
        answer = master.solve(squares, problem.loss, 1e-7 * scale)
        assert answer.dual.min() >= 0.0
        assert answer.dual.max() <= problem.C * (1 + 1e-9)
        assert np.isclose(answer.dual.sum(), 1.0)
        assert np.linalg.eigvalsh(answer.weights)[0] >= -8 * EPS
        assert np.isclose(np.trace(answer.weights), 1.0)
        assert -1e-12 * scale <= gap_of(squares, problem.loss, answer) <= 1e-6 * scale


def test_conic_master_of_coinciding_points_and_loose_goals():
    pytest.importorskip("clarabel")
    same = MarginProblem(TripletDifferences([0], [1], [2], np.ones((3, 2))))
    squares = same.margins().squares(same.at(np.eye(2)))
    assert np.allclose(ConicMaster().solve(squares, same.loss, 1e-6).weights, np.eye(2) / 2)
    problem = instance(d=7, m=50)
    squares = problem.margins().squares(problem.at(np.eye(7)))
    steps = [ConicMaster().solve(squares, problem.loss, gap).steps for gap in (1.0, 1e-9)]
    assert steps[0] < steps[1]


@pytest.mark.parametrize("solver", ["highs", "clarabel"])
@pytest.mark.parametrize("count", [1, 3, 12])
def test_quadratic_programs_meet_their_optimality_conditions(solver, count):
    """The proximal w is the projection of c − (t/(s m)) Σ θ_i a_i; the level w that of c − const Σ θ_i a_i."""
    pytest.importorskip("highspy" if solver == "highs" else solver)
    rng = np.random.default_rng(count)
    m, t = 30, 3.0
    loss = CappedMargin(m, 0.1)
    columns = [rng.standard_normal(m) for _ in range(count)]
    A, centre = np.array(columns), project_simplex(rng.random(m) / 20, 1.0, loss.cap)
    scale = max(np.linalg.norm(a) for a in columns) / np.sqrt(m)
    answer, model = QuadraticMaster(solver).proximal(columns, loss, centre, t)
    theta, w = answer.theta, answer.dual
    assert np.isclose(theta.sum(), 1.0)
    assert np.isclose(model, (A @ w).max())
    assert np.allclose(w, project_simplex(centre - t / (scale * m) * theta @ A, 1.0, loss.cap), atol=1e-6)
    assert theta @ (model - A @ w) <= 1e-6 * scale  # complementarity
    least = (A @ LinearProgram().solve(columns, loss).dual).max()
    level = 0.5 * (least + (A @ centre).max())
    answer, model = QuadraticMaster(solver).level(columns, loss, centre, level)
    theta, w = answer.theta, answer.dual
    assert np.isclose(model, level, atol=1e-6)
    apart = np.linalg.norm(w - centre)
    for seed in range(20):  # no feasible point of the level set is nearer
        other = np.random.default_rng(seed).dirichlet(np.ones(m) * 9)
        mixed = w + 0.2 * (project_simplex(other, 1.0, loss.cap) - w)
        if (A @ mixed).max() <= level:
            assert np.linalg.norm(mixed - centre) >= apart - 1e-7


@pytest.mark.parametrize("solver", ["highs", "clarabel"])
@pytest.mark.parametrize("stabilization", ["level", "proximal"])
def test_stabilised_linear_programs_reach_the_optimum(stabilization, solver):
    pytest.importorskip("highspy" if solver == "highs" else solver)
    problem = instance(d=3, m=30, seed=1)
    method = MatrixGeneration({"level": Level, "proximal": Proximal}[stabilization](solver))
    result = solve(problem, Spectraplex(3), method, tol=1e-4, max_iterations=150)
    exact = solve(problem, Spectraplex(3), ColumnGeneration(), tol=1e-8)
    assert result.optimal
    assert abs(result.value - exact.value) <= 1e-4 * abs(exact.value) * (1 + 1e-3)


def test_a_quadratic_program_that_is_not_solved_costs_a_round_and_no_more(monkeypatch):
    def refuse(*_):
        raise linear_program.Unsolved("no")

    problem = instance(d=3, m=30, seed=1)
    monkeypatch.setattr(QuadraticMaster, "_solve", refuse)
    for stabilization in (Level(), Proximal()):
        method = MatrixGeneration(stabilization)
        assert solve(problem, Spectraplex(3), method, tol=1e-3, max_iterations=100).optimal


def test_the_proximal_step_follows_what_the_oracle_says():
    loss, rng = CappedMargin(10, 0.5), np.random.default_rng(0)
    columns, w = [rng.standard_normal(10) for _ in range(3)], np.full(10, 0.1)
    first = Proximal().observe(w, 1.0)
    assert first.centre is w
    _, asked, before = first.ask(LinearProgram(), columns, loss)
    gain = 1.0 - before.promised
    good, null, bad = (before.observe(asked, 1.0 - share * gain) for share in (0.9, 0.0, -0.9))
    assert good.centre is asked
    assert good.step > before.step
    assert (null.centre is w, null.step) == (True, before.step)
    assert (bad.centre is w, bad.step < before.step) == (True, True)


def test_the_run_by_clarabel_agrees():
    pytest.importorskip("clarabel")
    problem = instance(d=9, m=80, seed=2)
    ours = solve(problem, Spectraplex(9), ColumnGeneration(columns=3), tol=1e-6)
    theirs = solve(problem, Spectraplex(9), ColumnGeneration(columns=3, master=ConicMaster()), tol=1e-6)
    assert ours.optimal
    assert theirs.optimal
    assert np.isclose(ours.value, theirs.value, rtol=2e-6)


def test_missing_solvers_are_named(monkeypatch):
    problem = instance(d=3, m=20)
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(MissingDependencyError, match=r"pip install clarabel"):
        solve(problem, Spectraplex(3), ColumnGeneration(master=ConicMaster()))
    with pytest.raises(MissingDependencyError, match=r"pip install clarabel"):
        solve(problem, Spectraplex(3), MatrixGeneration(Level("clarabel")))
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(MissingDependencyError, match=r"psdopt\[lp\]"):
        solve(problem, Spectraplex(3), MatrixGeneration(Proximal("highs")))


def test_a_master_that_cannot_be_solved_is_named():
    pytest.importorskip("clarabel")
    problem = instance(d=3, m=20)
    squares = problem.margins().squares(problem.at(np.ones((3, 1)))).transformed(np.array([[np.nan]]))
    with pytest.raises(Unsolved, match="Clarabel did not solve"):
        ConicMaster().solve(squares, problem.loss, 1e-6)


@pytest.mark.parametrize("stabilization", ["smoothing", Level(), Proximal()], ids=["smoothing", "level", "proximal"])
def test_every_stabilisation_is_ahead_of_the_printed_algorithm(stabilization):
    problem = instance(d=10, m=120, seed=5, samples=60)
    gaps = [
        solve(problem, Spectraplex(10), MatrixGeneration(name), tol=1e-6, max_iterations=70).certificate.relative
        for name in (stabilization, "none")
    ]
    assert gaps[0] < 0.5 * gaps[1]
