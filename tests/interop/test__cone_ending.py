"""Programs without an optimum: what proofs of either form say, in the words and units of the program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import certify, solve
from psdopt.constraints import Constrained
from psdopt.interop._cone_ending import Proofs, feasibility, proofs
from psdopt.interop._cone_forms import DualForm, PrimalForm
from psdopt.interop._cone_program import ConeProgram
from tests.interop.cone_programs import defects, falls, random_cone_program, refutes


def scaled(v: np.ndarray, by: float) -> np.ndarray:
    return v / -by


def beyond(program: ConeProgram) -> ConeProgram:
    """`program` with x_0 >= 5 and x_0 <= 3 as its first inequalities."""
    rows = np.zeros((2, len(program.c)))
    rows[:, 0] = [-1.0, 1.0]
    first = program.zero
    A = sp.csr_array(sp.vstack([program.A[:first], sp.csr_array(rows), program.A[first:]], format="csr"))
    b = np.concatenate([program.b[:first], [-5.0, 3.0], program.b[first:]])
    return replace(program, A=A, b=b, nonneg=program.nonneg + 2)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", [PrimalForm, DualForm])
def test_a_run_on_either_form_refutes_the_program_itself(kind, seed) -> None:
    program = beyond(random_cone_program(seed))
    form = kind(program)
    problem = form.problem()
    found = proofs(form, problem, solve(problem, tol=1e-8).certificate)
    assert found.x is None
    assert found.y is not None
    assert refutes(program, scaled(found.y, program.b @ found.y)) <= 1e-9


@pytest.mark.parametrize("kind", [PrimalForm, DualForm])
def test_a_run_on_either_form_finds_a_ray_of_the_program_itself(kind) -> None:
    """min −x_0 + x_1, diag(x_0 + x_1, x_0 − x_1 + 1) ⪰ 0, x_1 >= −2."""
    A = np.array([[0.0, -1.0], [-1.0, -1.0], [0.0, 0.0], [-1.0, 1.0]])
    program = ConeProgram(np.array([-1.0, 1.0]), None, sp.csr_array(A), np.array([2.0, 0.0, 0.0, 1.0]), 0, 1, (2,))
    form = kind(program)
    problem = form.problem()
    found = proofs(form, problem, solve(problem, tol=1e-8).certificate)
    assert found.y is None
    assert found.x is not None
    assert falls(program, scaled(found.x, program.c @ found.x)) <= 1e-9


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
        found = proofs(form, problem, certificate)
        assert found.y is not None
        assert refutes(program, scaled(found.y, program.b @ found.y)) <= 1e-12


def test_an_optimum_has_no_such_proofs() -> None:
    for kind in (PrimalForm, DualForm):
        form = kind(random_cone_program(0))
        problem = form.problem()
        assert proofs(form, problem, solve(problem).certificate) == Proofs()
        assert proofs(form, problem, None) == Proofs()


def test_the_search_for_a_point_takes_constraints_without_the_objective() -> None:
    program = random_cone_program(1, quadratic=True)
    form = feasibility(program)
    assert form.feasibility
    result = solve(form.problem(), tol=1e-8)
    x = form.point(np.asarray(result.matrix.factor), result.certificate.constraints.multipliers).x
    found = defects(program, x, np.zeros(len(program.b)))
    assert max(found[name] for name in ("equations", "inequalities", "slack")) <= 1e-6
