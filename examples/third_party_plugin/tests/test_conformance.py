"""Everything this package adds, under psdopt's conformance kit."""

from nearest_correlation import LowRankCorrelation, UnitDiagonal, example_problem

from psdopt.testing import parametrize_with_checks


@parametrize_with_checks(
    [example_problem(), UnitDiagonal(6, 3), UnitDiagonal(5, 1), UnitDiagonal(4, 4), LowRankCorrelation(2)],
    up_to="0.2",  # the psdopt that this package was written for: checks that later ones add do not fail it unasked
)
def test_conformance(check):
    check()
