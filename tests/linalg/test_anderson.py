"""Anderson's acceleration on linear iterations, where it is restarted GMRES, and its safeguard."""

import numpy as np
import pytest

from psdopt.linalg.anderson import WORSE, Anderson


def iterated(memory: int, T: np.ndarray, c: np.ndarray, most: int) -> int:
    """Steps of w ↦ T w + c from zero until |f| is 1e-8 |c|."""
    state, w = Anderson(memory), np.zeros(len(c))
    for step in range(most):
        f = T @ w + c - w
        if np.linalg.norm(f) <= 1e-8 * np.linalg.norm(c):
            return step
        state, w = state.next(f, w + f)
        assert len(state.changes) <= memory
    return most


def test_a_slow_contraction_takes_a_small_part_of_its_steps() -> None:
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    T, c = (Q * np.linspace(0.0, 0.99, 40)) @ Q.T, rng.standard_normal(40)
    plain, mixed = (iterated(memory, T, c, 3000) for memory in (0, 10))
    assert 1000 < plain < 3000
    assert mixed < 0.15 * plain


@pytest.mark.parametrize("order", [1, 3, 8])
def test_a_linear_iteration_of_that_order_ends(order) -> None:
    rng = np.random.default_rng(order)
    T = rng.standard_normal((order, order))  # no contraction
    assert iterated(10, T / np.linalg.norm(T, 2), rng.standard_normal(order), 50) <= 3 * order + 3


def test_without_memory_it_is_the_plain_iteration() -> None:
    state, w = Anderson(0), np.zeros(3)
    for k in range(4):
        f = np.full(3, 0.5**k)
        state, new = state.next(f, w + f)
        assert np.array_equal(new, w + f)
        assert not state.mixed
        w = new


def test_a_point_that_is_far_worse_is_given_up_for_the_plain_one() -> None:
    rng = np.random.default_rng(0)
    state = Anderson(5)
    for _ in range(4):
        f, g = rng.standard_normal((2, 6))
        f *= 1.0 / np.linalg.norm(f)
        state, w = state.next(f, g)
    assert state.mixed
    assert not np.allclose(w, g)
    kept, _ = state.next(0.99 * WORSE * f, g)
    assert kept.changes
    again, back = state.next(1.01 * WORSE * f, g + 1.0)
    assert np.array_equal(back, g)
    assert not again.mixed
    assert again.changes == ()
    _, back = state.next(np.full(6, np.nan), g)
    assert np.array_equal(back, g)
    # a plain point is never given up
    after, _ = again.next(100.0 * f, g)
    assert after.size == pytest.approx(100.0)
