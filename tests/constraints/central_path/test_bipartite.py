"""Blocks of nuclear norms: which blocks they are, and their projection against the SVD of the corner."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.constraints.central_path.bipartite import Bipartite, sides_of
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
    sides = sides_of(part)
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
        Semidefinite(
            np.arange(18).reshape(2, 9), np.concatenate([part.C] * 2), part.i, part.j, sp.hstack([part.B] * 2)
        ),
    ]
    for other in others:
        assert Bipartite.of(other) is other


@pytest.mark.parametrize(("p", "q"), [(6, 4), (4, 6), (5, 5), (7, 1)])
def test_measured_adjoint_and_costs_are_those_of_the_block(p, q) -> None:
    part, order = block(p, q)
    costs = part.C.copy()
    costs[0, order[0], order[p]] = costs[0, order[p], order[0]] = 0.3
    part = Semidefinite(part.rows, costs, part.i, part.j, part.B)
    found = Bipartite.of(part)
    assert isinstance(found, Bipartite)
    rng = np.random.default_rng(2)
    Y, v = rng.standard_normal((p + q, 3)), rng.standard_normal(part.B.shape[0])
    M, S = Y @ Y.T, part.adjoint(v)[0]
    rows, columns = found.sides
    root = np.sqrt(2.0)
    np.testing.assert_allclose(found.gathered(Y), root * M[np.ix_(rows, columns)], rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(found.measure(found.gathered(Y)), part.measure(M[None]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.adjoint(v), root * S[np.ix_(rows, columns)], rtol=1e-13)
    assert np.vdot(found.adjoint(v), found.gathered(Y)) == pytest.approx(np.vdot(S, M), abs=1e-12)
    assert np.hypot(np.linalg.norm(found.C), np.linalg.norm(found.fixed)) == pytest.approx(np.linalg.norm(costs))
    assert found.largest(found.C) == pytest.approx(part.largest(costs))


@pytest.mark.parametrize("size", [1.0, 1e9])  # the second has to be decomposed without its Gram matrix
@pytest.mark.parametrize(("p", "q"), [(6, 4), (4, 6), (30, 30)])
def test_split_cuts_the_singular_values_of_the_corner(p, q, size) -> None:
    part, _ = block(p, q)
    found = Bipartite.of(part)
    assert isinstance(found, Bipartite)
    k, rng = min(p, q), np.random.default_rng(1)
    a, b = max(p, q), k
    U, V = np.linalg.qr(rng.standard_normal((a, k)))[0], np.linalg.qr(rng.standard_normal((b, k)))[0]
    values, c = np.geomspace(size, 0.1, k), 0.7
    W = np.sqrt(2.0) * (U * values) @ V.T
    Z, X, H = found.split(W)
    close = {"rtol": 0, "atol": 1e-14 * size + 1e-12}
    np.testing.assert_allclose(Z, np.sqrt(2.0) * (U * np.minimum(values, c)) @ V.T, **close)
    np.testing.assert_allclose(Z - X, W, **close)
    M = (H @ H.mT)[0]
    rows, columns = found.sides
    np.testing.assert_allclose(np.sqrt(2.0) * M[np.ix_(rows, columns)], X, **close)
    assert H.shape[2] == np.count_nonzero(values > c)
    # M is the least with this corner, and orthogonal to the slack
    assert np.trace(M) == pytest.approx(2.0 * np.maximum(values - c, 0.0).sum())
    assert abs(c * np.trace(M) + np.vdot(X, Z)) <= 1e-13 * size**2 + 1e-12


def test_below_is_the_least_eigenvalue_of_the_slack() -> None:
    part, _ = block(6, 4)
    found = Bipartite.of(part)
    assert isinstance(found, Bipartite)
    rows, columns = found.sides
    rng = np.random.default_rng(3)
    for size in (0.05, 1.0):
        R = size * rng.standard_normal((6, 4))
        slack = 0.7 * np.eye(10)
        slack[np.ix_(rows, columns)], slack[np.ix_(columns, rows)] = R, R.T
        least = np.linalg.eigvalsh(slack)[0]
        assert found.below(np.zeros((6, 4)), np.sqrt(2.0) * R) == pytest.approx(max(-least, 0.0), abs=1e-12)
