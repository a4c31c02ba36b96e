"""The loop: every status is reached, every promise of the Result is recomputed independently."""

import math

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import AutogradProblem, QuadraticSDP, Status, TermSum, certify, solve
from psdopt.errors import InvalidInputError
from psdopt.geometries import FixedTrace, FlatQuotient, Polar, PositiveDefinite, PSDCone, Spectraplex
from psdopt.linalg.simplex import project_simplex
from psdopt.methods import BILGO, LBFGS, ConjugateGradient, FrankWolfe, ProjectedGradient, TrustRegions
from psdopt.terms import IdentityForm, LinearTerm, MeasuredTerm, QuadraticForms, SquaredHinge
from tests.instances import psd, symmetric
from tests.running.problems import kta, planted

METHODS = [ConjugateGradient(), LBFGS()]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("preconditioner", ["auto", "gram", "none"])
@pytest.mark.parametrize("method", [ConjugateGradient, LBFGS])
def test_a_planted_optimum_is_found_with_every_preconditioner(method, preconditioner, seed):
    """F(M) − F* <= <S, M> + dual · tr M*, and tr M* is about tr M; that `optimal` is true is the kit's."""
    problem, best = planted(np.random.default_rng(seed))
    result = solve(problem, FlatQuotient(12, 5), method(preconditioner=preconditioner), tol=1e-7, rng=seed)
    assert result.status is Status.OPTIMAL
    assert result.converged
    assert abs(result.value - best) <= 4e-7 * abs(best)
    assert result.certificate.relative <= 1e-7


def test_left_to_itself_it_finds_the_rank():
    problem, best = planted(np.random.default_rng(3), n=40, rank=4)
    result = solve(problem, tol=1e-7)
    assert result.optimal
    assert set(result.chosen) == {"geometry", "method"}
    assert result.matrix.compress(1e-4).rank == 4
    assert abs(result.value - best) <= 4e-7 * abs(best)


@pytest.mark.parametrize("method", [ConjugateGradient(), TrustRegions()])
def test_columns_are_added_at_a_fixed_trace(method):
    """The eigenvalues of the minimiser of |M − T|² are those of T, projected onto a simplex."""
    rng, trace = np.random.default_rng(5), 3e3
    T = trace / 4.0 * symmetric(rng, 12)
    values = np.linalg.eigvalsh(T)
    best = np.sum((project_simplex(values, trace) - values) ** 2) - np.sum(values**2)
    problem = QuadraticSDP(None, 1.0, -T)
    few = solve(problem, FixedTrace(12, 1, trace), method, rng=0)
    assert few.status is Status.STATIONARY
    assert "escape=True" in few.message
    result = solve(problem, FixedTrace(12, 1, trace), method, rng=0, escape=True)
    assert result.optimal
    assert result.rank >= np.count_nonzero(project_simplex(values, trace)) > 1
    assert result.value - best <= 1e-6 * result.certificate.unit
    assert result.matrix.trace() == pytest.approx(trace, rel=1e-12)


def test_spurious_local_minimum_of_rank_one():
    """E-L3: full column rank makes a local minimum no global one; escape leaves it."""
    problem = QuadraticSDP(None, np.diag([1.0, 4.0]), np.diag([-1.0, -1.8]))
    geometry, start = FlatQuotient(2, 1), np.array([[0.01], [0.7]])
    stuck = solve(problem, geometry, start=start, tol=1e-8)
    assert stuck.status is Status.STATIONARY
    assert stuck.converged
    assert not stuck.optimal
    assert stuck.value == pytest.approx(-0.81, rel=1e-12)
    assert "at rank 1 of 2 the relative dual infeasibility is" in stuck.message
    assert "escape=True" in stuck.message
    free = solve(problem, geometry, start=start, tol=1e-8, escape=True)
    assert free.optimal
    assert free.value == pytest.approx(-1.81, rel=1e-9)
    assert free.rank == 2
    limited = solve(problem, geometry, start=start, tol=1e-8, escape=True, max_rank=1)
    assert limited.status is Status.STATIONARY
    assert limited.rank == 1
    assert np.max(limited.history["columns"]) == 1


def test_zero_is_stationary_but_not_optimal_and_a_start_there_is_left():
    """At Y = 0 the factor gradient vanishes for every problem: only the certificate tells."""
    problem = QuadraticSDP(None, 1.0, np.diag([-1.0, 1.0, 2.0]))
    at_zero = problem.at(np.zeros((3, 2)))
    assert not np.any(at_zero.factor_gradient())
    assert certify(problem, at_zero).smallest_eigenvalue == pytest.approx(-2.0)
    result = solve(problem, FlatQuotient(3, 2), ConjugateGradient(), start=np.zeros((3, 2)))
    assert result.optimal
    assert result.value == pytest.approx(-1.0, rel=1e-6)
    optimal = solve(QuadraticSDP(None, 1.0, np.eye(3)), FlatQuotient(3, 2), start=np.zeros((3, 2)))
    assert optimal.optimal
    assert optimal.value == 0.0


# ------------------------------------------------------------------------------------------------ methods and rules


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_a_problem_that_is_not_known_to_be_convex_is_never_optimal(method):
    def double_well(M):
        return anp.sum(M * M) ** 2 - 3.0 * anp.sum(M * M) - anp.trace(M)

    result = solve(AutogradProblem(double_well, 4), FlatQuotient(4, 2), method)
    assert result.status is Status.STATIONARY
    assert "not known to be convex" in result.message
    assert not result.optimal
    assert solve(AutogradProblem(double_well, 4), tol=1e-4).status is not Status.OPTIMAL


# ---------------------------------------------------------------------------------------------------------- records


def test_history_columns_and_counts():
    problem, _ = planted(np.random.default_rng(6))
    before = sum(m.applications for m in problem.maps)
    result = solve(problem, FlatQuotient(12, 4), ConjugateGradient(), tol=1e-6)
    applied = sum(m.applications for m in problem.maps) - before
    assert result.counts["operator_applications"] == applied
    assert {
        "iteration", "value", "gradient_norm", "stationarity", "step", "seconds", "columns", "operator_applications",
    } <= set(result.history.columns)  # fmt: skip
    np.testing.assert_array_equal(result.history["iteration"], np.arange(result.iterations + 1))
    assert np.all(np.diff(result.history["seconds"]) >= 0)
    assert np.all(np.diff(result.history["operator_applications"]) >= 0)
    gradient = problem.at(result.matrix.factor).factor_gradient()
    assert result.history["gradient_norm"][-1] == pytest.approx(np.linalg.norm(gradient), rel=1e-3)
    again = solve(problem, FlatQuotient(12, 4), ConjugateGradient(), tol=1e-6)
    once = 4 * problem.n  # the first run also measures F and ∇F at 0, the curvature ∇²F[I] and traces
    assert abs(again.counts["operator_applications"] - applied) <= once


@pytest.mark.parametrize("r", [0, 1])
def test_a_start_with_an_unused_column_can_be_escaped(r):
    """A run that stalls exactly at a stationary point widens and goes on, it does not give up."""
    problem = QuadraticSDP(None, np.diag([1.0, 4.0]), np.diag([-1.0, -1.8]))
    start = np.zeros((2, 1))
    start[1, 0] = r * math.sqrt(0.45)
    result = solve(problem, FlatQuotient(2, 1), start=start, escape=True)
    assert result.optimal
    assert result.value == pytest.approx(-1.81)


def test_escape_when_f_is_not_quadratic():
    """Along a new column the slope is exactly zero: the search has to leave the ridge by itself."""
    rows = np.diag([1.0, 2.0, 3.0])
    problem = TermSum([MeasuredTerm(QuadraticForms(rows), SquaredHinge(1.0)), LinearTerm(IdentityForm(3), 0.1)])
    result = solve(problem, FlatQuotient(3, 1), start=np.array([[0.9], [0.0], [0.0]]), escape=True)
    assert result.optimal
    assert result.rank == 3


@pytest.mark.parametrize(("make", "method", "products"), [
    (lambda: planted(np.random.default_rng(6))[0], ConjugateGradient(preconditioner="gram"), 3.0),
    (lambda: kta(np.random.default_rng(0)), LBFGS(preconditioner="gram"), 2.0),
], ids=["three operators", "shared data"])  # fmt: skip
def test_each_operator_is_applied_once_in_an_iteration(make, method, products):
    """One along, one step, one gradient, and nothing for the search or the value."""
    problem = make()
    result = solve(problem, FlatQuotient(problem.n, 4), method, tol=1e-10, max_iterations=12)
    np.testing.assert_array_equal(np.diff(result.history["operator_applications"])[1:], products)


# --------------------------------------------------------------------------------------------- partners, final words


GEOMETRIES = [Spectraplex(6), FixedTrace(6, 3), Polar(6, 2), PositiveDefinite(6), PSDCone(6)]
PARTNERED = [ProjectedGradient(), FrankWolfe(), BILGO(), ConjugateGradient("none"), LBFGS()]


@pytest.mark.parametrize(
    ("name", "piece"), [*(("geometry", g) for g in GEOMETRIES), *(("method", m) for m in PARTNERED)]
)
def test_a_piece_alone_gets_a_partner_that_fits(name, piece):
    problem = QuadraticSDP(psd(np.random.default_rng(0), 6), 1.0, -np.eye(6))
    result = solve(problem, **{name: piece}, max_iterations=20)
    assert {name, *result.chosen} == {"geometry", "method"}


def test_a_problem_that_is_undefined_at_zero_is_solved():
    problem = AutogradProblem(lambda M: -anp.log(anp.linalg.det(M)) + anp.trace(M), 3, convex=True)
    for geometry in (None, PositiveDefinite(3)):
        result = solve(problem, geometry)
        assert result.optimal
        assert result.value == pytest.approx(3.0, rel=1e-5)


def test_a_finished_run_that_is_resumed_returns_what_it_had(tmp_path):
    problem, _ = planted(np.random.default_rng(0))
    path = tmp_path / "run"
    whole = solve(problem, FlatQuotient(12, 4), ConjugateGradient(), checkpoint=path)
    again = solve(problem, FlatQuotient(12, 4), ConjugateGradient(), resume=path)
    assert again.status is whole.status
    assert again.iterations == whole.iterations
    assert again.value == whole.value
    np.testing.assert_array_equal(again.matrix.factor, whole.matrix.factor)
    finer = solve(problem, FlatQuotient(12, 4), ConjugateGradient(), resume=path, tol=1e-9)
    assert finer.iterations > whole.iterations


def test_a_cheap_proof_is_the_weaker_word_for_every_problem():
    """The switch belongs to the run, not to the problem: it acts where duality is made anew at each access as well."""
    problem = AutogradProblem(
        lambda M: anp.sum(anp.log(1.0 + anp.exp(1.0 - anp.diag(M)))) + 0.1 * anp.trace(M), 3, True
    )
    full, cheap = (solve(problem, rng=0, proof=proof) for proof in ("full", "cheap"))
    assert (full.optimal, cheap.optimal) == (True, False)
    assert cheap.status is Status.OPTIMAL_WITHIN
    assert certify(problem, full.matrix).proves(1e-6)
    assert not certify(problem, full.matrix, proof="cheap").proves(1e-6)
    with pytest.raises(InvalidInputError, match="unknown proof 'none'; known: cheap, full"):
        solve(problem, proof="none")
