"""Geometry checks: linear minimisation and Euclidean projection."""

from __future__ import annotations

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Geometry
from psdopt.geometries.psd_cone import CONIC_ORACLE
from psdopt.linalg.arrays import Array, orthonormal_columns
from psdopt.testing.checks.common import compare, failed, rounding_of
from psdopt.testing.counting import OnlyMatmul
from psdopt.testing.regimes import REGULAR
from psdopt.testing.registry import FEW, Case, Deviation, Deviations, check

#: Rounding of a full eigendecomposition, in units of the entries' rounding.
EIGENSOLVE = 64.0


def _symmetric(geometry: Geometry, case: Case) -> Array:
    """A symmetric matrix of both signs whose spectrum has the regime's shape and scale."""
    n = geometry.n
    Y = case.factor(n, n)
    signs = np.where(case.rng.random(n) < 0.5, -1.0, 1.0)
    frame = orthonormal_columns(case.rng, n, n)
    s = np.linalg.svd(Y, compute_uv=False) ** 2
    return np.asarray((frame * (s * signs)) @ frame.T)


def _members(geometry: Geometry, case: Case) -> list[Array]:
    """Dense members of the set: random ones, and rank-one ones."""
    points = [geometry.random_point(case.rng) for _ in range(6)]
    points += [geometry.from_factor(case.rng.standard_normal((geometry.n, 1))) for _ in range(6)]
    good = [point for point in points if geometry.check_point(point) is None]
    return [geometry.to_matrix(point).to_dense() for point in good]


@check("geometry", "0.1", needs={Ability.LINEAR_ORACLE}, regimes=REGULAR)
def linear_oracle(geometry: Geometry, case: Case) -> Deviations:
    """minimize_linear returns a member vvᵀ, its true value vᵀSv, and value − gap_bound bounds all members' values."""
    S = _symmetric(geometry, case)
    size = float(np.linalg.norm(S, 2))
    for relative in (1e-2, 1e-10):
        atom = geometry.minimize_linear(S, relative * size)
        v = np.asarray(atom.vector).reshape(-1)
        member, length = geometry.from_factor(v[:, None]), float(v @ v)
        # from_factor moves a matrix outside the set to the closest member
        moved = float(np.linalg.norm(geometry.to_matrix(member).to_dense() - np.outer(v, v)))
        defect = geometry.check_point(member)
        if defect is not None or not moved <= 1e-8 * length:
            return failed(f"the atom is no member of the set: {defect or f'the closest one is {moved:.3g} away'}")
        if not atom.gap_bound >= 0.0:
            return failed(f"gap_bound is {atom.gap_bound}")
        yield compare("the atom's value", atom.value, v @ S @ v, size * length, geometry.n)
        least = min([float(np.vdot(S, N)) for N in _members(geometry, case)] + _least(geometry, S))
        shortfall = atom.value - atom.gap_bound - least
        words = f"a member has value {least:.6g}, below value − gap_bound = {atom.value - atom.gap_bound:.6g}"
        yield Deviation(shortfall, rounding_of(size * length, geometry.n), words)
        promised = relative * size * max(length, 1.0)
        words = f"the atom is {atom.value - least:.3g} above the least value, tol was {promised:.3g}"
        yield Deviation(atom.value - least - promised, rounding_of(size * length, geometry.n), words)


def _least(geometry: Geometry, S: Array) -> list[float]:
    """The exact minimum where the set is known by its trace alone: trace · λ_min(S)."""
    if geometry.trace is None or Ability.FULL_CONE not in geometry.abilities:
        return []
    return [geometry.trace * float(np.linalg.eigvalsh(S)[0])]


@check("geometry", "0.1", needs={CONIC_ORACLE}, regimes=REGULAR)
def conic_oracle(geometry: Geometry, case: Case) -> Deviations:
    """minimize_linear on a cone returns a unit v with vᵀSv = value within tol of λ_min(S), and bounds λ_min(S)."""
    S = _symmetric(geometry, case)
    size, least = float(np.linalg.norm(S, 2)), float(np.linalg.eigvalsh(S)[0])
    allowed = rounding_of(size, geometry.n)
    for relative in (1e-2, 1e-10):
        atom = geometry.minimize_linear(S, relative * size)
        v = np.asarray(atom.vector).reshape(-1)
        if not atom.gap_bound >= 0.0:
            return failed(f"gap_bound is {atom.gap_bound}")
        yield compare("|v|²", v @ v, 1.0, 1.0, geometry.n)
        yield compare("the atom's value", atom.value, v @ S @ v, size, geometry.n)
        yield Deviation(atom.value - atom.gap_bound - least, allowed, f"λ_min(S) = {least:.6g} is below the bound")
        words = f"the value is {atom.value - least:.3g} above λ_min(S), tol was {relative * size:.3g}"
        yield Deviation(atom.value - least - relative * size, allowed, words)


@check(
    "geometry",
    "0.1",
    when=lambda g: not {Ability.LINEAR_ORACLE, CONIC_ORACLE}.isdisjoint(g.abilities),
    reason="has no linear or conic oracle",
    regimes=FEW,
)
def linear_oracle_counts(geometry: Geometry, case: Case) -> Deviation:
    """Atom.products is the number of columns that S was applied to."""
    S = OnlyMatmul(_symmetric(geometry, case))
    atom = geometry.minimize_linear(S, 1e-6 * float(np.linalg.norm(S.S, 2)))
    words = f"products = {atom.products}, but {S.columns} columns were used"
    return Deviation(abs(atom.products - S.columns), 0.0, words)


@check("geometry", "0.1", needs={Ability.PROJECTION}, regimes=REGULAR)
def projection(geometry: Geometry, case: Case) -> Deviations:
    """⟨A − P, N − P⟩ ≤ 0 for P = project(A) and every member N, and P is a member."""
    A = _symmetric(geometry, case)
    M = geometry.project(A)
    P = M.to_dense()
    defect = geometry.check_point(geometry.from_factor(M.factor))
    if defect is not None:
        return failed(f"the projection is not a member: {defect}")
    if geometry.trace is not None and abs(M.trace() - geometry.trace) > 1e-8 * geometry.trace:
        return failed(f"the projection has trace {M.trace():.6g}, expected {geometry.trace:.6g}")
    size = float(np.linalg.norm(A))
    members = _members(geometry, case)
    if geometry.trace is None:
        members = [N * (size / np.linalg.norm(N)) for N in members] + [2.0 * P, 0.0 * P]
    for N in members:
        unit = (size + float(np.linalg.norm(P))) * (float(np.linalg.norm(N)) + float(np.linalg.norm(P)))
        product = float(np.vdot(A - P, N - P))
        words = f"a member lies in a direction of descent: ⟨A − P, N − P⟩ = {product:.3g} > 0"
        yield Deviation(product, rounding_of(unit, geometry.n, EIGENSOLVE), words)
    again = geometry.project(P).to_dense()
    allowed = rounding_of(size + float(np.linalg.norm(P)), geometry.n, EIGENSOLVE)
    yield Deviation(float(np.linalg.norm(again - P)), allowed, "projecting twice moves the point")
