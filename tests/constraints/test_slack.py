"""λ_min(S) and its lower bound: by blocks, by entries, by products, against a dense spectrum."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.constraints.conic import diagonal_blocks
from psdopt.constraints.slack import slack_eigenpair, slack_operator


def symmetric(n: int, seed: int) -> np.ndarray:
    G = np.random.default_rng(seed).standard_normal((n, n))
    return 0.5 * (G + G.T)


def test_the_slack_is_the_gradient_and_the_adjoint() -> None:
    C, y = symmetric(5, 0), np.arange(1.0, 6.0)
    group = constraints.diagonal(5, 1.0)
    linear = Constrained(QuadraticSDP(C=C), group)
    curved = Constrained(QuadraticSDP(A=np.eye(5), C=C), group)
    Y = np.random.default_rng(1).standard_normal((5, 2))
    assert np.allclose(slack_operator(linear, linear.at(Y), y).toarray(), 2.0 * C + np.diag(y))
    S = slack_operator(curved, curved.at(Y), y) @ np.eye(5)
    assert np.allclose(S, 2.0 * C + 2.0 * Y @ Y.T + np.diag(y))


@pytest.mark.parametrize("seed", range(4))
def test_blocks_give_the_end_of_the_whole_spectrum(seed) -> None:
    S = sp.csr_array(sp.block_diag([symmetric(6, seed), symmetric(4, seed + 9), np.diag([0.3, -0.2])], format="csr"))
    blocks = diagonal_blocks(S)
    assert sorted(len(rows) for rows in blocks) == [1, 1, 4, 6]
    pair, values = slack_eigenpair(S, 1e-9, blocks=blocks), np.linalg.eigvalsh(S.toarray())
    assert pair.lower_bound <= values[0] + 1e-12
    assert pair.value == pytest.approx(values[0], abs=1e-8)
    v = pair.vectors[:, 0]
    assert np.linalg.norm(S @ v - values[0] * v) <= 1e-6


def test_zeros_that_are_stored_join_no_blocks() -> None:
    S = sp.csr_array((np.array([1.0, 0.0, 0.0, 1.0]), (np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))), shape=(2, 2))
    assert len(diagonal_blocks(S)) == 2
