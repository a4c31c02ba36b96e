"""A master without an answer ends the run where it is."""

import pytest

from psdopt import Status, solve
from psdopt.geometries import Spectraplex
from psdopt.margins.masters import BlockMaster, Unsolved
from psdopt.methods import ColumnGeneration
from tests.margins.instances import only


def test_a_run_ends_with_the_best_matrix_when_its_master_gives_up(monkeypatch):
    method = ColumnGeneration()
    problem = only(d=6, m=80)
    whole = solve(problem, Spectraplex(6), method, tol=1e-6)
    assert whole.iterations >= 2
    right, calls = BlockMaster.solve, []

    def gives_up(self, *given, **named):
        calls.append(1)
        if len(calls) == whole.iterations:
            raise Unsolved("not solved")
        return right(self, *given, **named)

    monkeypatch.setattr(BlockMaster, "solve", gives_up)
    result = solve(problem, Spectraplex(6), method, tol=1e-12)
    assert result.status is Status.NO_PROGRESS
    # one round short of the optimum, and better than before the first
    assert whole.value <= result.value + 1e-12
    assert result.value < result.history.records[0]["value"]
    assert result.value == pytest.approx(min(record["value"] for record in result.history.records), rel=1e-14)
    assert result.certificate.gap is not None
