"""Pieces that are right and unusual pass: F infinite somewhere, ill-conditioned, not convex, steep, nearly straight."""

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import AutogradProblem
from psdopt.linalg.arrays import Array
from psdopt.problems import TermSum
from psdopt.problems.functions.evaluation import FunctionLine
from psdopt.terms import Loss, MeasuredTerm, QuadraticForms
from psdopt.testing import Case, CheckStatus, parametrize_with_checks, replay, run_checks
from psdopt.testing.checks.common import defined, point_of
from psdopt.testing.record import Trivial
from tests.instances import LogCosh

RNG = np.random.default_rng(0)
N = 4
ROWS = RNG.standard_normal((9, N))
SAMPLES = RNG.standard_normal((30, N))
SCATTER, NOISE = SAMPLES.T @ SAMPLES / 30.0, np.diag(RNG.uniform(0.3, 1.0, N))


def forms(M):
    return anp.sum(anp.dot(ROWS, M) * ROWS, axis=1)


def likelihood(M):
    """Factor analysis: log det(M + D) + tr((M + D)⁻¹ C)."""
    return anp.linalg.slogdet(M + NOISE)[1] + anp.sum(anp.linalg.inv(M + NOISE) * SCATTER)


class FactorAnalysis(AutogradProblem):
    """The likelihood by hand, with the inverse of LAPACK, which is symmetric to 1e-8 only where M is of size 1e8."""

    def __init__(self) -> None:
        super().__init__(likelihood, N)
        self.twin = AutogradProblem(likelihood, N)

    def dense_gradient(self, M: Array) -> Array:
        inverse = np.linalg.inv(M + NOISE)
        return inverse - inverse @ SCATTER @ inverse

    def dense_hessian(self, M: Array, direction: Array) -> Array:
        inverse = np.linalg.inv(M + NOISE)
        moved = inverse @ direction @ inverse
        return -moved + moved @ SCATTER @ inverse + inverse @ SCATTER @ moved


class Exponential(Loss):
    """Σ exp(a): infinite beyond 709."""

    nonnegative = True

    def value(self, a):
        return float(np.sum(np.exp(a)))

    def derivative(self, a):
        return np.exp(a)

    second = derivative


UNUSUAL = {
    "not convex": lambda: AutogradProblem(lambda M: anp.sum((anp.dot(M, M) - np.eye(N)) ** 2), N),
    "barrier": lambda: AutogradProblem(lambda M: -anp.linalg.slogdet(M)[1] + anp.trace(M), N, convex=True),
    "barrier by its determinant": lambda: AutogradProblem(
        lambda M: -anp.log(anp.linalg.det(M)) + anp.trace(M), N, True
    ),
    "exponential": lambda: AutogradProblem(lambda M: anp.sum(anp.exp(forms(M) - 3.0)), N, convex=True),
    "exponential of samples": lambda: TermSum([MeasuredTerm(QuadraticForms(ROWS), Exponential(), 1e-3)]),
    "nearly straight": lambda: TermSum([MeasuredTerm(QuadraticForms(ROWS), LogCosh(1.0, 1e6, 1e-12), 1.0)]),
    "log det(I + M)": lambda: AutogradProblem(lambda M: anp.linalg.slogdet(np.eye(N) + M)[1], N),
    "difference of exponentials": lambda: AutogradProblem(
        lambda M: anp.exp(-anp.trace(M)) - anp.exp(-anp.sum(M * M)), N
    ),
    "linear part beside log det(I + M)": lambda: AutogradProblem(
        lambda M: anp.trace(M) - anp.linalg.slogdet(np.eye(N) + M)[1], N, convex=True
    ),
    "all digits lost at zero": lambda: AutogradProblem(lambda M: anp.sqrt(1.0 + anp.sum(M * M)) - 1.0, N, convex=True),
    "large constant": lambda: AutogradProblem(lambda M: (anp.trace(M) + 1e4) ** 2 - 1e8, N, convex=True),
    "oscillating": lambda: AutogradProblem(lambda M: anp.sum(anp.sin(M)), N),
    "tr M⁻¹": lambda: AutogradProblem(lambda M: anp.trace(anp.linalg.inv(M)), N),
    "tr M⁻¹ by Cholesky": lambda: AutogradProblem(lambda M: anp.sum(anp.linalg.inv(anp.linalg.cholesky(M)) ** 2), N),
    "likelihood": lambda: AutogradProblem(likelihood, N),
    "likelihood by hand": FactorAnalysis,
}


LOSSES = [Exponential(), LogCosh(1.0), LogCosh(1.0, 1e6, 1e-12)]


@parametrize_with_checks([*(make() for make in UNUSUAL.values()), *LOSSES])
def test_unusual_problems_and_losses_pass(check):
    check()


@pytest.mark.parametrize("check", ["problem.gradient_slope", "problem.line_model", "problem.plane_model"])
@pytest.mark.parametrize("name", ["log det(I + M)", "difference of exponentials", "oscillating", "tr M⁻¹"])
def test_slopes_pass_where_few_digits_or_short_steps_are_left(name, check):
    records = [replay(check, UNUSUAL[name](), scale, seed) for scale in ("scale-down", "scale-up") for seed in (1, 9)]
    assert all(record.ok for record in records)
    assert any(record.verdict is CheckStatus.PASSED for record in records)


@pytest.mark.parametrize("name", ["barrier", "likelihood by hand", "exponential"])
def test_the_checks_of_values_and_slopes_are_not_skipped(name):
    found = {record.name: record for record in run_checks(UNUSUAL[name]())}
    for check in ("gradient_slope", "gradient_operator", "representative_invariance", "step_by_images"):
        assert found[f"problem.{check}"].verdict is CheckStatus.PASSED
        assert found[f"problem.{check}"].samples >= 3


class WrongBarrier(AutogradProblem):
    """Its gradient lacks a millionth of the barrier's."""

    def dense_gradient(self, M):
        return super().dense_gradient(M) + 1e-6 * np.linalg.inv(M)


class WrongLikelihood(FactorAnalysis):
    """Its Hessian is a millionth too large."""

    def dense_hessian(self, M: Array, direction: Array) -> Array:
        return (1.0 + 1e-6) * super().dense_hessian(M, direction)


class SinglePrecision(AutogradProblem):
    """F is rounded to 24 bits."""

    def evaluate(self, M):
        return float(np.float32(super().evaluate(M)))


def test_digits_that_no_constant_takes_are_missed():
    slopes = {"problem.gradient_slope", "problem.line_model"}
    for formula in (lambda M: anp.sum(M * M) - anp.trace(M), lambda M: anp.linalg.slogdet(np.eye(N) + M)[1]):
        failed = {record.name for record in run_checks(SinglePrecision(formula, N), only=slopes) if not record.ok}
        assert failed == slopes


class Noisy(AutogradProblem):
    """F has a few digits less, and S is wrong by a factor."""

    noise, factor = 0.0, 1.0

    def evaluate(self, M):
        value = super().evaluate(M)
        return value * (1.0 + self.noise * np.sin(1e12 * np.log(abs(value))))

    def dense_gradient(self, M):
        return self.factor * super().dense_gradient(M)


@pytest.mark.parametrize(("noise", "factor"), [(1e-8, 2.0), (1e-8, -1.0), (1e-9, 1.001), (1e-10, 1.001)])
def test_noise_of_F_excuses_no_wrong_gradient(noise, factor):
    problem = Noisy(lambda M: anp.sum(M * M) + anp.trace(M), 6)
    problem.noise, problem.factor = noise, factor
    failed = {record.name for record in run_checks(problem, only=["problem.gradient_slope"]) if not record.ok}
    assert failed == {"problem.gradient_slope"}


@pytest.mark.parametrize("name", ["linear part beside log det(I + M)", "all digits lost at zero", "large constant"])
def test_constants_within_F_excuse_no_wrong_gradient(name):
    problem = Noisy(UNUSUAL[name]().function, N)
    problem.factor = 1.001
    slopes = {f"problem.{check}" for check in ("gradient_slope", "hessian_slope", "line_model", "plane_model")}
    assert {record.name for record in run_checks(problem, only=slopes) if not record.ok} == slopes


def test_a_line_search_that_does_not_move_is_found(monkeypatch):
    monkeypatch.setattr(FunctionLine, "minimize", lambda self, upper=np.inf: 0.0)
    problem = AutogradProblem(lambda M: anp.sum(M * M) - anp.trace(M), N, convex=True)
    (record,) = run_checks(problem, only=["problem.line_minimum"])
    assert not record.ok


def test_what_is_wrong_in_them_is_still_found():
    barrier = WrongBarrier(lambda M: -anp.linalg.slogdet(M)[1] + anp.trace(M), N, convex=True)
    failed = {record.name for record in run_checks(barrier) if not record.ok}
    assert "problem.gradient_slope" in failed
    failed = {record.name for record in run_checks(WrongLikelihood()) if not record.ok}
    assert {"problem.hessian_slope", "problem.autograd_twin"} <= failed


def test_singular_matrices_are_outside_a_barrier_and_a_full_one_is_taken():
    barrier = AutogradProblem(lambda M: -anp.linalg.slogdet(M)[1], N, convex=True)
    thin = Case("full-rank", 0).factor(N)
    assert thin.shape == (N, 2)
    assert defined(barrier, thin) is None
    assert point_of(barrier, Case("full-rank", 0)).factor.shape == (N, N)
    with pytest.raises(Trivial, match="not finite at the sampled points"):
        point_of(barrier, Case("rank-deficient", 0))
