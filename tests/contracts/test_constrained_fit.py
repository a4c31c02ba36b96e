"""Who offers a constrained fit, and who is told that there is none."""

import numpy as np
import pytest

from psdopt import AutogradProblem, Constrained, FlatQuotient, LagrangeNewton, QuadraticSDP, compatible, constraints
from psdopt.contracts.abilities import MEMBERS, Ability
from psdopt.contracts.constrained_fit import OffersConstrainedFit, constrained_fit_of
from psdopt.errors import IncompatibleError


def test_a_constrained_problem_offers_one_and_keeps_it() -> None:
    problem = Constrained(QuadraticSDP(C=np.eye(3)), constraints.diagonal(3, 1.0))
    assert isinstance(problem, OffersConstrainedFit)
    fit = constrained_fit_of(problem)
    assert fit is constrained_fit_of(problem)
    assert (fit.n, fit.size) == (3, 3)
    assert compatible(problem, FlatQuotient(3, 2), LagrangeNewton())


def test_others_are_told_the_member_that_is_missing() -> None:
    with pytest.raises(
        IncompatibleError, match=r"must have constrained_fit\(\), which returns a psdopt.contracts.ConstrainedFit"
    ):
        constrained_fit_of(QuadraticSDP(C=np.eye(3)))
    free = QuadraticSDP(C=np.eye(3))
    verdict = compatible(free, FlatQuotient(3, 2), LagrangeNewton())
    assert not verdict
    assert "constrained-fit" in verdict.message
    assert MEMBERS[Ability.CONSTRAINED_FIT] == ("constrained_fit", "constrained")


def test_data_whose_entries_are_not_at_hand_have_none() -> None:
    X = np.random.default_rng(0).standard_normal((6, 3))
    problem = Constrained(QuadraticSDP(C=np.eye(3)), constraints.distances([0, 1], [2, 3], 1.0, X=X))
    assert Ability.CONSTRAINED_FIT not in problem.abilities
    with pytest.raises(IncompatibleError, match="entries"):
        problem.constrained_fit()
    assert not compatible(problem, FlatQuotient(3, 2), LagrangeNewton())


def test_curvature_of_any_kind_will_do() -> None:
    torch = pytest.importorskip("torch")
    problem = Constrained(AutogradProblem(lambda M: torch.sum(M**2), 3, convex=True), constraints.diagonal(3, 1.0))
    assert Ability.CONSTRAINED_FIT in problem.abilities
