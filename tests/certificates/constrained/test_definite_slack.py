"""Proofs that S ⪰ 0 whatever the sizes of its rows, and what must not be proven."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.certificates.constrained import definite_slack
from psdopt.certificates.constrained.definite_slack import proven_semidefinite
from psdopt.constraints.conic import Conic
from psdopt.linalg.tolerances import EPS


def diagonal_program(C: np.ndarray) -> Conic:
    """S = C + diag(y)."""
    n = len(C)
    conic = Constrained(QuadraticSDP(C=0.5 * sp.csr_array(C)), constraints.diagonal(n, 1.0)).conic
    assert conic is not None
    return conic


def coupled(n: int, least: float, seed: int = 0) -> np.ndarray:
    """A symmetric matrix with entries beside the diagonal and the smallest eigenvalue `least`."""
    G = np.random.default_rng(seed).standard_normal((n, n))
    S = G + G.T
    return S + (least - np.linalg.eigvalsh(S)[0]) * np.eye(n)


def test_definite_is_proven_and_indefinite_is_not() -> None:
    for least, proven in ((1e-6, True), (-1e-6, False)):
        S = coupled(8, least)
        shift = np.arange(1.0, 9.0)
        assert proven_semidefinite(diagonal_program(S - np.diag(shift)), shift) is proven


def test_rows_of_any_size_are_proven_by_their_own_rounding() -> None:
    """λ_min(S) is 1e-20 |S| here: next to |S| it is rounding, in units of each row it is not."""
    D = 10.0 ** np.linspace(-12.0, 4.0, 6)
    S = D[:, None] * coupled(6, 0.1) * D
    y = np.diagonal(S).copy()
    conic = diagonal_program(S - np.diag(y))
    assert proven_semidefinite(conic, y)
    worse = y.copy()
    worse[0] -= 2.0 * y[0]
    assert not proven_semidefinite(conic, worse)


def test_rounding_of_the_entries_themselves_counts(monkeypatch) -> None:
    """S_11 = y − 1e8 is a difference: y = 1e8 (1 + 2 eps) makes it positive in arithmetic, not beyond doubt."""
    monkeypatch.setattr(definite_slack, "EXTENDED", np.float64)
    C = np.array([[-1e8, 0.0], [0.0, 1.0]])
    C[0, 1] = C[1, 0] = 1e-9
    conic = diagonal_program(C)
    assert not proven_semidefinite(conic, np.array([1e8 * (1.0 + 2.0 * EPS), 0.0]))
    assert proven_semidefinite(conic, np.array([1e8 + 1.0, 0.0]))


@pytest.mark.skipif(np.finfo(np.longdouble).eps >= EPS, reason="long doubles are doubles here")
def test_small_blocks_are_tried_in_extended_precision() -> None:
    """A Hilbert matrix of integers, with 1e-15 of its largest entry added to the diagonal."""
    k, unit = 12, 2.0**60
    H = np.round(unit / (np.arange(k)[:, None] + np.arange(k) + 1.0))
    conic, more = diagonal_program(H), np.full(k, 1e-15 * unit)
    assert proven_semidefinite(conic, more)
    assert not proven_semidefinite(conic, -more)


def test_single_rows_count() -> None:
    C = sp.block_diag([coupled(4, 0.5), [[2.0]], [[-1.0]]]).toarray()
    conic = diagonal_program(C)
    assert not proven_semidefinite(conic, np.zeros(6))
    assert proven_semidefinite(conic, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.5]))
