"""Peers on semidefinite programs: SCS, Clarabel (through cvxpy), SDPA (sdpa-python), pymanopt, and spheres."""

from __future__ import annotations

import math
import multiprocessing
import os
import resource
import signal
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.papers.sdp_spheres import spheres
from psdopt import Constrained
from psdopt.errors import InvalidInputError


@dataclass(frozen=True)
class Answer:
    """Value, |A(M) − b| / (1 + |b|) and status as a peer has them; `seconds` of the processor for the solve alone."""

    value: float
    infeasibility: float
    status: str
    seconds: float


def through_cvxpy(solver: str, problem: Constrained, tol: float) -> Answer:
    """A fresh model, so that nothing starts warm; what cvxpy does before the solver is called is not in the seconds."""
    cp: Any = import_module("cvxpy")
    conic, n = _conic(problem), problem.n
    X = cp.Variable((n, n), PSD=True)
    forms = conic.forms
    C = conic.C.tocoo()
    entries = cp.vec(X, order="C")
    objective = C.data @ entries[C.coords[0] * n + C.coords[1]]
    model = cp.Problem(cp.Minimize(objective), [forms.B @ entries[forms.i * n + forms.j] == problem.lower])
    options: dict[str, Any] = {"SCS": {"eps": tol, "max_iters": 1_000_000}}.get(solver, {})
    data, chain, inverse = model.get_problem_data(solver, solver_opts=options)
    start = time.process_time()
    raw = chain.solve_via_data(model, data, warm_start=False, verbose=False, solver_opts=options)
    seconds = time.process_time() - start
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the status says it
        model.unpack_results(raw, chain, inverse)
    M = X.value
    off = math.nan if M is None else _infeasibility(problem, forms.B @ M[forms.i, forms.j])
    return Answer(float(model.value), off, str(model.status), seconds)


def sdpa(problem: Constrained, tol: float) -> Answer:
    """SDPA on the file of the problem, in SDPA's own form; its seconds are those of the solver."""
    sdpap: Any = import_module("sdpap")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.dat-s"
        write_sdpa(problem, path)
        A, b, c, K, J = sdpap.importsdpa(str(path))
    option = {"print": "no", "epsilonStar": 0.1 * tol, "epsilonDash": 0.1 * tol, "numThreads": 1}
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its check of errors after the solve complains of small matrices
        _, _, info, _, _ = sdpap.solve(A, b, c, K, J, option)
    seconds = time.process_time() - start
    # SDPA's (D) is the problem with its sign changed; its own errors may be None, where numpy fails to check them
    off = info["dualError"]
    return Answer(float(info["primalObj"]), math.nan if off is None else float(off), str(info["phasevalue"]), seconds)


def oblique(problem: Constrained, tol: float) -> Answer:
    """Trust regions over factors with rows of length one, of the width that leaves no bad local minimum; no proof."""
    import pymanopt
    from pymanopt.manifolds import Oblique
    from pymanopt.optimizers import TrustRegions

    n, C = problem.n, _conic(problem).C
    r = math.ceil(math.sqrt(2 * n)) + 1
    manifold = Oblique(r, n)  # columns of length one
    V0 = np.random.default_rng(0).standard_normal((r, n))
    V0 /= np.linalg.norm(V0, axis=0)

    @pymanopt.function.numpy(manifold)
    def cost(V: Any) -> float:
        return float(np.vdot(V, (C @ V.T).T))

    @pymanopt.function.numpy(manifold)
    def gradient(V: Any) -> Any:
        return 2.0 * (C @ V.T).T

    @pymanopt.function.numpy(manifold)
    def hessian(V: Any, D: Any) -> Any:
        return 2.0 * (C @ D.T).T

    model = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient, euclidean_hessian=hessian)
    start = time.process_time()
    optimizer = TrustRegions(verbosity=0, min_gradient_norm=tol * abs(cost(V0)) / math.sqrt(n), max_time=math.inf)
    found = optimizer.run(model, initial_point=V0)
    seconds = time.process_time() - start
    return Answer(float(found.cost), 0.0, "stationary", seconds)


def on_spheres(problem: Constrained, tol: float) -> Answer:
    """:func:`benchmarks.papers.sdp_spheres.spheres`, its proof included."""
    C = _conic(problem).C
    start = time.process_time()
    value, gap = spheres(C, tol)
    seconds = time.process_time() - start
    return Answer(value, 0.0, "optimal" if gap < math.inf else "no proof", seconds)


PEERS: dict[str, tuple[str, Callable[[Constrained, float], Answer]]] = {
    "SCS": ("cvxpy", partial(through_cvxpy, "SCS")),
    "Clarabel": ("cvxpy", partial(through_cvxpy, "CLARABEL")),
    "SDPA": ("sdpap", sdpa),
    "pymanopt": ("pymanopt", oblique),
    "spheres": ("numpy", on_spheres),
}


def fits(peer: str, problem: Constrained) -> bool:
    """Whether the peer is installed, and takes the problem: equations; for pymanopt and spheres M_ii = 1 alone."""
    conic = problem.conic
    if find_spec(PEERS[peer][0]) is None or conic is None or not np.array_equal(conic.lower, conic.upper):
        return False
    forms, ones = conic.forms, np.ones(problem.n)
    rows = forms.i == forms.j
    return peer not in ("pymanopt", "spheres") or bool(
        problem.m == problem.n
        and rows.all()
        and np.array_equal(conic.lower, ones)
        and abs(forms.B - sp.eye_array(problem.n)).max() == 0.0
    )


def bounded(peer: str, problem: Constrained, tol: float, seconds: float) -> Answer:
    """The peer in a process of its own, which ends after so many processor seconds, model and all."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_run, args=(sender, peer, problem, tol, seconds))
    child.start()
    sender.close()
    try:
        answer: Answer = receiver.recv()
    except EOFError:  # it ended without an answer: by the limit, or by itself, as for want of memory
        child.join()
        late = child.exitcode in (-signal.SIGXCPU, -signal.SIGKILL)
        status = f"> {seconds:.0f} s" if late else f"died, exit code {child.exitcode}"
        answer = Answer(math.nan, math.nan, status, seconds if late else math.nan)
    child.join()
    return answer


def _run(sender: Any, peer: str, problem: Constrained, tol: float, seconds: float) -> None:
    # the solver may print at will, and processor time that the parent has spent counts in this limit on no system
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 1))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    try:
        sender.send(PEERS[peer][1](problem, tol))
    except Exception as error:
        sender.send(Answer(math.nan, math.nan, f"{type(error).__name__}: {error}"[:60], math.nan))


def write_sdpa(problem: Constrained, path: Path) -> None:
    """`problem`, linear under equations, as a sparse SDPA file. Blocks of order one are its diagonal block."""
    conic = _conic(problem)
    singles = [rows for rows in conic.blocks if len(rows) == 1]
    blocks = [rows for rows in conic.blocks if len(rows) > 1] + ([np.concatenate(singles)] if singles else [])
    sizes = [len(rows) for rows in blocks]
    if singles:
        sizes[-1] *= -1
    number, place = np.zeros(problem.n, dtype=int), np.zeros(problem.n, dtype=int)
    for k, rows in enumerate(blocks):
        number[rows], place[rows] = k + 1, np.arange(1, len(rows) + 1)
    lines = [str(problem.m), str(len(blocks)), " ".join(map(str, sizes)), " ".join(map(repr, conic.lower.tolist()))]

    def add(t: int, i: Any, j: Any, values: Any) -> None:
        for at, to, value in zip(i, j, values, strict=True):
            p, q = sorted((place[at], place[to]))
            lines.append(f"{t} {number[at]} {p} {q} {value!r}")

    C, forms = sp.triu(conic.C).tocoo(), conic.forms
    add(0, C.row, C.col, (-C.data).tolist())
    for t in range(problem.m):
        part = slice(forms.B.indptr[t], forms.B.indptr[t + 1])
        k = forms.B.indices[part]
        i, j = forms.i[k], forms.j[k]
        add(t + 1, i, j, (forms.B.data[part] * np.where(i == j, 1.0, 0.5)).tolist())
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _conic(problem: Constrained) -> Any:
    """Its linear form; InvalidInputError where it has none."""
    if problem.conic is None:
        raise InvalidInputError("peers take linear programs under linear constraints; found another objective or set")
    return problem.conic


def _infeasibility(problem: Constrained, a: Any) -> float:
    return float(np.linalg.norm(a - problem.lower) / (1.0 + np.linalg.norm(problem.lower)))
