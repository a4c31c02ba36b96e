"""Blocks of nuclear norms: which blocks they are, and their projection against the SVD of the corner."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.constraints.central_path.bipartite import Bipartite
from psdopt.constraints.central_path.semidefinite import Semidefinite


def block(p: int, q: int, c: float = 0.7, seed: int = 0, mixed: bool = True) -> tuple[Semidefinite, np.ndarray]:
    """A block of order p + q with every second entry of the corner measured, its rows `mixed`, and their order."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(p + q) if mixed else np.arange(p + q)
    a, b = np.divmod(np.arange(0, p * q, 2), q)
    a, b = np.append(a, np.arange(p)), np.append(b, np.zeros(p, dtype=int))  # every row is met
    a, b = np.append(a, np.zeros(q, dtype=int)), np.append(b, np.arange(q))
    a, b = np.divmod(np.unique(a * q + b), q)
    i, j = np.sort([order[a], order[p + b]], axis=0)
    B = sp.eye_array(len(i), format="csr")
    return Semidefinite(np.arange(p + q)[None], c * np.eye(p + q)[None], i, j, B), order


@pytest.mark.parametrize(("p", "q"), [(6, 4), (4, 6), (5, 5), (7, 1)])
def test_the_two_sides_are_found_whatever_the_order_of_rows(p, q) -> None:
    part, order = block(p, q)
    sides = Bipartite.sides_of(part)
    assert sides is not None
    assert {frozenset(side.tolist()) for side in sides} == {
        frozenset(order[:p].tolist()),
        frozenset(order[p:].tolist()),
    }
    assert len(sides[1]) == min(p, q)


def test_blocks_of_another_form_are_left_as_they_are() -> None:
    part, order = block(5, 4)
    costs = part.C.copy()
    costs[0, 2, 2] *= 2.0
    within = part.C.copy()
    within[0, order[0], order[1]] = within[0, order[1], order[0]] = 1.0
    own = np.append(part.i, 3), np.append(part.j, 3), sp.eye_array(len(part.i) + 1, format="csr")
    apart = part.i[:1], part.j[:1], sp.eye_array(1, format="csr")
    others = [
        Semidefinite(part.rows, costs, part.i, part.j, part.B),  # unlike costs
        Semidefinite(part.rows, -part.C, part.i, part.j, part.B),  # F falls with the trace
        Semidefinite(part.rows, within, part.i, part.j, part.B),  # an odd cycle
        Semidefinite(part.rows, part.C, *own),  # a constraint on the diagonal
        Semidefinite(part.rows, part.C, *apart),  # rows that nothing connects
        Semidefinite(part.rows, part.C, part.i, part.j, part.B, np.ones(1)),  # a log det
        Semidefinite(np.arange(18).reshape(2, 9), np.concatenate([part.C] * 2), part.i, part.j, sp.hstack([part.B] * 2)),
    ]
    for other in others:
        assert Bipartite.of(other) is other


@pytest.mark.parametrize("size", [1.0, 1e9])  # the second has to be decomposed without its Gram matrix
@pytest.mark.parametrize(("p", "q"), [(6, 4), (4, 6), (30, 30)])
def test_split_cuts_the_singular_values_of_the_corner(p, q, size) -> None:
    part, order = block(p, q)
    found = Bipartite.of(part)
    assert isinstance(found, Bipartite)
    rng = np.random.default_rng(1)
    U, V = np.linalg.qr(rng.standard_normal((p, min(p, q))))[0], np.linalg.qr(rng.standard_normal((q, min(p, q))))[0]
    values = np.geomspace(size, 0.1, min(p, q))
    W = np.diag(rng.standard_normal(p + q))[None]  # diagonal blocks are not read
    corner = np.ix_(order[:p], order[p:])
    W[0][corner] = (U * values) @ V.T
    W[0] = np.where(W[0] == 0.0, W[0].T, W[0])
    Z, X, H = found.split(W)
    assert np.allclose(Z[0][corner], (U * np.minimum(values, 0.7)) @ V.T, rtol=0, atol=1e-14 * size + 1e-12)
    assert H.shape[2] == np.count_nonzero(values > 0.7)
    assert np.allclose(X, H @ H.mT, rtol=0, atol=1e-14 * size)
    assert np.allclose((Z - X - W)[0][corner], 0.0, rtol=0, atol=1e-14 * size)
    assert np.trace(X[0]) == pytest.approx(2.0 * np.maximum(values - 0.7, 0.0).sum())
    assert np.all(np.diagonal(Z[0]) == 0.7)
    assert np.linalg.eigvalsh(Z[0])[0] >= -1e-14 * size - 1e-12
    assert abs(np.vdot(X, Z)) <= 1e-13 * size**2 + 1e-12
