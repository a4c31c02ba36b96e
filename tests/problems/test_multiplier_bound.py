"""The bound from multipliers: below F whatever they are, equal to min F at a solution, and nothing for what is none."""

import numpy as np
import pytest

from psdopt import certify, solve
from psdopt.geometries import PSDCone
from psdopt.methods import InteriorPoint
from psdopt.problems import TermSum
from psdopt.terms import LeastSquares, LinearTerm, MeasuredTerm, QuadraticForms, SquaredHinge
from tests.instances import psd, symmetric


def problem(seed: int = 0, n: int = 6, m: int = 15, pull: float = 0.3) -> TermSum:
    rng = np.random.default_rng(seed)
    forms = [QuadraticForms(rng.standard_normal((m, n))) for _ in range(2)]
    fits = [
        MeasuredTerm(forms[0], SquaredHinge(rng.uniform(1.0, 3.0, m), rng.choice([-1.0, 1.0], m)), 0.5),
        MeasuredTerm(forms[1], LeastSquares(rng.uniform(0.0, 2.0, m)), 2.0),
    ]
    return TermSum([*fits, LinearTerm(pull * psd(rng, n) + 0.1 * symmetric(rng, n))], 0.75)


def multipliers_at(F: TermSum, Y: np.ndarray) -> np.ndarray:
    """phi_t'(a_t) at M = Y Yᵀ, (m,)."""
    images = F.at(Y).images
    return np.concatenate(
        [term.weight * term.loss.derivative(term.measurement.pair(images, images)) for term in F.terms[:2]]
    )


@pytest.mark.parametrize("seed", range(6))
def test_no_multipliers_give_a_bound_above_a_value(seed):
    rng, F = np.random.default_rng(seed), problem(seed)
    least = solve(F, rng=0, tol=1e-10).value
    for scale in (1e-3, 0.1, 1.0, 30.0):
        u = scale * rng.standard_normal(30)
        bound = F.duality.dual_bound(F.at(np.zeros((6, 1))), u)
        assert bound is None or bound <= least + 1e-9 * abs(least)


def test_at_a_solution_the_bound_is_the_value_and_a_multiple_of_it_is_not():
    F = problem()
    result = solve(F, PSDCone(6), InteriorPoint(), tol=1e-9)
    u = multipliers_at(F, result.matrix.factor)
    assert F.duality.dual_bound(F.at(np.zeros((6, 1))), u) == pytest.approx(result.value, rel=1e-6)
    for wrong in (0.5 * u, 1.5 * u, -u, 0.0 * u):
        bound = F.duality.dual_bound(F.at(np.zeros((6, 1))), wrong)
        assert bound is None or bound < result.value - 1e-4 * abs(result.value)


def test_what_are_no_multipliers_gives_nothing_more():
    F = problem()
    zero = F.at(np.zeros((6, 1)))
    own = F.duality.dual_bound(zero)
    for wrong in (np.zeros(29), np.full(30, np.nan), np.full(30, np.inf), "u", [0.0] * 30):
        assert F.duality.dual_bound(zero, wrong) == own


def test_a_certificate_takes_them():
    """Far from M the multipliers of a solution still prove the value there, which M alone does not."""
    F = problem()
    result = solve(F, PSDCone(6), InteriorPoint(), tol=1e-9)
    u = multipliers_at(F, result.matrix.factor)
    there = certify(F, 1.01 * result.matrix.factor, dual=u)
    exact = F.at(1.01 * result.matrix.factor).value - result.value
    assert there.gap == pytest.approx(exact, rel=1e-3, abs=1e-7)


@pytest.mark.parametrize("pull", [1e-12, 1e-6, 1.0])
def test_multipliers_far_too_large_give_no_bound_above_a_value(pull):
    rng, n = np.random.default_rng(0), 5
    term = MeasuredTerm(QuadraticForms(rng.standard_normal((4, n))), SquaredHinge(1.0))
    F = TermSum([term, LinearTerm(pull * psd(rng, n))])
    least = solve(F, rng=0, tol=1e-9).value
    for size in 10.0 ** np.arange(0, 30, 3):
        bound = F.duality.dual_bound(F.at(np.zeros((n, 1))), size * rng.standard_normal(4))
        assert bound is None or bound <= least * (1.0 + 1e-9)


@pytest.mark.parametrize("size", [1e30, 1e57, 1e80])
def test_rounding_of_huge_multipliers_is_no_proof(size):
    """F falls without end along e_0, where only rounding of Σ u_t A_t speaks for C + Σ u_t A_t ⪰ 0."""
    rng = np.random.default_rng(1)
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    loss = MeasuredTerm(QuadraticForms(Q[:, 1:].T), LeastSquares(np.array([-2.0, 0.1, 16.0, 300.0])))
    F = TermSum([loss, LinearTerm(-0.65 * np.outer(Q[:, 0], Q[:, 0]))])
    for _ in range(20):
        assert F.duality.dual_bound(F.at(np.zeros((5, 1))), size * rng.uniform(0.1, 1.0, 4)) is None
