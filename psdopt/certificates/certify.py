"""Certificates of M from the problem and M alone."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from psdopt.certificates.certificate import Certificate
from psdopt.certificates.computation import Computation
from psdopt.certificates.constrained.certify import certify_constrained
from psdopt.certificates.convexity import doubted
from psdopt.certificates.slack_matrix import slack_matrix
from psdopt.checks import instance, number, number_or_none, one_of
from psdopt.constraints.problem import constrained_of
from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.arrays import Array

#: How much work goes into a proof: into the best bound there is, or only into bounds that cost little.
PROOFS = ("full", "cheap")
#: The same for one certificate; "needed" leaves out bounds that would not prove `tol`, for runs that go on without one,
#: "coarse" all but those at hand, for runs that look for columns.
EFFORTS = (*PROOFS, "needed", "coarse")


def certify(
    problem: Problem,
    matrix: LowRankPSD | Evaluation | Array,
    *,
    tol: float = 1e-6,
    trace: float | None = None,
    start: Array | None = None,
    seed: int = 0,
    dual: Any = None,
    geometry: Geometry | None = None,
    tried: float = math.inf,
    proof: str = "full",
    begun: Certificate | None = None,
) -> Certificate:
    """Certificate of M for `problem`, computed from scratch: images are recomputed, and no method is involved.

    `matrix` : M, or its factor Y (n, r) as an array; of an array M, ``LowRankPSD.from_dense(M)`` makes the former.
    `tol` : the relative accuracy to which the gap must be bounded. `trace` : the fixed trace of the feasible set, if
    there is one. `start` : a guess of the eigenvector. `seed` : the result is deterministic for a seed. `dual` : for
    nonsmooth F, the weights from which :meth:`~psdopt.contracts.roles.Duality.subgradient` builds S; that method checks
    the weights. `geometry` : if it has its own linear oracle, the oracle's lower bound on ⟨S, N⟩ over the set is used
    as well. `tried` : a proof at a matrix near M is sought only if the `shortfall` is below this value, at which the
    search failed earlier in the run (:class:`psdopt.certificates.dense_proof.DenseProof`).
    `proof` : "full", or "cheap" to use only the eigenpair, the multipliers and the problem's own bound, without the
    curvature of F or a search for a matrix near M at which the gradient is semidefinite; or "needed", as "full" but
    without bounds too weak to prove `tol`; or "coarse", the residuals and the least eigenvalues alone, for runs. With
    "full" a bound is sought at every M, however far from an optimum, and the same whatever `tol` is. `begun` : a
    certificate of this very `matrix` and `tol` with "needed"; "full" then adds what that one left out. Where convexity
    is only the caller's word, the certificate first tries to refute it, unless it is "coarse"
    (:mod:`psdopt.certificates.convexity`). Cost: one evaluation and one extreme eigenpair of S; where F is curved or M
    not optimal, a spectrum or some factorisations of order n, see :mod:`psdopt.certificates.curved_bound` and
    :mod:`psdopt.certificates.dense_proof`.
    """
    problem, tol = instance(problem, "problem", Problem), number(tol, "tol", above=0.0)
    trace = number_or_none(trace, "trace", above=0.0)
    if geometry is not None:
        instance(geometry, "geometry", Geometry)
    evaluation = _evaluation(problem, matrix)
    one_of(proof, "proof", EFFORTS)
    if Ability.CONSTRAINTS in problem.abilities:
        model = constrained_of(problem)
        under = certify_constrained(model, evaluation, tol=tol, start=start, seed=seed, dual=dual, proof=proof)
        return doubted(model.problem, under, evaluation.factor, tol, proof == "full")
    found = None if begun is None else instance(begun, "begun", Certificate)._found
    if found is None or found.Y is not evaluation.factor or found.tol != tol or proof != "full":
        found = Computation(problem, evaluation, tol, trace, dual, proof)
        found.find_eigenpair(start, seed)
        found.measure_residuals()
        found.collect_bounds(geometry)
        found.resolve()
    else:
        found.go_on()
    if found.worth_a_proof:
        found.prove_or_refute(tried)
    if proof == "full":
        found.bound_anyway()
    certificate = Certificate(
        **found.fields(),
        _slack=partial(slack_matrix, problem, evaluation.factor, dual),
        _found=found if proof == "needed" and not found.proven else None,
    )
    return certificate if proof == "coarse" else doubted(problem, certificate, evaluation.factor, tol, proof == "full")


def _evaluation(problem: Problem, matrix: LowRankPSD | Evaluation | Array) -> Evaluation:
    if isinstance(matrix, Evaluation):
        return matrix.refresh()
    return problem.at(matrix.factor if isinstance(matrix, LowRankPSD) else matrix)
