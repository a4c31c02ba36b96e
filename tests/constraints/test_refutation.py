"""Proofs that nothing is feasible, and that F is unbounded: which hold, and which are refused."""

from __future__ import annotations

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.constraints.refutation import proven_infeasible, proven_unbounded


def test_a_proof_of_infeasibility_must_hold(solved) -> None:
    problem, _ = solved
    for ray in (np.array([1.0, 0.0]), np.array([-1.0, 0.0]), np.array([0.0, 1.0])):
        assert proven_infeasible(problem, [ray]) is None
    empty = Constrained(problem.problem, [constraints.diagonal(6, upper=1.0), constraints.trace(6, lower=7.0)])
    ray = np.concatenate([np.ones(6), [-1.0]])
    assert proven_infeasible(empty, [ray]) is not None
    assert proven_infeasible(empty, [-ray]) is None


def test_a_direction_of_unboundedness_must_fall_and_be_unseen() -> None:
    problem = Constrained(QuadraticSDP(C=np.diag([1.0, -1.0, 0.0])), constraints.entries([0], [0], 3, 1.0))
    e = np.eye(3)
    assert proven_unbounded(problem, e[:, 1:2], 1e-6) is not None
    assert proven_unbounded(problem, e[:, 0:1], 1e-6) is None
    assert proven_unbounded(problem, e[:, 2:3], 1e-6) is None
    assert proven_unbounded(problem, e[:, 1:2] + 0.1 * e[:, 0:1], 1e-6) is None


def test_what_a_direction_may_change_is_measured_in_the_norm_of_each_constraint_and_towards_its_bounds() -> None:
    """M_00 >= 1 is no obstacle to a growing M_00; 10⁶ M_00 = 10⁶ forgives what M_00 = 1 forgives."""
    C, e = QuadraticSDP(C=np.diag([1.0, -2.0, 0.0])), np.eye(3)
    growing = 0.5 * e[:, :1] + e[:, 1:2]
    assert proven_unbounded(Constrained(C, constraints.entries([0], [0], 3, lower=1.0)), growing, 1e-6) is not None
    assert proven_unbounded(Constrained(C, constraints.entries([0], [0], 3, upper=1.0)), growing, 1e-6) is None
    nearly = 1e-3 * e[:, :1] + e[:, 1:2]
    for scale in (1.0, 1e6, 1e-6):
        problem = Constrained(C, constraints.sparse_forms([scale * np.diag([1.0, 0.0, 0.0])], scale))
        assert proven_unbounded(problem, nearly, 1e-5) is not None
        assert proven_unbounded(problem, nearly, 1e-7) is None


def test_equations_that_contradict_each_other_are_refuted_by_multipliers_that_are_not_quite_right() -> None:
    # M_00 = 1, M_11 = 2, M_00 + M_11 = 4: A*(y) = 0 for y = (1, 1, -1), and for no y near it
    n = 4
    sums = constraints.sparse_forms([1e6 * np.diag([1.0, 1.0, 0.0, 0.0])], 4e6)
    problem = Constrained(QuadraticSDP(A=np.eye(n)), [constraints.entries([0, 1], [0, 1], n, [1.0, 2.0]), sums])
    assert problem.trace_limit is None
    rng = np.random.default_rng(0)
    for error in (0.0, 1e-9, 1e-5):
        y = np.array([1.0, 1.0, -1e-6]) * (1.0 + error * rng.standard_normal(3))
        proof = proven_infeasible(problem, [y])
        assert problem.support(proof) < 0.0
        assert np.linalg.eigvalsh(problem.forms.matrix(proof).toarray())[0] >= -1e-15
    assert proven_infeasible(problem, [np.array([1.0, 1.0, -0.5e-6])]) is None
    feasible = Constrained(
        QuadraticSDP(A=np.eye(n)), [problem.constraints[0], constraints.sparse_forms(sums.measurement, 3e6)]
    )
    assert proven_infeasible(feasible, [np.array([1.0, 1.0, -1e-6]), np.array([-1.0, -1.0, 1e-6])]) is None


def test_on_a_face_the_form_that_is_compressed_to_it_counts() -> None:
    n = 4
    A = np.diag([-1.0, 1.0, 0.0, 0.0])
    groups = [constraints.entries([0], [0], n, 0.0), constraints.sparse_forms([A], upper=-1.0)]
    problem = Constrained(QuadraticSDP(A=np.eye(n)), groups)  # M_11 <= -1 once M_00 = 0
    proof = proven_infeasible(problem, [np.array([0.0, 1.0])])
    assert proof.tolist() == pytest.approx([0.0, 1.0 / np.sqrt(2.0)])
    assert proven_infeasible(problem, [np.array([5.0, -1.0])]) is None
    free = Constrained(problem.problem, groups[1])
    assert proven_infeasible(free, [np.array([1.0])]) is None  # M_00 = 1 is feasible
