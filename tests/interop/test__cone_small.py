"""Small programs that Clarabel solves and psdopt proves; what is not proven is solved by psdopt."""

import warnings
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import AugmentedLagrangian
from psdopt.interop import _cone_small
from psdopt.interop._cone_ending import Ending
from psdopt.interop._cone_program import ConeProgram
from psdopt.interop._cone_proofs import refutes
from psdopt.interop._cone_small import answered, by_clarabel
from psdopt.interop.cvxpy import PSDOPT
from psdopt.running.result import Status
from tests.interop.cone_programs import defects, known_optimum
from tests.interop.cvxpy_claims import program

pytest.importorskip("clarabel")


@pytest.fixture(autouse=True, scope="module")
def without_clarabel():
    """In place of the fixture of this folder: here programs are handed over."""


def largest_entry(n=5):
    X = cp.Variable((n, n), PSD=True)
    C = np.random.default_rng(n).standard_normal((n, n))
    return cp.Problem(cp.Maximize(cp.trace((C + C.T) @ X)), [cp.diag(X) == 1, X[0, 1] >= 0.2])


def test_the_answer_says_who_found_it_and_what_is_proven():
    problem = largest_entry()
    problem.solve(solver=PSDOPT(), tol=1e-7)
    extra = problem.solver_stats.extra_stats
    assert problem.status == "optimal"
    assert extra["message"] == "optimal: Clarabel's answer, proven by psdopt"
    assert (extra["result"], extra["form"], extra["proven"], extra["n"]) == (None, "given", "everywhere", 5)
    assert extra["certificate"].proves(1e-7)
    assert problem.solver_stats.num_iters > 0
    own = largest_entry()
    own.solve(solver=PSDOPT(), tol=1e-7, clarabel=False)
    assert own.solver_stats.extra_stats["result"].status is Status.OPTIMAL
    assert problem.value == pytest.approx(own.value, rel=1e-6)
    for theirs, ours in zip(problem.constraints, own.constraints, strict=True):
        np.testing.assert_allclose(theirs.dual_value, ours.dual_value, atol=1e-3)


@pytest.mark.parametrize("options", [{"algorithm": AugmentedLagrangian()}, {"form": "dual"}, {"max_iterations": 50}])
def test_options_of_psdopts_own_run_ask_for_it(options):
    problem = largest_entry()
    problem.solve(solver=PSDOPT(**options))
    assert problem.solver_stats.extra_stats["result"] is not None


def test_verbose_says_it_and_bad_options_are_refused(capsys):
    largest_entry().solve(solver=PSDOPT(), verbose=True)
    assert "Clarabel's answer, proven by psdopt" in capsys.readouterr().out
    for options, words in (({"clarabel": 1}, "clarabel must be True or False"), ({"tol": 2.0}, "tol must be"),
                           ({"max_time": -1.0}, "max_time")):  # fmt: skip
        with pytest.raises(cp.SolverError, match=words):
            largest_entry().solve(solver=PSDOPT(), **options)


@pytest.mark.parametrize("quadratic", [False, True])
def test_known_optima_are_found_and_proven(quadratic):
    found = {seed: by_clarabel(known_optimum(seed, quadratic)[0], {}) for seed in range(12)}
    answers = {seed: answer for seed, answer in found.items() if answer is not None}
    assert len(answers) >= 10  # by chance a value may be that of x_0, so that the unit is nearly zero
    for seed, answer in answers.items():
        given, x, _ = known_optimum(seed, quadratic)
        assert answer.proven(1e-6) == "everywhere"
        assert given.value(answer.point.x) == pytest.approx(given.value(x), rel=1e-5, abs=1e-6)
        left = defects(given, answer.point.x, answer.point.y)
        assert left["stationarity"] < 1e-11
        assert left["multipliers"] < 1e-14


def test_what_nothing_meets_is_infeasible_by_multipliers_that_are_exact_to_rounding():
    given, _, _ = known_optimum(3)
    row = given.A[given.zero : given.zero + 1]
    A = sp.csr_array(sp.vstack([given.A[: given.zero], row, -row, given.A[given.zero :]]))
    b = np.concatenate([given.b[: given.zero], [0.0, -1.0], given.b[given.zero :]])
    wrong = ConeProgram(given.c, None, A, b, given.zero, given.nonneg + 2, given.psd)
    found = by_clarabel(wrong, {})
    assert found.ending is Ending.INFEASIBLE
    assert refutes(wrong, found.proof)
    assert wrong.b @ found.proof == pytest.approx(-1.0)


def lies(monkeypatch, change):
    """Clarabel's answers, changed."""
    true = _cone_small.found_by_clarabel
    monkeypatch.setattr(_cone_small, "found_by_clarabel", lambda *arguments: change(true(*arguments)))


@pytest.mark.parametrize(
    "change",
    [
        lambda found: replace(found, x=found.x + 1e-2),
        lambda found: replace(found, x=0.0 * found.x),
        lambda found: replace(found, y=-found.y),
        lambda found: replace(found, y=0.0 * found.y),
        lambda found: replace(found, x=found.x * np.nan),
        lambda found: replace(found, y=found.y * np.inf),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_wrong_answer_is_not_proven_and_psdopt_solves_the_program(monkeypatch, seed, change):
    given, x, _ = known_optimum(seed)
    lies(monkeypatch, change)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of infinite numbers
        handed = by_clarabel(given, {})
    assert handed is None
    form, found = answered(given, {}, None, False)
    assert form is not None
    assert given.value(found.point.x) == pytest.approx(given.value(x), rel=1e-5, abs=1e-6)


def test_multipliers_in_other_units_are_moved_to_the_right_ones(monkeypatch):
    given, x, _ = known_optimum(2)
    lies(monkeypatch, lambda found: replace(found, y=2.0 * found.y))
    found = by_clarabel(given, {})
    assert given.value(found.point.x) == pytest.approx(given.value(x), rel=1e-6)
    assert defects(given, x, found.point.y)["stationarity"] < 1e-11


def test_a_feasible_program_that_is_called_infeasible_is_solved(monkeypatch):
    given, x, _ = known_optimum(1)
    lies(monkeypatch, lambda found: replace(found, refuted=True))
    found = answered(given, {}, None, False)[1]
    assert found.ending is None
    assert given.value(found.point.x) == pytest.approx(given.value(x), rel=1e-5, abs=1e-6)


def test_large_programs_and_homes_without_clarabel_are_psdopts(monkeypatch):
    given, _, _ = known_optimum(1)
    assert by_clarabel(given, {}) is not None
    with monkeypatch.context() as patch:
        patch.setattr(_cone_small, "MOST_FLOPS", 1.0)
        assert by_clarabel(given, {}) is None
    monkeypatch.setattr(_cone_small, "clarabel", lambda: None)
    assert by_clarabel(given, {}) is None
    assert answered(given, {}, None, False)[0] is not None


@pytest.mark.parametrize("seed", range(8))
def test_log_dets_have_the_value_of_psdopts_own_run(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 6)), int(rng.integers(6, 12))
    points, values = rng.standard_normal((m, n)), []
    for handed in (True, False):
        B, c = cp.Variable((n, n), symmetric=True), cp.Variable(n)
        sides = [cp.norm(B @ a - c) <= 1.0 for a in points]
        ellipsoid = cp.Problem(cp.Minimize(0.5 * cp.sum(c) - 3.0 * cp.log_det(B)), sides)
        ellipsoid.solve(solver=PSDOPT(), clarabel=handed)
        assert ellipsoid.status == "optimal"
        assert (ellipsoid.solver_stats.extra_stats["result"] is None) == handed
        values.append(ellipsoid.value)
    assert values[0] == pytest.approx(values[1], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_have_the_status_and_the_value_of_psdopts_own_run(seed):
    answers = []
    for handed in (True, False):
        model = program(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the status says it
            model.solve(solver=PSDOPT(), clarabel=handed)
        answers.append((model.status.removesuffix("_inaccurate"), model.value))
    (one, value), (other, expected) = answers
    assert one == other
    assert value == pytest.approx(expected, rel=1e-5, abs=1e-5) or not np.isfinite(expected)
