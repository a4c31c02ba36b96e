"""The linear-programming master of the paper: non-negative weights on rank-one columns, warm-started."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.linalg.arrays import Array
from psdopt.margins.loss import CappedMargin
from psdopt.margins.masters.base import Answer, Unsolved


class LPMaster:
    """min π over 0 <= w <= cap, Σ w = 1, ⟨a_i, w⟩ <= π for the columns i (Shen et al., D1), a_i = (v_iᵀA_rv_i)_r.

    Its multipliers are the weights θ of the columns. With ``highspy`` (extra ``lp``) one model is kept: a column
    becomes one more row, and the dual simplex goes on from its basis. Without, ``scipy.optimize.linprog`` solves
    each master from scratch (about 25 times as much work).

    The model is a cache: it is left out of pickles and rebuilt when the columns are not those it holds plus more.
    """

    def __init__(self) -> None:
        self._model: Any = None
        self._rows: list[Array] = []

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._model, self._rows = None, []

    def solve(self, columns: list[Array], loss: CappedMargin) -> Answer:
        """θ (as a diagonal matrix) and w for `columns`, each (m,).

        Raises Unsolved if the solver gives up, which scaled data do not make it do.
        """
        try:
            import highspy
        except ImportError:
            return _from_scratch(columns, loss)
        known = len(self._rows)
        same = known <= len(columns) and all(a is b for a, b in zip(self._rows, columns, strict=False))
        if self._model is None or not same:
            self._model, self._rows, known = _new_model(highspy, loss), [], 0
        size = loss.size
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
        return _answer(theta, w, loss, int(self._model.getInfo().simplex_iteration_count))


def _new_model(highspy: Any, loss: CappedMargin) -> Any:
    model = highspy.Highs()
    for option, value in (("output_flag", False), ("presolve", "off"), ("solver", "simplex"), ("simplex_strategy", 1)):
        model.setOptionValue(option, value)
    for _ in range(loss.size):
        model.addVar(0.0, loss.cap)
    model.addVar(-highspy.kHighsInf, highspy.kHighsInf)
    model.changeColCost(loss.size, 1.0)
    model.addRow(1.0, 1.0, loss.size, np.arange(loss.size, dtype=np.int32), np.ones(loss.size))
    return model


def _from_scratch(columns: list[Array], loss: CappedMargin) -> Answer:
    m = loss.size
    A: Any = np.hstack([np.array(columns), -np.ones((len(columns), 1))])
    total: Any = sp.csr_array(np.append(np.ones(m), 0.0)[None, :])
    bounds: Any = [(0.0, loss.cap)] * m + [(None, None)]
    cost: Any = np.append(np.zeros(m), 1.0)
    from scipy.optimize import linprog  # slow to import, and only this master needs it

    found: Any = linprog(cost, A, np.zeros(len(columns)), total, [1.0], bounds, method="highs-ds")
    if not found.success:
        raise Unsolved(f"the linear program was not solved: {found.message}")
    return _answer(-np.asarray(found.ineqlin.marginals), found.x[:m], loss, int(found.nit))


def _answer(theta: Array, w: Array, loss: CappedMargin, steps: int) -> Answer:
    """Clipped to the feasible sets: solvers answer to a tolerance."""
    theta, w = np.maximum(theta, 0.0), np.clip(w, 0.0, loss.cap)
    return Answer(np.diag(theta / theta.sum()), w / w.sum(), steps)
