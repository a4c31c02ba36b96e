"""Broken splits of 1/(2m) Σ (x_tᵀ M x_t − y_t)² + tr(M²)/2 into parts of the samples, with one sin each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from psdopt.contracts.problem import Evaluation, PlaneModel, Problem
from psdopt.linalg.arrays import Array
from psdopt.problems import QuadraticSDP, TermSum
from psdopt.problems.distributed import Here
from psdopt.problems.distributed.engine import Question
from psdopt.problems.distributed.totals import Total
from psdopt.problems.term_models import TermEvaluation
from psdopt.terms.losses import LeastSquares
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import QuadraticForms
from psdopt.testing.splits import Items, Split

N, M = 4, 14
_RNG = np.random.default_rng(11)
X = _RNG.standard_normal((M, N))
Y = _RNG.uniform(0.0, 5.0, M)


def _fit(rows: Array, y: Array) -> TermSum:
    return TermSum([MeasuredTerm(QuadraticForms(rows), LeastSquares(y), 0.5 / M)])


class _Split(Split):
    """Healthy base: the regulariser is local."""

    rejected_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        regulariser = QuadraticSDP(B=1.0, n=N)
        whole = TermSum([*_fit(X, Y).terms, *regulariser.terms])
        super().__init__(whole, self.made, M, regulariser)

    def made(self, items: Items) -> Problem | None:
        return _fit(X[items], Y[items]) if len(items) else None


_ALL = (
    "split.value",
    "split.gradient",
    "split.line",
    "split.plane",
    "split.moves",
    "split.hessian",
    "split.certificate",
)


class ForgottenCrossTerm(_Split):
    """½ tr((XᵀX M)²) is taken for the sum of ½ tr((X_kᵀX_k M)²): products of different parts are missing."""

    rejected_by = _ALL

    def __init__(self) -> None:
        Split.__init__(self, QuadraticSDP(A=X.T @ X), self.made, M)

    def made(self, items: Items) -> Problem | None:
        return QuadraticSDP(A=X[items].T @ X[items]) if len(items) else None


class CountedTwice(_Split):
    """Parts overlap: each begins with the last item of the one before."""

    rejected_by = _ALL

    def summed(self, partition: Sequence[Items]) -> Problem:
        full = [items for items in partition if len(items)]
        ahead = [np.concatenate([before[-1:], after]) for before, after in itertools.pairwise(full)]
        return super().summed([full[0], *ahead])


class RegulariserInEveryPart(_Split):
    """The regulariser is added in every part, and not once."""

    rejected_by = _ALL
    regulariser: QuadraticSDP

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "regulariser", self.local)
        object.__setattr__(self, "local", None)

    def made(self, items: Items) -> Problem | None:
        regulariser = self.regulariser
        return TermSum([*_fit(X[items], Y[items]).terms, *regulariser.terms]) if len(items) else regulariser


class _Dropping(Here):
    """Sums without their last part, which is counted."""

    def total(self, question: Question) -> Total:
        (*most, _), name, arguments, dropped = question
        found = super().total((most, name, arguments, dropped))
        if not most:
            return super().total(question)
        return found._replace(parts=found.parts + 1)


class DroppedPart(_Split):
    """The engine's sums lack a part."""

    rejected_by = (*_ALL, "split.totals")

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "engine", _Dropping)


class _Unnamed(Here):
    """Sums whose parts that lack a point are counted as if they had answered."""

    def total(self, question: Question) -> Total:
        return super().total(question)._replace(parts=len(question[0]), forgotten={})


class UnnamedParts(_Split):
    """The engine does not name parts that were made again and lack what they are asked about."""

    rejected_by = ("split.totals",)

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "engine", _Unnamed)


class SharedRows(_Split):
    """Making a part takes the mean off the rows that all parts share."""

    rejected_by = (*_ALL, "split.parts_apart")
    rows: Array

    def __init__(self) -> None:
        object.__setattr__(self, "rows", X.copy())
        super().__init__()

    def made(self, items: Items) -> Problem | None:
        self.rows[:] -= 0.01 * self.rows.mean(axis=0)
        return _fit(self.rows[items], Y[items]) if len(items) else None


class _Through(TermSum):
    """A fit that hands its evaluations on, changed by a subclass."""

    def at(self, Y: Array) -> TermEvaluation:
        return _changed(super().at(Y), self)

    def change(self, evaluation: Any, original: Evaluation) -> None:
        raise NotImplementedError


def _changed(evaluation: TermEvaluation, problem: _Through) -> TermEvaluation:
    cls = type(evaluation)
    twin: Any = object.__new__(type("Twin", (cls,), {}))
    twin.__dict__.update(vars(evaluation))
    problem.change(twin, evaluation)
    return twin  # type: ignore[no-any-return]


class HessianHalf(_Split):
    """The Hessian products of the parts are half as large."""

    rejected_by = ("split.hessian",)

    def made(self, items: Items) -> Problem | None:
        return _HessianHalf(_fit(X[items], Y[items]).terms) if len(items) else None


class _HessianHalf(_Through):
    def change(self, evaluation: Any, original: Evaluation) -> None:
        evaluation.hessian_vector = lambda D: 0.5 * original.hessian_vector(D)


class PlanesTurned(_Split):
    """The planes of the parts have alpha in the place of beta."""

    rejected_by = ("split.plane",)

    def made(self, items: Items) -> Problem | None:
        return _PlanesTurned(_fit(X[items], Y[items]).terms) if len(items) else None


class _PlanesTurned(_Through):
    def change(self, evaluation: Any, original: Evaluation) -> None:
        def turned(v: Array) -> PlaneModel:
            model: Any = original.along_atom(v)
            c, g, H = model.quadratic
            model.quadratic = c, g[::-1].copy(), H[::-1, ::-1].copy()
            return model  # type: ignore[no-any-return]

        evaluation.along_atom = turned


class LinesShort(_Split):
    """The lines of the parts have no term of fourth order."""

    rejected_by = ("split.line",)

    def made(self, items: Items) -> Problem | None:
        return _LinesShort(_fit(X[items], Y[items]).terms) if len(items) else None


class _LinesShort(_Through):
    def change(self, evaluation: Any, original: Evaluation) -> None:
        def short(D: Array) -> Any:
            model: Any = original.along(D)
            model.coefficients = [*model.coefficients[:4], 0.0]
            return model

        evaluation.along = short


class AppendsOne(_Split):
    """Where several columns are appended, the parts forget all but the first."""

    rejected_by = ("split.moves",)

    def made(self, items: Items) -> Problem | None:
        return _AppendsOne(_fit(X[items], Y[items]).terms) if len(items) else None


class _AppendsOne(_Through):
    def change(self, evaluation: Any, original: Evaluation) -> None:
        evaluation.append = lambda V: original.append(np.hstack([V[:, :1], 0.0 * V[:, 1:]]))


class ClaimsCurvature(_Split):
    """The parts claim a strong convexity that F does not have, so that the certificate proves too much."""

    rejected_by = ("split.certificate",)

    def made(self, items: Items) -> Problem | None:
        part = _fit(X[items], Y[items]) if len(items) else None
        if part is not None:
            part.lower_curvature = 1e6
        return part


class RemembersPoints(_Split):
    """Parts scale their gradient by the number of evaluations that all of them have seen."""

    rejected_by = ("split.gradient", "split.parts_apart", "split.certificate")
    seen: list[int]

    def __init__(self) -> None:
        object.__setattr__(self, "seen", [0])
        super().__init__()

    def made(self, items: Items) -> Problem | None:
        part = _RemembersPoints(_fit(X[items], Y[items]).terms) if len(items) else None
        if part is not None:
            part.seen = self.seen
        return part


class _RemembersPoints(_Through):
    seen: list[int]

    def change(self, evaluation: Any, original: Evaluation) -> None:
        self.seen[0] += 1
        factor = 1.0 + 0.01 * self.seen[0]
        type(evaluation).gradient = property(lambda _: factor * original.gradient)


ALL: tuple[type[Any], ...] = (
    ForgottenCrossTerm,
    CountedTwice,
    DroppedPart,
    UnnamedParts,
    RegulariserInEveryPart,
    SharedRows,
    HessianHalf,
    PlanesTurned,
    LinesShort,
    AppendsOne,
    ClaimsCurvature,
    RemembersPoints,
)
