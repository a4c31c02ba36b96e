"""Quadratic objectives as second-order cones: ½ |V x|² <= t exactly where |(√2 V x, t − 1)| <= t + 1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from psdopt.contracts.abilities import Ability
from psdopt.errors import InvalidInputError
from psdopt.interop._cone_forms import DualForm, Point, PrimalForm
from psdopt.interop._cone_hermitian import twins
from psdopt.interop._cone_objective import square_root
from psdopt.interop._cone_program import ConeProgram
from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import FACTOR_ORDER


def epigraph(program: ConeProgram, V: sp.csr_array) -> ConeProgram:
    """The program in (x, t) with the objective cᵀx + t and, for P = VᵀV with V (q, N), one more block of order q + 2.

    The block is in arrow form: t + 1 on its diagonal, √2 V x and t − 1 beside it.
    """
    q = V.shape[0]
    column, row = np.triu_indices(q + 2)
    own, last, beside = row == column, (column == 0) & (row == q + 1), (column == 0) & (row > 0) & (row <= q)
    onto = sp.csr_array((np.ones(q), (np.flatnonzero(beside), row[beside] - 1)), shape=(len(row), q))
    sides = [-np.sqrt(2.0) * (onto @ V), sp.csr_array(-np.where(own | last, 1.0, 0.0)[:, None])]
    above = [program.A, sp.csr_array((len(program.b), 1))]
    A = sp.csr_array(sp.vstack([sp.hstack(above), sp.hstack(sides)], format="csr"))
    b = np.concatenate([program.b, np.where(own, 1.0, np.where(last, -1.0, 0.0))])
    c = np.append(program.c, 1.0)
    return ConeProgram(c, None, A, b, program.zero, program.nonneg, (*program.psd, q + 2), program.log_dets)


class EpigraphForm(DualForm):
    """:class:`DualForm` of the :func:`epigraph` of a program with a quadratic objective.

    Multipliers of the program's own rows are those of the epigraph: c + P x + Aᵀy is zero as far as the solution is
    optimal. A proof that the epigraph is empty has no multipliers u of √2 V x, and without those of t + 1 and t − 1, of
    which bᵀy has the sum, the rest still proves it.
    """

    def __init__(self, program: ConeProgram) -> None:
        assert program.P is not None
        self.original, self.V = program, square_root(program.P)
        super().__init__(epigraph(program, self.V))

    def own_point(self, point: Point) -> Point:
        """x and y of the program itself."""
        return Point(point.x[: len(self.original.c)], point.y[: len(self.original.b)])

    def own_proof(self, proof: Array) -> Array:
        """The y of an answer for the program itself."""
        y = proof[: len(self.original.b)]
        return np.asarray(y / -(self.original.b @ y))

    def own_ray(self, proof: Array) -> Array:
        """The x of a ray, moved to P x = 0: in the epigraph P x is as small as the root of a rounding."""
        x = proof[: len(self.original.c)]
        return np.asarray(x - self.V.T @ ((self.V @ x) / (self.V * self.V).sum(axis=1)))


def forms_of(program: ConeProgram, which: str = "auto") -> Iterator[PrimalForm | DualForm]:
    """The forms that suit the program, that of fewer constraints first; or the one given by name: "primal" or "dual".

    A quadratic objective has the dual form of its epigraph, which comes first unless the objective is a distance that
    :class:`~psdopt.DualNewton` takes, or the epigraph is too large. Forms are made when they are asked for. Raises
    InvalidInputError for the dual form of a quadratic or constant objective, or of equations that cannot be solved for
    unknowns.
    """
    if which == "primal":
        yield PrimalForm(program)
    elif program.P is not None and which == "auto":
        yield from _of_quadratic(program)
    elif which == "dual":
        dual = DualForm(program)
        if not dual.suits:
            raise InvalidInputError("form must be 'primal' or 'auto' for this problem; found 'dual'")
        yield dual
    else:
        yield from _of_linear(program)


def _of_linear(program: ConeProgram) -> Iterator[PrimalForm | DualForm]:
    # an unknown saves the primal form at most one row, an equation the dual form at most one unknown
    alike = twins(program)
    rows, unknowns = len(program.b) - len(program.c), len(program.c) - program.zero
    rows -= 0 if alike is None else int(np.sum(alike.repeated))
    primal = PrimalForm(program) if rows <= unknowns else None
    # log dets with no constraint at all are for the dual form, which always has some
    some = primal is not None and (primal.m > 0 or not program.log_dets)
    if primal is not None and some and primal.m <= unknowns:
        yield primal
        dual = DualForm(program)
        if dual.suits:
            yield dual
        return
    dual = DualForm(program)
    if dual.suits and rows > dual.m:
        yield dual
        yield primal or PrimalForm(program)
        return
    primal = primal or PrimalForm(program)
    first = not dual.suits or (primal.m <= dual.m and (primal.m > 0 or not program.log_dets))
    yield from ((primal, dual) if dual.suits else (primal,)) if first else (dual, primal)


def _of_quadratic(program: ConeProgram) -> Iterator[PrimalForm | DualForm]:
    primal = PrimalForm(program)
    near = primal.contradiction is not None or Ability.NEAREST in primal.problem().abilities
    raised = EpigraphForm(program) if len(program.c) <= FACTOR_ORDER else None
    if raised is None or not raised.suits:
        yield primal
    else:
        yield from (primal, raised) if near else (raised, primal)
