# ruff: noqa: E501 (tables of exact texts)
"""Losses of one's own: any attributes at any number of measurements, and losses that are no sum over measurements.

The derivatives of the shipped ones, and their lines, are theorems of the kit: ``tests/testing/test_term_checks.py``.
"""

import numpy as np
import pytest

from psdopt import Ability, ConjugateGradient, FlatQuotient, TermSum, solve
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.terms import HalfSquaredOneSided, LeastSquares, Linear, MeasuredTerm, QuadraticForms, SquaredHinge
from psdopt.terms.losses import Loss
from psdopt.testing import parametrize_with_checks, run_checks


class Table(Loss):
    """Σ_t max(0, low_t − a_t, a_t − high_t)², its bounds in a table (m, 2) and read in an order of its own."""

    def __init__(self, bounds, order):
        self.bounds, self.order, self.size = bounds, order, len(order)

    def _outside(self, a):
        low, high = self.bounds[self.order].T
        return np.minimum(a - low, 0.0) + np.maximum(a - high, 0.0)

    def value(self, a):
        return float(np.sum(self._outside(a) ** 2))

    def derivative(self, a):
        return 2.0 * self._outside(a)

    def second(self, a):
        return 2.0 * (self._outside(a) != 0.0)


class Spread(Loss):
    """log Σ_t exp(a_t): its Hessian is full."""

    separable = False

    def value(self, a):
        top = a.max()
        return float(top + np.log(np.sum(np.exp(a - top))))

    def derivative(self, a):
        p = np.exp(a - a.max())
        return p / p.sum()

    def curvature(self, a, direction):
        p = self.derivative(a)
        return p * direction - p * (p @ direction)


class WithTable(LeastSquares):
    """A subclass of a shipped loss, with data of its own that are no numbers per measurement."""

    nonnegative = False

    def __init__(self, target, table):
        super().__init__(target)
        self.table = table

    def value(self, a):
        return super().value(a) + float(np.sum(self.table @ np.ones(2) * a))

    def derivative(self, a):
        return super().derivative(a) + self.table @ np.ones(2)


def own_losses(m=12_000):
    """A table, a sum that is none over measurements, a subclass: of few values and of many."""
    rng = np.random.default_rng(0)
    yield Spread()
    for k in (5, m):
        yield Table(np.sort(rng.standard_normal((k, 2)), axis=1), rng.permutation(k))
        yield WithTable(rng.standard_normal(k), rng.standard_normal((k, 2)))


@parametrize_with_checks([*own_losses()])
def test_losses_of_ones_own_pass_the_kit(check):
    check()


def test_a_loss_that_is_not_separable_is_minimised_with_exact_models():
    """log Σ exp of quadratic forms plus a trace: line, plane and Hessian as the kit measures them, and the optimum."""
    X = np.random.default_rng(2).standard_normal((30, 4))
    term = MeasuredTerm(QuadraticForms(X), Spread())
    for record in run_checks(term):
        assert record.ok, str(record)
    problem = TermSum([term, MeasuredTerm(QuadraticForms(np.eye(4)), LeastSquares(1.0))])
    assert Ability.QUADRATIC_FIT not in problem.abilities
    result = solve(problem, FlatQuotient(4, 4), ConjugateGradient(), tol=1e-8)
    assert result.optimal
    w = term.loss.derivative(term.features(problem.at(result.matrix.factor).images))
    S = (X.T * w) @ X + 2.0 * np.diag(np.diag(result.matrix.to_dense()) - 1.0)
    assert np.linalg.norm(S @ result.matrix.to_dense()) <= 1e-5
    assert np.linalg.eigvalsh(S)[0] >= -1e-5


def test_a_quadratic_loss_that_is_not_separable_is_no_fit_with_a_multiplier_per_measurement():
    class Mean(Loss):
        """(mean of a − 1)²."""

        degree, separable = 2, False

        def value(self, a):
            return float(a.mean() - 1.0) ** 2

        def derivative(self, a):
            return np.full(a.shape, 2.0 * (a.mean() - 1.0) / len(a))

        def curvature(self, a, direction):
            return np.full(a.shape, 2.0 * direction.mean() / len(a))

    problem = TermSum([MeasuredTerm(QuadraticForms(np.random.default_rng(0).standard_normal((6, 3))), Mean())])
    assert Ability.QUADRATIC_FIT not in problem.abilities
    assert solve(problem, FlatQuotient(3, 3), ConjugateGradient(), tol=1e-10).value <= 1e-12


def test_losses_by_hand():
    hinge = SquaredHinge(1.0)
    np.testing.assert_array_equal(hinge.derivative(np.array([2.0, 1.0, -1.0])), [0.0, 0.0, -4.0])
    assert hinge.value(np.array([2.0, 1.0, -1.0])) == 4.0
    assert SquaredHinge(1.0, -1.0).value(np.array([-2.0, 0.5])) == 2.25
    upper = HalfSquaredOneSided(1.0, 1.0)  # a <= 1 wanted
    assert upper.value(np.array([0.0])) == 0.0
    assert upper.value(np.array([3.0])) == 2.0
    assert HalfSquaredOneSided(1.0, -1.0).value(np.array([0.0])) == 0.5
    a = np.array([-1.0, 3.0])
    for loss, spelled in (
        (SquaredHinge(), SquaredHinge(1.0, 1.0, 1.0)), (Linear(), Linear(1.0)), (LeastSquares(0.2), LeastSquares(0.2, 1.0)),
        (HalfSquaredOneSided(0.2), HalfSquaredOneSided(0.2, 0.0, 1.0)),
    ):  # fmt: skip
        assert loss.value(a) == spelled.value(a)


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: Spread().second(np.zeros(3)), InvalidTypeError,
         "Spread offers no second derivatives per measurement: use curvature"),
        (lambda: LeastSquares([np.nan]), InvalidInputError, "target must be finite; found 1 NaN"),
        (lambda: LeastSquares("a"), InvalidTypeError, "target must hold real numbers; found dtype <U1"),
        (lambda: LeastSquares([[1.0]]), InvalidInputError, r"target must be a number or a 1-D array; found shape \(1, 1\)"),
        (lambda: LeastSquares(1.0, [1.0, -2.0]), InvalidInputError, "weights must be non-negative; found -2"),
        (lambda: LeastSquares([1.0, 2.0], [1.0]), InvalidInputError, "share one length; found target: 2, weights: 1"),
        (lambda: SquaredHinge(1.0, 2.0), InvalidInputError, r"sign must be \+1 or -1; found 2"),
        (lambda: HalfSquaredOneSided(1.0, [0.0, 0.5]), InvalidInputError, r"direction must be -1, 0 or \+1; found 0.5"),
    ],
)  # fmt: skip
def test_bad_input(make, kind, text):
    with pytest.raises(kind, match=text):
        make()


@pytest.mark.parametrize("direction", [-1.0, 0.0, 1.0])
def test_one_sided_squares_are_flat_at_their_target(direction):
    loss = HalfSquaredOneSided(np.full(3, 2.0), np.full(3, direction))
    a = np.array([1.0, 2.0, 3.0])
    active = np.ones(3, dtype=bool) if direction == 0.0 else direction * (a - 2.0) > 0.0
    assert np.array_equal(loss.second(a) > 0.0, active)
    assert np.array_equal(loss.derivative(a), np.where(active, a - 2.0, 0.0))


@pytest.mark.parametrize("loss", [LeastSquares([1.0, -2.0, 3e9], [0.5, 2.0, 0.0]), SquaredHinge([1.0, 2.0, 0.5], [1.0, -1.0, 1.0]),
                                  HalfSquaredOneSided([1.0, -1.0, 2.0], [1.0, 0.0, -1.0], 3.0)])  # fmt: skip
def test_the_conjugate_is_the_largest_difference(loss):
    """sup over a of u a − phi(a), from a fine grid, for u of signs that phi' has; others, and u without weight, are zero."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        u = loss.admissible(rng.standard_normal(3))
        best = 0.0
        for t in range(3):

            def alone(a, t=t):
                at = np.broadcast_to(loss.target, (3,)).astype(float).copy()
                at[t] = a
                return loss.value(at)

            target, curvature = np.broadcast_to(loss.target, (3,))[t], np.broadcast_to(loss.beyond, (3,))[t]
            grid = target + np.linspace(-8.0, 8.0, 4001) / (curvature or 1.0)
            best += max(u[t] * a - alone(a) for a in grid)
        assert float(np.sum(loss.conjugates(u))) == pytest.approx(best, rel=1e-4, abs=1e-4)
    wrong = loss.admissible(
        -1e3 * np.sign(loss.derivative(np.broadcast_to(loss.target, (3,)) + np.array([1.0, -1.0, 1.0])))
    )
    assert np.all((wrong == 0.0) | (np.broadcast_to(loss.direction, (3,)) == 0.0) | (wrong * loss.direction > 0.0))
