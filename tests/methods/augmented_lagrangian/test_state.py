"""The state of an augmented Lagrangian: which rounds count as gains, when the run stalls, when M has vanished."""

import numpy as np
import pytest

from psdopt import Constrained, FlatQuotient, Outcome, QuadraticSDP, constraints
from psdopt.methods.augmented_lagrangian.state import PATIENCE, AugmentedLagrangianState


def state(length: float = 1.0) -> AugmentedLagrangianState:
    problem = Constrained(QuadraticSDP(C=np.eye(3)), constraints.diagonal(3, 1.0))
    evaluation = problem.at(length * np.eye(3))
    return AugmentedLagrangianState(problem, FlatQuotient(3, 3), evaluation.factor, evaluation, gradient_norm=1.0)


def test_rounds_without_a_gain_end_the_run() -> None:
    run = state()
    run.infeasibility = 1e-3
    run.note_progress(1e-2)
    for k in range(1, PATIENCE + 1):
        assert run.outcome is Outcome.RUNNING
        run.note_progress(0.95e-2)
        assert run.idle == k
    assert run.outcome is Outcome.STALLED


@pytest.mark.parametrize("what", ["infeasibility", "gap", "columns"])
def test_any_gain_begins_the_count_anew(what: str) -> None:
    run = state()
    run.infeasibility = 1e-3
    run.note_progress(1e-2)
    run.note_progress(1e-2)
    assert run.idle == 1
    run.infeasibility *= 0.5 if what == "infeasibility" else 1.0
    run.grown = what == "columns"
    run.note_progress(0.5e-2 if what == "gap" else 1e-2)
    assert run.idle == 0


def test_vanished_is_relative_to_the_first_length() -> None:
    run = state(1e-7)
    run.first_length = 1.0
    assert run.vanished
    run.first_length = 1e-7
    assert not run.vanished
