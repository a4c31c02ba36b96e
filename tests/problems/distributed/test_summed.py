"""A sum of parts is the unsplit problem: value, gradient, line, plane, Hessian, certificate, whatever the split."""

import pickle

import numpy as np
import pytest

from psdopt import BILGO, ConjugateGradient, FlatQuotient, PSDCone, QuadraticSDP, TrustRegions, certify, solve
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


def solved(pairs):
    rank, options = min(pairs.n, 12), {"rng": 0, "tol": 1e-9, "max_iterations": 400}
    return solve(pairs.whole, FlatQuotient(pairs.n, rank), ConjugateGradient(), **options).matrix.factor


@pytest.mark.parametrize("n", [5, 60, 520])
def test_a_certificate_of_a_quadratic_sum_takes_two_rounds_whatever_its_order(n):
    pairs = Pairs(n=n, samples=30, pairs=80)
    summed, Y = Summed(pairs.recipes([20, 50]), local=pairs.local), solved(pairs)
    first = certify(summed, Y)  # F(0), ∇F(0) and ∇²F[I] are kept with the problem
    before = summed.rounds
    second = certify(summed, Y)
    assert summed.rounds <= before + 2
    alone = certify(pairs.whole, Y)
    assert first.gap == second.gap >= alone.gap * (1.0 - 1e-6)
    assert second.gap_relative < 1e-3  # a proof, whatever the steps have left
    least = max(1e-12 * second.unit, 1e-9)
    assert second.smallest_eigenvalue == pytest.approx(alone.smallest_eigenvalue, rel=1e-3, abs=least)


@pytest.mark.parametrize("n", [5, 60, 520])
def test_a_certificate_of_hinges_takes_one_round_and_one_for_each_trial_beside_m(n):
    pairs, engine = Pairs(one_sided=True, n=n, samples=30, pairs=80), Noted()
    summed, Y = Summed(pairs.recipes([20, 50]), engine, pairs.local), solved(pairs)
    certify(summed, Y)
    before = summed.rounds
    certify(summed, Y, proof="cheap")
    assert summed.rounds == before + 1
    engine.asked.clear()
    found = certify(summed, Y)
    if n <= 60:
        assert found.gap_relative < 1e-3
        names = [name for k, name in engine.asked if k == 0]
        assert set(names) == {"with_entries"}
        assert len(names) <= 7


def test_nothing_is_asked_before_it_is_needed_and_s_comes_with_f():
    pairs, engine = Pairs(), Noted()
    summed = Summed(pairs.recipes([60]), engine, pairs.local)
    Y, start = np.ones((pairs.n, 2)), summed.rounds
    evaluation = summed.at(Y)
    assert summed.rounds == start
    S = evaluation.gradient.entries()
    assert np.allclose(S, pairs.whole.at(Y).gradient @ np.eye(pairs.n))
    S[:] = 0.0  # is the caller's
    assert np.allclose(evaluation.gradient @ Y, pairs.whole.at(Y).gradient @ Y)
    assert evaluation.value == pytest.approx(pairs.whole.at(Y).value)
    assert np.allclose(evaluation.factor_gradient(), pairs.whole.at(Y).factor_gradient())
    assert summed.rounds == start + 1
    moved = evaluation.mix(np.eye(2)).append(np.ones(pairs.n))  # their sources are kept until then
    assert summed.rounds == start + 1
    assert moved.value == pytest.approx(pairs.whole.at(moved.factor).value)
    assert summed.rounds == start + 3


def test_beyond_the_order_of_whole_gradients_products_are_asked_for(monkeypatch):
    monkeypatch.setattr("psdopt.problems.distributed.summed.WHOLE_ORDER", 4)
    pairs = Pairs()
    summed = Summed(pairs.recipes([60]), local=pairs.local)
    Y = solved(pairs)
    gradient = summed.at(Y).gradient
    assert gradient.entries() is None
    assert not gradient.remote
    assert certify(summed, Y).gap_relative < 1e-6


def test_parts_that_are_lost_in_a_certificate_are_made_again():
    pairs = Pairs()
    recipes, Y = pairs.recipes([30, 90]), solved(Pairs())
    whole = certify(Summed(recipes, local=pairs.local), Y)
    for lost in range(4, 30, 3):
        found = certify(Summed(recipes, Forgetful({lost, lost + 1}), pairs.local), Y)
        assert found.gap == pytest.approx(whole.gap, rel=1e-3)


class Dropping(Here):
    """Its sums lack the last part."""

    def total(self, question):
        parts, *rest = question
        return super().total((parts[:-1], *rest))


def test_a_sum_that_lacks_a_part_is_an_error():
    pairs = Pairs()
    with pytest.raises(RuntimeError, match="added 1 answers of 2 parts"):
        _ = Summed(pairs.recipes([60]), Dropping()).at(np.ones((pairs.n, 1))).value


def test_counts_of_a_part_that_is_made_again_are_not_doubled():
    pairs = Pairs()
    recipes, Y = pairs.recipes([60]), np.ones((pairs.n, 2))
    steady, lossy = (Summed(recipes, engine, pairs.local) for engine in (None, Forgetful({5})))
    for summed in (steady, lossy):
        evaluation = summed.at(Y)
        evaluation.along(Y).step(0.1).value  # noqa: B018
    assert {**steady.counts(), "rounds": 0}.keys() == {**lossy.counts(), "rounds": 0}.keys()
    assert steady.counts()["rounds"] == lossy.counts()["rounds"] == 4
    assert steady.counts()["sent"] == steady.counts()["received"] == 0


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
        (([3],), InvalidTypeError, "each of parts, and local, must be a Problem, None, or"),
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
