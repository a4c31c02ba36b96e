"""Data files whose rows are read in blocks: Parquet, Zarr, HDF5, and .npy files that are too large for memory."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from psdopt.checks import brief
from psdopt.data.archives import SHARE, memory
from psdopt.data.columns import FOUND, INDEX_NAMES, Choice, columns_of
from psdopt.data.datasets import Dataset
from psdopt.data.files import without_compression
from psdopt.errors import DataFileError, InvalidInputError, InvalidTypeError, PsdoptError
from psdopt.linalg.row_sources import SMALL_MAP, ArrowRows, RowSource, row_source

ROW_SUFFIXES = (".parquet", ".zarr", ".h5", ".hdf5")
#: Size of a .npy file, in bytes, from which it is mapped and read in blocks.
LARGE_FILE = SMALL_MAP
#: Prefix of pandas for an index that it stores as a column.
PANDAS_INDEX = "__index_level_"


def read_rows_file(path: Path, choice: Choice = FOUND) -> Dataset:
    """The data set in `path`; X of up to 64 MB as float64 is an array, a larger one is read in blocks when it is used.

    .parquet : one sample per row; the label is the column that `choice` names, or the one called label, target or y,
        else the last one; an index column is left out. .zarr : an array X (m, d), or a group of arrays X and y.
        .h5, .hdf5 : data sets X (m, d) and y. .npy : X alone.

    Raises DataFileError if the file cannot be read or the library that reads it is missing, InvalidInputError if it
    does not hold numbers.
    """
    suffix = path.suffix.lower()
    if not path.exists():
        raise DataFileError(f"cannot read {path}: No such file or directory")
    X: Any
    names = None
    try:
        if suffix == ".parquet":
            X, y, notes, names = _parquet(path, choice)
        elif suffix == ".zarr":
            X, y, notes = _zarr(path)
        elif suffix in (".h5", ".hdf5"):
            X, y, notes = _hdf5(path)
        else:
            X, y, notes = _npy(path), None, ("X, without labels",)
        if isinstance(X, RowSource):
            if 8 * X.shape[0] * X.shape[1] > SMALL_MAP:
                notes = (*notes, f"{X.shape[0]} rows, read in blocks of {X.block}")
            else:
                X = X.read(0, X.shape[0])
    except ImportError as error:
        raise DataFileError(f"cannot read {path}: install {error.name} (an extra of psdopt)") from error
    except PsdoptError:
        raise
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}") from error
    return named(path, X, y, notes=notes, feature_names=names)


def named(path: Path, X: Any, y: Any = None, **fields: Any) -> Dataset:
    """The data set with these fields; its errors begin with the file."""
    name = without_compression(path).stem
    try:
        return Dataset(name, X, y, **fields)
    except PsdoptError as error:
        raise InvalidInputError(str(error).replace(name, str(path), 1)) from error
    except MemoryError as error:
        raise InvalidInputError(f"{path} does not fit into memory as numbers of 8 bytes") from error


def _npy(path: Path) -> Any:
    """The array of a .npy file, mapped."""
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # of damaged headers: ValueError, SyntaxError, tokenize.TokenError, ...
        raise InvalidInputError(f"{path} is no usable .npy file: {brief(error)}") from error
    rows = row_source(array, f"{path}: X")
    return array if rows is None else rows


def _parquet(path: Path, choice: Choice) -> tuple[RowSource, Any, tuple[str, ...], list[str]]:
    from pyarrow import ArrowInvalid, parquet

    try:
        file = parquet.ParquetFile(path)
    except ArrowInvalid as error:
        raise InvalidInputError(f"{path} is no Parquet file, or is damaged: {error}") from error
    names = list(file.schema_arrow.names)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInputError(f"{path}: columns must have different names; found {brief(twice)} more than once")
    index = [k for k, name in enumerate(names) if name.startswith(PANDAS_INDEX) or name.lower() in INDEX_NAMES]
    columns = columns_of(str(path), names, len(names), choice, index)
    features = [names[k] for k in columns.features]
    try:
        X = ArrowRows(file, str(path), features)
    except InvalidTypeError as error:
        raise InvalidTypeError(f"{error}. {columns.hint()}") from error
    return X, _labels(path, file, names[columns.label]), columns.notes(), features


def _labels(path: Path, file: Any, label: str) -> Any:
    column = file.read(columns=[label]).column(0)
    if column.null_count:
        raise InvalidInputError(f"{path}: the label {label} is missing in {column.null_count} rows")
    values = column.to_numpy()
    return values.astype(str) if values.dtype.kind == "O" else values


def _zarr(path: Path) -> tuple[RowSource | None, Any, tuple[str, ...]]:
    import zarr

    opened: Any = zarr.open(str(path), mode="r")
    if hasattr(opened, "array_keys"):
        return _group(path, opened, sorted(opened.array_keys()))
    return row_source(opened, f"{path}: X"), None, ("X, without labels",)


def _hdf5(path: Path) -> tuple[RowSource | None, Any, tuple[str, ...]]:
    h5py: Any = import_module("h5py")
    opened = h5py.File(path, "r")
    return _group(path, opened, sorted(name for name in opened if isinstance(opened[name], h5py.Dataset)))


def _group(path: Path, opened: Any, names: list[str]) -> tuple[RowSource | None, Any, tuple[str, ...]]:
    if "X" not in names:
        raise InvalidInputError(f"{path} must hold an array X; found {', '.join(names) or 'nothing'}")
    X = row_source(opened["X"], f"{path}: X")
    y = _stored_labels(path, opened["y"], opened["X"].shape[0]) if "y" in names else None
    if y is not None and y.dtype.kind in "SO":  # HDF5 keeps texts as bytes
        y = np.array([text.decode() if isinstance(text, bytes) else str(text) for text in y])
    return X, y, () if y is not None else ("no labels y",)


def _stored_labels(path: Path, stored: Any, rows: int) -> Any:
    """The labels `stored` in a file; their number is checked before they are read."""
    if stored.shape != (rows,):
        raise InvalidInputError(f"{path}: y must hold one label per sample, shape ({rows},); found {stored.shape}")
    size, room = rows * max(8, stored.dtype.itemsize), SHARE * memory()
    if size > room:
        raise InvalidInputError(f"{path}: y needs {size / 2**30:.3g} GiB; found {room / 2**30:.3g} GiB to fill")
    return np.asarray(stored[:])
