"""certificate_on: a proven bound on how far a learner is from the best matrix for the rows given.

The objectives are written out for CVXPY, whose solver Clarabel finds their minima.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from psdopt import Certificate
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt_plugins.metric_learning import (
    KTA,
    LMNN,
    DistanceRegression,
    Linearity,
    PairsClassifier,
    PSDBoost,
    TripletsClassifier,
)
from psdopt_plugins.pair_sampling import sampled_pairs
from psdopt_plugins.pairs import joined_pairs
from psdopt_plugins.regression import PSDRegressor

RNG = np.random.default_rng(3)
D = 4
X = RNG.standard_normal((300, D)) @ np.diag([1.0, 2.0, 1.0, 0.5])
LABELS = RNG.integers(3, size=300)
X[:, 0] += 2.0 * LABELS
TARGETS = (X @ RNG.standard_normal(D)) ** 2 + 0.3 * RNG.standard_normal(300)
SEEN, OTHER = slice(0, 200), slice(200, 300)
NEW, NEW_LABELS, NEW_TARGETS = X[OTHER], LABELS[OTHER], TARGETS[OTHER]
PAIRS = joined_pairs(*sampled_pairs(NEW_LABELS, 1.5, RNG))
#: One per pair (i, j), so that the problem of a fit is the sum over triplets.
TRIPLETS = (np.arange(25) + np.array([[0], [25], [50]])).T
TIGHT = {"tol": 1e-9}


def forms(V: Any, M: Any) -> Any:
    """vᵀMv for the rows v of V, of a matrix or a variable M."""
    return cp.sum(cp.multiply(V @ M, V), axis=1)


def lengths(i: Any, j: Any, M: Any) -> Any:
    return forms(NEW[i] - NEW[j], M)


@dataclass
class Case:
    """A learner that has seen some rows, other `rows`, and F over these; the same learner fitted to them tightly."""

    learner: Any
    rows: dict[str, Any]
    F: Callable[[Any], Any]
    fitted: Any

    def least(self) -> float:
        M = cp.Variable((D, D), PSD=True)
        return float(cp.Problem(cp.Minimize(self.F(M))).solve(solver=cp.CLARABEL))

    def value(self) -> float:
        L = self.learner.components_
        return float(self.F(cp.Constant(L.T @ L)).value)


def regression() -> Case:
    model = PSDRegressor(fit_intercept=False, solver_options=TIGHT)
    rows = {"X": NEW, "y": NEW_TARGETS}
    learner = PSDRegressor(fit_intercept=False).partial_fit(X[SEEN], TARGETS[SEEN])
    return Case(learner, rows, lambda M: cp.sum_squares(forms(NEW, M) - NEW_TARGETS) / 200.0, model.fit(**rows))


def with_intercept() -> Case:
    learner = PSDRegressor(fit_intercept=True).partial_fit(X[SEEN], TARGETS[SEEN] - 1.0)
    y, c = NEW_TARGETS - 1.0, learner.intercept_
    fitted = PSDRegressor(fit_intercept=True, solver_options=TIGHT).fit(NEW, y)
    return Case(learner, {"X": NEW, "y": y}, lambda M: cp.sum_squares(forms(NEW, M) + c - y) / 200.0, fitted)


def distances() -> Case:
    learner = DistanceRegression(batch_size=256).partial_fit(X[SEEN], LABELS[SEEN])
    (i, j, s), (upper, lower) = PAIRS.T, learner.bounds_

    def F(M: Any) -> Any:
        missed = cp.multiply(s, lengths(i, j, M) - np.where(s == 1, upper, lower))
        return cp.sum_squares(cp.pos(missed)) / (2.0 * len(PAIRS))

    fitted = DistanceRegression(lam=0.0, solver_options=TIGHT).fit(NEW, pairs=PAIRS)
    return Case(learner, {"X": NEW, "pairs": PAIRS}, F, fitted)


def neighbours() -> Case:
    i, j, k = TRIPLETS.T

    def F(M: Any) -> Any:
        near, far = lengths(i, j, M), lengths(i, k, M)
        return cp.sum(near) + 2.0 * cp.sum_squares(cp.pos(1.0 + near - far))

    learner = LMNN(lam=2.0).partial_fit(X[SEEN], LABELS[SEEN])
    fitted = LMNN(lam=2.0, solver_options=TIGHT).fit(NEW, triplets=TRIPLETS)
    return Case(learner, {"X": NEW, "triplets": TRIPLETS}, F, fitted)


def signed() -> Case:
    i, j, s = PAIRS.T

    def F(M: Any) -> Any:
        return cp.sum_squares(M - np.eye(D)) + 0.01 * (s @ lengths(i, j, M))

    learner, similar = Linearity(lam=0.01), sampled_pairs(LABELS[SEEN], 0.5, RNG)
    return Case(
        learner.partial_fit(X[SEEN], pairs=similar),
        {"X": NEW, "pairs": PAIRS},
        F,
        Linearity(lam=0.01).fit(NEW, pairs=PAIRS),
    )


def alignment() -> Case:
    alike = (NEW_LABELS[:, None] == NEW_LABELS).astype(float)

    def F(M: Any) -> Any:
        return 0.1 * cp.sum_squares(NEW @ M @ NEW.T - alike) + cp.trace(M)

    learner, rows = KTA(lam=0.1, regularizer="trace"), {"X": NEW, "y": NEW_LABELS}
    fitted = KTA(lam=0.1, regularizer="trace", solver_options=TIGHT).fit(**rows)
    return Case(learner.fit(X[SEEN], LABELS[SEEN]), rows, F, fitted)


CASES = [regression, with_intercept, distances, neighbours, signed, alignment]
LEARNERS = [PSDRegressor, DistanceRegression, LMNN, Linearity, KTA]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.__name__)
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param()
    return found


@cache
def known(learner: Any) -> Any:
    """A learner that was fitted to all samples."""
    return learner().fit(X, TARGETS if learner is PSDRegressor else LABELS)


def is_sound(certificate: Certificate, least: float) -> bool:
    """Whether F(M) less the proven gap is no larger than the least value of F known."""
    assert certificate.gap is not None
    return bool(certificate.value - certificate.gap <= least + 1e-6 * abs(least))


def test_the_bound_is_below_the_minimum_over_the_rows_given(case: Case):
    certificate, least = case.learner.certificate_on(**case.rows), case.least()
    assert certificate.value == pytest.approx(case.value(), rel=1e-9)
    assert least < certificate.value
    assert is_sound(certificate, least)
    # a bound that claims half of the true distance is found out
    assert not is_sound(replace(certificate, gap=0.5 * (certificate.value - least)), least)


def test_the_bound_says_something(case: Case):
    """Where learner and rows belong together it is at most thirty times the truth, and far away it says so."""
    least, certificate = case.least(), case.learner.certificate_on(**case.rows)
    assert certificate.gap is not None
    assert certificate.gap <= 30.0 * (certificate.value - least)
    far = pickle.loads(pickle.dumps(case.learner))
    far.components_ = far.components_[:, ::-1] * 3.0
    other = far.certificate_on(**case.rows)
    assert other.gap is not None
    assert other.gap > 3.0 * certificate.gap
    assert is_sound(other, least)


def test_it_proves_the_minimiser_that_a_fit_finds(case: Case):
    assert case.fitted.certificate_on(**case.rows).gap_relative <= 1e-6


def test_the_learner_is_left_as_it_was(case: Case):
    before = pickle.dumps(case.learner)
    case.learner.certificate_on(**case.rows)
    assert pickle.dumps(case.learner) == before


@pytest.mark.parametrize("state", [np.random.default_rng(0), np.random.RandomState(0)])
def test_pairs_drawn_for_a_proof_leave_the_learner_its_random_numbers(state: Any):
    learner = DistanceRegression(random_state=state, batch_size=256).partial_fit(X[SEEN], LABELS[SEEN])
    before = pickle.dumps(learner)
    learner.certificate_on(NEW, NEW_LABELS)
    assert pickle.dumps(learner) == before


def test_more_batches_bring_a_smaller_bound_on_all_rows_seen():
    learner = PSDRegressor(fit_intercept=False)
    gaps = []
    for _ in range(3):
        learner.partial_fit(X, TARGETS)
        gaps.append(learner.certificate_on(X, TARGETS).gap_relative)
    assert gaps[2] < gaps[0]


def test_a_stream_of_pairs_is_proven_on_all_of_them():
    """Linearity solves each call's sum over all pairs so far: no other M is better for the pairs of all calls."""
    learner, parts = Linearity(lam=0.01), np.array_split(PAIRS, 3)
    gaps = [learner.partial_fit(NEW, pairs=part).certificate_on(NEW, pairs=PAIRS).gap for part in parts]
    assert gaps[-1] <= 1e-12 < gaps[0]


@pytest.mark.parametrize("kind", ["sparse", "blocks"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_rows_of_other_kinds_have_the_same_certificate(learner: Any, kind: str, tmp_path: Any):
    model, y = known(learner), NEW_TARGETS if learner is PSDRegressor else NEW_LABELS
    rows: Any = sp.csr_array(NEW)
    if kind == "blocks":
        np.save(tmp_path / "rows.npy", NEW)
        rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    found, expected = model.certificate_on(rows, y), model.certificate_on(NEW, y)
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    assert found.gap == pytest.approx(expected.gap, rel=1e-6)


@pytest.mark.parametrize("inner", [Linearity(), DistanceRegression()])
def test_that_of_pairs_is_that_of_their_learner(inner: Any):
    points, signs = NEW[PAIRS[:, :2]], PAIRS[:, 2]
    model = PairsClassifier(inner).fit(points[:100], signs[:100])
    rows = np.column_stack([np.arange(len(PAIRS) * 2).reshape(-1, 2), signs])
    expected = model.estimator_.certificate_on(points.reshape(-1, D), pairs=rows)
    assert model.certificate_on(points, signs).as_dict() == expected.as_dict()


def test_that_of_triplets_is_that_of_their_learner():
    model = TripletsClassifier(LMNN()).partial_fit(NEW[TRIPLETS])
    expected = model.estimator_.certificate_on(NEW, triplets=TRIPLETS)
    assert model.certificate_on(NEW[TRIPLETS]).gap == pytest.approx(expected.gap, rel=1e-9)


@pytest.mark.parametrize("learner", [*LEARNERS, PairsClassifier, TripletsClassifier])
def test_a_learner_that_has_learned_nothing_refuses(learner: Any):
    with pytest.raises(NotFittedError):
        learner().certificate_on(X, LABELS)


MIXED = np.array(["a", 1] * 50, dtype=object)
HOLED = NEW.copy()
HOLED[3, 2] = np.nan


@pytest.mark.parametrize(
    ("rows", "labels", "said"),
    [
        (NEW[:, 1:], NEW_LABELS, "X has 3 features"),
        (HOLED, NEW_LABELS, r"Input X contains NaN\.$"),
        (NEW[:0], NEW_LABELS[:0], r"0 sample\(s\)"),
        (NEW, NEW_LABELS[:-1], "samples: |y must"),
        (NEW, None, "requires y"),
        (NEW, MIXED, "y must hold"),
    ],
)
@pytest.mark.parametrize("learner", LEARNERS)
def test_rows_that_it_cannot_judge_are_refused_in_a_sentence(learner: Any, rows: Any, labels: Any, said: str):
    with pytest.raises(ValueError, match=said) as refusal:
        known(learner).certificate_on(rows, labels)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("labels", [np.zeros(100), NEW_TARGETS])
@pytest.mark.parametrize("learner", [DistanceRegression, LMNN, Linearity, KTA])
def test_labels_that_are_no_classes_are_refused(learner: Any, labels: Any):
    with pytest.raises(ValueError, match=r"at least 2 classes|Unknown label type"):
        known(learner).certificate_on(NEW, labels)


def test_tuples_that_it_cannot_judge_are_refused():
    pairs, triplets = NEW[PAIRS[:, :2]], NEW[TRIPLETS]
    model = PairsClassifier().fit(pairs, PAIRS[:, 2])
    for labels in (None, np.arange(len(PAIRS))):
        with pytest.raises(InvalidInputError, match="y must be"):
            model.certificate_on(pairs, labels)
    with pytest.raises(InvalidInputError, match="4 features; found 3"):
        model.certificate_on(pairs[..., 1:], PAIRS[:, 2])
    with pytest.raises(InvalidTypeError, match=r"whose certificate_on takes triplets=.*; found PSDBoost"):
        TripletsClassifier(PSDBoost()).fit(triplets).certificate_on(triplets)


@pytest.mark.parametrize("learner", LEARNERS)
def test_its_arguments_and_formula_are_those_of_the_learner(learner: Any):
    signature = inspect.signature(learner.certificate_on)
    assert set(signature.parameters) <= set(inspect.signature(learner.fit).parameters)
    assert signature.return_annotation is Certificate
    assert "F(M) " in learner.certificate_on.__doc__
    assert "``gap`` bounds" in learner.certificate_on.__doc__


@pytest.mark.parametrize("learner", [DistanceRegression, LMNN, Linearity])
def test_constant_features_and_offsets_do_not_weaken_the_bound(learner: Any):
    """Differences of rows are the same; without digits lost to the offset, F is, and so is what is proven of it."""
    rows, shifted = np.column_stack([NEW, np.zeros(100)]), np.column_stack([NEW + 2.0**12, np.full(100, 0.1)])
    model = learner().fit(rows, NEW_LABELS)
    model.components_ = 1.5 * model.components_
    expected, found = (model.certificate_on(each, NEW_LABELS) for each in (rows, shifted))
    assert found.value == pytest.approx(expected.value, rel=1e-9)
    assert found.gap == pytest.approx(expected.gap, rel=1e-6)


def test_the_value_of_an_alignment_is_not_rounded_by_the_gram_matrix():
    rows = NEW + 1e5
    model = KTA(solver_options={"max_iterations": 1}, lam=1.0)
    model.components_, model.n_features_in_ = np.diag([1.0, -1.0, 0.0, 0.0])[:2] - 0.5 * np.eye(2, D, 2), D
    model.components_ -= model.components_.mean(axis=1, keepdims=True)  # so that the offset cancels in X Lᵀ
    image = NEW @ model.components_.T
    alike = (NEW_LABELS[:, None] == NEW_LABELS).astype(float)
    M = model.components_.T @ model.components_
    expected = ((image @ image.T - alike) ** 2).sum() + ((M - np.eye(D)) ** 2).sum()
    assert model.certificate_on(rows, NEW_LABELS).value == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("learner", [PSDRegressor, DistanceRegression, LMNN])
def test_features_that_do_not_occur_in_the_rows_given_do_not_weaken_the_bound(learner: Any):
    """As the category of a one-hot column that no row of a held-out block has."""
    y = NEW_TARGETS if learner is PSDRegressor else NEW_LABELS
    model, rows = known(learner), np.insert(NEW, 2, 0.0, axis=1)
    wider = learner().fit(
        np.insert(X, 2, RNG.standard_normal(300), axis=1), TARGETS if learner is PSDRegressor else LABELS
    )
    for name in ("bounds_", "intercept_"):
        if hasattr(model, name):
            setattr(wider, name, getattr(model, name))
    wider.components_ = np.insert(1.5 * model.components_, 2, 7.0, axis=1)
    narrow = pickle.loads(pickle.dumps(model))
    narrow.components_ = 1.5 * model.components_
    for each in (rows, sp.csr_array(rows)):
        found, expected = wider.certificate_on(each, y), narrow.certificate_on(NEW, y)
        assert found.value == pytest.approx(expected.value, rel=1e-9)
        assert found.gap == pytest.approx(expected.gap, rel=1e-6)


def test_rows_in_which_no_feature_counts_are_judged():
    model = known(PSDRegressor)
    assert model.certificate_on(np.zeros((5, D)), np.ones(5)).gap >= 0.0
    with_pairs = known(DistanceRegression).certificate_on(np.ones((4, D)), pairs=[(0, 1, 1), (2, 3, -1)])
    assert with_pairs.gap >= 0.0
