"""Constraints in multiplier form, for linear systems in the factor and the multipliers together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psdopt.constraints.central_path.couplings import Couplings
from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.problem import Evaluation
from psdopt.linalg.arrays import Array, scaled
from psdopt.linalg.ridged import ridged_solver


class ModelFit:
    """:class:`~psdopt.contracts.ConstrainedFit` of a problem whose A_t are known by their entries."""

    def __init__(self, problem: ConstrainedModel) -> None:
        self.forms = problem.forms
        self.problem = problem
        self.norms = np.where(problem.norms > 0.0, problem.norms, 1.0)
        self._last: tuple[NDArray[np.intp], Couplings] | None = None

    @property
    def held(self) -> NDArray[np.intp]:
        """Constraints that every M of the face meets: they have no rows in the system."""
        face, empty = self.problem.face, np.flatnonzero(self.problem.norms == 0.0)
        return empty if face is None else np.union1d(face.rows, empty)

    def tied(self, evaluation: Evaluation, rows: NDArray[np.intp]) -> Tied:
        return Tied(self, rows)

    def coupled(self, rows: NDArray[np.intp]) -> Couplings:
        """The couplings of the A_t / |A_t| of `rows`. The result of the last call is kept."""
        if self._last is None or not np.array_equal(self._last[0], rows):
            forms = self.forms
            assert forms is not None  # the ability constrained-fit is declared only with entries
            B = scaled(forms.B[rows], 1.0 / self.norms[rows])
            self._last = rows, Couplings(forms.i, forms.j, B, forms.n)
        return self._last[1]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_last": None}


class Tied:
    """The constraints `rows`, each held to a bound."""

    def __init__(self, fit: ModelFit, rows: NDArray[np.intp]) -> None:
        self.fit, self.rows = fit, rows

    def solver(self, P: Array, Q: Array, work: Array, *more: tuple[Array, Array]) -> Callable[[Array], Array]:
        """The system with rows of norm one and a ridge for redundant rows. m³/3 flops and the products A_s P A_t Q.

        With `more` pairs (P, Q) that of the sum of their products.
        """
        if len(self.rows) == 0:
            return lambda q: q
        scale = 1.0 / self.fit.norms[self.rows]
        work[:] = 0.0
        for k, pair in enumerate(((P, Q), *more)):
            self.fit.coupled(self.rows).add(work, *pair, fresh=k == 0)
        solve = ridged_solver(work)
        return lambda q: scale * solve(scale * q)
