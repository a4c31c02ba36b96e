"""Broken splits, margins, streams and dual bounds: what some methods and certificates need, with one sin each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from psdopt.contracts.gradient import GradientOperator
from psdopt.contracts.problem import Evaluation
from psdopt.contracts.roles import Duality
from psdopt.data.streams import ArrayStream, Batch
from psdopt.linalg.arrays import Array, inner, row_dots
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.row_updates import RowUpdates
from psdopt.margins import MarginProblem, MeasuredMargins
from psdopt.margins.problem import MarginDuality
from psdopt.problems import QuadraticSDP, TermSum
from psdopt.problems.entry_fit import EntryFit
from psdopt.problems.entry_split import EntrySplit, coupling_bound
from psdopt.problems.streamed import Streamed
from psdopt.problems.term_models import TermEvaluation
from psdopt.terms.losses import LeastSquares
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import PairDistances, QuadraticForms
from psdopt.testing.gallery import forms_gradient, with_spectrum

N = 4


class _Entries(EntryFit):
    """Healthy base: entries of an indefinite target, and a linear term."""

    rejected_by: ClassVar[tuple[str, ...]] = ()
    broken: ClassVar[type[EntrySplit]] = EntrySplit

    def __init__(self) -> None:
        i, j = np.triu_indices(N)
        T = with_spectrum(np.linspace(-1.0, 2.0, N), 4)
        super().__init__(with_spectrum(np.linspace(0.1, 0.5, N), 5), i, j, T[i, j])

    def split(self) -> EntrySplit:
        return self.broken(self, self.L, self._updates, coupling_bound(self.L))


class _Twice(EntrySplit):
    def update(self, U: Array, LU: Array, anchor: Array, rho: float) -> Array:
        return super().update(U, 2.0 * LU, anchor, rho)

    def value(self, V: Array, U: Array, LU: Array) -> float:
        return super().value(V, U, 2.0 * LU)


class _Modest(EntrySplit):
    def __init__(self, problem: EntryFit, L: LinearMap | None, updates: RowUpdates, bound: float) -> None:
        super().__init__(problem, L, updates, 0.1 * bound)


class _Halfway(EntrySplit):
    def update(self, U: Array, LU: Array, anchor: Array, rho: float) -> Array:
        return 0.5 * (anchor + super().update(U, LU, anchor, rho))


class SplitCountsTwice(_Entries):
    """The split counts the coupling of the blocks twice, in its value and its updates."""

    rejected_by = ("problem.split_function",)
    broken = _Twice


class ModestBound(_Entries):
    """The bound on the coupling is a tenth of what it is to bound, so penalties are chosen too small."""

    rejected_by = ("problem.split_function",)
    broken = _Modest


class UpdatesHalfway(_Entries):
    """The block update stops half-way between the anchor and the minimiser."""

    rejected_by = ("problem.split_update",)
    broken = _Halfway


class ForgottenEntries(_Entries):
    """The array of S lacks the linear term, which products with S have: a certificate would look at another matrix."""

    rejected_by = (
        "problem.smallest_eigenpair",
        "problem.gradient_operator",
    )

    def at(self, Y: Array) -> TermEvaluation:
        evaluation = super().at(Y)
        right, L = evaluation._gradient_entries, with_spectrum(np.linspace(0.1, 0.5, N), 5)
        evaluation._gradient_entries = lambda: np.asarray(right()) - L  # type: ignore[method-assign]
        return evaluation


class _Margins(MarginProblem):
    """Healthy base: soft margins of pair distances."""

    rejected_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        X = np.random.default_rng(3).standard_normal((12, N))
        super().__init__(PairDistances(np.arange(8), np.arange(4, 12), X), C=0.3)


class _Priced(MeasuredMargins):
    """Margins whose operator of given weights has the wrong sign."""

    def combination(self, w: Array) -> GradientOperator:
        return super().combination(-w)


class MarginSign(_Margins):
    """The operator of given weights has the wrong sign, so that columns are priced upside down."""

    rejected_by = ("problem.margins_dual", "problem.subgradient_bound")

    def __init__(self) -> None:
        super().__init__()
        self._margins = _Priced(self.measurement, self.loss.cap)


class BelievesTheDual(_Margins):
    """A subgradient built from weights that were handed in is called exact, whatever they are."""

    rejected_by = ("problem.subgradient_bound",)

    @property
    def duality(self) -> MarginDuality:
        return _Believing(self)


class _Believing(MarginDuality):
    def subgradient(self, evaluation: Evaluation, dual: Any = None) -> tuple[GradientOperator, float]:
        return super().subgradient(evaluation, dual)[0], 0.0


class GreedyWeights(_Margins):
    """All weight goes to the least margin, beyond the cap that C sets."""

    rejected_by = ("problem.subgradient_bound",)

    def dual_weights(self, evaluation: Evaluation) -> Array:
        a = self.margins().values(evaluation)
        return np.asarray(np.arange(len(a)) == np.argmin(a), dtype=np.float64)


class _Stream(Streamed):
    """Healthy base: squared errors of quadratic forms, batch by batch."""

    rejected_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        rows = np.random.default_rng(4).standard_normal((40, N))
        y = row_dots(rows, rows)
        held_out = TermSum([MeasuredTerm(QuadraticForms(rows), LeastSquares(y), 0.5 / len(y))])
        super().__init__(self.stream_of(rows, y), held_out, forms_gradient)

    def stream_of(self, rows: Array, y: Array) -> ArrayStream:
        return ArrayStream(rows, y)


class BatchSum(_Stream):
    """The gradient of a batch is that of a sum, where the loss is a mean."""

    rejected_by = ("problem.batch_gradient",)

    def batch_gradient(self, batch: Batch, Y: Array) -> tuple[Array, float]:
        SY, loss = super().batch_gradient(batch, Y)
        return len(batch.targets) * SY, loss


class _Reshuffled(ArrayStream):
    def batches(self, batch_size: int, start: int = 0) -> Iterator[Batch]:
        self.seed += start
        return super().batches(batch_size, start)


class ForgetsItsPlace(_Stream):
    """Reading on begins in a new random order, so that a resumed run sees other batches."""

    rejected_by = ("problem.stream_repeats",)

    def stream_of(self, rows: Array, y: Array) -> ArrayStream:
        return _Reshuffled(rows, y)


class _Sums(TermSum):
    """Healthy base: squared errors of quadratic forms, of which a share can be drawn."""

    rejected_by: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        rows = np.random.default_rng(6).standard_normal((30, N))
        super().__init__([MeasuredTerm(QuadraticForms(rows), LeastSquares(row_dots(rows, rows)), 0.5 / len(rows))])

    def some(self, chosen: Any, weight: float) -> TermSum:
        term: Any = self.terms[0]
        return TermSum([MeasuredTerm(term.measurement.part(chosen), term.loss.part(chosen), weight * term.weight)])


class SampleUnscaled(_Sums):
    """A sample of a third of the rows is a third as large as F."""

    rejected_by = ("problem.sample_is_unbiased",)

    def sample(self, share: float, rng: np.random.Generator) -> TermSum:
        super().sample(share, rng)
        return self.some(rng.choice(30, max(1, int(30 * share)), replace=False), 1.0)


class SampleOfTheFirst(_Sums):
    """A sample has the first rows, whatever the generator."""

    rejected_by = ("problem.sample_is_unbiased",)

    def sample(self, share: float, rng: np.random.Generator) -> TermSum:
        super().sample(share, rng)
        count = max(1, int(30 * share))
        return self.some(np.arange(count), 30 / count)


class SampleDrawnTwice(_Sums):
    """Rows are drawn with replacement, so that all of them are not F."""

    rejected_by = ("problem.sample_of_all",)

    def sample(self, share: float, rng: np.random.Generator) -> TermSum:
        super().sample(share, rng)
        count = max(1, int(30 * share))
        return self.some(rng.integers(30, size=count), 30 / count)


class SampleUndeclared(QuadraticSDP):
    """Hands itself out as a sample, without declaring that it has rows."""

    rejected_by: ClassVar[tuple[str, ...]] = ("problem.sample_refused",)

    def __init__(self) -> None:
        super().__init__(None, 1.0, with_spectrum(np.linspace(-2.0, 1.0, N), 2))

    def sample(self, share: float, rng: np.random.Generator) -> QuadraticSDP:
        return self


class BoundAtAnyPrice(QuadraticSDP):
    """F(M) − ⟨S, M⟩ as a bound everywhere: it is one where S ⪰ 0 only, which nobody looks at."""

    rejected_by: ClassVar[tuple[str, ...]] = ("problem.dual_bound",)

    def __init__(self) -> None:
        super().__init__(None, 1.0, with_spectrum(np.linspace(-2.0, 1.0, N), 2))

    @property
    def duality(self) -> Duality:
        return _AtAnyPrice()


class _AtAnyPrice(Duality):
    def dual_bound(self, evaluation: Evaluation, dual: Any = None) -> float | None:
        return float(evaluation.value) - 0.5 * inner(evaluation.factor_gradient(), evaluation.factor)


ALL: tuple[type[Any], ...] = (
    SplitCountsTwice,
    ModestBound,
    UpdatesHalfway,
    ForgottenEntries,
    MarginSign,
    BelievesTheDual,
    GreedyWeights,
    BatchSum,
    ForgetsItsPlace,
    BoundAtAnyPrice,
    SampleUnscaled,
    SampleOfTheFirst,
    SampleDrawnTwice,
    SampleUndeclared,
)
