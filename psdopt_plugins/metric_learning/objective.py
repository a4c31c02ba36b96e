"""Common parts of the metric-learning objectives: regularisers, labels, weights, and when to form XᵀX."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from psdopt import QuadraticSDP
from psdopt.checks import brief, classes, is_name, one_of
from psdopt.errors import InvalidInputError
from psdopt.linalg import LinearMap
from psdopt.terms import Form, IdentityForm
from psdopt_plugins.limits import DENSE_ORDER, SPECTRUM_ORDER


class Regularizer(NamedTuple):
    """Reg(M) = b |M|² + 2 c tr(M) + constant: it adds b I to B, c I to C and a constant to the value."""

    b: float
    c: float
    constant: float


def regularizer_for(name: str, d: int, known: tuple[str, ...]) -> Regularizer:
    """The regulariser called `name`: "identity" |M − I|², "frobenius" |M|², "trace" tr M.

    Raises UnknownNameError, with near matches, for a name outside `known`.
    """
    one_of(name, "regularizer", known)
    table = {
        "identity": Regularizer(1.0, -1.0, float(d)),
        "frobenius": Regularizer(1.0, 0.0, 0.0),
        "trace": Regularizer(0.0, 0.5, 0.0),
    }
    return table[name]


def linear_part(loss: Form, regularizer: Regularizer) -> list[Form]:
    """C = loss + c I as a list of forms."""
    return [loss, IdentityForm(loss.n, regularizer.c)] if regularizer.c != 0.0 else [loss]


def one_hot(y: Any, m: int) -> sp.csr_array:
    """Indicator (m, c), sparse, of the c >= 2 classes in the labels y (m,).

    Raises InvalidInputError for a wrong shape, missing labels (NaN), or a single class.
    """
    found, codes = classes(y, "y", m)
    return sp.csr_array((np.ones(m), codes, np.arange(m + 1)), shape=(m, len(found)))


def forms_gram(X: LinearMap, gram: bool | str) -> bool:
    """Whether to form XᵀX (d, d): `gram` itself, or for "auto" whether X is an array with m >= 2 d and d <= 1500, or
    sparse with m >= 2 d and d <= 500."""
    if isinstance(gram, (bool, np.bool_)):
        return bool(gram)
    if not is_name(gram, "auto"):
        raise InvalidInputError(f"gram must be 'auto', True or False; found {brief(gram)}")
    m, d = X.shape
    return X.is_matrix and m >= 2 * d and d <= (DENSE_ORDER if X.is_sparse else SPECTRUM_ORDER)


def without_large_arrays(problem: QuadraticSDP, X: LinearMap) -> QuadraticSDP:
    """`problem`, without the forms that need (d, d) arrays beyond d = 500, where proofs do not, unless X is dense."""
    if problem.n > DENSE_ORDER and (X.is_sparse or not X.is_matrix):
        problem.without_dense_arrays()
    return problem
