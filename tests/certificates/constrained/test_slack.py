"""λ_min(S) and its lower bound: by blocks, by entries, by products, against a dense spectrum."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.certificates.constrained.slack import BANDED, slack_bound, slack_eigenpair, slack_operator
from psdopt.constraints.conic import diagonal_blocks


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
    S = sp.csr_array(
        sp.block_diag([sp.csr_array(symmetric(6, seed)), symmetric(4, seed + 9), np.diag([0.3, -0.2])], format="csr")
    )
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


@pytest.mark.parametrize("low", [0.0, -1e-3, 0.4])
def test_one_factor_proves_a_bound_or_nothing_is_said(low) -> None:
    parts = [symmetric(6, 1), symmetric(4, 2), np.diag([3.0, 2.0])]
    parts[0] += (low - np.linalg.eigvalsh(parts[0])[0]) * np.eye(6)
    parts[1] += (low + 1.0 - np.linalg.eigvalsh(parts[1])[0]) * np.eye(4)
    S = sp.csr_array(sp.block_diag([sp.csr_array(part) for part in parts], format="csr"))
    for blocks in ((), diagonal_blocks(S)):
        bound = slack_bound(S, 1e-5 - low, blocks)
        assert bound == pytest.approx(low - 1e-5, abs=1e-12)
        assert slack_bound(S, -1e-5 - low, blocks) is None
    assert slack_bound(S.toarray(), 9.0) is None


def test_a_low_single_entry_spoils_the_bound_of_the_blocks() -> None:
    S = sp.csr_array(sp.block_diag([sp.csr_array(2.0 * np.eye(3) + 1.0), np.diag([-0.5, 1.0])], format="csr"))
    assert slack_bound(S, 1e-3, diagonal_blocks(S)) is None
    assert slack_bound(S, 0.6, diagonal_blocks(S)) == pytest.approx(-0.6, abs=1e-12)


def test_a_narrow_band_gives_the_pair_that_a_dense_factor_gives() -> None:
    n = BANDED + 20
    chain = sp.diags_array([np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], offsets=[-1, 0, 1])
    pair = slack_eigenpair(sp.csr_array(chain), 1e-6)
    least = 2.0 - 2.0 * np.cos(np.pi / (n + 1))
    assert pair.backend == "banded"
    assert least * (1.0 - 1e-9) <= pair.value <= 1.1 * least  # after some steps of inverse iteration
    assert -1e-6 <= pair.lower_bound <= least
    assert slack_bound(sp.csr_array(chain), 1e-6) <= least
    low = slack_eigenpair(sp.csr_array(chain - 0.1 * sp.eye_array(n)), 1e-6)  # not provable: the spectrum says so
    assert low.backend == "dense"
    assert low.value == pytest.approx(least - 0.1)
