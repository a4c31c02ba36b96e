"""Results on disk, with every public member of their certificates, and in words; the hints of a refusal."""

import json
import math
import sys
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from psdopt import AutogradProblem, Certificate, Constrained, Method, QuadraticSDP, Result, Status, constraints, solve
from psdopt.certificates.certificate import ConstraintRecord
from psdopt.errors import DataFileError, IncompatibleError, MissingDependencyError
from psdopt.geometries import FlatQuotient, PSDCone, Spectraplex
from psdopt.running.certificate_files import CERTIFICATE_FORMAT, PREFIX, RECORD, TEXT, from_numbers, restored, stored
from psdopt.running.compatibility import compatible
from tests.running.problems import kta


@pytest.fixture(scope="module")
def result():
    return solve(kta(np.random.default_rng(0)), FlatQuotient(8, 8), tol=1e-6)


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


@dataclass(frozen=True)
class Foreign(Certificate):
    """A certificate of another package."""

    extra: float = 0.0


def small():
    return QuadraticSDP(C=np.diag([2.0, 1.0, -1.0]))


def solved():
    """Results whose certificates are of every class, with and without proofs, of every set."""
    yield solve(QuadraticSDP(B=1.0, C=-np.diag([3.0, 2.0, -1.0])))
    yield solve(QuadraticSDP(B=1.0, C=-np.diag([3.0, 2.0, -1.0])), Spectraplex(3))
    yield solve(AutogradProblem(lambda M: ((M - np.eye(2)) ** 2).sum(), 2), max_iterations=2)
    yield solve(QuadraticSDP(B=1.0, C=np.eye(3)))  # M = 0
    yield solve(Constrained(small(), constraints.trace(3, 1.0)))
    yield solve(Constrained(small(), constraints.diagonal(3, [1.0, 2.0, 0.0])))  # on a face
    yield solve(Constrained(small(), [constraints.trace(3, 1.0), constraints.diagonal(3, [1.0, 1.0, 1.0])]))
    yield solve(Constrained(small(), constraints.sparse_forms([np.diag([1.0, 1.0, 0.0])], [1.0])))  # unbounded
    found = solve(QuadraticSDP(B=1.0, C=-np.eye(2)))
    yield replace(found, certificate=Foreign(**{**vars(found.certificate), "extra": 0.1}))
    yield replace(found, certificate=replace(found.certificate, descent=np.array([0.6, 0.8]), gap=None, unit=math.nan))


def public_members(certificate):
    """Values of all public members: fields, properties, and methods of no or one argument. A file has no `slack`."""
    found = {}
    for name in dir(certificate):
        if name.startswith("_") or name == "slack":
            continue
        member = getattr(certificate, name)
        if isinstance(member, ConstraintRecord):
            member = vars(member)
        if not callable(member):
            found[name] = member
        elif name in ("rows", "as_dict"):
            found[name] = member()
        else:
            found[name] = [member(tol) for tol in (1e-12, 1e-6, 1e-2)]
    return found


def test_a_later_format_and_an_unknown_class_are_refused_by_a_sentence():
    arrays = stored(solve(small(), Spectraplex(3)).certificate)
    plain = json.loads(str(arrays[TEXT]))
    with pytest.raises(
        DataFileError, match=f"its certificate has format 3; this version of psdopt reads {CERTIFICATE_FORMAT}"
    ):
        restored({**arrays, TEXT: np.array(json.dumps({**plain, "format": 3}))})
    with pytest.raises(DataFileError, match=r"its certificate is a Strange, found are Certificate, "):
        restored({**arrays, TEXT: np.array(json.dumps({**plain, "class": "Strange"}))})
    with pytest.raises(TypeError, match="eigenvector"):
        restored({name: array for name, array in arrays.items() if name != PREFIX + "eigenvector"})


def test_numbers_of_old_files_make_the_certificate_of_their_class():
    for problem in (QuadraticSDP(B=1.0, C=-np.eye(3)), Constrained(small(), constraints.trace(3, 1.0))):
        certificate = solve(problem).certificate
        numbers = json.loads(json.dumps(certificate.as_dict()))
        loaded = from_numbers(numbers, certificate.eigenvector)
        assert type(loaded) is type(certificate)
        np.testing.assert_equal(public_members(loaded), public_members(certificate))
    oldest = {name: numbers[name] for name in numbers if name not in ("unit", "rounding", *RECORD)}
    oldest |= {"gap": 2.0, "gap_relative": 0.5}
    assert from_numbers(oldest, certificate.eigenvector).proves(0.5)
    assert not from_numbers(oldest, certificate.eigenvector).proves(0.4)


def test_a_loaded_result_is_the_saved_one(tmp_path):
    for result in solved():
        result.save(tmp_path / "r.npz")
        loaded = Result.load(tmp_path / "r.npz")
        assert type(loaded.certificate) is type(result.certificate)
        np.testing.assert_equal(public_members(loaded.certificate), public_members(result.certificate))
        members = [{**vars(each.certificate), "_slack": None} for each in (loaded, result)]
        kinds = [{name: type(value) for name, value in each.items()} for each in members]
        assert kinds[0] == kinds[1]
        np.testing.assert_array_equal(loaded.matrix.factor, result.matrix.factor)
        for name in ("value", "status", "message", "iterations", "problem", "geometry", "method", "chosen", "optimal"):
            assert getattr(loaded, name) == getattr(result, name), name
        assert dict(loaded.counts) == dict(result.counts)
        for column in result.history.columns:
            np.testing.assert_array_equal(loaded.history[column], result.history[column])
        assert [path.name for path in tmp_path.iterdir()] == ["r.npz"]
