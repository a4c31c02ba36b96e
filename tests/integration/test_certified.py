"""`optimal` is held against the best of all runs on random instances, half of them hostile, some in foreign units.

`PSDOPT_FUZZ=long pytest tests/integration/test_certified.py` takes 300 instances of each family instead of 4; the long
examination is ``python -m tests.integration.claims``.
"""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from psdopt import ConjugateGradient, FlatQuotient, LowRankPSD, Spectraplex, Status, certify, solve
from tests.fuzz import examples

from .claims import conic_points, drawn, examine, false_claims, foreign_points
from .foreign_problems import FOREIGN, WRITTEN
from .hostile_problems import DEAR, FAMILIES

INSTANCES = examples(4, 300)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_no_other_run_is_better_than_one_called_optimal(family):
    counts: Counter[str] = Counter()
    for seed in range(INSTANCES if family not in DEAR else max(1, INSTANCES // 5)):
        claims = examine(family, seed, counts)
        assert claims == [], f"{family}, seed {seed}"
    assert counts["optimal"] > 0
    assert counts["false"] == 0


@pytest.mark.parametrize("status", [Status.OPTIMAL, Status.OPTIMAL_WITHIN, Status.UNBOUNDED])
def test_a_claim_that_another_run_refutes_is_found(status):
    instance = drawn("completion", 0)
    good = solve(instance.problem, FlatQuotient(instance.problem.n, instance.problem.n), tol=1e-8)
    bad = solve(instance.problem, FlatQuotient(instance.problem.n, 1), ConjugateGradient(), max_iterations=1)
    assert good.optimal
    assert bad.value > good.value + 0.01 * (bad.certificate.value_at_zero - good.value)
    assert false_claims(instance, [good, bad]) == []
    certificate = replace(bad.certificate, dual_infeasibility=0.0, complementarity=0.0)
    lie = replace(bad, status=status, certificate=certificate)
    assert [claim.result for claim in false_claims(instance, [good, lie])] == [lie]


#: Seeds at which the reference is exact enough, and the run is short.
CONIC = dict.fromkeys(sorted(set(FAMILIES) - {"barrier", "soft"}), (0, 2)) | {"triplets": (4, 2)}


@pytest.mark.parametrize(("family", "seed"), [(family, seed) for family in CONIC for seed in CONIC[family]])
def test_a_conic_solver_agrees_and_refutes_a_worse_point(family, seed):
    pytest.importorskip("cvxpy")
    instance, counts = drawn(family, seed), Counter[str]()
    n, t = instance.problem.n, instance.trace
    good = solve(instance.problem, None if t is None else Spectraplex(n, t), tol=1e-6)
    points = conic_points(instance, counts)
    assert counts["conic"] == 1
    unit = good.certificate.unit
    assert abs(points[0][0] - good.value) <= 1e-4 * unit
    assert false_claims(instance, [replace(good, status=Status.OPTIMAL)], points) == []
    lie = replace(good, status=Status.OPTIMAL, value=good.value + 0.1 * unit)
    assert [claim.result for claim in false_claims(instance, [lie], points)] == [lie]


def test_a_run_that_is_widened_at_every_step_keeps_its_budget():
    """Each verdict adds a column and the next step drops it, and the limit of iterations is looked at all the same.

    The callback stops a run that passes its limit, so that it fails and does not go on for ever.
    """
    problem = drawn("triplets", 7000064).problem
    geometry = FlatQuotient(problem.n, problem.n)
    result = solve(
        problem, geometry, ConjugateGradient("none"), tol=1e-8, rng=7000064, max_iterations=60, escape=True,
        callback=lambda snapshot: snapshot.iteration >= 90,
    )  # fmt: skip
    assert result.status is not Status.STOPPED
    assert result.iterations <= 60


def test_a_gradient_that_is_rounding_proves_nothing_far_out_on_a_ray():
    """F falls along a ray for ever; at tr M = 1e37 rounding of S hides it, and ⟨S, M⟩ < 0 gives it away."""
    instance = drawn("falling", 3401)
    ray = np.linalg.svd(instance.problem.terms[0].measurement.X.data)[2][-1]
    tail = np.random.default_rng(0).standard_normal((5, 4)) * [1e6, 1e5, 1e4, 1e3]
    for s in (1e20, 1e30, 1e37, 1e40):
        for Y in (np.sqrt(s) * ray[:, None], np.column_stack([np.sqrt(s) * ray, tail])):
            assert not certify(instance.problem, Y, tol=1e-8).proves(1e-8)
    assert not any(claim.result.optimal for claim in examine("falling", 3401, Counter()))


#: Of the functions that users write, none but in the long examination: a run of them takes seconds.
FOREIGN_INSTANCES = examples(2, 100)


@pytest.mark.parametrize("family", sorted(FOREIGN if FOREIGN_INSTANCES > 4 else FOREIGN.keys() - WRITTEN))
def test_no_word_about_a_problem_in_foreign_units_is_false(family):
    counts: Counter[str] = Counter()
    for seed in range(3, 3 + (FOREIGN_INSTANCES if family not in WRITTEN else FOREIGN_INSTANCES // 5)):
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
