"""Reading data files: arrays (.npz, .npy) and tables (.csv, .tsv), with one clear error for bad files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from psdopt.data.archives import SHARE, Archive, memory, read_npy
from psdopt.data.columns import FOUND, Choice
from psdopt.data.datasets import Dataset
from psdopt.data.files import read_bytes, unpacked, without_compression
from psdopt.data.row_files import LARGE_FILE, ROW_SUFFIXES, named, read_rows_file
from psdopt.data.text_tables import read_table
from psdopt.errors import InvalidInputError, PsdoptError

SUFFIXES = (".npz", ".npy", ".csv", ".tsv")
SUFFIXES_TEXT = ".npz, .npy, .csv, .tsv, .parquet, .zarr, .h5"
TEXT_TABLES = (".csv", ".tsv")
TABLES = (*TEXT_TABLES, ".parquet")
_CSR = ("data", "indices", "indptr", "shape")
_USED = ("X", "K", "y", "class_names", *_CSR)


def read_data_file(path: str | Path, choice: Choice = FOUND) -> Dataset:
    """The data set in `path`, named after the file.

    .npz : arrays X (m, d) and y (m,), or a CSR matrix as data, indices, indptr, shape, and y; y may be absent. Instead
        of X a symmetric matrix K (n, n), which has no samples. .npy : X alone.
    .csv, .tsv : one sample per line (see :func:`psdopt.data.text_tables.read_table`); also with .gz, .bz2 or .xz.
    .parquet, .zarr, .h5, large .npy : rows that are read in blocks (see :func:`psdopt.data.row_files.read_rows_file`).

    Sizes are read from the headers before any array is read. choice : the label and columns to leave out, in tables
    (.csv, .tsv, .parquet).

    Raises DataFileError if the file cannot be read, InvalidInputError, with the file and where possible the line,
    for ragged rows, missing or non-finite numbers, an empty file, missing arrays, a damaged or overlarge archive, or a
    choice of columns where there are none.
    """
    path = Path(path)
    plain = without_compression(path).suffix.lower()
    suffix = plain if plain in TEXT_TABLES else path.suffix.lower()
    if choice and suffix not in TABLES:
        raise InvalidInputError(f"--label and --drop name columns of a table ({', '.join(TABLES)}); {path} is none")
    try:
        if suffix in ROW_SUFFIXES or (suffix == ".npy" and path.is_file() and path.stat().st_size > LARGE_FILE):
            return read_rows_file(path, choice)
        if suffix not in SUFFIXES:
            raise InvalidInputError(f"{path}: a data file must end in {SUFFIXES_TEXT}; found {path.suffix!r}")
        content = unpacked(path, read_bytes(path), int(SHARE * memory()))
        if not content.strip():
            raise InvalidInputError(f"{path} is empty; expected one sample per line or the arrays X and y")
        if suffix == ".npz":
            return _read_npz(path, content)
        if suffix == ".npy":
            return named(path, read_npy(content, str(path)), notes=("X from a .npy file, without labels",))
        X, y, fields = read_table(path, content, choice)
        return named(path, X, y, **fields)
    except MemoryError as error:
        raise InvalidInputError(f"{path} does not fit into memory") from error


def _read_npz(path: Path, content: bytes) -> Dataset:
    archive = Archive(content, str(path), _USED)
    headers = archive.headers
    y = archive.headers.get("y")
    if "X" in headers:
        shape = headers["X"].shape  # held against y before X is read
        if len(shape) == 2 and y is not None and y.shape != shape[:1]:
            raise InvalidInputError(f"{path}: y must hold one label per sample, shape ({shape[0]},); found {y.shape}")
        X: Any = archive.read("X")
    elif all(name in headers for name in _CSR):
        X = _csr(path, archive)
    elif "K" in headers:
        if y is not None:
            raise InvalidInputError(f"{path}: K is a symmetric matrix, which has no labels y; leave out y")
        return _symmetric(path, archive.read("K"))
    else:
        found = ", ".join(archive.names) or "nothing"
        raise InvalidInputError(f"{path} must hold X, or {', '.join(_CSR)} of a CSR matrix, or K; found {found}")
    names = archive.read("class_names") if "class_names" in headers else None
    if names is not None and names.ndim != 1:
        raise InvalidInputError(f"{path}: class_names must have shape (classes,); found {names.shape}")
    notes = ("no labels y",) if y is None else ()
    return named(path, X, None if y is None else archive.read("y"), class_names=names, notes=notes)


def _symmetric(path: Path, K: Any) -> Dataset:
    dataset = named(path, K, notes=("K, a symmetric matrix",), symmetric=True)
    if not np.allclose(dataset.X, dataset.X.T, rtol=0.0, atol=1e-12 * np.abs(dataset.X).max()):
        raise InvalidInputError(f"{path}: K must be symmetric; |K - K^T| is up to {np.abs(K - K.T).max():.1e}")
    return dataset


def _csr(path: Path, archive: Archive) -> Any:
    for name in ("indices", "indptr", "shape"):
        kind = archive.headers[name].dtype
        if kind.kind not in "iu":
            raise InvalidInputError(f"{path}: {name} of a CSR matrix must hold integers; found dtype {kind}")
    try:
        rows, columns = (int(size) for size in archive.read("shape"))
        if 16 * columns > SHARE * memory():  # a vector and its copy
            raise InvalidInputError(
                f"{path}: a CSR matrix must have at most {SHARE * memory() / 16:.3g} columns, "
                f"as many as fit into memory in one row; found {columns}"
            )
        parts = tuple(archive.read(name) for name in ("data", "indices", "indptr"))
        X = scipy.sparse.csr_array(parts, shape=(rows, columns))
        X.check_format(full_check=True)
    except PsdoptError:
        raise
    except (ValueError, TypeError, OverflowError, IndexError, MemoryError) as error:
        raise InvalidInputError(f"{path}: data, indices, indptr and shape make no CSR matrix: {error}") from error
    return X
