"""Certificates of the answers that CVXPY problems hold: value, violations and a proven bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cvxpy import Maximize, settings

from psdopt.certificates.certificate import Certificate
from psdopt.interop._cone_bound import Bound, bounded
from psdopt.interop._cone_program import ConeProgram, lower_multipliers
from psdopt.interop._cvxpy_missing import completed_multipliers, completed_point
from psdopt.interop._cvxpy_values import (
    cone_program,
    constraint_rows,
    dense,
    point_of,
    row_multipliers,
    row_sizes,
    values_of,
)
from psdopt.linalg.arrays import Array

#: What the multipliers of a bound were, in words.
ORIGINS = {
    "answer": "the answer's own multipliers",
    "repaired": "the answer's multipliers, moved a little onto the dual's equations and into its cones",
    "psdopt": "psdopt's multipliers: those of the answer prove less",
    "program": "the constraints alone",
    "": "nothing",
}


@dataclass(frozen=True)
class AnswerCertificate:
    """What is proven of an answer to a CVXPY problem; :func:`certify` makes it. `print` shows it as a table.

    Attributes
    ----------
    value : the objective at the variables' values.
    bound : a proven bound on the optimal value: a lower one for Minimize, an upper one for Maximize. Infinite where
        nothing is proven, or, with the other sign, where no point is feasible.
    maximize : whether the objective is maximised.
    gap : |value − bound|; gap_relative : in psdopt's unit (:attr:`psdopt.Certificate.unit`) where the answer has one,
        else relative to max(|value|, |bound|).
    infeasibility : the largest relative violation of `violations`: (constraint or variable, absolute, relative). An
        absolute violation is the largest |entry| of a residual, −λ_min of a matrix that must be semidefinite; it is
        relative to the sum of the sizes of all terms in the row, or to the largest entry of a variable.
    dimacs : the DIMACS errors "primal", "dual", "gap" and "complementarity", as in
        :class:`psdopt.certificates.certificate.ConstraintRecord`.
    origin : which multipliers prove the bound: "answer", those of the answer alone; "repaired", those moved a little
        into the dual cones, on their own or by a share of at most a tenth of psdopt's own; "psdopt", psdopt's own;
        "program", none; "" without a bound.
    tol, message : the tolerance that was asked for, and what holds, in a sentence.
    certificate : psdopt's own, of the primal form of the program; None where the program's own numbers prove the bound.
    """

    value: float
    bound: float
    maximize: bool
    gap: float
    gap_relative: float
    infeasibility: float
    violations: tuple[tuple[str, float, float], ...]
    dimacs: dict[str, float]
    origin: str
    tol: float
    message: str
    certificate: Certificate | None = field(default=None, repr=False, compare=False)

    @property
    def optimal(self) -> bool:
        """Whether gap and infeasibility are proven to be at most `tol`, both relative."""
        return self.proves(self.tol)

    def proves(self, tol: float) -> bool:
        """Whether the answer is feasible to `tol` and its value within `tol` of the optimal one, both relative."""
        return self.gap_relative <= tol and self.infeasibility <= tol

    def rows(self) -> list[tuple[str, float]]:
        """(what, number) for a table."""
        side = "upper" if self.maximize else "lower"
        return [
            ("value", self.value),
            (f"proven {side} bound", self.bound),
            ("relative gap", self.gap_relative),
            ("infeasibility", self.infeasibility),
            *((f"  {name}", relative) for name, _, relative in self.violations if relative > self.tol),
            *((f"DIMACS {name}", error) for name, error in self.dimacs.items()),
        ]

    def __str__(self) -> str:
        rows = [(name, f"{number:.8g}" if "error" not in name else f"{number:.1e}") for name, number in self.rows()]
        width = max(len(name) for name, _ in rows)
        table = "\n".join(f"{name:{width}}  {number}" for name, number in rows)
        return f"{self.message}\nbound from {ORIGINS[self.origin]}\n{table}"


def certified(problem: Any, data: Any, inverse: Any, tol: float, own_run: bool) -> AnswerCertificate:
    """The certificate of the values that `problem` holds; `data` and `inverse` as `get_problem_data` gives them."""
    program, H, impossible = cone_program(data)
    x = completed_point(point_of(values_of(problem), data, inverse), data)
    sign = -1.0 if isinstance(problem.objective, Maximize) else 1.0
    offset = float(inverse[-1][settings.OFFSET])
    value = float(problem.objective.value)
    if impossible:
        bound = Bound(math.inf, "program", message="infeasible: an infinite bound excludes every number")
    else:
        dims = data["dims"]
        v = completed_multipliers(row_multipliers(problem, data, inverse), data, x)
        y = lower_multipliers(v, H, program.first_psd, dims.zero + dims.nonneg, dims.soc)
        bound = bounded(program, np.nan_to_num(x), y, sign * value - offset, tol, own_run)
    violations = (*_of_constraints(problem, data, inverse), *_of_variables(problem))
    proven = sign * (bound.value + offset)
    gap = abs(value - proven)
    sizes = [abs(each) for each in (value, proven) if math.isfinite(each)]
    unit = bound.unit if bound.unit > 0.0 else max(sizes, default=0.0)
    lost = 0.0 if bound.certificate is None else bound.certificate.rounding
    relative = 0.0 if gap <= lost else gap / unit if unit > 0.0 else math.inf
    worst = max((each for _, _, each in violations), default=0.0)
    return AnswerCertificate(
        value=value,
        bound=proven,
        maximize=sign < 0.0,
        gap=gap,
        gap_relative=relative,
        infeasibility=worst,
        violations=violations,
        dimacs=_dimacs(program, bound, value, proven, violations),
        origin=bound.origin,
        tol=tol,
        message=_message(bound, relative, worst, tol),
        certificate=bound.certificate,
    )


def _of_constraints(problem: Any, data: Any, inverse: Any) -> list[tuple[str, float, float]]:
    """(name, absolute, relative) of every constraint.

    A row whose terms are all of CVXPY's own unknowns, as |x| <= 0 has, counts as the largest entry in the constraint.
    """
    sizes, found = row_sizes(problem, data, inverse), []
    rows = {constraint.id: place for constraint, place in constraint_rows(problem, data, inverse)}
    for k, constraint in enumerate(problem.constraints):
        off = np.abs(np.ravel(constraint.residual, order="F"))
        scale = sizes[rows[constraint.id]] if constraint.id in rows else np.ones(1)
        largest = max((np.max(np.abs(dense(each.value)), initial=0.0) for each in constraint.variables()), default=0.0)
        scale = np.where(scale > 0.0, scale, largest)
        if len(scale) != len(off):  # one number for a cone
            off, scale = np.max(off, initial=0.0, keepdims=True), np.max(scale, initial=0.0, keepdims=True)
        found.append((f"constraint {k}: {constraint}", float(np.max(off, initial=0.0)), _largest_ratio(off, scale)))
    return found


def _of_variables(problem: Any) -> list[tuple[str, float, float]]:
    """The same of the variables whose attributes hold them to a set, such as `nonneg` and `PSD`."""
    found = []
    for variable in problem.variables():
        if any(each is not None and each is not False for each in variable.attributes.values()):
            value = dense(variable.value)
            apart = value - dense(variable.project(value))
            off = np.array([np.linalg.norm(apart, 2)]) if apart.ndim == 2 else np.abs(np.ravel(apart))
            size = np.full(len(off), np.max(np.abs(value), initial=0.0))
            found.append((f"variable {variable.name()}", float(np.max(off, initial=0.0)), _largest_ratio(off, size)))
    return found


def _largest_ratio(off: Array, scale: Array) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.max(np.where(off > 0.0, off / scale, 0.0), initial=0.0))


def _dimacs(program: ConeProgram, bound: Bound, value: float, proven: float, violations: Any) -> dict[str, float]:
    off = np.array([each for _, each, _ in violations])
    primal = float(np.linalg.norm(off)) / (1.0 + float(np.max(np.abs(program.b), initial=0.0)))
    gap = abs(value - proven) / (1.0 + abs(value) + abs(proven)) if math.isfinite(proven) else None
    own: dict[str, float] = {}
    if bound.certificate is not None and bound.certificate.constraints is not None:
        own = bound.certificate.constraints.dimacs
    elif bound.origin == "repaired" and gap is not None:  # these meet the dual's equations, so that yᵀs is the gap
        own = {"dual": 0.0, "complementarity": gap}
    found = {"primal": primal, "dual": own.get("dual"), "gap": gap, "complementarity": own.get("complementarity")}
    return {name: error for name, error in found.items() if error is not None}


def _message(bound: Bound, relative: float, infeasibility: float, tol: float) -> str:
    if bound.message:
        return f"not optimal: {bound.message}" if bound.value == math.inf else f"not proven: {bound.message}"
    if not math.isfinite(bound.value):
        return "not proven: the multipliers give no bound on the optimal value"
    wrong = [
        f"{what} is {found:.1e}" for what, found in (("relative gap", relative), ("infeasibility", infeasibility))
        if found > tol
    ]  # fmt: skip
    if wrong:
        return f"not optimal to {tol:g}: {' and '.join(wrong)}"
    return f"optimal: relative gap {relative:.1e} and infeasibility {infeasibility:.1e} are at most {tol:g}"
