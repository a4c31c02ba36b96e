"""Random programs of SDPLIB's families: each ends as it must, at the value that another way gives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.papers.sdp_families import PROGRAMS, hinf, qap
from psdopt import Status, solve

SIZES = {"control": 3, "hinf": 4, "truss": 3, "arch": 3, "qap": 4, "box": 20, "signed_cut": 30, "grid_theta": 40,
         "infeasible": 8, "unbounded": 8, "wide_control": 4, "shifted_control": 4, "power_flow": 1}  # fmt: skip


@pytest.mark.parametrize("family", sorted(PROGRAMS))
def test_every_family_ends_in_a_true_status(family) -> None:
    for seed in (0, 1):
        result = solve(PROGRAMS[family](SIZES[family], seed=seed), tol=1e-6, rng=0)
        ends = {"infeasible": Status.INFEASIBLE, "unbounded": Status.UNBOUNDED}
        assert result.status is ends.get(family, Status.OPTIMAL)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", ["wide_control", "shifted_control"])
def test_control_programs_at_the_scale_of_sdplib_are_proven(family, seed) -> None:
    """λ = −F, P and D are the multipliers: both inequalities hold, the bound is below F, and λ is the largest there."""
    n = 5
    A, B, C = np.random.default_rng(seed).uniform(-100.0, 100.0, (3, n, n))
    if family == "shifted_control":
        A -= 0.5 * np.linalg.eigvalsh(A + A.T)[-1] * np.eye(n)
        assert np.linalg.eigvalsh(A + A.T)[-1] == pytest.approx(0.0, abs=1e-10)
    result = solve(PROGRAMS[family](n, seed=seed), tol=1e-6, rng=0)
    assert result.status is Status.OPTIMAL
    assert result.certificate.constraints.primal_infeasibility < 1e-6
    x = result.certificate.constraints.multipliers
    P, D = np.zeros((n, n)), np.diag(x[-n - 1 : -1])
    P[np.triu_indices(n)] = x[: n * (n + 1) // 2]
    P += np.triu(P, 1).T
    S = np.block([[-P @ A - A.T @ P - C.T @ D @ C, -P @ B], [-B.T @ P, D]])
    assert np.linalg.eigvalsh(P)[0] >= 1.0 - 1e-6 * np.linalg.norm(P)
    assert np.linalg.eigvalsh(S)[0] == pytest.approx(x[-1], abs=1e-6 * np.linalg.norm(S))
    assert result.certificate.dual_value == pytest.approx(-x[-1], rel=1e-6) or x[-1] == pytest.approx(result.value)


def test_hinf_is_the_largest_gain_over_frequencies() -> None:
    """min γ is −F: the norm of C (i ω − A)⁻¹ B + D, from the same numbers as the program."""
    rng, n, p = np.random.default_rng(2), 4, 2
    A = rng.standard_normal((n, n))
    A -= (np.linalg.eigvals(A).real.max() + 0.1) * np.eye(n)
    B, C, D = rng.standard_normal((n, p)), rng.standard_normal((p, n)), rng.standard_normal((p, p))
    gains = [np.linalg.norm(C @ np.linalg.solve(1j * w * np.eye(n) - A, B) + D, 2) for w in np.linspace(0, 9, 20001)]
    result = solve(hinf(n, seed=2), tol=1e-6, rng=0)
    assert -result.value == pytest.approx(max(gains), rel=1e-4)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_relaxation_of_an_assignment_is_below_all_assignments(seed) -> None:
    """k = 5: no M is strictly feasible, and what M has off the face counts as a violation."""
    k = 5
    problem = qap(k, seed=seed)
    result = solve(problem, tol=1e-6, rng=0)
    assert result.status is Status.OPTIMAL
    assert result.method == "InteriorPoint"
    assert result.certificate.constraints.dimacs["primal"] < 1e-9
    assert result.certificate.constraints.primal_infeasibility < 1e-6
    costs = []
    for order in itertools.permutations(range(k)):
        x = np.r_[1.0, np.eye(k)[list(order)].ravel()]
        assert np.allclose(problem.measured(x[:, None]), problem.lower)
        costs.append(problem.at(x[:, None]).value)
    assert result.certificate.dual_value <= min(costs) + 1e-6 * min(costs)


def test_a_run_that_began_once_more_resumes_with_the_same_steps(tmp_path) -> None:
    """On this instance the run stalls, and goes on within the face."""
    problem, path = qap(5, seed=0), tmp_path / "run.ckpt"
    whole = solve(problem, tol=1e-7, max_iterations=200, rng=0)
    solve(problem, tol=1e-7, max_iterations=whole.iterations - 3, rng=0, checkpoint=path)
    resumed = solve(problem, tol=1e-7, max_iterations=200, rng=0, resume=path)
    assert (resumed.iterations, resumed.value) == (whole.iterations, whole.value)
