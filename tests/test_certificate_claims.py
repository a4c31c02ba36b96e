"""What a certificate of given numbers says: its claims at, below and above each limit, and its rows."""

import inspect
import math
from collections import Counter
from dataclasses import MISSING, fields, replace
from pathlib import Path

import autograd.numpy as anp
import numpy as np
import pytest

import psdopt
from psdopt.certificates.certificate import DIGITS, Certificate
from psdopt.certificates.certify import certify
from psdopt.linalg.arrays import norm
from psdopt.linalg.tolerances import EPS
from psdopt_plugins.metric_learning import kta_problem, triplet_margin_problem
from psdopt_plugins.regression import psd_regression_problem
from tests.graphs import random_laplacian
from tests.instances import spectrum_matrix

BASE = Certificate(
    value=2.0, value_at_zero=10.0, trace=4.0, stationarity=0.3, smallest_eigenvalue=-0.25, lower_bound=-0.5,
    dual_infeasibility=0.5, complementarity=1.0, gap=None, stationarity_relative=0.02,
    dual_infeasibility_relative=0.03, complementarity_relative=0.04, gap_relative=None, convex=True, fixed_trace=None,
    eigenvector=np.ones(2), failure_probability=0.0, products=7, unit=8.0, decrease=0.0,
)  # fmt: skip
GAPPED = replace(BASE, gap=0.8, gap_relative=0.1)


def test_the_residual_is_the_largest():
    assert BASE.residual == 0.04
    assert replace(BASE, stationarity_relative=0.5).residual == 0.5
    assert replace(BASE, dual_infeasibility_relative=0.5).residual == 0.5
    assert replace(BASE, decrease=4.0).residual == 0.5
    assert replace(BASE, decrease=0.08).residual == 0.04
    assert BASE.omega == 0.25


def test_a_gap_decides_where_there_is_one():
    assert (BASE.relative, BASE.proof) == (0.04, "residuals")
    assert (GAPPED.relative, GAPPED.proof) == (0.1, "gap")


def test_a_gap_proves_up_to_its_own_size_and_only_of_a_convex_function():
    assert GAPPED.proves(0.1)
    assert GAPPED.proves(0.2)
    assert not GAPPED.proves(0.0999)
    assert not replace(GAPPED, convex=False).proves(1.0)
    assert not BASE.proves(1.0)
    assert not replace(GAPPED, gap=None).proves(1.0)
    assert not replace(GAPPED, gap=0.81).proves(0.1)


def test_a_gap_that_is_large_beside_the_value_proves_only_at_a_loose_tolerance():
    scaled = replace(BASE, gap=0.8, gap_relative=1e-6, value_scale=40.0, unit=1e6)
    assert scaled.proves(1e-3) is (DIGITS * 40.0 >= 0.8)
    assert replace(scaled, gap=DIGITS * 40.0).proves(1e-3)
    assert not replace(scaled, gap=1.01 * DIGITS * 40.0).proves(1e-3)
    assert replace(scaled, gap=1.01 * DIGITS * 40.0).proves(1.02 * DIGITS)


def rule_of_the_page():
    """`is_optimal` as the page on results states it."""
    page = (Path(__file__).parents[1] / "docs" / "guide" / "results.md").read_text(encoding="utf-8")
    blocks = [block for block in page.split("```") if "def is_optimal" in block]
    assert len(blocks) == 1
    lines = [line[4:] for line in blocks[0].splitlines() if line.startswith(("... ", ">>> def"))]
    found = {}
    exec("\n".join(lines), found)  # the page's own words are the test
    return found["is_optimal"]


def certificates():
    """Certificates on every set, of good and of bad matrices."""
    rng = np.random.default_rng(0)
    for n in (2, 5):
        A = rng.standard_normal((n, n))
        problem = psdopt.QuadraticSDP(None, 1.0, A + A.T)
        fit = psdopt.AutogradProblem(lambda M, B=A @ A.T: anp.sum((M - B) ** 2), n, convex=True)
        bounded = psdopt.Constrained(problem, psdopt.constraints.trace(n, 1.0))
        for Y in (np.eye(n), A, A[:, :1], np.zeros((n, 1))):
            yield certify(problem, Y)
            yield certify(fit, Y)
            yield certify(bounded, Y)
            if norm(Y) > 0.0:
                yield certify(problem, Y / norm(Y), trace=1.0)
                yield certify(fit, Y / norm(A), trace=(norm(Y) / norm(A)) ** 2)
        yield from (psdopt.solve(each, max_iterations=50).certificate for each in (problem, fit, bounded))
        for each in (problem, fit):
            yield psdopt.solve(each, psdopt.Spectraplex(n), max_iterations=50).certificate
            yield psdopt.solve(each, psdopt.PositiveDefinite(n), max_iterations=50).certificate
    yield certify(offset_problem(1e4), tilted(1e-3), trace=1.0)


def test_what_the_page_calls_optimal_is_what_proves():
    rule, told = rule_of_the_page(), Counter()
    for certificate in certificates():
        for tol in (1e-10, 1e-6, 1e-3, 0.1):
            assert rule(certificate, tol) is certificate.proves(tol), certificate
            told[certificate.proves(tol), certificate.constraints is None, certificate.fixed_trace is None] += 1
    assert len(told) == 6  # proofs and others, on the cone, at a fixed trace and under constraints


def offset_problem(offset):
    """Targets for classes from two features with a common offset, as years or wavelengths have.

    F varies over the set by offset⁴, and is between 4.2 and 4.4 at its minimum.
    """
    X = np.random.default_rng(0).standard_normal((10, 2)) + offset
    return kta_problem(X, np.arange(10) % 2, 0.1, regularizer="trace")


def tilted(angle):
    """A unit factor across the offset, but for this angle."""
    Z = np.array([[1.0], [-1.0]]) + angle
    return Z / norm(Z)


@pytest.mark.parametrize("offset", [1e2, 1e4, 1e6])
def test_at_a_fixed_trace_a_gap_far_above_the_value_is_no_proof(offset):
    problem = offset_problem(offset)
    poor = certify(problem, tilted(10.0 / offset), trace=1.0)
    assert poor.value > 1e3
    assert poor.gap_relative < 1e-3
    assert poor.gap > poor.value
    assert not poor.proves(1e-3)
    methods = (
        psdopt.ConjugateGradient(),
        psdopt.TrustRegions(),
        psdopt.ConjugateGradient("none"),
    )
    found = [
        *(psdopt.solve(problem, psdopt.FixedTrace(2, 2), method) for method in methods),
        psdopt.solve(problem, psdopt.Spectraplex(2)),
    ]
    assert sum(result.optimal for result in found) >= 2
    for result in found:
        if result.optimal:
            assert 4.2 < result.value < 4.4
        else:
            assert "where" in result.message


def test_a_noise_free_fit_at_a_fixed_trace_is_proven_to_rounding():
    """min F = 0, and F >= 0 is known: F(M) is then the gap, and it is proven down to the rounding of F."""
    rng = np.random.default_rng(0)
    X, A = rng.standard_normal((60, 6)), rng.standard_normal((6, 2)) / 4.0
    A /= norm(A)
    result = psdopt.solve(psd_regression_problem(X, np.sum((X @ A) ** 2, axis=1)), psdopt.Spectraplex(6))
    assert result.optimal
    assert result.value <= result.certificate.rounding <= 1e-24


SINGULAR = {
    "diagonal": np.diag([1.0, 0.0]),
    "two zeros": np.diag([0.0, 0.0, 3.0]),
    "rotated": spectrum_matrix(np.random.default_rng(0), 4, [0.0, 1.0, 2.0, 3.0]),
    "wide": spectrum_matrix(np.random.default_rng(0), 3, [0.0, 1.0, 1e6]),
    "graph": random_laplacian(7).toarray(),
    "larger graph": random_laplacian(40).toarray(),
}


@pytest.mark.parametrize("C", SINGULAR.values(), ids=list(SINGULAR))
@pytest.mark.parametrize(("unit", "trace"), [(1.0, 1.0), (1e10, 1e-3), (1e-10, 1e5)])
def test_a_least_eigenvalue_of_zero_is_proven(C, unit, trace):
    """min ⟨C, M⟩ = 0 at a fixed trace: F(M) has no digits, and its bound is known up to the rounding of t λ_min."""
    n, problem = len(C), psdopt.QuadraticSDP(C=unit * C)
    for geometry in (psdopt.Spectraplex(n, trace), psdopt.FixedTrace(n, min(n, 3), trace)):
        result = psdopt.solve(problem, geometry)
        assert result.optimal, (geometry, result.message)
        assert result.certificate.gap <= 1e-10 * unit * trace * np.abs(C).max()


def test_a_zero_by_accident_is_proven_to_the_rounding_of_its_bound_only():
    """F(M) = 0 where min F = −2e-9: no digit of F(M) is asked for, and M is not optimal."""
    problem = psdopt.QuadraticSDP(C=np.diag([1.0, 0.0, -1e-9]))
    certificate = certify(problem, np.array([[0.0], [1.0], [0.0]]), trace=1.0)
    assert certificate.value == 0.0
    assert certificate.gap == pytest.approx(2e-9, rel=1e-3)
    assert not certificate.proves(1e-6)


@pytest.mark.parametrize("field", [1e2, 1e5, 1e8])
def test_margins_of_a_large_field_keep_two_digits(field):
    """A margin of 0.1 where 4 is possible is not optimal, whatever the numbers of a field that no good metric uses."""
    problem = triplet_margin_problem(np.array([[0.0, 0.0], [field, 1.0], [0.0, 2.0]]), [[0, 1, 2]])
    poor = np.array([[0.975 / field], [1.0]])
    certificate = certify(problem, poor / norm(poor), trace=1.0)
    assert certificate.value == pytest.approx(-0.1, rel=0.02)
    assert certificate.gap > 3.8
    assert not certificate.proves(1e-6)
    best = psdopt.solve(problem, psdopt.Spectraplex(2))
    assert best.value == pytest.approx(-4.0, rel=0.02) or not best.optimal


def test_a_gap_within_the_rounding_is_a_proof():
    resolved = replace(BASE, gap=1e-3, gap_relative=1e-3 / 8.0, value_scale=0.0)
    assert resolved.allowed(0.1) == 0.0
    assert not resolved.proves(0.1)
    assert replace(resolved, rounding=1e-3).proves(0.1)
    assert not replace(resolved, rounding=0.999e-3).proves(0.1)


def test_the_target_is_the_relative_gap_that_is_a_proof():
    assert BASE.target(1e-3) == 1e-3
    assert replace(BASE, value_scale=1e-4).target(1e-3) == pytest.approx(DIGITS * 1e-4 / 8.0)
    assert replace(BASE, value_scale=1e-4, rounding=4e-6).target(1e-3) == pytest.approx(4e-6 / 8.0)
    assert replace(BASE, rounding=1.0).target(1e-3) == 1e-3
    assert replace(BASE, unit=0.0).target(1e-3) == 1e-3


def test_how_far_a_matrix_is_best():
    """R = (tol · unit − |⟨S, M⟩|) / max(0, −λ): the trace up to which nothing is better by more than tol · unit."""
    assert BASE.reach(0.5) == (0.5 * 8.0 - 1.0) / 0.5
    assert BASE.reach(0.125) == 0.0  # tol · unit = |⟨S, M⟩|
    assert BASE.reach(0.1) == 0.0
    assert replace(BASE, dual_infeasibility=0.0).reach(0.5) == math.inf
    assert replace(BASE, dual_infeasibility=0.0).reach(0.125) == math.inf
    assert replace(BASE, dual_infeasibility=0.0).reach(0.1) == 0.0
    assert replace(BASE, convex=False).reach(0.5) == 0.0
    assert replace(BASE, fixed_trace=4.0).reach(0.5) == 0.0
    assert GAPPED.reach(0.1) == math.inf


def test_holding_within_a_reach_needs_every_condition():
    """reach(0.375) = (3 − 1) / 0.5 = 4 = tr M."""
    assert BASE.holds_within(0.375)
    assert BASE.holds_within(0.5)
    assert not BASE.holds_within(0.374)
    assert not replace(BASE, trace=4.01).holds_within(0.375)
    assert not replace(BASE, trace=0.0).holds_within(0.375)
    assert not replace(BASE, convex=False, gap=0.0, gap_relative=0.0).holds_within(0.375)
    assert replace(BASE, stationarity_relative=0.375).holds_within(0.375)
    assert not replace(BASE, stationarity_relative=0.376).holds_within(0.375)
    assert not replace(BASE, decrease=3.1).holds_within(0.375)
    assert not replace(BASE, value=10.1).holds_within(0.375)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e12])
def test_what_is_above_zero_is_so_beyond_rounding(size):
    """F(M) > F(0) on the cone; a difference of some ulps is none, and at a fixed trace M = 0 is not in the set."""
    for value, zero, expected in ((2.0, 1.0, True), (1.0, 2.0, False), (1.0, 1.0, False), (-1.0, -2.0, True)):
        assert replace(BASE, value=size * value, value_at_zero=size * zero).above_zero is expected
        assert not replace(BASE, value=size * value, value_at_zero=size * zero, fixed_trace=1.0).above_zero
    assert not replace(BASE, value=size * (1.0 + EPS), value_at_zero=size).above_zero
    assert not replace(BASE, value=size, value_at_zero=size * (1.0 - EPS)).above_zero
    assert replace(BASE, value=size * (1.0 + 1e-6), value_at_zero=size).above_zero
    assert replace(BASE, value=size * 1.0, value_at_zero=0.0).above_zero
    above = replace(BASE, value=2.0, value_at_zero=1.0)
    assert above.residual == math.inf
    assert above.rows()[-1][1:] == (1.0, math.inf)


def test_rows_name_what_decides():
    names = [name for name, _, _ in BASE.rows()]
    assert [name.endswith("(decides)") for name in names] == [True] * 3
    assert [row[1:] for row in BASE.rows()] == [(0.3, 0.02), (0.5, 0.03), (1.0, 0.04)]
    both = replace(GAPPED, decrease=4.0)
    assert [name.endswith("(decides)") for name, _, _ in both.rows()] == [False, False, False, True, False]
    assert both.rows()[3][1:] == (0.8, 0.1)
    assert both.rows()[4][1:] == (4.0, 0.5)


def test_plain_numbers():
    plain = replace(BASE, descent=np.ones(2)).as_dict()
    assert "eigenvector" not in plain
    assert "descent" not in plain
    assert (plain["omega"], plain["relative"], plain["proof"]) == (0.25, 0.04, "residuals")
    assert (plain["value"], plain["products"]) == (2.0, 7)


def test_what_a_certificate_says_where_nothing_was_measured():
    required = {field.name: getattr(BASE, field.name) for field in fields(Certificate) if field.default is MISSING}
    bare = Certificate(**required)
    assert (bare.decrease, bare.shortfall, bare.value_scale) == (0.0, 0.0, math.inf)
    assert bare.dual_value is bare.descent is None
    assert math.isnan(bare.unit)
    assert bare.provable
    assert len(replace(BASE, decrease=0.5).rows()) == len(BASE.rows()) + 1


def test_a_certificate_by_itself_decides_at_the_tolerance_of_a_run():
    own, of_runs = (inspect.signature(function).parameters for function in (certify, psdopt.solve))
    assert own["tol"].default == of_runs["tol"].default == 1e-6
