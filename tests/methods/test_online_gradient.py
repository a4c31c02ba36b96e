"""Online gradient: schedule, sources, resuming, memory of the state."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import FlatQuotient, solve
from psdopt.geometries.polar import Polar
from psdopt.linalg.arrays import orthonormal_columns
from psdopt.methods.online_gradient import OnlineRiemannianGradient
from psdopt.streams import ArrayStream
from psdopt_plugins.regression import psd_regression_stream

D, R, M = 8, 3, 640


def data(noise=0.02):
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((M, D)), rng.standard_normal((D, R))
    return X, ((X @ W) ** 2).sum(axis=1) * (1 + noise * rng.standard_normal(M))


FIXED = {"batch_size": 32, "scale": 0.5, "annealing": 0.5, "pretraining": 3}


@pytest.mark.parametrize("geometry", [FlatQuotient(D, R), Polar(D, R)])
def test_learns(geometry):
    X, y = data()
    result = solve(psd_regression_stream(X, y), geometry, OnlineRiemannianGradient(32), max_iterations=8)
    values = result.history["value"]
    assert result.value < 0.02 * values[0]
    assert result.counts["samples"] >= 8 * M
    assert result.history["samples"][-1] == 8 * M
    assert np.isfinite(result.history["training_loss"][1:]).all()


def test_one_update_is_the_formula():
    """W₁ = R(W₀, −(s/μ) grad) for the first batch, by plain NumPy."""
    X, y = data()
    geometry, rng = Polar(D, R), np.random.default_rng(1)
    start = geometry.random_point(rng)
    method = OnlineRiemannianGradient(32, scale=0.25, annealing=1.0, pretraining=1, report_every=1, longest=1e6)
    problem = psd_regression_stream(X, y, order="given")
    after = method.step(method.init(problem, geometry, start))
    xb, yb = X[:32], y[:32]
    W = start.factor @ start.factor.T
    S = (xb.T * (np.einsum("ij,jk,ik->i", xb, W, xb) - yb)) @ xb / 32
    g = geometry.gradient(start, S)
    expected = geometry.retract(start, (-0.25 / geometry.norm(start, g)) * g)
    np.testing.assert_allclose(after.point.factor, expected.factor, rtol=1e-10)


@pytest.mark.parametrize("geometry", [FlatQuotient(D, R), Polar(D, R)])
def test_save_and_resume_mid_stream(tmp_path, geometry):
    X, y = data()
    method = OnlineRiemannianGradient(report_every=7, **FIXED)
    start = geometry.from_factor(orthonormal_columns(np.random.default_rng(0), D, R))
    whole = solve(psd_regression_stream(X, y), geometry, method, start=start, max_iterations=9)
    path = tmp_path / "run"
    solve(psd_regression_stream(X, y), geometry, method, start=start, max_iterations=4, checkpoint=path)
    rest = solve(psd_regression_stream(X, y), geometry, method, max_iterations=9, resume=path)
    np.testing.assert_array_equal(rest.state.evaluation.factor, whole.state.evaluation.factor)


def test_sources_agree(tmp_path):
    """Array, memory map, sparse array and iterator of the same rows in the same order: the same iterates."""
    X, y = data()
    mapped = np.lib.format.open_memmap(tmp_path / "X.npy", mode="w+", dtype=float, shape=X.shape)
    mapped[:] = X
    held_out = (X[:50], y[:50])
    batches = ((X[k : k + 32], y[k : k + 32]) for k in range(0, M, 32))
    problems = [
        psd_regression_stream(X, y, held_out=held_out, order="given"),
        psd_regression_stream(mapped, y, held_out=held_out, order="given"),
        psd_regression_stream(sp.csr_array(X), y, held_out=held_out, order="given"),
        psd_regression_stream(batches, held_out=held_out, d=D, size=M),
    ]
    method = OnlineRiemannianGradient(report_every=5, **FIXED)
    factors = [
        solve(problem, Polar(D, R), method, max_iterations=4, rng=3).state.evaluation.factor for problem in problems
    ]
    for other in factors[1:]:
        np.testing.assert_allclose(other, factors[0], rtol=1e-8)


def test_iterator_ends_the_run():
    X, y = data()
    batches = [(X[k : k + 64], y[k : k + 64]) for k in range(0, M, 64)]
    problem = psd_regression_stream(iter(batches), d=D, held_out=(X, y))
    result = solve(problem, Polar(D, R), OnlineRiemannianGradient(report_every=4, pretraining=2), max_iterations=100)
    assert result.history["samples"][-1] == M
    assert result.iterations < 10


def test_differences_of_pairs_are_formed_batch_by_batch():
    X, _ = data()
    rng = np.random.default_rng(1)
    pairs = np.column_stack([rng.integers(0, 320, 96), rng.integers(320, 640, 96)])
    stream = ArrayStream(X, np.arange(96.0), pairs=pairs, order="given")
    rows, targets = next(stream.batches(32, start=1))
    np.testing.assert_array_equal(rows, X[pairs[32:64, 0]] - X[pairs[32:64, 1]])
    np.testing.assert_array_equal(targets, np.arange(32.0, 64.0))


def test_every_epoch_sees_every_row_and_starts_anywhere():
    y = np.arange(10.0)
    for order in ("shuffled", "blocks", "given"):
        stream = ArrayStream(y[:, None], y, order=order, seed=4)
        batches = stream.take(4, 0, 6)
        for epoch in (batches[:3], batches[3:]):
            np.testing.assert_array_equal(np.sort(np.concatenate([t for _, t in epoch])), y)
        np.testing.assert_array_equal(stream.take(4, 4, 1)[0][1], batches[4][1])


def test_bad_input():
    X, y = data()
    with pytest.raises(ValueError, match="batch_size must be an integer of at least 1"):
        OnlineRiemannianGradient(0)
    with pytest.raises(ValueError, match="scale and annealing go together"):
        OnlineRiemannianGradient(scale=1.0)
    with pytest.raises(ValueError, match="y must have shape"):
        psd_regression_stream(X, y[:-1])
    with pytest.raises(ValueError, match="d, the number of columns"):
        psd_regression_stream(iter([]))
    with pytest.raises(ValueError, match="the stream holds no batch"):
        psd_regression_stream(iter([]), d=3)
    with pytest.raises(ValueError, match="batch 0 must hold rows"):
        psd_regression_stream(iter([(X, y[:3])]), d=D)
    with pytest.raises(TypeError, match="lacks stream"):
        solve(psd_regression_stream(X, y).held_out, Polar(D, R), OnlineRiemannianGradient())
