"""F as multipliers see it: recognised for what it is, its gradient and arcs against direct evaluation."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Ability, EntryFit, QuadraticSDP, TermSum
from psdopt.linalg.operators import LinearMap, symmetric_map
from psdopt.linalg.tolerances import EPS
from psdopt.problems import lagrange_system
from psdopt.problems.lagrange_system import LagrangeSystem
from psdopt.terms.bases import DistanceBasis
from psdopt.terms.forms import GramForm, IdentityForm, MatrixForm
from psdopt.terms.losses import HalfSquaredOneSided, LeastSquares, Linear, SquaredHinge
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import Entries, PairDistances, QuadraticForms, TripletDifferences
from psdopt.terms.quadratic import LinearTerm, ProductTerm

N = 9


def symmetric(rng, n=N):
    A = rng.standard_normal((n, n))
    return A + A.T


def entries(rng):
    i, j = np.triu_indices(N)
    chosen = rng.choice(len(i), 14, replace=False)
    L = sp.csr_array(symmetric(rng))
    return EntryFit(L, i[chosen], j[chosen], rng.standard_normal(14), rng.uniform(0.5, 2.0, 14), constant=3.0)


def with_diagonal(rng):
    """The whole diagonal is among the entries: the system is made for distances."""
    i, j = np.triu_indices(N, 1)
    chosen = rng.choice(len(i), 11, replace=False)
    order = rng.permutation(N + 11)
    i, j = (np.concatenate([np.arange(N), ends[chosen]])[order] for ends in (i, j))
    problem = EntryFit(symmetric(rng), i, j, rng.standard_normal(N + 11), rng.uniform(0.5, 2.0, N + 11))
    assert isinstance(problem.quadratic_fit.basis, DistanceBasis)
    return problem


def forms(rng):
    X = LinearMap(rng.standard_normal((12, N)))
    loss = HalfSquaredOneSided(rng.standard_normal(12), 0.0, rng.uniform(0.5, 2.0, 12))
    return TermSum(
        [LinearTerm(GramForm(X), 0.3), MeasuredTerm(QuadraticForms(X), loss, 2.0), LinearTerm(IdentityForm(N))]
    )


def distances(rng):
    return TermSum([MeasuredTerm(PairDistances([0, 3, 5, 1], [1, 4, 2, 8], n=N), LeastSquares([1.0, 2.0, 0.5, 3.0]))])


def triplets(rng):
    C = LinearTerm(MatrixForm(symmetric_map(symmetric(rng), "C", N)), -0.5)
    measurement = TripletDifferences([0, 3, 5], [1, 4, 2], [7, 8, 6], n=N)
    return TermSum([C, MeasuredTerm(measurement, LeastSquares(1.0, 0.7))])


FITS = [entries, with_diagonal, forms, distances, triplets]


@pytest.mark.parametrize("kind", FITS)
def test_gradient_at_the_multipliers_of_a_point_is_that_of_the_problem(kind):
    rng = np.random.default_rng(1)
    problem = kind(rng)
    fit = problem.quadratic_fit
    assert fit is not None
    assert Ability.QUADRATIC_FIT in problem.abilities
    evaluation = problem.at(rng.standard_normal((N, 3)))
    S = fit.gradient(fit.multipliers(evaluation.feature(fit.position)))
    expected = evaluation.gradient @ np.eye(N)
    np.testing.assert_allclose(S, expected, rtol=0, atol=1e3 * EPS * np.abs(expected).max())
    again = fit.gradient(np.zeros(fit.size))
    S[:] = np.nan  # what is handed out is the caller's own
    np.testing.assert_array_equal(fit.gradient(np.zeros(fit.size)), again)


@pytest.mark.parametrize("kind", FITS)
def test_an_arc_equals_direct_evaluation(kind):
    rng = np.random.default_rng(2)
    problem = kind(rng)
    fit = problem.quadratic_fit
    Y, X, Z = rng.standard_normal((3, N, 4))
    here, X_, Z_ = problem.at(Y), fit.images(X), fit.images(Z)
    pair = fit.measurement.pair
    known = 2.0 * pair(here.images, X_), pair(X_, X_) + 2.0 * pair(here.images, Z_)
    slope = np.vdot(here.factor_gradient(), X)
    p = fit.along_arc(here.feature(fit.position), known, slope, here.images, X_, Z_)
    assert len(p) == 9
    assert p[0] == 0.0
    for mu in (-0.7, 0.3, 1.0, 2.5):
        direct = problem.at(Y + mu * X + mu**2 * Z).value
        terms = [abs(c * mu**k) for k, c in enumerate(p)]
        assert np.polyval(p[::-1], mu) + here.value == pytest.approx(direct, rel=0, abs=1e3 * EPS * max(terms))


def nothing_else(rng):
    measured = MeasuredTerm(Entries([0, 1], [1, 1], N), LeastSquares(1.0))
    identity = IdentityForm(N)

    class Uncoupled(Entries):
        couples = False

    return {
        "a quadratic form": QuadraticSDP(A=np.eye(N), C=np.eye(N)),
        "no loss": TermSum([LinearTerm(identity)]),
        "two losses": TermSum([measured, MeasuredTerm(Entries([2], [2], N), LeastSquares(0.0))]),
        "another term": TermSum([measured, ProductTerm(identity, identity)]),
        "a linear loss": TermSum([MeasuredTerm(Entries([0], [1], N), Linear())]),
        "a hinge": TermSum([MeasuredTerm(Entries([0], [1], N), SquaredHinge())]),
        "a bound": TermSum([MeasuredTerm(Entries([0], [1], N), HalfSquaredOneSided(1.0, 1.0))]),
        "a weight of zero": TermSum([MeasuredTerm(Entries([0, 1], [1, 2], N), LeastSquares(0.0, [1.0, 0.0]))]),
        "a concave loss": TermSum([MeasuredTerm(Entries([0], [1], N), LeastSquares(0.0), -1.0)]),
        "no coupling": TermSum([MeasuredTerm(Uncoupled([0], [1], N), LeastSquares(0.0))]),
    }


@pytest.mark.parametrize("name", nothing_else(np.random.default_rng(0)))
def test_what_is_no_quadratic_fit_does_not_pass_for_one(name):
    problem = nothing_else(np.random.default_rng(0))[name]
    assert problem.quadratic_fit is None
    assert Ability.QUADRATIC_FIT not in problem.abilities


def test_a_pickle_holds_no_workspace():
    problem = entries(np.random.default_rng(0))
    before = len(pickle.dumps(problem))
    fit = problem.quadratic_fit
    fit.take_back(fit.lend())
    S = fit.gradient(np.ones(fit.size))
    assert len(pickle.dumps(problem)) - before < 8 * min(N**2, fit.size**2)  # indices of the entries at most
    twin = pickle.loads(pickle.dumps(problem)).quadratic_fit
    np.testing.assert_array_equal(twin.gradient(np.ones(fit.size)), S)


def dense(measurement, w):
    """Σ w_t A_t from the measurement's own answers to unit vectors."""
    from psdopt.images import Images
    from psdopt.terms.base import combine

    return combine(measurement.adjoint(w, Images(measurement.maps, np.eye(N))), (N, N))


@pytest.mark.parametrize("kind", FITS)
@pytest.mark.parametrize("damping", [1e-3, 10.0])
@pytest.mark.parametrize("spectrum", [0, N])
def test_the_system_solves_the_linearised_conditions(kind, damping, spectrum, monkeypatch):
    monkeypatch.setattr(lagrange_system, "SPECTRUM", spectrum)
    rng = np.random.default_rng(3)
    problem = kind(rng)
    fit = problem.quadratic_fit
    here, w = problem.at(rng.standard_normal((N, 3))), rng.standard_normal(fit.size)
    Y, own, pair = here.images, fit.multipliers(here.feature(fit.position)), fit.measurement.pair
    system = LagrangeSystem(fit, Y, w, damping)
    S = fit.gradient(w)
    lowest = np.linalg.eigvalsh(S)[0]
    assert system.delta >= damping
    assert system.delta >= -lowest
    assert (system.delta == damping) == (lowest + damping > 0.0)  # raised where it has to be, and only there
    shifted = S + system.delta * np.eye(N)
    condition = np.linalg.cond(shifted)
    X, predicted = system.newton(w, own)
    v = predicted - w
    size = np.linalg.norm(S) * np.linalg.norm(Y.factor) + np.abs(v).sum() * np.linalg.norm(Y.factor)
    pulled = shifted @ X + dense(fit.measurement, v) @ Y.factor
    np.testing.assert_allclose(pulled, -S @ Y.factor, rtol=0, atol=64 * N * EPS * condition * size)
    rates = 2.0 * pair(Y, fit.images(X))
    np.testing.assert_allclose(
        v, own - w + fit.curvatures * rates, rtol=0, atol=64 * N * EPS * condition * max(1.0, np.abs(v).max())
    )
    stretch = pair(fit.images(X), fit.images(X))
    Z, bent = system.bend(stretch)
    np.testing.assert_allclose(
        shifted @ Z, -dense(fit.measurement, bent) @ Y.factor, rtol=0,
        atol=64 * N * EPS * condition * np.abs(bent).sum() * np.linalg.norm(Y.factor),
    )  # fmt: skip
    np.testing.assert_allclose(
        bent / fit.curvatures, stretch + 2.0 * pair(Y, fit.images(Z)), rtol=0,
        atol=64 * N * EPS * condition * max(1.0, np.abs(stretch).max(), np.abs(bent).max()),
    )  # fmt: skip


def test_a_shift_that_was_estimated_too_small_is_taken_from_the_spectrum(monkeypatch):
    problem = entries(np.random.default_rng(0))
    fit, here = problem.quadratic_fit, problem.at(np.ones((N, 1)))
    w = np.zeros(fit.size)
    lowest = np.linalg.eigvalsh(fit.gradient(w))[0]
    assert lowest < -1.0
    monkeypatch.setattr(lagrange_system, "SPECTRUM", 0)
    spectra, original = [], np.linalg.eigvalsh

    def counted(S):
        spectra.append(len(S))
        return original(S)

    monkeypatch.setattr(np.linalg, "eigvalsh", counted)
    for share, computed in ((0.5, 1), (1.0, 0)):
        spectra.clear()
        monkeypatch.setattr(lagrange_system, "extreme_ritz_values", lambda S, share=share: (share * lowest, 0.0))
        delta = LagrangeSystem(fit, here.images, w, 1e-3).delta
        assert len(spectra) == computed
        assert delta == pytest.approx(1e-3 - lagrange_system.MARGIN * lowest, rel=64 * N * EPS)


@pytest.mark.parametrize("calls", [2, 3])
def test_a_factorisation_that_fails_is_an_error(calls, monkeypatch):
    problem = entries(np.random.default_rng(0))
    fit, here = problem.quadratic_fit, problem.at(np.ones((N, 1)))
    w, original, made = np.zeros(fit.size), lagrange_system.dpotrf, []

    def failing(*given, **options):
        made.append(given)
        R, info = original(*given, **options)
        return R, 1 if len(made) >= calls else info

    monkeypatch.setattr(lagrange_system, "dpotrf", failing)
    assert np.linalg.eigvalsh(fit.gradient(w))[0] < -1.0  # the first attempt fails by itself
    with pytest.raises(np.linalg.LinAlgError, match="cannot be shifted" if calls == 2 else "not positive definite"):
        LagrangeSystem(fit, here.images, w, 1.0)
