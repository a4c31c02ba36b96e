"""Symmetric forms A (n, n) that are never formed: a matrix, a multiple of I, a Gram product, a sum."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.checks import real, real_array
from psdopt.contracts.images import Images
from psdopt.devices import DeviceMatrix, is_device_array, on_host, placed
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import Array, as_array, as_dense, inner, norm, product, row_dots
from psdopt.linalg.definite import factor_above
from psdopt.linalg.entries import components
from psdopt.linalg.limits import FACTOR_ORDER, PROBES
from psdopt.linalg.operators import LinearMap, symmetric_map
from psdopt.linalg.tolerances import EPS
from psdopt.terms.base import Forces


class Form(ABC):
    """A symmetric A (n, n), used through UᵀAV and A V T only.

    `maps` are the linear maps whose images it needs. `psd` is True if A ⪰ 0 is known by construction or declared by the
    caller, False if A is known not to be PSD, and None otherwise. `dense_is_cheap` says whether :meth:`to_dense` needs
    neither an application of a map nor much more memory than the data. `hermitian`, whether ⟨A, M⟩ sees M as a
    Hermitian matrix only.
    """

    n: int
    maps: tuple[LinearMap, ...] = ()
    psd: bool | None = None
    dense_is_cheap: bool = False
    hermitian: bool = False

    @cached_property
    def is_psd(self) -> bool:
        """Whether A ⪰ 0 is proven: by `psd`, or up to rounding by a factorisation of A for n <= FACTOR_ORDER.

        Rounding is that of the largest entries of each block that no entry joins to others: blocks may have units of
        their own. False means "not proven". The factorisation needs `dense_is_cheap`, and is done once.
        """
        if self.psd is not None:
            return self.psd
        if self.n > FACTOR_ORDER or not self.dense_is_cheap:
            return False
        A = np.array(self.to_dense())
        sizes = np.abs(A).sum(axis=1)
        i, j = np.nonzero(A)
        block = np.zeros(self.n, dtype=np.intp) if len(i) == A.size else components(i, j, self.n)
        largest = np.zeros(self.n)
        np.maximum.at(largest, block, sizes)
        A[np.diag_indices(self.n)] += np.maximum(64.0 * self.n * EPS * largest[block], np.finfo(float).tiny)
        return factor_above(A, 0.0) is not None

    def add_to(self, S: Array, weight: float) -> None:
        """S += weight · A for a dense S (n, n), without applying a map; only if `dense_is_cheap`."""
        if not self.dense_is_cheap:
            raise InvalidTypeError(f"{type(self).__name__} offers no entries")
        S += weight * self.to_dense()

    @abstractmethod
    def gram(self, U: Images, V: Images) -> Array:
        """UᵀAV, shape (r_U, r_V). Cost O(p r_U r_V), no application."""

    @abstractmethod
    def trace(self, U: Images, V: Images) -> float:
        """tr(UᵀAV) for U, V of one shape. Cost O(p r): the Gram matrix is not formed."""

    @abstractmethod
    def force(self, V: Images, T: Array | float = 1.0) -> Forces:
        """A V T as forces; T is a small matrix or a scalar."""

    @abstractmethod
    def to_dense(self) -> Array:
        """The (n, n) array, for closed forms and tests on moderate n."""

    def full_trace(self) -> float:
        """tr A, computed once (estimated from fixed random vectors if the entries are not known)."""
        return self._full_trace

    @cached_property
    def _full_trace(self) -> float:
        known = self.known_diagonal()
        if known is not None:
            return float(known.sum())
        columns = Images(self.maps, probes(self.n))
        return self.trace(columns, columns)

    def diagonal(self) -> Array:
        """The diagonal (n,) of A, or its mean in every place if the entries are unknown."""
        known = self.known_diagonal()
        return np.full(self.n, self.full_trace() / self.n) if known is None else known

    def known_diagonal(self) -> Array | None:
        """The diagonal (n,) of A, or None if the entries are not known."""
        return None

    @property
    def holds_array(self) -> bool:
        """Whether the data hold an (n, n) ndarray, so that another one fits in memory as well."""
        return False

    @property
    def rank_bound(self) -> int:
        """An upper bound on the rank of A."""
        return self.n


def times(Z: Array, T: Array | float) -> Array:
    """Z T for a matrix or scalar T."""
    if isinstance(T, (float, int)):
        return Z if T == 1.0 else T * Z
    return product(Z, T)


class _AppliedForm(Form):
    """scale · A through its product with V; A = None stands for the identity."""

    A: LinearMap | None
    scale: float

    def gram(self, U: Images, V: Images) -> Array:
        P = product(U.factor.T, V.of(self.A))
        return P if self.scale == 1.0 else self.scale * P

    def trace(self, U: Images, V: Images) -> float:
        return self.scale * inner(U.factor, V.of(self.A))

    def force(self, V: Images, T: Array | float = 1.0) -> Forces:
        return [(None, times(V.of(self.A), T if self.scale == 1.0 else self.scale * T))]


class IdentityForm(_AppliedForm):
    """scale · I."""

    A = None
    dense_is_cheap = True

    def __init__(self, n: int, scale: float = 1.0) -> None:
        self.n, self.scale, self.psd = n, float(scale), scale >= 0.0

    def to_dense(self) -> Array:
        return self.scale * np.eye(self.n)

    def add_to(self, S: Array, weight: float) -> None:
        S[np.diag_indices(self.n)] += weight * self.scale

    def known_diagonal(self) -> Array:
        return np.full(self.n, self.scale)


class MatrixForm(_AppliedForm):
    """scale · A for a symmetric A (n, n): an array, a sparse array, a ``LinearOperator`` or a :class:`LinearMap`.

    One application of A per block. With `psd=True` the caller declares scale · A ⪰ 0; convexity, and with it the
    status ``optimal``, then relies on this declaration. None: see :attr:`Form.is_psd`.

    Raises InvalidInputError if A is not symmetric of finite entries.
    """

    A: LinearMap

    def __init__(self, A: Any, scale: float = 1.0, psd: bool | None = None) -> None:
        self.A = A if isinstance(A, LinearMap) else symmetric_map(A, "A")
        self.dense_is_cheap = self.A.is_matrix
        self.n, self.maps, self.scale, self.psd = self.A.shape[0], (self.A,), float(scale), psd

    def to_dense(self) -> Array:
        dense = self.A.to_dense()
        return self.scale * 0.5 * (dense + dense.T)

    def add_to(self, S: Array, weight: float) -> None:
        if not self.A.is_matrix:
            super().add_to(S, weight)
        S[...] = S + weight * self.scale * self.A.data

    def known_diagonal(self) -> Array | None:
        return self.scale * self.A.data.diagonal() if self.A.is_matrix else None

    @property
    def holds_array(self) -> bool:
        return self.A.is_matrix and not self.A.is_sparse


class GramForm(Form):
    """scale · XᵀX, or scale · XᵀL LᵀX with L (m, c), for X (m, n): XᵀX is never formed.

    Forms that share the :class:`LinearMap` X share its products: one X D and one Xᵀ G per step
    for all of them together.
    """

    def __init__(self, X: Any, scale: float = 1.0, inner: Any = None) -> None:
        self.X: LinearMap = X if isinstance(X, LinearMap) else LinearMap(X, "X")
        if inner is not None and inner.shape[0] != self.X.shape[0]:
            raise InvalidInputError(
                f"inner must have {self.X.shape[0]} rows like {self.X.name}; found shape {inner.shape}"
            )
        self.n, self.maps, self.dense_is_cheap = self.X.shape[1], (self.X,), self.X.is_matrix
        if inner is not None and not is_device_array(inner):
            inner = (real(inner, "inner") if sp.issparse(inner) else real_array(inner, "inner")).copy()
        self.inner: Any = inner
        self.scale, self.psd = float(scale), scale >= 0.0
        if self.X.device is not None and inner is not None:
            # make it dense, as the standard has no sparse arrays
            dense = as_dense(inner) if sp.issparse(inner) else inner
            self.inner = DeviceMatrix(placed(dense, self.X.device, "inner").raw, self.X.device)

    def _half(self, U: Images) -> Array:
        """X U, or Lᵀ X U: computed once for all uses of one U."""
        if self.inner is None:
            return U.of(self.X)
        return U.derived(self, self.X, lambda XU: as_array(self.inner.T @ XU))

    def gram(self, U: Images, V: Images) -> Array:
        return self.scale * product(self._half(U).T, self._half(V))

    def trace(self, U: Images, V: Images) -> float:
        return self.scale * inner(self._half(U), self._half(V))

    def force(self, V: Images, T: Array | float = 1.0) -> Forces:
        weighted = times(self._half(V), self.scale * T)
        return [(self.X, weighted if self.inner is None else self.inner @ weighted)]

    def to_dense(self) -> Array:
        X: Any = self.X.data if self.X.is_sparse else self.X.to_dense()
        if self.inner is not None:
            X = on_host(self.inner).T @ X
        return self.scale * as_dense(X.T @ X)

    def known_diagonal(self) -> Array | None:
        if self.inner is not None:
            half = self.X.adjoint(as_dense(self.inner))
            return self.scale * row_dots(half, half)
        if not self.X.is_matrix:
            return None
        X = self.X.data
        squares = X.multiply(X).sum(axis=0) if self.X.is_sparse else np.einsum("ij,ij->j", X, X)
        return self.scale * as_array(squares).ravel()

    @property
    def rank_bound(self) -> int:
        return min(self.n, self.X.shape[0] if self.inner is None else self.inner.shape[1])


class SumForm(Form):
    """A_1 + A_2 + ..."""

    def __init__(self, parts: Sequence[Form]) -> None:
        if not parts:
            raise InvalidInputError("a sum of forms needs at least one part; found none")
        orders = [part.n for part in parts]
        if len(set(orders)) > 1:
            raise InvalidInputError(f"parts of a sum must share one order n; found {orders}")
        self.parts = tuple(parts)
        self.n = parts[0].n
        self.maps = tuple(dict.fromkeys(m for part in parts for m in part.maps))
        self.psd = True if all(part.psd for part in parts) else None
        self.dense_is_cheap = all(part.dense_is_cheap for part in parts)
        self.hermitian = any(part.hermitian for part in parts)

    def gram(self, U: Images, V: Images) -> Array:
        return reduce(add, (part.gram(U, V) for part in self.parts))

    def trace(self, U: Images, V: Images) -> float:
        return sum(part.trace(U, V) for part in self.parts)

    def force(self, V: Images, T: Array | float = 1.0) -> Forces:
        return [force for part in self.parts for force in part.force(V, T)]

    def to_dense(self) -> Array:
        return np.asarray(np.sum([part.to_dense() for part in self.parts], axis=0))

    def add_to(self, S: Array, weight: float) -> None:
        for part in self.parts:
            part.add_to(S, weight)

    @cached_property
    def _full_trace(self) -> float:
        return sum(part.full_trace() for part in self.parts)

    def diagonal(self) -> Array:
        return np.asarray(np.sum([part.diagonal() for part in self.parts], axis=0))

    @property
    def holds_array(self) -> bool:
        return all(part.holds_array or isinstance(part, IdentityForm) for part in self.parts)

    @property
    def rank_bound(self) -> int:
        return min(self.n, sum(part.rank_bound for part in self.parts))


def as_form(A: Any, name: str) -> Form:
    """A form as it is; a symmetric array, sparse array, ``LinearOperator`` or :class:`LinearMap` as a MatrixForm.

    Raises InvalidTypeError or InvalidInputError, naming the argument, for anything else.
    """
    if isinstance(A, Form):
        return A
    if isinstance(A, LinearMap):
        return MatrixForm(A)
    if not hasattr(A, "shape") and not isinstance(A, (list, tuple)):
        raise InvalidTypeError(f"{name} must be a form, a symmetric matrix or operator; found {type(A).__name__}")
    return MatrixForm(symmetric_map(A, name))


def probes(n: int) -> Array:
    """V (n, PROBES), fixed random signs over the root of PROBES: tr(VᵀAV) estimates tr A without bias."""
    return np.where(np.random.default_rng(0).random((n, PROBES)) < 0.5, -1.0, 1.0) / math.sqrt(PROBES)


def squared_norm(X: LinearMap) -> float:
    """|X|_F²; for a matrix-free X estimated by |X V|² for probing vectors V."""
    if X.is_matrix:
        return norm(X.data.data if X.is_sparse else X.data) ** 2
    return norm(X.apply(probes(X.shape[1]))) ** 2
