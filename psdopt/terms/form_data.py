"""The numbers that a form A is made of, as data by which a minimiser can be differentiated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.linalg.arrays import Array, row_dots, with_data
from psdopt.terms.forms import Form, GramForm, MatrixForm, SumForm


def form_data(form: Form) -> dict[str, Any]:
    """The arrays of A by the ending of their names: "" for the matrix itself, ".X" for X of scale · XᵀX.

    Parts of a sum are numbered: "[0]", "[1].X". Multiples of I, operators, arrays on a device, and XᵀL LᵀX have none.
    """
    if isinstance(form, MatrixForm) and form.A.is_matrix and form.A.device is None:
        return {"": form.A.data}
    if isinstance(form, GramForm) and form.X.is_matrix and form.X.device is None and form.inner is None:
        return {".X": form.X.data}
    if isinstance(form, SumForm):
        return {f"[{k}]{name}": each for k, part in enumerate(form.parts) for name, each in form_data(part).items()}
    return {}


def form_gradient(form: Form, P: Array, Q: Array) -> dict[str, Any]:
    """The gradients of ⟨A, (P Qᵀ + Q Pᵀ)/2⟩ by the arrays of :func:`form_data`, P and Q (n, k).

    That by a symmetric matrix is symmetric; that by a sparse array has the places of its entries, and costs O(nnz k).
    """
    if isinstance(form, SumForm):
        return {f"[{k}]{n}": g for k, part in enumerate(form.parts) for n, g in form_gradient(part, P, Q).items()}
    if not form_data(form):
        return {}
    if isinstance(form, GramForm):
        X = form.X
        left, right = X.apply(P), X.apply(Q)
        return {".X": form.scale * (on_places(X.data, left, Q) + on_places(X.data, right, P))}
    assert isinstance(form, MatrixForm)
    return {"": 0.5 * form.scale * on_places(form.A.data, np.hstack([P, Q]), np.hstack([Q, P]))}


def form_change(form: Form, tangents: Mapping[str, Any]) -> Any:
    """The symmetric change (n, n) of A as its arrays move along the `tangents`, those of one form; 0.0 for none."""
    if isinstance(form, SumForm):
        return sum(
            form_change(part, {n.removeprefix(f"[{k}]"): t for n, t in tangents.items() if n.startswith(f"[{k}]")})
            for k, part in enumerate(form.parts)
        )
    if not tangents:
        return 0.0
    if isinstance(form, GramForm):
        change = form.X.data.T @ tangents[".X"]
        return form.scale * (change + change.T)
    assert isinstance(form, MatrixForm)
    return 0.5 * form.scale * (tangents[""] + tangents[""].T)


def on_places(like: Any, P: Array, Q: Array) -> Any:
    """P Qᵀ, as an array for an array `like`, and for a sparse one at the places of its entries."""
    if isinstance(like, np.ndarray):
        return P @ Q.T
    places = sp.csr_array(like)
    rows = np.repeat(np.arange(places.shape[0]), np.diff(places.indptr))
    return with_data(places, row_dots(P[rows], Q[places.indices]))
