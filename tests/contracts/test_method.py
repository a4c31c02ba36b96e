"""The method's contract: its defaults, the residual that the driver reads, and values that stop a run."""

import numpy as np
import pytest

from psdopt import FixedTrace, FlatQuotient, Polar, PSDCone, QuadraticSDP, Spectraplex, factor_residual
from psdopt.contracts.method import Method, State, ensure_finite
from tests.instances import psd


class Still(Method):
    def init(self, problem, geometry, start, evaluation=None):
        return State(problem, geometry, start, evaluation or problem.at(geometry.factor(start)))

    def step(self, state):
        return state


def problem(n=6, seed=0):
    rng = np.random.default_rng(seed)
    return QuadraticSDP(psd(rng, n, n), 0.5, rng.standard_normal() * np.eye(n) - psd(rng, n, 2)), rng


def test_a_method_begins_anew_where_columns_are_added_and_takes_no_notice_of_the_callers_rank():
    p, rng = problem()
    method, Y = Still(), rng.standard_normal((6, 2))
    state = method.init(p, FlatQuotient(6, 2), Y)
    wider = np.hstack([Y, np.zeros((6, 1))])
    moved = method.widened(state, FlatQuotient(6, 3), wider, p.at(wider))
    assert moved.point is wider
    assert moved.geometry.rank == 3
    assert method.with_escape(True, 5) is method
    assert method.name == "Still"


@pytest.mark.parametrize(
    ("geometry", "trace"),
    [(FlatQuotient(6, 2), None), (PSDCone(6), None), (FixedTrace(6, 2, 3.0), 3.0), (Spectraplex(6, 3.0), 3.0)],
    ids=repr,
)
def test_the_residual_is_the_factor_gradient_without_the_multiplier_of_a_fixed_trace(geometry, trace):
    p, rng = problem()
    Y = geometry.factor(geometry.random_point(rng))
    S = p.at(Y).gradient @ np.eye(6)
    s = np.trace(Y.T @ S @ Y) / trace if trace else 0.0
    assert factor_residual(geometry, p.at(Y)) == pytest.approx(2.0 * np.linalg.norm(S @ Y - s * Y), rel=1e-12)


def test_of_a_restricted_geometry_only_the_reachable_part_counts():
    p, rng = problem()
    geometry = Polar(6, 2, 0.0)  # the range is kept
    point = geometry.random_point(rng)
    at = p.at(geometry.factor(point))
    assert factor_residual(geometry, at, point) < factor_residual(FlatQuotient(6, 2), at)


def test_what_is_not_finite_is_refused_and_a_state_is_described_by_keyword():
    p, rng = problem()
    evaluation = p.at(rng.standard_normal((6, 2)))
    assert ensure_finite(evaluation).value
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError, match="the value is"):
        ensure_finite(p.at(np.full((6, 1), 1e200)))
    given = p, FlatQuotient(6, 2), evaluation.factor, evaluation
    assert State(*given, gradient_norm=2.0).gradient_norm == 2.0
    with pytest.raises(TypeError, match="positional"):
        State(*given, 2.0)
