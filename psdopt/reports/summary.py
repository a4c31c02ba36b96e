"""Rows and tables common to all reports: how the run ended, its cost, how far from optimal M is."""

from __future__ import annotations

import math

from psdopt.contracts.abilities import Ability
from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.problem import Problem
from psdopt.reports.record import Table
from psdopt.reports.trace import CertificateTrace
from psdopt.running.result import Result


def result_rows(
    result: Result, trace: CertificateTrace | None = None, status: str | None = None, in_all: int | None = None
) -> list[tuple[str, str]]:
    """(label, text) pairs: status (or the text `status`), objective, rank, method and geometry, cost.

    `in_all` : iterations of all rounds, of which `result` is the last.
    """
    earlier = 0 if in_all is None else in_all - result.iterations
    trace = trace if result.iterations > 0 else None  # a trace belongs to the last run that made a step
    columns = result.matrix.factor.shape[1]
    wider = f" ({columns} columns)" if columns != result.rank else ""
    rows = [
        ("status", result.message if status is None else status),
        *([("tolerance", f"{result.tol:g}, relative{proof_text(result)}")] if math.isfinite(result.tol) else []),
        ("objective F(M)", f"{result.value:.10g}"),
        ("rank of M", f"{result.rank} of {result.matrix.n}{wider}"),
        ("method, geometry", f"{result.method}, {result.geometry}"),
        ("iterations", f"{result.iterations}" + (f" in the last round, {in_all} in all" if earlier > 0 else "")),
        ("time", _seconds(result.seconds, trace.seconds if trace is not None else 0.0)),
    ]
    applications = result.counts.get("operator_applications")
    if applications is not None:
        rows.append(("operator applications", f"{applications - (trace.applications if trace is not None else 0)}"))
    return rows


def residual_table(result: Result) -> Table | None:
    """The optimality certificate, each residual absolute and relative; None without a certificate.

    Where F(M) is not below F(0), there is no unit, and no residual has a relative size.
    """
    certificate = result.certificate
    if certificate is None:
        return None
    rows = [
        (label, f"{absolute:.3e}", "" if relative in (None, math.inf) else f"{relative:.3e}")
        for label, absolute, relative, *_ in certificate.rows()
    ]
    return Table("Optimality certificate, with S = ∇F(M)", ("residual", "absolute", "relative"), rows)


def proof_text(result: Result) -> str:
    """The rows of its certificate that prove an optimal `result`; "" for any other result."""
    certificate = result.certificate
    if certificate is None or not result.optimal or not math.isfinite(result.tol):
        return ""
    gap = certificate.gap_relative
    if gap is not None and gap <= result.tol:
        return "; proof: the duality gap below"
    return "; proof: the relative residuals below, each of them"


def closed_form_rows(result: Result, problem: Problem | None) -> tuple[list[tuple[str, str]], float | None]:
    """Rows comparing with the closed form's value, and that value; none if there is no closed form or the run used it.

    The closed form is the optimum without a rank limit. Costs O(n³) flops.
    """
    if problem is None or result.method == "EigenSplitting" or Ability.CLOSED_FORM not in problem.abilities:
        return [], None
    matrix: LowRankPSD | None = problem.solve_in_closed_form()
    if matrix is None:
        return [], None
    value = float(problem.at(matrix.factor).value)
    difference = result.value - value
    decrease = problem.value_at_zero() - value
    relative = f" ({abs(difference) / decrease:.1e} of the decrease from M = 0)" if decrease > 0.0 else ""
    return [("closed form F(M*)", f"{value:.10g}"), ("F(M) − F(M*)", f"{difference:.3e}{relative}")], value


def error_text(rate: float, samples: int) -> str:
    """An error rate in per cent, with the counts."""
    return f"{100.0 * rate:.2f} % ({round(rate * samples)} of {samples})"


def _seconds(total: float, aside: float) -> str:
    own = max(total - aside, 0.0)
    return f"{own:.3g} s" + (f" (and {aside:.2g} s for the certificates of the curve)" if aside >= 0.01 else "")
