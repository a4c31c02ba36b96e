"""Linear objectives over M ⪰ 0 with a fixed diagonal: conjugate gradient on a product of spheres."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from psdopt.certificates.constrained.multipliers import Multipliers
from psdopt.checks import integer, integer_or_none
from psdopt.constraints.problem import constrained_of
from psdopt.contracts.abilities import Ability, Requires, name_of
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, Residual, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.errors import IncompatibleError
from psdopt.linalg import deadline
from psdopt.linalg.arrays import (
    Array,
    append_columns,
    as_array,
    entries_kept,
    for_products,
    norm,
    row_dots,
    scaled,
    sparse_product,
    with_data,
)
from psdopt.linalg.krylov import lanczos_steps
from psdopt.linalg.limits import MOST_STEPS, PROBES
from psdopt.linalg.low_pass import low_pass
from psdopt.linalg.tolerances import EPS, ROUNDINGS, SLIGHT
from psdopt.methods.searches.step_lengths import SUFFICIENT
from psdopt.methods.sphere_metric import SphereMetric

#: −n λ_min(S) of unit rows stays below √n |G| times this on the way to an optimum.
RAISED = 4.0
#: A point is near a saddle if −√n λ_min(S) exceeds |S V| by this factor and more than at the test before. Where columns
#: sufficed, the ratio fell from 1 to 0.2 (tori, degree 4); else it rose past 1 (degrees 8 to 60, orders to 4·10⁴).
SADDLE = 0.9
#: At the first test, with none before it, the ratio must exceed this.
CLEARLY = 10.0
#: Solutions on random graphs had √(2 n)/4 columns; with as many as this share of √(2 n), they converge in fewer steps.
SPARE = 3


class SphereForm:
    """C of `problem` with rows in units of √d: C_ij = factor Ĉ_ij / (root_i root_j), i ≠ j, max |Ĉ_ij| = 1.

    `lengths` (n, 1) : √d. `root` : √d over its largest entry. `mixed` : whether d_i differ. `noise` : rounding of sums
    of |Ĉ_ij|.
    """

    def __init__(self, problem: Problem) -> None:
        model = constrained_of(problem)
        conic, d = model.conic, model.fixed_diagonal
        if conic is None or d is None:
            raise IncompatibleError(
                f"SphereGradient needs a linear F and M_ii = d_i > 0 for all i; found {name_of(problem)}"
            )
        self.problem = problem
        i, j, B = np.repeat(np.arange(conic.n), np.diff(conic.C.indptr)), conic.C.indices, conic.forms.B
        C = entries_kept(conic.C, (i != j) & (conic.C.data != 0.0))
        largest = float(np.abs(C.data).max(initial=0.0)) or 1.0
        root = np.sqrt(d / d.max())
        entries = scaled(with_data(C, C.data / largest), root, root).data
        top = float(np.abs(entries).max(initial=0.0)) or 1.0
        self.C, self.factor = with_data(C, entries / top), largest * top
        self.root, self.lengths = root[:, None], np.sqrt(d)[:, None]
        self.noise, self.mixed = EPS * float(np.abs(self.C.data).sum()), bool(np.any(d != d[0]))
        self._rows, self._weights, self._own = B.indices, B.data, conic.C.diagonal()
        self._for_products = for_products(self.C)

    def times(self, V: Array) -> Array:
        """Ĉ V."""
        return as_array(self._for_products @ V)

    def multipliers(self, y: Array) -> Array:
        """The y_t of the constraints, (m,), for half the gradient's y (n,)."""
        return np.asarray(-(self._own + self.factor * (y / self.root[:, 0] ** 2))[self._rows] / self._weights)


@dataclass(kw_only=True)
class SphereState(State):
    """Rows V (n, r) of length one, Ĉ V, y and G there, the next direction, its slope ⟨G, direction⟩, and |G|².

    `tested` : |G| when columns were last found to suffice; `ratio` : −√n λ_min(S) over it.
    """

    V: Array
    image: Array
    y: Array
    gradient: Array
    direction: Array
    slope: float
    square: float
    form: SphereForm
    tested: float
    ratio: float
    metric: SphereMetric


@dataclass(frozen=True)
class SphereGradient(Method[SphereState]):
    """min ⟨C, M⟩ over M ⪰ 0, M_ii = d_i > 0, by conjugate gradient on M = D^½ V Vᵀ D^½, rows of V of length one.

    With Ĉ = D^½ C D^½ less its diagonal and y_i = ⟨V_i, (Ĉ V)_i⟩ half the gradient on the product of spheres is G = Ĉ V
    − Diag(y) V. A step goes from V_i to (V_i + s D_i)/|V_i + s D_i|. Its s minimises the second-order model, of
    curvature ⟨D, Ĉ D⟩ − Σ y_i |D_i|², and is halved until F decreases. Directions are those of Polak and Ribière (PR+)
    for gradients in a metric (:class:`~psdopt.methods.sphere_metric.SphereMetric`), carried along by projection. Every
    point is feasible, and −C_ii − y_i/d_i are its multipliers: S = D^-½ (Ĉ − Diag(y)) D^-½ with ⟨S, M⟩ = 0, so that
    S + (eps / tr M) I ⪰ 0, one Cholesky factor, proves F(M) − min F <= eps. If r (r + 1)/2 > n, generically no
    second-order stationary point is other than optimal; with fewer, columns are added near saddles, along S's least
    eigenvectors. The diagonal of C, which adds the number Σ C_ii d_i to F, does not change the iterates.

    Burer and Monteiro (2003); Journée, Bach, Absil, Sepulchre (2010); Boumal, Voroninski, Bandeira (2016).

    Parameters
    ----------
    iterations : conjugate gradient iterations in one step of this method, at least 1.
    grow : whether columns are added at saddles (solve() passes its `escape`). max_rank : the largest rank, default n.

    Cost of an iteration: two products of C with (n, r), some ten passes over (n, r), and the metric.
    Raises IncompatibleError for problems that do not fix the diagonal.
    """

    iterations: int = 10
    grow: bool = True
    max_rank: int | None = None

    requires: ClassVar[Requires] = {
        "problem": (Ability.FIXED_DIAGONAL,),
        "geometry": (Ability.FACTOR, Ability.STRAIGHT),
    }
    descends: ClassVar[bool] = True
    residual: ClassVar[Residual] = Residual.CERTIFICATE
    scale_invariant: ClassVar[bool] = True
    unit_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        integer(self.iterations, "iterations")
        integer_or_none(self.max_rank, "max_rank")

    def with_escape(self, escape: bool, max_rank: int) -> SphereGradient:
        return replace(self, grow=self.grow and escape, max_rank=min(max_rank, self.max_rank or max_rank))

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> SphereState:
        form = SphereForm(problem)
        Y = geometry.factor(start) if evaluation is None else evaluation.factor
        V = _unit_rows(np.where(row_dots(Y, Y)[:, None] > 0.0, Y, 1.0))
        image = form.times(V)
        # random rows have a G about as large as the image
        return self._widened_at_saddle(_state(form, geometry, V, image, tested=norm(image), ratio=CLEARLY))

    def step(self, state: SphereState) -> SphereState:
        V, image, d, slope, square = state.V, state.image, state.direction, state.slope, state.square
        form, y, G, s, outcome = state.form, state.y, state.gradient, 0.0, Outcome.RUNNING
        metric = state.metric.renewed(form.C, y, math.sqrt(square))
        Z = metric(V, G, y)
        value, product = float(y.sum()), float(np.vdot(G, Z))
        if metric.inverse is not state.metric.inverse:
            d, slope = -Z, -product
        for _ in range(self.iterations):
            deadline.ask()
            lengths = row_dots(d, d)
            curvature = float(np.vdot(d, form.times(d)) - lengths @ y)
            longest = math.sqrt(float(lengths.max()))
            if not (slope < 0.0 and longest > 0.0 and math.sqrt(len(V) * square) > ROUNDINGS * form.noise):
                outcome = Outcome.STALLED
                break
            s = min(-slope / curvature if curvature > 0.0 else math.inf, 1.0 / (SLIGHT * longest))
            for _ in range(MOST_STEPS):
                W = s * d
                W += V
                sizes = np.sqrt(row_dots(W, W))
                W /= sizes[:, None]
                moved = form.times(W)
                y = row_dots(W, moved)
                after = float(y.sum())
                if after <= value + 2.0 * SUFFICIENT * s * slope + form.noise:
                    break
                s *= 0.5
            else:
                outcome = Outcome.STALLED
                break
            last, V, image, value = G, W, moved, after
            G = image - y[:, None] * V
            Z, before = metric(V, G, y), product
            square, product = float(np.vdot(G, G)), float(np.vdot(G, Z))
            # Z is tangent at V, so that its product with the old gradient carried to V needs no projection
            beta = max(0.0, (product - float(np.vdot(Z, last))) / before)
            along = s * beta * lengths / sizes  # beta ⟨d_i, V_i⟩ at the new V, as d was tangent at the old one
            d = beta * d
            d -= along[:, None] * V
            d -= Z
            slope = float(np.vdot(d, G))
            if not slope < 0.0:
                d, slope = -Z, -product
        kept: dict[str, Any] = {"tested": state.tested, "ratio": state.ratio, "step": s, "outcome": outcome}
        return self._widened_at_saddle(_state(state.form, state.geometry, V, image, d, metric, **kept))

    def _widened_at_saddle(self, state: SphereState) -> SphereState:
        """The state with twice the columns, or √(2 n)/3, if it is near a saddle; tested when |G| has fallen to a half.

        A second-order point whose V has a rank below r is optimal, so that nothing is tested while a column is short.
        Columns are added early, many at once: near a first-order point they would take long to grow.
        """
        V, C, size = state.V, state.form.C, math.sqrt(state.square)
        n, r = V.shape
        most = min(self.max_rank or n, math.isqrt(2 * n) + 1)
        wider = min(max(2 * r, math.isqrt(2 * n) // SPARE + 1), most)
        if not self.grow or r >= most or size > 0.5 * state.tested:
            return state
        state.tested = size
        lengths, y = np.linalg.eigvalsh(V.T @ V), state.y
        if lengths[0] * float(np.abs(y).max()) <= size * math.sqrt(float(lengths[-1])):
            return state
        start = np.cos(np.arange(1.0, n + 1.0) ** 2)
        *_, (Q, T, _) = lanczos_steps(lambda v: np.asarray(C @ v - y * v), start, MOST_STEPS)
        values, W = np.linalg.eigh(T)
        before, state.ratio = state.ratio, -math.sqrt(n) * float(values[0]) / size if size > 0.0 else math.inf
        if values[0] >= 0.0 or state.ratio <= max(SADDLE, before):
            return state
        added, curvature = _descending(C, y, wider - r, values, Q @ W[:, 0])
        if not curvature < 0.0:
            return state
        value, length = float(y.sum()), 1.0 / math.sqrt(float(row_dots(added, added).max()))
        wide = append_columns(V, added)
        for _ in range(MOST_STEPS):
            wide[:, r:] = length * added
            rows = _unit_rows(wide)
            image = state.form.times(rows)
            if float(row_dots(rows, image).sum()) <= value + SUFFICIENT * length**2 * curvature:
                geometry = state.geometry.with_rank(wide.shape[1])
                return _state(state.form, geometry, rows, image, tested=norm(image), ratio=CLEARLY)
            length *= 0.5
        return state


def _state(
    form: SphereForm,
    geometry: Geometry,
    V: Array,
    image: Array,
    d: Array | None = None,
    metric: SphereMetric | None = None,
    **fields: Any,
) -> SphereState:
    """The state at V with image Ĉ V; `d` is the next direction, by default steepest descent in the `metric`."""
    y = row_dots(V, image)
    G = image - y[:, None] * V
    metric = metric or SphereMetric.of(form.C)
    d = -metric(V, G, y) if d is None else d
    Y, square, best = form.lengths * V, float(np.vdot(G, G)), None
    if form.mixed:
        # λ_min(S) tr M then proves little: multipliers that raise S by eps Diag(1/d) cost n eps instead
        lost = ROUNDINGS * EPS * len(y) ** 2 * float(np.abs(y).max())
        best = form.multipliers(y - RAISED * (math.sqrt(square / len(y)) + lost))
    return SphereState(
        form.problem,
        geometry,
        geometry.from_factor(Y),
        form.problem.at(Y),
        gradient_norm=2.0 * form.factor * float(form.lengths.max()) * norm(G / form.root),
        dual=Multipliers(form.multipliers(y), best),
        form=form,
        V=V,
        image=image,
        y=y,
        gradient=G,
        direction=d,
        slope=float(np.vdot(d, G)),
        metric=metric,
        square=square,
        **fields,
    )


def _descending(C: sp.csr_array, y: Array, count: int, ritz: Array, v: Array) -> tuple[Array, float]:
    """(D, c) with ⟨D, S D⟩ <= c <= 0: `count` orthogonal columns of low Ritz values of S = C − Diag(y), by a filter.

    `ritz` : values that span the spectrum of S up to a few per cent, the least of them negative, with Ritz vector v.
    Columns of positive Ritz values are as short as takes half of what the others gain.
    """
    low = float(ritz[0])
    width = (max(float(ritz[-1]), 0.0) - low) * (1.0 + SLIGHT)

    def times(V: Array) -> Array:
        return sparse_product(C, V) - y[:, None] * V

    random = np.random.default_rng(count).standard_normal((len(y), count - 1))
    smooth = low_pass(lambda V: times(V) - low * V, random, width, PROBES)
    Q = np.linalg.qr(np.column_stack([v, smooth]))[0]
    values, W = np.linalg.eigh(Q.T @ times(Q))
    falls, rises = -float(values[values < 0.0].sum()), float(values[values > 0.0].sum())
    share = math.sqrt(0.5 * falls / max(rises, falls)) if falls > 0.0 else 0.0
    return Q @ (W * np.where(values < 0.0, 1.0, share)), -0.5 * falls


def _unit_rows(Y: Array) -> Array:
    return np.asarray(Y / np.sqrt(row_dots(Y, Y))[:, None])
