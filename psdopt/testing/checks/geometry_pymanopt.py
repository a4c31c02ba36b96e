"""Geometry checks: pymanopt's own check_gradient, check_hessian and check_retraction, run as they are and read."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Geometry
from psdopt.testing import quotient
from psdopt.testing.checks.common import failed, worst
from psdopt.testing.record import Deviation
from psdopt.testing.regimes import Case
from psdopt.testing.registry import check

RIEMANNIAN = {Ability.RIEMANNIAN}
#: Points that pymanopt draws itself.
PLAIN = ("full-rank",)
#: How far a slope that pymanopt fits may lie below the one it asks for; it is a fit over ten of its points.
SLOPE_SLACK = 0.15
#: Errors, relative to the size of the quantity, that count as zero.
ZERO = 1e-9

#: One step in so many, the shortest, shows the rounding of a distance: at t = 1e-10 nothing of t² is left.
GROUND = 6

_NUMBER = r"([-+0-9.einfa]+)"


class _NoPlot:
    """Takes the place of matplotlib.pyplot."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments, **options: None


@contextlib.contextmanager
def diagnostics(rng: np.random.Generator, level_ground: bool = False) -> Iterator[tuple[Any, list[float], io.StringIO]]:
    """pymanopt's diagnostics, the slopes that they fit, and what they print; NumPy's global state is put back.

    In pymanopt 2.2.1 `identify_linear_piece` turns arrays of one entry into numbers in a way that NumPy 2.4 refuses:
    it is replaced by the same fit, without plots. With `level_ground` only by errors that stand out from those at the
    shortest steps, which are rounding: where that is constant it makes the straightest piece of all, of slope zero.
    """
    from pymanopt.tools import diagnostics as module

    from psdopt.interop._geometry import _seeded

    slopes: list[float] = []

    def piece(x: Any, y: Any, window_length: int) -> Any:
        usable = np.isfinite(y)
        if level_ground:
            usable &= y > np.max(y[: len(y) // GROUND]) + 2.0
        x, y = x[usable], y[usable]
        best: Any = (np.inf, np.arange(1), np.zeros(2))
        for k in range(len(x) - window_length):
            segment = np.arange(k, k + window_length + 1)
            poly, residuals, *_ = np.polyfit(x[segment], y[segment], deg=1, full=True)
            residue = float(np.sqrt(residuals).sum())
            if residue < best[0]:
                best = (residue, segment, poly)
        if np.isfinite(best[0]):
            slopes.append(float(best[2][0]))
        return best[1], best[2]

    before = module.identify_linear_piece, module.plt
    printed = io.StringIO()
    module.identify_linear_piece, module.plt = piece, _NoPlot()
    try:
        with _seeded(rng), contextlib.redirect_stdout(printed):
            yield module, slopes, printed
    finally:
        module.identify_linear_piece, module.plt = before


def _subject(geometry: Geometry, case: Case) -> tuple[Any, Any, Any]:
    """pymanopt's problem of a quadratic F over the geometry, a point, and a vector there."""
    from psdopt.interop.pymanopt import pymanopt_problem, to_pymanopt
    from psdopt.problems import QuadraticSDP
    from psdopt.testing.gallery import with_spectrum

    n, seed = geometry.n, int(case.rng.integers(1000))
    A, C = with_spectrum(np.linspace(0.5, 2.0, n), seed), with_spectrum(np.linspace(-2.0, 1.0, n), seed + 1)
    point = geometry.random_point(case.rng)
    vector = quotient.unit_vector(geometry, point, case)
    manifold = to_pymanopt(geometry, seed)
    return pymanopt_problem(QuadraticSDP(A, 0.5, C), geometry, manifold), point, vector


def _found(pattern: str, text: str) -> list[float]:
    match = re.search(pattern, text)
    return [float(number.rstrip(".")) for number in match.groups()] if match else [float("nan")]


def _slope(slopes: list[float], wanted: float, noun: str) -> Deviation:
    """The fitted slope; none is fitted where the model is exact."""
    if not slopes:
        return Deviation(0.0, SLOPE_SLACK)
    words = f"the error of pymanopt's {noun} falls like t^{slopes[0]:.3g}, it has to like t^{wanted:g}"
    return Deviation(max(wanted - slopes[0], 0.0), SLOPE_SLACK, words)


@check("geometry", "0.1", needs=RIEMANNIAN, regimes=PLAIN)
def pymanopt_gradient(geometry: Geometry, case: Case) -> Deviation:
    """pymanopt's check_gradient: the linear model of F errs like t², and the gradient is a tangent vector."""
    problem, point, vector = _subject(geometry, case)
    size = geometry.norm(point, problem.riemannian_gradient(point))
    with diagnostics(case.rng) as (module, slopes, printed):
        module.check_gradient(problem, point, vector)
    (residual,) = _found(rf"close to 0: {_NUMBER}", printed.getvalue())
    return worst(
        [
            _slope(slopes, 2.0, "linear model"),
            Deviation(residual, ZERO * size, f"the gradient has a part of length {residual:.3g} off the tangent space"),
        ]
    )


def _second_order(geometry: Geometry) -> bool:
    """Whether pymanopt can follow geodesics to second order: without, its Hessian check holds at no generic point."""
    return hasattr(geometry, "exp") or getattr(geometry, "retraction_order", 1) >= 2


@check(
    "geometry",
    "0.1",
    needs=RIEMANNIAN,
    regimes=PLAIN,
    when=_second_order,
    reason="has no geodesics (exp), nor a retraction of second order",
)
def pymanopt_hessian(geometry: Geometry, case: Case) -> Deviation:
    """pymanopt's check_hessian: the quadratic model errs like t³; the Hessian is tangent, linear, symmetric."""
    problem, point, vector = _subject(geometry, case)
    size = geometry.norm(point, problem.riemannian_hessian(point, vector))
    size += geometry.norm(point, problem.riemannian_gradient(point))
    with diagnostics(case.rng) as (module, slopes, printed):
        module.check_hessian(problem, point, vector)
    text = printed.getvalue()
    (off,) = _found(rf"Residual: {_NUMBER}", text)
    (bent,) = _found(rf"very close to 0: {_NUMBER}", text)
    *_, skew = _found(rf"{_NUMBER} - {_NUMBER} = {_NUMBER}", text)
    # without a formula for it the Hessian is a difference of gradients, of half the digits
    exact = any(
        hasattr(geometry, name) for name in ("riemannian_hessian", "hessian", "euclidean_to_riemannian_hessian")
    )
    allowed = (ZERO if exact or Ability.STRAIGHT in geometry.abilities else 1e-4) * 10.0 * size
    return worst(
        [
            _slope(slopes, 3.0, "quadratic model"),
            Deviation(off, allowed, f"the Hessian has a part of length {off:.3g} off the tangent space"),
            Deviation(bent, allowed, f"the Hessian is not linear, off by {bent:.3g}"),
            Deviation(abs(skew), allowed, f"the Hessian is not symmetric, off by {skew:.3g}"),
        ]
    )


@check(
    "geometry",
    "0.1",
    needs=RIEMANNIAN,
    regimes=PLAIN,
    when=lambda g: hasattr(g, "exp") and hasattr(g, "log"),
    reason="has no geodesics to compare with (exp, log); pymanopt's check refuses too",
)
def pymanopt_retraction(geometry: Geometry, case: Case) -> Deviation:
    """pymanopt's check_retraction: retraction and geodesic part like t², like t³ where second order is claimed."""
    problem, point, vector = _subject(geometry, case)
    with diagnostics(case.rng, level_ground=True) as (module, slopes, printed):
        module.check_retraction(problem.manifold, point, vector)
    (apart,) = _found(rf"should be zero: {_NUMBER}", printed.getvalue())
    if apart <= ZERO:
        return Deviation(apart, ZERO)
    if not slopes:
        return failed("exp and the retraction differ even at the shortest steps")
    return _slope(slopes, 3.0 if getattr(geometry, "retraction_order", 1) >= 2 else 2.0, "retraction")
