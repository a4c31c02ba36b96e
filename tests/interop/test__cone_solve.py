"""One run on a cone program: its answer, what it proves, a second run that begins where the first ended."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Status
from psdopt.interop._cone_ending import Ending
from psdopt.interop._cone_forms import DualForm, PrimalForm
from psdopt.interop._cone_program import ConeProgram
from psdopt.interop._cone_solve import Answer, solved
from tests.interop.cone_programs import defects, falls, random_cone_program, refutes


@pytest.mark.parametrize("kind", [PrimalForm, DualForm])
def test_an_optimal_answer_meets_every_condition_and_proves_it(kind) -> None:
    program = random_cone_program(0)
    answer = solved(kind(program), {"tol": 1e-7}, None, False)
    assert answer.status is Status.OPTIMAL
    assert answer.proven(1e-7) == "everywhere"
    assert answer.residual <= 1e-6
    assert answer.point is not None
    scale = 1.0 + abs(program.value(answer.point.x)) + np.abs(program.b).max()
    assert max(defects(program, answer.point.x, answer.point.y).values()) <= 1e-3 * scale


def test_the_last_solution_is_kept_where_it_still_is_one_and_the_work_is_saved() -> None:
    form = PrimalForm(random_cone_program(1))
    first = solved(form, {"tol": 1e-6}, None, False)
    assert first.warm is not None
    second = solved(form, {"tol": 1e-5}, first.warm, False)
    assert second.status is Status.OPTIMAL
    assert second.iterations == 0
    assert "last solution still is" in second.message
    other = solved(PrimalForm(random_cone_program(2)), {"tol": 1e-6}, first.warm, False)
    assert other.status is Status.OPTIMAL
    assert other.iterations > 0


def test_equations_that_contradict_are_answered_before_any_run() -> None:
    A = sp.csr_array(np.array([[1.0], [1.0], [0.0]]))
    program = ConeProgram(np.ones(1), None, A, np.array([0.0, 1.0, 1.0]), 2, 0, (1,))
    for form in (PrimalForm(program), DualForm(program)):
        answer = solved(form, {}, None, False)
        assert answer.ending is Ending.INFEASIBLE
        assert answer.iterations == 0
        assert refutes(program, answer.proof) <= 1e-12


def test_a_quadratic_objective_that_falls_without_end_has_its_ray_as_proof() -> None:
    A = sp.csr_array(np.array([[0.0, -1.0], [-1.0, 0.0]]))
    program = ConeProgram(np.array([0.0, -1.0]), sp.csr_array(np.diag([1.0, 0.0])), A, np.zeros(2), 0, 1, (1,))
    answer = solved(PrimalForm(program), {}, None, False)
    assert answer.ending is Ending.UNBOUNDED
    assert falls(program, answer.proof) <= 1e-5


def test_a_curvature_of_any_size_keeps_an_objective_from_falling_without_end() -> None:
    """min 5e-13 x_0² − x_0: a ray of the linear part is none of the objective, however small the curvature is."""
    A = sp.csr_array(np.array([[0.0, -1.0], [-1.0, 0.0]]))
    for small in (1e-12, 1e-6, 1.0):
        curved = sp.csr_array(np.diag([small, 1.0]))
        answer = solved(
            PrimalForm(ConeProgram(np.array([-1.0, 0.0]), curved, A, np.zeros(2), 0, 1, (1,))), {}, None, False
        )
        assert answer.ending is None
        assert answer.point is None or answer.point.x[0] > 0.0


@pytest.mark.parametrize("kind", [PrimalForm, DualForm])
@pytest.mark.parametrize("feasible", [True, False])
def test_a_ray_is_unbounded_where_a_point_is_feasible_and_infeasible_where_none_is(kind, feasible) -> None:
    """min −x_0 − x_1, diag(x_0, x_0 + x_1) ⪰ 0 and x_2 between 0 and ±1, beside x_2 − x_0 <= 1."""
    A = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [-1.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0] * 3, [-1.0, -1.0, 0.0]])
    b = np.array([1.0 if feasible else -1.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    program = ConeProgram(np.array([-1.0, -1.0, 0.0]), None, sp.csr_array(A), b, 0, 3, (2,))
    answer = solved(kind(program), {}, None, False)
    if feasible:
        assert answer.ending is Ending.UNBOUNDED
        assert falls(program, answer.proof) <= 1e-9
    else:
        assert answer.ending is Ending.INFEASIBLE
        assert refutes(program, answer.proof) <= 1e-9


def test_zero_is_the_answer_where_multipliers_prove_it() -> None:
    """min tr S over S ⪰ 0 that nothing else holds: near S = 0 no gap is relatively small."""
    A = -np.eye(3)
    program = ConeProgram(np.array([1.0, 0.0, 1.0]), None, sp.csr_array(A), np.zeros(3), 0, 0, (2,))
    answer = solved(PrimalForm(program), {}, None, False)
    assert answer.status is Status.OPTIMAL
    assert answer.point is not None
    assert np.abs(answer.point.x).max() <= 1e-6


def test_what_is_proven_depends_on_the_errors_not_on_the_word() -> None:
    answer = solved(PrimalForm(random_cone_program(3)), {"tol": 1e-6}, None, False)
    assert answer.proven(1e-6) == "everywhere"
    assert answer.certificate is not None
    known = answer.certificate.constraints
    coarse = replace(answer.certificate, constraints=replace(known, dimacs={**known.dimacs, "gap": 1e-3}))
    assert replace(answer, certificate=coarse).proven(1e-6) == ""
    stalled = replace(answer, status=Status.NO_PROGRESS)
    assert stalled.proven(10.0 * answer.residual) == "loosely"
    unproven = replace(answer.certificate, dual_value=None, lower_bound=-1e3)
    assert replace(stalled, certificate=unproven).proven(10.0 * answer.residual) == ""
    nearly = replace(answer.certificate, dual_value=None, lower_bound=-1e-16)
    assert replace(stalled, certificate=nearly).proven(max(10.0 * answer.residual, 1e-6)) == "within"
    assert Answer(Status.NO_PROGRESS, "nothing").proven(1.0) == ""
    assert Answer(Status.NO_PROGRESS, "nothing").residual == np.inf


def test_options_reach_the_run() -> None:
    form = PrimalForm(random_cone_program(4))
    cut = solved(form, {"max_iterations": 1}, None, False)
    assert cut.status is not Status.OPTIMAL
    assert cut.iterations == 1
