"""Results on disk and in words; LowRankPSD; the choice of methods; files."""

from __future__ import annotations

import sys
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt import ConjugateGradient, FlatQuotient, LowRankPSD, Method, PSDCone, QuadraticSDP, Result, Status, solve
from psdopt.compatibility import compatible
from psdopt.errors import (
    DataFileError,
    IncompatibleError,
    InvalidInputError,
    MissingDependencyError,
    PsdoptError,
    unknown_name,
)
from psdopt.files import atomic_write
from psdopt.linalg.tolerances import EPS

from .test_solve import kta


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


def test_save_leaves_the_old_file_when_it_fails(result, tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic_write(path) as handle:  # noqa: PT012
        handle.write(b"half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    with pytest.raises(DataFileError, match=r"cannot write"):
        result.save(tmp_path / "absent" / "file")


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


# ------------------------------------------------------------------------------------------------------ LowRankPSD


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.integers(1, 12), st.floats(-5, 5), st.floats(-6, 0), st.integers(0, 2**31))
def test_low_rank_matrix_equals_its_dense_twin(n, r, log_scale, log_condition, seed):
    rng = np.random.default_rng(seed)
    k = min(n, r)
    U, V = np.linalg.qr(rng.standard_normal((n, k)))[0], np.linalg.qr(rng.standard_normal((r, k)))[0]
    Y = 10.0**log_scale * (U * np.logspace(0, log_condition, k)) @ V.T
    M, dense = LowRankPSD(Y), Y @ Y.T
    top = np.linalg.norm(dense, 2)
    allowed = 64 * (n + r) * EPS * top
    assert abs(M.trace() - np.trace(dense)) <= allowed * n
    assert abs(M.norm() - np.linalg.norm(dense)) <= allowed * n
    np.testing.assert_array_equal(M.to_dense(), dense)
    values, vectors = M.eigh()
    assert np.all(np.diff(values) <= 0)
    assert np.linalg.norm((vectors * values) @ vectors.T - dense) <= allowed * n
    assert np.linalg.norm(vectors.T @ vectors - np.eye(len(values))) <= 64 * n * EPS
    X = rng.standard_normal((5, n))
    assert np.max(np.abs(M.quadratic_form(X) - np.einsum("ij,jk,ik->i", X, dense, X))) <= allowed * np.sum(X**2)
    assert np.linalg.norm(M @ X.T - dense @ X.T) <= allowed * np.linalg.norm(X)
    assert np.linalg.norm(X @ M - X @ dense) <= allowed * np.linalg.norm(X)
    small = M.compress()
    assert small.factor.shape[1] == small.rank <= k
    assert np.linalg.norm(small.to_dense() - dense) <= allowed * n
    rebuilt = LowRankPSD.from_dense(dense)
    assert np.linalg.norm(rebuilt.to_dense() - dense) <= allowed * n


def test_from_dense_is_the_closest_psd_matrix():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((6, 6))
    M = M + M.T
    values, vectors = np.linalg.eigh(M)
    closest = (vectors * np.maximum(values, 0)) @ vectors.T
    np.testing.assert_allclose(LowRankPSD.from_dense(M).to_dense(), closest, atol=64 * EPS * np.abs(values).max())
    top = LowRankPSD.from_dense(M, rank=1)
    assert top.rank == 1
    assert top.trace() == pytest.approx(values[-1])
    assert LowRankPSD.from_dense(-np.eye(3)).rank == 0
    assert LowRankPSD.from_dense(np.zeros((3, 3))).trace() == 0.0


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: LowRankPSD(np.ones(3)), r"factor must be an \(n, r\) array with n >= 1; found shape \(3,\)"),
        (lambda: LowRankPSD([[np.nan], [1.0]]), "factor must be finite; found 1 NaN or infinite entries"),
        (lambda: LowRankPSD.from_dense(np.ones((2, 3))), r"M must be square; found shape \(2, 3\)"),
        (lambda: LowRankPSD.from_dense([[np.inf, 0], [0, 1]]), "M must be finite; found 1 NaN or infinite entries"),
        (lambda: LowRankPSD.from_dense(np.eye(2), rank=-1), "rank must be None or an integer of at least 0; found -1"),
    ],
)
def test_bad_matrices(make, text):
    with pytest.raises(InvalidInputError, match=text):
        make()


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


def test_compatible_answers_without_work():
    problem, cone, flat = QuadraticSDP(None, 1.0, -np.eye(3)), PSDCone(3), FlatQuotient(3, 1)
    yes, no = compatible(problem, flat, ConjugateGradient()), compatible(problem, cone, ConjugateGradient())
    assert yes
    assert not no
    assert yes.message == "QuadraticSDP, FlatQuotient and ConjugateGradient work together"
    assert "the geometry PSDCone lacks factor" in no.missing
    assert "With this problem and geometry these work: " in no.message
    assert "ClosedForm" in no.message
    verdict = compatible(problem, flat, Picky())
    assert verdict.missing == ("the geometry FlatQuotient lacks polar or sphere",)
    assert verdict.message.startswith(
        "QuadraticSDP, FlatQuotient and Picky do not work together; missing: "
        "the geometry FlatQuotient lacks polar or sphere. With this problem and geometry these work: "
    )
    both = compatible(problem, PSDCone(4), Picky())
    assert both.missing[-1] == "problem and geometry differ in order, 3 and 4"
    assert both.message.endswith(". Give the geometry order n=3")


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


def test_unknown_names_get_near_matches():
    assert str(unknown_name("method", "lbgfs", ["lbfgs", "admm"])) == "unknown method 'lbgfs'; did you mean 'lbfgs'?"
    assert str(unknown_name("method", "xyz", ["b", "a"])) == "unknown method 'xyz'; known: a, b"
    assert str(unknown_name("method", "xyz", [])) == "unknown method 'xyz'; known: none"
    assert isinstance(unknown_name("method", "x", []), PsdoptError)
    assert isinstance(unknown_name("method", "x", []), LookupError)
