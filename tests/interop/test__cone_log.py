"""The table that verbose runs print: its head, a row for each step, both objectives of the program itself."""

import re

import cvxpy as cp
import numpy as np
import pytest

from psdopt.interop._cone_forms import DualForm, PrimalForm
from psdopt.interop._cone_solve import solved
from psdopt.interop.cvxpy import PSDOPT
from tests.interop.cone_programs import random_cone_program


@pytest.mark.parametrize("form", [PrimalForm, DualForm])
def test_rows_end_at_the_objectives_of_the_program(form, capsys) -> None:
    program = random_cone_program(1)
    answer = solved(form(program), {"tol": 1e-8}, None, True)
    head, sizes, titles, *rows, end = capsys.readouterr().out.splitlines()
    assert head.startswith(f"psdopt InteriorPoint on the {'dual' if form is DualForm else 'primal'} form: M of order ")
    assert sizes == "program: 5 unknowns, 1 equations, 3 inequalities, 2 PSD blocks"
    assert titles.split() == ["it", "primal", "dual", "pinf", "dinf", "gap", "step", "seconds"]
    assert end == answer.message
    assert [int(row.split()[0]) for row in rows] == list(range(1, answer.iterations + 1))
    value = program.value(answer.point.x)
    last = [float(cell) for cell in rows[-1].split()]
    assert last[1:3] == pytest.approx([value, value], rel=1e-6)
    assert max(last[3:6]) <= 1e-7
    gaps = [float(row.split()[5]) for row in rows]
    assert gaps[-1] < gaps[0]


def test_a_line_says_why_a_finer_run_follows(capsys) -> None:
    G = np.random.default_rng(0).standard_normal((6, 6))
    X = cp.Variable((6, 6), PSD=True)
    cp.Problem(cp.Minimize(cp.sum_squares(X - G - G.T)), [cp.diag(X) == 1]).solve(solver=PSDOPT(), verbose=True)
    lines = capsys.readouterr().out.splitlines()
    first, second = (k for k, line in enumerate(lines) if line.split()[:1] == ["1"])
    assert re.match(r"the largest error, .*, is above 10 tol: a finer run follows", lines[second - 1])
    assert first < second - 1


def test_quiet_runs_print_nothing(capsys) -> None:
    solved(PrimalForm(random_cone_program(1)), {"tol": 1e-6}, None, False)
    assert capsys.readouterr().out == ""


def test_a_run_that_knows_no_bound_leaves_cells_empty(capsys) -> None:
    form = PrimalForm(random_cone_program(2, quadratic=True))
    solved(form, {"tol": 1e-6, "max_iterations": 3}, None, True)
    rows = capsys.readouterr().out.splitlines()[3:-1]
    assert rows
    assert all(len(row) <= 80 for row in rows)
    assert np.isfinite(float(rows[0].split()[1]))
