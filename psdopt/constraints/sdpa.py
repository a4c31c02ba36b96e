"""Semidefinite programs in SDPA's file formats, as constrained problems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.checks import CheckedIndices
from psdopt.constraints.constraint import Constraint
from psdopt.constraints.limits import NUMBERS
from psdopt.constraints.measurements import SparseForms
from psdopt.constraints.problem import Constrained
from psdopt.constraints.sdpa_text import SdpaText
from psdopt.errors import DataFileError, InvalidInputError
from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import SPECTRUM_ORDER
from psdopt.linalg.operators import LinearMap
from psdopt.problems.term_sum import TermSum
from psdopt.terms.forms import MatrixForm
from psdopt.terms.quadratic import LinearTerm


def read_sdpa(path: str | Path, trace_bound: float | None = None) -> Constrained:
    """The problem min −⟨F_0, M⟩, ⟨F_t, M⟩ = c_t, M ⪰ 0, of a file that holds c (m,) and F_0, ..., F_m (n, n).

    This is SDPA's (D), max ⟨F_0, M⟩, in our sign; its optimal value is minus SDPA's. Multipliers y are the x of
    SDPA's (P), min cᵀx, Σ x_t F_t − F_0 ⪰ 0, whose matrix is S = C + A*(y). Blocks lie side by side in one M of order
    n, a diagonal block as entries of the diagonal.

    Parameters
    ----------
    path : in sparse format (`.dat-s`), or in dense format (`.dat`), either of them also with `.gz`.
    trace_bound : see :class:`Constrained`.

    Raises
    ------
    DataFileError, with the line where there is one, for a file that cannot be read, does not follow the format or
    unpacks to far more than its size; also for an order above 1500 if less than half of its rows have entries, so that
    a mistyped order takes no memory.
    """
    path = Path(path)
    try:
        return _read(SdpaText(path), trace_bound)
    except MemoryError as error:
        raise DataFileError(f"{path} does not fit into memory") from error


def _read(reader: SdpaText, trace_bound: float | None) -> Constrained:
    m = reader.integers(1, "the number of constraints m")[0]
    if m < 1:
        reader.fail(f"the number of constraints m must be at least 1; found {m}")
    count = reader.integers(1, "the number of blocks")[0]
    if count < 1:
        reader.fail(f"the number of blocks must be at least 1; found {count}")
    sizes = reader.integers(count, "the block sizes")
    if 0 in sizes:
        reader.fail("block sizes must not be 0")
    order = sum(map(abs, sizes))
    if order > NUMBERS:  # the number of a place in M is then an int64
        reader.fail(f"block sizes must add up to at most {NUMBERS}; found {order}")
    c = reader.numbers(m, "the vector c")
    dense = not reader.path.name.lower().removesuffix(".gz").endswith("-s")
    return _problem(reader, order, c, _dense(reader, m, sizes) if dense else _sparse(reader, m, sizes), trace_bound)


Entries = tuple[NDArray[Any], NDArray[Any], NDArray[Any], Array]


def _problem(reader: SdpaText, n: int, c: Array, entries: Entries, trace_bound: float | None) -> Constrained:
    t, i, j, values = entries
    seen = np.zeros(n, dtype=bool)
    seen[i] = seen[j] = True
    named = int(np.count_nonzero(seen))
    if n > max(SPECTRUM_ORDER, 2 * named):
        allowed = "block sizes must not add up to more than twice the rows that have entries"
        reader.refuse(f"{allowed}; found {n} and {named}. No matrix sees the other rows: leave them out")
    first = t == 0
    C = sp.csr_array((-values[first], (i[first], j[first])), shape=(n, n))
    C = C + sp.csr_array(sp.triu(C, 1)).T
    own = np.flatnonzero(~first)
    if not len(own):
        reader.refuse("every constraint matrix is zero")
    with np.errstate(over="ignore"):
        weight = np.where(i[own] == j[own], 1.0, 2.0) * values[own]
    for k in own[np.isinf(weight)]:
        most = f"at most {np.finfo(np.float64).max / 2:.4g} in size, since they count twice"
        reader.refuse(f"entries off the diagonal must be {most}; found {values[k]:g} in matrix {t[k]}")
    try:
        B = sp.csr_array((weight, (t[own] - 1, np.arange(len(weight)))), shape=(len(c), len(weight)))
        forms = SparseForms(CheckedIndices(i[own], n), CheckedIndices(j[own], n), B, n)
        objective = TermSum([LinearTerm(MatrixForm(LinearMap(sp.csr_array(C), "C", checked=True)))])
        return Constrained(objective, Constraint(forms, c, c, reader.path.name), trace_bound)
    except InvalidInputError as error:
        raise DataFileError(f"{reader.path}: {error}") from error


def _sparse(reader: SdpaText, m: int, sizes: list[int]) -> Entries:
    """Five numbers an entry: matrix, block, row, column, value; rows and columns of a block count from 1."""
    flat = reader.rest("entries of five finite numbers: matrix, block, row, column, value")
    if len(flat) % 5:
        reader.fail(f"entries must have five numbers each; found {len(flat)} numbers in all")
    table = flat.reshape(-1, 5)
    table = table[table[:, 4] != 0.0]
    given = table[:, :4]
    if np.any(np.abs(given) > NUMBERS) or np.any(given != np.trunc(given)):
        reader.refuse(f"matrix, block, row and column of an entry must be integers of at most {NUMBERS}")
    t, block, row, column = given.astype(np.int64).T
    extent = np.abs(np.array(sizes))
    for name, found, low, top in (("matrix", t, 0, m), ("block", block, 1, len(sizes))):
        for wrong in found[(found < low) | (found > top)]:
            reader.refuse(f"{name} numbers must lie between {low} and {top}; found {wrong}")
    size = extent[block - 1]
    for k in np.flatnonzero((np.minimum(row, column) < 1) | (np.maximum(row, column) > size)):
        between = f"entries of block {block[k]} must have rows and columns between 1 and {size[k]}"
        reader.refuse(f"{between}; found ({row[k]}, {column[k]})")
    diagonal = np.array(sizes)[block - 1] < 0
    for k in np.flatnonzero(diagonal & (row != column)):
        reader.refuse(f"block {block[k]} is diagonal; found an entry at ({row[k]}, {column[k]})")
    first = np.concatenate([[0], np.cumsum(extent)[:-1]])[block - 1] - 1
    return _once(reader, t, first + row, first + column, table[:, 4])


def _once(reader: SdpaText, t: NDArray[Any], i: NDArray[Any], j: NDArray[Any], values: Array) -> Entries:
    """Entries of the upper triangle by (i, j, t), each once, even if a file gives both triangles or an entry twice.

    The only sort of a file's entries. An error where the values differ.
    """
    keys = np.array([t, np.maximum(i, j), np.minimum(i, j)])
    order = np.lexsort(keys)  # one number (i n + j) m + t for the three would overflow for large m and n
    keys, values = keys[:, order], values[order]
    t, j, i = keys
    again = np.zeros(len(t), dtype=bool)
    again[1:] = np.all(np.diff(keys) == 0, axis=0)
    for k in np.flatnonzero(again[1:] & (values[1:] != values[:-1])):
        reader.refuse(f"matrix {t[k]} has two values at one place, {values[k]:g} and {values[k + 1]:g}")
    return t[~again], i[~again], j[~again], values[~again]


def _dense(reader: SdpaText, m: int, sizes: list[int]) -> Entries:
    """The numbers of F_0, ..., F_m, block by block, row by row; of a diagonal block its diagonal."""
    flat = reader.rest("finite numbers of the matrices")
    lengths = [-s if s < 0 else s * s for s in sizes]
    expected = (m + 1) * sum(lengths)
    if len(flat) != expected:
        reader.refuse(f"{m + 1} matrices have {expected} numbers; found {len(flat)}")
    found, position, first = [], 0, 0
    rows = flat.reshape(m + 1, -1)
    for s, length in zip(sizes, lengths, strict=True):
        part = rows[:, position : position + length]
        if s < 0:
            t, k = part.nonzero()
            found.append((t, first + k, first + k, part[t, k]))
        else:
            cube = part.reshape(m + 1, s, s)
            if not np.allclose(cube, cube.transpose(0, 2, 1), rtol=1e-12, atol=0.0):
                reader.refuse("matrices must be symmetric")
            t, i, j = np.triu(cube).nonzero()
            found.append((t, first + i, first + j, cube[t, i, j]))
        position, first = position + length, first + abs(s)
    return _once(reader, *(np.concatenate(parts) for parts in zip(*found, strict=True)))
