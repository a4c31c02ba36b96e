"""L-BFGS by itself: bounded memory, bad parameters; what it shares with conjugate gradient is in test_line_methods."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from psdopt import LBFGS, FlatQuotient, QuadraticSDP

from .references import dense_quadratic, exact_step, quadratic_gradient, quadratic_value


@pytest.mark.parametrize("memory", [1, 2, 20])
def test_steps_are_those_of_the_dense_formula(memory):
    """H ← (I − s yᵀ/⟨s, y⟩) H (I − y sᵀ/⟨s, y⟩) + s sᵀ/⟨s, y⟩ over the pairs kept, from ⟨s, y⟩/⟨y, y⟩ I."""
    rng = np.random.default_rng(13)
    data = dense_quadratic(rng, 6)
    method, Y = LBFGS(memory, preconditioner="none"), rng.standard_normal((6, 2))
    state, pairs = method.init(QuadraticSDP(*data), FlatQuotient(6, 2), Y), []
    for _ in range(5):
        G = quadratic_gradient(data, Y).ravel()
        H = np.eye(12) if not pairs else pairs[-1][0] @ pairs[-1][1] / (pairs[-1][1] @ pairs[-1][1]) * np.eye(12)
        for s, y in pairs:
            left = np.eye(12) - np.outer(s, y) / (s @ y)
            H = left @ H @ left.T + np.outer(s, s) / (s @ y)
        D = -(H @ G).reshape(6, 2)
        mu = exact_step(lambda X: quadratic_value(data, X), Y, D)
        new = Y + mu * D
        s, y = (new - Y).ravel(), quadratic_gradient(data, new).ravel() - G
        if s @ y > 0.0:
            pairs = [*pairs, (s, y)][-memory:]
        Y, state = new, method.step(state)
        np.testing.assert_allclose(state.point, Y, atol=1e-6)
        assert state.step == pytest.approx(mu, rel=1e-5)
        assert state.extras["pairs"] == len(state.pairs) == len(pairs)
        assert state.gradient_norm == pytest.approx(np.linalg.norm(quadratic_gradient(data, Y)), rel=1e-6)


@pytest.mark.parametrize("scale", [1e-9, 1.0])
def test_pairs_that_point_uphill_are_forgotten(scale):
    """With pairs of negative product the direction is no descent: the step is the gradient's, and they are gone."""
    data = [scale * each for each in dense_quadratic(np.random.default_rng(14), 5)]
    data[0] = data[0] / np.sqrt(scale)  # ⟨A M A, M⟩ is of degree two in A
    method = LBFGS(preconditioner="none")
    first = method.init(QuadraticSDP(*data), FlatQuotient(5, 2), np.random.default_rng(1).standard_normal((5, 2)))
    G = first.gradient
    uphill = replace(first, pairs=[(G, -G, -float(np.sum(G * G)))])
    after = method.step(uphill)
    np.testing.assert_array_equal(after.point, method.step(first).point)
    assert len(after.pairs) <= 1
    assert after.pairs == [] or after.pairs[0][0] is not G


@dataclass(frozen=True)
class Refusing(LBFGS):
    """Takes no step along the first direction."""

    seen: list = field(default_factory=list)

    def _search(self, state, D):
        path, mu = super()._search(state, D)
        self.seen.append(D)
        return path, (mu if len(self.seen) > 1 else 0.0)


def test_a_direction_without_a_step_is_replaced_by_the_gradient():
    data = dense_quadratic(np.random.default_rng(15), 5)
    method = LBFGS(preconditioner="none")
    state = method.init(QuadraticSDP(*data), FlatQuotient(5, 2), np.random.default_rng(1).standard_normal((5, 2)))
    for _ in range(3):
        state = method.step(state)
    refused = Refusing(preconditioner="none")
    after = refused.step(state)
    fresh = method.step(replace(state, pairs=[]))
    np.testing.assert_array_equal(after.point, fresh.point)
    assert len(refused.seen) == 2
    assert after.extras == fresh.extras
