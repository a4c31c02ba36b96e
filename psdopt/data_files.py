"""Reading data files: .npz (dense or CSR) and .csv, with one clear error for whatever is wrong."""

from __future__ import annotations

import csv
import io
import math
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from psdopt.datasets import Dataset
from psdopt.errors import DataFileError, InvalidInputError, PsdoptError, UnknownNameError, unknown_name
from psdopt.linalg.arrays import Array
from psdopt.plugins.manager import PluginManager, plugin_manager

SUFFIXES = (".npz", ".csv")
#: Headers that mark the column of labels, whatever their case.
LABEL_NAMES = ("label", "target", "y")
_CSR = ("data", "indices", "indptr", "shape")


def read_data_file(path: str | Path) -> Dataset:
    """The data set in `path`, named after the file.

    .npz : arrays X (m, d) and y (m,), or a CSR matrix as data, indices, indptr, shape, and y; y may be absent.
    .csv : one sample per line, separated by comma, semicolon or tab, with or without a header; the labels are in
        the column called label, target or y, else in the last one.

    Raises DataFileError if the file cannot be read, InvalidInputError, with the file and where possible the line,
    for ragged rows, missing or non-finite numbers, an empty file, or missing arrays.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidInputError(f"{path}: a data file must end in {' or '.join(SUFFIXES)}; found {path.suffix!r}")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataFileError(f"cannot read {path}: {error.strerror or error}") from error
    if not content.strip():
        raise InvalidInputError(f"{path} is empty; expected one sample per line or the arrays X and y")
    return _read_csv(path, content) if path.suffix.lower() == ".csv" else _read_npz(path, content)


def load_dataset(source: str, manager: PluginManager | None = None) -> Dataset:
    """The data set called `source` in a plugin, or in the file `source`; UnknownNameError if it is neither."""
    known = (manager or plugin_manager()).names("dataset")
    if source in known:
        dataset = (manager or plugin_manager()).get("dataset", source).factory()
        assert isinstance(dataset, Dataset)
        return dataset
    if Path(source).suffix.lower() in SUFFIXES or Path(source).name != source or Path(source).is_file():
        return read_data_file(source)
    error = unknown_name("data set", source, known)
    raise UnknownNameError(f"{error}; a file must end in {' or '.join(SUFFIXES)}")


def _read_npz(path: Path, content: bytes) -> Dataset:
    try:
        archive = np.load(io.BytesIO(content), allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError("a single array, not an archive of named ones")
        with archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise InvalidInputError(f"{path} is no usable .npz archive: {' '.join(str(error).split())}") from error
    if "X" in arrays:
        X: Any = arrays["X"]
    elif all(name in arrays for name in _CSR):
        X = _csr(path, arrays)
    else:
        raise InvalidInputError(
            f"{path} must hold X, or {', '.join(_CSR)} of a CSR matrix; found {', '.join(arrays) or 'nothing'}"
        )
    return _named(path, X, arrays.get("y"), class_names=arrays.get("class_names"))


def _csr(path: Path, arrays: Mapping[str, Array]) -> Any:
    try:
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        rows, columns = (int(size) for size in arrays["shape"])
        X = scipy.sparse.csr_array(parts, shape=(rows, columns))
        X.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"{path}: data, indices, indptr and shape make no CSR matrix: {error}") from error
    return X


def _read_csv(path: Path, content: bytes) -> Dataset:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InvalidInputError(f"{path}, line {line}: not UTF-8 text; save the file as UTF-8") from error
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(map(str.strip, row))]
    except csv.Error as error:
        raise InvalidInputError(f"{path} is no usable .csv file: {error}") from error
    header = rows[0][1] if _is_header(rows[0][1]) else None
    body = rows[1:] if header is not None else rows
    if not body:
        raise InvalidInputError(f"{path} holds a header but no samples")
    width = len(header if header is not None else body[0][1])
    if width < 2:
        raise InvalidInputError(f"{path}, line {body[0][0]}: expected features and a label; found {width} column")
    for line, row in body:
        if len(row) != width:
            raise InvalidInputError(f"{path}, line {line}: expected {width} values, as above it; found {len(row)}")
    label = _label_column(header, width)
    X = np.array([_numbers(path, line, row, label, header) for line, row in body])
    names = [name for k, name in enumerate(header) if k != label] if header is not None else None
    return _named(path, X, _labels(path, [(line, row[label]) for line, row in body]), names)


def _delimiter(text: str) -> str:
    first = next(line for line in text.splitlines() if line.strip())
    return next((mark for mark in (",", ";", "\t") if mark in first), ",")


def _is_header(row: Sequence[str]) -> bool:
    """Whether the first row holds names: a label's name, or text where features are due."""
    return any(cell.lower() in LABEL_NAMES for cell in row) or any(_number(cell) is None for cell in row[:-1] if cell)


def _label_column(header: Sequence[str] | None, width: int) -> int:
    if header is not None:
        for name in LABEL_NAMES:
            for k, cell in enumerate(header):
                if cell.lower() == name:
                    return k
    return width - 1


def _numbers(path: Path, line: int, row: Sequence[str], label: int, header: Sequence[str] | None) -> list[float]:
    numbers = []
    for k, cell in enumerate(row):
        if k == label:
            continue
        number = _number(cell)
        if number is None or not math.isfinite(number):
            column = f"column {header[k]!r}" if header is not None else f"column {k + 1}"
            raise InvalidInputError(f"{path}, line {line}, {column}: expected a finite number; found {cell!r}")
        numbers.append(number)
    return numbers


def _labels(path: Path, cells: Sequence[tuple[int, str]]) -> Array:
    """Labels as numbers if all are numbers (integers if all are whole), else as text."""
    for line, cell in cells:
        if not cell:
            raise InvalidInputError(f"{path}, line {line}: the label is missing")
    numbers = [_number(cell) for _, cell in cells]
    if any(number is None for number in numbers):
        return np.array([cell for _, cell in cells])
    values = np.array(numbers, dtype=np.float64)
    for (line, cell), value in zip(cells, values, strict=True):
        if not math.isfinite(value):
            raise InvalidInputError(f"{path}, line {line}: the label must be finite; found {cell!r}")
    whole: Array = values.astype(np.int64) if np.all(values == np.floor(values)) else values
    return whole


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _named(path: Path, X: Any, y: Any, names: Sequence[str] | None = None, class_names: Any = None) -> Dataset:
    try:
        return Dataset(path.stem, X, y, names, class_names)
    except PsdoptError as error:
        raise InvalidInputError(str(error).replace(path.stem, str(path), 1)) from error
