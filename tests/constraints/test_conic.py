"""Linear objectives by entries: the slack, and the blocks that entries connect."""

import pickle

import numpy as np
import scipy.sparse as sp

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.constraints.conic import Conic, diagonal_blocks


def conic_of(C: np.ndarray, *groups: constraints.Constraint) -> Conic:
    found = Constrained(QuadraticSDP(C=0.5 * C), list(groups)).conic
    assert found is not None
    return found


def test_the_slack_is_c_plus_the_sum_of_the_forms() -> None:
    rng = np.random.default_rng(0)
    C = rng.standard_normal((4, 4))
    C = C + C.T
    forms = [A + A.T for A in rng.standard_normal((3, 4, 4))]
    conic = conic_of(C, constraints.sparse_forms(forms, [1.0, 2.0, 3.0]))
    y = rng.standard_normal(3)
    expected = C + sum(v * A for v, A in zip(y, forms, strict=True))
    assert np.allclose(conic.slack(y).toarray(), expected, rtol=0, atol=1e-14)
    assert (conic.n, conic.m) == (4, 3)


def test_blocks_are_what_either_the_objective_or_a_constraint_connects() -> None:
    C = np.zeros((7, 7))
    C[0, 3] = C[3, 0] = 1.0
    conic = conic_of(C, constraints.diagonal(7, 1.0), constraints.entries([3, 5], [1, 6], 7, 0.0))
    assert sorted(sorted(rows.tolist()) for rows in conic.blocks) == [[0, 1, 3], [2], [4], [5, 6]]


def test_stored_zeros_connect_nothing_and_are_left_in_place() -> None:
    S = sp.csr_array((np.array([1.0, 0.0, 0.0, 2.0]), ([0, 0, 1, 1], [0, 1, 0, 1])), shape=(3, 3))
    assert [rows.tolist() for rows in diagonal_blocks(S)] == [[0], [1], [2]]
    assert S.nnz == 4


def test_every_row_is_in_one_block() -> None:
    rng = np.random.default_rng(1)
    for density in (0.0, 0.02, 0.1, 1.0):
        S = sp.random(30, 30, density=density, random_state=rng, format="csr")
        S = sp.csr_array(S + S.T)
        blocks = diagonal_blocks(S)
        assert sorted(np.concatenate(blocks).tolist()) == list(range(30))
        label = np.empty(30)
        for k, rows in enumerate(blocks):
            label[rows] = k
        i, j = S.nonzero()
        assert np.array_equal(label[i], label[j])


def test_blocks_are_found_again_after_a_copy_by_pickle() -> None:
    conic = conic_of(np.eye(3), constraints.trace(3, 1.0))
    before = [rows.tolist() for rows in conic.blocks]
    assert "blocks" not in conic.__getstate__()
    assert [rows.tolist() for rows in pickle.loads(pickle.dumps(conic)).blocks] == before
