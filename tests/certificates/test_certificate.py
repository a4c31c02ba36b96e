"""Certificates: what they claim is recomputed densely, and objects that look optimal but are not are rejected."""

import math
from dataclasses import replace

import autograd.numpy as anp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt import Ability, Atom, AutogradProblem, LowRankPSD, QuadraticSDP, TermSum, certify, solve
from psdopt.contracts.roles import Duality
from psdopt.geometries import FlatQuotient, PSDCone, Spectraplex
from psdopt.linalg.tolerances import EPS
from psdopt.methods import BILGO, ConjugateGradient, FrankWolfe, ProjectedGradient
from psdopt.terms import Entries, LeastSquares, LinearTerm, MeasuredTerm, ProductTerm
from psdopt_plugins.kernel_learning.pairwise_problem import pairwise_kernel_problem
from psdopt_plugins.manifold_learning.mvu_problem import mvu_problem
from psdopt_plugins.regression import psd_regression_problem
from tests.instances import INSTANCES, N, symmetric


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(INSTANCES)), st.integers(1, N), st.integers(0, 2**31), st.floats(-3, 3))
def test_every_number_equals_its_dense_twin(name, r, seed, log_scale):
    rng = np.random.default_rng(seed)
    instance = INSTANCES[name](rng)
    Y = 10.0**log_scale * rng.standard_normal((N, r))
    certificate = certify(instance.problem, Y)
    M = Y @ Y.T
    S = instance.twin.dense_gradient(M)
    size = np.linalg.norm(S, 2)
    allowed = 1e4 * EPS * max(size, np.linalg.norm(instance.twin.dense_gradient(np.zeros((N, N))), 2))
    smallest = np.linalg.eigvalsh(S)[0]
    assert certificate.lower_bound <= smallest + allowed
    assert certificate.smallest_eigenvalue == pytest.approx(smallest, abs=allowed)
    assert certificate.dual_infeasibility >= max(0.0, -smallest) - allowed
    assert certificate.omega == -certificate.smallest_eigenvalue
    assert certificate.trace == pytest.approx(np.trace(M), rel=1e3 * EPS)
    assert certificate.stationarity == pytest.approx(np.linalg.norm(S @ Y), abs=allowed * np.linalg.norm(Y))
    assert certificate.complementarity == pytest.approx(abs(np.vdot(S, M)), abs=allowed * np.linalg.norm(Y) ** 2)
    v = certificate.eigenvector
    assert np.linalg.norm(v) == pytest.approx(1.0)
    assert v @ S @ v == pytest.approx(smallest, abs=allowed)
    decrease = instance.twin.at(np.zeros((N, 1))).value - instance.twin.at(Y).value
    assert certificate.value_at_zero - certificate.value == pytest.approx(
        decrease, abs=allowed * np.trace(M) + 1e4 * EPS * abs(certificate.value)
    )
    quarter = instance.twin.at(0.5 * Y).value
    unit = max(min(decrease, 4.0 * (quarter - instance.twin.at(Y).value)), 0.0)
    assert certificate.unit == pytest.approx(unit, abs=allowed * np.trace(M) + 1e4 * EPS * abs(certificate.value))
    if unit > 1e-6 * abs(certificate.value):
        assert certificate.complementarity_relative == pytest.approx(abs(np.vdot(S, M)) / unit, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("name", sorted(INSTANCES))
@pytest.mark.parametrize("columns", [2, N])
def test_a_certificate_that_is_gone_on_from_equals_the_whole_one(name, columns):
    problem = INSTANCES[name](np.random.default_rng(0)).problem
    here = solve(problem, FlatQuotient(N, columns), ConjugateGradient(), tol=1e-2, max_iterations=30).state.evaluation
    for tol in (1e-6, 0.5):
        whole, begun = certify(problem, here, tol=tol), certify(problem, here, tol=tol, proof="needed", tried=0.0)
        both = certify(problem, here, tol=tol, begun=begun)
        assert both.as_dict() == whole.as_dict()
        assert np.array_equal(both.eigenvector, whole.eigenvector)
    other = problem.at(1.5 * here.factor)
    assert certify(problem, other, begun=begun).as_dict() == certify(problem, other).as_dict()


def test_it_accepts_matrices_in_every_form_and_recomputes_images():
    instance = INSTANCES["qsdp-dense"](np.random.default_rng(0))
    Y = np.random.default_rng(1).standard_normal((N, 2))
    here = instance.problem.at(Y)
    forms = [certify(instance.problem, form) for form in (Y, LowRankPSD(Y), here)]
    assert forms[0].as_dict() == forms[1].as_dict() == forms[2].as_dict()
    # an evaluation whose images were tampered with does not get its lie certified
    here.factor_gradient()
    here.images._arrays = {key: 0.0 * Z for key, Z in here.images._arrays.items()}
    here._factor_gradient = np.zeros_like(Y)
    assert certify(instance.problem, here).stationarity == pytest.approx(forms[0].stationarity)


def test_each_residual_alone_does_not_prove():
    """S M = 0 without S ⪰ 0, and S ⪰ 0 without S M = 0: both are rejected, each by its own residual."""
    problem = QuadraticSDP(None, 1.0, np.diag([-1.0, -2.0, 1.0]))  # optimum diag(1, 2, 0)
    stationary = certify(problem, np.diag([1.0, 0.0, 0.0])[:, :1])
    assert stationary.stationarity <= 64 * EPS
    assert stationary.complementarity <= 64 * EPS
    assert stationary.dual_infeasibility == pytest.approx(4.0)
    assert not stationary.proves(0.5)
    feasible = certify(problem, np.diag([2.0, 2.0, 0.0])[:, :2])
    assert feasible.dual_infeasibility == 0.0
    assert feasible.complementarity > 1.0
    assert not feasible.proves(1e-2)
    optimum = certify(problem, np.diag([1.0, np.sqrt(2.0), 0.0])[:, :2])
    assert optimum.proves(1e-10)
    assert optimum.relative <= 1e-12


def test_zero_matrix():
    assert certify(QuadraticSDP(None, 1.0, np.eye(3)), np.zeros((3, 1))).proves(1e-10)
    wrong = certify(QuadraticSDP(None, 1.0, np.diag([1.0, -1e-3, 1.0])), np.zeros((3, 1)))
    assert wrong.stationarity == 0.0
    assert not wrong.proves(1e-4)


@pytest.mark.parametrize("s", [2.0**-40, 1.0, 2.0**40])
def test_a_gap_at_the_zero_matrix_is_measured_in_no_unit_of_the_gradient(s):
    """F(0) − F(M) is nothing there: a bound on the gap that is above 0 must not pass for small next to |∇F(0)|."""
    problem = mvu_problem(sp.csr_array(s * (np.ones((5, 5)) - np.eye(5))), nu=0.1 * s)
    wrong = certify(problem, np.zeros((5, 1)))
    assert wrong.value_at_zero - problem.at(np.sqrt(s) * np.eye(5)).value > 0.0  # zero is not optimal
    assert wrong.dual_value is not None
    assert wrong.gap > 0.0
    assert not wrong.proves(0.5)
    base = certify(mvu_problem(sp.csr_array(np.ones((5, 5)) - np.eye(5)), nu=0.1), np.zeros((5, 1)))
    assert wrong.relative == pytest.approx(base.relative, rel=1e-6)


def test_what_is_worse_than_zero_is_never_optimal():
    """F is flat along eeᵀ: with enough of it |S Y| and ⟨S, M⟩ are small next to |∇F(0)| tr M, and S ⪰ 0, at a point
    where all distances are too long."""
    n = 6
    i, j = np.triu_indices(n, 1)
    problem = psd_regression_problem(None, 1.0, np.column_stack([i, j]), n=n)
    Y = np.hstack([3.0 * np.eye(n), 1e9 * np.ones((n, 1))])
    wrong = certify(problem, Y)
    assert wrong.value > 2.0 * wrong.value_at_zero
    assert wrong.above_zero
    assert wrong.relative == np.inf
    assert not wrong.proves(0.5)
    right = certify(problem, np.hstack([np.sqrt(0.5) * np.eye(n), 1e3 * np.ones((n, 1))]))
    assert not right.above_zero
    assert right.proves(1e-6)
    assert wrong.rows()[-1][0] not in [row[0] for row in right.rows()]
    assert wrong.rows()[-1] == ("F(M) - F(0): M = 0 is better", wrong.value - wrong.value_at_zero, np.inf)
    tie = certify(QuadraticSDP(C=np.diag([1.0, 0.0])), np.array([[0.0], [1.0]]))  # F = 0 there as well as at 0
    assert not tie.above_zero
    assert tie.proves(1e-9)


def test_a_unit_of_values_is_none_for_eigenvalues():
    """With a value unit of its own a problem at M = 0 still has |∇F(0)| for S: here λ_min(S) is half of it below 0."""

    class Unit(Duality):
        def value_unit(self, value, trace):
            return 1e12

    class Valued(QuadraticSDP):
        duality = Unit()

    wrong = certify(Valued(None, 1.0, np.diag([2.0, -1.0, 2.0])), np.zeros((3, 1)))
    assert wrong.dual_infeasibility_relative == pytest.approx(0.5, rel=0.3)
    assert not wrong.proves(1e-2)


# ------------------------------------------------------------------------------------------ instances made to mislead


class Untrue(Duality):
    """Hooks that answer whatever makes a certificate hold."""

    def value_unit(self, value, trace):
        return 1e12

    def smallest_eigenpair(self, evaluation, S, **options):
        found = super().smallest_eigenpair(evaluation, S, **options)
        return replace(found, values=np.zeros(1), lower_bound=0.0)


@pytest.mark.parametrize("n", [4, 600])
def test_hooks_that_lie_prove_nothing(n):
    class Lying(QuadraticSDP):
        duality = Untrue()

        def value_at_zero(self):
            return 1e12

    C = np.r_[-1.0, -2.0, np.ones(n - 2)]
    problem = Lying(None, 1.0, np.diag(C))
    poor = certify(problem, np.eye(n)[:, :1])  # F = -1, the optimum is -5
    assert not poor.proves(1e-2)
    assert not poor.holds_within(1e-2)


@pytest.mark.parametrize("scale", [1.0, 1e7, 1e12])
def test_zero_is_not_optimal_where_one_direction_goes_down_however_steep_the_others_rise(scale):
    """D2: |∇F(0)| is no unit; the run steps to the optimum −1, at which M has a single nonzero entry."""
    problem = QuadraticSDP(B=1.0, C=np.diag([scale, -1.0]))
    zero = certify(problem, np.zeros((2, 1)))
    assert not zero.proves(0.5)
    assert zero.decrease == pytest.approx(1.0)
    for geometry, method in ((None, None), (PSDCone(2), BILGO()), (FlatQuotient(2, 2), ConjugateGradient())):
        assert solve(problem, geometry, method).value == pytest.approx(-1.0, rel=1e-5)


def test_a_matrix_off_the_fixed_trace_proves_nothing():
    """F falls with the trace, so that ⟨S, M⟩ − t λ_min(S) is negative for a smaller M: no gap, but no member either."""
    problem = QuadraticSDP(None, 1.0, np.diag([0.5, 1.0]))
    optimum = certify(problem, np.sqrt(np.diag([0.75, 0.25])), trace=1.0)
    assert optimum.proves(1e-9)
    for share in (0.99, 1.0 - 1e-9, 1.0 + 1e-9, 1.01):
        off = certify(problem, math.sqrt(share) * np.sqrt(np.diag([0.75, 0.25])), trace=1.0)
        assert off.gap is None
        assert not off.proves(0.5)


def test_a_gradient_of_zero_diagonal_is_not_taken_for_semidefinite():
    """M₁₂ alone is fitted, to −1: ∇F(0) has eigenvalues ±1 and a zero diagonal; `optimal` was said there."""
    problem = TermSum([MeasuredTerm(Entries([0], [1], 2), LeastSquares([-1.0]))])
    assert not certify(problem, np.zeros((2, 1)), tol=1e-3).proves(1e-3)


@pytest.mark.parametrize("far", [1e4, 1e10])
def test_an_optimum_of_much_larger_trace_is_not_missed(far):
    """D3: residuals per unit of tr M vanish at diag(1, 0), yet F falls by 2e-7 far along e₂."""
    problem = QuadraticSDP(B=np.diag([1.0, 2e-7 / far]), C=np.diag([-1.0, -2e-7]))
    near = certify(problem, np.eye(2)[:, :1])
    assert not near.proves(1e-6)
    if far > 1e9:
        assert near.decrease > 1e3
        for start in (None, LowRankPSD(np.eye(2)[:, :1])):
            assert solve(problem, start=start).value == pytest.approx(-1.0 - 2e-7 * far, rel=1e-5)


@pytest.mark.parametrize("floor", [0.0, 1e-9, 1e-6])
@pytest.mark.parametrize("method", [FrankWolfe(), ProjectedGradient()])
def test_a_barrier_makes_no_point_optimal(floor, method):
    """D1: F(0) = ∞, or nearly: min Σ 1/m_ii + tr M over the spectraplex is 10, at I/3."""
    problem = AutogradProblem(lambda M: anp.sum(1.0 / (anp.diag(M) + floor)) + anp.trace(M), 3, convex=True)
    random = np.random.default_rng(0).standard_normal((3, 3))
    assert not certify(problem, random).proves(1e-3)
    assert not certify(problem, random / np.linalg.norm(random), trace=1.0).proves(1e-3)
    result = solve(problem, Spectraplex(3), method, max_iterations=500)
    assert result.optimal
    assert result.value == pytest.approx(10.0, rel=1e-4)


@pytest.mark.parametrize("c", [-1e6, 1e4])
def test_what_vanishes_on_a_fixed_trace_proves_nothing_there(c):
    """D4: c (tr M − 1) is zero on the set; the unit does not see it."""
    rng = np.random.default_rng(3)
    K = symmetric(rng)
    plain = TermSum([ProductTerm(np.eye(N), np.eye(N)), LinearTerm(K)])
    shifted = TermSum([ProductTerm(np.eye(N), np.eye(N)), LinearTerm(K), LinearTerm(np.eye(N), c)], constant=-c)
    Y = solve(plain, Spectraplex(N), ProjectedGradient(), max_iterations=3, tol=1e-9).point
    here, there = certify(plain, Y, trace=1.0), certify(shifted, Y, trace=1.0)
    assert here.unit > 0.0
    rounding = 64 * np.finfo(float).eps * abs(c)  # of the terms c tr M and −c, which cancel
    assert there.unit == pytest.approx(here.unit, rel=1e-6, abs=rounding)
    assert there.gap_relative == pytest.approx(here.gap_relative, rel=1e-6, abs=rounding / here.unit)
    best = solve(plain, Spectraplex(N), tol=1e-8)
    for method in (FrankWolfe(), ProjectedGradient()):
        result = solve(shifted, Spectraplex(N), method, tol=1e-6, max_iterations=300)
        assert not result.optimal or result.value - best.value <= 1e-5 * here.unit


@pytest.mark.parametrize("gamma", [*np.random.default_rng(1).uniform(1e-3, 1e-2, 12), 0.0017183001465630513])
def test_an_exact_fit_is_never_called_unbounded(gamma):
    """D6: a sum of squares at its minimum 0."""
    problem = pairwise_kernel_problem(sp.csr_array((2, 2)), [[0, 1]], [0.0], float(gamma))
    result = solve(problem, FlatQuotient(2, 1), ConjugateGradient(), tol=1e-8, escape=True)
    assert result.optimal
    assert result.value == pytest.approx(0.0, abs=1e-9 * gamma)


class Halved(PSDCone):
    """tr M <= 1, which no attribute says: its linear oracle does."""

    def __init__(self, n):
        super().__init__(n)
        self.abilities = frozenset({Ability.LINEAR_ORACLE, Ability.PROJECTION})

    def minimize_linear(self, S, tol, warm_start=None):
        atom = super().minimize_linear(S, tol, warm_start)
        return atom if atom.value < 0.0 else Atom(0.0 * atom.vector, 0.0, 0.0, atom.products)


def test_the_linear_oracle_of_a_set_of_ones_own_gives_its_gap():
    problem = QuadraticSDP(None, 1.0, np.diag([-3.0, -1.0, 2.0]))  # least at diag(1, 0, 0) where tr M <= 1
    optimum = certify(problem, np.eye(3)[:, :1], geometry=Halved(3))
    assert optimum.gap == pytest.approx(0.0, abs=1e-12)
    assert optimum.proves(1e-9)
    assert not certify(problem, np.eye(3)[:, :1]).proves(0.1)  # on the whole cone it is not
    poor = certify(problem, np.eye(3)[:, 1:2], geometry=Halved(3))
    assert poor.gap >= problem.at(np.eye(3)[:, 1:2]).value - problem.at(np.eye(3)[:, :1]).value
    assert not poor.proves(0.1)
