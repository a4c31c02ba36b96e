"""Checks of linear measurements a_t = ⟨A_t, M⟩: every member against the matrices A_t, read off one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.contracts.images import Images
from psdopt.linalg.arrays import Array, norm, row_dots
from psdopt.linalg.operators import LinearMap
from psdopt.terms.base import combine
from psdopt.testing.checks.common import PASSED, compare, failed
from psdopt.testing.registry import FEW, Case, Deviation, Deviations, Trivial, check
from psdopt.testing.untouched import changes, snapshot

#: Measurements whose matrices are written out: more of them are drawn from.
MOST = 40


def _images(measurement: Any, V: Array) -> Images:
    return Images(measurement.maps, V)


def _matrices(measurement: Any, case: Case) -> tuple[Array, Array]:
    """Indices t and the matrices A_t (k, n, n), from adjoint of unit weights."""
    n, m = measurement.n, measurement.size
    chosen = np.arange(m) if m <= MOST else np.sort(case.rng.permutation(m)[:MOST])
    eye = _images(measurement, np.eye(n))
    found = [combine(measurement.adjoint(1.0 * (np.arange(m) == t), eye), (n, n)) for t in chosen]
    return chosen, np.array(found)


@check("measurement", "0.2", regimes=FEW)
def shapes(measurement: Any, case: Case) -> Deviation:
    """pair and along give `size` numbers, which are finite; adjoint gives a block as high as n."""
    Y, m = case.factor(measurement.n), measurement.size
    U, D = _images(measurement, Y), _images(measurement, case.direction(Y))
    for words, found in (("pair", measurement.pair(U, U)), ("along", measurement.along(U, D)[0])):
        if np.shape(found) != (m,):
            return failed(f"{words} gives an array of shape {np.shape(found)}; size = {m} is declared")
        if not np.all(np.isfinite(found)):
            return failed(f"{words} gives numbers that are not finite")
    block = combine(measurement.adjoint(np.ones(m), D), Y.shape)
    return PASSED if block.shape == Y.shape else failed(f"adjoint gives shape {block.shape}, expected {Y.shape}")


@check("measurement", "0.2")
def adjoint(measurement: Any, case: Case) -> Deviations:
    """⟨w, pair(V, V)⟩ = ⟨Σ_t w_t A_t V, V⟩ for every w and V, and Σ_t w_t A_t is symmetric."""
    Y, n = case.factor(measurement.n), measurement.n
    w = case.rng.standard_normal(measurement.size)
    V, W = case.direction(Y), case.direction(Y)
    pair, other = measurement.pair(*2 * (_images(measurement, V),)), _images(measurement, W)
    AV = combine(measurement.adjoint(w, _images(measurement, V)), V.shape)
    AW = combine(measurement.adjoint(w, other), W.shape)
    unit = norm(AV) * norm(V) + norm(w) * norm(pair)
    yield compare("⟨Σ w_t A_t V, V⟩", np.vdot(AV, V), w @ pair, unit, max(n, measurement.size))
    yield compare("⟨Σ w_t A_t V, W⟩", np.vdot(AV, W), np.vdot(V, AW), unit + norm(AW) * norm(V), n)


@check("measurement", "0.2")
def pair(measurement: Any, case: Case) -> Deviation:
    """pair(U, V)_t = ⟨A_t, (U Vᵀ + V Uᵀ)/2⟩ for the matrices A_t that adjoint of a unit weight gives."""
    Y = case.factor(measurement.n)
    V = case.direction(Y)
    chosen, A = _matrices(measurement, case)
    found = measurement.pair(_images(measurement, Y), _images(measurement, V))[chosen]
    expected = np.einsum("tij,ij->t", A, 0.5 * (Y @ V.T + V @ Y.T))
    unit = float(np.linalg.norm(A)) * norm(Y) * norm(V)
    if unit == 0.0:
        raise Trivial("all matrices are zero")
    return compare("pair", found, expected, unit, measurement.n)


@check("measurement", "0.2")
def along(measurement: Any, case: Case) -> Deviations:
    """along(U, D) = (2 pair(U, D), pair(D, D))."""
    Y = case.factor(measurement.n)
    D = case.direction(Y)
    U, images = _images(measurement, Y), _images(measurement, D)
    first, second = measurement.along(U, images)
    expected = 2.0 * measurement.pair(U, images), measurement.pair(images, images)
    unit = norm(expected[0]) + norm(expected[1]) + norm(measurement.pair(U, U))
    yield compare("the linear part of along", first, expected[0], unit, measurement.n)
    yield compare("the quadratic part of along", second, expected[1], unit, measurement.n)


@check("measurement", "0.2", regimes=("full-rank",))
def dense_sum(measurement: Any, case: Case) -> Deviation:
    """add_to adds Σ_t w_t A_t to what the array holds already."""
    n = measurement.n
    w, S = case.rng.standard_normal(measurement.size), case.symmetric(n)
    eye = _images(measurement, np.eye(n))
    expected = S + combine(measurement.adjoint(w, eye), (n, n))
    found = S.copy()
    measurement.add_to(found, w, eye)
    return compare("S after add_to", found, expected, norm(expected) + norm(S), n)


@check("measurement", "0.2", regimes=("full-rank",), when=lambda m: m.couples, reason="offers no coupling (couples)")
def coupling(measurement: Any, case: Case) -> Deviation:
    """The upper triangle of coupling(P, Q) is tr(A_s P A_t Q) for symmetric P and Q."""
    n = measurement.n
    P, Q = case.symmetric(n), case.symmetric(n)
    chosen, A = _matrices(measurement, case)
    found = np.asarray(measurement.coupling(P, Q, _images(measurement, np.eye(n))))[np.ix_(chosen, chosen)]
    expected = np.einsum("sij,jk,tkl,li->st", A, P, A, Q, optimize=True)
    upper = np.triu_indices(len(chosen))
    unit = float(np.linalg.norm(A)) ** 2 * norm(P) * norm(Q)
    return compare("coupling", found[upper], expected[upper], unit, n)


@check("measurement", "0.2", regimes=FEW, when=lambda m: m.signs is not None, reason="knows no signed squares (signs)")
def signed_squares(measurement: Any, case: Case) -> Deviation:
    """pair(U, V) = B ((d_pᵀU)·(d_pᵀV))_p for the signs B and the directions d_p: they are of the same A_t."""
    Y = case.factor(measurement.n)
    V = case.direction(Y)
    U, images = _images(measurement, Y), _images(measurement, V)
    products = row_dots(measurement.directions(U), measurement.directions(images))
    found = measurement.signs @ products
    unit = norm(abs(measurement.signs) @ np.abs(products)) + norm(Y) * norm(V)
    return compare("signs times squares of directions", found, measurement.pair(U, images), unit, measurement.n)


@check("measurement", "0.3", regimes=FEW, when=lambda m: m.has_parts, reason="offers no part of its measurements")
def part(measurement: Any, case: Case) -> Deviations:
    """part(chosen) has the pairs and the adjoint of the chosen measurements."""
    m, Y = measurement.size, case.factor(measurement.n)
    chosen = np.sort(case.rng.permutation(m)[: max(1, m // 3)])
    some, w = measurement.part(chosen), case.rng.standard_normal(len(chosen))
    if some.size != len(chosen):
        return failed(f"part of {len(chosen)} measurements has size {some.size}")
    U, V = _images(measurement, Y), _images(some, Y)
    all_w = np.zeros(m)
    all_w[chosen] = w
    expected, SY = measurement.pair(U, U), combine(measurement.adjoint(all_w, U), Y.shape)
    yield compare("pair of a part", some.pair(V, V), expected[chosen], norm(expected), measurement.n)
    unit = norm(SY) + norm(w) * norm(expected) / norm(Y)
    yield compare("adjoint of a part", combine(some.adjoint(w, V), Y.shape), SY, unit, measurement.n)
    return None


@check("measurement", "0.2", regimes=("full-rank",))
def inputs_untouched(measurement: Any, case: Case) -> Deviation:
    """No call changes the weights or factors that it is given, or the data of the maps."""
    Y = case.factor(measurement.n)
    D, w = case.direction(Y), case.rng.standard_normal(measurement.size)
    own = {name: value for name, value in vars(measurement).items() if not name.startswith("_")}
    held = {"Y": Y, "D": D, "w": w, "data": [A.data for A in measurement.maps], "own": own}
    before = snapshot(held, skip=(LinearMap,))
    U, images = _images(measurement, Y), _images(measurement, D)
    measurement.pair(U, images)
    measurement.along(U, images)
    combine(measurement.adjoint(w, images), D.shape)
    changed = changes(before, snapshot(held, skip=(LinearMap,)))
    return failed(f"changed in place: {', '.join(changed[:3])}") if changed else PASSED
