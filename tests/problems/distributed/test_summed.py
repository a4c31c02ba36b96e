"""A sum of parts is the unsplit problem: value, gradient, line, plane, Hessian, certificate, whatever the split."""

import pickle

import numpy as np
import pytest

from psdopt import BILGO, ConjugateGradient, FlatQuotient, PSDCone, QuadraticSDP, TrustRegions, solve
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.problems.distributed import Here, Summed
from tests.problems.distributed.instances import Pairs, trace_problem

EPS = np.finfo(float).eps


@pytest.mark.parametrize(
    ("method", "one_sided", "tol"),
    [
        (ConjugateGradient(), False, 1e-10), (ConjugateGradient(), True, 1e-10), (TrustRegions(), False, 1e-10),
        (TrustRegions(), True, 1e-10), (BILGO(), False, 1e-6),
    ],
)  # fmt: skip
def test_runs_on_parts_reach_the_same_certified_optimum(method, one_sided, tol):
    pairs = Pairs(one_sided=one_sided)
    summed = Summed(pairs.recipes([30, 31, 90]), local=pairs.local)
    atoms = isinstance(method, BILGO)  # are built up on parts, too
    geometry, options = (PSDCone(pairs.n), {}) if atoms else (FlatQuotient(pairs.n, pairs.n), {"tol": 1e-8})
    split, unsplit = (solve(problem, geometry, method, rng=0, **options) for problem in (summed, pairs.whole))
    assert split.status is unsplit.status
    assert split.optimal
    assert split.value == pytest.approx(unsplit.value, rel=tol)


def test_a_run_on_parts_for_a_cheap_proof_is_not_proven():
    pairs = Pairs(one_sided=True)
    for proof in ("full", "cheap"):
        summed = Summed(pairs.recipes([30, 31, 90]), local=pairs.local)
        result = solve(summed, FlatQuotient(pairs.n, pairs.n), rng=0, tol=1e-8, proof=proof)
        assert (result.optimal, result.converged) == (proof == "full", True)


def rounds_per_step(one_sided):
    """Rounds of conjugate gradient between its fifth and fifteenth step: no certificate falls in between."""
    pairs = Pairs(one_sided=one_sided, samples=200, n=10, pairs=2000)
    summed = Summed(pairs.recipes([500, 1000]), local=pairs.local)
    seen = []
    options = {"max_iterations": 15, "tol": 1e-12, "callback": lambda snapshot: seen.append(summed.rounds)}
    solve(summed, FlatQuotient(10, 3), ConjugateGradient(), rng=0, **options)
    return np.diff(seen)[5:15]


def test_a_step_takes_two_rounds_for_quadratic_losses_and_about_three_for_hinges():
    assert np.all(rounds_per_step(one_sided=False) == 2)
    hinges = rounds_per_step(one_sided=True)
    assert np.median(hinges) == 3
    assert hinges.max() <= 4


class Forgetful(Here):
    """Loses every part before each question number in `losses`, as workers are lost."""

    def __init__(self, losses):
        self.losses, self.asked = losses, 0

    def place(self, parts):
        self.parts = parts
        super().place(parts)

    def ask(self, questions):
        self.asked += 1
        if self.asked in self.losses:
            super().place(self.parts)
        return super().ask(questions)


@pytest.mark.parametrize("one_sided", [False, True])
def test_lost_parts_are_made_again_and_the_run_goes_on(one_sided):
    pairs = Pairs(one_sided=one_sided)
    recipes = pairs.recipes([30, 90])
    engine = Forgetful({4, 9, 10, 11, 25, 40})
    lossy = solve(Summed(recipes, engine, pairs.local), FlatQuotient(pairs.n, 3), ConjugateGradient(), rng=0)
    whole = solve(Summed(recipes, local=pairs.local), FlatQuotient(pairs.n, 3), ConjugateGradient(), rng=0)
    assert engine.asked > 40
    assert lossy.status is whole.status
    assert lossy.value == pytest.approx(whole.value, rel=1e-9)


class Noted(Here):
    """Notes which parts are asked what."""

    def __init__(self):
        self.asked = []

    def ask(self, questions):
        self.asked += [(k, name) for k, name, *_ in questions]
        return super().ask(questions)


def test_a_part_without_data_is_asked_once_what_it_is():
    pairs, engine = Pairs(), Noted()
    split = Summed([None, *pairs.recipes([0, 60])], engine, pairs.local)  # the first recipe makes None as well
    evaluation = split.at(np.ones((pairs.n, 1)))
    evaluation.along(-evaluation.factor_gradient()).step(0.01)
    assert [name for k, name in engine.asked if k < 2] == ["about", "about"]
    assert evaluation.value == pytest.approx(pairs.whole.at(evaluation.factor).value)


def test_a_part_that_overflows_makes_the_sum_infinite():
    assert Summed([trace_problem(2)], local=trace_problem(2)).at(np.full((2, 1), 1e160)).value == np.inf


def test_parts_forget_what_nobody_holds():
    pairs = Pairs()
    engine = Here()
    summed = Summed(pairs.recipes([60]), engine, pairs.local)
    solve(summed, FlatQuotient(pairs.n, 3), ConjugateGradient(), max_iterations=30, rng=0)
    summed.at(np.ones((pairs.n, 1)))
    held = [len(resident._held) for resident in engine._residents]
    assert max(held) <= 8


def test_a_checkpoint_holds_the_factor_and_not_the_parts(tmp_path):
    pairs = Pairs()
    recipes, path = pairs.recipes([60]), tmp_path / "run.ckpt"

    def run(**options):
        summed = Summed(recipes, local=pairs.local)
        return solve(summed, FlatQuotient(pairs.n, 3), ConjugateGradient(), rng=0, tol=1e-9, **options)

    straight = run()
    run(max_iterations=5, checkpoint=path)
    resumed = run(resume=path, max_iterations=10_000)
    assert resumed.status is straight.status
    assert resumed.value == pytest.approx(straight.value, rel=1e-9)
    with pytest.raises(InvalidTypeError, match="make it again from its recipes"):
        pickle.dumps(Summed(recipes))


def test_bad_parts_are_named():
    for arguments, kind, text in (
        (([],), InvalidInputError, "at least one part; found \\[\\]"),
        (([3],), InvalidTypeError, "a part must be a Problem, None, or"),
        (([trace_problem(3), trace_problem(4)],), InvalidInputError, r"share one order n; found \[3, 4\]"),
        (([None],), InvalidInputError, "no part with data"),
        (([trace_problem(3)], "dask"), InvalidTypeError, "engine must be an Engine or None; found 'dask'"),
    ):
        with pytest.raises(kind, match=text):
            Summed(*arguments)


def test_curvature_adds_up_and_abilities_are_shared():
    quadratic = QuadraticSDP(B=1.0, C=np.diag([1.0, -1.0, 0.0]))
    assert Summed([quadratic, quadratic]).lower_curvature == 2.0 * quadratic.lower_curvature
    assert Summed([quadratic, trace_problem(3)]).abilities <= quadratic.abilities & trace_problem(3).abilities
