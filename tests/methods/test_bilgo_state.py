"""The state of BILGO: pickled, left as it was, its eigenvectors found from any start."""

import pickle

import numpy as np
import pytest

import psdopt
from psdopt import PSDCone, QuadraticSDP
from psdopt.methods import bilgo_atoms
from psdopt.methods.bilgo import BILGO
from psdopt.methods.bilgo_atoms import GreedyAtoms
from psdopt.methods.bilgo_state import AtomState
from psdopt.oracles import least_eigenpairs
from psdopt.units import stationarity_scale
from tests.methods.planted import planted, zero


def test_state_is_picklable_and_steps_leave_it_alone():
    problem, _, _ = planted(10, 2)
    method = BILGO()
    state = method.init(problem, PSDCone(10), np.zeros((10, 1)))
    for _ in range(4):
        twin = pickle.loads(pickle.dumps(state))
        value = state.evaluation.value
        nxt = method.step(state)
        assert state.evaluation.value == value
        assert method.step(twin).evaluation.value == pytest.approx(nxt.evaluation.value, rel=1e-13)
        state = nxt


@pytest.mark.parametrize("backend", ["lanczos", "eigsh"])
def test_directions_that_a_warm_start_cannot_see_are_found(backend):
    """Three coordinates that nothing couples to the rest, with equal eigenvalues: each must be found."""
    rng = np.random.default_rng(0)
    A = np.zeros((40, 40))
    A[:37, :37] = rng.standard_normal((37, 37)) / 6.0
    C = -0.05 * np.eye(40)
    C[:37, :37] = -np.eye(37)
    problem = QuadraticSDP(A @ A.T, 0.5, C)
    result = psdopt.solve(problem, method=BILGO(backend=backend), start=zero(problem))
    assert result.optimal
    np.testing.assert_allclose(result.matrix.to_dense()[37:, 37:], 0.1 * np.eye(3), atol=1e-3)


def looked_at(monkeypatch, diagonal, targets, count=3, **known):
    """(the state with eigenvectors at M = diag(diagonal) for |M − diag(targets)|², arguments of its eigensolves)."""
    problem = QuadraticSDP(B=1.0, C=-np.diag(np.asarray(targets, dtype=float)))
    Y = np.diag(np.sqrt(np.asarray(diagonal, dtype=float)))
    evaluation, n = problem.at(Y), len(targets)
    asked = []

    def least(S, **named):
        asked.append(named)
        return least_eigenpairs(S, **named)

    monkeypatch.setattr(bilgo_atoms, "least_eigenpairs", least)
    start = AtomState(problem, PSDCone(n), Y, evaluation, vectors=np.eye(n)[:, :1], **known)
    method = GreedyAtoms(True, 5, count, "bilgo", "dense", 3)
    return method._with_eigenvectors(start, evaluation, {"alpha": 0.5}, 4), asked


@pytest.mark.parametrize(
    ("diagonal", "targets", "residual"),
    [
        ([4.0, 0.0, 0.0], [3.0, 0.25, 0.0], 4.0),  # |S Y| = 4, −λ_min |Y| = 1
        ([4.0, 0.0, 0.0], [3.0, 1.5, 0.0], 6.0),
        ([0.04, 0.0, 0.0], [0.03, 0.25, 0.0], 0.1),
        ([0.0, 0.0, 0.0], [-1.0, 0.25, 0.0], 0.5),  # at M = 0 the scale is 1
        ([0.0, 0.0, 0.0], [-1.0, -0.25, -2.0], 0.0),
    ],
)
def test_what_is_known_of_eigenvectors(monkeypatch, diagonal, targets, residual):
    """gradient_norm is 2 max(|S Y|, −λ_min |Y|); extras tell −λ_min and |S M|."""
    state, _ = looked_at(monkeypatch, diagonal, targets, iteration=7, smallest=-1.0)
    S = 2.0 * (np.array(diagonal) - np.array(targets))
    assert state.gradient_norm == pytest.approx(2.0 * residual, abs=1e-14)
    assert state.smallest == pytest.approx(S.min(), rel=1e-12)
    assert state.extras["lambda_max"] == -state.smallest
    assert state.extras["slack"] == pytest.approx(np.linalg.norm(S * diagonal), abs=1e-14)
    assert state.extras["alpha"] == 0.5
    assert (state.atoms, state.iteration, state.waiting) == (4, 8, True)


@pytest.mark.parametrize(
    ("eigenvalues", "count"),
    [
        ([-3.0, -2.0, -1e-9, 1.0], 2),
        ([-3.0, -2.0, -1e-6, 1.0], 3),
        ([-3.0, 2.0, 1.0, 4.0], 1),
        ([1.0, 2.0, 3.0, 4.0], 1),
    ],
)
def test_only_directions_of_descent_are_kept_or_the_first(monkeypatch, eigenvalues, count):
    """A slope of 1e-9 by the side of 3 is rounding."""
    state, _ = looked_at(monkeypatch, np.zeros(4), -0.5 * np.array(eigenvalues))
    assert state.vectors.shape[1] == count


def test_eigenvectors_are_as_accurate_as_what_they_are_for(monkeypatch):
    """To a share of |λ_min| as it was, or of |S Y| / |Y| where no λ_min is known."""
    shares = []
    for smallest, scale in ((-5.0, 5.0), (7.0, 7.0), (np.nan, 2.0)):
        _, asked = looked_at(monkeypatch, [4.0, 0.0, 0.0], [3.0, 1.5, 0.0], smallest=smallest)
        assert len(asked) == 1
        shares.append(asked[0]["tol"] / scale)
    assert 0.0 < shares[0] < 0.5
    np.testing.assert_allclose(shares, shares[0], rtol=1e-14)
    _, asked = looked_at(monkeypatch, np.zeros(3), [3.0, 1.5, 0.0])
    assert asked[0]["tol"] == 0.0


@pytest.mark.parametrize(
    ("level", "proven_at", "times"),
    [(0.3, np.inf, 1), (1e-4, np.inf, 2), (8e-3, 20.0, 2), (8e-3, 0.05, 1), (1e-5, 0.05, 2), (0.0, 0.0, 2)],
)
def test_rest_is_proven_from_random_columns_each_time_stationarity_has_fallen_much(
    monkeypatch, level, proven_at, times
):
    # S = 2 (M − T): |S Y| = 4 d at M = diag(4, 0), T = diag(4 − d, 0); the scale hardly depends on d
    d = level * stationarity_scale(QuadraticSDP(B=1.0, C=-np.diag([4.0, 0.0])), -16.0, 2.0) / 4.0
    state, asked = looked_at(
        monkeypatch, [4.0, 0.0, 0.0], [4.0 - d, 0.0, 0.0], proven_at=proven_at, iteration=5, smallest=-1.0
    )
    assert len(asked) == times
    if times == 1:
        assert state.proven_at == proven_at
        return
    assert state.proven_at == pytest.approx(level, rel=0.1)
    assert asked[1]["proven"]
    assert asked[1]["tol"] == pytest.approx(2.0 * d, abs=1e-12)
    assert (asked[1]["count"], asked[1]["seed"], asked[1]["start"].shape) == (3, 8, (3, 1))


def test_an_eigenvalue_that_weighs_more_than_the_residual_needs_no_proof(monkeypatch):
    state, asked = looked_at(monkeypatch, [4.0, 0.0, 0.0], [4.0, 1e-4, 0.0], proven_at=np.inf)
    assert len(asked) == 1
    assert state.proven_at == np.inf


def test_after_a_direction_had_been_missed_the_next_rest_is_looked_at_anew(monkeypatch):
    """The first eigensolve sees nothing; the proof finds λ_min = −2, and does not count as one of rest."""
    problem = QuadraticSDP(B=1.0, C=-np.diag([4.0, 1.0, 0.0]))
    evaluation, proofs = problem.at(np.diag([2.0, 0.0, 0.0])), []

    def least(S, **named):
        proofs.append(named.get("proven", False))
        return least_eigenpairs(S if len(proofs) > 1 else np.zeros((3, 3)), **named)

    monkeypatch.setattr(bilgo_atoms, "least_eigenpairs", least)
    start = AtomState(problem, PSDCone(3), evaluation.factor, evaluation, vectors=np.eye(3)[:, :1], proven_at=0.5)
    assert (start.atoms, start.iteration) == (0, 0)
    state = GreedyAtoms(True, 5, 1, "bilgo", "dense", 0)._with_eigenvectors(start, evaluation, {})
    assert proofs == [False, True]
    assert state.smallest == pytest.approx(-2.0)
    assert state.proven_at == np.inf
