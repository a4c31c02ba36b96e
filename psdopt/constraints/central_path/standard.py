"""A conic problem in standard form, for methods that decompose matrices: min ⟨C, X⟩, A(X) = b, X in cones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints.central_path.bipartite import Bipartite
from psdopt.constraints.central_path.orthant import Orthant
from psdopt.constraints.central_path.second_order import SecondOrder, SecondOrderSlacks
from psdopt.constraints.central_path.semidefinite import Semidefinite
from psdopt.constraints.cliques import Cliques
from psdopt.constraints.conic import Conic, barrier_value
from psdopt.constraints.directed import DirectedCouplings, DirectedForms
from psdopt.constraints.limits import NUMBERS
from psdopt.constraints.stacks import NONE, Stack
from psdopt.linalg.arrays import Array, length_of, norm
from psdopt.linalg.entries import by_entries, entries_of
from psdopt.linalg.limits import SMALL_ORDER
from psdopt.linalg.tolerances import SLIGHT, rounding

#: Share of the constraints from which on their own elimination pays.
APART = 0.2
#: What a product of cones is made of.
Part = Semidefinite | SecondOrder | Orthant


class StandardForm:
    """min Σ_k ⟨C_k, X_k⟩ over X_k in cones, Σ_k A_k(X_k) = b, scaled to |A_t| = |b| = |C| = 1.

    Soft rows are missed by s = δ ∘ v at a solution, which costs ½ vᵀ(δ ∘ v).

    The X_k are the `parts`: PSD blocks, those of one order together, then the slacks A_k(M) − b_k of constraints in
    second-order cones, then what is nonnegative: blocks of order one and the slacks of inequalities. An interval gives
    two rows. A part may have the `weights` ν of −ν log det X_k.

    With the basis `W` (n, q) of a face, M = W N Wᵀ: the X_k are blocks of N, and factors are factors of M. N, or M
    itself, is first brought to the units of :meth:`~psdopt.constraints.conic.Conic.row_units`, D N D. With
    `split`, large sparse blocks are then split into `cliques` where that is cheaper. With `corners`, of
    blocks of nuclear norms only the corners are variables (:class:`.Bipartite`), for methods that split alone.

    Of a constant F, which each feasible M minimises, C is the identity, unless not `smallest`: without an objective the
    dual may have no interior, such as where some M_ii occurs in no A_t.

    Attributes: `flat`, whether F is constant; `units`, the diagonal of D, None where it is one; `whole`, the problem in
    these units, and `conic`, the same over its `cliques`, if it has any; `parts`; `b`; `order`, the number of products
    X_k Z_k whose mean is mu; `cost`, |C|, which cliques change; `held`, the norm of what `corners` leave out of C.
    """

    def __init__(
        self,
        conic: Conic,
        W: sp.csr_array | None = None,
        *,
        split: bool = False,
        corners: bool = False,
        smallest: bool = True,
    ) -> None:
        self.flat = conic.weights is None and conic.softness is None and not np.any(conic.C.data)
        if self.flat and smallest:
            conic = Conic(sp.eye_array(conic.n, format="csr"), conic.constant, conic.forms, conic.allowed)
        self.corners, units = corners, conic.row_units()
        self.units: Array | None = None if np.all(units == 1.0) else units
        self.cliques: Cliques | None = conic.split[1] if split and conic.split is not None else None
        self.whole, self.W = conic if self.units is None else conic.in_units(units), W
        self.conic = conic = self.whole if self.cliques is None else self.whole.over(self.cliques)
        lower, upper = conic.lower, conic.upper
        equal = lower == upper
        some = conic.forms.norms > 0.0  # on a face some A_t vanish and need no multiplier
        cones = [rows.ravel() for rows in conic.groups]
        equations = _by_weight(conic, np.flatnonzero(some & equal))
        apart = _apart(conic, equations)
        #: Between so many first rows the system of the multipliers is zero.
        self.apart = int(np.count_nonzero(apart))
        equations = np.concatenate([equations[apart], equations[~apart]])
        least, most = ((some & np.isfinite(bound) & ~equal).nonzero()[0] for bound in (lower, upper))
        self.source = np.concatenate([equations, *cones, least, most])
        offsets = [] if conic.cones is None else [conic.cones.offset[rows] for rows in cones]
        bound = np.concatenate([lower[equations], *offsets, lower[least], upper[most]])
        signs = np.concatenate([np.full(len(least), -1.0), np.ones(len(most))])
        self.side = np.concatenate([np.zeros(len(bound) - len(signs)), signs])
        norms = conic.allowed.alike(conic.forms.norms)[self.source]
        self.row_scale = 1.0 / np.where(norms > 0.0, norms, 1.0)
        b = bound * self.row_scale
        self.beta, C_norm = norm(b) or 1.0, norm(conic.C.data) if conic.C.nnz else 0.0
        self.nu = np.zeros(conic.n) if conic.weights is None else conic.weights
        # F / (beta gamma) has ν / (beta gamma) as weights; they are at most one
        pulls = [C_norm, float(self.nu.max(initial=0.0)) / self.beta]
        if conic.softness is not None:  # multipliers are up to b / δ, those of M = 0
            pulls.append(norm(conic.forms.B[self.source].T @ (bound / conic.softness[self.source])))
        self.gamma = max(pulls) or 1.0
        #: The first column of each row of M in a factor: blocks with log dets have columns of their own.
        self.first, self.width = np.zeros(conic.n, dtype=np.intp), 0
        for rows in conic.blocks if conic.weights is not None else ():
            if self.nu[rows[0]] > 0.0:
                self.first[rows], self.width = self.width, self.width + len(rows)
        self.b, self.m = b / self.beta, len(b)
        #: δ of the rows in these units, (rows,); None where no row is soft.
        self.softness: Array | None = None
        if conic.softness is not None:
            self.softness = conic.softness[self.source] * self.row_scale**2 * (self.gamma / self.beta)
        columns = _columns(conic, self.source, self.row_scale)
        self.parts: list[Part] = []
        for stack in conic.stacks:
            if stack.arrow:
                self.parts.append(self._cones(columns, stack))
            elif stack.order > 1:
                self.parts += self._matrices(columns, stack)
        first = len(equations)
        for rows in conic.groups:
            own = np.arange(rows.size)
            B = sp.csr_array((np.full(rows.size, -1.0), (first + own, own)), shape=(self.m, rows.size))
            self.parts.append(SecondOrderSlacks(rows.shape[0], rows.shape[1], B))
            first += rows.size
        singles = [stack for stack in conic.stacks if stack.order == 1]
        if singles or len(signs):
            self.parts.append(self._nonnegative(columns, singles[0] if singles else NONE, signs))
        self.held = length_of(part.fixed for part in self.parts if isinstance(part, Bipartite))
        self.order, self.cost = sum(part.degree for part in self.parts), length_of(part.C for part in self.parts)

    def _matrices(self, columns: Columns, stack: Stack) -> Iterator[Semidefinite]:
        """These blocks, in one part while all products of their entries fit."""
        s, filled = stack.order, np.diff(columns.ends)[stack.held] > 0
        pairs = len(np.unique((stack.i * s + stack.j)[filled])) ** 2
        most = max(1, int(SLIGHT * NUMBERS) // max(1, pairs)) if s <= SMALL_ORDER else 1
        for first in range(0, len(stack), most):
            part = stack[first : first + most]
            filled = np.diff(columns.ends)[part.held] > 0
            places, which = np.unique((part.i * s + part.j)[filled], return_inverse=True)
            t, k, numbers = _taken(columns, part.held[filled], part.block[filled] * len(places) + which)
            B = by_entries(numbers, t, k, (self.m, len(part) * len(places)))
            costs, weights = part.dense(self.conic.places[2]) / self.gamma, self._weights(part.rows[:, 0])
            products = None
            if isinstance(self.conic.forms, DirectedForms) and self.softness is not None:
                # rows that must hold may be only what cancellation leaves of d_pᵀX d_q, and need their entries
                products = DirectedCouplings.of(self.conic.forms, self.source, self.row_scale)
            found = Semidefinite(part.rows, costs, places // s, places % s, B, weights, products)
            yield Bipartite.of(found) if self.corners else found

    def _weights(self, rows: NDArray[np.intp], others: int = 0) -> Array | None:
        """ν of the blocks with these first `rows`, in the units of the form, then zeros; None if all are zero."""
        own = np.concatenate([self.nu[rows] / (self.beta * self.gamma), np.zeros(others)])
        return own if own.any() else None

    def _cones(self, columns: Columns, stack: Stack) -> SecondOrder:
        """The arrows: B has the diagonal entry of A_tk, and half of the others."""
        first, d = np.flatnonzero(stack.i == 0), stack.order  # of the equal diagonal entries only the first
        t, k, numbers = _taken(columns, stack.held[first], stack.block[first] * d + stack.j[first])
        B = sp.csr_array((np.where(k % d == 0, 1.0, 0.5) * numbers, (t, k)), shape=(self.m, len(stack) * d))
        return SecondOrder(stack.rows, stack.first_rows(self.conic.places[2]) / self.gamma, B)

    def _nonnegative(self, columns: Columns, singles: Stack, signs: Array) -> Orthant:
        """The blocks of order one, `singles`, and the slacks of the last rows, which have these signs."""
        rows, slacks = singles.rows[:, 0], np.arange(len(signs))
        t, k, numbers = _taken(columns, singles.held, singles.block)
        t, k = np.concatenate([t, slacks + self.m - len(signs)]), np.concatenate([k, slacks + len(rows)])
        B = by_entries(np.concatenate([numbers, signs]), t, k, (self.m, len(rows) + len(signs)))
        costs = np.concatenate([singles.dense(self.conic.places[2]).ravel() / self.gamma, np.zeros(len(signs))])
        return Orthant(rows, costs, B, self._weights(rows, len(signs)))

    @cached_property
    def normal_factor(self) -> Any:
        """The sparse factors of A A* (m, m), with a ridge: redundant constraints make it singular."""
        gram = sp.csr_array((self.m, self.m))
        for part in self.parts:
            gram = gram + sp.csr_array(part.B @ sp.diags_array(part.half) @ part.B.T)
        ridge = rounding(float(gram.diagonal().max(initial=0.0)), self.m) + np.finfo(float).tiny
        return sp.linalg.splu(sp.csc_array(gram + ridge * sp.eye_array(self.m)))

    def __getstate__(self) -> dict[str, Any]:
        return {name: each for name, each in vars(self).items() if name != "normal_factor"}

    def measure(self, X: list[Array]) -> Array:
        """Σ_k A_k(X_k), (rows,); b has norm 1."""
        return sum([part.measure(P) for part, P in zip(self.parts, X, strict=True)], np.zeros(self.m))

    def missed(self, X: list[Array], v: Array) -> Array:
        """b − A(X), less what soft rows may miss, δ ∘ v; (rows,)."""
        rest = self.b - self.measure(X)
        return rest if self.softness is None else rest - self.softness * v

    def mean_product(self, X: list[Array], Z: list[Array]) -> float:
        """mu: the mean of what the products X_k Z_k differ from ν_k."""
        off = sum([part.distance(P, S) for part, P, S in zip(self.parts, X, Z, strict=True)])
        return float(off) / max(self.order, 1)

    def dual_value(self, v: Array, Z: list[Array]) -> float:
        """The value of v and Z as a dual point: bᵀv − ½ vᵀ(δ ∘ v), and Σ ν (s (1 − log ν) + log det S_k) for S_k =
        gamma Z_k in M."""
        value = float(self.b @ v) * self.beta * self.gamma + self.conic.constant
        if self.softness is not None:
            value -= 0.5 * float(v @ (self.softness * v)) * self.beta * self.gamma
        for part, S in zip(self.parts, Z, strict=True):
            if part.weights is not None and not isinstance(part, SecondOrder):
                rows = part.rows.reshape(len(part.rows), -1)
                nu, logs = self.nu[rows[:, 0]], part.log_dets(S) + rows.shape[1] * math.log(self.gamma)
                if self.units is not None:
                    logs = logs - 2.0 * np.sum(np.log(self.units[rows]), axis=1)
                used = nu > 0.0
                value += float(np.sum(barrier_value(nu[used], rows.shape[1], logs[used])))
        return value

    def slacks(self, v: Array) -> list[Array]:
        """C_k − A_k*(v)."""
        return [part.C - part.adjoint(v) for part in self.parts]

    @property
    def cubes(self) -> float:
        """Σ s³ over the matrices that splitting decomposes: corners have the order of their shorter side."""
        orders = [min(part.C.shape[-2:]) for part in self.parts if isinstance(part, Semidefinite) for _ in part.rows]
        return float(sum(order**3 for order in orders))

    def below(self, Z: list[Array], R: list[Array]) -> float:
        """A bound on −λ_min(C − A*(v)) for Z ⪰ 0 and R = C − A*(v) − Z: |R|, or for corners the eigenvalue."""
        pairs = zip(self.parts, Z, R, strict=True)
        return math.hypot(*(part.below(S, D) if isinstance(part, Bipartite) else norm(D) for part, S, D in pairs))

    def multipliers(self, v: Array) -> Array:
        """y (m of the conic problem,) of the dual variables v of the scaled rows; S = C + A*(y) is gamma Z, of cliques
        the sum of all."""
        y = np.zeros(self.conic.m)
        np.add.at(y, self.source, -self.gamma * self.row_scale * v)
        return y[: self.whole.m]

    def factor(self, X: list[Array]) -> Array:
        """Y (n, width) whose Y Yᵀ has the diagonal blocks beta X_k; between blocks with log dets it is zero, other
        entries outside of the blocks are arbitrary."""
        return self.assembled([part.root(P) for part, P in zip(self.parts, X, strict=True)])

    def assembled(self, roots: list[Array]) -> Array:
        """:meth:`factor` from factors H_k (K, s, r_k) of the X_k = H_k H_kᵀ."""
        widths = [root.shape[2] for root in roots if root.ndim == 3]
        Y = np.zeros((self.conic.n, max([1, self.width, *widths])))
        for part, root in zip(self.parts, roots, strict=True):
            part.placed(Y, root, self.first)
        Y *= math.sqrt(self.beta)
        Y = Y if self.cliques is None else self.cliques.completed(Y)
        Y = Y if self.units is None else self.units[:, None] * Y
        return Y if self.W is None else np.asarray(self.W @ Y)

    def primal(self, Y: Array) -> list[Array]:
        """The X_k of M = Y Yᵀ, and the slacks of its inequalities, outside of their cones where M violates them."""
        Y = Y if self.W is None else np.asarray(self.W.T @ Y)
        Y = Y / math.sqrt(self.beta) if self.units is None else Y / (math.sqrt(self.beta) * self.units[:, None])
        Y = Y if self.cliques is None else Y[self.cliques.origin]
        X = [part.gathered(Y) for part in self.parts]
        rest = self.b - self.measure(X)
        for part, x in zip(self.parts, X, strict=True):
            if isinstance(part, Orthant):
                k = len(part.rows)
                x[k:] = (part.back @ rest)[k:]
            elif isinstance(part, SecondOrderSlacks):
                x[:] = (part.back @ rest).reshape(x.shape)
        return X

    def dual(self, y: Array) -> Array:
        """v (rows,) of multipliers y (m of the conic problem,), those of each bound of the sign that it allows."""
        v = -np.append(y, np.zeros(self.conic.m - len(y)))[self.source] / (self.gamma * self.row_scale)
        return np.where(self.side * v > 0.0, 0.0, v)

    def matrix(self, X: list[Array]) -> Array:
        """M (n, n) with the blocks beta X_k, zero outside of them, definite where all X_k are inside their cones."""
        M = np.zeros((self.conic.n, self.conic.n))
        for part, P in zip(self.parts, X, strict=True):
            part.spread(M, P)
        M *= self.beta
        return M if self.units is None else self.units[:, None] * M * self.units

    def trace(self, Y: Array) -> float:
        """tr N in the units of the form, for a factor Y of :meth:`assembled`."""
        Y = Y if self.W is None else np.asarray(self.W.T @ Y)
        Y = Y if self.units is None else Y / self.units[:, None]
        return float(np.vdot(Y, Y))


class Columns(NamedTuple):
    """The entries of the scaled rows: `rows` and `numbers` of those at place k, from ends_k to ends_{k+1}."""

    rows: NDArray[np.intp]
    numbers: Array
    ends: NDArray[np.intp]


def _columns(conic: Conic, source: NDArray[np.intp], scale: Array) -> Columns:
    """The entries of the rows `source`, each multiplied by its `scale`, at the places of the conic."""
    B, (_, _, C, at) = conic.forms.B, conic.places
    held, counts = entries_of(source, B.indptr)
    places = at[B.indices[held]]
    order = places.argsort(kind="stable")
    ends = np.concatenate([[0], np.bincount(places, minlength=len(C)).cumsum()])
    rows = np.arange(len(source)).repeat(counts)
    return Columns(rows[order], (scale.repeat(counts) * B.data[held])[order], ends)


def _taken(
    columns: Columns, held: NDArray[np.intp], at: NDArray[np.intp]
) -> tuple[NDArray[Any], NDArray[np.intp], Array]:
    """Rows, places and numbers of the entries in the columns `held` (q,), which have the places `at`."""
    numbers, counts = entries_of(held, columns.ends)
    return columns.rows[numbers], at.repeat(counts), columns.numbers[numbers]


def _apart(conic: Conic, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which of the equations `rows` have entries in blocks of order one alone, no two of them in the same block.

    Those with the fewest entries come first. None if they are too few to be worth eliminating before the others, or the
    system is small or sparse.
    """
    apart = np.zeros(len(rows), dtype=bool)
    if len(rows) <= SMALL_ORDER or conic.sparse:
        return apart
    B = sp.csr_array(conic.forms.B[rows])
    single = np.bincount(conic.label)[conic.label[conic.forms.i]] == 1
    alone = np.flatnonzero(np.diff(sp.csr_array(B[:, ~single]).indptr) == 0)
    counts, taken = np.diff(B.indptr), np.zeros(B.shape[1], dtype=bool)
    for t in alone[np.argsort(counts[alone], kind="stable")] if len(alone) > APART * conic.m else ():
        places = B.indices[B.indptr[t] : B.indptr[t + 1]]
        if not taken[places].any():
            apart[t] = taken[places] = True
    return apart if np.count_nonzero(apart) > APART * conic.m else np.zeros_like(apart)


def _by_weight(conic: Conic, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """The constraints `rows`, ordered by kind: those of one diagonal entry, of one entry, and all others."""
    B, i, j = conic.forms.B, conic.forms.i, conic.forms.j
    counts = np.diff(B.indptr)[rows]
    single = counts == 1
    own = np.zeros(len(rows), dtype=bool)
    place = B.indices[B.indptr[rows[single]]]
    own[single] = i[place] == j[place]
    return rows[np.argsort(np.where(own, 0, np.where(single, 1, 2)), kind="stable")]
