"""Pauli strings as a measurement: expectations of many at once, by permutations and Walsh–Hadamard transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import hadamard

from psdopt.checks import brief
from psdopt.constraints import SparseForms, explicit_forms
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import Array, complex_array
from psdopt.terms import Forces, Measurement

#: Entries of all strings together up to which they are written out, for methods and proofs that need them.
MOST_ENTRIES = 2**22
#: Most qubits: H has 4^q entries, of which 13 qubits make 1 GB.
MOST_QUBITS = 13
#: X bit, Z bit of each letter; a letter with both, Y, brings a factor i.
BITS = {"I": (0, 0), "X": (1, 0), "Y": (1, 1), "Z": (0, 1)}


class Factor(NamedTuple):
    """A factor as the images that a measurement without maps needs."""

    factor: Array


class PauliStrings(Measurement):
    """⟨P_s, H⟩ = Re tr(P_s H) for strings s of q letters I, X, Y, Z: P_s is the Kronecker product of their matrices.

    H (N, N), N = 2^q, is kept on a real factor W (2N, r) (:func:`psdopt.terms.embedded`). The first letter acts on the
    highest bit of a row, as in ``np.kron``. P_s takes column b to b XOR x, times i^y (−1)^(z·b), for the bits x of X
    and Y, z of Z and Y, and the number y of Y. So strings of one x share the N numbers H_{b, b XOR x}, and their
    expectations are a Walsh–Hadamard transform of these: O(4^q (r + q)) for any number of strings, with O(4^q) memory.

    Parameters
    ----------
    strings : m strings of one length q, such as ``["XXI", "IZZ"]``.

    Attributes: `strings`, `qubits` = q, `n` = 2^(q + 1), `size` = m.

    Raises
    ------
    InvalidInputError for no strings, strings of unequal length, or letters other than IXYZ; InvalidTypeError for
    anything but strings.
    """

    hermitian = True

    def __init__(self, strings: Sequence[str]) -> None:
        self.strings = checked_strings(strings)
        self.qubits = q = len(self.strings[0])
        self.size, self.states, self.n = len(self.strings), 2**q, 2 ** (q + 1)
        x, z, y = _masks(self.strings)
        # strings with an even number of Y see real parts of H, the others imaginary parts
        self._group, self._of = np.unique(2 * x + y % 2, return_inverse=True)
        self._at = self._of * self.states + z
        self._sign = np.where(y % 4 < 2, 1.0, -1.0) * np.where(y % 2, -1.0, 1.0)  # Re(i^y (a + ib)) of a or of b
        self._odd = self._group % 2 == 1
        self._halves = hadamard(2 ** (q // 2)).astype(float), hadamard(2 ** (q - q // 2)).astype(float)
        self._last: tuple[Array, Array, Array] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_last": None}

    def _places(self, odd: bool) -> NDArray[np.intp]:
        """b N + (b XOR x), (g, N), for the groups of even or of odd strings."""
        b = np.arange(self.states)
        return np.asarray(b * self.states + (b ^ (self._group[self._odd == odd] // 2)[:, None]))

    def _transformed(self, F: Array) -> Array:
        """Σ_b (−1)^(z·b) F_b for all z, of each row of F (g, N): two products with matrices of order about √N."""
        high, low = self._halves
        return np.asarray(high @ (F.reshape(len(F), len(high), len(low)) @ low)).reshape(F.shape)

    def pair(self, U: Any, V: Any) -> Array:
        N = self.states
        left, right = U.factor, np.hstack([V.factor[:N], V.factor[N:]])
        F = np.empty((len(self._group), N))
        if not self._odd.all():
            F[~self._odd] = (np.hstack([left[:N], left[N:]]) @ right.T).take(self._places(False))
        if self._odd.any():
            F[self._odd] = (np.hstack([left[N:], -left[:N]]) @ right.T).take(self._places(True))
        return np.asarray(self._sign * self._transformed(F).take(self._at))

    def of(self, factor: Any) -> Array:
        """⟨P_s, Z Z*⟩, (m,), of a complex factor Z (N, r)."""
        Z = complex_array(factor, "factor")
        if Z.ndim != 2 or len(Z) != self.states:
            raise InvalidInputError(f"factor must be ({self.states}, r); found shape {Z.shape}")
        U = Factor(np.concatenate([Z.real, Z.imag]))
        return self.pair(U, U)

    def parts(self, weights: Array) -> tuple[Array, Array]:
        """Real and imaginary part, each (N, N), of Σ_s weights_s P_s; those of the last weights are kept."""
        if self._last is None or not np.array_equal(self._last[0], weights):
            N = self.states
            on_masks: Array = np.bincount(self._at, self._sign * weights, len(self._group) * N).astype(np.float64)
            F, real, imaginary = self._transformed(on_masks.reshape(-1, N)), np.zeros((N, N)), np.zeros((N, N))
            # entry (b, b XOR x) of the real part, and of minus the imaginary part: P_s is Hermitian
            real.reshape(-1)[self._places(False)] = F[~self._odd]
            imaginary.reshape(-1)[self._places(True)] = F[self._odd]
            self._last = np.array(weights), real, imaginary
        return self._last[1:]

    def adjoint(self, weights: Array, V: Any) -> Forces:
        N, (real, imaginary) = self.states, self.parts(weights)
        k = V.factor.shape[1]
        both = np.hstack([V.factor[:N], V.factor[N:]])
        R, J = real @ both, imaginary @ both
        return [(None, np.vstack([R[:, :k] - J[:, k:], J[:, :k] + R[:, k:]]))]

    def add_to(self, S: Array, weights: Array, identity: Any = None) -> None:
        N, (real, imaginary) = self.states, self.parts(weights)
        S[:N, :N] += real
        S[N:, N:] += real
        S[N:, :N] += imaginary
        S[:N, N:] -= imaginary


@explicit_forms.register
def _(measurement: PauliStrings) -> SparseForms | None:
    """The entries of up to some thousand strings of few qubits: 2N places of M for each."""
    N, m = measurement.states, measurement.size
    if 2 * N * m > MOST_ENTRIES:
        return None
    x, z, y = _masks(measurement.strings)
    b, signs = np.arange(N), hadamard(N)[z] * np.where(y % 4 < 2, 1.0, -1.0)[:, None]  # of i^y (−1)^(z·b), less an i
    other, odd = b ^ x[:, None], np.repeat(y % 2 == 1, N).reshape(m, N)
    # Re H_bc = M_bc + M_(N+b)(N+c), and Im H_bc = M_(N+b)c − M_b(N+c) for an odd y, where Re(i H_bc) is its opposite
    i = np.concatenate([np.where(odd, N + b, b), np.where(odd, b, N + b)], axis=1)
    j = np.concatenate([other, N + other], axis=1)
    numbers = np.concatenate([np.where(odd, -signs, signs), signs], axis=1)
    each = np.arange(0, 2 * N * m + 1)
    B = sp.csr_array((numbers.ravel(), each[:-1], each[:: 2 * N]), shape=(m, 2 * N * m))
    return SparseForms(i.ravel(), j.ravel(), B, measurement.n)


def checked_strings(strings: Any, name: str = "strings") -> tuple[str, ...]:
    """`strings` as a tuple, or one error."""
    if isinstance(strings, str) or not isinstance(strings, (Sequence, np.ndarray)):
        raise InvalidTypeError(f"{name} must be a sequence of strings; found {brief(strings)}")
    if len(strings) == 0:
        raise InvalidInputError(f"{name} must hold at least one string; found none")
    for t, each in enumerate(strings):
        if not isinstance(each, str):
            raise InvalidTypeError(f"{name} must be strings of the letters IXYZ; found {brief(each)} at position {t}")
        if not each or set(each) - set(BITS):
            raise InvalidInputError(f"{name} must be of the letters IXYZ; found {each!r} at position {t}")
        if len(each) != len(strings[0]):
            raise InvalidInputError(
                f"{name} must have one length; found {len(strings[0])} letters at position 0 and {len(each)} at {t}"
            )
    if len(strings[0]) > MOST_QUBITS:
        raise InvalidInputError(f"{name} must have at most {MOST_QUBITS} letters; found {len(strings[0])}")
    return tuple(str(each) for each in strings)


def _masks(strings: tuple[str, ...]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """x, z and y (m,): the bits of X and Y, those of Z and Y, and the number of Y."""
    letters = np.array([list(each) for each in strings])
    x, z = (np.vectorize(lambda letter, k=k: BITS[letter][k])(letters) for k in (0, 1))
    powers = 2 ** np.arange(letters.shape[1])[::-1]
    return x @ powers, z @ powers, np.sum(x * z, axis=1)
