"""A linear objective with explicit constraints: C and the A_t by their entries, and the blocks that they share."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints.measurements import SparseForms
from psdopt.linalg.arrays import Array


class Conic:
    """min ⟨C, M⟩ + constant over M ⪰ 0, lower <= A(M) <= upper, everything by entries.

    Attributes: `C` sparse symmetric (n, n); `forms`; `lower`, `upper` (m,).
    """

    def __init__(self, C: sp.csr_array, constant: float, forms: SparseForms, lower: Array, upper: Array) -> None:
        self.C, self.constant, self.forms, self.lower, self.upper = C, constant, forms, lower, upper
        self.n, self.m = forms.n, forms.size

    @cached_property
    def blocks(self) -> list[NDArray[np.intp]]:
        """Rows of the diagonal blocks that neither C nor any A_t connects; M is zero outside of them without loss."""
        links = sp.csr_array((np.ones(len(self.forms.i)), (self.forms.i, self.forms.j)), shape=(self.n, self.n))
        return diagonal_blocks(sp.csr_array(links + abs(self.C)))

    def slack(self, y: Array) -> sp.csr_array:
        """S = C + A*(y), sparse (n, n)."""
        return sp.csr_array(self.C + self.forms.matrix(y))


def diagonal_blocks(S: sp.csr_array) -> list[NDArray[np.intp]]:
    """Rows of each diagonal block of a sparse symmetric S (n, n), connected components of its entries. O(entries)."""
    links = S.copy()  # S itself is not changed
    links.eliminate_zeros()  # they connect nothing
    count, label = sp.csgraph.connected_components(links, directed=False)
    order = np.argsort(label, kind="stable")
    ends = np.cumsum(np.bincount(label, minlength=count))[:-1]
    return [np.asarray(rows, dtype=np.intp) for rows in np.split(order, ends)]
