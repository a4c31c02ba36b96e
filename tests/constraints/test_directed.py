"""Forms by the vectors that they are sums of: entries, units, and products without entries."""

import numpy as np
import scipy.sparse as sp

from psdopt.constraints.central_path.couplings import Couplings
from psdopt.constraints.directed import DirectedCouplings, DirectedForms
from psdopt.contracts.images import Images
from tests.instances import psd


def forms(n: int = 5, m: int = 7, p: int = 9, seed: int = 0) -> tuple[DirectedForms, np.ndarray]:
    rng = np.random.default_rng(seed)
    signs, D = sp.random_array((m, p), density=0.4, rng=rng, format="csr"), rng.standard_normal((p, n))
    return DirectedForms(signs, D), np.einsum("tp,pi,pj->tij", signs.toarray(), D, D)


def test_entries_are_those_of_the_sums():
    known, A = forms()
    for t in range(known.size):
        np.testing.assert_allclose(known.matrix(np.eye(known.size)[t]).toarray(), A[t], atol=1e-13)
    V = np.random.default_rng(1).standard_normal((5, 2))
    np.testing.assert_allclose(known.signs @ known.directions(Images((), V)) ** 2 @ np.ones(2),
                               np.einsum("tij,ik,jk->t", A, V, V), atol=1e-12)  # fmt: skip


def test_units_and_stacks():
    known, A = forms()
    d = np.exp2(np.arange(5.0))
    np.testing.assert_allclose(known.in_units(d).B.toarray(), known.B.toarray() * (d[known.i] * d[known.j]))
    both = DirectedForms.stacked([known, known.in_units(d)])
    assert both.size == 2 * known.size
    np.testing.assert_allclose(both.matrix(np.eye(14)[9]).toarray(), A[2] * np.outer(d, d), atol=1e-12)


def test_products_are_those_of_the_entries():
    rng = np.random.default_rng(3)
    known, A = forms()
    X, Q = psd(rng, 5), psd(rng, 5)
    direct = np.einsum("sij,jk,tkl,li->st", A, X, A, Q)
    rows, scale = np.array([4, 0, 6]), np.array([2.0, 0.5, 3.0])
    M = np.zeros((3, 3))
    DirectedCouplings.of(known, rows, scale).add(M, X, Q)
    np.testing.assert_allclose(M, direct[np.ix_(rows, rows)] * np.outer(scale, scale), rtol=1e-10)
    by_entries = np.zeros((7, 7))
    Couplings(known.i, known.j, known.B, 5).add(by_entries, X, Q, fresh=True)
    np.testing.assert_allclose(np.triu(by_entries), np.triu(direct), rtol=1e-10)
    one = DirectedForms(sp.csr_array(sp.diags_array([1.0, -2.0, 3.0])), known.D[:3])
    M = np.zeros((3, 3))
    DirectedCouplings(one.signs, one.D).add(M, X, Q)
    B = np.einsum("t,ti,tj->tij", [1.0, -2.0, 3.0], known.D[:3], known.D[:3])
    np.testing.assert_allclose(M, np.einsum("sij,jk,tkl,li->st", B, X, B, Q), rtol=1e-10)
