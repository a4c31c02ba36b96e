"""Derivatives of Hermitian matrices on a real factor, against differences of problems that are solved anew."""

from functools import partial
from itertools import product

import numpy as np
import pytest

from psdopt import (
    Adjoint,
    Constrained,
    FixedTrace,
    FlatQuotient,
    LowRankPSD,
    QuadraticSDP,
    TermSum,
    TruncatedNewton,
    TrustRegions,
    constraints,
    solve,
)
from psdopt.errors import NotDifferentiableError
from psdopt.linalg.complex_arrays import turned
from psdopt.running.derivatives.hermitian import hermitian_axes, part, whole
from psdopt.terms import IdentityForm, LinearTerm, MatrixForm, ProductTerm, embedded, hermitian_form
from psdopt_plugins.hermitian import (
    PauliStrings,
    counts_problem,
    phase_fit_problem,
    phase_problem,
    process_problem,
    state_problem,
)
from tests.running.derivatives.problems import dense, paired, symmetric

N, LOW = 5, "phases at rank one"


def complex_numbers(rng, *shape):
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def hermitian(rng, n):
    A = complex_numbers(rng, n, n)
    return 0.5 * (A + A.conj().T)


def size(found):
    return float(np.abs(dense(found)).max())


def seen(M):
    """H of M (2n, 2n)."""
    n = len(M) // 2
    return M[:n, :n] + M[n:, n:] + 1j * (M[n:, :n] - M[:n, n:])


def hermitian_of(A):
    """The Hermitian matrix whose numbers are those of a real A (n, n)."""
    return A + A.T + 1j * (A - A.T)


def cases():
    """name -> (numbers ↦ problem, in all data linear; numbers, options of the run)."""
    rng = np.random.default_rng(0)
    strings = ["".join(each) for each in product("IXYZ", repeat=2)][1:]
    expected = PauliStrings(strings).of(complex_numbers(rng, 4, 2) / 4) + 0.1 * rng.standard_normal(15)
    bases = ["".join(each) for each in product("XYZ", repeat=2)]
    sphere = {"geometry": FixedTrace(8, 8), "method": TrustRegions(), "escape": True}
    X, z, i = complex_numbers(rng, 40, N), complex_numbers(rng, N), np.arange(N)
    squares, noise = np.abs(X @ z) ** 2, rng.standard_normal(40)
    transfer = np.diag([1.0, 0.7, 0.8, 1.1]) + 0.2 * np.vstack([np.zeros(4), rng.standard_normal((3, 4))])
    unknown = np.where(np.arange(16).reshape(4, 4) == 6, np.nan, 0.0)
    low = {"geometry": FlatQuotient(2 * N, 1), "method": TruncatedNewton()}

    def cut(A, b):
        F = TermSum([LinearTerm(hermitian_form(hermitian_of(A)))])
        return Constrained(F, constraints.hermitian_entries(i, i, N, b))

    def bounded(A, b):
        F = TermSum([LinearTerm(hermitian_form(hermitian_of(A)))])
        forms = [hermitian(np.random.default_rng(k), N) for k in range(4)]
        return Constrained(F, [constraints.trace(2 * N, 1.0), constraints.hermitian_forms(forms, lower=-b, upper=b)])

    return {
        "state": (partial(state_problem, strings), (expected, rng.uniform(0.5, 1.5, 15)), sphere),
        "state under a constraint": (
            lambda b, t: Constrained(state_problem(strings, b), constraints.trace(8, t)),
            (expected, 1.0),
            {},
        ),
        "likeliest state": (partial(counts_problem, bases), (rng.integers(3, 40, (9, 4)) * 1.0,), sphere),
        "cut": (cut, (rng.standard_normal((N, N)), rng.uniform(0.8, 1.2, N)), {}),
        "inequalities": (bounded, (rng.standard_normal((N, N)), np.full(4, 0.3)), {}),
        "phases with noise": (lambda b: phase_fit_problem(X, b, 1.0), (squares * (1.0 + 0.1 * noise),), {}),
        LOW: (lambda b: phase_fit_problem(X, b), (squares * (1.0 + 0.1 * noise),), low),
        "PhaseLift": (lambda b: phase_problem(X[:4], b), (squares[:4],), {}),
        "channel": (lambda R: process_problem(R + unknown), (transfer,), {}),
        "channel of which all is measured": (process_problem, (transfer,), {}),
    }


CASES = cases()


def solved(name):
    make, numbers, options = CASES[name]
    return solve(make(*numbers), tol=1e-9, rng=0, **options)


@pytest.mark.parametrize("name", CASES)
def test_derivatives_agree_with_differences_of_minimisers(name):
    make, numbers, options = CASES[name]
    adjoint, rng, h = solved(name).adjoint, np.random.default_rng(1), 1e-4
    steps = [rng.standard_normal(np.shape(each)) * np.mean(np.abs(each)) for each in numbers]
    multipliers = adjoint.multipliers if len(adjoint.multipliers) else None
    H, F, data = {}, {}, {}
    for k in (-2, -1, 1, 2):
        own = make(*(each + k * h * step for each, step in zip(numbers, steps, strict=True)))
        problem = Constrained(own, constraints.trace(8, 1.0)) if "geometry" in options and name != LOW else own
        there = Adjoint(
            problem, LowRankPSD(hermitian_axes(adjoint.matrix)) if name == LOW else adjoint.matrix, multipliers
        )
        H[k], data[k] = seen(there.matrix.to_dense()), there.data
        F[k] = problem.at(there.matrix.factor).value - getattr(own, "constant", 0.0)
    dH, dF = ((8.0 * (each[1] - each[-1]) - (each[2] - each[-2])) / (12.0 * h) for each in (H, F))
    tangents = {name: (data[1][name] - data[-1][name]) / (2.0 * h) for name in data[1] if name != "forms"}
    moved, slope = adjoint.jvp(tangents)
    assert np.linalg.norm(seen(moved) - dH) <= 1e-6 * np.linalg.norm(dH)
    G = hermitian(rng, len(dH))
    found = adjoint.vjp(embedded(G))
    assert paired(found, tangents) == pytest.approx(np.trace(G @ dH).real, rel=1e-6)
    if "channel" not in name and "under" not in name:  # whose constants depend on the data
        assert slope == pytest.approx(dF, rel=1e-6)


@pytest.mark.parametrize("name", ["state", "phases with noise", "cut", "channel"])
def test_minimisers_that_are_solved_anew_differ_as_much(name):
    make, numbers, options = CASES[name]
    result, rng, h = solved(name), np.random.default_rng(1), 1e-3
    steps = [rng.standard_normal(np.shape(each)) * np.mean(np.abs(each)) for each in numbers]
    H, data = {}, {}
    for k in (-1, 1):
        problem = make(*(each + k * h * step for each, step in zip(numbers, steps, strict=True)))
        there = solve(problem, tol=1e-12, rng=k + 1, **options)
        H[k], data[k] = seen(there.matrix.to_dense()), there.adjoint.data
    dH = (H[1] - H[-1]) / (2.0 * h)
    tangents = {name: (data[1][name] - data[-1][name]) / (2.0 * h) for name in data[1] if name != "forms"}
    assert np.linalg.norm(seen(result.jvp(tangents)[0]) - dH) <= 1e-4 * np.linalg.norm(dH)


@pytest.mark.parametrize("name", ["state", "cut", "phases with noise"])
def test_all_factors_of_one_matrix_have_the_same_derivatives(name):
    """Of M with ranks from k to 2 k: Z times a matrix with orthonormal rows, of k to 2 k columns."""
    make, numbers, _ = CASES[name]
    result, rng = solved(name), np.random.default_rng(0)
    adjoint, problem = result.adjoint, make(*numbers)
    if name == "state":
        problem = Constrained(problem, constraints.trace(8, 1.0))
    W = hermitian_axes(adjoint.matrix)
    n, k = len(W) // 2, W.shape[1]
    G, ranks = embedded(hermitian(rng, n)), set()
    expected = adjoint.vjp(G, 0.3)
    for columns in range(k, 2 * k + 1):
        Z = (W[:n] + 1j * W[n:]) @ np.linalg.qr(complex_numbers(rng, columns, k))[0].conj().T
        matrix = LowRankPSD(np.vstack([Z.real, Z.imag]))
        ranks.add(matrix.rank)
        there = Adjoint(problem, matrix)
        for datum, each in there.vjp(G, 0.3).items():
            np.testing.assert_allclose(dense(each), dense(expected[datum]), rtol=0, atol=1e-7 * size(expected[datum]))
    assert ranks == set(range(k, 2 * k + 1))


@pytest.mark.parametrize("name", ["state", "cut", "phases with noise"])
def test_of_a_loss_its_hermitian_part_counts_and_matrices_are_hermitian(name):
    adjoint, rng = solved(name).adjoint, np.random.default_rng(0)
    n = adjoint.matrix.n
    G = symmetric(rng, n)
    part_of_G = 0.5 * (G + turned(turned(G).T).T)
    for datum, each in adjoint.vjp(G).items():
        found, other = dense(each), dense(adjoint.vjp(part_of_G)[datum])
        np.testing.assert_allclose(found, other, rtol=0, atol=1e-9 * size(other))
        if found.shape == (n, n):
            np.testing.assert_allclose(found, turned(turned(found).T).T, rtol=0, atol=1e-9 * size(found))
    moved = adjoint.matrix.to_dense()
    np.testing.assert_allclose(moved, turned(turned(moved).T).T, rtol=0, atol=1e-12 * size(moved))


def test_problems_that_see_more_than_h_have_the_derivatives_of_m():
    """By a term, by its curvature, or by a constraint, though they are declared."""
    rng = np.random.default_rng(0)
    linear, trace = LinearTerm(hermitian_form(hermitian(rng, 4))), constraints.trace(8, 1.0)
    for terms, groups in (
        ([linear, LinearTerm(symmetric(rng, 8))], [trace]),
        ([linear, ProductTerm(np.eye(8), np.eye(8), 0.1)], [trace]),
        ([linear], [trace, constraints.entries([0], [0], 8, 0.3)]),
    ):
        problem = Constrained(TermSum(terms), groups)
        assert problem.hermitian
        adjoint, G, b = solve(problem, tol=1e-9).adjoint, symmetric(rng, 8), rng.standard_normal(problem.m)
        other = constraints.Constraint(problem.measurement, *2 * [problem.lower + 1e-5 * b])
        there = Adjoint(Constrained(TermSum(terms), other), adjoint.matrix, adjoint.multipliers)
        moved = there.matrix.to_dense() - adjoint.matrix.to_dense()
        assert np.sum(G * moved) / 1e-5 == pytest.approx(adjoint.vjp(G)["bounds"] @ b, rel=1e-3)


def test_a_declared_problem_with_pairs_of_minimisers_is_refused():
    """A diagonal of M, under which M and J M Jᵀ have one value."""
    C = hermitian_form(hermitian(np.random.default_rng(0), 4))
    with pytest.raises(NotDifferentiableError, match="not the only minimiser"):
        solve(Constrained(TermSum([LinearTerm(C)]), constraints.diagonal(8, 1.0)), tol=1e-9).vjp(np.eye(8))


def test_a_real_problem_with_equal_blocks_is_no_hermitian_one():
    """C may move to matrices of other blocks, so that no M of several minimisers moves smoothly."""
    C = embedded(hermitian(np.random.default_rng(0), 4))
    for form in (C, MatrixForm(C)):
        problem = Constrained(TermSum([LinearTerm(form)]), constraints.trace(8, 1.0))
        assert not problem.hermitian
        with pytest.raises(NotDifferentiableError, match="curvature of F on the factor vanishes"):
            solve(problem).vjp(np.eye(8))


def test_a_sum_is_hermitian_if_a_part_is():
    form = hermitian_form(hermitian(np.random.default_rng(0), 3))
    assert QuadraticSDP(C=[form, IdentityForm(6)]).hermitian
    assert not QuadraticSDP(C=np.eye(6)).hermitian
    group = constraints.hermitian_squares(complex_numbers(np.random.default_rng(0), 2, 3), 1.0)
    assert Constrained(QuadraticSDP(C=np.eye(6)), [constraints.trace(6, 1.0), group]).hermitian


def test_the_whole_of_a_part_is_the_nearest_one():
    rng = np.random.default_rng(0)
    W, X = rng.standard_normal((6, 2)), rng.standard_normal((6, 4))
    np.testing.assert_allclose(part(whole(W)), W)
    assert abs(np.sum((X - whole(part(X))) * whole(W))) <= 1e-12
    M = whole(W) @ whole(W).T
    np.testing.assert_allclose(M, turned(turned(M).T).T, atol=1e-14)
    np.testing.assert_allclose(seen(M), seen(W @ W.T), atol=1e-14)
    Z = LowRankPSD(hermitian_axes(LowRankPSD(np.hstack([W, W])))).hermitian()
    assert Z.shape == (3, 2)
    np.testing.assert_allclose(Z @ Z.conj().T, 2.0 * seen(W @ W.T), atol=1e-12)


def test_a_product_takes_half_of_the_columns():
    at = solved("phases with noise").adjoint._system.at
    counts = at.problem.counts()["operator_columns"]
    X = at.horizontal(np.random.default_rng(0).standard_normal(at.Y.shape))
    at.product(X)  # whose evaluation is made here
    before = at.problem.counts()["operator_columns"]
    found = at.product(X)
    assert at.problem.counts()["operator_columns"] - before <= at.Y.shape[1]
    np.testing.assert_allclose(found, at.slack @ X + at.evaluation.curvature_product(X), atol=1e-10 * size(found))
    assert before > counts


def test_a_count_of_an_outcome_that_cannot_be_has_no_derivative():
    """The state |0⟩, at which the other outcome was never seen: a first count moves it in one direction only."""
    result = solve(
        counts_problem(["Z", "X"], [[10, 0], [5, 5]]), FixedTrace(4, 4), TrustRegions(), escape=True, tol=1e-8
    )
    with pytest.raises(NotDifferentiableError):
        result.vjp(np.eye(4))
