"""Programs without an optimum: what proofs of either form say, in the words and units of the program."""

import numpy as np
import scipy.sparse as sp

from psdopt import certify, solve
from psdopt.constraints import Constrained
from psdopt.interop._cone_ending import Proofs, feasibility, proofs
from psdopt.interop._cone_forms import DualForm, PrimalForm
from psdopt.interop._cone_program import ConeProgram
from tests.interop.cone_programs import defects, random_cone_program, refutes


def scaled(v: np.ndarray, by: float) -> np.ndarray:
    return v / -by


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
