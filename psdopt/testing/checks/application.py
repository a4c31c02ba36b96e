"""Application checks: scikit-learn's conventions, metric axioms, determinism, permutations, persistence."""

from __future__ import annotations

import copy
import pickle
import warnings
from functools import partial
from typing import Any

import numpy as np

from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS
from psdopt.testing.checks.common import PASSED, failed
from psdopt.testing.registry import Case, Deviation, Deviations, Trivial, check
from psdopt.testing.subjects import ApplicationSubject, is_pairwise

PLAIN = ("full-rank",)


#: Accuracy requested of a solver if the estimator passes options on, since default tolerances may hide wrong data.
FINE_TOL = 1e-9
#: Accuracy of a model that is computed without iterations.
DIRECT_TOL = 1e-12
#: Models of one data set may differ by this many roots of the accuracy: values to tol determine M only to √tol.
AGREEMENT = 300.0
claim = partial(check, "application", regimes=PLAIN)


def solver_tol(subject: ApplicationSubject) -> float:
    """The accuracy that :func:`fitted_on` asks for: of the solver's options, else the estimator's own `tol`.

    An estimator without iteration parameters is assumed to compute its model directly.
    """
    parameters = subject.estimator.get_params()
    if "solver_options" in parameters:
        return FINE_TOL
    if "tol" in parameters or "max_iter" in parameters:
        return float(parameters.get("tol", 1e-6) or 1e-6)
    return DIRECT_TOL


def fitted_on(subject: ApplicationSubject, X: Any, y: Any, seed: int = 0) -> Any:
    """A copy of the estimator, fitted on X and y with this seed, to a fine tolerance where it takes solver options."""
    estimator = copy.deepcopy(subject.estimator)
    parameters = estimator.get_params()
    if "random_state" in parameters:
        estimator.set_params(random_state=seed)
    if "solver_options" in parameters:
        estimator.set_params(solver_options={"tol": FINE_TOL, **(parameters["solver_options"] or {})})
    return estimator.fit(X) if y is None else estimator.fit(X, y)


def _fitted(subject: ApplicationSubject, order: Any = None) -> Any:
    X, y = copy.deepcopy(subject.X), copy.deepcopy(subject.y)
    if order is not None:
        X = X[np.ix_(order, order)] if is_pairwise(subject.estimator) else X[order]
        y = None if y is None else y[order]
    return fitted_on(subject, X, y)


def model_of(estimator: Any, X: Any) -> dict[str, Array]:
    """The results of a fitted estimator that do not depend on signs and rotations: metric, predictions, distances."""
    model: dict[str, Array] = {}
    if hasattr(estimator, "get_mahalanobis_matrix"):
        model["Mahalanobis matrix"] = np.asarray(estimator.get_mahalanobis_matrix())
    for name in ("predict", "transform"):
        method = getattr(estimator, name, None)
        if method is not None:
            answer = np.asarray(method(X))
            model[name] = _distances(answer) if name == "transform" else answer
    for name in ("correlation_", "covariance_", "precision_", "kernel_", "approximation_"):
        if hasattr(estimator, name):
            value = getattr(estimator, name)
            model[name] = np.asarray(value.to_dense() if hasattr(value, "to_dense") else value)
    if "transform" not in model and hasattr(estimator, "embedding_"):
        model["distances of embedding_"] = _distances(np.asarray(estimator.embedding_))
    return model


def _distances(Z: Array) -> Array:
    Z = Z.reshape(len(Z), -1)
    return np.asarray(np.sqrt(np.maximum(((Z[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2), 0.0)))


def agreement(words: str, left: dict[str, Array], right: dict[str, Array], allowed: float) -> Deviations:
    """How far two models are apart, part by part, relative to the first."""
    if not left:
        raise Trivial("the fitted estimator offers nothing to compare (predict, transform, embedding_, ...)")
    for name, expected in left.items():
        found = right[name]
        if expected.dtype.kind not in "fiub":
            wrong = float(np.mean(found != expected))
        else:
            wrong = float(np.linalg.norm(found - expected)) / max(float(np.linalg.norm(expected)), 1e-300)
        yield Deviation(wrong, allowed, f"{words}: {name} differs by {wrong:.3g} (relative)")


@claim("0.1", repeats=False)
def sklearn_conventions(subject: ApplicationSubject, case: Case) -> Deviation:
    """scikit-learn's check_estimator passes, except for what the estimator declares as expected failures."""
    from sklearn.base import clone
    from sklearn.utils.estimator_checks import check_estimator

    expected = dict(getattr(subject.estimator, "expected_failed_checks", {}) or {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(clone(subject.estimator), on_fail=None, on_skip=None, expected_failed_checks=expected)
    broken = [r for r in results if r["status"] == "failed"]
    if not broken:
        return PASSED
    first = broken[0]
    names = ", ".join(r["check_name"] for r in broken[:4])
    words = f"{len(broken)} of {len(results)} fail: {names}; first: {first['exception']}"
    return Deviation(len(broken), 0.0, words[:400])


@claim("0.1", when=lambda s: hasattr(s.estimator, "get_mahalanobis_matrix"), reason="learns no metric")
def pseudo_metric(subject: ApplicationSubject, case: Case) -> Deviations:
    """The learned matrix is LᵀL ⪰ 0 with L = components_, and its distance is symmetric, zero at zero, triangular."""
    fitted = _fitted(subject)
    M, L = np.asarray(fitted.get_mahalanobis_matrix()), np.asarray(fitted.components_)
    size = max(float(np.linalg.norm(M)), 1e-300)
    X = np.asarray(subject.X)
    D = _distances(np.asarray(fitted.transform(X)))
    d2 = np.einsum("ijk,kl,ijl->ij", X[:, None] - X[None, :], M, X[:, None] - X[None, :])
    spread = max(float(np.max(np.abs(d2))), 1e-300)
    triangle = float(np.max(D[:, None, :] - D[:, :, None] - D[None, :, :].transpose(1, 0, 2).swapaxes(0, 1)))
    allowed = 1e4 * EPS * max(M.shape[0], 8)
    yield Deviation(float(np.linalg.norm(M - M.T)) / size, allowed, "the matrix is not symmetric")
    yield Deviation(-float(np.linalg.eigvalsh(0.5 * (M + M.T))[0]) / size, allowed, "the matrix is not PSD")
    yield Deviation(float(np.linalg.norm(L.T @ L - M)) / size, allowed, "components_ᵀ components_ is not the matrix")
    yield Deviation(float(np.max(np.abs(D**2 - d2))) / spread, 1e2 * allowed, "transform gives other distances")
    yield Deviation(triangle / np.sqrt(spread), 1e2 * allowed, "the triangle inequality fails")


@claim("0.1")
def same_seed_same_answer(subject: ApplicationSubject, case: Case) -> Deviations:
    """Fitted twice on the same data with the same seed, the model is bit for bit the same."""
    return agreement("fitted twice", model_of(_fitted(subject), subject.X), model_of(_fitted(subject), subject.X), 0.0)


@claim(
    "0.1",
    when=lambda s: bool(getattr(s.estimator, "permutation_invariant", True)),
    reason="claims to depend on the order of the samples",
)
def permuted_samples(subject: ApplicationSubject, case: Case) -> Deviations:
    """Fitted on permuted samples, the model is the same to the root of the solver's accuracy."""
    order = case.rng.permutation(len(subject.X))
    back = np.argsort(order)
    plain, permuted = _fitted(subject), _fitted(subject, order)
    # relations to the fitted samples follow the order of these samples
    rows = subject.X[:, order] if is_pairwise(subject.estimator) else subject.X
    left, right = model_of(plain, subject.X), model_of(permuted, rows)
    per_sample = {"distances of embedding_", "kernel_", "approximation_"}  # one row and column per sample
    if is_pairwise(subject.estimator):
        per_sample.add("correlation_")
    for name in left:
        if name in per_sample:
            right[name] = right[name][np.ix_(back, back)]
    return agreement("fitted on permuted samples", left, right, AGREEMENT * np.sqrt(solver_tol(subject)))


@claim("0.1")
def save_and_load(subject: ApplicationSubject, case: Case) -> Deviation | Deviations:
    """A fitted estimator survives pickling: the same parameters, the same model."""
    fitted = _fitted(subject)
    try:
        loaded = pickle.loads(pickle.dumps(fitted))
    except Exception as error:
        return failed(f"pickling raises {type(error).__name__}: {error}")
    if repr(loaded.get_params()) != repr(fitted.get_params()):
        return failed("parameters change when pickled")
    # a pickle may change the memory layout of an array, and with it the last bits of products
    return agreement("after pickling", model_of(fitted, subject.X), model_of(loaded, subject.X), 16.0 * EPS)
