"""Tables of numbers as text, .csv and .tsv: separator, header, index, label and decimal comma are recognised."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from psdopt.checks import brief
from psdopt.data.columns import FOUND, INDEX_NAMES, LABEL_NAMES, Choice, Columns, columns_of
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import BLOCK

SEPARATORS = ("\t", ";", ",")
#: Cells of a column of truth values, in upper or lower case.
TRUTH = {"true": 1.0, "false": 0.0}


def read_table(path: Path, content: bytes, choice: Choice = FOUND) -> tuple[Array, Array, dict[str, Any]]:
    """Features X (m, d) and labels y (m,) of the table in `content`, and fields of its data set: `feature_names`, None
    without a header, and `notes` on how columns were recognised. Messages name `path` and, where possible, line and
    column.

    Columns are separated by tabs, semicolons or commas; with the first two, numbers may have decimal commas. A first
    line that contains a name is a header. The label is the column that `choice` names, or the one called label, target
    or y, else the last one. A first column without a name under a header holds names of rows and is not a feature.
    A feature whose cells all say true or false is 1 or 0.

    Raises InvalidInputError for ragged rows, missing or non-finite numbers, missing labels, numbers among labels of
    text, fewer than two columns, or more than BLOCK columns, since a cell of text takes ten times the memory of a
    number.
    """
    for number, raw in enumerate(io.BytesIO(content), 1):
        if len(raw) <= BLOCK:
            continue
        cells = 1 + max(line.count(mark.encode()) for line in raw.split(b"\r") for mark in SEPARATORS)
        if cells > BLOCK:
            raise InvalidInputError(
                f"{path}, line {number}: a table of text must have at most {BLOCK} columns; found {cells}. "
                "Store it as .npz"
            )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InvalidInputError(f"{path}, line {line}: not UTF-8 text; save the file as UTF-8") from error
    separator = _separator(text)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(map(str.strip, row))]
    except csv.Error as error:
        raise InvalidInputError(f"{path} is no usable table: {error}") from error
    if not rows:
        raise InvalidInputError(f"{path} is empty; expected one sample per line or the arrays X and y")
    comma = separator != "," and _has_decimal_comma(row for _, row in rows)
    header = rows[0][1] if _is_header(rows[0][1], comma) else None
    body = rows[1:] if header is not None else rows
    if not body:
        raise InvalidInputError(f"{path} holds a header but no samples")
    width = len(header if header is not None else body[0][1])
    index = [0] if header is not None and header[0].lower() in INDEX_NAMES else []
    columns = columns_of(f"{path}, line {body[0][0]}", header, width, choice, index)
    for line, row in body:
        if len(row) != width:
            raise InvalidInputError(f"{path}, line {line}: expected {width} values, as above it; found {len(row)}")
    truths = {k for k in columns.features if all(row[k].lower() in TRUTH for _, row in body)}
    for _, row in body:
        for k in truths:
            row[k] = str(TRUTH[row[k].lower()])
    X = np.array([_numbers(path, line, row, columns, comma) for line, row in body])
    names = [header[k] for k in columns.features] if header is not None else None
    y = _labels(path, [(line, row[columns.label]) for line, row in body], comma)
    notes = *columns.notes(), *("decimal commas",) * comma, *("true is 1, false 0",) * bool(truths)
    return X, y, {"feature_names": names, "notes": notes}


def _separator(text: str) -> str:
    """The first of tab, semicolon, comma that divides the first two lines equally; quoted text is skipped."""
    lines = list(islice((line for line in io.StringIO(text, newline=None) if line.strip()), 2))
    for mark in SEPARATORS:
        try:
            counts = {len(row) for row in csv.reader(lines, delimiter=mark)}
        except csv.Error:
            continue
        if len(counts) == 1 and counts.pop() > 1:
            return mark
    return next((mark for mark in SEPARATORS if mark in "".join(lines[:1])), ",")


def _has_decimal_comma(rows: Iterable[Sequence[str]]) -> bool:
    return any(
        "," in cell and _number(cell) is None and _number(cell, True) is not None for row in rows for cell in row
    )


def _is_header(row: Sequence[str], comma: bool) -> bool:
    """Whether the first row holds names: a label's name, or text in a column of features."""
    features = row[:-1] if len(row) > 1 else row
    text = any(_number(cell, comma) is None and cell.lower() not in TRUTH for cell in features if cell)
    return any(cell.lower() in LABEL_NAMES for cell in row) or text


def _numbers(path: Path, line: int, row: Sequence[str], columns: Columns, comma: bool) -> list[float]:
    numbers = []
    for k in columns.features:
        number = _number(row[k], comma)
        if number is None or not math.isfinite(number):
            where = f"{path}, line {line}, {columns.name(k)}"
            text = number is None and row[k]  # a column of words, not a missing number
            hint = f". {columns.hint()}" if text else ""
            others = [columns.name(j) for j in columns.features if j > k and row[j] and _number(row[j], comma) is None]
            also = f", and text in {', '.join(others[:8])} too" if text and others else ""
            raise InvalidInputError(f"{where}: expected a finite number; found {brief(row[k])}{also}{hint}")
        numbers.append(number)
    return numbers


def _labels(path: Path, cells: Sequence[tuple[int, str]], comma: bool) -> Array:
    """Labels as numbers if all are numbers (integers if all are whole), as text if none is."""
    for line, cell in cells:
        if not cell:
            raise InvalidInputError(f"{path}, line {line}: the label is missing")
    numbers = [_number(cell, comma) for _, cell in cells]
    words = [k for k, number in enumerate(numbers) if number is None]
    if 0 < len(words) < len(cells):
        given = next(k for k, number in enumerate(numbers) if number is not None)
        found = " and ".join(f"{brief(cells[k][1])} in line {cells[k][0]}" for k in (given, words[0]))
        raise InvalidInputError(f"{path}: the labels must be all numbers or all text; found {found}")
    if words:
        return np.array([cell for _, cell in cells])
    values = np.array(numbers, dtype=np.float64)
    for (line, cell), value in zip(cells, values, strict=True):
        if not math.isfinite(value):
            raise InvalidInputError(f"{path}, line {line}: the label must be finite; found {brief(cell)}")
    whole = np.all(values == np.floor(values)) and np.abs(values).max() < 2.0**53
    return values.astype(np.int64) if whole else values


def _number(cell: str, comma: bool = False) -> float | None:
    """The number in `cell`, with a decimal comma if `comma` and no point; None if there is none."""
    if "_" in cell:  # valid in Python, not in a table
        return None
    if comma and "." not in cell and cell.count(",") == 1:
        cell = cell.replace(",", ".")
    try:
        return float(cell)
    except ValueError:
        return None
