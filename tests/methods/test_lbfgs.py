"""L-BFGS by itself: bounded memory, bad parameters; what it shares with conjugate gradient is in test_line_methods."""

from __future__ import annotations

import pytest

from psdopt import LBFGS
from psdopt.errors import InvalidInputError

from .quadratics import problem_and_start


def test_memory_is_bounded():
    problem, geometry, start = problem_and_start()
    state = LBFGS(memory=3).init(problem, geometry, start)
    sizes = []
    for _ in range(7):
        state = LBFGS(memory=3).step(state)
        sizes.append(len(state.pairs))
    assert max(sizes) == 3


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: LBFGS(memory=0), "memory must be an integer of at least 1; found 0"),
        (lambda: LBFGS(search="wolfe"), "unknown search 'wolfe'; known: armijo, exact"),
    ],
)
def test_bad_parameters(make, text):
    with pytest.raises(InvalidInputError, match=text):
        make()
