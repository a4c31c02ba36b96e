"""Sums of parts in the kit: shipped problems split in every way, and what a wrong split looks like."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt import TermSum
from psdopt.errors import InvalidInputError
from psdopt.problems import QuadraticSDP
from psdopt.problems.distributed import Summed, touched
from psdopt.terms import LeastSquares, MeasuredTerm, QuadraticForms
from psdopt.testing import Split, parametrize_with_checks, run_checks
from psdopt.testing.strategies import partitions
from tests.problems.distributed.instances import Pairs, pair_problem
from tests.testing.zoo.splits import ForgottenCrossTerm, RegulariserInEveryPart

RNG = np.random.default_rng(0)


def of_pairs(one_sided, partitions=None, seed=0):
    """Distances of pairs: a part is a recipe with the rows that its pairs touch."""
    pairs = Pairs(seed, pairs=40, samples=15, one_sided=one_sided)

    def part(items):
        rows, positions = touched(pairs.tuples[items])
        direction = None if pairs.direction is None else pairs.direction[items]
        return pair_problem, pairs.X[rows], positions, direction, len(pairs.tuples)

    return Split(pairs.whole, part, len(pairs.tuples), pairs.local, partitions=partitions)


def of_rows():
    """Quadratic forms of samples: a part is a problem on its rows, None without rows."""
    X, y = RNG.standard_normal((12, 4)), RNG.uniform(0.0, 5.0, 12)

    def term(items):
        return MeasuredTerm(QuadraticForms(X[items]), LeastSquares(y[items]), 1.0 / 24)

    ridge = QuadraticSDP(B=0.5, n=4)
    whole = TermSum([term(np.arange(12)), *ridge.terms])
    return Split(whole, lambda items: TermSum([term(items)]) if len(items) else None, 12, ridge)


@parametrize_with_checks([of_pairs(False), of_pairs(True), of_rows()])
def test_sums_of_parts(check):
    check()


@settings(max_examples=12, deadline=None)
@given(partition=partitions(count=40), one_sided=st.booleans(), seed=st.integers(0, 6))
def test_any_partition_gives_the_unsplit_problem(partition, one_sided, seed):
    for record in run_checks(of_pairs(one_sided, (partition,), seed)):
        assert record.ok, record


@pytest.mark.parametrize("one_sided", [False, True])
def test_samples_that_parts_draw_are_held_against_all_rows(one_sided):
    split = of_pairs(one_sided)
    summed = split.summed([np.arange(15), np.arange(15, 16), np.arange(16, 40)])
    names = ["problem.sample_of_all", "problem.sample_is_unbiased"]
    records = run_checks(summed, only=names)
    assert {record.name for record in records if record.ok} == set(names)
    (record,) = run_checks(Summed([QuadraticSDP(B=1.0, n=3)]), only=["problem.sample_refused"])
    assert record.ok


@given(data=st.data())
def test_partitions_of_nothing_are_refused(data):
    with pytest.raises(InvalidInputError, match="count and parts must be at least 1; found 0 and 5"):
        data.draw(partitions(count=0))


@given(partition=partitions(count=7, parts=4))
def test_partitions_have_every_item_once(partition):
    assert sorted(np.concatenate(partition)) == list(range(7))
    assert len(partition) <= 4


def test_a_failure_names_the_quantity_and_the_parts():
    (record,) = run_checks(ForgottenCrossTerm(), only=["split.value"])
    assert not record.ok
    assert "F over parts of 0, 1, 13 items" in record.diagnosis
    (record,) = run_checks(RegulariserInEveryPart(), only=["split.hessian"])
    assert "the Hessian product over parts" in record.diagnosis


def test_what_is_no_partition_is_refused():
    with pytest.raises(InvalidInputError, match="every item from 0 to 39 once; found 40 items, 39 of them different"):
        of_pairs(False, ([np.arange(39), np.array([3])],))
    with pytest.raises(InvalidInputError, match="count must be an integer of at least 1; found 0"):
        Split(QuadraticSDP(B=1.0, n=2), lambda items: None, 0)
