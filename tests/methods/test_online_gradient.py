"""Online gradient: schedule, sources, resuming, memory of the state."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from psdopt import FlatQuotient, OnlineRiemannianGradient, Polar, solve
from psdopt.linalg.arrays import orthonormal_columns
from psdopt.methods.online_gradient import EPOCH_SHARE, GRID, TRIAL_UPDATES, Pace
from psdopt_plugins.regression import psd_regression_problem, psd_regression_stream
from tests.methods.regressions import FIXED, D, M, R, batches_of, data, mapped

X, Y = data()


@pytest.mark.parametrize("geometry", [FlatQuotient(D, R), Polar(D, R)])
def test_learns(geometry):
    X, y = data()
    start = geometry.from_factor(orthonormal_columns(np.random.default_rng(0), D, R))
    result = solve(psd_regression_stream(X, y), geometry, OnlineRiemannianGradient(32), start=start, max_iterations=8)
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
@pytest.mark.parametrize("source", ["memory map", "iterator"])
def test_resuming_other_sources_is_bitwise(tmp_path, geometry, source):
    """A memory map is found again at any place; an iterator is handed over at the place where it stopped."""
    X, y = data()
    held_out, file = (X[:50], y[:50]), mapped(tmp_path, X)

    def stream(first):
        if source == "iterator":
            return psd_regression_stream(batches_of(X, y, first), held_out=held_out, d=D, size=M)
        return psd_regression_stream(file, y, held_out=held_out, seed=7)

    method = OnlineRiemannianGradient(report_every=3, **FIXED)
    start = geometry.from_factor(orthonormal_columns(np.random.default_rng(0), D, R))
    whole = solve(stream(0), geometry, method, start=start, max_iterations=6)
    path = tmp_path / "run"
    solve(stream(0), geometry, method, start=start, max_iterations=4, checkpoint=path)
    rest = solve(stream(12), geometry, method, max_iterations=6, resume=path)
    np.testing.assert_array_equal(rest.state.evaluation.factor, whole.state.evaluation.factor)
    np.testing.assert_array_equal(rest.history["value"], whole.history["value"])


@pytest.mark.parametrize("source", ["memory map", "array", "iterator"])
def test_an_epoch_keeps_one_batch(tmp_path, source):
    """Steps of a whole epoch, pre-training included, allocate a few batches, however many rows go by."""
    rows, d, p = 20_000, 40, 32
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((rows, d)), rng.random(rows)
    held_out = (X[:64], y[:64])
    if source == "memory map":
        problem = psd_regression_stream(mapped(tmp_path, X), y, held_out=held_out)
        assert isinstance(problem.stream.X, np.memmap)
    elif source == "array":
        problem = psd_regression_stream(X, y, held_out=held_out, order="given")
    else:
        batches = ((X[k : k + p].copy(), y[k : k + p]) for k in range(0, rows, p))
        problem = psd_regression_stream(batches, held_out=held_out, d=d, size=rows)
    kept = 20 if source == "iterator" else 0  # batches set aside, as they cannot be read twice
    method = OnlineRiemannianGradient(p, pretraining=20)
    geometry = FlatQuotient(d, 2)
    start = geometry.random_point(rng)
    method.init(problem, geometry, start)  # imports and caches
    tracemalloc.start()
    state = method.step(method.init(problem, geometry, start))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert state.samples == rows
    allowed = 8 * (p * d * (kept + 12) + 40 * d * 2) + 8 * (rows // p) + 64 * 1024
    assert peak < allowed < X.nbytes / 8


def test_held_out_loss_is_reported_step_by_step():
    X, y = data()
    held_out = (X[:100], y[:100])
    problem = psd_regression_stream(X[100:], y[100:], held_out=held_out)
    factors = []
    result = solve(
        problem, FlatQuotient(D, R), OnlineRiemannianGradient(report_every=4, **FIXED), max_iterations=5,
        callback=lambda snapshot: factors.append(snapshot.state.evaluation.factor) or None,
    )  # fmt: skip
    expected = [psd_regression_problem(*held_out).at(Y).value for Y in factors]
    np.testing.assert_allclose(result.history["value"][-len(expected) :], expected, rtol=1e-12)
    assert len(expected) >= 5


@pytest.mark.parametrize("p", [1, 32])
def test_one_sided_samples_in_batches(p):
    """A batch of the stream and the batch problem of the same samples: same loss, same gradient."""
    X, y = data()
    signs = np.random.default_rng(1).integers(-1, 2, M)
    stream = psd_regression_stream(X, y, None, signs, order="given")
    Y = np.random.default_rng(2).standard_normal((D, R))
    for batch in stream.stream.take(p, 0, 5):
        SY, loss = stream.batch_gradient(batch, Y)
        there = psd_regression_problem(batch.rows, batch.targets, None, batch.direction).at(Y)
        np.testing.assert_allclose(loss, there.value, rtol=1e-12, atol=1e-12 * np.max(y) ** 2)
        np.testing.assert_allclose(2 * SY, there.factor_gradient(), rtol=1e-10, atol=1e-10 * np.max(y))
    assert stream.at(Y).value == psd_regression_problem(X, y, None, signs).at(Y).value


def test_one_sided_streams_learn_from_iterators_and_pairs():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, D))
    pairs = rng.integers(60, size=(2 * M, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]][:M]
    x = X[pairs[:, 0]] - X[pairs[:, 1]]
    y, signs = (x[:, 0] ** 2) * 4, rng.choice([-1.0, 1.0], M)
    by_pairs = psd_regression_stream(X, y, pairs, signs, order="given", held_out=(x, y, signs))
    whole = (tuple(batch) for batch in by_pairs.stream.take(32, 0, M // 32))
    by_iterator = psd_regression_stream(whole, d=D, size=M, held_out=(x, y, signs))
    method, start = OnlineRiemannianGradient(**FIXED), np.random.default_rng(3).standard_normal((D, R))
    results = [solve(s, FlatQuotient(D, R), method, start=start, max_iterations=1) for s in (by_pairs, by_iterator)]
    np.testing.assert_array_equal(*(result.state.evaluation.factor for result in results))
    assert results[0].value < 0.5 * by_pairs.at(start).value


@pytest.mark.parametrize("geometry", [FlatQuotient(D, R), Polar(D, R)])
def test_pretraining_is_as_good_as_trying_all_pairs(geometry):
    """The pair chosen in three rounds is nearly the best of all 49 on the whole pre-training data."""
    X, y = data()
    count = TRIAL_UPDATES + 8  # so many that one pass is enough
    problem = psd_regression_stream(X, y, order="given")
    start = geometry.from_factor(orthonormal_columns(np.random.default_rng(0), D, R))
    method = OnlineRiemannianGradient(8, pretraining=count)
    state = method.init(problem, geometry, start)
    s, t0 = state.extras["s"], state.extras["t0"]
    assert s in GRID
    assert t0 in GRID
    assert state.pace.horizon == t0 * count * 8  # counted in the samples it was tried on, not in epochs
    batches, mean = problem.stream.sample(count, 8), s / state.pace.scale
    losses = {
        (a, b): method._trial(
            problem, geometry, start, iter(batches), count - count // 2, Pace(a / mean, count * 8 * b, 4.0 * mean)
        )
        for a in GRID
        for b in GRID
    }
    assert losses[s, t0] <= 1.5 * min(losses.values())
    assert losses[s, t0] < 0.5 * np.median(list(losses.values()))


@pytest.mark.parametrize("geometry", [FlatQuotient(D, R), Polar(D, R)])
@pytest.mark.parametrize("mu", [4.0, 1024.0])
def test_online_iterates_do_not_depend_on_units(mu, geometry):
    """(X_i, y_i) → (mu X_i, mu y_i) leaves W as it is: steps are in mean gradients, cuts as well."""
    X, y = data()
    method = OnlineRiemannianGradient(32, pretraining=8)
    Y = orthonormal_columns(np.random.default_rng(0), D, R)
    runs = (psd_regression_stream(X, y), psd_regression_stream(np.sqrt(mu) * X, mu * y))
    plain, scaled = (
        solve(run, geometry, method, start=geometry.from_factor(Y), max_iterations=1).matrix.to_dense() for run in runs
    )
    np.testing.assert_allclose(scaled, plain, rtol=1e-8, atol=1e-8 * np.linalg.norm(plain))


def test_wild_batches_are_cut():
    """A gradient of a thousand times the usual length moves the point by `longest` of them."""
    X, y = data()
    geometry = FlatQuotient(D, R)
    problem = psd_regression_stream(X, y, order="given")
    Y = orthonormal_columns(np.random.default_rng(0), D, R)
    method = OnlineRiemannianGradient(32)
    batch = next(problem.stream.take(32, 0, 1))
    moved = method.advance(problem, geometry, Y, [batch._replace(targets=1e6 * batch.targets)], Pace(0.1, 1.0, 2.0), 0)
    np.testing.assert_allclose(np.linalg.norm(moved[0] - Y), 0.1 * 2.0, rtol=1e-12)


def test_iterator_ends_the_run():
    X, y = data()
    batches = [(X[k : k + 64], y[k : k + 64]) for k in range(0, M, 64)]
    problem = psd_regression_stream(iter(batches), d=D, held_out=(X, y))
    result = solve(problem, Polar(D, R), OnlineRiemannianGradient(report_every=4, pretraining=2), max_iterations=100)
    assert result.history["samples"][-1] == M
    assert result.iterations < 10


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        ((X, Y[:-1]), {}, "y must have shape"), ((iter([]),), {}, "d, the number of columns"),
        ((iter([]),), {"d": 3}, "the stream holds no batch"),
        ((iter([(X, Y[:3])]),), {"d": D}, "batch 0 must hold rows"),
        ((X, Y, None, np.full(M, 2)), {}, "direction must be -1, 0 or"),
        ((iter([(X, Y, [1])]),), {"d": D}, "directions of batch 0 must be shaped"),
    ],
)  # fmt: skip
def test_what_is_no_stream_is_refused(arguments, options, text):
    with pytest.raises(ValueError, match=text):
        psd_regression_stream(*arguments, **options)


def test_the_pace_is_the_formula_and_stands_still_where_nothing_is_learned():
    """s_t = (s / μ) n t0 / (n t0 + t), gradients no longer than `longest` μ."""
    pace = OnlineRiemannianGradient(longest=3.0)._pace(0.5, 0.25, 800, 4.0)
    assert pace == (0.125, 200.0, 12.0)
    assert [pace.step(t) for t in (0, 200, 600)] == [0.125, 0.0625, 0.03125]
    assert OnlineRiemannianGradient()._pace(0.5, 0.25, 800, 0.0).scale == 0.0


@pytest.mark.parametrize(("size", "repeatable"), [(None, True), (10**6, False)])
def test_of_a_stream_without_end_or_that_is_read_once_some_batches_are_tried(size, repeatable):
    source = SimpleNamespace(stream=SimpleNamespace(size=size, repeatable=repeatable))
    assert OnlineRiemannianGradient()._pretraining_batches(source) == TRIAL_UPDATES


@pytest.mark.parametrize(("size", "batches"), [(None, TRIAL_UPDATES / EPOCH_SHARE), (320, 10), (321, 11)])
def test_a_step_is_an_epoch_or_many_batches_of_a_stream_without_end(size, batches):
    source = SimpleNamespace(stream=SimpleNamespace(size=size))
    assert OnlineRiemannianGradient()._batches_per_step(source) == batches
    assert OnlineRiemannianGradient(report_every=3)._batches_per_step(source) == 3


def test_the_training_loss_is_the_mean_over_the_samples_of_the_step():
    X, y = data()
    problem = psd_regression_stream(X, y, order="given")
    method = OnlineRiemannianGradient(32, scale=1e-12, annealing=1.0, pretraining=1, report_every=5)
    start = np.random.default_rng(3).standard_normal((D, R))
    state = method.init(problem, FlatQuotient(D, R), start)
    assert (state.position, state.samples) == (0, 0)
    assert state.pace.horizon == M  # samples of an epoch times t0
    after = method.step(state)  # so short a step that the point stays
    assert (after.position, after.samples) == (5, 160)
    mean = psd_regression_stream(X[:160], y[:160], order="given").at(start).value
    assert after.extras["training_loss"] == pytest.approx(mean, rel=1e-9)
