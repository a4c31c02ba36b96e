"""Rows that are read in blocks: memory maps, Zarr, HDF5 and Dask arrays, Arrow tables and Parquet files."""

from __future__ import annotations

import mmap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from psdopt.devices import is_device_array
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import Array, is_finite
from psdopt.linalg.limits import BLOCK

#: Bytes of an array that memory is sure to hold: a memory map up to this size (as float64) is an array in memory.
SMALL_MAP = 2**26


class RowSource(ABC):
    """A real (m, d) array of which only blocks of consecutive rows are ever in memory, as float64.

    Attributes: `shape` (m, d); `name`, the name of the data in errors; `columns`, names of the columns, or None.
    """

    shape: tuple[int, int]
    name: str
    columns: Sequence[str] | None = None

    @abstractmethod
    def read(self, start: int, stop: int) -> Array:
        """Rows start <= t < stop as a float64 array (stop − start, d). One read of the source."""

    @property
    def block(self) -> int:
        """Rows per block, at least one: about 8 MB of float64, read at full speed."""
        return max(1, min(self.shape[0], BLOCK // self.shape[1]))

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """(rows, their block), from the first row to the last. One pass over the data."""
        for start in range(0, self.shape[0], self.block):
            stop = min(start + self.block, self.shape[0])
            yield slice(start, stop), self.read(start, stop)

    def partial_sums(self, part: Callable[[slice, Array], Any]) -> Iterator[tuple[slice, Any]]:
        """(rows, part(rows, their block)) for every block, in any order: the summands of a sum over rows. One pass."""
        for rows, block in self.blocks():
            yield rows, part(rows, block)

    def take(self, rows: Any) -> Array:
        """The given rows (k, d), in the order given. Cost: every block that holds one of them is read."""
        wanted = np.asarray(rows, dtype=np.intp)
        order = np.argsort(wanted, kind="stable")
        found = np.empty((len(wanted), self.shape[1]))
        bounds = np.arange(0, self.shape[0] + self.block, self.block)
        cuts = np.searchsorted(wanted[order], bounds)
        for start, low, high in zip(bounds, cuts, cuts[1:], strict=False):
            if high > low:
                here = order[low:high]
                block = self.read(int(start), min(int(start) + self.block, self.shape[0]))
                found[here] = block[wanted[here] - start]
        return found


class SlicedRows(RowSource):
    """Anything with `shape`, `dtype` and ``data[a:b]``: memory maps of any float type, Zarr, HDF5, Dask arrays."""

    def __init__(self, data: Any, name: str) -> None:
        shape = tuple(data.shape)
        if len(shape) != 2:
            raise InvalidInputError(f"{name} must be a 2-D array; found {len(shape)} dimension(s), shape {shape}")
        if any(length != length for length in shape):  # Dask marks an unknown length by NaN
            raise InvalidInputError(
                f"{name} must have known numbers of rows and columns; found shape {shape}. "
                "For a Dask array call compute_chunk_sizes() first"
            )
        if 0 in shape:
            raise InvalidInputError(f"{name} must not be empty; found shape {shape}")
        kind = np.dtype(data.dtype)
        if kind.kind not in "fiub":
            raise InvalidTypeError(f"{name} must hold real numbers; found dtype {kind}")
        self.data, self.name, self.shape = data, name, (int(shape[0]), int(shape[1]))

    def read(self, start: int, stop: int) -> Array:
        return np.asarray(self.data[start:stop], dtype=np.float64)

    @property
    def block(self) -> int:
        """Rows per block: a multiple of the source's chunk if it has chunks, so that a pass decodes each chunk once."""
        rows, chunk = super().block, _chunk_rows(self.data)
        return max(chunk, rows - rows % chunk) if chunk else rows


class MappedRows(SlicedRows):
    """A NumPy memory map of any float type, or a view of one. Pages are released after each block.

    ``madvise(MADV_DONTNEED)``, available on Linux and macOS, releases them. Without it (Windows), the system releases
    pages of the file only when memory runs short: the reported peak memory of the process may then reach the size of
    the file, although the rows need not fit in memory.
    """

    def __init__(self, data: Any, base: mmap.mmap, name: str) -> None:
        super().__init__(data, name)
        self._map = base

    def read(self, start: int, stop: int) -> Array:
        block = np.array(self.data[start:stop], dtype=np.float64)
        if hasattr(mmap, "MADV_DONTNEED"):  # otherwise all pages of the file would count as memory of this process
            self._map.madvise(mmap.MADV_DONTNEED)
        return block


class DaskRows(SlicedRows):
    """A Dask array: its blocks are those of Dask, and Dask's workers compute sums over them."""

    def partial_sums(self, part: Callable[[slice, Array], Any]) -> Iterator[tuple[slice, Any]]:
        """Partial sums computed by the current ``dask.distributed`` client, or by Dask's threads if there is none."""
        from dask import base
        from dask.delayed import delayed

        compute: Callable[..., tuple[Any, ...]] = base.compute
        starts = range(0, self.shape[0], self.block)
        blocks = [slice(start, min(start + self.block, self.shape[0])) for start in starts]
        made = [delayed(_part_of)(only(part, rows), rows, self.data[rows]) for rows in blocks]
        yield from zip(blocks, compute(*made), strict=True)


def require_finite(block: Array, name: str, columns: Sequence[str] | None = None) -> None:
    """Raises InvalidInputError for a block of rows with NaN or infinite entries; `columns` name that of the first."""
    if not is_finite(block):
        bad = ~np.isfinite(block)
        first = int(bad.any(axis=0).argmax())
        place = f"the first in column {first if columns is None else repr(columns[first])}"
        raise InvalidInputError(
            f"{name} must be finite; found {int(bad.sum())} NaN or infinite entries in one block of rows, {place}"
        )


def only(part: Callable[[slice, Array], Any], rows: slice) -> Callable[[slice, Array], Any]:
    """``part.only(rows)``, the data of `part` that these rows need, if `part` has this method; else `part` itself."""
    narrowed = getattr(part, "only", None)
    return part if narrowed is None else narrowed(rows)


def _part_of(part: Callable[[slice, Array], Any], rows: slice, block: Any) -> Any:
    return part(rows, np.asarray(block, dtype=np.float64))


class ArrowRows(RowSource):
    """Numeric columns of a ``pyarrow.Table`` or of a Parquet file, as an array (m, d).

    `columns` : names of the columns to use; None is all.
    """

    def __init__(self, data: Any, name: str, columns: Sequence[str] | None = None) -> None:
        self.name = name
        self._table: Any = None
        self._file: Any = None
        if hasattr(data, "iter_batches"):
            self._file, schema, rows = data, data.schema_arrow, data.metadata.num_rows
            sizes = [data.metadata.row_group(k).num_rows for k in range(data.num_row_groups)]
            self._starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.intp)])
            self._group: tuple[int, Array | None] = (-1, None)
        else:
            self._table, schema, rows = data, data.schema, data.num_rows
        self.columns: Sequence[str] = [field.name for field in schema] if columns is None else list(columns)
        for field in (schema.field(column) for column in self.columns):
            if not str(field.type).startswith(("int", "uint", "float", "double", "halffloat", "bool")):
                raise InvalidTypeError(
                    f"{name} must hold real numbers; found column {field.name!r} of type {field.type}. "
                    "Select the numeric columns first"
                )
        self.shape = (int(rows), len(self.columns))
        if 0 in self.shape:
            raise InvalidInputError(f"{name} must not be empty; found shape {self.shape}")

    def read(self, start: int, stop: int) -> Array:
        if self._table is not None:
            return _columns(self._table.select(self.columns).slice(start, stop - start))
        parts = []
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        for k in range(first, len(self._starts) - 1):
            low = int(self._starts[k])
            if low >= stop:
                break
            parts.append(self._row_group(k)[max(start - low, 0) : stop - low])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _row_group(self, k: int) -> Array:
        """Row group k, the unit in which Parquet is read; the last one is kept."""
        known, array = self._group
        if known == k and array is not None:
            return array

        array = _columns(self._file.read_row_group(k, columns=self.columns))
        self._group = (k, array)
        return array


def row_source(data: Any, name: str = "X") -> RowSource | None:
    """`data` as rows to be read in blocks; None if it is in memory (arrays, frames, lists) or an operator.

    Arrays on a device and memory maps of up to 64 MB (as float64) count as in memory.

    Raises InvalidTypeError for an object that is neither in memory nor readable in blocks of rows, since data are never
    loaded whole silently.
    """
    if isinstance(data, RowSource):
        return data
    if isinstance(data, np.ndarray):
        base = _memory_map(data) if data.ndim == 2 and 8 * data.size > SMALL_MAP else None
        return None if base is None else MappedRows(data, base, name)
    if isinstance(data, (sp.sparray, sp.spmatrix, LinearOperator, Sequence, np.generic, int, float)) or data is None:
        return None
    library = type(data).__module__.split(".")[0]
    if library == "pyarrow" and (hasattr(data, "iter_batches") or (hasattr(data, "schema") and hasattr(data, "slice"))):
        return ArrowRows(data, name)
    if library in ("pandas", "polars") or is_device_array(data):
        return None
    if hasattr(data, "shape") and hasattr(data, "dtype") and hasattr(type(data), "__getitem__"):
        return DaskRows(data, name) if library == "dask" else SlicedRows(data, name)
    if library == "dask" or library == "pyarrow":
        hint = "use its to_dask_array(lengths=True)" if library == "dask" else "use a Table or a ParquetFile"
        raise InvalidTypeError(f"{name} is a {library} {type(data).__name__}, which has no blocks of rows; {hint}")
    return None


def _memory_map(array: Any) -> mmap.mmap | None:
    """The memory map that an ndarray is a view of; None if its entries are in memory."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, mmap.mmap) else None


def _chunk_rows(data: Any) -> int:
    """Rows of a chunk of a chunked array; 0 if the data have no chunks."""
    chunks = getattr(data, "chunks", None)
    if not chunks:
        return 0
    rows = chunks[0]  # Dask lists the length of each chunk, Zarr and HDF5 give the one length
    return int(max(rows)) if isinstance(rows, Sequence) else int(rows)


def _columns(table: Any) -> Array:
    """A table of numeric columns as a float64 array; missing values become NaN."""
    found = np.empty((table.num_rows, table.num_columns))
    for k, column in enumerate(table.columns):
        found[:, k] = column.to_numpy()
    return found
