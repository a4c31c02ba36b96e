"""One run on a cone program: its answer, what it proves, a second run that begins where the first ended."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from psdopt import Status
from psdopt.interop._cone_forms import PrimalForm
from psdopt.interop._cone_program import ConeProgram
from psdopt.interop._cone_solve import Answer, solved
from tests.interop.cone_programs import random_cone_program


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
