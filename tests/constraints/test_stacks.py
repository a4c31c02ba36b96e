"""Blocks of one order together: which they are, and their matrices from entries at the places of the program."""

import numpy as np

from tests.constraints.test_conic import scattered


def test_stacks_are_the_blocks_by_their_orders() -> None:
    conic, rows = scattered()
    assert [each.rows.shape for each in conic.stacks] == [(2, 1), (2, 2), (3, 3), (1, 5)]
    found = [tuple(at.tolist()) for stack in conic.stacks for at in stack.rows]
    assert sorted(found) == sorted(tuple(at.tolist()) for at in rows)


def test_dense_parts_are_those_of_the_sparse_sum() -> None:
    conic, _ = scattered(1)
    y = np.random.default_rng(2).standard_normal(conic.m)
    C, S = conic.C.toarray(), conic.slack(y).toarray()
    for whole in conic.stacks:
        assert not whole.arrow
        for stack in (whole, whole[::-1], whole[:1], whole[np.arange(len(whole)) > 0], whole[:0]):
            for matrix, entries in ((C, conic.places[2]), (S, conic.entries(y))):
                found = stack.dense(entries)
                assert found.shape == (len(stack), stack.order, stack.order)
                assert np.array_equal(stack.first_rows(entries), found[:, 0])
                for at, each in zip(stack.rows, found, strict=True):
                    assert np.allclose(each, matrix[np.ix_(at, at)], rtol=0, atol=1e-13)


def test_dense_parts_have_the_type_of_the_multipliers() -> None:
    conic, _ = scattered(1)
    stack, y = conic.stacks[2], np.full(conic.m, 2.0**-60, dtype=np.longdouble)
    C, S = stack.dense(conic.places[2]), stack.dense(conic.entries(y))
    assert (C.dtype, S.dtype) == (np.float64, np.longdouble)
    A = stack.dense(conic.entries(np.ones(conic.m)) - conic.places[2])
    assert np.allclose((S - C).astype(np.float64), 2.0**-60 * A, rtol=1e-2, atol=2.0**-62 * np.abs(A).max())
