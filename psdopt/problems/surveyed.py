"""F at a matrix M once all rows have been read there: its value, its gradient as an array, and what is known to curve.

The rows need not be read again for a certificate of M, nor for the correction of a sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from psdopt.contracts.curvature import Curvature, added
from psdopt.contracts.gradient import GradientOperator, dense_gradient, is_remote
from psdopt.contracts.problem import Evaluation, LineModel, PlaneModel, Problem
from psdopt.linalg.arrays import Array
from psdopt.problems.composite import Composite
from psdopt.problems.distributed.sampled import Divided, Sampled
from psdopt.problems.term_sum import TermSum
from psdopt.terms.curvature import MOST_FLOPS, fourth_moment_curvature
from psdopt.terms.forms import MatrixForm
from psdopt.terms.quadratic import LinearTerm

#: Passes over all rows, 4 n² flops a row, that a bound on the curvature may cost.
PASSES = 4


class Surveyed(Evaluation):
    """F at M = Y Yᵀ, with S = ∇F(M) (n, n) in memory.

    Everything else is asked of the evaluation `full`, which reads all rows. `sampled` : F on a sample, at the same M,
    from whose rows a bound on the curvature of F follows; None if there is no sample. S is computed at its first use.
    In a checkpoint are Y, F(M), S and the curvature found.
    """

    def __init__(self, full: Evaluation, sampled: Evaluation | None = None) -> None:
        self.problem, self.factor = full.problem, full.factor
        self._full, self._sampled = full, sampled
        if is_remote(full.gradient) and not is_zero(full):
            _ = self.S  # in one round of requests, in which F comes along
        self._value = float(full.value)
        self._curved: list[Curvature] | None = None

    @property
    def full(self) -> Evaluation:
        """The evaluation on all rows; made again after a checkpoint."""
        if self._full is None:
            self._full = self.problem.at(self.factor)
        return self._full

    @property
    def value(self) -> float:
        return self._value

    @cached_property
    def S(self) -> Array:
        """∇F(M) (n, n); not to be changed."""
        return dense_gradient(self.full)

    @property
    def gradient(self) -> GradientOperator:
        def known(V: Array) -> Array | None:
            return 0.5 * self.factor_gradient() if V is self.factor else None

        return GradientOperator(self.problem.n, lambda V: self.S @ V, known, lambda: self.S.copy())

    @cached_property
    def _doubled(self) -> Array:
        return 2.0 * (self.S @ self.factor)

    def factor_gradient(self) -> Array:
        return self._doubled

    def curvatures(self, thorough: bool = False) -> Sequence[Curvature]:
        """Those of F that follow from the rows of the sample, whatever `thorough` is; without a sample those of F."""
        if self._curved is None:
            if self._sampled is None:
                return self.full.curvatures(thorough)
            others, directions, weights = self._sampled.curved_rows()
            n, m = self.problem.n, self.problem.items
            flops = max(MOST_FLOPS, PASSES * 4.0 * n * n * m)
            self._curved = added(others, self.problem.lower_curvature)
            self._curved += fourth_moment_curvature(directions, weights, flops)
        return self._curved

    def refresh(self) -> Surveyed:
        """The same: nothing here is a combination of earlier images."""
        return self

    def value_of_share(self, share: float) -> float:
        return self.full.value_of_share(share)

    def along(self, D: Array) -> LineModel:
        return self.full.along(D)

    def along_evaluation(self, D: Evaluation) -> LineModel:
        return self.full.along_evaluation(D)

    def along_atom(self, v: Array) -> PlaneModel:
        return self.full.along_atom(v)

    def mix(self, T: Array) -> Evaluation:
        return self.full.mix(T)

    def append(self, v: Array) -> Evaluation:
        return self.full.append(v)

    def joined(self, others: Sequence[Evaluation]) -> Evaluation:
        return self.full.joined(others)

    def hessian_vector(self, D: Array) -> Array:
        return self.full.hessian_vector(D)

    def preconditioner(self) -> Callable[[Array], Array]:
        return self.full.preconditioner()

    def corner(self) -> float:
        return self.full.corner()

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in vars(self).items() if name != "_doubled"}
        return {**kept, "_full": None, "_sampled": None}


def tilted(problem: Problem, C: Array) -> Problem:
    """M ↦ F(M) + ⟨C, M⟩ for a symmetric C (n, n), which stays in this process; a sum remains one of its kind."""
    pull = LinearTerm(MatrixForm(C), 1.0)
    if isinstance(problem, TermSum):
        return TermSum([*problem.terms, pull], problem.constant, problem.preconditioner)
    if isinstance(problem, Divided) and isinstance(problem.engine, Sampled):
        local = TermSum([pull]) if problem.local is None else Composite([problem.local, TermSum([pull])])
        return problem.of_samples(problem.engine, local)
    return Composite([problem, TermSum([pull])])


def scaled_start(evaluation: Evaluation) -> float:
    """alpha > 0 of least F(alpha M); 1 where that is 0 or infinite."""
    alpha = evaluation.best_multiple()
    return alpha if 0.0 < alpha < math.inf else 1.0


def is_zero(evaluation: Evaluation) -> bool:
    """Whether M = 0."""
    return not np.any(evaluation.factor)
