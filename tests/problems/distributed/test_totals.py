"""Sums of answers: what is added, what is named instead, and in which order."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdopt.problems.distributed import Here, Summed
from psdopt.problems.distributed.engine import Engine
from psdopt.problems.distributed.resident import Reply
from psdopt.problems.distributed.totals import BRANCHES, Total, added, plus, size_of, tree
from tests.problems.distributed.instances import Pairs, trace_problem


def test_results_are_added_by_their_members_and_unknown_ones_make_the_sum_unknown():
    a, b = (1.0, np.ones(2), [1.0, None]), (2.0, np.arange(2.0), [0.5, 3.0])
    number, array, listed = plus(a, b)
    assert (number, array.tolist(), listed) == (3.0, [1.0, 2.0], [1.5, None])
    with np.errstate(all="raise"):
        assert math.isnan(plus(np.float64(math.inf), -math.inf))


@given(numbers=st.lists(st.floats(0.5, 1.0), min_size=1, max_size=300))
def test_rounding_of_a_sum_grows_with_the_logarithm_of_the_number_of_parts(numbers):
    total = added(Total.of(k, Reply(each, {"products": 1})) for k, each in enumerate(numbers))
    assert (total.parts, total.counts, total.forgotten) == (len(numbers), {"products": len(numbers)}, {})
    exact = sum(map(Fraction, numbers))
    depth = math.ceil(math.log2(len(numbers))) + 1
    assert abs(Fraction(total.result) - exact) <= depth * Fraction(np.finfo(float).eps) * exact


def test_answers_that_are_missing_are_named_and_not_added():
    replies = [Reply(1.0, {"a": 1}), Reply(None, {"a": 9}, 7), None, Reply(2.0, {"b": 2})]
    total = added(map(Total.of, range(4), replies))
    assert total == Total(2, 3.0, {"a": 1, "b": 2}, {1: 7, 2: None})
    assert added([]).parts == 0


@pytest.mark.parametrize(("leaves", "nodes"), [(1, 0), (2, 1), (BRANCHES, 1), (BRANCHES + 1, 3), (1000, 33)])
def test_a_tree_joins_a_few_neighbours_at_a_time(leaves, nodes):
    joined = []

    def join(some):
        joined.append(len(some))
        return sum(some, ())

    assert tree([(k,) for k in range(leaves)], join) == tuple(range(leaves))
    assert len(joined) == nodes
    assert max(joined, default=0) <= BRANCHES


def test_numbers_of_messages_are_counted():
    assert size_of((np.ones((3, 2)), 1, 2.0, None, "at", [np.zeros(1)])) == 48 + 8 + 8 + 8
    assert size_of(Reply(1.0, {"products": 3})) == 8


def test_a_total_is_the_sum_of_what_is_asked():
    engine, Y = Here(), np.ones((3, 1))
    engine.place([trace_problem(3), (trace_problem, 3), trace_problem(3)])
    for total in (engine.total, lambda question: Engine.total(engine, question)):
        found = total(([0, 2], "at", (0, Y), ()))
        assert found.parts == 2
        assert found.result[0] == pytest.approx(0.6)
        assert total(([0, 1], "product", (0, Y), ())).forgotten == {1: 0}


def test_many_parts_are_one_process_to_fourteen_digits():
    pairs = Pairs(pairs=1000)
    summed = Summed(pairs.recipes(range(4, 1000, 4)), local=pairs.local)
    Y = np.random.default_rng(1).standard_normal((pairs.n, 3))
    mine, whole = summed.at(Y), pairs.whole.at(Y)
    assert mine.value == pytest.approx(whole.value, rel=1e-14)
    G = whole.factor_gradient()
    assert np.abs(mine.factor_gradient() - G).max() <= 1e-14 * np.abs(G).max()
