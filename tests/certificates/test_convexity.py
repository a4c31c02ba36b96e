"""Convexity by the caller's word: refuted where F bends down, never where F is convex, however it is rounded."""

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import AutogradProblem, Constrained, FunctionProblem, Status, certify, constraints, solve
from psdopt.certificates.convexity import Segment, negative_curvature

N = 5
RNG = np.random.default_rng(3)
ROWS = RNG.standard_normal((12, N))
T = RNG.standard_normal((N, N))
BAD = np.diag(10.0 ** np.arange(-6.0, 6.1, 3.0))

NOT_CONVEX = {
    "double well": lambda M: (anp.sum(M * M) - 3.0) ** 2,
    "concave": lambda M: -anp.sum(M * M) + anp.trace(M) ** 2 + anp.trace(M),
    "root": lambda M: anp.sqrt(1.0 + anp.trace(M)) + anp.sum((M - T) ** 2) * 1e-3,
    "factor analysis": lambda M: anp.linalg.slogdet(M + np.eye(N))[1] + anp.trace(anp.linalg.inv(M + np.eye(N))),
    "kink": lambda M: anp.trace(M) - anp.abs(anp.trace(M) - 2.0),
}
CONVEX = {
    "linear": lambda M: anp.sum(T * M),
    "large constant": lambda M: 1e12 + anp.sum(M * M),
    "logistic": lambda M: anp.sum(anp.log1p(anp.exp(anp.sum(anp.dot(ROWS, M) * ROWS, axis=1) - 3.0))),
    "badly scaled barrier": lambda M: anp.trace(BAD @ M) - anp.linalg.slogdet(M + 1e-8 * np.eye(N))[1],
    "largest of two": lambda M: anp.maximum(anp.sum(M * T), anp.trace(M)),
    "cancelled": lambda M: anp.sum((1e8 + M) ** 2) - N * N * 1e16 - 2e8 * anp.sum(M),
    "inverse": lambda M: anp.trace(anp.linalg.inv(M + 1e-6 * np.eye(N))),
    "constant": lambda M: 1.0 + 0.0 * anp.sum(M),
}


@pytest.mark.parametrize("name", NOT_CONVEX)
def test_what_bends_down_is_refuted_with_a_number(name):
    problem = AutogradProblem(NOT_CONVEX[name], N, convex=True)
    certificate = certify(problem, np.eye(N))
    assert certificate.negative_curvature < 0.0
    assert not certificate.convex
    assert not certificate.proves(1e-6)
    assert certificate.gap is None
    assert any("not convex" in row[0] for row in certificate.rows())


@pytest.mark.parametrize("name", CONVEX)
@pytest.mark.parametrize("seed", range(4))
def test_no_convex_function_is_refuted(name, seed):
    problem = AutogradProblem(CONVEX[name], N, convex=True)
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((N, 1 + seed)) * 10.0 ** (seed - 2)
    assert negative_curvature(problem, Y, [rng.standard_normal(N)]) is None


def test_a_run_says_that_its_function_is_not_convex():
    result = solve(AutogradProblem(NOT_CONVEX["double well"], N, convex=True))
    assert result.status is Status.STATIONARY
    assert "F is not convex: its curvature along a segment of the cone is -" in result.message


def test_the_objective_under_constraints_is_tried_as_well():
    problem = Constrained(AutogradProblem(NOT_CONVEX["double well"], N, convex=True), constraints.trace(N, 1.0))
    assert certify(problem, np.eye(N) / np.sqrt(N)).negative_curvature < 0.0
    honest = Constrained(AutogradProblem(CONVEX["logistic"], N, convex=True), constraints.trace(N, 1.0))
    assert certify(honest, np.eye(N) / np.sqrt(N)).negative_curvature == 0.0


def test_nothing_is_tried_where_convexity_is_not_the_callers_word():
    problem = AutogradProblem(NOT_CONVEX["double well"], N)
    before = problem.counts()["values"]
    assert certify(problem, np.eye(N)).negative_curvature == 0.0
    assert problem.counts()["values"] - before < 30


def test_a_lens_of_negative_curvature_is_found_where_it_is_least():
    """F = |M|² less a multiple of the square along one matrix: only segments near it show it, and Lanczos finds it."""
    A = T + T.T
    A /= np.linalg.norm(A)
    for share, convex in ((1.02, False), (0.98, True)):
        problem = AutogradProblem(lambda M, share=share: anp.sum(M * M) - share * anp.sum(A * M) ** 2, N, convex=True)
        assert (negative_curvature(problem, np.eye(N)) is None) == convex


def test_points_of_segments_have_no_needless_columns(monkeypatch):
    """Twice the rank between any two matrices of it, thrice where Lanczos' direction is added, n on one segment."""
    n, r = 20, 2
    problem = AutogradProblem(lambda M: anp.sum((M - 1.0) ** 2), n, convex=True)
    seen, at = [], problem.at
    monkeypatch.setattr(problem, "at", lambda Y: seen.append(Y.shape[1]) or at(Y))
    assert negative_curvature(problem, RNG.standard_normal((n, r)), [RNG.standard_normal(n)]) is None
    assert set(seen) == {r, r + 1, 2 * r, 3 * r, n}
    assert seen.count(n) <= 6
    assert np.mean([k for k in seen if k < n]) <= 2.0 * r + 0.5


@pytest.mark.parametrize("columns", [2, 9])
def test_a_segment_is_straight(columns):
    left, right, both = RNG.standard_normal((3, 8, columns))
    at = [Segment(left, right, both).at(t) for t in (0.0, 0.25, 1.0)]
    assert {Z.shape[1] for Z in at} == {min(3 * columns, 8)}
    M = [Z @ Z.T for Z in at]
    np.testing.assert_allclose(M[1], 0.75 * M[0] + 0.25 * M[2], rtol=1e-12)
    np.testing.assert_allclose(M[0], both @ both.T + left @ left.T, rtol=1e-12)


@pytest.mark.parametrize("n", [4, 20, 100])
def test_a_direction_of_full_rank_is_found_at_an_m_of_rank_one(n):
    """F(M_0 + N) = ½ |N + P|² − ¾ ⟨N, P/|P|⟩² for the projection P off M_0 = 1 1ᵀ falls without end along P."""
    ones = np.ones((n, n))
    P = np.eye(n) - ones / n
    direction = P / np.linalg.norm(P)

    def function(M):
        return 0.5 * anp.sum((M - ones + P) ** 2) - 0.75 * anp.sum((M - ones) * direction) ** 2

    certificate = certify(AutogradProblem(function, n, convex=True), np.ones((n, 1)))
    assert certificate.negative_curvature == pytest.approx(-0.5, rel=1e-6)
    assert not certificate.proves(1e-6)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_at_zero_functions_are_tried_in_all_units(unit):
    problem = AutogradProblem(lambda M: (anp.sum((M / unit) ** 2) - 3.0) ** 2, N, convex=True)
    certificate = certify(problem, np.zeros((N, 1)))
    assert certificate.negative_curvature < 0.0
    assert not certificate.proves(1e-6)


@pytest.mark.parametrize("name", CONVEX)
def test_no_convex_function_is_refuted_at_zero(name):
    assert negative_curvature(AutogradProblem(CONVEX[name], N, convex=True), np.zeros((N, 1))) is None


@pytest.mark.parametrize("function", [anp.floor, lambda t: anp.where(t > 1.0, 1.0, 0.0)])
@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_a_bound_above_a_value_at_zero_is_none(function, unit):
    """∇F = 0 wherever F is smooth: `optimal` was said of F(M) = 2 with F(0) = 0."""
    jumps = FunctionProblem(lambda M: unit * function(anp.trace(M)) + 0.0 * anp.trace(M), 3, convex=True)
    result = solve(jumps, start=2.5 * np.eye(3))
    assert result.value <= 0.0 or not result.optimal
    found = certify(jumps, 1.1 * np.eye(3))  # not at a jump, where F has no digits
    assert not found.convex
    assert found.negative_curvature < 0.0
    assert certify(jumps, 0.1 * np.eye(3)).proves(1e-6)


def test_a_matrix_that_is_zero_to_rounding_is_tried_in_all_units():
    """F rises from 0 and then falls below F(0); `optimal` was said of a trace of 1e-42."""
    waves = AutogradProblem(lambda M: 1e-6 * (anp.cos(3.0 * anp.trace(M)) + 0.1 * anp.trace(M)), 3, convex=True)
    for factor in (np.zeros((3, 1)), 1e-21 * np.eye(3)):
        assert not certify(waves, factor).convex
