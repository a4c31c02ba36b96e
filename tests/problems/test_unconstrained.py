"""The block of atoms that a quadratic SDP proposes at M = 0: exact where it can be, right in rank, cheap."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from psdopt import QuadraticSDP
from psdopt.linalg.limits import ITERATED_ORDER, SPECTRUM_ORDER
from psdopt.linalg.operators import LinearMap
from psdopt.terms.forms import GramForm

from ..instances import psd


def unconstrained(A, b, C):
    a, V = np.linalg.eigh(A)
    return V @ (-(V.T @ C @ V) / (np.outer(a, a) + b)) @ V.T


def positive_part(N):
    values, vectors = np.linalg.eigh(N)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


@pytest.mark.parametrize("kind", ["array", "gram of sparse data", "no A"])
def test_is_the_positive_part_else(kind):
    rng = np.random.default_rng(1)
    Q = np.linalg.qr(rng.standard_normal((20, 20)))[0]
    C, X = (Q * np.linspace(-2.0, 5.0, 20)) @ Q.T, rng.standard_normal((30, 20))
    dense = {"array": psd(rng, 20), "gram of sparse data": X.T @ X, "no A": np.zeros((20, 20))}[kind]
    A = {"array": dense, "gram of sparse data": GramForm(LinearMap(sp.csr_array(X))), "no A": None}[kind]
    W = QuadraticSDP(A, 0.5, C).starts.first_atoms()
    expected = positive_part(unconstrained(dense, 0.5, C))
    assert W.shape[1] == np.linalg.matrix_rank(expected) <= 10
    np.testing.assert_allclose(W @ W.T, expected, atol=1e-9 * np.linalg.norm(expected))


@pytest.mark.parametrize("C", [np.eye(5), None])
def test_nothing_where_no_direction_leads_down(C):
    assert QuadraticSDP(np.eye(5), 1.0, C).starts.first_atoms() is None


def test_singular_without_b_stays_finite():
    A = np.diag([1.0, 0.0, 0.0])
    W = QuadraticSDP(A, None, np.diag([-1.0, 0.0, 1.0])).starts.first_atoms()
    assert np.isfinite(W).all()
    assert abs(W[0, 0] ** 2 - 1.0) <= 1e-12


def test_at_most_two_columns_of_products_per_feature_and_none_where_forming_is_dear():
    rng = np.random.default_rng(3)
    X = sp.csr_array(rng.standard_normal((200, ITERATED_ORDER)) * (rng.random((200, ITERATED_ORDER)) < 0.02))
    problem = QuadraticSDP(GramForm(LinearMap(X)), 1.0, -np.eye(ITERATED_ORDER))
    assert problem.starts.first_atoms() is not None
    assert problem.counts()["operator_columns"] <= 2 * ITERATED_ORDER
    wide = sp.csr_array(rng.standard_normal((50, ITERATED_ORDER + 1)) * (rng.random((50, ITERATED_ORDER + 1)) < 0.02))
    problem = QuadraticSDP(GramForm(LinearMap(wide)), 1.0, -sp.eye_array(ITERATED_ORDER + 1))
    assert problem.starts.first_atoms() is None
    assert problem.counts()["operator_columns"] == 0
    n = SPECTRUM_ORDER + 1
    assert QuadraticSDP(aslinearoperator(sp.eye_array(n)), 1.0, -sp.eye_array(n)).starts.first_atoms() is None
