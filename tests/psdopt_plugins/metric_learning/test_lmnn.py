"""LMNN: the objective against its definition, the active set against full enumeration, the estimator."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

import psdopt
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.operators import LinearMap
from psdopt.running.verdicts import CUTS
from psdopt_plugins.metric_learning.impostors import target_neighbours, violated_triplets
from psdopt_plugins.metric_learning.lmnn import LMNN
from psdopt_plugins.metric_learning.lmnn_problem import lmnn_problem
from psdopt_plugins.metric_learning.lmnn_start import principal_axes, scaled, targets_and_basis, whitening
from psdopt_plugins.metric_learning.triplets_classifier import TripletsClassifier

RNG = np.random.default_rng(0)
X = RNG.standard_normal((24, 4)) + 3.0
Y_LABELS = np.repeat([0, 1, 2], 8)
TARGETS = target_neighbours(X, Y_LABELS, 2)
ALL = np.array([(i, j, k) for i, j in TARGETS for k in range(24) if Y_LABELS[k] != Y_LABELS[i]])


def test_targets_are_the_nearest_of_the_class():
    for i in range(24):
        own = [k for k in range(24) if Y_LABELS[k] == Y_LABELS[i] and k != i]
        nearest = sorted(own, key=lambda k: np.sum((X[k] - X[i]) ** 2))[:2]
        assert sorted(TARGETS[TARGETS[:, 0] == i, 1]) == sorted(nearest)


@pytest.mark.parametrize("scale", [0.1, 0.5, 2.0])
def test_violated_triplets_are_all_of_them(scale, monkeypatch):
    """With classes in any order, in many blocks, listed in many parts."""
    monkeypatch.setattr("psdopt_plugins.metric_learning.impostors.BLOCK", 50)
    monkeypatch.setattr("psdopt_plugins.metric_learning.impostors.CACHED", 7)
    order = np.random.default_rng(6).permutation(24)
    place = np.argsort(order)
    Z = scale * X[order]
    rows, excess = violated_triplets(Z, Y_LABELS[order], place[TARGETS])
    d = np.sum((Z[:, None] - Z[None]) ** 2, axis=2)
    expected = {tuple(map(int, t)) for t in place[ALL] if d[t[0], t[1]] + 1.0 - d[t[0], t[2]] > 0.0}
    assert {tuple(map(int, t)) for t in rows} == expected
    assert len(rows) == len(expected)
    i, j, k = rows.T
    np.testing.assert_allclose(excess, d[i, j] + 1.0 - d[i, k], atol=1e-10)


def test_a_random_part_of_the_triplets_is_only_for_the_start(monkeypatch):
    whole = LMNN(n_neighbors=2, lam=0.5, passes=1, solver_options={"tol": 1e-6}).fit(X, Y_LABELS)
    monkeypatch.setattr("psdopt_plugins.metric_learning.lmnn_rounds.DRAWN_TRIPLETS", 20)
    part = LMNN(n_neighbors=2, lam=0.5, passes=1, solver_options={"tol": 1e-6}).fit(X, Y_LABELS)
    assert part.complete_
    assert part.result_.optimal
    assert part.n_triplets_ > 20
    assert part.result_.value == pytest.approx(whole.result_.value, rel=1e-5)


def test_limit_keeps_the_most_violated():
    _, everything = violated_triplets(0.1 * X, Y_LABELS, TARGETS)
    rows, excess = violated_triplets(0.1 * X, Y_LABELS, TARGETS, limit=20)
    assert len(rows) == 20
    np.testing.assert_allclose(np.sort(excess), np.sort(everything)[-20:])


@pytest.mark.parametrize("scale", [None, 1.0, 5.0])
def test_active_set_ends_at_the_optimum_of_all_triplets(scale):
    w = None if scale is None else scale * np.random.default_rng(3).random(24)
    options = {"tol": 1e-6}
    model = LMNN(2, lam=0.5, target_metric="euclidean", solver_options=options).fit(X, Y_LABELS, w)
    problem = lmnn_problem(X, TARGETS, ALL, 0.5, w)
    full = psdopt.solve(problem, tol=1e-6)
    assert model.complete_
    assert model.result_.optimal
    assert full.converged
    np.testing.assert_array_equal(np.unique(model.targets_, axis=0), np.unique(TARGETS, axis=0))
    assert model.result_.value == pytest.approx(full.value, rel=1e-5)
    assert problem.at(model.components_.T).value == pytest.approx(full.value, rel=1e-5)


def test_classifies_better_than_the_euclidean_metric():
    data, y = load_wine(return_X_y=True)
    model = LMNN().fit(data[::2], y[::2])
    near, far = model.transform(data[::2]), model.transform(data[1::2])
    learned = KNeighborsClassifier(3).fit(near, y[::2]).score(far, y[1::2])
    plain = KNeighborsClassifier(3).fit(data[::2], y[::2]).score(data[1::2], y[1::2])
    assert learned > max(plain, 0.93)


def test_constant_and_repeated_features_and_rank():
    data, y = load_iris(return_X_y=True)
    wide = np.hstack([data, np.ones((150, 1)), data[:, :1]])
    model = LMNN(rank=2).fit(wide, y)
    assert model.components_.shape == (2, 6)
    assert np.isfinite(model.components_).all()


def test_too_few_triplets_are_announced():
    with pytest.warns(ConvergenceWarning, match="LMNN stopped"):
        model = LMNN(max_triplets=5, max_rounds=6).fit(X, Y_LABELS)
    assert not model.complete_


@pytest.mark.parametrize(
    ("targets", "triplets", "lam", "text"),
    [
        ([], ALL, 1.0, "targets"),
        (TARGETS, ALL[:, :2], 1.0, "triplets"),
        ([[0, 0]], ALL, 1.0, "different"),
        ([[0, 99]], ALL, 1.0, "between 0 and 23"),
        (TARGETS, [[0, 1, 1]], 1.0, "different"),
        (TARGETS, ALL, -1.0, "lam"),
        (TARGETS.astype(float), ALL, 1.0, "integers"),
    ],
)
def test_bad_input(targets, triplets, lam, text):
    with pytest.raises((InvalidInputError, InvalidTypeError), match=text):
        lmnn_problem(X, targets, triplets, lam)


def test_options_left_at_none_are_no_options():
    data, labels = load_wine(return_X_y=True)
    data = data / data.std(axis=0)
    plain = LMNN().fit(data, labels)
    spelt = LMNN(solver_options={"max_iterations": None, "max_time": None}).fit(data, labels)
    assert spelt.n_iter_ == plain.n_iter_
    np.testing.assert_array_equal(spelt.components_, plain.components_)


@pytest.mark.parametrize("magnitude", [1e-30, 1.0, 1e30])
def test_no_triplet_is_lost_to_single_precision(magnitude):
    """Blocks in single precision let pass all that is within a hair of violation, in any units."""
    rng = np.random.default_rng(5)
    Z = magnitude * (rng.standard_normal((40, 3)) + 100.0)
    y = np.repeat([0, 1], 20)
    targets = target_neighbours(Z, y, 2)
    d = np.sum((Z[:, None] - Z[None]) ** 2, axis=2)
    i, j, k = np.array([(i, j, k) for i, j in targets for k in range(40) if y[k] != y[i]]).T
    gaps = d[i, k] - d[i, j]
    for margin in np.quantile(gaps[gaps > 0.0], [0.05, 0.5, 0.95]) * (1.0 + 1e-9):  # one triplet just beyond violation
        rows, _ = violated_triplets(Z, y, targets, margin)
        wanted = {tuple(map(int, t)) for t in np.column_stack([i, j, k])[gaps < margin * (1.0 - 1e-12)]}
        assert wanted <= {tuple(map(int, t)) for t in rows}
        assert len(rows) <= len(wanted) + 1


def test_start_is_at_its_best_scale():
    data = LinearMap(X, "X")
    L = RNG.standard_normal((4, 2))
    problem = lmnn_problem(X, TARGETS, ALL, 0.7)
    best = min(problem.at(s * L).value for s in np.geomspace(1e-3, 1e3, 4001))
    for units in (1e-5, 1.0, 1e5):
        start = scaled(data, Y_LABELS, TARGETS, 0.7, units * L)
        assert problem.at(start).value == pytest.approx(best, rel=1e-4)
    assert np.linalg.norm(scaled(data, Y_LABELS, TARGETS, 0.7, 1e3 * L)) < 1e-2 * np.linalg.norm(1e3 * L)


def test_scale_is_estimated_from_triplets_drawn_at_random(monkeypatch):
    rng = np.random.default_rng(8)
    data, labels = rng.standard_normal((400, 3)), np.arange(400) % 4
    targets = target_neighbours(data, labels, 2)
    axes = rng.standard_normal((3, 2))
    exact = np.linalg.norm(scaled(LinearMap(data, "X"), labels, targets, 1.0, axes))
    seen = []
    for count in (4000, 16_000, 64_000):
        monkeypatch.setattr("psdopt_plugins.metric_learning.lmnn_start.DRAWN_TRIPLETS", count)
        seen.append(np.linalg.norm(scaled(LinearMap(data, "X"), labels, targets, 1.0, axes)) / exact)
    assert len(set(seen)) == 3  # 320,000 triplets in all: each of them is an estimate
    np.testing.assert_allclose(seen, 1.0, atol=0.1)


@pytest.mark.parametrize(("load", "sparse"), [(load_wine, False), (load_wine, True), (load_breast_cancer, False)])
def test_raw_features_of_unlike_units_give_the_metric_of_standardised_ones(load, sparse):
    """Wine's proline has 2,600 times the range of its hue: targets in raw units are the nearest in proline."""
    raw, y = load(return_X_y=True)
    raw, y = raw[::2], y[::2]
    if sparse:
        raw = sp.csr_array(raw * (np.random.default_rng(0).random(raw.shape) < 0.8))
    standardised = StandardScaler(with_mean=not sparse).fit_transform(raw)
    finely = {"tol": 1e-8}  # two runs of the default accuracy end at values equal to 1e-10, at M to 1e-5
    model, other = (LMNN(rank=5, solver_options=finely).fit(X, y) for X in (raw, standardised))
    np.testing.assert_array_equal(model.targets_, other.targets_)
    a, b = model.transform(raw), other.transform(standardised)
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    np.testing.assert_allclose(a @ a.T, b @ b.T, atol=1e-6 * np.abs(b @ b.T).max())
    as_given = LMNN(rank=5, target_metric="euclidean").fit(raw, y)
    assert not np.array_equal(as_given.targets_, other.targets_)


def test_no_feature_is_lost_to_the_units_of_others():
    """M has entries from 1e-18 to 1e18: its eigenvectors in raw units hold the largest alone."""
    data, y = load_wine(return_X_y=True)
    standardised = StandardScaler().fit_transform(data[:, :4])
    raw = standardised * [1e-9, 1e9, 1.0, 1e4]
    model, other = LMNN().fit(raw, y), LMNN().fit(standardised, y)
    a, b = model.transform(raw), other.transform(standardised)
    np.testing.assert_allclose(a @ a.T, b @ b.T, atol=1e-6 * np.abs(b @ b.T).max())


def test_a_feature_of_subnormal_range_counts_as_constant():
    data = np.random.default_rng(6).standard_normal((20, 3))
    data[:, 1] *= 1e-310
    basis = whitening(data, target_neighbours(data, np.arange(20) % 2, 2))
    assert np.all(np.isfinite(basis))
    np.testing.assert_array_equal(basis[1], 0.0)


def test_features_of_very_different_units_cost_no_steps():
    """Sizes from 1e-3 to 1e3: damping by one number for all took thousands of steps and did not converge."""
    data, labels = load_breast_cancer(return_X_y=True)
    data = np.hstack([data, np.full((len(data), 1), 3.0)])
    model = LMNN().fit(data[::2], labels[::2])
    assert model.complete_
    assert model.result_.converged
    assert model.n_iter_ < 100
    # what never varied says nothing about distances to come
    np.testing.assert_array_equal(model.components_[:, -1], 0.0)


def test_targets_are_chosen_under_the_distance_that_classifies_better():
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], 60)
    informative = y[:, None] + 0.1 * rng.standard_normal((120, 1))
    # a feature of large variance that both classes share hides the informative one from the Euclidean distance
    hidden = np.hstack([informative, 30.0 * rng.standard_normal((120, 1))])
    spoilt = np.hstack([5.0 * informative, 1e-3 * rng.standard_normal((120, 6))])
    for data, better in ((hidden, "whitened"), (spoilt, "euclidean")):
        chosen, basis = targets_and_basis(data, y, 3, "auto")
        np.testing.assert_array_equal(chosen, targets_and_basis(data, y, 3, better)[0])
        i, j = chosen.T
        scatter = basis.T @ ((data[i] - data[j]).T @ (data[i] - data[j]) / len(chosen)) @ basis
        assert np.linalg.eigvalsh(scatter)[-1] <= 1.0 + 1e-8
    assert targets_and_basis(hidden, y, 3, "auto")[0].shape == (360, 2)


def test_columns_that_hardly_matter_do_not_hold_back_the_others():
    """The preconditioner's claim, in steps, on a factor with more columns than the optimum needs."""
    data, labels = (half[::3] for half in load_digits(return_X_y=True))
    targets, basis = targets_and_basis(data, labels, 3, "euclidean")
    white = data @ basis
    start = scaled(LinearMap(white, "X"), labels, targets, 1.0, principal_axes(white, 60))
    problem = lmnn_problem(white, targets, violated_triplets(white @ start, labels, targets, 1.5)[0], 1.0)
    geometry, runs = psdopt.FlatQuotient(64, 60), []
    for preconditioner in ("auto", "gram"):
        most = 4 * runs[0].iterations if runs else None
        method = psdopt.ConjugateGradient(preconditioner=preconditioner)
        runs.append(psdopt.solve(problem, geometry, method, start=start, tol=1e-3, max_iterations=most))
    assert [run.converged for run in runs] == [True, False]


def test_integer_weights_are_repetitions_of_the_terms():
    w = np.random.default_rng(2).integers(1, 4, 24)
    copies = np.split(np.arange(w.sum()), np.cumsum(w)[:-1])
    targets = [(i, copies[j][0]) for a, j in TARGETS for i in copies[a]]
    triplets = [(i, copies[j][0], k) for a, j, b in ALL for i in copies[a] for k in copies[b]]
    L = 0.3 * RNG.standard_normal((4, 2))
    weighted = lmnn_problem(X, TARGETS, ALL, 0.7, w).at(L)
    repeated = lmnn_problem(np.repeat(X, w, axis=0), targets, triplets, 0.7).at(L)
    assert weighted.value == pytest.approx(repeated.value, rel=1e-12)
    S = repeated.gradient @ np.eye(4)
    np.testing.assert_allclose(weighted.gradient @ np.eye(4), S, atol=1e-11 * np.linalg.norm(S))


def test_samples_without_weight_are_left_out():
    w = np.ones(24)
    w[[1, 9]] = 0.0
    kept = w > 0.0
    model, other = LMNN(2).fit(X, Y_LABELS, w), LMNN(2).fit(X[kept], Y_LABELS[kept])
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), other.get_mahalanobis_matrix())


def test_triplets_that_are_given_are_the_problem():
    options = {"tol": 1e-6}
    model = LMNN(2, lam=0.5, solver_options=options).fit(X, triplets=ALL)
    labelled = LMNN(2, lam=0.5, target_metric="euclidean", solver_options=options).fit(X, Y_LABELS)
    assert model.complete_
    assert (model.result_.optimal, model.n_triplets_) == (True, len(ALL))
    assert model.result_.value == pytest.approx(labelled.result_.value, rel=1e-4)
    some = TripletsClassifier(LMNN(lam=0.5)).fit(X[ALL[::3]])
    assert some.score(X[ALL]) > 0.6
    weights = LMNN(2, lam=0.5, solver_options=options).fit(X, triplets=ALL, sample_weight=2.0 * np.ones(24))
    plain = lmnn_problem(X, TARGETS, ALL, 1.0)  # all terms of the sum twice, and its margins twice again
    best = psdopt.solve(plain, tol=1e-6).value
    assert weights.result_.value == pytest.approx(2.0 * best, rel=1e-4)


@pytest.mark.parametrize(
    ("options", "data", "given", "text"),
    [
        ({"target_metric": "whitened"}, sp.csr_array(X), {"y": Y_LABELS}, "target_metric 'whitened' needs a dense X"),
        ({"target_metric": "cosine"}, X, {"y": Y_LABELS}, "unknown target_metric"),
        ({}, X, {"triplets": [(0, 1, 24)]}, "triplets must hold indices between 0 and 23; found 24"),
        ({}, X, {"y": Y_LABELS, "sample_weight": -np.ones(24)}, "sample_weight must be at least 0"),
        ({"solver_options": {"max_time": "1"}}, X, {"y": Y_LABELS}, "max_time"),
        ({"solver_options": {"max_time": -1.0}}, X, {"y": Y_LABELS}, "max_time"),
    ],
)
def test_bad_input_of_the_estimator(options, data, given, text):
    with pytest.raises(InvalidInputError, match=text):
        LMNN(**options).fit(data, **given)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError])
def test_a_cut_in_the_first_evaluation_leaves_the_start(kind, monkeypatch):
    def cut(self, Y):
        raise kind

    monkeypatch.setattr(psdopt.TermSum, "at", cut)
    with pytest.warns(ConvergenceWarning):
        model = LMNN().fit(X, Y_LABELS)
    assert model.result_.status is CUTS[kind]
    assert model.n_rounds_ == 0
    assert np.all(np.isfinite(model.components_))
    assert np.any(model.components_)


def test_the_limit_of_time_is_that_of_all_rounds_together(monkeypatch):
    limits = []

    def timed(*pieces, **options):
        limits.append(options["max_time"])
        return psdopt.solve(*pieces, **options)

    monkeypatch.setattr("psdopt_plugins.metric_learning.lmnn_rounds.solve", timed)
    model = LMNN(solver_options={"max_time": 100.0}).fit(X, Y_LABELS)
    assert len(limits) > model.n_rounds_ > 0  # the steps before the first count too
    assert 100.0 > limits[0] > limits[-1]
    assert limits == sorted(limits, reverse=True)
    limits.clear()
    with pytest.warns(ConvergenceWarning):
        model = LMNN(solver_options={"max_time": 0.0}).fit(X, Y_LABELS)
    assert limits == [0.0]
    assert model.result_.status is psdopt.Status.TIME_LIMIT
    assert model.result_.message == "the time limit of 0 s was reached"


@pytest.mark.parametrize("given", [{"y": Y_LABELS}, {"triplets": [(0, 1, 20), (3, 2, 21)]}], ids=["labels", "triplets"])
def test_the_value_of_a_fit_cut_before_its_first_step_is_that_at_its_start(given, monkeypatch):
    problems = []

    def cut(problem, *pieces, **options):
        problems.append(problem)
        return psdopt.solve(problem, *pieces, **{**options, "max_time": 0.0})

    for module in ("lmnn_rounds", "lmnn"):
        monkeypatch.setattr(f"psdopt_plugins.metric_learning.{module}.solve", cut)
    with pytest.warns(ConvergenceWarning, match=r"the time limit of 0 s was reached$"):
        result = LMNN().fit(X, **given).result_
    assert len(problems) == 1
    assert result.ended_by == psdopt.MaxTime(0.0)
    assert result.matrix.norm() > 0.0
    assert result.value == pytest.approx(problems[0].at(result.matrix.factor).value, rel=1e-12)


@pytest.mark.parametrize("before", [1, 2, 4])
def test_a_run_cut_before_its_first_step_leaves_the_result_of_the_one_before(before, monkeypatch):
    runs = []

    def cut(*pieces, **options):
        runs.append(psdopt.solve(*pieces, **{**options, "max_time": 0.0 if len(runs) == before else 100.0}))
        return runs[-1]

    monkeypatch.setattr("psdopt_plugins.metric_learning.lmnn_rounds.solve", cut)
    with pytest.warns(ConvergenceWarning, match="the time limit of 50 s was reached"):
        model = LMNN(solver_options={"max_time": 50.0, "tol": 1e-5}).fit(X, Y_LABELS)
    assert len(runs) == before + 1
    assert np.isnan(runs[-1].value)
    assert model.result_.status is psdopt.Status.TIME_LIMIT
    assert model.result_.value == runs[-2].value
    assert "the time limit of 50 s" in model.result_.message
    assert model.result_.tol == 1e-5


@pytest.mark.parametrize("shape", [(20, 60), (10, 100), (40, 39)], ids=str)
@pytest.mark.parametrize("copies", [1, 2])
def test_more_features_than_samples(shape, copies):
    """A metric of F = 0 separates the classes by any margin, so that a round may begin without a violated triplet."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal(shape), rng.integers(0, 2, shape[0])
        model = LMNN().fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
        assert model.complete_
        assert model.result_.converged
        assert model.n_rounds_ < 10


def test_a_second_pass_takes_the_targets_of_the_learned_metric():
    """Two attributes balance where their products are equal: no Euclidean neighbour is a good target."""
    rng = np.random.default_rng(0)
    X = rng.integers(1, 6, (400, 4)).astype(float)
    y = np.sign(X[:, 0] + X[:, 1] - X[:, 2] - X[:, 3])
    train, test = slice(0, 250), slice(250, None)
    scores, targets = [], []
    for passes in (1, 2):
        model = LMNN(passes=passes).fit(X[train], y[train])
        near = KNeighborsClassifier(3).fit(model.transform(X[train]), y[train])
        scores.append(near.score(model.transform(X[test]), y[test]))
        targets.append(model.targets_)
        assert model.complete_
        assert model.result_.converged
    assert targets[0].shape == targets[1].shape
    assert targets[0].tolist() != targets[1].tolist()
    assert scores[1] > scores[0]


@pytest.mark.parametrize(
    ("m", "d", "metric", "passes"), [(60, 4, "auto", 2), (60, 4, "euclidean", 1), (60, 15, "auto", 1)]
)
def test_targets_are_chosen_twice_where_samples_outnumber_the_unknowns(m, d, metric, passes):
    """4 · 5 / 2 = 10 unknowns of 60 samples, 15 · 16 / 2 = 120 of 60; a metric that is prescribed is kept."""
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((m, d)), np.arange(m) % 3
    given, default = (LMNN(target_metric=metric, passes=count).fit(X, y) for count in (passes, None))
    np.testing.assert_array_equal(default.targets_, given.targets_)
    assert default.n_iter_ == given.n_iter_
