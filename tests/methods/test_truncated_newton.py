"""Truncated Newton: its direction on a quadratic model, quadratic convergence, products per step, refusals."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from psdopt import (
    Alternating,
    ConjugateGradient,
    Constrained,
    FlatQuotient,
    QuadraticSDP,
    Status,
    TermSum,
    TruncatedNewton,
    constraints,
    solve,
)
from psdopt.constraints.augmented.problem import augmented
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.methods.alternating import AfterSteps
from psdopt.terms import LeastSquares, LinearTerm, MeasuredTerm, QuadraticForms
from psdopt.testing.gallery import with_spectrum

N = 8


def states(method: TruncatedNewton, steps: int) -> list:
    target = with_spectrum(np.linspace(0.5, 2.0, N), 3)
    problem = QuadraticSDP(None, 1.0, -target)
    geometry = FlatQuotient(N, N)
    found = [method.init(problem, geometry, geometry.from_factor(np.linalg.cholesky(target + 0.2 * np.eye(N))))]
    for _ in range(steps):
        found.append(method.step(found[-1]))
    return found


def test_accurate_systems_converge_faster_than_linearly() -> None:
    norms = [state.gradient_norm for state in states(TruncatedNewton(share=1e-8), 4)]
    scale = norms[0]
    assert norms[2] <= 10.0 * (norms[1] / scale) ** 1.5 * scale
    assert norms[4] <= 1e-9 * scale


@pytest.mark.parametrize("inner", [1, 3])
def test_products_per_step_are_bounded(inner) -> None:
    assert all(state.extras["products"] <= inner for state in states(TruncatedNewton(inner=inner), 5)[1:])


@pytest.mark.parametrize("n", [12, 30])
@pytest.mark.parametrize("penalty", [1e4, 1e6])
def test_beside_stiff_constraints_steps_follow_the_arc(n, penalty) -> None:
    """Straight lines leave the rows' unit lengths: within six steps they come less than nine tenths as far."""
    rng = np.random.default_rng(0)
    G = rng.standard_normal((n, n))
    constrained = Constrained(QuadraticSDP(C=G + G.T), constraints.diagonal(n, 1.0))
    total = augmented(constrained, np.zeros(n), np.full(n, penalty))
    Y = rng.standard_normal((n, 5))
    Y /= np.linalg.norm(Y, axis=1)[:, None]

    def fall(problem: TermSum) -> float:
        method, geometry = TruncatedNewton(), FlatQuotient(n, 5)
        first = state = method.init(problem, geometry, Y)
        for _ in range(6):
            state = method.step(state)
        return first.evaluation.value - state.evaluation.value

    straight = TermSum(total.terms, total.constant, lambda evaluation: total.at(evaluation.factor).preconditioner())
    assert 1.0 < fall(straight) < 0.9 * fall(total)


def test_a_system_ends_where_its_direction_is_longer_than_the_model_has_held() -> None:
    problem = QuadraticSDP(None, 1.0, -with_spectrum(np.linspace(0.5, 2.0, N), 3))
    method, geometry = TruncatedNewton(share=1e-8), FlatQuotient(N, N)
    state = method.init(problem, geometry, np.eye(N) + 0.1 * np.random.default_rng(0).standard_normal((N, N)))
    free, bound = method.step(state), method.step(replace(state, radius=1e-3))
    assert bound.extras["products"] == 1 < free.extras["products"]


def test_the_length_follows_the_steps() -> None:
    """A step far beyond the model leaves its own length, one that the model foresaw a longer one."""
    found = states(TruncatedNewton(), 4)
    for before, after in pairwise(found):
        length = float(np.linalg.norm(after.point - before.point))
        if after.step < 0.5:
            assert after.radius == pytest.approx(length)
        else:
            assert after.radius >= before.radius
    assert found[0].radius == np.inf


def direction(method, problem, Y, radius):
    state = method.init(problem, FlatQuotient(*Y.shape), Y)
    return method._direction(state.evaluation, state.gradient, radius, method._inverse(state))


@pytest.mark.parametrize(("kind", "gram"), [("auto", True), ("gram", True), ("diagonal", True), ("none", False)])
def test_the_preconditioner_is_the_one_asked_for(kind, gram) -> None:
    rng = np.random.default_rng(4)
    term = MeasuredTerm(QuadraticForms(rng.standard_normal((30, 5))), LeastSquares(np.ones(30)))
    problem = TermSum([term], 0.0, None)
    state = TruncatedNewton(preconditioner=kind).init(problem, FlatQuotient(5, 2), rng.standard_normal((5, 2)))
    found = TruncatedNewton(preconditioner=kind)._inverse(state)(state.gradient)
    Y = state.evaluation.factor
    G = Y.T @ Y + np.trace(Y.T @ Y) / 2.0 * np.eye(2)
    np.testing.assert_allclose(found @ G if gram else found, state.gradient, rtol=1e-9)
    with pytest.raises(InvalidInputError, match="problem"):
        solve(problem, FlatQuotient(5, 2), TruncatedNewton(preconditioner="problem"))
    with pytest.raises(InvalidInputError, match="preconditioner"):
        TruncatedNewton(preconditioner="some")


@pytest.mark.parametrize(("share", "radius"), [
    (1e-9, np.inf), (0.1, np.inf), (0.5, np.inf), (1e-9, 0.3), (1e-9, 1e-6),
])  # fmt: skip
def test_directions_are_those_of_truncated_conjugate_gradient(share, radius) -> None:
    """Against the dense Hessian for Y (YᵀY + eta I)^½, up to the radius, or a residual of `share` |g|.

    The last product then gains at most half of the mean of all.
    """
    rng = np.random.default_rng(21)
    forms = QuadraticForms(rng.standard_normal((30, 5)))
    terms = [MeasuredTerm(forms, LeastSquares(np.zeros(30))), LinearTerm(5.0 * np.eye(5))]  # convex in Y
    problem = TermSum(terms, preconditioner=None)
    here = problem.at(0.2 * rng.standard_normal((5, 2)))
    g = here.factor_gradient()
    H = np.array([here.hessian_vector(e.reshape(5, 2)).ravel() for e in np.eye(10)]).T
    D, length, products = direction(TruncatedNewton(share=share), problem, here.factor, radius)
    values, W = np.linalg.eigh(here.factor.T @ here.factor)
    root = np.kron(np.eye(5), (W / np.sqrt(values + np.mean(values))) @ W.T)
    H = root @ H @ root
    d, r = np.zeros(10), -root @ g.ravel()
    p, first = r, r @ r
    gains: list[float] = []
    small: list[bool] = []
    while True:
        step = (r @ r) / (p @ H @ p)
        gains.append(step * (r @ r) / 2.0)
        d = d + step * p
        if np.linalg.norm(d) > radius:
            break
        new = r - step * H @ p
        small.append(new @ new <= share**2 * first)
        if small[-1] and gains[-1] <= 0.5 * np.mean(gains):
            break
        p, r = new + (new @ new) / (r @ r) * p, new
    assert products == len(gains)
    assert share < 0.5 or sum(small) == 2  # the residual alone would have ended it one product before
    np.testing.assert_allclose(D.ravel(), root @ d, rtol=1e-6)
    assert length == pytest.approx(np.linalg.norm(d), rel=1e-6)


def test_a_region_in_huge_units_overflows_to_no_region() -> None:
    """Python's power would raise OverflowError where a product is inf."""
    problem = QuadraticSDP(None, 1.0, -with_spectrum(np.linspace(0.5, 2.0, N), 3))
    here = problem.at(np.eye(N))
    free = direction(TruncatedNewton(), problem, here.factor, np.inf)
    bound = direction(TruncatedNewton(), problem, here.factor, 1e200)
    np.testing.assert_array_equal(bound[0], free[0])


def low_rank_regression() -> TermSum:
    """Squared loss of 400 quadratic forms of order 20 with errors of 20 %; the minimiser over the cone has rank 7."""
    rng = np.random.default_rng(3)
    X, L = rng.standard_normal((400, 20)), rng.standard_normal((20, 3))
    targets = np.sum((X @ L) ** 2, axis=1) * (1.0 + 0.2 * rng.standard_normal(400))
    return TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(targets))])


def test_columns_that_go_to_zero_are_dropped_and_work_saved() -> None:
    """Without narrowing, each of the columns that M does not need shrinks, and takes part in every product."""
    work, rank = {}, 7
    for narrow in (False, True):
        problem = low_rank_regression()
        method, geometry = TruncatedNewton(narrow=narrow), FlatQuotient(20, 20)
        found = [method.init(problem, geometry, np.random.default_rng(0).standard_normal((20, 20)))]
        while found[-1].gradient_norm > 1e-9 * found[0].gradient_norm and len(found) < 50:
            found.append(method.step(found[-1]))
        assert len(found) < 50
        assert found[-1].point.shape[1] == (rank if narrow else 20)
        assert repr(found[-1].geometry) == repr(FlatQuotient(*found[-1].point.shape))
        assert all(b.evaluation.value <= a.evaluation.value for a, b in pairwise(found))
        work[narrow] = sum(b.extras["products"] * a.point.shape[1] for a, b in pairwise(found))
    assert work[True] < 0.75 * work[False]


def test_a_column_that_matters_stays() -> None:
    method = TruncatedNewton(narrow=True)
    problem, geometry = QuadraticSDP(None, 1.0, -with_spectrum(np.linspace(0.5, 2.0, N), 3)), FlatQuotient(N, N)
    assert method.init(problem, geometry, np.eye(N)).point.shape == (N, N)


def test_solve_narrows_only_where_it_may_add_columns_again() -> None:
    method = TruncatedNewton()
    assert method.with_escape(True, N).narrow
    assert not method.with_escape(False, N).narrow
    assert TruncatedNewton(narrow=True).with_escape(False, N).narrow
    result = solve(low_rank_regression(), method=method, rng=0)
    assert result.status is Status.OPTIMAL
    assert result.matrix.factor.shape[1] == 7
    fixed = solve(low_rank_regression(), FlatQuotient(20, 9), method, rng=0)
    assert fixed.matrix.factor.shape[1] == 9
    both = Alternating(ConjugateGradient(), TruncatedNewton(), AfterSteps(2)).with_escape(True, N)
    assert both.second.narrow


def test_narrow_is_a_boolean() -> None:
    with pytest.raises(InvalidTypeError, match="narrow"):
        TruncatedNewton(narrow=3)
