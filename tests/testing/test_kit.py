"""The kit on subjects of its own: waivers aside, what it runs, and on copies that it leaves untouched."""

import math
import textwrap
from dataclasses import dataclass, field

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from psdopt import FlatQuotient, PSDCone
from psdopt.contracts.images import Images
from psdopt.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.tolerances import EPS
from psdopt.problems import QuadraticSDP
from psdopt.testing import (
    REGIMES,
    Case,
    CheckStatus,
    parametrize_with_checks,
    replay,
    run_checks,
    strategies,
    yield_checks,
)
from psdopt.testing.cli import run_check
from psdopt.testing.diagnose import describe
from psdopt.testing.record import Deviation
from psdopt.testing.slopes import derivative, observed_order
from psdopt.testing.units import Unit
from psdopt.testing.untouched import changes, snapshot
from tests.testing.zoo import geometries

pytest_plugins = ["pytester"]


def test_a_failure_prints_an_example_that_repeats_it(capsys):
    (record,) = run_checks(geometries.GradientHalf(), only=["geometry.gradient_slope"])
    assert record.verdict is CheckStatus.FAILED
    assert record.diagnosis == "gradient is half as large as it should be"
    exec(record.example, {})  # as a reader would paste it
    printed = capsys.readouterr().out
    assert "geometry.gradient_slope on GradientHalf" in printed or "failed" in printed
    assert f"{record.error:.3g}" in printed
    assert record.statement in printed


def test_an_object_with_data_is_printed_as_its_pickle(capsys):
    broken = QuadraticSDP(None, 1.0, np.diag([1.0, -2.0]))
    broken.lower_curvature = 50.0
    (record,) = run_checks(broken, only=["problem.strong_convexity"])
    assert not record.ok
    exec(record.example, {})
    assert "strong_convexity" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("found", "phrase"),
    [
        (-np.arange(1.0, 5.0), "off by a sign"),
        (2 * np.arange(1.0, 5.0), "twice too large"),
        (0.5 * np.arange(1.0, 5.0), "half as large"),
        (-2 * np.arange(1.0, 5.0), "twice too large, and has the wrong sign"),
        (1.37 * np.arange(1.0, 5.0), "scaled by 1.37"),
        (3.0 + np.arange(1.0, 5.0), "shifted by the constant 3"),
        (np.array([1.0, 2.0, 3.0, 9.0]), "wrong in entry 3 only"),
        (np.zeros(4), "zero where it should not be"),
        (np.full(4, np.nan), "not finite"),
        (np.array([4.0, -1.0, 0.3, 2.0]), "no simple pattern"),
        (np.ones(3), "has shape (3,), expected (4,)"),
    ],
)
def test_diagnoses(found, phrase):
    assert phrase in describe("it", found, np.arange(1.0, 5.0))


def test_transposes_are_named():
    A = np.random.default_rng(0).standard_normal((3, 3))
    assert describe("S", A.T, A) == "S is transposed"
    assert "skew part" in describe("S", A + (A - A.T), A)


def test_skipped_checks_say_why():
    records = {record.name: record for record in run_checks(PSDCone(3))}
    assert records["geometry.transport"].verdict is CheckStatus.SKIPPED
    assert records["geometry.transport"].diagnosis == "does not declare riemannian"


def test_yield_checks_knows_the_kind():
    assert {bound.check.kind for bound in yield_checks(FlatQuotient(3, 2))} == {"geometry"}
    with pytest.raises(InvalidTypeError, match="call it to make an instance"):
        list(yield_checks(FlatQuotient))
    with pytest.raises(UnknownNameError, match="did you mean 'thorough'"):
        list(yield_checks(FlatQuotient(3, 2), profile="thorugh"))
    with pytest.raises(UnknownNameError, match=r"geometry\.transport"):
        run_checks(FlatQuotient(3, 2), only=["geometry.trasport"])
    with pytest.raises(UnknownNameError, match=r"geometry\.nothing"):
        parametrize_with_checks([PSDCone(3)], expected_failures={"geometry.nothing": "?"})
    with pytest.raises(InvalidInputError, match="is about a method"):
        replay("method.descent", FlatQuotient(3, 2))


def test_thorough_tries_more():
    (few,) = run_checks(FlatQuotient(4, 2), only=["geometry.metric"])
    (many,) = run_checks(FlatQuotient(4, 2), only=["geometry.metric"], profile="thorough")
    assert many.samples == 12 * few.samples
    assert many.ok


def test_parametrize_is_strict(pytester):
    pytester.makepyfile(
        textwrap.dedent("""
        from psdopt import FlatQuotient
        from psdopt.testing import parametrize_with_checks
        from tests.testing.zoo.geometries import GradientHalf

        KNOWN = dict.fromkeys(GradientHalf.rejected_by, "known")

        @parametrize_with_checks([GradientHalf()], expected_failures=KNOWN)
        def test_expected(check):
            check()

        @parametrize_with_checks([FlatQuotient(4, 2)], expected_failures={"geometry.metric": "is fine, in truth"})
        def test_strict(check):
            check()

        @parametrize_with_checks([GradientHalf()])
        def test_unexpected(check):
            check()
        """)
    )
    result = pytester.runpytest("-p", "no:cacheprovider")
    counts = result.parseoutcomes()
    assert counts["xfailed"] == len(geometries.GradientHalf.rejected_by)
    assert counts["failed"] == 1 + len(geometries.GradientHalf.rejected_by)  # the strict one, and the unexpected ones
    result.stdout.fnmatch_lines(["*gradient is half as large as it should be*", "*replay(*"])


def test_command_on_a_piece_and_a_module(tmp_path, monkeypatch, capsys):
    assert run_check("flat-quotient") == 0
    out = capsys.readouterr().out
    assert "geometry.horizontal_idempotent" in out
    assert "0 failed" in out
    (tmp_path / "brokenkit.py").write_text("from tests.testing.zoo.geometries import HalfStep\ngeometry = HalfStep()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run_check("brokenkit") == 1
    out = capsys.readouterr().out
    assert "half as large" in out
    assert "from brokenkit import geometry as obj" in out
    with pytest.raises(UnknownNameError, match="flat-quotient"):
        run_check("flat-quotent")
    with pytest.raises(UnknownNameError, match="nothing to check"):
        run_check("textwrap")


@pytest.mark.parametrize("regime", REGIMES)
def test_regimes_are_what_they_say(regime):
    Y = Case(regime, 3).factor(6)
    values = np.linalg.svd(Y, compute_uv=False) ** 2
    top = values[0]
    scale = {"scale-up": 1e8, "scale-down": 1e-8}.get(regime, 1.0)
    assert 0.1 * scale <= top <= 10 * scale
    rank = int(np.sum(values > 1e-12 * top))
    assert rank == {"rank-one": 1, "full-width": 6, "rank-deficient": 2}.get(regime, 3)
    if regime == "repeated":
        assert np.ptp(values) < 64 * EPS
    if regime == "near-singular":
        assert values[-1] < 1e-5 * top


def test_a_unit_is_sampled_where_it_decides():
    asked = []

    def sample() -> float:
        asked.append(1)
        return 3.0

    unit = 2.0 * (Unit.of(1.0, sample) + 0.5) + Unit(1.0)
    assert Deviation(4.0, unit).tolerance == 4.0
    assert asked == []
    assert Deviation(5.0, unit).tolerance == Deviation(11.0, unit / 1.0).tolerance == 10.0
    assert asked == [1]
    assert not Deviation(math.nan, unit).ok


def test_derivative_and_its_error():
    value, error = derivative(np.exp, 0.3)
    assert abs(float(value) - 1.0) <= error <= 1e-9
    kinked, error = derivative(lambda t: max(t + 1e-3, 0.0) ** 2, 0.1)
    assert abs(float(kinked) - 2e-3) <= 64 * error
    fast, error = derivative(lambda t: np.sin(1e8 * t + 0.3), 0.1)  # differences at long steps agree by chance
    assert abs(float(fast) - 1e8 * np.cos(0.3)) <= 64 * error < 1e3
    assert derivative(lambda t: np.sin(1e12 * t), 0.1)[1] > 1e6
    assert derivative(lambda t: math.nan, 0.1)[1] == math.inf
    assert observed_order(lambda t: t**3, 0.5, 1e-16) == pytest.approx(3.0)


@pytest.mark.parametrize("regime", strategies.NAMED)
@given(data=st.data())
def test_named_regimes_draw_what_they_say(regime, data):
    Y = data.draw(strategies.regime_factors(regime=regime))
    Z = data.draw(strategies.ambient_vectors(n=Y.shape[0], r=Y.shape[1]))
    assert Z.shape == Y.shape
    n, r = Y.shape
    top = np.linalg.norm(Y, 2) ** 2
    values = np.linalg.svd(Y, compute_uv=False) ** 2
    scale = {"scale-up": 1e8, "scale-down": 1e-8}.get(regime, 1.0)
    assert 2.0**-25 * scale <= top <= 1.1 * scale
    assert n == 1 or regime != "n = 1"
    assert r == n or regime not in ("n = 1", "r = n")
    if regime == "rank-deficient":
        assert values[-1] <= 64 * EPS * top
    if regime == "repeated":
        assert np.ptp(values) <= 64 * EPS
    with pytest.raises(InvalidInputError, match="regime must be"):
        data.draw(strategies.regime_factors(regime="odd"))


@dataclass
class Held:
    numbers: np.ndarray
    seen: list = field(default_factory=list)
    _kept: object = None


def test_a_last_bit_a_list_and_a_type_are_seen():
    held = Held(np.ones(3), [1.0])
    before = snapshot(held)
    assert changes(before, snapshot(held)) == []
    held.numbers[1] = np.nextafter(1.0, 2.0)
    assert changes(before, snapshot(held)) == ["numbers"]
    held.numbers = np.ones(3, dtype=np.float32)
    assert changes(before, snapshot(held)) == ["numbers"]
    held.numbers = np.ones(3)
    held.seen.append(2.0)
    assert set(changes(before, snapshot(held), caches=True)) == {"seen.length", "seen.1"}


def test_results_that_are_kept_are_no_change():
    held = Held(np.ones(3))
    before = snapshot(held)
    held._kept = np.zeros(2)
    assert changes(before, snapshot(held), caches=True) == []
    assert changes(before, snapshot(held)) == ["_kept"]


def test_images_and_sparse_data_are_walked():
    A = LinearMap(sp.csr_array(np.eye(3)), "A")
    images = Images([A], np.ones((3, 1)))
    before = snapshot({"images": images, "data": A.data}, skip=(LinearMap,))
    images.of(A)
    assert changes(before, snapshot({"images": images, "data": A.data}, skip=(LinearMap,)), caches=True) == []
    A.data.data[0] = 2.0
    assert "'data'.data" in changes(
        before, snapshot({"images": images, "data": A.data}, skip=(LinearMap,)), caches=True
    )
