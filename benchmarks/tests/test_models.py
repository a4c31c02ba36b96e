"""Models of the literature: right answers are called right, and others by their names."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from benchmarks import models
from benchmarks.__main__ import FOLDER, benchmarks
from benchmarks.models import Solved

FAST = ("correlation_frobenius", "truss", "fastest_averaging", "lyapunov", "max_cut", "sum_of_squares")
RIGHT = Solved("CLARABEL", "optimal", 2.0)


def test_the_package_is_a_benchmark() -> None:
    assert benchmarks(FOLDER)["models"].startswith("Models of the literature")


def test_every_model_is_a_convex_problem_with_a_matrix_and_a_line_about_it() -> None:
    found = models.models()
    assert len(found) == 49
    for model in found.values():
        problem = model()
        assert problem.is_dcp()
        assert model.__doc__
        assert "\n" not in model.__doc__


def test_fast_models_are_right(capsys: pytest.CaptureFixture[str]) -> None:
    assert models.main([*FAST, "largest_entropy"]) == 0
    told = capsys.readouterr().out
    assert "7 models: 6 right, 0 inaccurate, 1 refused, 0 wrong, 0 failed" in told
    assert "largest_entropy, PSDOPT: PSDOPT takes" in told


def test_psdopts_own_runs_are_right_too_and_seconds_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert models.main(["truss", "lyapunov", "largest_entropy", "--own", "--repeats", "2"]) == 0
    told = capsys.readouterr().out
    assert "in the geometric mean of 2 models; more than 2 for" in told
    assert "3 models: 2 right, 0 inaccurate, 1 refused" in told
    twice = [("a", replace(RIGHT, seconds=4.0), replace(RIGHT, seconds=1.0), "right"),
             ("b", replace(RIGHT, seconds=1.0), replace(RIGHT, seconds=1.0), "right")]  # fmt: skip
    assert models.race(twice).endswith("2.00 in the geometric mean of 2 models; more than 2 for 1, a 4.0")
    assert models.race([]) == "no model is solved by both"


def test_a_wrong_answer_is_called_wrong(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    solve = models.solved

    def worse(problem: cp.Problem, solver: str, **options: object) -> Solved:
        found = solve(problem, solver, **options)
        return replace(found, value=1.002 * found.value) if solver == "PSDOPT" else found

    monkeypatch.setattr(models, "solved", worse)
    assert models.main(["max_cut"]) == 1
    assert "1 models: 0 right, 0 inaccurate, 0 refused, 1 wrong, 0 failed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("ours", "kind"),
    [
        (Solved("PSDOPT", "optimal", 2.001), "right"),
        (Solved("PSDOPT", "optimal_inaccurate", 2.001), "inaccurate"),
        (Solved("PSDOPT", "optimal", 2.003), "wrong"),
        (Solved("PSDOPT", "optimal_inaccurate", 1.99), "wrong"),
        (Solved("PSDOPT", "optimal", 2.0, outside=2e-4), "wrong"),
        (Solved("PSDOPT", "optimal", np.nan), "wrong"),
        (Solved("PSDOPT", "infeasible", np.inf), "wrong"),
        (Solved("PSDOPT", "user_limit", 2.0), "failed"),
        (Solved("PSDOPT", "PSDOPT found no solution: no progress"), "failed"),
        (Solved("PSDOPT", "PSDOPT takes no integer or boolean variables"), "refused"),
    ],
)
def test_verdicts(ours: Solved, kind: str) -> None:
    assert models.verdict(ours, RIGHT) == kind


def test_nothing_is_right_without_a_reference() -> None:
    assert models.verdict(replace(RIGHT, solver="PSDOPT"), Solved("SCS", "user_limit")) == "failed"
    assert models.verdict(Solved("PSDOPT", "infeasible", np.inf), Solved("SCS", "infeasible", np.inf)) == "right"


def test_violations_are_relative_to_the_point() -> None:
    x = cp.Variable((2, 2), symmetric=True)
    x.value = np.array([[10.0, 0.0], [0.0, -1.0]])
    assert models.violation(cp.Problem(cp.Minimize(0), [x >> 0])) == pytest.approx(0.1)
