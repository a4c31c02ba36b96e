"""What a certificate rests on: units of values, proven bounds on F(M) − min F, and steps that refute a claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from weakref import WeakKeyDictionary

import numpy as np
import scipy.linalg

from psdopt.capability import Ability
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.definite import factor_above
from psdopt.linalg.extreme import ExtremePair, smallest_eigenpair
from psdopt.linalg.tolerances import EPS
from psdopt.problem import Evaluation, GradientOperator, Problem
from psdopt.roles import Duality

#: Up to this order S is formed for a proof on the whole cone: a few evaluations and factorisations, O(n³) each.
PROOF_ORDER = 500
#: Columns of the random factor whose multiple of trace t stands for the centre (t / n) I beyond this order.
CENTRE_COLUMNS = 64
#: Roundings of its own size, times n, by which an entry of S may be wrong.
ROUNDINGS = 16.0
#: A reference matrix nearer to M than this share of |M| says nothing of the size of F.
FAR = 0.5
#: Evaluations in search of a perturbation whose cost is within the goal.
TRIALS = 6
#: Steps along an eigenvector, in units of tr M, that are tried where the plane has no exact minimiser.
STEPS = (1e-6, 1e-4, 1e-2, 1e-1, 1.0, 10.0)
#: The key of |∇F(0)| among the references of a problem; the others are traces.
GRADIENT = -1.0
#: Columns that check an eigenpair which the problem found by itself.
CHECKED_COLUMNS = 40

_DIAGONALS: WeakKeyDictionary[Problem, Array] = WeakKeyDictionary()
_REFERENCES: WeakKeyDictionary[Problem, dict[float, float]] = WeakKeyDictionary()


def reference_value(problem: Problem, trace: float) -> float:
    """F at (trace / n) I, or beyond order 64 at a random matrix of that trace; F(0) for trace 0; inf where undefined.

    Evaluated by :meth:`Problem.at`, never asked of a hook, and kept as long as the problem.
    """
    kept = _REFERENCES.setdefault(problem, {})
    if trace not in kept:
        n = problem.n
        if trace == 0.0:
            factor = np.zeros((n, 1))
        elif n <= CENTRE_COLUMNS:
            factor = np.eye(n)
        else:
            factor = np.random.default_rng(0).standard_normal((n, CENTRE_COLUMNS))
        if trace > 0.0:
            factor = factor * (math.sqrt(trace) / norm(factor))
        kept[trace] = _finite(lambda: float(problem.at(factor).value))
    return kept[trace]


def _finite(value: Callable[[], float]) -> float:
    """The value, or inf where F is not defined: a reference may lie where no run would go."""
    try:
        with np.errstate(all="ignore"):
            found = value()
    except (FloatingPointError, ZeroDivisionError, np.linalg.LinAlgError):
        return math.inf
    return found if math.isfinite(found) else math.inf


def unit_on_the_cone(problem: Problem, evaluation: Evaluation) -> float:
    """min(F(0) − F(M), 4 (F(M/4) − F(M))): what M gains over nothing; <= 0 where it gains nothing.

    The second is the smaller one where F(0) is out of proportion, or infinite as for a barrier. For F quadratic along
    the ray with its minimum at M the first is.
    """
    value = float(evaluation.value)
    r = evaluation.factor.shape[1]
    near = _finite(lambda: float(evaluation.mix(0.5 * np.eye(r)).value))
    unit = min(reference_value(problem, 0.0) - value, 4.0 * (near - value))
    return unit if math.isfinite(unit) else 0.0


def unit_at_fixed_trace(problem: Problem, evaluation: Evaluation, trace: float, vectors: Array) -> float:
    """Least rise of F from M to a matrix of the set far from M; 0 where none rises.

    The matrices: the centre (t / n) I, and M/4 + (3/4) t v vᵀ for the unit columns v of `vectors`, along which F
    rises least. Far: |N − M| >= |M| / 2.
    """
    Y, value = evaluation.factor, float(evaluation.value)
    size = norm(Y.T @ Y)
    found = []
    if math.sqrt(max(size**2 - trace**2 / problem.n, 0.0)) >= FAR * size:
        found.append(reference_value(problem, trace))
    for v in vectors.T:
        Yv = Y.T @ v
        apart = math.sqrt(max(size**2 + trace**2 - 2.0 * trace * float(Yv @ Yv), 0.0))
        if 0.75 * apart >= FAR * size:
            found.append(_finite(partial(_in_plane, problem, evaluation, v, 0.25, 0.75 * trace)))
    noise = 64.0 * EPS * abs(value)
    rises = [other - value for other in found if noise < other - value < math.inf]
    return min(rises, default=0.0)


def checked_eigenpair(
    problem: Problem, evaluation: Evaluation, S: object, *, tol: float, threshold: float, start: Array | None,
    seed: int, count: int = 1,
) -> ExtremePair:  # fmt: skip
    """The smallest eigenpair of S; one that the problem found by itself is believed as far as a few products confirm.

    Up to order 500 the problem is not asked. Beyond, a Ritz value of S below its lower bound refutes the bound.
    """
    own = type(problem.duality).smallest_eigenpair is not Duality.smallest_eigenpair
    options = {"tol": tol, "threshold": threshold, "start": start, "seed": seed}
    if own and count == 1 and problem.n > PROOF_ORDER:
        pair = problem.duality.smallest_eigenpair(evaluation, S, **options)
        check = smallest_eigenpair(S, start=pair.vector, max_products=CHECKED_COLUMNS, seed=seed)
        if check.value >= pair.lower_bound - ROUNDINGS * EPS * check.norm:
            return pair
    return smallest_eigenpair(S, count=min(count, problem.n), **options)  # type: ignore[arg-type]


def improvement(evaluation: Evaluation, vectors: Sequence[Array]) -> tuple[float, Array | None]:
    """(largest decrease, its v) of F over alpha M + beta v vᵀ, alpha, beta >= 0, each v of `vectors` by itself.

    inf where F falls without bound along a ray of one of these planes. One column is applied for each v.
    """
    best: tuple[float, Array | None] = (0.0, None)
    value = float(evaluation.value)
    for v in vectors:
        better = plane_minimum(evaluation, v)
        if better is None:
            return math.inf, v
        gain = value - float(better.value)
        if gain > best[0]:
            best = gain, v
    return best


def plane_minimum(evaluation: Evaluation, v: Array) -> Evaluation | None:
    """The evaluation of least F over alpha M + beta v vᵀ, alpha, beta >= 0; None if F falls along a ray.

    Exact where the problem has the ability ``exact-plane``; else the best of a few beta at alpha = 1.
    """
    problem = evaluation.problem
    if Ability.EXACT_PLANE in problem.abilities:
        plane = evaluation.along_atom(v)
        alpha, beta = plane.minimize()
        if math.isinf(alpha) or math.isinf(beta):
            return None
        return plane.step(alpha, beta)
    scale = evaluation.size**2 or 1.0
    tried = [evaluation.append(v * math.sqrt(scale * step)) for step in STEPS]
    return min((evaluation, *tried), key=lambda e: e.value if math.isfinite(e.value) else math.inf)


def _in_plane(problem: Problem, evaluation: Evaluation, v: Array, alpha: float, beta: float) -> float:
    if Ability.EXACT_PLANE in problem.abilities:
        return float(evaluation.along_atom(v).value(alpha, beta))
    Y = np.column_stack([math.sqrt(alpha) * evaluation.factor, math.sqrt(beta) * v])
    return float(problem.at(Y).value)


def gradient_size_at_zero(problem: Problem) -> float:
    """About |∇F(0)|_2, by a few power steps from a fixed start; kept as long as the problem. inf where undefined."""
    kept = _REFERENCES.setdefault(problem, {})
    if GRADIENT not in kept:
        kept[GRADIENT] = _finite(lambda: _power_steps(problem))
    return kept[GRADIENT]


def _power_steps(problem: Problem) -> float:
    S = problem.at(np.zeros((problem.n, 1))).gradient
    V, size = np.random.default_rng(0).standard_normal((problem.n, 2)), 0.0
    for _ in range(6):
        V = S @ (V / max(norm(V), np.finfo(float).tiny))
        size = max(size, norm(V))
    return size


class DenseProof:
    """A bound on F(M) − min F over the whole cone, from a matrix near M where the gradient is positive semidefinite.

    For convex F and any P ⪰ 0 with S' = ∇F(P) ⪰ 0, F(N) >= F(P) + ⟨S', N − P⟩ >= F(P) − ⟨S', P⟩ for every N ⪰ 0,
    whatever its trace. P = M itself serves where S ⪰ 0; else P = M + s Z with Z ≻ 0 and the s that the goal allows.
    S' ⪰ 0 is proved by a Cholesky factor of S' scaled to a unit diagonal, up to ROUNDINGS · n · eps: scales of the
    coordinates of any size leave the proof as it is. Order up to PROOF_ORDER; O(n³) each trial.
    """

    def __init__(self, problem: Problem, evaluation: Evaluation) -> None:
        self.problem, self.evaluation, self.n = problem, evaluation, problem.n
        self.S = _dense(evaluation)
        sizes = np.abs(np.diagonal(self.S))
        self.sizes = sizes + _diagonal_at_zero(problem)

    def gap(self, goal: float) -> float | None:
        """A proven bound on F(M) − min F, at most `goal` if one can be found; None if there is none."""
        own = max(float(np.vdot(self.S @ self.evaluation.factor, self.evaluation.factor)), 0.0)
        if self._definite(self.S):
            return own
        if not (goal > 0.0 and norm(self.evaluation.factor) > 0.0):
            return None
        for L in self._directions():
            found = self._perturbed(L, goal)
            if found is not None:
                return found
        return None

    def descent(self) -> Array | None:
        """The direction v of least vᵀSv in units of the coordinates, for a refutation that scales leave as it is."""
        scale = self._scale(self.S)
        if scale is None:
            return None
        _, w = scipy.linalg.eigh(self.S * np.outer(scale, scale), subset_by_index=[0, 0])
        v = scale * w[:, 0]
        return np.asarray(v / norm(v))

    def _definite(self, S: Array) -> bool:
        scale = self._scale(S)
        if scale is None:
            return False
        allowed = ROUNDINGS * self.n * EPS
        return factor_above(S * np.outer(scale, scale), -allowed) is not None

    def _scale(self, S: Array) -> Array | None:
        """1/√(size of the diagonal); None if S is not finite."""
        if not np.all(np.isfinite(S)):
            return None
        sizes = self.sizes + np.abs(np.diagonal(S))
        largest = max(float(sizes.max()), float(np.abs(S).max()))
        sizes = np.maximum(sizes, max(EPS**2 * largest, np.finfo(float).tiny))
        return np.asarray(1.0 / np.sqrt(sizes))

    def _directions(self) -> Iterator[Array]:
        """Factors L of Z = L Lᵀ: the identity, scaled coordinates, and the inverse of the curvature's trace."""
        share = norm(self.evaluation.factor) ** 2 / self.n
        yield math.sqrt(share) * np.eye(self.n)
        scale = self._scale(self.S)
        if scale is not None:
            yield np.diag(scale * math.sqrt(share * self.n) / norm(scale))
        moved = self.evaluation.append(math.sqrt(1e-4 * share) * np.eye(self.n))
        curvature = _dense(moved) - self.S
        if np.all(np.isfinite(curvature)):
            values, U = np.linalg.eigh(curvature)
            values = np.maximum(values, 1e-14 * max(float(values[-1]), np.finfo(float).tiny))
            root = 1.0 / np.sqrt(values)
            yield U * (root * math.sqrt(share * self.n) / norm(root))

    def _perturbed(self, L: Array, goal: float) -> float | None:
        """The bound from P = M + s L Lᵀ at the s whose cost is between a quarter of the goal and the goal."""
        value, s = float(self.evaluation.value), 1e-6
        r = self.evaluation.factor.shape[1]
        both = self.evaluation.append(L)  # the maps are applied to L once, whatever s will be
        for _ in range(TRIALS):
            there = both.mix(np.diag(np.r_[np.ones(r), np.full(self.n, math.sqrt(s))]))
            if not math.isfinite(there.value):
                return None
            cost = value - float(there.value) + 0.5 * float(np.vdot(there.factor_gradient(), there.factor))
            if cost > goal:
                s *= min(0.5, max(0.5 * goal / cost, 1e-4))
            elif cost >= 0.25 * goal:
                return max(cost, 0.0) if self._definite(_dense(there)) else None
            else:
                if self._definite(_dense(there)):
                    return max(cost, 0.0)
                s *= min(0.5 * goal / max(cost, EPS * goal), 1e4)
        return None


def _diagonal_at_zero(problem: Problem) -> Array:
    """|∇F(0)_ii| (n,), 0 where undefined; kept as long as the problem."""
    if problem not in _DIAGONALS:
        diagonal = np.zeros(problem.n)
        if math.isfinite(reference_value(problem, 0.0)):
            try:
                with np.errstate(all="ignore"):
                    found = np.abs(np.diagonal(_dense(problem.at(np.zeros((problem.n, 1))))))
                diagonal = np.where(np.isfinite(found), found, 0.0)
            except (FloatingPointError, ZeroDivisionError, np.linalg.LinAlgError):
                pass  # F may have a value at 0 and no gradient there
        _DIAGONALS[problem] = diagonal
    return _DIAGONALS[problem]


def _dense(evaluation: Evaluation) -> Array:
    """∇F(M) as a symmetric array (n, n): assembled where its entries are at hand, else by n products."""
    operator = evaluation.gradient
    entries = operator.entries() if isinstance(operator, GradientOperator) else None
    S: Array = np.asarray(operator @ np.eye(len(evaluation.factor)) if entries is None else entries)
    symmetric: Array = 0.5 * (S + S.T)
    return symmetric
