# ruff: noqa: E501 (tables of exact texts)
"""Measurements: shared maps, entries that are many or few, distances under offsets, indices, and bad inputs.

Pairing, adjoint and coupling are theorems of the kit (``tests/testing/test_term_checks.py``); against formulas they are
compared in ``tests/problems/test_term_sum.py``.
"""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdopt import TermSum
from psdopt.contracts.images import Images
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.tolerances import EPS
from psdopt.terms import entry_coupling
from psdopt.terms.indexed import codes_of
from psdopt.terms.losses import LeastSquares
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurement import Measurement
from psdopt.terms.measurements import Entries, PairDistances, QuadraticForms, TripletDifferences
from psdopt.testing import parametrize_with_checks, run_checks


def test_measurements_share_a_map():
    X = LinearMap(np.random.default_rng(0).standard_normal((6, 4)), "X")
    parts = [QuadraticForms(X), PairDistances([0, 1], [2, 3], X), TripletDifferences([0], [1], [2], X)]
    assert all(part.maps == (X,) for part in parts)
    problem = TermSum([MeasuredTerm(part, LeastSquares(1.0)) for part in parts])
    assert problem.maps == (X,)
    here = problem.at(np.eye(4)[:, :2])
    here.value, here.factor_gradient()
    assert X.applications == 2  # one X Y, one Xᵀ G for three terms


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: PairDistances([], [], n=3), InvalidInputError, "i must hold at least one index; found none"),
        (lambda: PairDistances([0], [0, 1], n=3), InvalidInputError, "index arrays must share one length; found i: 1, j: 2"),
        (lambda: PairDistances([0.5], [1], n=3), InvalidTypeError, "i must hold integers; found dtype float64"),
        (lambda: PairDistances([0], [3], n=3), InvalidInputError, "j must hold indices between 0 and 2; found 3"),
        (lambda: PairDistances([-1], [1], n=3), InvalidInputError, "i must hold indices between 0 and 2; found -1"),
        (lambda: PairDistances([0, 2], [1, 2], n=3), InvalidInputError,
         "i and j must differ; found both equal to 2 at position 1"),
        (lambda: PairDistances([[0]], [[1]], n=3), InvalidInputError, r"i must have shape \(m,\); found \(1, 1\)"),
        (lambda: PairDistances([0], [1]), InvalidInputError, r"n \(when X is None\) must be an integer of at least 1; found None"),
        (lambda: PairDistances([0], [1], np.eye(3), 4), InvalidInputError, "n must be 3, the number of columns of X; found 4"),
        (lambda: TripletDifferences([0], [1], [1], n=3), InvalidInputError, "j and k must differ; found both equal to 1"),
        (lambda: TripletDifferences([0], [1], [0], n=3), InvalidInputError, "i and k must differ; found both equal to 0"),
        (lambda: Entries([0], [5], 3), InvalidInputError, "j must hold indices between 0 and 2; found 5"),
        (lambda: QuadraticForms([[np.nan]]), InvalidInputError, "X must be finite"),
    ],
)  # fmt: skip
def test_bad_input(make, kind, text):
    with pytest.raises(kind, match=text):
        make()


@parametrize_with_checks([Entries(*np.triu_indices(12), 12), Entries(*np.triu_indices(12, 9), 12)])
def test_many_entries_and_few(check):
    """Those that are read from one product, with weights in a dense matrix, and those that are gathered."""
    check()


def test_a_measurement_without_a_coupling_says_so():
    class Plain(Entries):
        couples = False
        coupling = Measurement.coupling

    with pytest.raises(InvalidTypeError, match="Plain offers no coupling"):
        Plain([0], [1], 3).coupling(np.eye(3), np.eye(3), Images((), np.eye(3)))


@pytest.mark.parametrize("kind", [QuadraticForms, PairDistances, TripletDifferences, Entries])
def test_a_measurement_offers_what_terms_call_and_nothing_else(kind):
    """A faster form of a method of the interface under another name would lie idle."""
    own = {name for name, value in vars(kind).items() if callable(value) and not name.startswith("_")}
    assert {"pair", "adjoint"} <= own <= set(dir(Measurement))


@given(pairs=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30))
def test_codes_number_unordered_pairs(pairs):
    left, right = np.array(pairs).T
    codes = codes_of(left, right, 10)
    np.testing.assert_array_equal(codes, codes_of(right, left, 10))
    assert len(set(codes.tolist())) == len({frozenset(pair) for pair in pairs})


UPPER = np.triu_indices(5, 1)


@pytest.mark.parametrize("block", [1, 15, 40, entry_coupling.CACHED])
@pytest.mark.parametrize(
    "measurement",
    [
        Entries([0, 1, 2, 3, 4, 0, 3, 1], [0, 1, 2, 3, 4, 2, 1, 4], 5),  # the diagonal first, as in kernel learning
        Entries([1, 0, 2, 3, 4, 0, 3], [1, 0, 2, 3, 4, 2, 1], 5),  # the same in another order
        Entries([2, 4, 0, 3, 1], [2, 4, 2, 1, 4], 5),  # a part of it
        Entries([0, 3, 2, 1], [2, 1, 2, 4], 5),  # in between
        Entries([0, 3], [2, 1], 5),
        Entries([3, 1], [3, 1], 5),
        PairDistances(*UPPER, n=5),
    ],
)
def test_coupling_in_blocks_and_wherever_the_diagonal_lies(measurement, block, monkeypatch):
    monkeypatch.setattr(entry_coupling, "CACHED", block)
    (record,) = run_checks(measurement, only=["measurement.coupling"])
    assert record.ok, record


def test_a_common_offset_costs_no_accuracy():
    """d(i, j) from differences; |x_i|² + |x_j|² − 2 x_i·x_j would lose ten digits here."""
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((20, 3)) * 64) / 64  # exact also after the offset
    i, j = np.arange(19), np.arange(1, 20)
    near, far = PairDistances(i, j, X), PairDistances(i, j, X + 2.0**20)
    Y = np.eye(3)
    one, other = (m.pair(Images(m.maps, Y), Images(m.maps, Y)) for m in (near, far))
    np.testing.assert_array_equal(one, other)


def test_shared_pairs_are_measured_once():
    i, j, k = [0, 0, 0, 1], [1, 1, 2, 0], [2, 3, 3, 2]
    measurement = TripletDifferences(i, j, k, n=4)
    pairs = measurement.pairs
    assert pairs.size == 4  # 01 (also as 10), 02, 03, 12
    ends = np.column_stack([pairs.i, pairs.j]).tolist()
    assert [ends[t] for t in measurement.near] == [[0, 1], [0, 1], [0, 2], [0, 1]]
    assert [ends[t] for t in measurement.far] == [[0, 2], [0, 3], [0, 3], [1, 2]]


def test_a_common_offset_costs_no_accuracy_in_the_adjoint_either():
    """Σ_t w_t (e_i − e_j)(e_i − e_j)ᵀ Z annihilates an offset of the rows: what is left is exact to rounding of Z."""
    rng = np.random.default_rng(1)
    i, j, w = np.arange(19), np.arange(1, 20), rng.uniform(0.5, 2.0, 19)
    Z = np.round(rng.standard_normal((20, 3)) * 64) / 64
    E, measurement = np.eye(20)[i] - np.eye(20)[j], PairDistances(i, j, n=20)
    expected = E.T @ (w[:, None] * (E @ Z))
    for offset in (0.0, 2.0**30):
        V = Images(measurement.maps, Z + offset)
        found = sum(force for _, force in measurement.adjoint(w, V))
        # the mean of 20 rows is rounded; its rounding is annihilated like any other offset
        np.testing.assert_allclose(found, expected, atol=64 * EPS * np.abs(expected).max())


def test_places_that_are_sorted_at_first_use_are_no_change_of_the_term():
    """Alone and on a fresh object, as a plugin author runs it; sorted again after a copy by pickle."""
    term = MeasuredTerm(Entries([0, 1, 1, 2], [1, 2, 1, 3], 4), LeastSquares(np.ones(4)))
    (record,) = run_checks(term, only=["term.data_untouched"])
    assert record.ok, record
    w = np.arange(1.0, 5.0)
    again = pickle.loads(pickle.dumps(term.measurement))
    np.testing.assert_array_equal(again.pattern(w).toarray(), term.measurement.pattern(w).toarray())


def test_all_of_the_diagonal_is_measured_without_a_gathered_row_or_a_sorted_place(monkeypatch):
    rng, n = np.random.default_rng(0), 6
    U, V = (Images((), rng.standard_normal((n, 3))) for _ in range(2))
    w, back = rng.standard_normal(n), np.arange(n)[::-1]
    whole, turned = Entries(range(n), range(n), n), Entries(back, back, n)
    expected = turned.pair(U, V)[back], turned.along(U, V), turned.adjoint(w[back], V)[0][1]
    for name in ("gathered_row_dots", "mixed_row_dots", "SymmetricPattern"):
        monkeypatch.setattr(f"psdopt.terms.measurements.{name}", None)
    np.testing.assert_allclose(whole.pair(U, V), expected[0], rtol=8 * EPS, atol=8 * EPS)
    for found, other in zip(whole.along(U, V), expected[1], strict=True):
        np.testing.assert_allclose(found, other[back], rtol=8 * EPS, atol=8 * EPS)
    np.testing.assert_allclose(whole.adjoint(w, V)[0][1], expected[2], rtol=8 * EPS, atol=8 * EPS)


def test_entries_are_added_to_an_array_however_often_a_pair_occurs():
    i, j, w = np.array([0, 1, 2, 1, 0]), np.array([1, 0, 2, 3, 1]), np.arange(1.0, 6.0)
    S, expected = np.eye(4), np.eye(4)
    Entries(i, j, 4).add_to(S, w)
    for a, b, number in zip(i, j, w, strict=True):
        expected[a, b] += 0.5 * number
        expected[b, a] += 0.5 * number
    np.testing.assert_array_equal(S, expected)


@pytest.mark.parametrize("order", ["by rows", "by columns", "a part of an array"])
def test_entries_are_added_to_arrays_stored_in_any_way(order):
    """Where an array is no view of its flat form, what is added to that form is lost."""
    S = {"by rows": np.ones((3, 3)), "by columns": np.ones((3, 3), order="F"), "a part of an array": np.ones((6, 9))}[
        order
    ]
    S = S[::2, ::3] if order == "a part of an array" else S
    Entries([0, 1, 2, 2], [0, 1, 0, 0], 3).add_to(S, np.array([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_allclose(S, [[2.0, 1.0, 4.5], [1.0, 3.0, 1.0], [4.5, 1.0, 1.0]])
