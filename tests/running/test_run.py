"""What a run remembers and shows: records, idle steps, more columns, patience, criteria that stop it, the bar."""

import math
from dataclasses import replace

import numpy as np
import pytest

from psdopt import (
    BILGO,
    LBFGS,
    ConjugateGradient,
    Constrained,
    FlatQuotient,
    ProjectedGradient,
    PSDCone,
    QuadraticSDP,
    Status,
    TermSum,
    TruncatedNewton,
    certify,
    constraints,
    solve,
)
from psdopt.contracts.abilities import Ability
from psdopt.errors import InvalidInputError
from psdopt.running import judge
from psdopt.running.escape import SETTLING, Escape, clearly_bound, explained, rank_binds, widened
from psdopt.running.patience import PATIENT_STEPS, Patience
from psdopt.running.progress import progress_bar
from psdopt.running.run import Run
from psdopt.running.stopping import (
    MaxIterations,
    MaxTime,
    Progress,
    ProvenGap,
    SmallDecrease,
    SmallStationarity,
    ValueBelow,
)
from psdopt.terms import IdentityForm, LeastSquares, LinearTerm, MeasuredTerm, PairDistances
from tests.instances import psd, symmetric
from tests.running.problems import kta

PROBLEM = QuadraticSDP(None, 1.0, np.diag([-1.0, -2.0, 3.0]))
GEOMETRY = FlatQuotient(3, 1)


def begun(scale: float = 0.5) -> Run:
    state = ConjugateGradient().init(PROBLEM, GEOMETRY, scale * np.eye(3)[:, :1])
    return Run(state, GEOMETRY, 1e-6)


def test_a_run_goes_on_from_a_better_point_as_from_a_fresh_start():
    run = begun()
    run.record(PROBLEM, True, {})
    run.record(PROBLEM, True, {})
    wider = run.state.evaluation.append(0.1 * np.eye(3)[:, 1:2])
    geometry = GEOMETRY.with_rank(2)
    run.go_on(ConjugateGradient(), geometry, wider.factor, wider)
    assert run.geometry == run.state.geometry == geometry
    assert run.state.evaluation is wider
    assert (run.idle_steps, run.best_stationarity) == (0, math.inf)


def test_a_run_is_restored_to_what_was_kept():
    run = begun()
    run.record(PROBLEM, True, {})
    kept, state = run.kept(), run.state
    run.state, run.iteration, run.judged, run.patience.since, run.escape.wait = replace(state), 1, 1, 7, 8
    run.record(PROBLEM, True, {})
    assert len(run.history) == len(run.values) == 2
    run.restore(kept)
    assert run.state is state
    assert (run.iteration, run.judged, run.patience.since, run.escape.wait) == (0, -1, -1, 0)
    assert len(run.history) == len(run.values) == 1
    run.patience.since = 7  # what is kept stays as it is after it was restored
    assert kept.patience.since == -1


def test_widening_goes_down_and_keeps_the_matrix_it_started_from():
    problem = QuadraticSDP(None, 1.0, np.diag([-1.0, -2.0, -3.0, 1.0]))
    here = problem.at(np.eye(4)[:, :1])  # stationary at value −1
    wider = widened(here, 4, -6.0)
    assert wider.value < here.value - 1.0
    assert wider.factor.shape[1] == 2
    np.testing.assert_array_equal(wider.factor[:, 0], here.factor[:, 0])
    assert widened(here, 1, -6.0) is None  # no room
    optimal = problem.at(np.diag(np.sqrt([1.0, 2.0, 3.0, 0.0]))[:, :3])
    assert widened(optimal, 4, -1e-12) is None or widened(optimal, 4, -1e-12).value >= optimal.value - 1e-12


def test_negligible_columns_make_room():
    problem = QuadraticSDP(None, 1.0, np.diag([-1.0, -2.0]))
    Y = np.zeros((2, 2))
    Y[0, 0] = 1.0
    wider = widened(problem.at(Y), 2, -4.0)
    assert wider.factor.shape[1] == 2
    assert wider.value == pytest.approx(-5.0)
    zero = widened(problem.at(np.zeros((2, 2))), 2, -4.0)
    assert zero.value < 0.0
    assert not rank_binds(problem.at(Y), 1e-6)
    assert rank_binds(problem.at(np.eye(2)), 1e-6)


def test_widening_along_an_unbounded_ray_still_moves():
    here = QuadraticSDP(np.diag([1.0, 0.0]), None, -np.eye(2)).at(np.array([[1.0], [0.0]]))
    assert widened(here, 2, -2.0).value < here.value


def test_widening_keeps_a_fixed_trace_and_counts_from_the_level_of_the_columns():
    # |M + C|² but for a constant: at trace 3 the best is (1.5, 1, 0.5, 0)
    problem = QuadraticSDP(None, 1.0, np.diag([-2.0, -1.5, -1.0, 9.0]))
    here = problem.at(math.sqrt(3.0) * np.eye(4)[:, :2] * math.sqrt(0.5))
    wider = widened(here, 4, float(np.linalg.eigvalsh(here.gradient @ np.eye(4))[0]), trace=3.0)
    assert wider.value < here.value
    assert wider.size**2 == pytest.approx(3.0, rel=1e-14)
    best = problem.at(np.diag(np.sqrt([1.5, 1.0, 0.5, 0.0]))[:, :3])
    assert widened(best, 4, -1.0, trace=3.0) is None  # S = −I on the range, 18 beyond it


def failing(infeasible: float):
    """A certificate of a convex problem whose relative dual infeasibility is `infeasible`, all else in order."""
    proven = certify(QuadraticSDP(None, 1.0, -np.eye(3)), np.eye(3))
    return replace(proven, dual_infeasibility_relative=infeasible, stationarity_relative=0.0)


ALWAYS, NEVER = (lambda: True), (lambda: False)


@pytest.mark.parametrize(("infeasible", "stationarity", "binds", "wanted"), [
    (1e-7, 0.0, ALWAYS, False),  # below tol
    (2e-6, 1e-6, NEVER, False),  # what stationarity explains
    (2e-6, 1e-6, ALWAYS, True),  # but every column is in use
    (2e-5, 1e-6, NEVER, True),  # more than stationarity explains
    (4e-6, 2e-6, NEVER, False),
])  # fmt: skip
def test_columns_are_wanted_where_the_rank_is_to_blame(infeasible, stationarity, binds, wanted):
    assert Escape(True, 5).wants(failing(infeasible), stationarity, 1e-6, binds) is wanted
    assert Escape(False, 5).wants(failing(infeasible), stationarity, 1e-6, binds) is False


@pytest.mark.parametrize(("infeasible", "stationarity", "binds", "wanted"), [
    (0.1, 2e-3, ALWAYS, True),  # a step gains (2e-2)² of what columns do
    (0.1, 2e-3, NEVER, False),
    (0.1, 4e-3, ALWAYS, False),  # (4e-2)² is more than a minor share
    (0.1, 4e-5, NEVER, True),  # below `fine` as ever
])  # fmt: skip
def test_far_from_stationary_columns_are_wanted_where_steps_gain_a_minor_share(infeasible, stationarity, binds, wanted):
    assert Escape(True, 5, fine=5e-5).wants(failing(infeasible), stationarity, 1e-6, binds) is wanted
    assert not Escape(False, 5, fine=5e-5).wants(failing(infeasible), stationarity, 1e-6, binds)


def test_infeasibility_within_the_stationarity_of_the_certificate_asks_for_nothing():
    assert not Escape(True, 5).wants(replace(failing(1.0), stationarity_relative=1.0), 0.0, 1e-6, ALWAYS)


def test_widenings_that_do_not_help_wait_longer():
    escape = Escape(True, 5)
    escape.note(7, failing(1e-3), spare=True, columns=2)
    assert (escape.last, escape.wait, escape.last_infeasibility) == (7, SETTLING, 1e-3)
    assert escape.settles(7 + SETTLING - 1)
    assert not escape.settles(7 + SETTLING)
    escape.note(20, failing(0.9e-3), spare=True, columns=2)  # hardly less, with columns to spare
    assert escape.wait == 2 * SETTLING
    assert not escape.settles(20 + SETTLING)  # it is the widening that waits, not the certificate
    assert escape.waits(20 + SETTLING, NEVER)
    assert not escape.waits(20 + SETTLING, ALWAYS)
    assert not escape.waits(20 + 2 * SETTLING, NEVER)
    escape.note(50, failing(0.1e-3), spare=True, columns=2)
    assert escape.wait == SETTLING
    escape.note(70, failing(0.1e-3), spare=False, columns=2)
    assert escape.wait == SETTLING
    assert escape.columns == 2


class Dropping(ConjugateGradient):
    """Conjugate gradient that keeps two columns, whatever it is given."""

    def step(self, state):
        if state.evaluation.factor.shape[1] > 2:
            state = self.init(state.problem, state.geometry.with_rank(2), state.evaluation.factor[:, :2])
        return super().step(state)


def test_the_next_widening_waits_longer_where_a_method_drops_the_new_columns_again(monkeypatch):
    """Rank 2 of 8: all columns are in use, but no more than before the last widening."""
    waits, note = [], Escape.note

    def noted(self, *given):
        note(self, *given)
        waits.append(self.wait)

    monkeypatch.setattr(Escape, "note", noted)
    problem = QuadraticSDP(None, 1.0, -np.diag(np.arange(1.0, 9.0)))
    solve(problem, FlatQuotient(8, 2), Dropping(), escape=True, tol=1e-12, max_iterations=100, rng=0)
    assert waits[:3] == [SETTLING, 2 * SETTLING, 4 * SETTLING]


def test_what_is_clearly_the_rank_is_far_above_tolerance_and_stationarity():
    assert clearly_bound(failing(1e-2), 0.0, 1e-6)
    assert not clearly_bound(failing(1e-5), 0.0, 1e-6)
    assert not clearly_bound(failing(1e-2), 1e-3, 1e-6)


def test_words_for_a_stationary_point_say_whether_more_columns_are_an_option():
    said = Status.STATIONARY.value  # one text for one status
    assert explained(failing(0.5), 5, 5, True, 1e-6) == f"{said}: at full rank 5 the relative dual infeasibility is 0.5"
    assert explained(failing(0.5), 2, 5, False, 1e-6).startswith(f"{said}: at full rank 2")
    limited = explained(failing(0.5), 2, 5, True, 1e-6)
    assert limited.startswith(said)
    assert "pass escape=True or a larger rank" in limited


TOL = 1e-6


def within(shortfall: float = 0.0, provable: bool = True):
    """A certificate that holds up to a trace, of a problem of this order, and proves nothing on the whole cone."""
    proven = certify(QuadraticSDP(None, 1.0, -np.eye(3)), np.eye(3))
    weak = replace(proven, gap=None, gap_relative=None, shortfall=shortfall, provable=provable)
    assert weak.holds_within(TOL)
    assert not weak.proves(TOL)
    return weak


def test_a_certificate_that_does_not_hold_ends_nothing():
    patience = Patience()
    failing = replace(within(provable=False), stationarity_relative=1.0)
    assert not patience.ends(failing, 10_000, TOL)
    assert patience.since == -1


def test_where_no_proof_can_come_the_run_ends_at_once():
    assert not Patience().ends(within(), 3, TOL)
    assert Patience().ends(within(provable=False), 3, TOL)


@pytest.mark.parametrize("since", [0, 7, PATIENT_STEPS, 100])
def test_the_run_at_most_doubles(since):
    patience = Patience()
    last = since + max(since, PATIENT_STEPS)
    assert not patience.ends(within(), since, TOL)
    assert not patience.ends(within(), last - 1, TOL)
    assert patience.ends(within(), last, TOL)


def test_a_shortfall_that_stays_ends_the_run_and_one_that_falls_does_not():
    patience = Patience()
    assert not patience.ends(within(0.2), 5, TOL)
    assert not patience.ends(within(0.1), 6, TOL)
    assert patience.ends(within(0.099), 7, TOL)


def test_a_shortfall_within_tol_is_no_reason_to_end():
    patience = Patience(since=5, shortfall=TOL)
    assert not patience.ends(within(TOL), 6, TOL)
    assert patience.shortfall == TOL
    assert Patience().shortfall == math.inf


def test_a_search_that_failed_is_repeated_at_a_clearly_smaller_shortfall():
    patience = Patience()
    assert patience.worth_trying == math.inf
    patience.note(within(), TOL)  # S was semidefinite, or nothing was searched for
    assert patience.tried == math.inf
    patience.note(replace(within(0.2), complementarity_relative=0.0), TOL)
    assert patience.tried == 0.2
    patience.note(replace(within(0.19), complementarity_relative=0.0), TOL)
    assert patience.tried == 0.2
    patience.note(replace(within(0.1), complementarity_relative=0.5 * TOL), TOL)  # half of the tolerance was left
    assert patience.tried == 0.2
    patience.note(replace(within(0.08), complementarity_relative=0.5 * TOL), TOL)
    assert patience.tried == pytest.approx(0.16)


def test_the_bar_starts_at_the_given_iteration_and_shows_the_numbers(capsys):
    with progress_bar(True, "a run", iteration=5) as bar:
        bar(7, 1.25, 3e-4, None)
        bar(9, -2.5, 1e-6, 2e-2)
    out, err = capsys.readouterr()
    assert out == ""
    assert "a run: 9 iterations" in err
    assert "value -2.5, stationarity 1.0e-06, proven gap 2.0e-02" in err


def test_no_bar_unless_wanted(capsys):
    with progress_bar(False, "a run") as bar:
        bar(7, 1.25, 3e-4, None)
    assert capsys.readouterr() == ("", "")


def at(iteration=0, seconds=0.0, value=0.0, stationarity=1.0, step=1.0, values=(0.0,), gap=math.inf):
    return Progress(iteration, seconds, value, stationarity, step, values, gap)


@pytest.mark.parametrize(("criterion", "before", "after"), [
    (MaxIterations(5), at(iteration=4), at(iteration=5)),
    (MaxTime(1.5), at(seconds=1.4), at(seconds=1.5)),
    (SmallStationarity(1e-3), at(stationarity=2e-3), at(stationarity=1e-3)),
    (ProvenGap(0.01), at(gap=0.011), at(gap=0.01)),
    (ValueBelow(-2.0), at(value=-1.9), at(value=-2.0)),
    (SmallDecrease(1e-2), at(values=[5.0, 4.0]), at(values=[4.01, 4.0])),
    # E-L7: without the absolute value the printed rule is met at the first decrease
    (SmallDecrease(1e-6), at(values=[10.0, 1.0]), at(values=[1.0, 1.0])),
    (SmallDecrease(1e-6), at(values=[10.0]), at(values=[10.0, 10.0])),
    (SmallDecrease(1e-2), at(values=[1.0, 10.0]), at(values=[4.0, 4.01])),  # an increase counts like a decrease
    (SmallDecrease(1e-2, window=2), at(values=[4.5, 4.01, 4.0]), at(values=[9.0, 4.02, 4.01, 4.0])),
])  # fmt: skip
def test_each_criterion(criterion, before, after):
    assert criterion.met(before) is None
    assert criterion.met(after) is criterion
    assert criterion.reason()


def test_combinations():
    small, many, low = SmallStationarity(1e-3), MaxIterations(5), ValueBelow(0.0)
    either, both = small | many, small & many
    assert either.met(at(iteration=5, value=1.0)) is many
    assert either.met(at(iteration=9, stationarity=0.0)) is small
    assert either.met(at(iteration=1)) is None
    assert both.met(at(iteration=5)) is None
    assert both.met(at(iteration=5, stationarity=0.0)) is both
    assert (small & (many | low)).met(at(stationarity=0.0, value=-1.0)) is not None
    assert both.reason() == "relative stationarity is at most 0.001 and the limit of 5 iterations was reached"
    assert either.reason() == "relative stationarity is at most 0.001 or the limit of 5 iterations was reached"
    # being met implies convergence: any of needs all parts to, all of needs one
    assert (small.converges, many.converges) == (True, False)
    assert (either.converges, both.converges) == (False, True)
    assert (small | SmallStationarity(1.0)).converges
    assert not (many & low).converges
    assert [each.awaited_gap for each in (small | many, many | ProvenGap(0.1), low & ProvenGap(0.1))] == [0.0, 0.1, 0.1]


def slow_quadratic():
    """Conjugate gradient on a factor takes about 150 steps."""
    rng = np.random.default_rng(0)
    return QuadraticSDP(psd(rng, 30, condition=1e3), 1e-3, symmetric(rng, 30))


@pytest.mark.parametrize("share", [0.3, 1e-2, 1e-4])
@pytest.mark.usefixtures("clock")  # certificates take no time: one at each point
def test_a_run_ends_once_its_gap_is_proven_to_be_a_share_of_the_unit(share):
    problem = slow_quadratic()
    pieces = FlatQuotient(30, 30), ConjugateGradient(preconditioner="none")
    result = solve(problem, *pieces, tol=1e-9, stopping=ProvenGap(share))
    assert result.status is Status.STOPPED
    assert result.message == f"F(M) - min F is proven to be at most {share:g} of its unit"
    assert result.certificate.gap_relative <= share
    best = solve(problem, tol=1e-9)
    assert result.certificate.gap >= result.value - best.value
    if share == 1e-4:  # the others are met when the first certificate is computed
        assert result.certificate.gap_relative > 0.1 * share  # not later than needed
    assert result.iterations < solve(problem, *pieces, tol=1e-9).iterations


@pytest.mark.usefixtures("clock")
def test_of_a_method_that_may_rise_the_point_whose_gap_is_proven_is_returned(monkeypatch):
    """The point of least value comes first, and its gap is not proven; a worse one ends the run."""
    problem, inside = slow_quadratic(), judge.certify
    low = solve(problem, FlatQuotient(30, 30), ConjugateGradient(), max_iterations=40).matrix.factor

    points = iter([low, low, *[1.01 * low] * 50])

    class Rises(ConjugateGradient):
        descends = False

        def step(self, state):
            return self.init(state.problem, state.geometry, next(points))

    def certify(problem, matrix, **options):
        found = inside(problem, matrix, **options)
        worse = found.value > problem.at(low).value + 1e-9 * abs(found.value)
        return replace(found, gap=found.unit, gap_relative=1e-3 if worse else 1.0)

    monkeypatch.setattr(judge, "certify", certify)
    result = solve(
        problem, FlatQuotient(30, 30), Rises(), start=low, tol=1e-12, stopping=ProvenGap(1e-2), max_iterations=60
    )
    assert result.status is Status.STOPPED
    assert result.value == problem.at(1.01 * low).value
    assert result.certificate.gap_relative == 1e-3


def test_certificates_for_a_proven_gap_take_a_tenth_of_the_run(monkeypatch, clock):
    taken, inside = [], judge.certify

    def certify(*arguments, **options):
        taken.append(clock.time)
        clock.time += 1.0
        return inside(*arguments, **options)

    class Slow(ConjugateGradient):
        def step(self, state):
            clock.time += 0.5
            return super().step(state)

    monkeypatch.setattr(judge, "certify", certify)
    pieces = FlatQuotient(30, 30), Slow(preconditioner="none")
    result = solve(
        slow_quadratic(), *pieces, tol=1e-12, stopping=ProvenGap(1e-15) & MaxIterations(99), max_iterations=48
    )
    assert result.iterations == 48
    assert taken == [10.0, 11.5, 20.0, 27.0]  # after 20 steps, each other if those before took a tenth, and at the end


def test_a_run_that_its_limit_ends_says_how_far_it_may_be_from_the_best():
    problem = kta(np.random.default_rng(0))
    result = solve(problem, FlatQuotient(8, 8), ConjugateGradient(), tol=1e-10, max_iterations=2)
    assert result.status is Status.ITERATION_LIMIT
    said = f"F(M) - min F is proven to be at most {result.certificate.gap_relative:.2g} of its unit"
    assert result.message == f"the limit of 2 iterations was reached; {said}; TruncatedNewton may need fewer steps"


def test_in_a_run():
    problem = kta(np.random.default_rng(0))

    def run(stopping, **kwargs):
        return solve(problem, FlatQuotient(8, 8), ConjugateGradient(), tol=1e-10, stopping=stopping, **kwargs)

    first = run(ValueBelow(-1.0) | MaxIterations(300))
    assert first.status is Status.STOPPED
    assert first.message == "the value fell to -1 or below"
    assert first.value <= -1.0
    assert np.all(first.history["value"][:-1] > -1.0)
    capped = run(ValueBelow(-1e9), max_iterations=3)
    assert capped.status is Status.ITERATION_LIMIT
    both = run(ValueBelow(-1.0) & MaxIterations(first.iterations + 4))
    assert both.iterations == first.iterations + 4
    coarse = run(SmallStationarity(1e-2))
    assert coarse.history["stationarity"][-1] <= 1e-2
    assert coarse.iterations < run(SmallStationarity(1e-4)).iterations
    stalled = run(SmallDecrease(1e-3))
    assert abs(np.diff(stalled.history["value"])[-1]) <= 1e-3 * (abs(stalled.value) + 1)


@pytest.mark.parametrize(("make", "text"), [
    (lambda: MaxIterations(-1), "limit must be an integer of at least 0; found -1"),
    (lambda: ProvenGap(0.0), "share must be a finite number above 0; found 0.0"),
    (lambda: MaxTime(float("nan")), "seconds must be a finite number of at least 0; found nan"),
    (lambda: SmallStationarity(-1.0), "tol must be a finite number of at least 0; found -1.0"),
    (lambda: SmallDecrease(-1.0), "tol must be a finite number of at least 0; found -1.0"),
    (lambda: SmallDecrease(1.0, window=0), "window must be an integer of at least 1; found 0"),
])  # fmt: skip
def test_bad_criteria(make, text):
    with pytest.raises(InvalidInputError, match=text):
        make()


def test_the_longest_time_of_a_criterion():
    assert ValueBelow(0.0).longest == math.inf
    assert MaxTime(2.0).longest == 2.0
    assert (MaxTime(2.0) | MaxTime(3.0) | ValueBelow(0.0)).longest == 2.0
    assert (MaxTime(2.0) & MaxTime(3.0)).longest == 3.0
    assert (MaxTime(2.0) & ValueBelow(0.0)).longest == math.inf


def test_a_limit_of_iterations_names_another_method():
    """One of second order where the Hessian is known, one of first order where it is not, none that does not fit.

    After one of second order it is that of solve(); where that has run, or none fits, a larger limit is named.
    """
    problem, tight = kta(np.random.default_rng(0)), {"tol": 1e-10, "max_iterations": 2}
    said = "TruncatedNewton may need fewer steps"
    assert solve(problem, FlatQuotient(8, 8), LBFGS(), **tight).message.endswith(said)
    larger = "; pass a larger max_iterations or tol"
    own = "without method=, solve() takes ConjugateGradient + TruncatedNewton here"
    assert solve(problem, FlatQuotient(8, 2), TruncatedNewton(), **tight).message.endswith(own)
    assert solve(problem, FlatQuotient(8, 2), **tight).message.endswith(larger)
    assert solve(problem, PSDCone(8), ProjectedGradient(), **tight).message.endswith(larger)
    at_zero = solve(PROBLEM, max_iterations=0)  # no unit, and so no relative gap
    assert at_zero.message == f"the limit of 0 iterations was reached{larger}"
    without = kta(np.random.default_rng(0))
    without.abilities = without.abilities - {Ability.HESSIAN}
    hinted = solve(without, FlatQuotient(8, 8), ConjugateGradient(), **tight).message
    assert hinted.endswith("LBFGS may need fewer steps")
    assert solve(without, FlatQuotient(8, 8), LBFGS(), **tight).message.endswith(larger)


def test_a_limit_of_the_rank_is_kept_or_refused() -> None:
    n = 14
    rng = np.random.default_rng(4)
    i, j = np.triu_indices(n, 1)
    distances = MeasuredTerm(PairDistances(i, j, n=n), LeastSquares(9.0 * rng.random(len(i))))
    problem = TermSum([distances, LinearTerm(IdentityForm(n), 1e-3)])
    assert solve(problem).rank > 3
    assert solve(problem, max_rank=3).rank == 3
    assert solve(problem, FlatQuotient(n, 2), max_rank=3, escape=True).rank == 3
    for pieces in ((None, BILGO()), (FlatQuotient(n, 6), None), (PSDCone(n), None)):
        with pytest.raises(InvalidInputError, match="max_rank must be None or at least the rank of the geometry"):
            solve(problem, *pieces, max_rank=3)
    C = rng.standard_normal((n, n))
    rows = [constraints.diagonal(n, 1.0), constraints.entries([0], [1], n, upper=0.3)]
    cut = Constrained(QuadraticSDP(C=C + C.T), rows)
    assert solve(cut).method == "InteriorPoint"
    limited = solve(cut, max_rank=2)
    assert limited.rank <= 2
    assert limited.certificate.constraints.primal_infeasibility <= 1e-6
