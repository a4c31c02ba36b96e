"""Random cone programs: optimality conditions of what the forms make, and values against Clarabel."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt import solve
from psdopt.interop._cone_forms import DualForm, PrimalForm

from . import cvxpy_claims
from .cone_programs import defects, program_of_any_sizes


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(["primal", "dual", "quadratic"]))
def test_every_form_meets_the_optimality_conditions(seed, kind):
    """Feasibility, stationarity, signs of the multipliers and complementarity, of x and y in the program itself."""
    program = program_of_any_sizes(seed, kind == "quadratic")
    form = PrimalForm(program) if kind != "dual" else DualForm(program)
    if kind == "dual" and not form.suits:  # an unknown without a row, or a cost of zero
        form = PrimalForm(program)
    result = solve(form.problem(), tol=1e-8)
    # of a curved objective S may be semidefinite but for rounding, and where nothing bounds the trace that is no proof
    assert result.optimal or (kind == "quadratic" and result.certificate.relative <= 1e-6), result
    y = result.certificate.constraints.multipliers if form.m else np.zeros(0)
    point = form.point(np.asarray(result.matrix.factor), y)
    x, y, s = point.x, point.y, program.b - program.A @ point.x
    loose = 2e-5 * (1.0 + sum(np.max(np.abs(v)) for v in (program.b, x, y, s))) ** 2
    found = defects(program, x, y)
    assert found.pop("gap") <= 10.0 * len(s) * loose
    assert max(found.values()) <= loose, found


def test_random_programs_with_scalars_and_several_matrices_agree_with_clarabel(capsys) -> None:
    """A few of what ``python -m tests.interop.cvxpy_claims`` runs by the hundred."""
    assert cvxpy_claims.main(["--runs", "20", "--seed", "1000"]) == 0
    assert "false" not in capsys.readouterr().out


def test_an_unknown_of_a_small_coefficient_is_not_eliminated():
    """x has the coefficient 0.0036 in one row, and larger ones in others: F(0) was 1e8, F at the solution 53."""
    assert cvxpy_claims.judged(969) == "agrees"


def test_a_saddle_of_a_curved_objective_is_left():
    """An unknown has left the factor, and S is −0.5 there: the curvature of F hid it from the damping of the steps."""
    assert [cvxpy_claims.judged(seed) for seed in (195, 958)] == ["agrees", "agrees"]
