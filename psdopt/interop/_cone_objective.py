"""½ xᵀPx + cᵀx for x affine in entries of M, as a sum of terms."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints import SparseForms
from psdopt.constraints.limits import SPARSE
from psdopt.errors import InvalidInputError
from psdopt.interop._elimination import placed
from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import FACTOR_ORDER
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.tolerances import EPS, ROOT_EPS, rounding
from psdopt.problems.term_sum import TermSum
from psdopt.terms.base import Term
from psdopt.terms.forms import Form, IdentityForm, MatrixForm
from psdopt.terms.losses import LeastSquares
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import Entries
from psdopt.terms.quadratic import LinearTerm, ProductTerm


def objective(
    linear: Array,
    squares: sp.csr_array,
    target: Array,
    constant: float,
    i: NDArray[np.intp],
    j: NDArray[np.intp],
    n: int,
) -> TermSum:
    """constant + linearᵀσ + ½ |squares σ − target|² for σ = entries (i, j) of M (n, n)."""
    terms: list[Term] = []
    linear = linear.copy()
    counts = np.diff(squares.indptr)
    empty = counts == 0
    constant += 0.5 * float(target[empty] @ target[empty])
    single = np.flatnonzero(counts == 1)
    if len(single):
        part, t = sp.csr_array(squares[single]), target[single]
        p = len(i)
        weight = np.asarray(np.bincount(part.indices, part.data**2, p), dtype=np.float64)
        pull = np.bincount(part.indices, part.data * t, p)
        where = _uniform(weight, i, j, n)
        used = np.flatnonzero(weight)
        if where is not None:
            rows, w = where
            D: Form = IdentityForm(n)
            if not rows.all():
                D = MatrixForm(LinearMap(sp.diags_array(rows.astype(np.float64), format="csr"), "D"), psd=True)
            terms.append(ProductTerm(D, D, 0.5 * w))
            linear -= pull
            constant += 0.5 * float(t @ t)
        else:
            center = pull[used] / weight[used]
            terms.append(MeasuredTerm(Entries(i[used], j[used], n), LeastSquares(center, 0.5 * weight[used])))
            constant += 0.5 * float(t @ t - center @ pull[used])
    several = np.flatnonzero(counts > 1)
    if len(several):
        columns = sp.csc_array(squares[several])
        used = np.flatnonzero(np.diff(columns.indptr))
        forms = SparseForms(i[used], j[used], columns[:, used], n)
        terms.append(MeasuredTerm(forms, LeastSquares(target[several], np.full(len(several), 0.5))))
    if np.any(linear) or not terms:
        terms.append(LinearTerm(MatrixForm(LinearMap(coefficients(linear, i, j, n), "C"))))
    return TermSum(terms, constant)


def coefficients(linear: Array, i: NDArray[np.intp], j: NDArray[np.intp], n: int) -> Array | sp.csr_array:
    """Symmetric C (n, n) with ⟨C, M⟩ = Σ linear_k M_{i_k j_k}."""
    half = 0.5 * linear
    C = sp.csr_array((np.concatenate([half, half]), (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(n, n))
    C.sum_duplicates()
    C.eliminate_zeros()
    return np.asarray(C.toarray()) if SPARSE * C.nnz > n * n else C


def _uniform(weight: Array, i: NDArray[np.intp], j: NDArray[np.intp], n: int) -> tuple[NDArray[np.bool_], float] | None:
    """(rows, w) if Σ weight σ² is w times the squared norm of the block of M in `rows`; else None."""
    rows = np.zeros(n, dtype=bool)
    rows[i[weight > 0.0]] = True
    rows[j[weight > 0.0]] = True
    k = int(rows.sum())
    expected = np.where(i == j, 1.0, 2.0) * (rows[i] & rows[j])
    if int(np.sum(expected > 0.0)) != k * (k + 1) // 2:
        return None
    w = float(np.max(weight / np.where(i == j, 1.0, 2.0)))
    return (rows, w) if np.allclose(weight, w * expected, rtol=64 * EPS, atol=0.0) else None


def square_root(P: sp.csr_array) -> sp.csr_array:
    """V sparse (q, N) with VᵀV = P ⪰ 0, separately for each set of unknowns that P connects.

    Eigenvalues are those of P in units in which its diagonal is one, so that no curvature counts as rounding beside one
    of an unknown in other units; of P itself where rounding keeps P from being semidefinite in these units.
    Eigenvalues down to −1e-8 times the largest count as zero. Raises InvalidInputError for lower ones, and for a set of
    more than 3000 unknowns.
    """
    N = P.shape[0]
    diagonal = P.diagonal()
    if P.nnz == np.count_nonzero(diagonal):
        _refuse_negative(diagonal)
        used = np.flatnonzero(diagonal > 0.0)
        return sp.csr_array((np.sqrt(diagonal[used]), (np.arange(len(used)), used)), shape=(len(used), N))
    count, label = sp.csgraph.connected_components(P, directed=False)
    parts = np.split(np.argsort(label, kind="stable"), np.cumsum(np.bincount(label, minlength=count))[:-1])
    found = []
    for part in parts:
        if len(part) > FACTOR_ORDER:
            raise InvalidInputError(
                f"the quadratic objective must not connect more than {FACTOR_ORDER} unknowns; found {len(part)}"
            )
        own, d = P[part][:, part].toarray(), diagonal[part]
        units = np.sqrt(np.where(d > 0.0, d, 1.0))
        values, U = np.linalg.eigh(own / units / units[:, None])
        if values[0] < -ROOT_EPS * values[-1]:
            units = np.ones(len(part))
            values, U = np.linalg.eigh(own)
            _refuse_negative(values)
        keep = values > rounding(max(values[-1], 0.0), len(part) ** 2)
        rows = U[:, keep].T * np.sqrt(values[keep])[:, None] * units
        found.append(sp.csr_array(rows) @ placed(part, N).T)
    return sp.csr_array(sp.vstack(found, format="csr"))


def _refuse_negative(values: Array) -> None:
    """Refuse eigenvalues of P that are clearly negative: then the objective is not convex, and nothing is proven."""
    least = float(values.min(initial=0.0))
    if least < -ROOT_EPS * float(np.abs(values).max(initial=0.0)):
        raise InvalidInputError(f"P must be positive semidefinite; found an eigenvalue {least:.3g}")
