"""Cone programs as constrained problems: what M holds, and the x and y that M and its multipliers give."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import solve
from psdopt.errors import InvalidInputError
from psdopt.interop._cone_forms import DualForm, PrimalForm, form_of
from psdopt.interop._cone_program import ConeProgram
from tests.interop.cone_programs import defects, random_cone_program, slack_matrix


def test_the_slacks_of_a_point_are_the_blocks_of_m() -> None:
    program = random_cone_program(1)
    form = PrimalForm(program)
    Y = np.random.default_rng(0).standard_normal((form.n, 2))
    x = form.point(Y, np.zeros(form.m)).x
    s = program.b - program.A @ x
    used = form.elimination.used
    M = Y @ Y.T
    i, j = program.places()
    held = used[program.first_psd :]
    assert held.any()
    assert np.allclose(s[program.first_psd :][held], M[i, j][held], rtol=0, atol=1e-10)
    assert form.problem().problem.at(Y).value == pytest.approx(program.value(x), rel=1e-10)


def test_rows_without_unknowns_that_ask_for_the_impossible_are_a_contradiction_with_its_proof() -> None:
    rows = sp.csr_array(np.array([[0.0, 0.0], [1.0, 1.0], [0.0, -1.0], [-1.0, 0.0]]))
    form = PrimalForm(ConeProgram(np.ones(2), None, rows, np.array([1.0, 1.0, 3.0, 0.0]), 2, 1, (1,)))
    assert form.impossible
    y = form.contradiction
    assert y is not None
    assert np.abs(form.program.A.T @ y).max() <= 1e-9
    assert form.program.b @ y < 0.0
    assert np.all(y[form.program.zero : form.program.first_psd] >= 0.0)
    assert not np.any(y[form.program.first_psd :])


def test_the_form_of_fewer_constraints_is_taken_unless_one_is_asked_for() -> None:
    program = random_cone_program(3, unknowns=2)
    dual, primal = DualForm(program), PrimalForm(program)
    assert dual.suits
    fewer = dual if dual.m < primal.m else primal
    assert type(form_of(program)) is type(fewer)
    assert isinstance(form_of(program, "primal"), PrimalForm)
    assert isinstance(form_of(program, "dual"), DualForm)
    curved = random_cone_program(3, quadratic=True)
    assert isinstance(form_of(curved), PrimalForm)
    for bad in (curved, replace(program, c=np.zeros(2))):
        with pytest.raises(InvalidInputError, match="form must be 'primal' or 'auto'"):
            form_of(bad, "dual")


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


def test_unknowns_that_nothing_defines_are_differences_of_two_diagonal_entries() -> None:
    """min x_1 with x_0 + x_1 = 0 and x_0 <= 1, and no PSD row on x_1 alone: x = (1, −1)."""
    A = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    program = ConeProgram(np.array([0.0, 1.0]), None, sp.csr_array(A), np.array([0.0, 1.0, 1.0]), 1, 1, (1,))
    for form in (PrimalForm(program), DualForm(program)):
        if isinstance(form, DualForm) and not form.suits:
            continue
        result = solve(form.problem(), tol=1e-7)
        x = form.point(result.matrix.factor, result.certificate.constraints.multipliers).x
        assert np.allclose(x, [1.0, -1.0], rtol=0, atol=1e-4)
