"""Results on disk and in words; the hints of a refusal; files."""

import sys
from typing import ClassVar

import numpy as np
import pytest

from psdopt import FlatQuotient, Method, PSDCone, QuadraticSDP, Result, Status, solve
from psdopt.errors import DataFileError, IncompatibleError, MissingDependencyError
from psdopt.running.compatibility import compatible
from tests.running.problems import kta


@pytest.fixture(scope="module")
def result():
    return solve(kta(np.random.default_rng(0)), FlatQuotient(8, 8), tol=1e-6)


def test_save_and_load(result, tmp_path):
    path = tmp_path / "answer.npz"
    result.save(path)
    back = Result.load(path)
    np.testing.assert_array_equal(back.matrix.factor, result.matrix.factor)
    assert (back.value, back.status, back.message) == (result.value, result.status, result.message)
    assert (back.iterations, back.problem, back.geometry, back.method) == (
        result.iterations, result.problem, result.geometry, result.method,
    )  # fmt: skip
    assert back.chosen == result.chosen
    assert dict(back.counts) == dict(result.counts)
    assert back.certificate.as_dict() == result.certificate.as_dict()
    for column in result.history.columns:
        np.testing.assert_array_equal(back.history[column], result.history[column])
    assert back.optimal == result.optimal
    assert [p.name for p in tmp_path.iterdir()] == ["answer.npz"]


def test_load_refuses_other_files(tmp_path):
    for content in (b"", b"text", b"PK\x03\x04 nothing"):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(DataFileError, match="is not a result saved by psdopt"):
            Result.load(tmp_path / "x")
    np.savez(tmp_path / "y.npz", a=1)
    with pytest.raises(DataFileError, match="is not a result saved by psdopt"):
        Result.load(tmp_path / "y.npz")
    with pytest.raises(DataFileError, match=r"cannot read result .*: No such file"):
        Result.load(tmp_path / "absent.npz")


def test_frame_and_texts(result, monkeypatch):
    frame = result.history.to_frame()
    assert len(frame) == len(result.history) == result.iterations + 1
    assert list(frame["value"]) == list(result.history["value"])
    assert repr(result).startswith("Result(optimal, value=")
    assert Status.NO_PROGRESS.label == "no_progress"
    assert all(status.value.split(":")[0] for status in Status)
    assert result.as_dict()["status"] == "optimal"
    assert {row[0].split()[0] for row in result.certificate.rows()} >= {"stationarity", "dual", "complementarity"}
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match="needs pandas"):
        result.history.to_frame()


# ------------------------------------------------------------------------------------------------- small remainders


class Picky(Method):
    """Needs abilities of every form: single, any of a group."""

    requires: ClassVar = {
        "problem": ("gradient", ("quadratic", "margins")),
        "geometry": ("factor", ("polar", "sphere")),
    }

    def init(self, problem, geometry, start, evaluation=None):
        raise AssertionError("no work may be done")

    def step(self, state):
        raise AssertionError("no work may be done")


def test_a_hint_names_what_a_method_needs_when_nothing_else_would_work():
    class Bare(PSDCone):
        def __init__(self, n):
            super().__init__(n)
            self.abilities = frozenset()

    verdict = compatible(QuadraticSDP(None, 1.0, -np.eye(3)), Bare(3), Picky())
    assert verdict.message.startswith(
        "QuadraticSDP, Bare and Picky do not work together; missing: the geometry Bare lacks factor; "
        "the geometry Bare lacks polar or sphere. Picky needs a problem with: gradient, quadratic or margins and a "
        "geometry with: factor, polar or sphere, and none that fits is installed. With this problem these work: "
    )
    assert "ConjugateGradient on FlatQuotient" in verdict.message
    with pytest.raises(IncompatibleError, match="geometry with: factor, polar or sphere"):
        solve(QuadraticSDP(None, 1.0, -np.eye(3)), Bare(3), Picky())
