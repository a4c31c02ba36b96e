"""Cases are kept after each, as JSON, valid for their settings and their code."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.reproduction.experiments import ExperimentCase
from benchmarks.reproduction.store import Store, as_json
from psdopt.errors import DataFileError, InvalidTypeError

CODE = {"version": "1", "commit": "abc"}


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    case = ExperimentCase("iris", {"splits": 3})
    Store(tmp_path / "a.json").keep(case, CODE, 1.25, {"error": np.float64(0.5), "values": np.arange(2)})
    again = Store(tmp_path / "a.json")
    assert again.measured() == {"iris": {"error": 0.5, "values": [0, 1]}}
    assert again.seconds() == 1.25
    assert again.codes() == ["1 (abc)"]
    assert again.valid(case, CODE)
    assert "Python" in again.machine


@pytest.mark.parametrize(
    ("case", "code"),
    [
        (ExperimentCase("iris", {"splits": 4}), CODE),
        (ExperimentCase("wine", {"splits": 3}), CODE),
        (ExperimentCase("iris", {"splits": 3}), {"version": "2", "commit": "abc"}),
        (ExperimentCase("iris", {"splits": 3}), {"version": "1", "commit": "abd"}),
    ],
)
def test_other_settings_and_other_code_are_not_valid(
    tmp_path: Path, case: ExperimentCase, code: dict[str, str]
) -> None:
    store = Store(tmp_path / "a.json")
    store.keep(ExperimentCase("iris", {"splits": 3}), CODE, 1.0, {})
    assert not store.valid(case, code)


def test_cases_come_in_the_order_asked_for(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.json")
    for name in ("b", "a"):
        store.keep(ExperimentCase(name), CODE, 1.0, {"name": name})
    assert list(store.measured([ExperimentCase("a"), ExperimentCase("c"), ExperimentCase("b")])) == ["a", "b"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"machine": {}, "cases": {"a": {"settings": {}}}}'])
def test_a_damaged_file_is_one_clear_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(DataFileError, match=r"a\.json"):
        Store(tmp_path / "a.json")


def test_json_has_no_nan_and_no_objects() -> None:
    found = as_json({"a": (np.nan, np.inf, 1.123456789012), "b": None, "c": np.bool_(True)})
    assert found == {"a": [None, None, 1.1234568], "b": None, "c": True}
    json.dumps(found, allow_nan=False)
    with pytest.raises(InvalidTypeError, match="object"):
        as_json({"a": object()})
