"""The ability "margins" is a member, not a class: a problem written by hand is solved by ColumnGeneration."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Ability, Duality, Evaluation, FlatQuotient, Geometry, LowRankPSD, Problem, Spectraplex, solve
from psdopt.contracts.images import Images
from psdopt.errors import IncompatibleError, InvalidInputError, InvalidTypeError
from psdopt.margins import MarginProblem, SignedSquares
from psdopt.margins.column_generation import margins_of
from psdopt.methods import ColumnGeneration, ConjugateGradient
from psdopt.running.compatibility import compatible
from psdopt.terms import Entries, PairDistances, QuadraticForms, TripletDifferences
from psdopt_plugins.metric_learning import MatrixGeneration
from tests.margins.instances import EPS, matrices, only, triplets


class Margins:
    """x_rᵀMx_r, r = 1..m, under the hard margin, with nothing taken from the library's own margins."""

    def __init__(self, X):
        self.X, self.size, self.cap = X, len(X), 1.0

    def values(self, evaluation):
        return np.sum((self.X @ evaluation.factor) ** 2, axis=1)

    def combination(self, w):
        return -(self.X.T * w) @ self.X

    def squares(self, evaluation):
        return SignedSquares(self.X @ evaluation.factor, sp.csr_array(sp.eye_array(self.size)))


class Here(Evaluation):
    def __init__(self, problem, Y):
        self.problem, self.factor = problem, Y

    @property
    def value(self):
        return -float(self.problem.margins().values(self).min())

    @property
    def gradient(self):
        w = np.zeros(self.problem.margins().size)
        w[np.argmin(self.problem.margins().values(self))] = 1.0
        return self.problem.margins().combination(w)

    def factor_gradient(self):
        return 2.0 * self.gradient @ self.factor

    def mix(self, T):
        return self.problem.at(self.factor @ T)

    def append(self, v):
        return self.problem.at(np.column_stack([self.factor, v]))

    def refresh(self):
        return self.problem.at(self.factor)

    def along(self, D):
        raise NotImplementedError

    def along_atom(self, v):
        raise NotImplementedError


class LeastForm(Problem):
    """min over M of −min_r x_rᵀMx_r."""

    abilities = frozenset({Ability.CONVEX, Ability.MARGINS})

    def __init__(self, X):
        self.n, self._margins = X.shape[1], Margins(X)

    def margins(self):
        return self._margins

    def at(self, Y):
        return Here(self, self.check_factor(Y))

    @property
    def duality(self):
        return Bounds(self._margins)


class Bounds(Duality):
    def __init__(self, margins):
        self.margins = margins

    def subgradient(self, evaluation, dual=None):
        if dual is None:
            return evaluation.gradient, 0.0
        w = np.maximum(dual, 0.0) / np.maximum(dual, 0.0).sum()
        return self.margins.combination(w), max(evaluation.value + float(w @ self.margins.values(evaluation)), 0.0)

    def value_unit(self, value, trace):
        return abs(value)


@pytest.mark.parametrize("method", [ColumnGeneration(), MatrixGeneration()], ids=["block", "printed"])
def test_a_problem_that_offers_margins_by_itself_is_solved(method):
    X = np.random.default_rng(0).standard_normal((40, 5))
    own, shipped = LeastForm(X), MarginProblem(QuadraticForms(X))
    assert compatible(own, Spectraplex(5), method)
    result = solve(own, Spectraplex(5), method, tol=1e-3, max_iterations=300)
    reference = solve(shipped, Spectraplex(5), ColumnGeneration(), tol=1e-8)
    assert result.optimal
    assert reference.optimal
    assert reference.value - 1e-9 <= result.value <= reference.value + 1e-3 * abs(reference.value) + 1e-9


def test_a_problem_without_the_member_is_named():
    class Forgetful(LeastForm):
        margins = None

    problem = Forgetful(np.eye(3))
    verdict = compatible(problem, Spectraplex(3), ColumnGeneration())
    assert not verdict
    assert "margins" in verdict.message

    class Plain(Problem):
        n = 3

        def at(self, Y):
            raise NotImplementedError

    with pytest.raises(IncompatibleError, match="Plain offers no margins"):
        margins_of(Plain())


def test_the_values_at_an_evaluation_are_found_in_the_structure():
    X = np.random.default_rng(1).standard_normal((6, 3))
    problem = MarginProblem(QuadraticForms(X))
    here = problem.at(np.eye(3))
    np.testing.assert_allclose(problem.margins().values(here), np.sum(X**2, axis=1))
    with pytest.warns(DeprecationWarning, match=r"use margins\(\).values\(evaluation\)") as told:
        old = problem.margins(here)
    assert told[0].filename == __file__
    np.testing.assert_array_equal(old, problem.margins().values(here))


def test_a_geometry_that_offers_one_atom_at_a_time_will_do():
    """Only `minimize_linear` is the geometry's own: each round brings one column."""

    class OneAtom(Spectraplex):
        minimize_linear_many = Geometry.minimize_linear_many

        def minimize_linear(self, S, tol, warm_start=None):
            return Spectraplex.minimize_linear_many(self, S, tol, 1, warm_start)[0]

    problem = MarginProblem(QuadraticForms(np.random.default_rng(0).standard_normal((20, 3))))
    one = solve(problem, OneAtom(3), ColumnGeneration(), tol=1e-4, max_iterations=100)
    reference = solve(problem, Spectraplex(3), ColumnGeneration(), tol=1e-8)
    assert one.optimal
    assert one.value == pytest.approx(reference.value, rel=2e-4)


def test_a_set_without_a_fixed_trace_is_refused_by_name():
    class Free(Spectraplex):
        def __init__(self, n):
            super().__init__(n)
            self.trace = None

        def __repr__(self):
            return "Free"

    problem = MarginProblem(QuadraticForms(np.eye(3)))
    with pytest.raises(InvalidInputError, match="a set of fixed trace, such as Spectraplex; found Free"):
        ColumnGeneration().init(problem, Free(3), LowRankPSD(np.eye(3)))


def _measurements(rng):
    X = rng.standard_normal((9, 5))
    t = triplets(rng, 9, 14)
    return {
        "triplets": (TripletDifferences(*t.T, X), matrices(X, t)),
        "kernel": (TripletDifferences(*t.T, n=9), matrices(np.eye(9), t)),
        "pairs": (PairDistances(t[:, 0], t[:, 1], X), _squares(X[t[:, 0]] - X[t[:, 1]])),
        "forms": (QuadraticForms(X), _squares(X)),
    }


def _squares(Z):
    return Z[:, :, None] * Z[:, None, :]


@pytest.mark.parametrize("kind", ["triplets", "kernel", "pairs", "forms"])
def test_structure_equals_the_dense_matrices(kind):
    rng = np.random.default_rng(1)
    measurement, A = _measurements(rng)[kind]
    n, m, k = measurement.n, measurement.size, 3
    V, w = rng.standard_normal((n, k)), rng.standard_normal(m)
    T = rng.standard_normal((k, k))
    T = T + T.T
    small = np.einsum("ia,rij,jb->rab", V, A, V)
    problem = MarginProblem(measurement)
    squares = problem.margins().squares(problem.at(V))
    slack = 64 * EPS * np.abs(small).max() * m * k
    assert np.abs(squares.forms(T) - np.einsum("rab,ab->r", small, T)).max() <= slack
    assert np.abs(squares.combination(w) - np.einsum("r,rab->ab", w, small)).max() <= slack
    assert np.abs(squares.squares() - np.einsum("raa->ra", small)).max() <= slack
    gram = np.einsum("rab,sab->rs", small, small)
    assert np.abs(squares.gram() - gram).max() <= slack * np.abs(small).max()
    assert np.abs(squares.vectors() @ squares.vectors().T - gram).max() <= slack * np.abs(small).max()
    some = np.array([4, 1, 7])
    assert np.allclose(squares.rows(some).forms(T), squares.forms(T)[some])
    assert np.all(squares.sizes() >= np.linalg.norm(small, 2, axis=(1, 2)) - slack)


def test_what_does_not_fit_is_refused_before_any_work():
    problem = only()
    assert not compatible(problem, FlatQuotient(6, 2), ColumnGeneration())
    assert not compatible(problem.smoothed(0.1), Spectraplex(6), ColumnGeneration())
    with pytest.raises(IncompatibleError, match="gradient"):
        solve(problem, FlatQuotient(6, 2), ConjugateGradient())
    entries = MarginProblem(Entries([0], [1], 3))
    assert "lacks margins" in compatible(entries, Spectraplex(3), ColumnGeneration()).message
    with pytest.raises(InvalidTypeError, match=r"offer signs and directions, as .*; found Entries"):
        entries.margins().squares(entries.at(np.eye(3)))
    with pytest.raises(InvalidTypeError, match="Entries offers no signs and directions"):
        Entries([0], [1], 3).directions(Images((), np.eye(3)))
