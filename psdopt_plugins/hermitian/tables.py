"""Measurements of qubits and signals as rows of real numbers: what the columns stand for, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psdopt.errors import InvalidInputError
from psdopt.linalg import Array
from psdopt_plugins.hermitian.pauli import MOST_QUBITS


def qubits(number: int) -> int:
    """`number`, or InvalidInputError where a matrix for so many qubits is too large."""
    if number > MOST_QUBITS:
        raise InvalidInputError(f"X must be of at most {MOST_QUBITS} letters a row; found {number}")
    return number


def halves(columns: int) -> int:
    """Half of `columns`, or InvalidInputError."""
    if columns % 2:
        raise InvalidInputError(f"X must have two parts of one width, an even number of columns; found {columns}")
    return columns // 2


def letters(X: Array, alphabet: str, first: int = 0) -> list[str]:
    """The strings of the rows of X, `first` for the first letter of `alphabet`, or InvalidInputError."""
    last = first + len(alphabet) - 1
    wrong = X[~np.isin(X, range(first, last + 1))]
    if len(wrong):
        raise InvalidInputError(f"X must hold {first} to {last} for {', '.join(alphabet)}; found {wrong[0]:g}")
    return ["".join(alphabet[int(k) - first] for k in row) for row in X]


def outcomes(X: Any) -> tuple[list[str], NDArray[np.intp], NDArray[np.intp]]:
    """The different bases, and for each row the number of its basis and of its outcome."""
    bits = np.asarray(X)[:, X.shape[1] // 2 :]
    if wrong := [bit for bit in bits.ravel() if bit not in (0.0, 1.0)]:
        raise InvalidInputError(f"the second half of X must hold bits of outcomes, 0 or 1; found {wrong[0]:g}")
    bases, basis = np.unique(letters(X[:, : X.shape[1] // 2], "XYZ", 1), return_inverse=True)
    outcome = bits @ 2.0 ** np.arange(bits.shape[1])[::-1]
    return [str(each) for each in bases], basis, outcome.astype(np.intp)


def entries(X: Array) -> NDArray[np.intp]:
    """i 4^q + j for each row: letters of P_i, then of P_j."""
    letters(X, "IXYZ")
    return np.asarray(X @ 4.0 ** np.arange(X.shape[1])[::-1], dtype=np.intp)


def complex_rows(X: Array) -> Any:
    n = X.shape[1] // 2
    return X[:, :n] + 1j * X[:, n:]
