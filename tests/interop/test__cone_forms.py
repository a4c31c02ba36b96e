"""Cone programs as constrained problems: x and y of M and its multipliers, endings, recession, runs, what proves."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Status, certify, solve
from psdopt.constraints import Constrained
from psdopt.errors import InvalidInputError
from psdopt.interop._cone_ending import feasibility, may_fall, proofs, recession
from psdopt.interop._cone_epigraph import EpigraphForm, forms_of
from psdopt.interop._cone_forms import DualForm, PrimalForm
from psdopt.interop._cone_program import ConeProgram
from psdopt.interop._cone_proofs import falls, refutes
from psdopt.interop._cone_solve import Answer, solved
from tests.interop.cone_programs import defects, random_cone_program, refuted, slack_matrix


def test_rows_without_unknowns_that_ask_for_the_impossible_are_a_contradiction_with_its_proof() -> None:
    rows = sp.csr_array(np.array([[0.0, 0.0], [1.0, 1.0], [0.0, -1.0], [-1.0, 0.0]]))
    form = PrimalForm(ConeProgram(np.ones(2), None, rows, np.array([1.0, 1.0, 3.0, 0.0]), 2, 1, (1,)))
    assert form.contradiction is not None
    y = form.contradiction
    assert np.abs(form.program.A.T @ y).max() <= 1e-9
    assert form.program.b @ y < 0.0
    assert np.all(y[form.program.zero : form.program.first_psd] >= 0.0)
    assert not np.any(y[form.program.first_psd :])


def test_the_form_of_fewer_constraints_is_taken_unless_one_is_asked_for() -> None:
    program = random_cone_program(3, unknowns=2)
    dual, primal = DualForm(program), PrimalForm(program)
    assert dual.suits
    fewer = dual if dual.m < primal.m else primal
    assert type(next(forms_of(program))) is type(fewer)
    assert isinstance(next(forms_of(program, "primal")), PrimalForm)
    assert isinstance(next(forms_of(program, "dual")), DualForm)
    curved = random_cone_program(3, quadratic=True)
    assert [type(form) for form in forms_of(curved)] == [EpigraphForm, PrimalForm]
    for bad in (curved, replace(program, c=np.zeros(2))):
        with pytest.raises(InvalidInputError, match="form must be 'primal' or 'auto'"):
            next(forms_of(bad, "dual"))


def test_a_constant_objective_asks_for_the_least_trace_and_has_no_multipliers() -> None:
    program = replace(random_cone_program(5), c=np.zeros(5))
    form = PrimalForm(program)
    assert form.feasibility
    result = solve(form.problem(), tol=1e-7)
    point = form.point(result.matrix.factor, result.certificate.constraints.multipliers)
    assert not np.any(point.y)
    found = defects(program, point.x, point.y)
    assert max(found[name] for name in ("equations", "inequalities", "slack")) <= 1e-4
    least = np.linalg.eigvalsh(slack_matrix(program, (program.b - program.A @ point.x)[program.first_psd :]))[0]
    assert least >= -1e-4


def test_multipliers_that_need_a_bound_on_the_trace_are_completed_by_those_that_prove_it() -> None:
    """tr M = 1 and M_00 >= 2: w = (0, −1) proves it as M_00 <= tr M = 1, with A*(w) not semidefinite."""
    A = np.zeros((5, 3))
    A[0], A[1], A[2:] = [1.0, 0.0, 1.0], [-1.0, 0.0, 0.0], -np.eye(3)
    program = ConeProgram(np.array([0.0, 1.0, 0.0]), None, sp.csr_array(A), np.array([1.0, -2.0, 0, 0, 0]), 1, 1, (2,))
    form = PrimalForm(program)
    problem = form.problem()
    assert isinstance(problem, Constrained)
    for w in np.array([[0.0, 1.0], [1.0, 1.0], [1.5, 1.0]]):
        certificate = certify(problem, solve(problem, tol=1e-6).matrix, dual=w)
        y, _, _ = proofs(form, problem, certificate)
        assert refuted(program, -y / (program.b @ y)) <= 1e-12


def test_an_optimum_has_no_such_proofs() -> None:
    for kind in (PrimalForm, DualForm):
        form = kind(random_cone_program(0))
        problem = form.problem()
        assert proofs(form, problem, solve(problem).certificate) == (None, None, False)
        assert proofs(form, problem, None) == (None, None, False)


def test_the_search_for_a_point_takes_constraints_without_the_objective() -> None:
    program = random_cone_program(1, quadratic=True)
    form = feasibility(program)
    assert form.feasibility
    result = solve(form.problem(), tol=1e-8)
    x = form.point(np.asarray(result.matrix.factor), result.certificate.constraints.multipliers).x
    found = defects(program, x, np.zeros(len(program.b)))
    assert max(found[name] for name in ("equations", "inequalities", "slack")) <= 1e-6


def halfplane(c: list[float], P: np.ndarray | None) -> ConeProgram:
    """x_0 >= 0 as a block of order one, x_1 >= 0 as an inequality."""
    A = sp.csr_array(np.array([[0.0, -1.0], [-1.0, 0.0]]))
    return ConeProgram(np.array(c), None if P is None else sp.csr_array(P), A, np.zeros(2), 0, 1, (1,))


def looked_at(program: ConeProgram, trace_bound: float | None = None) -> bool:
    form = PrimalForm(program)
    return may_fall(form, form.problem(trace_bound))


def test_only_a_linear_part_that_falls_somewhere_is_looked_at() -> None:
    curved = np.diag([1.0, 0.0])
    assert looked_at(halfplane([0.0, -1.0], curved))
    assert not looked_at(halfplane([0.0, 1.0], curved))
    assert not looked_at(halfplane([0.0, 0.0], curved))
    assert not looked_at(halfplane([0.0, -1.0], None))  # linear: methods find the direction


def test_a_bound_on_the_trace_ends_every_fall() -> None:
    curved = sp.csr_array(np.diag([1.0, 0.0]))
    A = sp.csr_array(np.array([[1.0, 0.0], [0.0, -1.0], [-1.0, 0.0]]))
    open_ended = ConeProgram(np.array([0.0, -1.0]), curved, A, np.array([5.0, 0.0, 0.0]), 0, 2, (1,))
    assert looked_at(open_ended)
    assert not looked_at(open_ended, trace_bound=100.0)
    A = sp.csr_array(np.array([[1.0, 1.0], [0.0, -1.0], [-1.0, 0.0]]))
    boxed = ConeProgram(np.array([0.0, -1.0]), curved, A, np.array([5.0, 0.0, 0.0]), 0, 2, (1,))
    assert not looked_at(boxed)


def test_the_size_of_the_quadratic_part_does_not_matter() -> None:
    for size in (1e-12, 1.0, 1e12):
        ray = recession(halfplane([0.5, -2.0], size * np.array([[1.0, -1e-3], [-1e-3, 1e-6]])))
        assert np.allclose(abs(ray.A[: ray.zero]).sum(axis=1), 1.0)


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
    assert np.abs(answer.point.x).max() <= 1e-6


def test_what_is_proven_depends_on_the_errors_not_on_the_word() -> None:
    answer = solved(PrimalForm(random_cone_program(3)), {"tol": 1e-6}, None, False)
    assert answer.proven(1e-6) == "everywhere"
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


def corner(unit: float = 1.0) -> ConeProgram:
    """X ⪰ 0 of order two, X_00 = 0, X_01 = 1: infeasible, and no y proves it. x = (X_00, X_01, X_11)."""
    A = np.concatenate([np.eye(2, 3), -np.eye(3)])
    return ConeProgram(np.zeros(3), None, sp.csr_array(unit * A), unit * np.array([0, 1.0, 0, 0, 0]), 2, 0, (2,))


def edge(unit: float = 1.0) -> ConeProgram:
    """min x with [[0, x], [x, y]] ⪰ 0: zero, while no multipliers meet the conditions of optimality."""
    A = np.array([[0.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])
    return ConeProgram(np.array([1.0, 0.0]), None, sp.csr_array(unit * A), np.zeros(3), 0, 0, (2,))


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("size", [1.0, 1e4, 1e8, 1e12])
def test_what_is_nearly_a_proof_for_large_entries_is_none(size, unit) -> None:
    y = np.array([size, -1.0, size, -1.0, 0.0])  # Y = [[size, -1/2], [-1/2, 0]]
    assert not refutes(corner(unit), y)
    x = np.array([-1.0, size])
    assert not falls(edge(unit), x)


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_a_proof_holds_in_every_unit(unit) -> None:
    """X_00 = 0 and 2 X_01 + X_11 = -1: y = (1, 1) as [[1, 1], [1, 1]] ⪰ 0."""
    A = np.concatenate([[[1.0, 0.0, 0.0], [0.0, 2.0, 1.0]], -np.eye(3)])
    program = ConeProgram(np.zeros(3), None, sp.csr_array(A), unit * np.array([0.0, -1.0, 0, 0, 0]), 2, 0, (2,))
    y = np.array([1.0, 1.0, 1.0, 2.0, 1.0])
    rounded = y * (1.0 + 1e-15 * np.array([1.0, -1.0, 1.0, 1.0, -1.0]))
    for v in (y, unit * y, rounded):
        assert refutes(program, v)
    for k in range(5):
        wrong = y.copy()
        wrong[k] *= 0.999
        assert not refutes(program, wrong)
    assert not refutes(program, -y)
    assert not refutes(program, np.full(5, np.nan))


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_a_ray_stays_in_the_cones_and_where_nothing_is_curved(unit) -> None:
    """min -x_1 with x_0 >= 0, x_1 >= -3, and x_0 curved."""
    A, b = -unit * np.eye(2), unit * np.array([0.0, 3.0])
    P = sp.csr_array(unit * np.array([[1.0, 0.0], [0.0, 0.0]]))
    program = ConeProgram(np.array([0.0, -1.0]), P, sp.csr_array(A), b, 0, 2, ())
    assert falls(program, np.array([0.0, 1.0]))
    for wrong in ([1e-6, 1.0], [0.0, -1.0], [0.0, np.inf]):
        assert not falls(program, np.array(wrong))


def test_a_curvature_that_is_small_beside_another_is_no_flat_direction() -> None:
    """(y - 1)² + (e t - y)² - t for e = 1e-8: bounded, though P is singular to rounding."""
    e = 1e-8
    P = sp.csr_array(2.0 * np.array([[2.0, -e], [-e, e * e]]))
    program = ConeProgram(np.array([-2.0, -1.0]), P, sp.csr_array((0, 2)), np.zeros(0), 0, 0, ())
    assert not falls(program, np.array([0.0, 1.0]))


def test_a_fall_of_a_share_of_1e_10_is_none() -> None:
    for share, word in ((1e-5, True), (1e-10, False)):
        program = ConeProgram(np.array([1.0, -1.0 - share]), None, sp.csr_array(-np.eye(2)), np.zeros(2), 0, 2, ())
        assert falls(program, np.ones(2)) is word
