"""F plus the augmented Lagrangian and its loss under the conformance kit, beside its formula; distance; weights."""

from types import SimpleNamespace

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import AutogradProblem, Constrained, Constraint, QuadraticSDP, constraints
from psdopt.constraints.allowed import Allowed
from psdopt.constraints.augmented.problem import Penalty, augmented, squared_distance, weights
from psdopt.constraints.cones import Cones
from psdopt.contracts.problem import Problem
from psdopt.devices import DeviceArray, on_host
from psdopt.testing import parametrize_with_checks
from tests.devices.libraries import LIBRARIES, there

N = 6


def on_rows() -> list[Constraint]:
    """Equations, an interval that is met, one that is not, and a bound on an entry that has an equation too."""
    intervals = constraints.entries([0, 3], [0, 3], N, lower=[-1e3, 2e3], upper=[1e3, 3e3])
    return [constraints.diagonal(N, 1.0), intervals, constraints.entries([2], [2], N, upper=0.1)]


def problem(kind: str, box: bool) -> tuple[Constrained, Problem]:
    """Equations, or bounds on one side and on two, with multipliers and weights of their own; the twin is

    F(M) + Σ_t (w_t/2) dist²(⟨A_t, M⟩ + y_t/w_t, [lower_t, upper_t]).
    """
    rng = np.random.default_rng(0)
    G = rng.standard_normal((N, N))
    A, C = G @ G.T, G + G.T
    values = {
        "linear": lambda M: 2.0 * anp.sum(C * M),
        "linear on rows": lambda M: 2.0 * anp.sum(C * M),
        "quadratic": lambda M: anp.sum(anp.dot(A, M) * anp.dot(M, A)) + 2.0 * anp.sum(C * M),
        "autograd": lambda M: anp.sum((M - C) ** 4),
    }
    if kind == "autograd":
        F = AutogradProblem(values[kind], N, convex=True)
    else:
        F = QuadraticSDP(A=A if kind == "quadratic" else None, C=C)
    pairs = {"lower": -0.2, "upper": 0.1} if box else {"equals": 0.1}
    groups = [constraints.trace(N, 3.0), constraints.entries([0, 1, 2], [3, 4, 5], N, **pairs)]
    groups += [constraints.diagonal(N, upper=1.0)] if box else []
    constrained = Constrained(F, on_rows() if kind == "linear on rows" else groups)
    y, w = rng.standard_normal(constrained.m), rng.uniform(1.0, 20.0, constrained.m)
    whole = augmented(constrained, y, w)
    forms = np.array([constrained.forms.matrix(e).toarray() for e in np.eye(constrained.m)])

    def formula(M):
        z = anp.sum(forms * M, axis=(1, 2)) + y / w
        off = anp.maximum(z - constrained.upper, 0.0) + anp.maximum(constrained.lower - z, 0.0)
        return values[kind](M) + 0.5 * anp.sum(w * off**2)

    whole.twin = AutogradProblem(formula, N)
    return constrained, whole


CASES = [("linear", False), ("linear", True), ("quadratic", True), ("autograd", False), ("autograd", True)]


@parametrize_with_checks([problem(kind, box)[1] for kind, box in [*CASES, ("linear on rows", True)]])
def test_conformance(check):
    check()


def test_the_distance_is_zero_at_feasible_points_alone() -> None:
    constrained, _ = problem("linear", True)
    distance = squared_distance(constrained)
    assert distance.at(np.sqrt(0.5) * np.eye(N)).value <= 1e-28
    far = distance.at(np.eye(N)).value
    assert far == pytest.approx(0.5 * (6.0 - 3.0) ** 2 / 6.0)  # tr M = 6, |I|² = 6


def test_penalties_are_weighed_by_the_squares_of_the_norms() -> None:
    """A constraint without a norm has that of one."""
    norms = np.array([2.0, 0.0, 0.5])
    found = weights(SimpleNamespace(norms=norms, allowed=Allowed(-norms, norms)), 3.0)
    assert found.tolist() == [0.75, 3.0, 12.0]


RNG = np.random.default_rng(0)
LOWER, UPPER = np.array([-1.0, 0.0, -np.inf, 2.0]), np.array([1.0, 0.0, 0.5, np.inf])
PENALTY = Penalty(RNG.standard_normal(4), np.array([1.0, 2.0, 0.5, 3.0]), Allowed(LOWER, UPPER))
CONES = Cones.of([3, 4], np.array([-0.5, 0.1, 0.0, 0.3, 0.0, 0.2, 0.0]))
IN_CONES = Penalty(
    RNG.standard_normal(7), np.repeat([2.0, 0.5], [3, 4]), Allowed(np.full(7, -np.inf), np.full(7, np.inf), CONES)
)
EQUATIONS = Penalty(np.zeros(2), np.ones(2), Allowed(np.ones(2), np.ones(2)))


@parametrize_with_checks([PENALTY, EQUATIONS, IN_CONES])
def test_the_loss(check):
    check()


def test_the_derivative_is_a_multiplier_with_the_sign_of_its_bound() -> None:
    for a in 3.0 * RNG.standard_normal((20, 4)):
        assert np.all(PENALTY.derivative(a)[2:] * np.array([1.0, -1.0]) >= 0.0)
    assert PENALTY.degree is None
    assert EQUATIONS.degree == 2


@pytest.mark.parametrize("library", LIBRARIES)
def test_values_on_a_device_are_penalised_there(library: str) -> None:
    for known in (PENALTY, EQUATIONS):
        a, d = 3.0 * RNG.standard_normal((2, known.size))
        at, along = there(library, a), there(library, d)
        moved = known.on(at.device)
        assert moved.on(at.device) is moved
        assert moved.degree == known.degree
        assert moved.value(at) == pytest.approx(known.value(a), rel=1e-14)
        for found, expected in (
            (moved.derivative(at), known.derivative(a)),
            (moved.second(at), known.second(a)),
            (moved.curvature(at, along), known.curvature(a, d)),
        ):
            assert isinstance(found, DeviceArray)
            np.testing.assert_allclose(on_host(found), expected, rtol=1e-14)
