"""Work arrays: used again, never by two at a time, and no part of a pickle."""

from __future__ import annotations

import pickle

import numpy as np

from psdopt.linalg.workspace import Workspace


def test_an_array_is_used_again_and_never_by_two_at_a_time():
    space = Workspace()
    with space.array(3, 4) as first:
        assert first.shape == (3, 4)
        with space.array(3, 4) as second:
            assert not np.shares_memory(first, second)
    with space.array(3, 4) as again, space.array(4, 3) as other:
        assert np.shares_memory(again, first) or np.shares_memory(again, second)
        assert other.shape == (4, 3)


def test_an_error_gives_the_array_back():
    space = Workspace()
    try:
        with space.array(5) as first:
            raise KeyError
    except KeyError:
        pass
    with space.array(5) as again:
        assert np.shares_memory(first, again)


def test_a_pickle_is_empty():
    space = Workspace()
    with space.array(1000):
        pass
    assert len(pickle.dumps(space)) < 500
    with pickle.loads(pickle.dumps(space)).array(2) as fresh:
        assert fresh.shape == (2,)
