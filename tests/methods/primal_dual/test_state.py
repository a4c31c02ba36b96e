"""States of primal-dual methods: what is shown, what is kept, and candidates for proofs."""

import math
from dataclasses import replace

import numpy as np
import pytest

from psdopt import Constrained, Method, Outcome, PSDCone, QuadraticSDP, Status, certify, constraints, solve
from psdopt.certificates.constrained.multipliers import Multipliers
from psdopt.constraints.central_path.interior_steps import Iterate
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.limits import NEGLIGIBLE
from psdopt.linalg.tolerances import MINOR
from psdopt.methods import BoundaryPoint, InteriorPoint
from psdopt.methods.primal_dual import dual_values
from psdopt.methods.primal_dual.dual_values import Inexact
from psdopt.methods.primal_dual.progress import Progress
from psdopt.methods.primal_dual.state import PrimalDualState, begun, constrained, moved, settled
from tests.instances import symmetric

N = 6


def program(trace: bool = True) -> Constrained:
    rng = np.random.default_rng(0)
    C = rng.standard_normal((N, N))
    C = C @ C.T + 0.1 * np.eye(N)
    groups = [constraints.entries([0, 1], [1, 2], N, 0.1)]
    return Constrained(QuadraticSDP(C=0.5 * C), [constraints.trace(N, 1.0), *groups] if trace else groups)


def start(problem: Constrained) -> PrimalDualState:
    form = StandardForm(constrained(problem)[1])
    X = [0.1 * part.start(form.b)[0] for part in form.parts]
    n = problem.n
    return begun(problem, PSDCone(n), 0.1 * np.eye(n), None, form, X, [P.copy() for P in X])


def solved(problem: Constrained, steps: int) -> PrimalDualState:
    return solved_by(InteriorPoint(), problem, steps)


def solved_by(method: Method, problem: Constrained, steps: int) -> PrimalDualState:
    state = method.init(problem, PSDCone(N), 0.1 * np.eye(N))
    for _ in range(steps):
        state = method.step(state)
    return state


def again(state: PrimalDualState, X: list[np.ndarray], **changes) -> PrimalDualState:
    options = {"step": 1.0, "outcome": Outcome.RUNNING, "patience": 5, **changes}
    return moved(state, Iterate.at(state.form, X, state.Z, state.v, [], []), **options)


def test_a_run_begins_at_v_zero_and_ends_at_once_where_nothing_is_to_be_done() -> None:
    first = start(program())
    assert first.outcome is Outcome.RUNNING
    assert not np.any(first.v)
    empty = Constrained(QuadraticSDP(C=np.eye(N)), constraints.trace(N, -1.0))
    assert start(empty).outcome is Outcome.FINISHED
    zero = Constrained(QuadraticSDP(C=np.eye(N)), constraints.trace(N, upper=1.0))
    ended = start(zero)
    assert ended.outcome is Outcome.FINISHED
    assert not np.any(ended.evaluation.factor)


def test_what_is_shown_is_the_point_its_residuals_and_bound() -> None:
    problem = program()
    state = solved(problem, 4)
    form, Y = state.form, state.evaluation.factor
    M = Y @ Y.T
    whole = np.zeros((N, N))
    blocks = [rows for part in form.parts for rows in part.rows]
    for rows, P in zip(blocks, [P for X in state.X for P in X], strict=True):
        whole[np.ix_(rows, rows)] = form.beta * P
    for rows in blocks:
        at = np.ix_(rows, rows)
        assert np.allclose(M[at], whole[at], rtol=0, atol=1e-12)
    off = problem.violation(problem.measured(Y)) / problem.norms
    unit = np.linalg.norm(problem.lower / problem.norms)
    assert state.extras["infeasibility"] == pytest.approx(np.linalg.norm(off) / unit, rel=1e-8)
    S = constrained(problem)[1].slack(form.multipliers(state.v)).toarray()
    Z = np.zeros((N, N))
    for rows, P in zip(blocks, [P for S in state.Z for P in S], strict=True):
        Z[np.ix_(rows, rows)] = form.gamma * P
    assert state.extras["dual_residual"] == pytest.approx(np.linalg.norm(S - Z) / form.gamma, abs=1e-12)


def test_the_bound_that_is_kept_is_below_the_optimum_and_its_multipliers_prove_it() -> None:
    problem = program()
    optimum = solve(problem, tol=1e-9).value
    state = solved(problem, 9)
    assert -math.inf < state.bound <= optimum + 1e-9 * abs(optimum)
    assert state.dual.best is not None
    proof = certify(problem, state.evaluation.factor, dual=state.dual.best)
    assert proof.dual_value == pytest.approx(state.bound, rel=1e-6)


def test_without_a_trace_bound_only_definite_slack_makes_a_bound() -> None:
    problem = program(trace=False)
    state = solved(problem, 9)
    assert state.dual.best is not None
    S = constrained(problem)[1].slack(state.dual.best).toarray()
    assert np.linalg.eigvalsh(S)[0] > 0.0
    wrong = replace(state, v=state.v + 10.0, dual=replace(state.dual, best=None), bound=-math.inf)
    after = again(wrong, wrong.X)
    assert after.dual.best is None
    assert after.bound == -math.inf


def test_a_run_that_stalls_ends_at_the_nearest_point_that_it_had() -> None:
    state = solved(program(), 9)
    worse = [P + 0.1 * np.eye(N) for P in state.X]
    kept = again(state, worse)
    assert kept.evaluation.value != state.evaluation.value  # it goes on from there
    assert kept.nearest.evaluation is state.nearest.evaluation
    stalled = again(state, worse, outcome=Outcome.STALLED)
    assert stalled.evaluation is state.nearest.evaluation
    assert stalled.extras["infeasibility"] == state.nearest.violation
    assert np.allclose(stalled.X[0], worse[0], rtol=0, atol=0)  # the iterate itself is what it is


def test_a_run_that_began_once_more_shows_the_nearest_point_until_it_has_a_better_one() -> None:
    state = solved(program(), 6)
    far = replace(state, anew=True)
    shown = again(far, [P + 0.1 * np.eye(N) for P in state.X])
    assert shown.evaluation is state.nearest.evaluation
    better = solved(program(), 10)
    there = Iterate.at(far.form, better.X, better.Z, better.v, [], [])
    closer = moved(far, there, step=1.0, outcome=Outcome.RUNNING, patience=5)
    assert closer.nearest.error < state.nearest.error
    assert closer.evaluation is closer.nearest.evaluation


def test_a_split_dual_equation_lowers_the_bound_by_what_it_lacks() -> None:
    state = replace(solved(program(), 9), bound=-math.inf)
    exact, split = again(state, state.X), again(state, state.X, inexact=Inexact())
    assert split.extras["dual_bound"] <= exact.extras["dual_bound"]
    off = replace(state, Z=[S + 1e-3 * np.eye(N) for S in state.Z])
    lowered = again(off, off.X, inexact=Inexact())
    lost = split.extras["dual_bound"] - lowered.extras["dual_bound"]
    assert lost == pytest.approx(1e-3 * math.sqrt(N) * state.form.gamma, rel=1e-2)


def test_a_definite_objective_bounds_traces_where_the_dual_equation_is_split(monkeypatch) -> None:
    """C ⪰ c I and F(N) <= F(M) bound tr N by F(M) / c, so that no slack has to be proven definite in each step."""
    i, j = np.append(np.arange(N - 1), 0), np.append(np.arange(1, N), 2)  # of an odd cycle: no corner
    problem = Constrained(QuadraticSDP(C=np.eye(N)), constraints.entries(i, j, N, 0.1))
    least, c = solve(problem, tol=1e-9).value, problem.definite_part
    assert problem.trace_limit is None
    assert c > 0.0
    monkeypatch.setattr(dual_values, "_definite", lambda form, v: pytest.fail("a proof was sought"))
    state = solved_by(BoundaryPoint(), problem, 60)
    off = replace(state, Z=[S + 1e-4 * np.eye(N) for S in state.Z], bound=-math.inf, dual=Multipliers(state.dual.y))
    lowered = again(off, off.X, inexact=Inexact())
    lost = 1e-4 * math.sqrt(N) * state.form.gamma * lowered.evaluation.value / c
    assert lowered.bound == pytest.approx(state.form.dual_value(state.v, off.Z) - lost, rel=1e-3)
    assert lowered.bound < least
    assert lowered.dual.best is not None
    tiny = [0.5 * P for P in off.X]  # F(M) is below the minimum, and no more than that is proven
    assert again(replace(state, bound=-math.inf), tiny, inexact=Inexact()).bound <= 0.6 * least


@pytest.mark.parametrize("inexact", [None, Inexact()])
@pytest.mark.parametrize("arrows", [False, True])
@pytest.mark.parametrize("least", [1e-3, 1e-9, -1e-14, -1e-9, -1e-3])
def test_without_a_trace_bound_the_least_eigenvalue_of_the_slack_decides(least, arrows, inexact) -> None:
    """S = C + A*(y) with λ_min(S) = `least`, and Z that says the same: a bound is taken where S ≻ 0 is beyond doubt."""
    A = np.zeros((N + 1, N + 1))
    A[0, 1:N] = A[1:N, 0] = 1.0 / math.sqrt(N - 1.0)
    A[N, N] = 2.0
    rest = np.zeros((N, N)) if arrows else np.diag([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    C = np.zeros((N + 1, N + 1))  # with a zero, so that it does not bound the trace
    C[:N, :N] = (1.0 + least) * np.eye(N) + rest
    problem = Constrained(QuadraticSDP(C=0.5 * C), constraints.sparse_forms([A], upper=-1.0))
    if not arrows:  # the same eigenvalue where the diagonal is not one number
        C[:N, :N] -= (np.linalg.eigvalsh(C + A)[0] - least) * np.eye(N)
        problem = Constrained(QuadraticSDP(C=0.5 * C), constraints.sparse_forms([A], upper=-1.0))
    assert problem.trace_limit is None
    form = StandardForm(constrained(problem)[1])
    assert len(form.conic.hubs) == (1 if arrows else 0)
    v = np.array([-1.0]) / (form.gamma * form.row_scale)
    y = form.multipliers(v)
    assert y == pytest.approx([1.0])
    assert np.linalg.eigvalsh(C + A)[0] == pytest.approx(least, abs=1e-14)
    state = replace(start(problem), form=form, v=v, Z=form.slacks(v), progress=Progress(since=1))
    at = Iterate.at(form, form_start(form), state.Z, v, [], [])
    after = moved(state, at, step=1.0, outcome=Outcome.RUNNING, patience=5, inexact=inexact)
    assert (after.dual.best is not None) is (least >= 1e-9)
    assert (after.bound == pytest.approx(1.0)) if least >= 1e-9 else (after.bound == -math.inf)


def test_slacks_are_proven_definite_near_the_end_only(monkeypatch) -> None:
    """Before, the multipliers of the best bound are kept without a proof, and a certificate proves it."""
    problem = program(trace=False)
    assert problem.trace_limit is None
    proofs, known = [], dual_values._definite
    monkeypatch.setattr(dual_values, "_definite", lambda form, v: proofs.append(1) or known(form, v))
    state, early = solved(problem, 0), []
    while state.extras.get("gap", math.inf) > 1e-8:
        late, before = state.progress.since > 0 or state.extras.get("gap", math.inf) <= MINOR, len(proofs)
        state = InteriorPoint().step(state)
        assert late or len(proofs) == before
        early += [] if late or state.dual.best is None else [state.dual.best]
    assert early
    assert proofs
    assert state.bound == pytest.approx(state.evaluation.value, rel=1e-7)
    bounds = [certify(problem, state.evaluation.factor, dual=y).dual_value for y in early]
    assert all(bound is None or bound <= state.evaluation.value * (1.0 + 1e-7) for bound in bounds)


def form_start(form: StandardForm) -> list[np.ndarray]:
    return [part.start(form.b)[0] for part in form.parts]


def test_the_last_matrix_is_shown_until_one_is_near_the_constraints() -> None:
    """Then this one is kept: later ones are nearer to the boundary of the cone."""
    problem = program()
    state = solved(problem, 1)
    form = state.form
    while True:
        M = state.dual.inside
        assert np.allclose(M, form.matrix(state.X), rtol=0, atol=0)
        assert np.linalg.eigvalsh(M)[0] > 0.0
        if state.at.primal <= NEGLIGIBLE:
            break
        state = InteriorPoint().step(state)
        assert state.dual.inside is not M
    assert np.linalg.norm(problem.scale * problem.violation(measured(problem, M))) <= 1e-6
    for _ in range(3):
        state = InteriorPoint().step(state)
    assert state.dual.inside is M


def measured(problem: Constrained, M: np.ndarray) -> np.ndarray:
    return np.asarray(problem.forms.B @ M[problem.forms.i, problem.forms.j])


def test_splitting_methods_keep_no_matrix() -> None:
    """Their X is on the boundary of the cone."""
    problem = program()
    state = solved(program(), 9)
    form = StandardForm(constrained(problem)[1])
    state = replace(state, problem=problem, form=form, dual=Multipliers(state.dual.y))
    at = Iterate.at(form, state.X, state.Z, state.v, [], [])
    after = moved(state, at, step=1.0, outcome=Outcome.RUNNING, patience=5, inexact=Inexact())
    assert after.dual.inside is None


def hidden(b: float) -> Constrained:
    """Σ w_t A_t ≻ 0 with Σ w_t b_t = 0, which no simple combination shows: only M = 0 may be feasible."""
    rng = np.random.default_rng(1)
    A = [symmetric(rng, N) for _ in range(4)]
    w, G = rng.uniform(0.3, 2.0, 4), rng.standard_normal((N, N))
    A[0] = (G @ G.T + 0.1 * np.eye(N) - sum(t * P for t, P in zip(w[1:], A[1:], strict=True))) / w[0]
    level = b * np.r_[-w[1] / w[0], 1.0, 0.0, 0.0]
    return Constrained(QuadraticSDP(C=symmetric(rng, N)), constraints.sparse_forms(A, level))


def test_a_face_that_is_searched_for_may_settle_what_a_run_did_not() -> None:
    zero = hidden(0.0)
    assert zero.shown.face is None
    assert start(zero).outcome is Outcome.RUNNING
    ended = settled(start(zero))
    assert ended is not None
    assert ended.outcome is Outcome.FINISHED
    assert not np.any(ended.evaluation.factor)
    assert not np.any(ended.dual.y)
    assert ended.dual.ray is None
    assert zero.only_zero
    for other in (program(), program(trace=False)):
        assert settled(start(other)) is None
    assert not np.any(solve(zero, method=InteriorPoint()).matrix.factor)
    assert solve(hidden(1.0), method=InteriorPoint()).status is Status.INFEASIBLE
