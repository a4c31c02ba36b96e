"""Saved results that are damaged, foreign or incomplete are one error, and a sound one comes back."""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt import FlatQuotient, QuadraticSDP, Result, solve
from psdopt.errors import DataFileError
from tests.fuzz import examples, mutants


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, bytes]:
    result = solve(QuadraticSDP(B=1.0, C=np.diag([-1.0, -2.0, 3.0])), FlatQuotient(3, 2))
    path = tmp_path_factory.mktemp("result") / "r.npz"
    result.save(path)
    return result, path.read_bytes()


@settings(max_examples=examples(80, 20_000), deadline=None)
@given(data=st.data())
def test_mutants_are_refused_or_whole(sound: tuple[Result, bytes], data: st.DataObject) -> None:
    result, whole = sound
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.npz"
        path.write_bytes(data.draw(mutants(whole)))
        try:
            loaded = Result.load(path)
        except DataFileError as error:
            assert str(path) in str(error)  # noqa: PT017
        else:
            assert np.array_equal(loaded.matrix.factor, result.matrix.factor)
            assert loaded.value == result.value


def changed(whole: bytes, path: Path, **changes: Any) -> Path:
    """A file without a checksum in which arrays are replaced; None leaves one out."""
    path.write_bytes(whole)
    with np.load(path) as stored:
        arrays = {**stored, **changes}
    arrays.pop("checksum")
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


def test_what_is_missing_or_of_another_kind_is_refused(sound: tuple[Result, bytes], tmp_path: Path) -> None:
    result, whole = sound
    plain = result.as_dict()
    without_value = {key: value for key, value in plain.items() if key != "value"}
    for changes in (
        *({name: None} for name in ("summary", "factor", "certificate_eigenvector")),
        *({"summary": np.array(text)} for text in (
            "no JSON", "[]", json.dumps({**plain, "status": "splendid"}), json.dumps(without_value)
        )),
        *({"certificate": np.array(text)} for text in ("no JSON", "[3]")),
        {"factor": np.zeros(3)}, {"history_value": np.zeros(1)},
    ):  # fmt: skip
        with pytest.raises(DataFileError, match="is not a result saved by psdopt, or is damaged"):
            Result.load(changed(whole, tmp_path / "r.npz", **changes))
    for content in (b"", b"text", b"PK\x03\x04 nothing"):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(DataFileError, match="is not a result saved by psdopt"):
            Result.load(tmp_path / "x")
    with pytest.raises(DataFileError, match=r"cannot read result .*: No such file"):
        Result.load(tmp_path / "absent.npz")


def test_a_changed_number_does_not_pass_the_checksum(sound: tuple[Result, bytes], tmp_path: Path) -> None:
    """Results from before there were checksums load."""
    result, whole = sound
    path = tmp_path / "r.npz"
    path.write_bytes(whole)
    with np.load(path) as stored:
        np.savez(path, **{**stored, "factor": stored["factor"] * (1.0 + 1e-12)})
    with pytest.raises(DataFileError, match="its checksum is not that of its content"):
        Result.load(path)
    assert Result.load(changed(whole, path)).value == result.value


def test_a_loaded_result_knows_its_tolerance(tmp_path: Path) -> None:
    """What its status `optimal` meant, in a file with and in one without a tolerance."""
    result = solve(QuadraticSDP(B=1.0, C=np.diag([-1.0, 2.0])), FlatQuotient(2, 1), tol=1e-4)
    for tol in (1e-4, float("nan")):
        result.tol = tol
        result.save(tmp_path / "r.npz")
        np.testing.assert_equal(Result.load(tmp_path / "r.npz").tol, tol)
    with pytest.raises(DataFileError, match="cannot read result"):
        Result.load(tmp_path / "a\0.npz")
