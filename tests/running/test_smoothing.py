"""solve_smoothed: every kind of start, its own certificate, and what it refuses."""

import numpy as np
import pytest

from psdopt import ConjugateGradient, FrankWolfe, LowRankPSD, MarginProblem, Status, solve, solve_smoothed
from psdopt.errors import InvalidInputError
from psdopt.geometries import FixedTrace, FlatQuotient, Spectraplex
from psdopt.methods import TrustRegions
from psdopt.running.smoothing import SHRINK
from psdopt.running.verdicts import CUTS
from psdopt.terms import QuadraticForms


def problem(seed=0):
    return MarginProblem(QuadraticForms(np.random.default_rng(seed).standard_normal((30, 3))), 0.2)


@pytest.mark.parametrize(
    ("geometry", "method"),
    [
        (Spectraplex(3), FrankWolfe()),
        (Spectraplex(3), FrankWolfe(variant="fully-corrective")),
        (FixedTrace(3, 3), ConjugateGradient()),
        (FixedTrace(3, 3), TrustRegions()),
    ],
    ids=["spectraplex", "corrected", "factors", "trust regions"],
)
def test_starts_are_those_of_solve(geometry, method):
    """A point of the geometry, a LowRankPSD, or none: the same optimum, proven on the unsmoothed problem."""
    margins = problem()
    exact = solve(margins, Spectraplex(3), tol=1e-7)
    Y = np.random.default_rng(1).standard_normal((3, 3))
    Y /= np.linalg.norm(Y)
    for start in (None, LowRankPSD(Y), geometry.from_factor(Y)):
        result = solve_smoothed(margins, geometry, method, start=start, tol=1e-2, max_iterations=200)
        assert exact.value - 1e-7 <= result.value <= exact.value + result.certificate.gap + 1e-7
        assert result.value == pytest.approx(margins.at(result.matrix.factor).value, rel=1e-12)
        assert result.certificate.gap_relative <= 1e-2
        assert result.optimal


def test_no_time_ends_with_the_first_stage_and_says_so():
    result = solve_smoothed(problem(), Spectraplex(3), FrankWolfe(), tol=1e-12, max_time=0.0)
    assert not result.optimal
    assert "the unsmoothed gap is" in result.message


def test_a_stage_that_is_interrupted_is_the_last(monkeypatch):
    stages = []

    def interrupted(*pieces, **options):
        def stop(snapshot):
            raise KeyboardInterrupt

        stages.append(solve(*pieces, **options, callback=stop))
        return stages[-1]

    monkeypatch.setattr("psdopt.running.smoothing.solve", interrupted)
    result = solve_smoothed(problem(), Spectraplex(3), FrankWolfe(), tol=1e-12)
    assert result.status is Status.INTERRUPTED
    assert len(stages) == 1


def test_what_it_refuses():
    with pytest.raises(InvalidInputError, match="fixed trace"):
        solve_smoothed(problem(), FlatQuotient(3, 3), ConjugateGradient())
    with pytest.raises(InvalidInputError, match="smoothed already"):
        solve_smoothed(problem().smoothed(0.1), Spectraplex(3), FrankWolfe())


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_the_first_smoothing_is_a_share_of_the_spread_of_the_margins_in_any_unit(unit, monkeypatch):
    rng = np.random.default_rng(2)
    margins = MarginProblem(QuadraticForms(np.sqrt(unit) * rng.standard_normal((30, 3))), 0.2)
    seen, whole = [], margins.smoothed
    monkeypatch.setattr(margins, "smoothed", lambda mu: (seen.append(mu), whole(mu))[1])
    Y = np.full((3, 1), 3**-0.5)
    solve_smoothed(margins, Spectraplex(3), FrankWolfe(), start=LowRankPSD(Y), tol=0.05, max_iterations=100)
    spread = np.std(margins.margins().values(margins.at(Y)))
    np.testing.assert_allclose(seen[0], SHRINK * spread, rtol=1e-9)
    np.testing.assert_allclose(np.diff(np.log(seen)), np.log(SHRINK), rtol=1e-9)


def test_the_first_smoothing_is_in_the_unit_of_values_where_all_margins_are_equal(monkeypatch):
    margins = MarginProblem(QuadraticForms(3.0 * np.eye(2)), 0.5)
    seen, whole = [], margins.smoothed
    monkeypatch.setattr(margins, "smoothed", lambda mu: (seen.append(mu), whole(mu))[1])
    solve_smoothed(margins, Spectraplex(2), FrankWolfe(), start=LowRankPSD(np.eye(2) * 0.5**0.5), max_iterations=10)
    unit = margins.duality.value_unit(0.0, 1.0)
    assert unit < 0.5  # so that dividing by it shows
    assert seen[0] == pytest.approx(SHRINK * unit, rel=1e-9)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("stages", [0, 2])
def test_a_cut_between_stages_keeps_those_that_are_finished(kind, stages, monkeypatch):
    margins = problem()
    seen, whole = [], margins.smoothed

    def smoothed(mu):
        if len(seen) == stages:
            raise kind
        seen.append(mu)
        return whole(mu)

    monkeypatch.setattr(margins, "smoothed", smoothed)
    result = solve_smoothed(margins, Spectraplex(3), FrankWolfe(), tol=1e-12, max_iterations=5)
    assert result.status is CUTS[kind]
    assert result.matrix.n == 3
    assert np.isnan(result.value) if stages == 0 else result.certificate.value == result.value
