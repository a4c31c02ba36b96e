"""Problems in other fields' units: their words are held against a quasi-Newton method in well-scaled coordinates."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from psdopt import LowRankPSD, Status, solve
from tests.fuzz import examples

from .claims import drawn, examine, false_claims, foreign_points
from .foreign_problems import FOREIGN, WRITTEN, raw

#: Of the functions that users write, none but in the long examination: a run of them takes seconds.
INSTANCES = examples(2, 100)


@pytest.mark.parametrize("family", sorted(FOREIGN if INSTANCES > 4 else FOREIGN.keys() - WRITTEN))
def test_no_word_about_a_problem_in_foreign_units_is_false(family):
    counts: Counter[str] = Counter()
    for seed in range(3, 3 + (INSTANCES if family not in WRITTEN else INSTANCES // 5)):
        assert examine(family, seed, counts) == [], f"{family}, seed {seed}"


@pytest.mark.parametrize(("family", "seed"), [("measured_forms", 4), ("stiffness", 0), ("variances", 0)])
def test_the_point_in_good_coordinates_refutes_a_worse_one(family, seed):
    instance = drawn(family, seed)
    (point,) = foreign_points(instance)
    good = solve(instance.problem, tol=1e-6)
    assert abs(point[0] - good.value) <= 1e-3 * good.certificate.unit
    worse = LowRankPSD(0.5 * good.matrix.factor)
    lie = replace(good, matrix=worse, value=float(instance.problem.at(worse.factor).value), status=Status.OPTIMAL)
    assert false_claims(instance, [good], [point]) == []
    assert [claim.result for claim in false_claims(instance, [lie], [point])] == [lie]


def test_coordinates_of_raw_data_make_its_moments_the_unit_matrix():
    rng = np.random.default_rng(0)
    X, T = raw(rng, False, 40, 5)
    assert np.allclose(T.T @ X.T @ X @ T, np.eye(5), atol=1e-6)
