"""State tomography: the density matrix of q qubits from expectations of Pauli strings, or from counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator

from psdopt import FixedTrace, Problem, Result, TermSum, TrustRegions, solve
from psdopt.checks import finite, integer_or_none, vector
from psdopt.errors import InvalidInputError
from psdopt.linalg import block_operator, kronecker_product
from psdopt.terms import LeastSquares, MeasuredTerm, hermitian_squares
from psdopt_plugins.estimators import finished
from psdopt_plugins.hermitian.likelihood import NegativeLogLikelihood
from psdopt_plugins.hermitian.pauli import PauliStrings, checked_strings

#: Columns of the factor at the start where no rank is given; the certificate adds more where they are needed.
COLUMNS = 20
#: Outcomes of at most so many entries are stored as a matrix, which is faster: those of all bases up to 6 qubits.
STORED = 2**22
#: Rows a of ⟨a| for the two outcomes of a measurement of X, Y or Z.
OUTCOMES = {
    "X": np.array([[1, 1], [1, -1]]) / np.sqrt(2),
    "Y": np.array([[1, -1j], [1, 1j]]) / np.sqrt(2),
    "Z": np.eye(2),
}


class HermitianEstimate(NamedTuple):
    """H = Z Z* and the run that found it: `factor` Z (N, r), complex, and `result`, whose certificate is of H."""

    factor: Any
    result: Result

    @property
    def matrix(self) -> Any:
        """H (N, N), complex."""
        return self.factor @ self.factor.conj().T


def state_problem(strings: Sequence[str], values: Any, weights: Any = None) -> TermSum:
    """½ Σ_s w_s ((⟨P_s, H⟩ − b_s)² − b_s²) for strings of the letters IXYZ and their measured expectations b (m,).

    The residuals less those of H = 0, so that F = 0 there, and values have digits where all b are met; derivatives of
    the least value leave out this constant. To be minimised over tr M = 1, which is tr H = 1
    (:class:`psdopt.FixedTrace`). `weights` : (m,), at least 0, such as the shots of each string; None is 1. Raises what
    :class:`PauliStrings` raises, and InvalidInputError for values or weights of another length.
    """
    measurement = PauliStrings(strings)
    values = vector(values, "values", measurement.size, "one per string")
    loss = LeastSquares(values, weights)
    return TermSum([MeasuredTerm(measurement, loss, 0.5)], -0.5 * loss.value(np.zeros(measurement.size)))


def counts_problem(bases: Sequence[str], counts: Any) -> TermSum:
    """−Σ n_bk log p_bk, p_bk the probability of outcome k if the qubits are measured in basis b.

    To be minimised over tr M = 1: the minimiser is the state of maximum likelihood (Hradil 1997).

    Parameters
    ----------
    bases : strings of q letters X, Y, Z, one letter a qubit. counts : (bases, 2^q), how often each outcome was seen;
        the first qubit is the highest bit of the outcome, and bit 0 the eigenvalue +1.

    Raises
    ------
    InvalidInputError for letters other than XYZ, strings of unequal length, counts of another shape, or negative ones.
    """
    rows = outcome_rows(bases)
    small = rows.shape[0] * rows.shape[1] <= STORED
    measurement = hermitian_squares(rows.matmat(np.eye(rows.shape[1])) if small else rows)
    counts = finite(counts, "counts")
    shape = (len(bases), measurement.size // len(bases))
    if counts.shape != shape:
        raise InvalidInputError(f"counts must be {shape}, outcomes of each basis; found shape {counts.shape}")
    # half of the least probability that an outcome seen so often has in the state of maximum likelihood
    seen = np.maximum(counts.ravel(), np.finfo(float).eps)
    floor = 0.5 * seen / float(seen.sum())
    return TermSum([MeasuredTerm(measurement, NegativeLogLikelihood(counts.ravel(), floor))])


def outcome_rows(bases: Sequence[str]) -> LinearOperator:
    """(bases · 2^q, 2^q) complex: rows ⟨a_bk| of the outcomes of each basis, as Kronecker products, never formed."""
    bases = checked_strings(bases, "bases")
    wrong = next((each for each in bases if "I" in each), None)
    if wrong is not None:
        raise InvalidInputError(f"bases must be of the letters XYZ; found {wrong!r}")
    parts = [kronecker_product([OUTCOMES[letter] for letter in each]) for each in bases]
    n = parts[0].shape[1]

    def forth(V: Any) -> Any:
        return np.concatenate([part.matmat(V) for part in parts])

    def back(W: Any) -> Any:
        return sum(part.rmatmat(w) for part, w in zip(parts, np.split(W, len(parts)), strict=True))

    return block_operator((len(parts) * n, n), forth, back, np.complex128)


def state_tomography(
    strings: Sequence[str], values: Any, *, weights: Any = None, rank: int | None = None, **options: Any
) -> HermitianEstimate:
    """The state H ⪰ 0, tr H = 1, nearest to measured expectations of Pauli strings: :func:`state_problem`, solved.

    `rank` : largest rank of H; None is no limit, and then the certificate is of the minimum over all states. `options`
    : of :func:`psdopt.solve`. A ConvergenceWarning where the run does not converge. A step costs O(4^q (r + q)).

    Examples
    --------
    >>> state = state_tomography(["XX", "YY", "ZZ"], [1.0, -1.0, 1.0])  # of (|00> + |11>)/√2
    >>> np.abs(state.matrix).round(2)[0]
    array([0.5, 0. , 0. , 0.5])
    """
    return solved_at_trace_one(state_problem(strings, values, weights), rank, options)


def state_from_counts(
    bases: Sequence[str], counts: Any, *, rank: int | None = None, **options: Any
) -> HermitianEstimate:
    """The state of maximum likelihood: :func:`counts_problem`, solved. Parameters as of :func:`state_tomography`."""
    return solved_at_trace_one(counts_problem(bases, counts), rank, options)


def solved_at_trace_one(problem: Problem, rank: int | None, options: dict[str, Any]) -> HermitianEstimate:
    """The minimum over tr M = 1 on a factor of `rank` columns, or of as many as the certificate asks for."""
    rank = integer_or_none(rank, "rank")
    geometry = FixedTrace(problem.n, min(problem.n, COLUMNS if rank is None else rank))
    # exact data leave F flat in the spare columns, where first-order methods take ten times as long
    own = {} if options.get("geometry") is not None else {"geometry": geometry, "method": TrustRegions()}
    given = {**own, "rng": 0, "escape": rank is None, **options}
    if getattr(given["geometry"], "trace", None) != 1.0:
        raise InvalidInputError(f"geometry must have the trace 1 of states, as FixedTrace; found {given['geometry']}")
    result = finished(solve(problem, **given))
    return HermitianEstimate(result.matrix.hermitian(), result)
