"""Files that ``psdopt run`` writes: checked before the work, written completely or not at all."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np

from psdopt.data.files import atomic_write, check_writable
from psdopt.errors import DataFileError, InvalidInputError
from psdopt.reports import Report

OUTPUT_SUFFIXES = (".npz", ".json")


def check_output(path: str | None, argument: str = "--output", suffixes: tuple[str, ...] = OUTPUT_SUFFIXES) -> None:
    """Raises unless `path`, given as `argument` (None: not given), ends in one of `suffixes` and can be written."""
    if path is None:
        return
    if Path(path).suffix.lower() not in suffixes:
        raise InvalidInputError(f"{argument} must end in {', '.join(suffixes)}; found {path!r}")
    try:
        with tempfile.TemporaryFile(dir=check_writable(path).parent):
            pass
    except OSError as error:
        why = error if isinstance(error, DataFileError) else f"cannot write {path}: {error.strerror or error}"
        raise DataFileError(f"{argument}: {why}") from error


def write_output(report: Report, path: str) -> None:
    """The result to .npz, which :meth:`psdopt.Result.load` reads, with the report's arrays, or to .json (numbers)."""
    numbers = {"report": dict(report.rows), "success": report.success}
    with atomic_write(Path(path)) as handle:
        if Path(path).suffix.lower() == ".json":
            summary = json.dumps({**report.result.as_dict(), **numbers}, indent=2)
            handle.write(f"{summary}\n".encode())
            return
        arrays = {name: np.asarray(array) for name, array in report.arrays.items()}
        np.savez_compressed(handle, **report.result.stored(numbers, arrays))
