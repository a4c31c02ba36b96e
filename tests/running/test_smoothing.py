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


class Watched(MarginProblem):
    """Keeps the smoothings that are asked for; raises `kind` where it was asked for so many `stages`."""

    def __init__(self, rows, C=0.2, stages=None, kind=None):
        super().__init__(QuadraticForms(rows), C)
        self.seen, self.stages, self.kind = [], stages, kind

    def smoothed(self, mu):
        if len(self.seen) == self.stages:
            raise self.kind
        self.seen.append(mu)
        return super().smoothed(mu)


def problem(*cut):
    return Watched(np.random.default_rng(0).standard_normal((30, 3)), 0.2, *cut)


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


def test_a_stage_that_is_interrupted_is_the_last():
    class Interrupted(FrankWolfe):
        def step(self, state):
            raise KeyboardInterrupt

    margins = problem()
    result = solve_smoothed(margins, Spectraplex(3), Interrupted(), tol=1e-12)
    assert result.status is Status.INTERRUPTED
    assert len(margins.seen) == 1


def test_what_it_refuses():
    with pytest.raises(InvalidInputError, match="fixed trace"):
        solve_smoothed(problem(), FlatQuotient(3, 3), ConjugateGradient())
    with pytest.raises(InvalidInputError, match="smoothed already"):
        solve_smoothed(problem().smoothed(0.1), Spectraplex(3), FrankWolfe())


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_the_first_smoothing_is_a_share_of_the_spread_of_the_margins_in_any_unit(unit):
    margins = Watched(np.sqrt(unit) * np.random.default_rng(2).standard_normal((30, 3)))
    Y = np.full((3, 1), 3**-0.5)
    solve_smoothed(margins, Spectraplex(3), FrankWolfe(), start=LowRankPSD(Y), tol=0.05, max_iterations=100)
    spread = np.std(margins.margins().values(margins.at(Y)))
    np.testing.assert_allclose(margins.seen[0], SHRINK * spread, rtol=1e-9)
    np.testing.assert_allclose(np.diff(np.log(margins.seen)), np.log(SHRINK), rtol=1e-9)


def test_the_first_smoothing_is_in_the_unit_of_values_where_all_margins_are_equal():
    margins = Watched(3.0 * np.eye(2), 0.5)
    solve_smoothed(margins, Spectraplex(2), FrankWolfe(), start=LowRankPSD(np.eye(2) * 0.5**0.5), max_iterations=10)
    unit = margins.duality.value_unit(0.0, 1.0)
    assert unit < 0.5  # so that dividing by it shows
    assert margins.seen[0] == pytest.approx(SHRINK * unit, rel=1e-9)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("stages", [0, 2])
def test_a_cut_between_stages_keeps_those_that_are_finished(kind, stages):
    result = solve_smoothed(problem(stages, kind), Spectraplex(3), FrankWolfe(), tol=1e-12, max_iterations=5)
    assert result.status is CUTS[kind]
    assert result.matrix.n == 3
    assert np.isnan(result.value) if stages == 0 else result.certificate.value == result.value
