"""What fits together is told before work, by members and not by words alone, and a refusal leads somewhere."""

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import Ability, AutogradProblem, FlatQuotient, MarginProblem, PSDCone, QuadraticSDP, Spectraplex, solve
from psdopt.contracts.abilities import MEMBERS
from psdopt.errors import IncompatibleError
from psdopt.methods import (
    ADMM,
    BILGO,
    AugmentedLagrangian,
    BoundaryPoint,
    ClosedForm,
    ColumnGeneration,
    ConjugateGradient,
    DualNewton,
    InteriorPoint,
    LagrangeNewton,
    OnlineRiemannianGradient,
)
from psdopt.running.compatibility import compatible, fits
from psdopt.terms import QuadraticForms
from tests.instances import psd, symmetric


def claiming(ability):
    """A problem of order 5 that declares `ability` and has nothing behind it."""
    problem = AutogradProblem(anp.trace, 5)
    problem.abilities = problem.abilities | {ability}
    return problem


@pytest.mark.parametrize(("ability", "geometry", "method"), [
    (Ability.MARGINS, Spectraplex(5), ColumnGeneration()),
    (Ability.SPLIT, FlatQuotient(5, 2), ADMM()),
    (Ability.STREAM, FlatQuotient(5, 2), OnlineRiemannianGradient()),
    (Ability.QUADRATIC_FIT, FlatQuotient(5, 2), LagrangeNewton()),
    (Ability.CONSTRAINED_FIT, FlatQuotient(5, 2), LagrangeNewton()),
    (Ability.CONSTRAINTS, FlatQuotient(5, 2), AugmentedLagrangian()),
    (Ability.CONIC, PSDCone(5), InteriorPoint()),
    (Ability.CONIC, PSDCone(5), BoundaryPoint()),
    (Ability.NEAREST, PSDCone(5), DualNewton()),
])  # fmt: skip
def test_an_ability_without_its_members_is_no_ability(ability, geometry, method):
    verdict = compatible(claiming(ability), geometry, method)
    assert not verdict
    assert f"the problem AutogradProblem declares {ability} (its member {MEMBERS[ability][0]!r})" in verdict.message
    with pytest.raises(IncompatibleError, match="which is not there"):
        solve(claiming(ability), geometry, method)


def test_what_the_interface_only_raises_is_not_there():
    class Bare(PSDCone):
        def __init__(self, n):
            super().__init__(n)
            self.abilities = frozenset({Ability.LINEAR_ORACLE})

    assert compatible(QuadraticSDP(None, 1.0, -np.eye(5)), Bare(5), Needs("linear-oracle"))  # inherited from PSDCone
    cone = PSDCone(5)
    cone.abilities = frozenset({Ability.RIEMANNIAN})
    verdict = compatible(QuadraticSDP(None, 1.0, -np.eye(5)), cone, Needs("riemannian"))
    assert "the geometry PSDCone declares riemannian (its member 'retract'), which is not there" in verdict.missing


class Needs(BILGO):
    def __init__(self, ability):
        super().__init__()
        object.__setattr__(self, "requires", {"geometry": (ability,)})


def test_a_hint_names_geometries_where_no_other_method_fits():
    problem = MarginProblem(QuadraticForms(np.random.default_rng(0).standard_normal((4, 5))))
    message = compatible(problem, FlatQuotient(5, 2), ColumnGeneration()).message
    assert "ColumnGeneration works with this problem on Spectraplex" in message


def test_a_refusal_does_not_send_back_to_what_was_refused():
    """The data admit no closed form: the refusal names the others, and each of them runs."""
    rng = np.random.default_rng(3)
    problem = QuadraticSDP(psd(rng), 1.0, symmetric(rng))
    assert problem.solve_in_closed_form() is None
    with pytest.raises(IncompatibleError) as refused:
        solve(problem, PSDCone(problem.n), ClosedForm())
    assert "no closed form for these data. With this problem and geometry these work: BILGO" in str(refused.value)
    assert "ClosedForm" not in str(refused.value)
    assert solve(problem, PSDCone(problem.n), BILGO()).optimal


def test_the_short_answer_is_the_verdict_and_looks_at_no_plugin(monkeypatch):
    problem = QuadraticSDP(A=np.eye(3))
    pairs = [(PSDCone(3), ConjugateGradient()), (FlatQuotient(3, 2), ConjugateGradient()), (PSDCone(4), ClosedForm())]
    verdicts = [bool(compatible(problem, *pair)) for pair in pairs]
    monkeypatch.setattr("psdopt.running.compatibility.known", lambda kind: pytest.fail("no examples are asked for"))
    assert [fits(problem, *pair) for pair in pairs] == verdicts
    assert True in verdicts
    assert False in verdicts
