"""Cone programs as solvers take them: min ½ xᵀPx + cᵀx, A x + s = b, s in a product of cones, proven by psdopt.

from psdopt.interop.conic import ConicProgram
answer = ConicProgram(c, A, b, {"zero": 2, "psd": [10, 10]}).solve(tol=1e-8)
answer.status, answer.x, answer.y, answer.value
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from psdopt.certificates.certificate import Certificate
from psdopt.checks import boolean, finite, integer, one_of
from psdopt.constraints.limits import FEASIBLE
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.interop._cone_ending import Ending
from psdopt.interop._cone_epigraph import forms_of
from psdopt.interop._cone_program import ConeProgram, lower_triangles
from psdopt.interop._cone_solve import Answer, solved_in_either
from psdopt.linalg.arrays import Array
from psdopt.running.result import Result, Status

__all__ = ["ConicAnswer", "ConicProgram"]

#: The cones, in the order of their rows.
CONES = ("zero", "nonneg", "second_order", "psd")


class ConicProgram:
    """min ½ xᵀPx + cᵀx with A x + s = b, s in a product of cones; the dual is c + P x + Aᵀy = 0, y in the dual cones.

    Rows come in the order of the cones: s = 0, s >= 0, second-order cones s_0 >= |s_1|, PSD blocks. A block of order k
    has the k (k + 1)/2 rows of its lower triangle, column by column, entries beside the diagonal times √2, so that
    products of rows are those of matrices. The dual cones are free, nonnegative, second-order and PSD.

    Parameters
    ----------
    c : (N,). A : (R, N), sparse or dense. b : (R,).
    cones : the sizes, a mapping with any of "zero" and "nonneg", numbers of rows, "second_order" and "psd", lists of
        dimensions and orders; R in all.
    P : (N, N) symmetric positive semidefinite, sparse or dense; None for a linear objective.

    Raises
    ------
    InvalidInputError for shapes that do not fit, numbers that are not finite and cones that are unknown;
    InvalidTypeError for what holds no numbers.
    """

    def __init__(self, c: Any, A: Any, b: Any, cones: Mapping[str, Any], P: Any = None) -> None:
        c, b = finite(c, "c"), finite(b, "b")
        if c.ndim != 1 or b.ndim != 1:
            raise InvalidInputError(f"c and b must be vectors; found shapes {c.shape} and {b.shape}")
        A = _matrix(A, "A", (len(b), len(c)))
        zero, nonneg, lengths, orders = _sizes(cones)
        rows = zero + nonneg + sum(lengths) + sum(k * (k + 1) // 2 for k in orders)
        if rows != len(b):
            raise InvalidInputError(f"cones must have {len(b)} rows in all, as b has; found {rows}")
        P = None if P is None else _matrix(P, "P", (len(c), len(c)))
        if P is not None and abs(P - P.T).sum() > 0.0:
            raise InvalidInputError("P must be symmetric; found P that differs from its transpose")
        self._onto = _rows(zero + nonneg, lengths, orders)
        held = tuple(int(k) for k in [*lengths, *orders])
        self._program = ConeProgram.from_rows(c, P, A, b, zero, nonneg, (self._onto, held))
        self._b, self._A = b, A

    def solve(self, *, form: str = "auto", verbose: bool = False, **options: Any) -> ConicAnswer:
        """The answer, with its proof.

        form : "primal" makes M of the PSD slacks, "dual" of their multipliers (linear objectives); "auto" takes the one
        with fewer constraints, then the other if that is not proven optimal. verbose : print a row for each step. tol,
        max_iterations, max_time, max_rank, rng : as in :func:`psdopt.solve`.
        """
        one_of(form, "form", ("auto", "primal", "dual"))
        unknown = sorted(set(options) - {"tol", "max_iterations", "max_time", "max_rank", "rng"})
        if unknown:
            raise InvalidTypeError(f"solve takes no argument {unknown[0]!r}")
        _, answer = solved_in_either(forms_of(self._program, form), dict(options), None, boolean(verbose, "verbose"))
        return self._answer(answer, options.get("tol", FEASIBLE))

    def _answer(self, answer: Answer, tol: float) -> ConicAnswer:
        x = y = s = None
        if answer.ending is None and answer.point is not None:
            x = answer.point.x
            y, s = np.asarray(self._onto.T @ answer.point.y), self._b - self._A @ x
        value = np.nan if x is None else self._program.value(x)
        status, message, proof = answer.status, answer.message, answer.proof
        if answer.ending is None and status in (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED):
            # said of the matrix problem, and proven or not of the program
            status = {"everywhere": Status.OPTIMAL, "within": Status.OPTIMAL_WITHIN}.get(
                answer.proven(tol), Status.NO_PROGRESS
            )
            message = message if status is Status.OPTIMAL else f"{status.value}; of the matrix problem: {message}"
        if answer.ending is Ending.INFEASIBLE:
            status, value = Status.INFEASIBLE, np.inf
            proof = None if proof is None else np.asarray(self._onto.T @ proof)
        elif answer.ending is Ending.UNBOUNDED:
            status, value = Status.UNBOUNDED, -np.inf
        return ConicAnswer(status, message, value, x, y, s, proof, answer.certificate, answer.result)

    def __repr__(self) -> str:
        p = self._program
        return f"ConicProgram(unknowns={len(p.c)}, zero={p.zero}, nonneg={p.nonneg}, matrices={list(p.psd)})"


@dataclass(frozen=True)
class ConicAnswer:
    """How a :class:`ConicProgram` ended.

    Attributes
    ----------
    status, message : as of :func:`psdopt.solve`; ``optimal`` is proven, and so are ``infeasible`` and ``unbounded``.
    value : ½ xᵀPx + cᵀx; inf of an infeasible program, −inf of an unbounded one. x (N,), y (R,) and s = b − A x (R,).
    proof : of an infeasible program y (R,) in the dual cones with Aᵀy = 0, bᵀy = −1, or None where a face of the cones
        shows it; of an unbounded one x (N,) with P x = 0, cᵀx = −1, −A x in the cones; else None.
    certificate, result : of psdopt's run on the matrix problem.
    """

    status: Status
    message: str
    value: float
    x: Array | None
    y: Array | None
    s: Array | None
    proof: Array | None
    certificate: Certificate | None
    result: Result | None

    @property
    def optimal(self) -> bool:
        """Whether gap and infeasibility are proven to the tolerance that was asked for."""
        return self.status is Status.OPTIMAL


def _matrix(given: Any, name: str, shape: tuple[int, int]) -> sp.csr_array:
    found = cast(Any, given).tocsr() if sp.issparse(given) else finite(given, name)
    finite(found.data if sp.issparse(given) else found, name)
    if found.shape != shape:
        raise InvalidInputError(f"{name} must have shape {shape}; found {found.shape}")
    return sp.csr_array(found, dtype=np.float64)


def _sizes(cones: Mapping[str, Any]) -> tuple[int, int, list[int], list[int]]:
    if not isinstance(cones, Mapping):
        raise InvalidTypeError(f"cones must be a mapping from names to sizes; found {type(cones).__name__}")
    unknown = sorted(set(cones) - set(CONES))
    if unknown:
        raise InvalidInputError(f"cones must be among {', '.join(CONES)}; found {unknown[0]!r}")
    zero, nonneg = (integer(cones.get(name, 0), f"cones[{name!r}]", least=0) for name in CONES[:2])
    lengths, orders = ([integer(k, f"cones[{name!r}]") for k in cones.get(name, ())] for name in CONES[2:])
    return zero, nonneg, lengths, orders


def _rows(first: int, lengths: list[int], orders: list[int]) -> sp.csr_array:
    """Takes the caller's rows to those of :class:`ConeProgram`, whose entries have no factor √2."""
    H: Any = lower_triangles(first, lengths, [])[0]
    for k in orders:
        column, row = np.triu_indices(k)
        H = sp.block_diag([H, sp.diags_array(np.where(row == column, 1.0, np.sqrt(0.5)))], format="csr")
    return sp.csr_array(H)
