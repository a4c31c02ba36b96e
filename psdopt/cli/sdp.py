"""``psdopt run sdp --data problem.dat-s``: solves a semidefinite program in SDPA's format."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from psdopt.certificates.certificate import Certificate, ConstraintRecord
from psdopt.cli.parameters import Settings
from psdopt.constraints import Constrained, read_sdpa
from psdopt.errors import InvalidInputError
from psdopt.plugins import Parameter, Spec
from psdopt.reports import Report, RunOptions
from psdopt.reports.summary import residual_table
from psdopt.running.plotting import plot_run
from psdopt.running.result import Status
from psdopt.running.solve import solve

#: The entry for ``psdopt run``: it has no estimator, because its data are not samples.
SPEC = Spec(
    "sdp",
    read_sdpa,
    "a semidefinite program in SDPA's format, with proofs",
    parameters=(Parameter("trace_bound", float, None, "tr M is at most this at a solution"),),
)


def sdp_report(path: str | None, settings: Settings, options: RunOptions) -> Report:
    """Read, solve, and say what is proven. In ``--output``: factor of X, y and Z = C + A*(y), all in psdopt's sign."""
    if path is None:
        raise InvalidInputError(f"{SPEC.name} needs --data FILE, a program in SDPA's format (.dat-s or .dat)")
    problem = read_sdpa(path, **settings.values("application", SPEC))
    chosen = options.solver_options(problem.n)
    tol = chosen.pop("tol", 1e-6)
    result = solve(problem, **chosen, tol=tol)
    certificate = result.certificate
    rows = [
        ("problem", f"{Path(path).name}: m = {problem.m}, n = {problem.n}, {_blocks(problem)}"),
        ("status", result.message),
        ("value", f"{result.value:.10g} (SDPA's sign: {-result.value:.10g})"),
        ("method", f"{result.method} over {result.geometry}"),
        ("effort", f"{result.iterations} iterations, {result.seconds:.3g} s"),
    ]
    arrays: dict[str, Any] = {}
    if certificate is not None and certificate.constraints is not None:
        rows[3:3] = _proven(certificate, certificate.constraints)
        arrays = _arrays(problem, certificate.constraints)
    residuals = residual_table(result)
    tables = () if residuals is None else (residuals,)
    decided = result.converged or result.status in (Status.INFEASIBLE, Status.UNBOUNDED)
    title = f"Semidefinite program {Path(path).name}"
    return Report(title, rows, result, decided, tables, partial(plot_run, result, tol=tol, title=title), arrays)


def _blocks(problem: Constrained) -> str:
    sizes = [] if problem.conic is None else [len(rows) for rows in problem.conic.blocks]
    single = sum(size == 1 for size in sizes)
    return f"{len(sizes) - single} blocks of order up to {max(sizes, default=0)} and {single} of order 1"


def _proven(certificate: Certificate, known: ConstraintRecord) -> list[tuple[str, str]]:
    if certificate.infeasible:
        return [("proof", "multipliers y with A*(y) PSD and sigma(y) < 0: no PSD matrix meets the constraints")]
    if certificate.unbounded:
        return [("proof", "a ray R R^T along which no constraint ends and the objective falls")]
    if certificate.dual_value is None:
        return [("bound", "none: S is not proven PSD and no bound on tr M is known; --set trace_bound= names one")]
    tau = known.trace_bound
    where = "" if tau is None else f", with tr M <= {tau:.6g} ({known.trace_source})"
    return [("proven bound", f"{certificate.dual_value:.10g}{where}")]


def _arrays(problem: Constrained, known: ConstraintRecord) -> dict[str, Any]:
    arrays: dict[str, Any] = {"y": known.multipliers}
    if problem.conic is not None:
        Z = problem.conic.slack(known.multipliers).tocoo()
        arrays |= {"Z_row": Z.coords[0], "Z_column": Z.coords[1], "Z_value": Z.data, "Z_order": np.array(problem.n)}
    for name in ("infeasibility_proof", "ray"):
        proof = getattr(known, name)
        if proof is not None:
            arrays[name] = proof
    return arrays
