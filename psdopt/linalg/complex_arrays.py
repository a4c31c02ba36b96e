"""Complex data: the door through which dense arrays enter, to become real forms at once, and Kronecker products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from psdopt.checks import brief, unmasked
from psdopt.devices import require_host
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import Array
from psdopt.linalg.operators import block_operator


def complex_array(values: Any, name: str) -> Any:
    """`values` as an array of float64 or complex128, finite, not copied if it is one.

    Raises InvalidTypeError for what holds no numbers, InvalidInputError for NaN, infinite or masked entries.
    """
    require_host(values, name)
    try:
        array = np.asarray(unmasked(values, name))
        array = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64, copy=False)
    except InvalidInputError:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"{name} must hold real or complex numbers; found {brief(values)}") from error
    if bad := array.size - int(np.count_nonzero(np.isfinite(array))):
        raise InvalidInputError(f"{name} must be finite; found {bad} NaN or infinite entries")
    return array


def kronecker_product(factors: Sequence[Any]) -> LinearOperator:
    """A_1 ⊗ ... ⊗ A_q, real or complex, never formed: V (Π n_k, r) is multiplied by one A_k (m_k, n_k) after another.

    Row and column numbers are as of ``np.kron``: the first factor has the highest digit. For q factors of order two a
    product costs O(q 2^q r).

    Raises InvalidInputError for no factors, or one that is no finite 2-D array; InvalidTypeError for no numbers.
    """
    if not isinstance(factors, (list, tuple, np.ndarray)) or len(factors) == 0:
        raise InvalidInputError(f"factors must be a sequence of at least one matrix; found {brief(factors)}")
    known = [complex_array(each, f"factors[{k}]") for k, each in enumerate(factors)]
    wrong = next((k for k, each in enumerate(known) if each.ndim != 2 or each.size == 0), None)
    if wrong is not None:
        raise InvalidInputError(f"factors[{wrong}] must be a 2-D array, not empty; found shape {known[wrong].shape}")
    adjoint = [each.conj().T for each in known]
    m, n = (int(np.prod([each.shape[side] for each in known])) for side in (0, 1))
    dtype = np.result_type(np.float64, *known)
    return block_operator((m, n), lambda V: _applied(known, V), lambda W: _applied(adjoint, W), dtype)


def _applied(factors: Sequence[Any], V: Any) -> Any:
    columns = V.shape[1]
    for each in factors:  # each takes the first digit and puts its own last, before the columns
        V = np.einsum("ij,jkl->kil", each, V.reshape(each.shape[1], -1, columns), optimize=True)
    return np.ascontiguousarray(V).reshape(-1, columns)


def turned(W: Array) -> Array:
    """J W for W = [A; B]: [−B; A]."""
    A, B = np.split(W, 2)
    return np.concatenate([-B, A])
