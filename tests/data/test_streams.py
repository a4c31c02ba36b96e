"""Streams: every source gives the same batches, in order, from any place."""

import numpy as np
import scipy.sparse as sp

from psdopt import solve
from psdopt.data.streams import ArrayStream, IteratorStream
from psdopt.geometries.polar import Polar
from psdopt.methods.online_gradient import OnlineRiemannianGradient
from psdopt_plugins.regression import psd_regression_stream
from tests.methods.regressions import FIXED, D, M, R, batches_of, data, mapped


def test_batches_set_aside_come_once_and_in_order():
    X, y = data()
    stream = IteratorStream(batches_of(X, y), D)
    for count in (2, 5, 3):
        assert [batch.targets[0] for batch in stream.sample(count, 32)] == list(y[: 32 * count : 32])
    delivered = list(stream.take(32, 0, 1000))
    np.testing.assert_array_equal(np.concatenate([batch.targets for batch in delivered]), y)


def test_sources_agree(tmp_path):
    """Array, memory map, sparse array and iterator of the same rows in the same order: the same iterates."""
    X, y = data()
    held_out = (X[:50], y[:50])
    batches = batches_of(X, y)
    problems = [
        psd_regression_stream(X, y, held_out=held_out, order="given"),
        psd_regression_stream(mapped(tmp_path, X), y, held_out=held_out, order="given"),
        psd_regression_stream(sp.csr_array(X), y, held_out=held_out, order="given"),
        psd_regression_stream(batches, held_out=held_out, d=D, size=M),
    ]
    method = OnlineRiemannianGradient(report_every=5, **FIXED)
    factors = [
        solve(problem, Polar(D, R), method, max_iterations=4, rng=3).state.evaluation.factor for problem in problems
    ]
    for other in factors[1:]:
        np.testing.assert_allclose(other, factors[0], rtol=1e-8)


def test_differences_of_pairs_are_formed_batch_by_batch():
    X, _ = data()
    rng = np.random.default_rng(1)
    pairs = np.column_stack([rng.integers(0, 320, 96), rng.integers(320, 640, 96)])
    stream = ArrayStream(X, np.arange(96.0), pairs=pairs, order="given")
    rows, targets, _ = next(stream.batches(32, start=1))
    np.testing.assert_array_equal(rows, X[pairs[32:64, 0]] - X[pairs[32:64, 1]])
    np.testing.assert_array_equal(targets, np.arange(32.0, 64.0))


def test_every_epoch_sees_every_row_and_starts_anywhere():
    y = np.arange(10.0)
    for order in ("shuffled", "blocks", "given"):
        stream = ArrayStream(y[:, None], y, order=order, seed=4)
        batches = list(stream.take(4, 0, 6))
        for epoch in (batches[:3], batches[3:]):
            np.testing.assert_array_equal(np.sort(np.concatenate([batch.targets for batch in epoch])), y)
        np.testing.assert_array_equal(next(stream.take(4, 4, 1)).targets, batches[4].targets)
