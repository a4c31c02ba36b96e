"""The linear program of matrix generation: non-negative weights on the columns found so far, warm-started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.linalg import Array
from psdopt.margins import MarginStructure


class Unsolved(ArithmeticError):
    """The solver gave up: the run ends where it is."""


@dataclass(frozen=True)
class ProgramSolution:
    """Solution of the linear program and its dual.

    theta : weights (k,) of the columns, θ >= 0, Σ θ = 1. dual : w (m,), 0 <= w <= cap, Σ w = 1. steps : iterations.
    """

    theta: Array
    dual: Array
    steps: int


class LinearProgram:
    """min π over 0 <= w <= cap, Σ w = 1, ⟨a_i, w⟩ <= π for the columns i (Shen et al., D1), a_i = (v_iᵀA_rv_i)_r.

    Its multipliers are the weights θ of the columns. With ``highspy`` (extra ``lp``) one model is kept: a column
    becomes one more row, and the dual simplex continues from its basis. Without it, ``scipy.optimize.linprog`` solves
    each program from scratch (about 25 times as much work).

    The model is a cache: it is left out of pickles and rebuilt when the columns are not those it holds plus more.
    """

    def __init__(self) -> None:
        self._model: Any = None
        self._rows: list[Array] = []

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._model, self._rows = None, []

    def solve(self, columns: Sequence[Array], weights: MarginStructure) -> ProgramSolution:
        """θ and w for the margins a_i (m,) of the columns, w in the set {0 <= w <= cap, Σ w = 1} of `weights`.

        Raises Unsolved if the solver gives up, which does not happen for scaled data.
        """
        try:
            import highspy
        except ImportError:
            return _from_scratch(columns, weights)
        known = len(self._rows)
        same = known <= len(columns) and all(a is b for a, b in zip(self._rows, columns, strict=False))
        if self._model is None or not same:
            self._model, self._rows, known = _new_model(highspy, weights), [], 0
        size = weights.size
        everything = np.arange(size + 1, dtype=np.int32)
        for a in columns[known:]:
            self._model.addRow(-highspy.kHighsInf, 0.0, size + 1, everything, np.append(a, -1.0))
            self._rows.append(a)
        self._model.run()
        if self._model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise Unsolved(f"the linear program was not solved: {self._model.getModelStatus()}")
        solution = self._model.getSolution()
        w = np.asarray(solution.col_value)[:size]
        theta = -np.asarray(solution.row_dual)[1:]  # multipliers of <= rows come back negative
        return _answer(theta, w, weights, int(self._model.getInfo().simplex_iteration_count))


def feasible(w: Array, weights: MarginStructure) -> Array:
    """w (m,) moved into the set `weights`, for a w that is there up to a solver's tolerance. O(m).

    Too large a sum is scaled down; too small a sum is raised in proportion to the room below the cap.
    """
    w = np.clip(w, 0.0, weights.cap)
    lacking = 1.0 - float(w.sum())
    if lacking <= 0.0:
        return np.asarray(w / w.sum())
    room = weights.cap - w
    return np.asarray(w + min(lacking / float(room.sum()), 1.0) * room)


def _new_model(highspy: Any, weights: MarginStructure) -> Any:
    model = highspy.Highs()
    for option, value in (("output_flag", False), ("presolve", "off"), ("solver", "simplex"), ("simplex_strategy", 1)):
        model.setOptionValue(option, value)
    for _ in range(weights.size):
        model.addVar(0.0, weights.cap)
    model.addVar(-highspy.kHighsInf, highspy.kHighsInf)
    model.changeColCost(weights.size, 1.0)
    model.addRow(1.0, 1.0, weights.size, np.arange(weights.size, dtype=np.int32), np.ones(weights.size))
    return model


def _from_scratch(columns: Sequence[Array], weights: MarginStructure) -> ProgramSolution:
    m = weights.size
    A: Any = np.hstack([np.array(columns), -np.ones((len(columns), 1))])
    total: Any = sp.csr_array(np.append(np.ones(m), 0.0)[None, :])
    bounds: Any = [(0.0, weights.cap)] * m + [(None, None)]
    cost: Any = np.append(np.zeros(m), 1.0)
    from scipy.optimize import linprog  # slow to import, and needed only here

    found: Any = linprog(cost, A, np.zeros(len(columns)), total, [1.0], bounds, method="highs-ds")
    if not found.success:
        raise Unsolved(f"the linear program was not solved: {found.message}")
    return _answer(-np.asarray(found.ineqlin.marginals), found.x[:m], weights, int(found.nit))


def _answer(theta: Array, w: Array, weights: MarginStructure, steps: int) -> ProgramSolution:
    """The answer, moved into the feasible sets, since solvers meet them only to a tolerance."""
    theta = np.maximum(theta, 0.0)
    return ProgramSolution(theta / theta.sum(), feasible(w, weights), steps)
