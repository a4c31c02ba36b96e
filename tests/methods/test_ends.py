"""Steps that have no end or no way down: at rest a run stalls, along a linear F that falls it is unbounded."""

import numpy as np
import pytest

from psdopt import FlatQuotient, Outcome, PSDCone, QuadraticSDP, Spectraplex, methods
from psdopt.methods.frank_wolfe import VARIANTS

FALLING = [
    methods.BlockConjugateGradient("none"), methods.ConjugateGradient(), methods.LBFGS(),
    methods.RiemannianGradient("modelled"), methods.TruncatedNewton(),
]  # fmt: skip
RESTING = [*FALLING, methods.RiemannianGradient(), methods.TrustRegions()]


@pytest.mark.parametrize("method", RESTING, ids=str)
@pytest.mark.parametrize(
    "start", [np.eye(3), np.zeros((3, 3)), np.ones((3, 3)) / np.sqrt(3.0)], ids=["I", "0", "rank one"]
)
def test_at_rest_no_step_is_taken(method, start):
    """F = |M − T|² at M = T, of full rank and of a factor with too many columns; and at M = 0."""
    problem = QuadraticSDP(B=1.0, C=-start @ start.T)
    after = method.step(method.init(problem, FlatQuotient(3, 3), start))
    assert (after.outcome, after.step, after.ray) == (Outcome.STALLED, 0.0, None)


@pytest.mark.parametrize("method", FALLING, ids=str)
def test_where_f_falls_for_ever_the_ray_is_shown(method):
    start = np.outer([1.0, 2.0, 3.0], [1.0, 1.0])
    after = method.step(method.init(QuadraticSDP(C=-np.eye(3)), FlatQuotient(3, 2), start))
    assert (after.outcome, after.step) == (Outcome.UNBOUNDED, 0.0)
    np.testing.assert_allclose(after.ray / np.linalg.norm(after.ray), start / np.linalg.norm(start), rtol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_at_the_optimum_of_a_fixed_trace_no_step_is_taken(variant):
    problem, geometry, method = (
        QuadraticSDP(B=1.0, C=-np.diag([2.0, 0.0])),
        Spectraplex(2),
        methods.FrankWolfe(variant=variant),
    )
    state = method.step(method.init(problem, geometry, geometry.from_factor(np.eye(2)[:, :1])))
    assert (state.outcome, state.step) == (Outcome.STALLED, 0.0)


def test_the_closed_form_ends_with_one_step_of_length_one():
    """At M = I: S = 2 (I − T)."""
    method, problem = methods.ClosedForm(), QuadraticSDP(None, 1.0, -np.diag([3.0, 2.0, -1.0]))
    state = method.init(problem, PSDCone(3), np.eye(3))
    assert state.gradient_norm == pytest.approx(4.0 * np.sqrt(4.0 + 1.0 + 4.0), rel=1e-12)
    after = method.step(state)
    assert (after.step, after.outcome) == (1.0, Outcome.FINISHED)
    assert after.gradient_norm == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(after.evaluation.matrix.to_dense(), np.diag([3.0, 2.0, 0.0]), atol=1e-12)
