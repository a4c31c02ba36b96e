"""Semidefinite programs in SDPA's file formats, as constrained problems."""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints.constraint import Constraint
from psdopt.constraints.measurements import SparseForms
from psdopt.constraints.problem import Constrained
from psdopt.errors import DataFileError, InvalidInputError
from psdopt.linalg.arrays import Array
from psdopt.linalg.operators import LinearMap
from psdopt.problems.term_sum import TermSum
from psdopt.terms.forms import MatrixForm
from psdopt.terms.quadratic import LinearTerm

#: Characters that SDPA reads as blanks.
BLANKS = str.maketrans("{}(),", "     ")
INTEGER = re.compile(r"[+-]?\d+")
#: Largest order of M. Memory for its rows is allocated before entries are read: a mistyped size must not exhaust it.
MOST_ROWS = 10_000_000
#: Beyond this a float does not tell an integer from the next one, so that it is no index.
LARGEST = 2.0**53


def read_sdpa(path: str | Path, trace_bound: float | None = None) -> Constrained:
    """The problem min −⟨F_0, M⟩, ⟨F_t, M⟩ = c_t, M ⪰ 0, of a file that holds c (m,) and F_0, ..., F_m (n, n).

    This is SDPA's (D), max ⟨F_0, M⟩, in our sign; its optimal value is minus SDPA's. Multipliers y are −x for the x of
    SDPA's (P), min cᵀx, Σ x_t F_t − F_0 ⪰ 0. Blocks lie side by side in one M of order n, a diagonal block as entries
    of the diagonal.

    Parameters
    ----------
    path : in sparse format (`.dat-s`), or in dense format (`.dat`), either of them also with `.gz`.
    trace_bound : see :class:`Constrained`.

    Raises
    ------
    DataFileError, with the line where there is one, for a file that cannot be read or does not follow the format.
    """
    path = Path(path)
    lines = _lines(path)
    reader = _Reader(path, lines)
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
    if order > MOST_ROWS:
        reader.fail(f"block sizes must add up to at most {MOST_ROWS}; found {order}")
    c = reader.numbers(m, "the vector c")
    dense = not path.name.lower().removesuffix(".gz").endswith("-s")
    t, i, j, values = _dense(reader, m, sizes) if dense else _sparse(reader, m, sizes)
    return _problem(path, m, sizes, c, (t, i, j, values), trace_bound)


Entries = tuple[NDArray[Any], NDArray[Any], NDArray[Any], Array]


def _problem(
    path: Path, m: int, sizes: list[int], c: Array, entries: Entries, trace_bound: float | None
) -> Constrained:
    t, i, j, values = entries
    n = int(np.sum(np.abs(sizes)))
    i, j = np.minimum(i, j), np.maximum(i, j)
    first = t == 0
    C = sp.csr_array((-values[first], (i[first], j[first])), shape=(n, n))
    C = C + sp.csr_array(sp.triu(C, 1)).T
    own = ~first
    if not own.any():
        raise DataFileError(f"{path}: every constraint matrix is zero")
    places, where = np.unique(i[own] * n + j[own], return_inverse=True)
    with np.errstate(over="ignore"):  # numbers as large as that are refused below, with their name
        weight = np.where(i[own] == j[own], 1.0, 2.0) * values[own]
    B = sp.csr_array((weight, (t[own] - 1, where)), shape=(m, len(places)))
    forms = SparseForms(places // n, places % n, B, n)
    try:
        objective = TermSum([LinearTerm(MatrixForm(LinearMap(sp.csr_array(C), "C")))])
        return Constrained(objective, Constraint(forms, c, c, path.name), trace_bound)
    except InvalidInputError as error:
        raise DataFileError(f"{path}: {error}") from error


def _lines(path: Path) -> list[str]:
    try:
        raw = path.read_bytes()
        text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        return text.decode("utf-8", errors="replace").splitlines()
    except OSError as error:
        raise DataFileError(f"cannot read {path}: {error.strerror or error}") from error
    except (EOFError, zlib.error) as error:
        raise DataFileError(f"{path} is a damaged .gz file: {error}") from error


class _Reader:
    """Reader of the head: line by line, without comments, with the line number for messages."""

    def __init__(self, path: Path, lines: list[str]) -> None:
        self.path, self.lines, self.at = path, lines, 0
        while self.at < len(lines) and (not lines[self.at].strip() or lines[self.at].lstrip()[0] in '"*'):
            self.at += 1

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        raise DataFileError(f"{self.path}, line {(self.at if line is None else line) or 1}: {message}")

    def next(self, what: str) -> str:
        while self.at < len(self.lines):
            self.at += 1
            line = self.lines[self.at - 1].translate(BLANKS).strip()
            if line:
                return line
        raise DataFileError(f"{self.path} ends before {what}")

    def integers(self, count: int, what: str) -> list[int]:
        """`count` integers; text after them on the same line is a comment."""
        found: list[int] = []
        while len(found) < count:
            words = self.next(what).split()
            for word in words:
                if len(found) == count:
                    break
                number = INTEGER.fullmatch(word)
                if number is None and not found:
                    self.fail(f"expected {what}; found {word!r}")
                if number is None:
                    break
                found.append(int(word))
        return found

    def numbers(self, count: int, what: str) -> Array:
        """`count` numbers on one line or several; more of them are an error."""
        found: list[float] = []
        while len(found) < count:
            for word in self.next(what).split():
                try:
                    found.append(float(word))
                except ValueError:
                    self.fail(f"expected numbers of {what}; found {word!r}")
        if len(found) > count:
            self.fail(f"{what} must have {count} numbers; found {len(found)}")
        values = np.array(found)
        if not np.all(np.isfinite(values)):
            self.fail(f"{what} must be finite")
        return values

    def rest(self, what: str) -> Array:
        """All remaining numbers."""
        words = "\n".join(self.lines[self.at :]).translate(BLANKS).split()
        try:
            return np.array(words, dtype=np.float64)
        except ValueError:
            for number, line in enumerate(self.lines[self.at :], self.at + 1):
                for word in line.translate(BLANKS).split():
                    try:
                        float(word)
                    except ValueError:
                        self.fail(f"expected {what}; found {word!r}", number)
            raise


def _sparse(reader: _Reader, m: int, sizes: list[int]) -> Entries:
    """Five numbers an entry: matrix, block, row, column, value; rows and columns of a block count from 1."""
    flat = reader.rest("entries: matrix, block, row, column, value")
    if len(flat) % 5:
        reader.fail(f"entries must have five numbers each; found {len(flat)} numbers in all", len(reader.lines))
    table = flat.reshape(-1, 5)
    if not np.all(np.isfinite(table)):
        raise DataFileError(f"{reader.path}: entries must be finite; found NaN or infinite ones")
    table = table[table[:, 4] != 0.0]
    given = table[:, :4]
    if np.any(np.abs(given) > LARGEST) or np.any(given != np.trunc(given)):
        raise DataFileError(f"{reader.path}: matrix, block, row and column of an entry must be integers")
    t, block, row, column = given.astype(np.int64).T
    extent = np.abs(np.array(sizes))
    for name, found, top in (("matrix", t, m), ("block", block, len(sizes))):
        low = 0 if name == "matrix" else 1
        wrong = np.flatnonzero((found < low) | (found > top))
        if len(wrong):
            raise DataFileError(
                f"{reader.path}: {name} numbers must lie between {low} and {top}; found {found[wrong[0]]}"
            )
    size = extent[block - 1]
    wrong = np.flatnonzero((np.minimum(row, column) < 1) | (np.maximum(row, column) > size))
    if len(wrong):
        k = wrong[0]
        raise DataFileError(
            f"{reader.path}: entries of block {block[k]} must have rows and columns between 1 and {size[k]}; "
            f"found ({row[k]}, {column[k]})"
        )
    diagonal = np.array(sizes)[block - 1] < 0
    wrong = np.flatnonzero(diagonal & (row != column))
    if len(wrong):
        k = wrong[0]
        raise DataFileError(f"{reader.path}: block {block[k]} is diagonal; found an entry at ({row[k]}, {column[k]})")
    first = np.concatenate([[0], np.cumsum(extent)[:-1]])[block - 1] - 1
    return _once(reader, t, first + row, first + column, table[:, 4], int(extent.sum()))


def _once(reader: _Reader, t: NDArray[Any], i: NDArray[Any], j: NDArray[Any], values: Array, n: int) -> Entries:
    """Each entry once, where a file gives both triangles or an entry twice; an error where the values differ."""
    codes = (t * n + np.minimum(i, j)) * n + np.maximum(i, j)
    _, kept, where = np.unique(codes, return_index=True, return_inverse=True)
    wrong = np.flatnonzero(values[kept][where] != values)
    if len(wrong):
        k = wrong[0]
        raise DataFileError(
            f"{reader.path}: matrix {t[k]} has two values at one place, {values[kept][where][k]:g} and {values[k]:g}"
        )
    return t[kept], i[kept], j[kept], values[kept]


def _dense(reader: _Reader, m: int, sizes: list[int]) -> Entries:
    """The numbers of F_0, ..., F_m, block by block, row by row; of a diagonal block its diagonal."""
    flat = reader.rest("numbers of the matrices")
    lengths = [-s if s < 0 else s * s for s in sizes]
    expected = (m + 1) * sum(lengths)
    if len(flat) != expected:
        raise DataFileError(f"{reader.path}: {m + 1} matrices have {expected} numbers; found {len(flat)}")
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
                raise DataFileError(f"{reader.path}: matrices must be symmetric")
            t, i, j = np.triu(cube).nonzero()
            found.append((t, first + i, first + j, cube[t, i, j]))
        position, first = position + length, first + abs(s)
    if not np.all(np.isfinite(flat)):
        raise DataFileError(f"{reader.path}: matrices must be finite; found NaN or infinite entries")
    t, i, j, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return t, i, j, values
