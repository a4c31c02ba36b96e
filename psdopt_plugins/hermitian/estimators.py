"""Estimators of states, channels and signals from tables of measurements, one a row, of real numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from psdopt.checks import number_or_none
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array
from psdopt_plugins.estimators import Estimator, options_for_solve, parameters
from psdopt_plugins.hermitian.pauli import PauliStrings
from psdopt_plugins.hermitian.phases import retrieve_phase
from psdopt_plugins.hermitian.processes import process_tomography, transfer_matrix
from psdopt_plugins.hermitian.states import outcome_rows, state_from_counts, state_tomography
from psdopt_plugins.hermitian.tables import complex_rows, entries, halves, letters, outcomes, qubits
from psdopt_plugins.rows import validated

#: Checks of scikit-learn that fit a table of an odd number of columns, and others that fit one of any numbers.
OF_ODD_TABLES = """
    dict_unchanged dont_overwrite_parameters estimators_dtypes estimators_nan_inf estimators_pickle
    f_contiguous_array_estimator fit2d_1feature fit2d_predict1d fit_score_takes_y methods_sample_order_invariance
    methods_subset_invariance pipeline_consistency
"""
OF_ANY_NUMBERS = """
    dtype_object estimators_fit_returns_self estimators_overwrite_params fit2d_1sample fit_check_is_fitted
    fit_idempotent n_features_in n_features_in_after_fitting positive_only_tag_during_fit readonly_memmap_input
"""


def refused(names: str) -> dict[str, str]:
    """{check: reason} for checks of scikit-learn, named without "check_"."""
    return {f"check_{name}": "a table of any numbers is no table of measurements" for name in names.split()}


class Tomography(Estimator):
    """Base: ``fit(X, y)`` for measurements in the rows of X, and ``predict(X)``, what the answer gives for others.

    After a fit `factor_` (N, r) is complex, H = factor_ factor_*, and `result_` the run. Subclasses say what the
    columns of X are, and have `order`, that of M.
    """

    needs_y = True
    expected_failed_checks: ClassVar[Mapping[str, str]] = refused(OF_ODD_TABLES)
    factor_: Any

    def _validated(self, X: Any, y: Any) -> tuple[Array, Array]:
        X, y = validated(self, X, y, dtype=np.float64, y_numeric=True)
        self.order(X.shape[1])
        return X, np.asarray(y, dtype=np.float64)

    def order(self, columns: int) -> int:
        """The order of M for X of so many columns. Raises InvalidInputError for a number that X cannot have."""
        raise NotImplementedError

    def predict(self, X: Any) -> Array:
        """(m,) the expectations, probabilities or squares of the answer for measurements X as in the fit."""
        check_is_fitted(self)
        return self._numbers(validated(self, X, dtype=np.float64, reset=False))

    def _numbers(self, X: Array) -> Array:
        raise NotImplementedError

    def measured(self, X: Any, y: Any) -> Array:
        """(m,) what `predict` is to be held against."""
        return np.asarray(y, dtype=np.float64)


class OfLetters(Tomography):
    """Base of those whose X holds letters: whole numbers from 0 to 3."""

    expected_failed_checks: ClassVar[Mapping[str, str]] = refused(OF_ODD_TABLES + OF_ANY_NUMBERS)
    conformance_waivers: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("application.fits_apart", "application.samples_count"), "a letter that is moved a little is no letter"
    )


@parameters
class StateTomography(OfLetters):
    """The state H ⪰ 0, tr H = 1, nearest to measured expectations of Pauli strings (:func:`state_tomography`).

    A row of X (m, q) is a string, a number for the letter of each qubit: 0 for I, 1 for X, 2 for Y, 3 for Z. y (m,)
    are the expectations.

    Parameters
    ----------
    rank : largest rank of H; None for no limit, and then the certificate is of the minimum over all states.
    solver_options : keyword arguments for :func:`psdopt.solve` (tol, method, max_time, ...).

    Attributes
    ----------
    factor_ : (2^q, r) complex, H = factor_ factor_*. result_ : the :class:`psdopt.Result`.

    Cost: O(4^q (r + q)) a step, and memory for some arrays of 4^q numbers. 5 qubits from 500 expectations took 0.1 s of
    processor time.

    Examples
    --------
    >>> bell = StateTomography().fit([[1, 1], [2, 2], [3, 3]], [1.0, -1.0, 1.0])  # XX, YY, ZZ
    >>> bool(bell.result_.optimal), bell.predict([[3, 3]]).round(2)
    (True, array([1.]))
    """

    rank: int | None = None
    _: KW_ONLY
    solver_options: Mapping[str, Any] | None = None

    def order(self, columns: int) -> int:
        return 2 << qubits(columns)

    @staticmethod
    def conformance_data() -> tuple[Array, Array]:
        """Some expectations of two qubits, for the conformance kit."""
        X = np.array([[1, 1], [2, 2], [3, 3], [3, 0], [0, 3], [1, 0]], dtype=np.float64)
        return X, np.array([0.6, -0.5, 0.7, 0.2, 0.1, 0.1])

    def fit(self, X: Any, y: Any, *, weights: Any = None) -> Self:
        """Find the state for strings X (m, q), expectations y (m,) and weights (m,), such as the shots of each.

        Raises InvalidInputError for other numbers than 0 to 3, or more than 13 qubits.
        """
        X, y = self._validated(X, y)
        options = options_for_solve(self.solver_options)
        found = state_tomography(letters(X, "IXYZ"), y, weights=weights, rank=self.rank, **options)
        self.factor_, self.result_ = found.factor, found.result
        return self

    def _numbers(self, X: Array) -> Array:
        return PauliStrings(letters(X, "IXYZ")).of(self.factor_)


@parameters
class StateFromCounts(OfLetters):
    """The state of maximum likelihood for counted outcomes of measurements of each qubit (:func:`state_from_counts`).

    A row of X (m, 2 q) is a basis and an outcome: a number for what is measured of each qubit, 1 for X, 2 for Y, 3 for
    Z, then a bit for each, 0 for the eigenvalue +1. y (m,) says how often that was seen; rows may repeat, as those of
    single shots, and outcomes that were never seen may be left out.

    Parameters and attributes as of :class:`StateTomography`.

    Cost: O(b 4^q r) a step for b bases, up to 6 qubits as a stored matrix, and memory for it. The 1,296 outcomes of 4
    qubits in all bases took 0.1 s of processor time.

    Examples
    --------
    >>> shots = [[3, 0], [3, 0], [3, 0], [3, 1]]  # Z, three times +1 and once −1
    >>> StateFromCounts().fit(shots, [1, 1, 1, 1]).predict([[3, 0]]).round(3)
    array([0.75])
    """

    rank: int | None = None
    _: KW_ONLY
    solver_options: Mapping[str, Any] | None = None

    def order(self, columns: int) -> int:
        return 2 << qubits(halves(columns))

    @staticmethod
    def conformance_data() -> tuple[Array, Array]:
        """Counts of one qubit in three bases, for the conformance kit."""
        X = np.array([[basis, bit] for basis in (1, 2, 3) for bit in (0, 1)], dtype=np.float64)
        return X, np.array([60.0, 40.0, 45.0, 55.0, 80.0, 20.0])

    def fit(self, X: Any, y: Any) -> Self:
        """Find the state for outcomes X (m, 2 q), seen y (m,) times each.

        Raises InvalidInputError for other numbers than 1 to 3 and bits, an odd number of columns, or counts below 0.
        """
        X, y = self._validated(X, y)
        if y.min() < 0.0:
            raise InvalidInputError(f"Negative values in data: y must hold counts of at least 0; found {y.min():g}")
        bases, basis, outcome = outcomes(X)
        counts = np.zeros((len(bases), 2 ** (X.shape[1] // 2)))
        np.add.at(counts, (basis, outcome), y)
        found = state_from_counts(bases, counts, rank=self.rank, **options_for_solve(self.solver_options))
        self.factor_, self.result_ = found.factor, found.result
        return self

    def _numbers(self, X: Array) -> Array:
        bases, basis, outcome = outcomes(X)
        amplitudes = outcome_rows(bases).matmat(self.factor_)
        return np.asarray(np.sum(np.abs(amplitudes) ** 2, axis=1).reshape(len(bases), -1)[basis, outcome])

    def measured(self, X: Any, y: Any) -> Array:
        """(m,) the share of each row's count in those of its basis."""
        _, basis, _ = outcomes(X)
        shots = np.bincount(basis, y)
        return np.asarray(y / np.where(shots > 0.0, shots, 1.0)[basis])


@parameters
class ProcessTomography(OfLetters):
    """The channel nearest to measured entries of its Pauli transfer matrix (:func:`process_tomography`).

    A row of X (m, 2 q) is a pair of strings, what is measured and what went in: numbers of the q letters of P_i, then
    of P_j, 0 for I, 1 for X, 2 for Y, 3 for Z. y (m,) are the R_ij = tr(P_i E(P_j)) / 2^q. Entries need not all be
    there; one that is there twice counts once, with its mean.

    Parameters
    ----------
    solver_options : keyword arguments for :func:`psdopt.solve` (tol, method, max_time, ...).

    Attributes
    ----------
    factor_ : (4^q, k) complex, the Choi matrix is factor_ factor_*. result_ : the :class:`psdopt.Result`.

    Cost: O(64^q) a step, and memory for some arrays of 16^q numbers. All 4,096 entries of 3 qubits took 0.1 s of
    processor time, half of them 0.2 s.

    Examples
    --------
    >>> table = [[0, 0], [1, 1], [2, 2], [3, 3]]  # the diagonal of R
    >>> channel = ProcessTomography().fit(table, [1.0, 0.7, 0.8, 1.1])  # more than a channel can keep
    >>> channel.predict([[0, 0], [3, 3]]).round(3)
    array([1., 1.])
    """

    solver_options: Mapping[str, Any] | None = None

    def order(self, columns: int) -> int:
        return 2 << qubits(2 * halves(columns))

    @staticmethod
    def conformance_data() -> tuple[Array, Array]:
        """The entries of a matrix that is nearly a channel of one qubit, for the conformance kit."""
        R = np.diag([1.0, 0.6, 0.5, 0.9]) + 0.05 * np.random.default_rng(0).standard_normal((4, 4))
        return np.argwhere(np.ones((4, 4))).astype(np.float64), R.ravel()

    def fit(self, X: Any, y: Any) -> Self:
        """Find the channel for pairs of strings X (m, 2 q) and entries y (m,) of its transfer matrix.

        Raises InvalidInputError for other numbers than 0 to 3, an odd number of columns, or more than 6 qubits.
        """
        X, y = self._validated(X, y)
        N = 2 ** X.shape[1]
        at, times, sums = entries(X), np.zeros(N * N), np.zeros(N * N)
        np.add.at(times, at, 1.0)
        np.add.at(sums, at, y)
        R = np.where(times > 0.0, sums, np.nan) / np.maximum(times, 1.0)
        found = process_tomography(R.reshape(N, N), **options_for_solve(self.solver_options))
        self.factor_, self.result_ = found.factor, found.result
        return self

    def _numbers(self, X: Array) -> Array:
        return np.asarray(transfer_matrix(self.factor_).ravel()[entries(X)])


@parameters
class PhaseRetrieval(Tomography):
    """A signal z (n,), complex, up to a phase, from squares y_t = |x_t z|² (:func:`retrieve_phase`).

    X (m, 2 n) holds the real parts of the rows x_t, then their imaginary parts.

    Parameters
    ----------
    penalty : weight of tr H in a fit to squares with noise; None for squares without noise.
    solver_options : keyword arguments for :func:`psdopt.solve` (tol, method, max_time, ...), for the fit.

    Attributes
    ----------
    signal_ : (n,) complex; factor_ : (n, 1), the same. result_ : the :class:`psdopt.Result` of the fit.
    certificate_ : what is proven of z z*: that no H ⪰ 0 with these squares has a lower trace; None where nothing is.

    Cost: some hundred products with X, then some systems of order 2 n, O(m n²) time and O(m n) memory. 192 squares of
    32 numbers took 0.02 s of processor time.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> parts, z = rng.standard_normal((60, 16)), rng.standard_normal(16).view(complex)
    >>> model = PhaseRetrieval().fit(parts, np.abs((parts[:, :8] + 1j * parts[:, 8:]) @ z) ** 2)
    >>> model.certificate_.gap_relative < 1e-6, bool(np.isclose(abs(np.vdot(model.signal_, z)), np.vdot(z, z).real))
    (True, True)
    """

    penalty: float | None = None
    _: KW_ONLY
    solver_options: Mapping[str, Any] | None = None

    def order(self, columns: int) -> int:
        return 2 * halves(columns)

    @staticmethod
    def conformance_data() -> tuple[Array, Array]:
        """Squares of a signal of three numbers, for the conformance kit."""
        X = np.random.default_rng(0).standard_normal((40, 6))
        return X, np.abs(complex_rows(X) @ np.array([1.0, 0.5j, -0.3])) ** 2

    def fit(self, X: Any, y: Any) -> Self:
        """Find the signal for rows X (m, 2 n) and squares y (m,) of their products with it.

        Raises InvalidInputError for squares below 0, or an odd number of columns.
        """
        X, y = self._validated(X, y)
        if y.min() < 0.0:
            raise InvalidInputError(f"Negative values in data: y must hold squares; found {y.min():g}")
        penalty = number_or_none(self.penalty, "penalty", above=0.0)
        found = retrieve_phase(complex_rows(X), y, penalty=penalty, **options_for_solve(self.solver_options))
        self.signal_, self.result_, self.certificate_ = found
        self.factor_ = self.signal_[:, None]
        return self

    def _numbers(self, X: Array) -> Array:
        return np.asarray(np.abs(complex_rows(X) @ self.signal_) ** 2)
