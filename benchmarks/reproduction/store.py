"""Results of experiments, one JSON file each, written after every case, so that an interrupted run can continue."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reproduction.experiments import ExperimentCase
from benchmarks.reproduction.origin import machine
from psdopt.data.files import atomic_write
from psdopt.errors import DataFileError, InvalidTypeError

#: The fields of a stored case.
FIELDS = ("settings", "code", "seconds", "measured")


class Store:
    """The cases of one experiment in the file `path`.

    A case is *valid* for the settings and the code (version and commit) under which it was measured. Raises
    DataFileError if the file exists and is not a record of cases.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._cases: dict[str, dict[str, Any]] = {}
        self.machine: dict[str, str] = {}
        if path.exists():
            self._read()

    def _read(self) -> None:
        try:
            stored = json.loads(self.path.read_text(encoding="utf-8"))
            self._cases, self.machine = dict(stored["cases"]), dict(stored["machine"])
            complete = all(set(FIELDS) <= set(case) for case in self._cases.values())
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataFileError(f"cannot read the results in {self.path}: {error}; remove it or add --again") from error
        if not complete:
            raise DataFileError(f"the results in {self.path} lack one of {', '.join(FIELDS)}; remove it or add --again")

    def valid(self, case: ExperimentCase, code: Mapping[str, str]) -> bool:
        """Whether `case` was measured with these settings by this code."""
        kept = self._cases.get(case.name)
        return kept is not None and kept["settings"] == as_json(case.settings) and kept["code"] == dict(code)

    def keep(self, case: ExperimentCase, code: Mapping[str, str], seconds: float, measured: Mapping[str, Any]) -> None:
        """Write the result of `case`; the file is complete at any moment."""
        self._cases[case.name] = {
            "settings": as_json(case.settings),
            "code": dict(code),
            "seconds": round(seconds, 2),
            "measured": as_json(measured),
        }
        self.machine = machine()
        text = json.dumps({"machine": self.machine, "cases": self._cases}, indent=1, ensure_ascii=False)
        with atomic_write(self.path) as handle:
            handle.write(f"{text}\n".encode())

    def measured(self, cases: Sequence[ExperimentCase] | None = None) -> dict[str, dict[str, Any]]:
        """{case: result} of `cases` (default: all), in their order, without those that are not stored."""
        names = [case.name for case in cases] if cases is not None else list(self._cases)
        return {name: self._cases[name]["measured"] for name in names if name in self._cases}

    def seconds(self) -> float:
        """Processor seconds of all stored cases."""
        return float(sum(case["seconds"] for case in self._cases.values()))

    def codes(self) -> list[str]:
        """The versions and commits with which the stored cases were measured, in words."""
        found = {(case["code"].get("version", ""), case["code"].get("commit", "")) for case in self._cases.values()}
        return [f"{version} ({commit})" if commit else version for version, commit in sorted(found)]


def as_json(value: Any) -> Any:
    """`value` for JSON: NumPy numbers and arrays converted, values not finite as None, floats with 8 digits.

    Raises InvalidTypeError for anything else.
    """
    if isinstance(value, np.ndarray):
        return as_json(value.tolist())
    if isinstance(value, np.generic):
        return as_json(value.item())
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return float(f"{value:.8g}") if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    raise InvalidTypeError(f"an experiment measures numbers, text, lists and mappings; found {type(value).__name__}")
