"""Bounds on λ_min of a sparse slack: dense, banded, in blocks, at every accuracy, against the dense spectrum."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.certificates.constrained.slack import slack_bound, slack_eigenpair
from psdopt.linalg.tolerances import EPS
from tests.instances import symmetric


def tridiagonal(n, shift=0.0):
    return sp.csr_array(
        sp.diags_array([-np.ones(n - 1), 2.0 + shift * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    )


@pytest.mark.parametrize("n", [3, 40, 600])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e8])
def test_a_bound_is_given_down_to_the_accuracy_and_holds(n, scale):
    S = scale * tridiagonal(n)
    least = scale * (2.0 - 2.0 * np.cos(np.pi / (n + 1)))
    rounding = 64 * EPS * np.sqrt(n) * 4.0 * scale
    for below in (0.0, 0.1, 1.0):
        shifted = sp.csr_array(S - (least + below * scale) * sp.eye_array(n))  # λ_min = −below
        assert slack_bound(shifted, 0.5 * below * scale) is None or below == 0.0
        found = slack_bound(shifted, below * scale + rounding)
        assert found is not None
        assert -below * scale - 8.0 * rounding <= found <= -below * scale + rounding
    assert slack_bound(S.toarray(), 1.0) is None  # of sparse arrays only


def test_a_bound_block_by_block():
    rng = np.random.default_rng(0)
    A = symmetric(rng, 4)
    A = A - (np.linalg.eigvalsh(A)[0] - 0.25) * np.eye(4)  # λ_min = 0.25
    for single, expected in ((0.1, 0.1), (3.0, 0.25), (-0.2, -0.2)):
        S = sp.csr_array(sp.block_diag([A, [[single]], [[5.0]]]))
        blocks = [np.arange(4), np.array([4]), np.array([5])]
        found = slack_bound(S, 0.3, blocks)
        assert expected - 0.3 - 0.35 <= found <= expected + 1e-12
        pair = slack_eigenpair(S, 0.0, None, 0, blocks)
        np.testing.assert_allclose([pair.values[0], pair.lower_bound], expected, atol=1e-12)
        assert pair.lower_bound <= expected
        np.testing.assert_allclose(S @ pair.vector, expected * pair.vector, atol=1e-10)
    S = sp.csr_array(sp.block_diag([A, [[-0.2]]]))
    assert slack_bound(S, 0.1, [np.arange(4), np.array([4])]) is None
    S = sp.csr_array(sp.block_diag([A - np.eye(4), [[1.0]]]))  # λ_min = −0.75
    assert slack_bound(S, 0.1, [np.arange(4), np.array([4])]) is None
    singles = sp.csr_array(sp.diags_array([3.0, -0.5, 2.0]))
    found = slack_bound(singles, 0.5 + 1e-12, [np.array([k]) for k in range(3)])
    np.testing.assert_allclose(found, -0.5, atol=1e-14)
    assert found < -0.5
