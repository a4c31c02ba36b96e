"""What BILGO knows between steps, and how it finds eigenvectors of S: as accurate as the gap needs, proven at rest."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.tolerances import EPS
from psdopt.method import Method, Outcome, State, ensure_finite
from psdopt.oracles import least_eigenpairs
from psdopt.problem import Evaluation
from psdopt.units import stationarity_scale

#: Accuracy of an eigenvector relative to the eigenvalue it is for: a direction of descent needs no more.
ORACLE_ACCURACY = 0.3
#: A warm-started eigensolve is checked from random columns each time relative stationarity has fallen this much.
PROOF_RATIO = 1e-2
#: Directions along which F falls by less than this fraction of the steepest descent are not used: their gain is
#: proportional to the square of the slope, and on the kernel of S the sign of an eigenvalue is rounding.
SLIGHT = math.sqrt(EPS)


@dataclass(kw_only=True)
class AtomState(State):
    """The iterate and the least eigenvectors of S there.

    `gradient_norm` is 2 max(|S Y|, max(0, −λ_min(S)) |Y|): the residual of *both* optimality conditions, in
    the units of the factor gradient, so that a small one means optimal and not only stationary.
    `waiting` : whether more atoms are to come before the next local search; `due` : whether that begins here, from the
    `block` of atoms that the problem proposed or from others; `resumed` : the search that goes on instead of atoms.
    """

    vectors: Array
    smallest: float = math.nan
    atoms: int = 0
    iteration: int = 0
    waiting: bool = True
    proven_at: float = math.inf
    due: bool = False
    block: bool = False
    resumed: SearchState | None = None


@dataclass(kw_only=True)
class SearchState(State):
    """A local search: the state `inner` of its method, what was `known` of eigenvectors at its start.

    It is `over` at the residual `goal` (|S Y| / |Y|), after `limit` steps, or where its method ends. `growing` : the
    rank is still far from right.
    """

    inner: State
    searcher: Method
    known: AtomState
    goal: float
    limit: int
    growing: bool
    iteration: int
    steps: int = 0
    over: bool = False


def with_eigenvectors(
    state: AtomState,
    evaluation: Evaluation,
    *,
    count: int,
    backend: str,
    seed: int,
    atoms: int,
    extras: dict[str, float],
) -> AtomState:
    """The state at `evaluation` with the `count` least eigenvectors of S there, those that lead downhill or the first.

    Those of `state` are the start. Where nothing is wrong along them, random columns tell whether it is so
    everywhere, each time stationarity has fallen by PROOF_RATIO.
    """
    Y = ensure_finite(evaluation).factor
    SY = 0.5 * evaluation.factor_gradient()
    scale = abs(state.smallest) if math.isfinite(state.smallest) else norm(SY) / max(norm(Y), EPS)
    pair = least_eigenpairs(
        evaluation.gradient,
        tol=ORACLE_ACCURACY * scale,
        start=state.vectors,
        count=count,
        backend=backend,
        seed=seed,
    )
    products, proven_at = pair.products, state.proven_at
    level = norm(SY) / max(stationarity_scale(state.problem, evaluation.value, norm(Y)), np.finfo(float).tiny)
    if -pair.value * norm(Y) <= norm(SY) and level <= PROOF_RATIO * min(proven_at, 1.0):
        # nothing is wrong along the guesses: only random columns can tell whether it is so everywhere
        pair = least_eigenpairs(
            evaluation.gradient,
            tol=max(abs(pair.value), norm(SY) / max(norm(Y), EPS)),
            start=pair.vectors[:, :1],
            backend=backend,
            proven=True,
            count=count,
            seed=seed + state.iteration,
        )
        products += pair.products
        # where a direction had been missed, more may be: the next rest is looked at anew
        proven_at = level if -pair.value * norm(Y) <= norm(SY) else math.inf
    descending = int(np.sum(pair.values < SLIGHT * min(pair.value, 0.0)))
    vectors = pair.vectors[:, : max(1, descending)]
    # at M = 0 a negative eigenvalue is a direction of descent however small Y is: there |Y| = 1 stands for the scale
    residual = max(norm(SY), max(0.0, -pair.value) * (norm(Y) if np.any(Y) else 1.0))
    slack = math.sqrt(max(inner(SY.T @ SY, Y.T @ Y), 0.0))
    return AtomState(
        state.problem,
        state.geometry,
        Y,
        evaluation,
        gradient_norm=2.0 * residual,
        step=state.step,
        outcome=Outcome.RUNNING,
        extras={**extras, "lambda_max": -pair.value, "slack": slack, "eigensolve_products": float(products)},
        vectors=vectors,
        smallest=pair.value,
        atoms=atoms,
        iteration=state.iteration + 1,
        proven_at=proven_at,
    )
