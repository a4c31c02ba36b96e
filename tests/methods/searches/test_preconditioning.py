"""Preconditioners of the factor methods: each is honoured or refused."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from psdopt import (
    LBFGS,
    Ability,
    ConjugateGradient,
    FixedTrace,
    FlatQuotient,
    Polar,
    PositiveDefinite,
    QuadraticSDP,
    TermSum,
)
from psdopt.contracts.geometry_groups import Lift
from psdopt.errors import InvalidInputError
from psdopt.linalg.tolerances import MINOR
from psdopt.methods.searches.preconditioning import (
    PRECONDITIONERS,
    ask_ahead,
    gram_inverse,
    gram_scaled,
    preconditioned,
    preconditioned_on,
    resolved,
)
from psdopt.terms import LinearTerm
from tests.instances import psd, symmetric
from tests.methods.searched import GEOMETRIES, regression, values


@pytest.mark.parametrize("name", [name for name in GEOMETRIES if name not in ("definite", "log-Euclidean")])
def test_every_preconditioner_is_honoured(name):
    """Four of them are four methods; "auto" is the problem's own, or none with a fixed trace."""
    runs = {kind: values(ConjugateGradient(preconditioner=kind), GEOMETRIES[name], steps=4) for kind in PRECONDITIONERS}
    for one, other in itertools.combinations(("problem", "diagonal", "gram", "none"), 2):
        k = min(len(runs[one]), len(runs[other]))
        assert np.any(np.abs(runs[one][:k] - runs[other][:k]) > 1e-9 * abs(runs[one][0])), (one, other)
    np.testing.assert_array_equal(runs["auto"], runs["none" if name == "trace" else "problem"])


@pytest.mark.parametrize("name", ["flat", "polar", "definite"])
def test_preconditioners_that_a_run_does_not_have_are_refused(name):
    kind, text = ("gram", "acts on factors") if name == "definite" else ("problem", "needs a problem that has one")
    with pytest.raises(InvalidInputError, match=f"'{kind}' {text}"):
        values(ConjugateGradient(preconditioner=kind), GEOMETRIES[name], regression())


class OwnGram:
    """A curved geometry with a Gram preconditioner of its own, to which no velocity can be lifted."""

    abilities = frozenset()

    def gram_preconditioned(self, point, gradient, curvature=None):
        return "own", point, gradient, curvature


def quadratic():
    rng = np.random.default_rng(0)
    return QuadraticSDP(psd(rng, 4), B=0.3, C=symmetric(rng, 4)), rng.standard_normal((4, 2))


def test_a_gram_preconditioner_of_the_geometry_s_own_is_used_without_a_lift():
    problem, Y = quadratic()
    geometry = OwnGram()
    assert resolved("auto", problem, geometry) == resolved("gram", problem, geometry) == "gram"
    assert resolved("none", problem, geometry) == "none"
    assert resolved("diagonal", regression(), geometry) == "gram"
    for kind in ("problem", "diagonal"):
        with pytest.raises(InvalidInputError, match=f"preconditioner '{kind}' acts on factors"):
            resolved(kind, problem, geometry)
    evaluation = problem.at(Y)
    assert preconditioned_on(geometry, "gram", "x", evaluation, "g", 2.0) == ("own", "x", "g", 2.0)
    for kind in ("problem", "none"):
        assert preconditioned_on(geometry, kind, "x", evaluation, "g") == "g"


def test_without_a_preconditioner_of_the_problem_its_kinds_are_the_gram_preconditioner():
    rng = np.random.default_rng(1)
    evaluation = TermSum([LinearTerm(symmetric(rng, 4))]).at(rng.standard_normal((4, 2)))
    G = rng.standard_normal((4, 2))
    for kind in ("auto", "diagonal", "gram"):
        np.testing.assert_array_equal(preconditioned(kind, evaluation, G), gram_scaled(evaluation.factor, G))
    assert preconditioned("none", evaluation, G) is G


@pytest.mark.parametrize(
    ("geometry", "expected"),
    [
        (FlatQuotient(4, 2), {"auto": "problem", "problem": "problem", "diagonal": "diagonal", "gram": "gram"}),
        (FixedTrace(4, 2), {"auto": "none", "problem": "problem", "diagonal": "diagonal", "gram": "gram"}),
        (Polar(4, 2), {"auto": "problem", "problem": "problem", "diagonal": "diagonal", "gram": "gram"}),
        (PositiveDefinite(4), {"auto": "none", "problem": None, "diagonal": None, "gram": None}),
        (PositiveDefinite(4, "log-euclidean"), {"auto": "none", "problem": None, "diagonal": None, "gram": None}),
    ],
    ids=repr,
)
def test_which_preconditioner_a_kind_stands_for(geometry, expected):
    problem, _ = quadratic()
    assert Ability.PRECONDITIONER in problem.abilities
    for kind, found in (expected | {"none": "none"}).items():
        if found is None:
            with pytest.raises(
                InvalidInputError, match=f"preconditioner '{kind}' acts on factors, and PositiveDefinite"
            ):
                resolved(kind, problem, geometry)
        else:
            assert resolved(kind, problem, geometry) == found


@pytest.mark.parametrize("r", [1, 2, 3])
@pytest.mark.parametrize("damping", [MINOR, 0.5])
def test_the_gram_preconditioner_is_a_damped_inverse(r, damping):
    rng = np.random.default_rng(r)
    Y, G = rng.standard_normal((2, 5, r))
    gram = Y.T @ Y
    expected = G @ np.linalg.inv(gram + damping * np.trace(gram) / r * np.eye(r))
    np.testing.assert_allclose(gram_scaled(Y, G, damping), expected, rtol=1e-9)
    np.testing.assert_allclose(gram_inverse(Y, damping)(G), expected, rtol=1e-9)
    assert gram_scaled(np.zeros((5, r)), G) is G
    assert gram_inverse(np.zeros((5, r)))(G) is G


def test_what_is_not_finite_is_handed_on_and_what_is_large_is_scaled():
    problem, Y = quadratic()
    evaluation = problem.at(Y)
    for kind in ("gram", "problem", "auto"):
        for unknown in (np.nan, np.inf):
            bad = np.ones((4, 2))
            bad[1, 0] = unknown
            with np.errstate(invalid="ignore"):
                assert not np.isfinite(preconditioned(kind, evaluation, bad)).all()
        G = np.random.default_rng(1).standard_normal((4, 2))
        np.testing.assert_allclose(
            preconditioned(kind, evaluation, 1e200 * G), 1e200 * preconditioned(kind, evaluation, G), rtol=1e-10
        )
    assert preconditioned("none", evaluation, G) is G
    np.testing.assert_array_equal(preconditioned("auto", evaluation, G), preconditioned("problem", evaluation, G))
    np.testing.assert_allclose(preconditioned("gram", evaluation, G), gram_scaled(evaluation.factor, G))
    np.testing.assert_allclose(preconditioned("diagonal", evaluation, G), evaluation.diagonal_preconditioner()(G))


@pytest.mark.parametrize("method", [ConjugateGradient(), LBFGS()])
def test_a_preconditioner_is_set_up_once_for_each_point(method, monkeypatch):
    problem, Y = quadratic()
    at, seen = problem.preconditioner.at, []
    monkeypatch.setattr(problem.preconditioner, "at", lambda evaluation: (seen.append(evaluation), at(evaluation))[1])
    state = method.init(problem, FlatQuotient(4, 2), Y)
    for count in range(1, 4):
        state = method.step(state)
        assert len(seen) == len(set(map(id, seen))) == count


def asked_ahead(kind, device="there", abilities=frozenset({Ability.PRECONDITIONER})):
    asked = []
    evaluation = SimpleNamespace(
        problem=SimpleNamespace(device=device, abilities=abilities),
        factor=None,
        preconditioner=lambda: asked.append("problem"),
        diagonal_preconditioner=lambda: asked.append("diagonal"),
    )
    ask_ahead(kind, evaluation)
    return asked


def test_what_is_asked_ahead_of_a_device():
    for kind, found in (("auto", "problem"), ("problem", "problem"), ("diagonal", "diagonal")):
        assert asked_ahead(kind) == [found]
        assert asked_ahead(kind, device=None) == asked_ahead(kind, abilities=frozenset()) == []
    assert asked_ahead("gram") == asked_ahead("none") == []


@pytest.mark.parametrize(("restricted", "trace"), [(False, None), (True, None), (False, 2.0), (True, 2.0)])
def test_which_part_of_the_gradient_is_preconditioned(restricted, trace):
    """L P⁻¹ G: G is the whole factor gradient only where neither the geometry nor a trace holds a part of it back."""
    problem, Y = quadratic()
    evaluation, part = problem.at(Y), np.random.default_rng(2).standard_normal((4, 2))

    class Lifting:
        abilities = frozenset()

        def __init__(self):
            self.restricted, self.trace = restricted, trace

        def tangent_part(self, point, S):
            return part

        def from_velocity(self, point, D):
            return D

    assert isinstance(Lifting(), Lift)
    G = part if restricted or trace is not None else evaluation.factor_gradient()
    found = preconditioned_on(Lifting(), "problem", None, evaluation, None)
    np.testing.assert_allclose(found, evaluation.preconditioner()(G), rtol=1e-12)
    found = preconditioned_on(Lifting(), "gram", None, evaluation, None)
    np.testing.assert_allclose(found, gram_scaled(Y, G), rtol=1e-12)
