"""Application checks: data as they are stored, as they are given, and as they count; seeds, warnings and results."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from psdopt.contracts.matrix import LowRankPSD
from psdopt.linalg.arrays import Array
from psdopt.testing.checks.application import AGREEMENT, agreement, claim, fitted_on, model_of, solver_tol
from psdopt.testing.checks.common import PASSED, failed
from psdopt.testing.reference import dense_certificate
from psdopt.testing.registry import Case, Deviation, Deviations, Trivial
from psdopt.testing.subjects import ApplicationSubject, is_pairwise
from psdopt.testing.untouched import changes, snapshot

#: Number of samples that are moved, and the distance relative to their size.
MOVED, FAR = 3, 0.5
#: Accuracy to which the learned matrix and that of `result_` must agree.
ONE_MODEL = 1e-8


def _array(subject: ApplicationSubject) -> Array:
    """X as a dense float array; the check is trivial for other X."""
    X = subject.X
    if sp.issparse(X) or not isinstance(X, np.ndarray) or X.dtype.kind != "f" or X.ndim != 2:
        raise Trivial("X is no dense array of floats")
    return X


def _alike(left: dict[str, Array], right: dict[str, Array]) -> bool:
    return bool(left) and all(np.array_equal(value, right[name]) for name, value in left.items())


@claim("0.2")
def data_untouched(subject: ApplicationSubject, case: Case) -> Deviation:
    """fit changes neither X nor y nor an array among the parameters, and takes arrays that are read-only."""
    X, y = copy.deepcopy(subject.X), copy.deepcopy(subject.y)
    held = {"X": X, "y": y, "parameters": subject.estimator.get_params()}
    before = snapshot(held)
    fitted = fitted_on(subject, X, y)
    changed = changes(before, {path: value for path, value in snapshot(held).items() if path in before})
    if changed:
        return failed(f"fit changed {', '.join(changed[:3])}")
    del fitted
    for array in (X, y):
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    fitted_on(subject, X, y)
    return PASSED


def _takes_sparse(subject: ApplicationSubject) -> bool:
    tags = getattr(subject.estimator, "__sklearn_tags__", None)
    return tags is not None and bool(tags().input_tags.sparse) and not is_pairwise(subject.estimator)


@claim("0.2")
def storage_independence(subject: ApplicationSubject, case: Case) -> Deviations:
    """The model is the same, to the solver's accuracy, for X dense, by columns, and sparse where that is accepted."""
    X = _array(subject)
    stored: dict[str, Any] = {"stored by columns": np.asfortranarray(X)}
    if _takes_sparse(subject):
        stored |= {"CSR": sp.csr_array(X), "CSC": sp.csc_array(X)}
    expected = model_of(fitted_on(subject, X, subject.y), X)
    for words, other in stored.items():
        found = model_of(fitted_on(subject, other, subject.y), X)
        yield from agreement(f"fitted on X {words}", expected, found, AGREEMENT * np.sqrt(solver_tol(subject)))


@claim("0.2")
def not_rounded(subject: ApplicationSubject, case: Case) -> Deviation:
    """X counts in double precision, sparse too where that is accepted: rounded to single it gives another model."""
    X = _array(subject)
    rounded = X.astype(np.float32).astype(np.float64)
    if np.array_equal(rounded, X):
        raise Trivial("X is made of numbers in single precision")
    stored: dict[str, Any] = {"X": np.asarray, **({"a sparse X": sp.csr_array} if _takes_sparse(subject) else {})}
    for words, way in stored.items():
        left = model_of(fitted_on(subject, way(X), subject.y), X)
        if not left:
            raise Trivial("the fitted estimator offers nothing to compare")
        if _alike(left, model_of(fitted_on(subject, way(rounded), subject.y), X)):
            return failed(f"the model of {words} and of {words} in single precision are the same to the last bit")
    return PASSED


@claim("0.2")
def fits_apart(subject: ApplicationSubject, case: Case) -> Deviations:
    """A fit of another estimator of the class to other data leaves the model of the first as it was."""
    X = _array(subject)
    first = fitted_on(subject, copy.deepcopy(X), copy.deepcopy(subject.y))
    before = model_of(first, X)
    other = 1.25 * X  # pairwise data may only be stretched, so that a symmetric matrix stays symmetric
    other = other if is_pairwise(subject.estimator) else other + 0.1 * case.rng.standard_normal(X.shape)
    fitted_on(subject, other, copy.deepcopy(subject.y))
    return agreement("after another estimator was fitted", before, model_of(first, X), 0.0)


@claim("0.2", when=lambda s: not is_pairwise(s.estimator), reason="X holds relations, not samples")
def samples_count(subject: ApplicationSubject, case: Case) -> Deviation:
    """A sample that is moved moves the model."""
    X = _array(subject)
    left = model_of(fitted_on(subject, X, subject.y), X)
    if not left:
        raise Trivial("the fitted estimator offers nothing to compare")
    for i in case.rng.permutation(len(X))[:MOVED]:
        moved = X.copy()
        moved[i] += FAR * np.linalg.norm(X[i]) * case.rng.standard_normal(X.shape[1])
        if not _alike(left, model_of(fitted_on(subject, moved, subject.y), X)):
            return PASSED
    return failed(f"{MOVED} samples were moved, one at a time, and the model is the same to the last bit")


@claim("0.2", when=lambda s: "random_state" in s.estimator.get_params(), reason="takes no random_state")
def seed_counts(subject: ApplicationSubject, case: Case) -> Deviation:
    """With another random_state the fit is another one, if only in its last bits."""
    seen = []
    for seed in range(3):
        fitted = fitted_on(subject, subject.X, subject.y, seed)
        state = {name: value for name, value in vars(fitted).items() if name.endswith("_")}
        state.pop("result_", None)
        seen.append((model_of(fitted, subject.X), snapshot(state), _course(fitted)))
    first = seen[0]
    if all(
        _alike(first[0], model) and not changes(first[1], held) and course == first[2]
        for model, held, course in seen[1:]
    ):
        return failed("three values of random_state give the same fit to the last bit: it is not used")
    return PASSED


def _course(fitted: Any) -> tuple[float, ...]:
    """The values along the run, if the estimator keeps its result."""
    result = getattr(fitted, "result_", None)
    return () if result is None else tuple(map(float, result.history["value"]))


@claim("0.2")
def unconverged_warns(subject: ApplicationSubject, case: Case) -> Deviation:
    """A fit that one iteration cannot finish warns with scikit-learn's ConvergenceWarning."""
    estimator = copy.deepcopy(subject.estimator)
    parameters = estimator.get_params()
    if "solver_options" in parameters:
        estimator.set_params(solver_options={**(parameters["solver_options"] or {}), "max_iterations": 1})
    elif "max_iter" in parameters:
        estimator.set_params(max_iter=1)
    else:
        raise Trivial("takes no limit of iterations (solver_options, max_iter)")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(subject.X) if subject.y is None else estimator.fit(subject.X, subject.y)
    result = getattr(estimator, "result_", None)
    if result is None or result.converged:
        raise Trivial("one iteration is enough, or the estimator keeps no result_")
    if any(issubclass(one.category, ConvergenceWarning) for one in caught):
        return PASSED
    return failed(f"the run ended {result.status.label} after one iteration, and nobody is told")


def _learned(fitted: Any) -> Array | None:
    """The learned matrix: the metric where there is one, else LᵀL of components_."""
    if hasattr(fitted, "get_mahalanobis_matrix"):
        return np.asarray(fitted.get_mahalanobis_matrix())
    if hasattr(fitted, "components_"):
        L = np.asarray(fitted.components_)
        return np.asarray(L.T @ L)
    return None


@claim(
    "0.2",
    when=lambda s: getattr(s.estimator, "components_of_result", True),
    reason="says that components_ are in other coordinates than result_ (components_of_result)",
)
def components_of_result(subject: ApplicationSubject, case: Case) -> Deviation:
    """components_ᵀ components_ is result_.matrix: both are of one model."""
    fitted = fitted_on(subject, subject.X, subject.y)
    result = getattr(fitted, "result_", None)
    if result is None or not hasattr(fitted, "components_"):
        raise Trivial("has no components_, or keeps no result_")
    L, M = np.asarray(fitted.components_), result.matrix.to_dense()
    if L.shape[1] != len(M):
        return failed(f"components_ have {L.shape[1]} columns, result_.matrix is of order {len(M)}")
    size = max(float(np.linalg.norm(M)), float(np.finfo(float).tiny))
    apart = float(np.linalg.norm(L.T @ L - M)) / size
    return Deviation(apart, ONE_MODEL, f"components_ᵀ components_ and result_.matrix differ by {apart:.3g}")


@claim("0.2", when=lambda s: hasattr(s.estimator, "reference"), reason="has no formula to compare with (reference)")
def solves_reference(subject: ApplicationSubject, case: Case) -> Deviation:
    """The learned matrix satisfies the optimality conditions of reference(X, y), the objective as a formula of M."""
    fitted = fitted_on(subject, subject.X, subject.y)
    M = _learned(fitted)
    if M is None:
        raise Trivial("learns no matrix of the samples' features")
    problem = subject.estimator.reference(subject.X, subject.y)
    certificate = dense_certificate(problem, LowRankPSD.from_dense(0.5 * (M + M.T)))
    allowed = 10.0 * np.sqrt(solver_tol(subject))
    return Deviation(certificate.relative, allowed, f"the learned matrix does not minimise it: {certificate.words}")
