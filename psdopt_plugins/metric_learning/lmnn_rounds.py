"""The active set of LMNN: rounds on triplets that are violated or nearly violated, until none is missing."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psdopt import ConjugateGradient, FlatQuotient, Problem, Result, TermSum, solve
from psdopt.checks import CheckedIndices
from psdopt.linalg import EPS, Array, DaskRows, LinearMap, RowBlocks, inner, norm, pair_dots
from psdopt.problems.distributed import OnDask, Summed, touched
from psdopt_plugins.estimators import of_a_round, one_of_several, was_cut
from psdopt_plugins.limits import MOST_PRODUCTS, SLIGHT
from psdopt_plugins.metric_learning.impostors import Indices, merged, target_neighbours, violated_triplets
from psdopt_plugins.metric_learning.lmnn_problem import across_columns, lmnn_problem
from psdopt_plugins.metric_learning.lmnn_start import DRAWN_TRIPLETS, scaled

#: Triplets that miss violation by less than this are included, so that a step does not violate unseen ones.
BUFFER = 0.15
#: Conjugate gradient steps on the current triplets before the first round. Far from the optimum the active set changes
#: quickly, so that a slight buffer and a random part of very many triplets suffice.
WARM_STEPS = (4, 4, 4)
#: The tolerance of a round if the caller names none, as of :func:`psdopt.solve`.
TOL = 1e-6
#: From round to round |L| decreases by at most this factor.
SHRINKAGE = 0.8


@dataclass(frozen=True)
class Labelled:
    """The whole problem: samples X (m, d) as `data`, labels y (m,), targets (p, 2), lam, weights (m,) or None.

    F(M) = Σ w_i d_M(i, j) + lam Σ w_i w_k max(0, 1 + d_M(i, j) − d_M(i, k))² over all k of other classes.
    """

    data: LinearMap
    y: NDArray[Any]
    targets: Indices
    lam: float
    weights: Array | None

    def value(self, image: Array, triplets: Indices, shortfall: Array) -> float:
        """F from the images (m, r) of the samples and the shortfall (q,) of all violated `triplets` (q, 3)."""
        lacking = np.maximum(shortfall, 0.0)
        near = pair_dots(self.targets[:, 0], self.targets[:, 1], image, image)
        if self.weights is None:
            return float(near.sum()) + self.lam * inner(lacking, lacking)
        counts = self.weights[triplets[:, 0]] * self.weights[triplets[:, 2]]
        return inner(self.weights[self.targets[:, 0]], near) + self.lam * inner(counts * lacking, lacking)

    def rescaled(self, Z: Array) -> Array:
        """The multiple of Z (d, r) with the least F, as :func:`~.lmnn_start.scaled` estimates it."""
        return scaled(self.data, self.y, self.targets, self.lam, Z, self.weights)


@dataclass
class Rounds:
    """Rounds of the active set, and their results.

    `rank`, `max_rounds`, `max_triplets`, `passes` and `n_neighbors` are those of LMNN, `options` keyword arguments of
    :func:`psdopt.solve`; a `max_time` among them is that of all rounds together. A run that is cut ends the rounds.
    `waits` says whether the last round continues in search of a proof once its residuals are small.
    After :meth:`run`: `result` of the last round, or of the steps before the first if those are cut; `made`, number of
    rounds; `iterations` of all rounds and of the steps before the first; `held`, number of triplets in the last;
    `complete`, whether no violated triplet is missing; `warm_up_values`, F after each step before the first round.
    """

    labelled: Labelled
    rank: int | None
    max_rounds: int
    max_triplets: int
    options: Mapping[str, Any]
    waits: bool
    passes: int
    n_neighbors: int
    result: Result = field(init=False)
    made: int = 0
    iterations: int = 0
    held: int = 0
    complete: bool = False
    warm_up_values: list[float] = field(default_factory=list)
    _clock: float = field(default_factory=time.perf_counter)
    _cut: bool = False

    def run(self, Z: Array) -> Array:
        """The factor (d, r) at the end, from the start Z."""
        for _ in range(self.passes - 1):
            Z = self._warmed_up(Z)
            if not self._cut:
                nearest = target_neighbours(self.labelled.data.apply(Z), self.labelled.y, self.n_neighbors)
                self.labelled = replace(self.labelled, targets=nearest)
        Z = Z if self._cut else self._warmed_up(Z)
        whole = self.labelled
        m = whole.data.shape[0]
        triplets: Indices = np.empty((0, 3), dtype=np.intp)
        best, best_Z = np.inf, Z
        settled = False
        while self.made < self.max_rounds and not self._cut:
            image = whole.data.apply(Z)
            rows, shortfall = self._nearly_violated(image)
            none_missing = len(merged(triplets, rows[shortfall > 0.0], m)) == len(triplets)
            if settled and none_missing:
                self.complete = len(rows) < self.max_triplets
                break
            value = whole.value(image, rows, shortfall)
            triplets = rows if value < best else merged(triplets, rows, m)
            if value < best:
                best, best_Z = value, Z
            else:  # the result violates triplets that were left out: repeat the round with them
                Z = best_Z
            before = Z
            last = none_missing or self.made + 1 == self.max_rounds
            self._solve(triplets, Z, patient=last and self.waits)
            Z = self.result.matrix.factor
            if self._cut:
                Z = Z if norm(Z) > 0.0 else before
                break
            collapsed = norm(Z) < SHRINKAGE * norm(before)
            if collapsed:  # triplets that were left out would have kept M from shrinking
                Z = SHRINKAGE * before
            settled = (self.result.optimal if self.waits and not last else self.result.converged) and not collapsed
            if settled and self.result.iterations == 0:  # all triplets violated at this Z were included
                self.complete = len(rows) < self.max_triplets
                break
        self.held = len(triplets)
        return Z

    def _nearly_violated(self, image: Array) -> tuple[Indices, Array]:
        """(rows, shortfall) of all triplets that miss violation by less than BUFFER; if there are none, by more.

        Without a triplet M = 0 would be optimal, and no value small beside F(0) = 0: where features outnumber samples,
        a metric of F = 0 may separate the classes by any margin.
        """
        margin, whole = 1.0 + BUFFER, self.labelled
        rows, excess = violated_triplets(image, whole.y, whole.targets, margin, self.max_triplets)
        while len(rows) == 0 and margin < np.inf:
            margin *= 2.0
            rows, excess = violated_triplets(image, whole.y, whole.targets, margin, self.max_triplets)
        return rows, excess - (margin - 1.0)

    def _solve(self, triplets: Indices, Z: Array, patient: bool) -> None:
        """One round from Z, with `triplets`; `patient`: it continues in search of a proof once residuals are small."""
        whole = self.labelled
        given = {"geometry": FlatQuotient(*Z.shape), "escape": self.rank is None, **self.options, **self._time_left()}
        with round_problem(whole.data, whole.targets, triplets, whole.lam, whole.weights) as problem:
            proof = "full" if patient else "cheap"
            # about a product with the differences a step, after which the triplets have changed
            result = solve(problem, start=Z, **{"max_iterations": MOST_PRODUCTS, "proof": proof, **given})
            self._keep(result, problem, Z)
        self.made += 1
        self.iterations += result.iterations

    def _keep(self, result: Result, problem: Problem, Z: Array) -> None:
        """Keep the result of a run on `problem` from Z, or the one before if no step of it was made."""
        earlier = getattr(self, "result", None)
        known = of_a_round(one_of_several(result), problem, Z, self.options.get("max_time"))
        self._cut = was_cut(known)
        if self._cut and math.isnan(result.value) and earlier is not None:
            known = replace(earlier, status=known.status, message=known.message, ended_by=known.ended_by)
        # the state holds data that the next round replaces
        self.result = replace(known, state=None, solved=None, tol=self.options.get("tol", TOL))

    def _time_left(self) -> dict[str, Any]:
        """`max_time` of the next run, if there is a limit; :func:`psdopt.solve` refuses invalid limits."""
        limit = self.options.get("max_time")
        if isinstance(limit, Real) and float(limit) >= 0.0:
            return {"max_time": max(float(limit) - (time.perf_counter() - self._clock), 0.0)}
        return {} if limit is None else {"max_time": limit}

    def _warmed_up(self, Z: Array) -> Array:
        """Z (d, r) after WARM_STEPS, at its best scale."""
        for steps in WARM_STEPS:
            Z = self._advanced(self.labelled.rescaled(Z), steps)
            if self._cut:
                return Z
        return self.labelled.rescaled(Z)

    def _advanced(self, Z: Array, steps: int) -> Array:
        """Z after `steps` on the current triplets."""
        whole = self.labelled
        image = whole.data.apply(Z)
        triplets = violated_triplets(image, whole.y, whole.targets, 1.0 + SLIGHT, self.max_triplets)[0]
        share = min(1.0, DRAWN_TRIPLETS / max(1, len(triplets)))
        if share < 1.0:
            triplets = triplets[np.random.default_rng(0).random(len(triplets)) < share]
        geometry, method = FlatQuotient(*Z.shape), ConjugateGradient()
        with round_problem(whole.data, whole.targets, triplets, whole.lam / share, whole.weights) as problem:
            # all steps are made: no change is below EPS
            limits: dict[str, Any] = {"max_iterations": steps, "tol": EPS, **self._time_left()}
            result = solve(problem, geometry, method, start=Z, escape=False, proof="cheap", **limits)
            self._keep(result, problem, Z)
        self.iterations += result.iterations
        values = [float(value) for value in result.history["value"]] or [result.value]
        self.warm_up_values += values[1:]
        # M = 0 may be optimal for these triplets; triplets found at Z keep M from vanishing
        reached = self.result.matrix.factor
        return reached if norm(reached) > 0.0 else Z


@contextmanager
def round_problem(
    data: LinearMap, targets: Indices, triplets: Indices, lam: float, weights: Array | None
) -> Iterator[Problem]:
    """:func:`lmnn_problem` of one round; if X is a Dask array and a client is open, a sum of parts on the workers.

    A part has a range of the samples i with their targets and triplets; its worker holds the rows that occur in them.
    The parts are dropped at the end of the round, since the next round has other triplets.
    """
    engine = OnDask.current() if isinstance(data, RowBlocks) and isinstance(data.source, DaskRows) else None
    if engine is None or not isinstance(data, RowBlocks):
        yield part(data, targets, triplets, lam, weights)
        return
    recipes = list(recipes_of(data, targets, triplets, lam, weights, engine))
    try:
        yield Summed(recipes, engine, preconditioner=across_columns)
    finally:
        engine.close()


def recipes_of(
    data: RowBlocks, targets: Indices, triplets: Indices, lam: float, weights: Array | None, engine: OnDask
) -> Iterator[tuple[Any, ...]]:
    """One recipe per worker, with equal numbers of targets and triplets."""
    ends = np.concatenate([targets[:, 0], triplets[:, 0]])
    bounds = np.quantile(ends, np.linspace(0.0, 1.0, engine.workers + 1)[1:-1], method="lower") if len(ends) else []
    home, at = (np.searchsorted(bounds, tuples[:, 0], side="left") for tuples in (targets, triplets))
    for k in range(engine.workers):
        pairs, three = targets[home == k], triplets[at == k]
        if len(pairs) == 0:  # then there is no triplet either, since each belongs to a target (i, j)
            continue
        rows, positions = touched(np.concatenate([pairs.ravel(), three.ravel()])[:, None].astype(np.intp))
        cut = 2 * len(pairs)
        own = positions[:cut, 0].reshape(-1, 2), positions[cut:, 0].reshape(-1, 3)
        yield part, engine.rows(data.source, rows), *own, lam, None if weights is None else weights[rows]


def part(X: Any, targets: Indices, triplets: Indices, lam: float, weights: Array | None) -> TermSum:
    """The terms of these targets and triplets of the rows X (t, d); the library found the triplets, no user."""
    near, three = (CheckedIndices(rows.astype(np.intp), X.shape[0], distinct=True) for rows in (targets, triplets))
    return lmnn_problem(X, near, three, lam, weights)
