"""Preconditioners of the factor methods: each is honoured or refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from psdopt import (
    ConjugateGradient,
)
from psdopt.errors import InvalidInputError
from psdopt.searches.preconditioning import PRECONDITIONERS
from tests.methods.searched import GEOMETRIES, regression, values

NO_LIFT = ("definite", "log-Euclidean")


@pytest.mark.parametrize("name", [name for name in GEOMETRIES if name not in NO_LIFT])
def test_every_preconditioner_is_honoured(name):
    """Four of them are four methods; "auto" is the problem's own, or none with a fixed trace."""
    runs = {kind: values(ConjugateGradient(preconditioner=kind), GEOMETRIES[name], steps=4) for kind in PRECONDITIONERS}
    for one, other in itertools.combinations(("problem", "diagonal", "gram", "none"), 2):
        k = min(len(runs[one]), len(runs[other]))
        assert np.any(np.abs(runs[one][:k] - runs[other][:k]) > 1e-9 * abs(runs[one][0])), (one, other)
    np.testing.assert_array_equal(runs["auto"], runs["none" if name == "trace" else "problem"])


@pytest.mark.parametrize("name", NO_LIFT)
@pytest.mark.parametrize("kind", ["problem", "diagonal", "gram"])
def test_a_preconditioner_that_cannot_be_lifted_is_refused(name, kind):
    with pytest.raises(InvalidInputError, match=f"preconditioner '{kind}' acts on factors, and PositiveDefinite"):
        values(ConjugateGradient(preconditioner=kind), GEOMETRIES[name])


@pytest.mark.parametrize("name", ["flat", "polar"])
def test_the_preconditioner_of_a_problem_that_has_none_is_refused(name):
    with pytest.raises(InvalidInputError, match="'problem' needs a problem that has one; TermSum has none"):
        values(ConjugateGradient(preconditioner="problem"), GEOMETRIES[name], regression())
