"""Measured terms, and what every term is."""

import gc
import math
import sys

import numpy as np
import pytest

from psdopt import TermSum, terms
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import LinearMap
from psdopt.terms import IdentityForm, LinearTerm
from psdopt.terms.base import Term, combine, distinct_maps

N = 5


@pytest.mark.parametrize(("weight", "known"), [(1.0, True), (0.5, True), (0.0, True), (-0.5, False)])
def test_signs_that_are_known_of_weighted_terms(weight, known):
    measured = terms.MeasuredTerm(terms.QuadraticForms(np.eye(N)), terms.LeastSquares(1.0), weight)
    assert (measured.convex, measured.nonnegative) == (known, known)
    linear = terms.MeasuredTerm(terms.QuadraticForms(np.eye(N)), terms.Linear(), weight)
    assert (linear.convex, linear.nonnegative) == (True, False)
    assert terms.LinearTerm(terms.IdentityForm(N), weight).nonnegative is known
    assert not terms.LinearTerm(terms.IdentityForm(N, -1.0), weight).nonnegative
    assert not terms.LinearTerm(np.eye(N), weight).nonnegative  # no factorisation for a constant


def test_degrees_of_measured_terms():
    forms = terms.QuadraticForms(np.eye(N))
    for loss, degree in (
        (terms.LeastSquares(1.0), 2), (terms.Linear(), 1), (terms.SquaredHinge(), None),
        (terms.HalfSquaredOneSided(1.0), 2), (terms.HalfSquaredOneSided(1.0, 1.0), None),
        (terms.HalfSquaredOneSided(1.0, [0.0] * 4 + [-1.0]), None),
    ):  # fmt: skip
        assert loss.degree == degree
        assert terms.MeasuredTerm(forms, loss).degree == degree


def calls_of(act):
    """Number of calls, of Python functions and of compiled ones, that `act` makes."""
    count = 0

    def counted(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    gc.collect()
    gc.disable()  # what is collected in between would be counted
    sys.setprofile(counted)
    try:
        act()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


@pytest.mark.parametrize("loss", [terms.LeastSquares(1.0), terms.SquaredHinge(1.0)], ids=["polynomial", "hinge"])
def test_a_line_makes_as_many_calls_for_many_pairs_as_for_few(loss):
    """No loop over pairs in Python: four times the pairs, the same number of calls."""
    rng, n = np.random.default_rng(0), 1000
    Y, D = rng.standard_normal((2, n, 2))
    counts = []
    for p in (3000, 12_000):
        i = rng.integers(0, n, p)
        problem = TermSum([terms.MeasuredTerm(terms.PairDistances(i, (i + rng.integers(1, n, p)) % n, n=n), loss)])
        here = problem.at(Y)
        here.factor_gradient()
        problem.at(D).along(Y).step(0.1).factor_gradient()  # whatever is made once is made

        def act(here=here):
            line = here.along(D)
            line.derivatives(0.3)
            line.step(0.1).factor_gradient()

        counts.append(calls_of(act))
    assert counts[0] == counts[1]


def test_bad_input():
    with pytest.raises(InvalidInputError, match="loss must be made for 1 measurements; found arrays of length 2"):
        terms.MeasuredTerm(terms.Entries([0], [1], 3), terms.LeastSquares([1.0, 2.0]))
    with pytest.raises(InvalidInputError, match="weight must be a finite number"):
        terms.MeasuredTerm(terms.Entries([0], [1], 3), terms.LeastSquares(1.0), math.nan)


def test_forces_of_one_map_are_summed_before_it_is_applied():
    rng = np.random.default_rng(0)
    X, Z = LinearMap(rng.standard_normal((7, 4)), "X"), LinearMap(rng.standard_normal((5, 4)), "Z")
    G, H, J, K = (rng.standard_normal((rows, 2)) for rows in (7, 7, 5, 4))
    total = combine([(X, G), (None, K), (Z, J), (X, H), (None, K)], (4, 2))
    assert np.allclose(total, X.data.T @ (G + H) + Z.data.T @ J + 2.0 * K)
    assert (X.applications, Z.applications) == (1, 1)
    assert np.array_equal(combine([], (3, 2)), np.zeros((3, 2)))


def test_maps_are_listed_once_in_order_of_appearance():
    maps = [LinearMap(np.eye(2), name) for name in "XYZ"]

    class Needs:
        def __init__(self, *needed):
            self.maps = needed

    needs = [Needs(maps[1], maps[0]), Needs(maps[0]), Needs(), Needs(maps[2])]
    assert distinct_maps(needs) == (maps[1], maps[0], maps[2])


class Bare(Term):
    """A term with the required members only."""

    n = 3

    def features(self, U):
        return None

    value = gradient = along = along_atom = features


def test_optional_members_are_refused_by_name():
    with pytest.raises(InvalidTypeError, match="Bare offers no Hessian"):
        Bare().hessian(None, None, None, None)
    with pytest.raises(InvalidTypeError, match="Bare offers no entries of its gradient"):
        Bare().add_gradient_to(np.zeros((3, 3)), None, None)
    assert LinearTerm(IdentityForm(3)).maps == ()
