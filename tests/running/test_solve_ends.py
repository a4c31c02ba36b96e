"""How a run ends and how it may begin: unbounded, non-finite, budgets, starts, and arguments that are refused."""

import math

import numpy as np
import pytest

from psdopt import (
    LBFGS,
    ConjugateGradient,
    EigenSplitting,
    FlatQuotient,
    LowRankPSD,
    PSDCone,
    QuadraticSDP,
    Status,
    TruncatedNewton,
    solve,
)
from psdopt.errors import IncompatibleError, InvalidInputError, InvalidTypeError
from psdopt.testing.poisoned import poisoned
from tests.running.problems import kta, planted

METHODS = [ConjugateGradient(), LBFGS()]


# ------------------------------------------------------------------------------------------- unbounded, non-finite


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
@pytest.mark.parametrize("r", [1, 2])
def test_unbounded_problem_is_called_unbounded(method, r):
    """E-L1: A = diag(1, 0), B = 0, C = −I."""
    result = solve(QuadraticSDP(np.diag([1.0, 0.0]), None, -np.eye(2)), FlatQuotient(2, r), method)
    assert result.status is Status.UNBOUNDED
    assert not result.converged


@pytest.mark.parametrize("small", [1e-20, 1e-30])
def test_what_a_bound_is_proven_of_is_not_unbounded(small):
    """F = tr((A M)²) − 2 tr M has the minimum −2 − 1/small², far out along an axis of weak curvature."""
    result = solve(QuadraticSDP(np.diag([1.0, 1.0, small]), None, -np.eye(3)))
    assert result.status is Status.OPTIMAL
    assert np.isclose(result.value, -(small**-2.0), rtol=1e-6)


@pytest.mark.parametrize("least", [-1e-17, -1e-12])
def test_a_linear_function_ends_in_few_steps_however_little_it_falls(least):
    result = solve(QuadraticSDP(C=np.diag([1.0, 1e-3, least])))
    assert result.iterations <= 20
    assert result.status is (Status.UNBOUNDED if least == -1e-12 else Status.NO_PROGRESS)


@pytest.mark.parametrize("method", [*METHODS, TruncatedNewton()], ids=lambda m: m.name)
@pytest.mark.parametrize("scale", [1e-52, 1e-60])
def test_growth_from_a_tiny_start_is_no_sign_of_an_unbounded_problem(method, scale):
    """|M|² + tr M² − 2 tr M is least at I/2, 1e104 and 1e120 times as large as M at the start."""
    start = scale * np.random.default_rng(0).standard_normal((4, 4))
    result = solve(QuadraticSDP(np.eye(4), 1.0, -np.eye(4)), FlatQuotient(4, 4), method, start=start)
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(-2.0)
    assert solve(QuadraticSDP(C=-np.eye(4)), FlatQuotient(4, 4), method, start=start).status is Status.UNBOUNDED


def test_unbounded_only_along_a_new_column():
    problem = QuadraticSDP(np.diag([1.0, 0.0]), None, -np.eye(2))
    start = np.array([[1.0], [0.0]])
    assert solve(problem, FlatQuotient(2, 1), start=start).status is Status.STATIONARY
    assert solve(problem, FlatQuotient(2, 1), start=start, escape=True).status is Status.UNBOUNDED


def test_linear_objectives():
    assert solve(QuadraticSDP(C=np.diag([1.0, -1.0]))).status is Status.UNBOUNDED
    bounded = solve(QuadraticSDP(C=np.diag([1.0, 2.0])), FlatQuotient(2, 1))
    assert bounded.optimal
    assert bounded.value == pytest.approx(0.0, abs=1e-5)


def test_infimum_that_is_not_attained():
    """E-L1, second example: infimum −4, not attained. Whatever is claimed must be within its tolerance of it."""
    problem = QuadraticSDP(None, np.diag([1.0, 0.0]), np.array([[0.0, -1.0], [-1.0, 0.0]]))
    for tol in (1e-3, 1e-5):
        result = solve(problem, FlatQuotient(2, 1), tol=tol, max_iterations=2000)
        assert result.value > -4.0
        if result.optimal:
            assert result.value + 4.0 <= 4.0 * 4.0 * tol
        else:
            assert not result.optimal  # no bound on the traces of minimisers exists
            assert result.status is not Status.STATIONARY


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_nan_on_the_way(method):
    """The last finite point is kept, with a value; the status is the kit's method.nan_is_non_finite."""
    problem, best = planted(np.random.default_rng(0))
    result = solve(poisoned(problem, 0.5 * best), FlatQuotient(12, 4), method, tol=1e-10)
    assert result.status is Status.NON_FINITE
    assert "non-finite" in result.message
    assert np.all(np.isfinite(result.matrix.factor))
    assert math.isfinite(result.value)
    assert 0 < result.iterations < 30


# ------------------------------------------------------------------------------------------- budgets, interruption


def test_time_limit(clock):
    """The callback moves the clock on: the step after its fifth call is cut."""
    problem = kta(np.random.default_rng(0))
    result = solve(
        problem, FlatQuotient(8, 8), ConjugateGradient("FR"), tol=1e-15, max_time=4.5, max_iterations=10**6,
        callback=lambda snapshot: setattr(clock, "time", clock.time + 1.0),
    )  # fmt: skip
    assert result.status is Status.TIME_LIMIT
    assert result.iterations == 5
    assert result.seconds == 5.0


def test_callback_sees_every_iteration_and_can_stop():
    problem, seen = kta(np.random.default_rng(0)), []

    def callback(snapshot):
        seen.append(snapshot)
        return snapshot.iteration == 4

    result = solve(problem, FlatQuotient(8, 8), ConjugateGradient(), tol=1e-14, callback=callback)
    assert result.status is Status.STOPPED
    assert result.message == "stopped by the callback"
    assert [s.iteration for s in seen] == [1, 2, 3, 4]
    assert seen[-1].value == pytest.approx(result.value, rel=1e-12)
    assert all(s.record["value"] == s.value for s in seen)


def test_what_a_callback_raises_is_its_callers():
    def callback(snapshot):
        raise FloatingPointError("my own")

    problem, _ = planted(np.random.default_rng(0))
    with pytest.raises(FloatingPointError, match="my own"):
        solve(problem, FlatQuotient(12, 4), ConjugateGradient(), callback=callback)


# ---------------------------------------------------------------------------------------------------------- starts


def test_starts_in_every_form():
    problem, _ = planted(np.random.default_rng(2))
    Y = np.random.default_rng(5).standard_normal((12, 4))
    values = [
        solve(problem, FlatQuotient(12, 4), ConjugateGradient(), start=start, max_iterations=5, tol=1e-12).value
        for start in (Y, Y.tolist(), LowRankPSD(Y), np.asfortranarray(Y))
    ]
    assert values == pytest.approx([values[0]] * 4, rel=1e-12)
    kept = Y.copy()
    solve(problem, FlatQuotient(12, 4), ConjugateGradient(), start=Y, max_iterations=3)
    np.testing.assert_array_equal(Y, kept)
    wide = solve(problem, FlatQuotient(12, 6), ConjugateGradient(), start=LowRankPSD(Y), max_iterations=0)
    assert wide.value == pytest.approx(problem.at(Y).value, rel=1e-12)


@pytest.mark.parametrize(("start", "text"), [
    (np.zeros((3, 1)), r"not a point of FlatQuotient\(n=12, r=2\): a factor must have shape \(12, 2\); found"),
    (np.full((12, 2), np.nan), r"start must be finite; found 24 NaN or infinite entries"),
    (LowRankPSD(np.ones((5, 1))), r"start must be of order 12; found 5"),
])  # fmt: skip
def test_bad_starts(start, text):
    problem, _ = planted(np.random.default_rng(2))
    with pytest.raises(InvalidInputError, match=text):
        solve(problem, FlatQuotient(12, 2), ConjugateGradient(), start=start)


def test_random_start_is_repeatable_and_depends_on_the_seed():
    problem = kta(np.random.default_rng(0))

    def run(rng):
        return solve(problem, FlatQuotient(8, 3), ConjugateGradient(), rng=rng, max_iterations=4, tol=1e-12)

    np.testing.assert_array_equal(run(3).matrix.factor, run(3).matrix.factor)
    np.testing.assert_array_equal(run(3).matrix.factor, run(np.random.default_rng(3)).matrix.factor)
    np.testing.assert_array_equal(run(None).matrix.factor, run(0).matrix.factor)
    assert not np.allclose(run(3).matrix.factor, run(4).matrix.factor)


@pytest.mark.parametrize(("given", "text"), [
    ({"tol": 0.0}, "tol must be a finite number above 0 and below 1; found 0.0"),
    ({"tol": math.nan}, "tol must be a finite number above 0 and below 1; found nan"),
    ({"max_iterations": -1}, "max_iterations must be an integer of at least 0; found -1"),
    ({"max_iterations": math.nan}, "max_iterations must be an integer of at least 0; found nan"),
    ({"max_iterations": math.inf}, "max_iterations must be an integer of at least 0; found inf"),
    ({"max_time": -1.0}, r"max_time \(seconds\) must be at least 0; found -1.0"),
    ({"max_rank": 0}, "max_rank must be None or an integer between 1 and n = 12; found 0"),
    ({"max_rank": 13}, "max_rank must be None or an integer between 1 and n = 12; found 13"),
    ({"stopping": "x"}, "stopping must be a Stopping"),
    ({"callback": 3}, "callback must be callable"),
    ({"rng": "a"}, "rng must be a numpy.random.Generator or a seed; found 'a'"),
])  # fmt: skip
def test_bad_arguments(given, text):
    problem, _ = planted(np.random.default_rng(2))
    with pytest.raises(InvalidInputError, match=text):
        solve(problem, **given)


def test_an_infinite_time_is_no_limit():
    problem, _ = planted(np.random.default_rng(2))
    assert solve(problem, rng=0, max_time=np.inf).value == solve(problem, rng=0).value


def test_wrong_kinds_of_pieces():
    problem, _ = planted(np.random.default_rng(2))
    with pytest.raises(InvalidTypeError, match=r"found <function .*; AutogradProblem makes one of a function"):
        solve(lambda M: 0.0)
    with pytest.raises(InvalidTypeError, match=r"found <class .*; call it to make an instance"):
        solve(QuadraticSDP)
    with pytest.raises(InvalidTypeError, match=r"(?s)problem must be a Problem; found array.*; QuadraticSDP makes"):
        solve(np.eye(3))
    with pytest.raises(InvalidTypeError, match=r"method must be a Method; found .*; call it to make an instance"):
        solve(problem, method=ConjugateGradient)
    with pytest.raises(InvalidTypeError, match=r"geometry must be a Geometry; found 'flat'$"):
        solve(problem, "flat")
    for name, meant in (
        ("lbfgs", "LBFGS"),
        ("trust-regions", "TrustRegions"),
        ("BILGO", "BILGO"),
    ):
        with pytest.raises(InvalidTypeError, match=rf"must be a Method; found '{name}'; pass an instance of {meant}$"):
            solve(problem, method=name)


def test_incompatible_pieces_are_refused_before_any_work():
    problem, _ = planted(np.random.default_rng(2))
    before = problem.counts()
    with pytest.raises(IncompatibleError, match="the geometry PSDCone lacks straight-lines or riemannian"):
        solve(problem, PSDCone(12), ConjugateGradient())
    with pytest.raises(IncompatibleError) as refusal:
        solve(problem, FlatQuotient(12, 2), EigenSplitting())
    text = str(refusal.value)
    assert text.startswith(
        "QuadraticSDP, FlatQuotient and EigenSplitting do not work together; missing: the problem QuadraticSDP lacks "
        "diagonal-form or closed-form; the geometry FlatQuotient lacks full-cone. With this problem and geometry these "
        "work: "
    )
    assert "ConjugateGradient" in text
    assert "LBFGS" in text
    with pytest.raises(IncompatibleError, match=r"differ in order, 12 and 11\. Give the geometry order n=12"):
        solve(problem, FlatQuotient(11, 2), ConjugateGradient())
    assert problem.counts() == before
