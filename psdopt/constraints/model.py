"""F and A(M) in a set as data: measurements, the set, norms, entries."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.checks import instance, instances, number_or_none
from psdopt.constraints.allowed import Allowed
from psdopt.constraints.conic import Conic
from psdopt.constraints.constraint import Constraint, refuse_huge
from psdopt.constraints.explicit import (
    Measured,
    Nearest,
    barrier_objective,
    explicit_forms,
    form_norms,
    linear_objective,
    measured_objective,
    nearest_objective,
)
from psdopt.constraints.faces.congruence import carried_problem
from psdopt.constraints.faces.face import Face, found_face
from psdopt.constraints.faces.hidden_face import inside
from psdopt.constraints.feasible import feasible_factor, random_directions
from psdopt.constraints.limits import NEGLIGIBLE
from psdopt.constraints.measurements import SparseForms, Stacked
from psdopt.constraints.trace_bound import TraceBound, definite_part, found_trace_bound
from psdopt.contracts.abilities import Ability
from psdopt.contracts.images import Images
from psdopt.contracts.problem import Problem
from psdopt.devices import on_host
from psdopt.errors import IncompatibleError, InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import Array, as_array, beside, row_dots
from psdopt.linalg.tolerances import rounding
from psdopt.problems.composite import Composite, CompositeEvaluation
from psdopt.terms.measurements import Measurement

#: Cached attributes that depend on the face.
ON_FACE = ("carried", "on_face", "feasible_factor", "reduction", "_fit", "trace_limit", "contradiction")


class ConstrainedModel(Composite):
    """The data of :class:`~psdopt.Constrained`: F, all constraints, their entries, bounds on tr M.

    Certificates are computed from this model; the model does not know them.
    """

    def __init__(
        self, problem: Problem, constraints: Constraint | Sequence[Constraint], trace_bound: float | None = None
    ) -> None:
        problem = instance(problem, "problem", Problem)
        if isinstance(problem, ConstrainedModel):
            raise InvalidTypeError("problem must not be Constrained itself; give all constraints at once")
        if Ability.GRADIENT not in problem.abilities:
            raise InvalidInputError(
                f"problem must have a gradient to be constrained; {type(problem).__name__} has none here "
                "(of margins, problem.smoothed(mu) has one and is a lower bound)"
            )
        groups = instances(
            [constraints] if isinstance(constraints, Constraint) else constraints, "constraints", Constraint
        )
        for group in groups:
            if group.n != problem.n:
                raise InvalidInputError(f"{group.name} must measure matrices of order {problem.n}; found {group.n}")
            group.refuse_elsewhere(problem.device)
        self.given_trace_bound = number_or_none(trace_bound, "trace_bound", above=0.0)
        super().__init__([problem])
        self.problem, self.constraints = problem, groups
        self.hermitian = problem.hermitian or any(group.measurement.hermitian for group in groups)
        stacked = groups[0].measurement if len(groups) == 1 else Stacked([group.measurement for group in groups])
        self.allowed = Allowed.of(groups)
        self.lower, self.upper, self.cones = self.allowed.lower, self.allowed.upper, self.allowed.cones
        self.forms: SparseForms | None = explicit_forms(stacked)
        merged = self.forms if len(groups) > 1 and self.device is None else None
        self.measurement: Measurement = merged or stacked
        self.m = stacked.size
        refuse_huge("the entries of the forms", self.forms.B.data if self.forms is not None else np.zeros(0))
        self.norms = form_norms(stacked) if self.forms is None else self.forms.norms
        self.allowed.refuse_impossible(self.norms)
        for bound in (self.lower, self.upper, *(() if self.cones is None else (self.cones.offset,))):
            known = np.isfinite(bound)
            refuse_huge("bounds", bound[known])
            scaled = known & (self.norms > 0.0)
            with np.errstate(over="ignore"):
                refuse_huge("bounds next to |A_t|", bound[scaled] / self.norms[scaled])
        refuse_huge("the entries of C", self.conic.C.data if self.conic is not None else np.zeros(0))
        self.abilities = frozenset(
            {
                *({Ability.CONVEX} & problem.abilities),
                Ability.CONSTRAINTS,
                *({Ability.CONIC} if self.conic else ()),
                *({Ability.LOG_DETS} if self.central and not self.conic else ()),
                *({Ability.FIXED_DIAGONAL} if self.conic and self.fixed_diagonal is not None else ()),
                *({Ability.EQUATIONS} if self.quadratic_under_equations else ()),
                *({Ability.NEAREST} if self.nearest else ()),
                *({Ability.CONSTRAINED_FIT} if self.couples and self.cones is None and self.device is None else ()),
            }
        )

    @cached_property
    def conic(self) -> Conic | None:
        """⟨C, M⟩ + c and the A_t by their entries, if F is linear and entries are known; else None."""
        return None if self.linear is None or self.forms is None else Conic(*self.linear, self.forms, self.allowed)

    @cached_property
    def linear(self) -> tuple[sp.csr_array, float] | None:
        """(C, c) of F(M) = ⟨C, M⟩ + c by entries, whether those of the constraints are known or not; else None."""
        return linear_objective(self.problem)

    @cached_property
    def central(self) -> Conic | None:
        """:attr:`conic`, or its like with −Σ ν log det of diagonal blocks in F; None if F is neither.

        Each log det must be of whole blocks, which no constraint and no entry of C joins to other rows.
        """
        found = None if self.forms is None or self.conic is not None else barrier_objective(self.problem)
        if found is None or self.forms is None:
            return self.conic
        conic = Conic(found[0], found[1], self.forms, self.allowed, found[2])
        whole = all(np.all(found[2][rows] == found[2][rows[0]]) for rows in conic.blocks)
        return conic if whole else None

    @cached_property
    def fixed_diagonal(self) -> Array | None:
        """d (n,) if the constraints are M_ii = d_i > 0 for all i and nothing else, so that Diag(d) is feasible."""
        forms = self.forms
        if forms is None or not self.m == forms.n == len(forms.i) or np.any(forms.i != forms.j):
            return None
        rows, equations = forms.B.indices, bool(np.all(self.lower == self.upper))
        if not (equations and np.all(np.diff(forms.B.indptr) == 1) and np.all(np.bincount(rows) == 1)):
            return None
        d = as_array(np.bincount(rows, self.lower / forms.B.data))
        return d if np.all(d > 0.0) else None

    @cached_property
    def allows_zero(self) -> bool:
        """Whether M = 0 is feasible."""
        return not np.any(self.allowed.violation(np.zeros(self.m)))

    def at_fixed_diagonal(self, Y: Array) -> Array | None:
        """Y (n, r) with rows of the lengths √d_i, so that Y Yᵀ is feasible; None without a d, or if a row is 0."""
        lengths = row_dots(Y, Y)
        if self.fixed_diagonal is None or not np.all(lengths > 0.0):
            return None
        return as_array(Y * (beside(self.fixed_diagonal, Y) / lengths)[:, None] ** 0.5)

    @cached_property
    def nearest(self) -> Nearest | None:
        """F as a distance in the Frobenius norm, if it is one and constraints are equations by entries; else None."""
        return nearest_objective(self.problem) if self.quadratic_under_equations else None

    @property
    def quadratic_under_equations(self) -> bool:
        """Whether F is quadratic, and not linear, and constraints are equations by entries."""
        equations = self.forms is not None and bool(np.all(self.lower == self.upper))
        return equations and self.linear is None and Ability.QUADRATIC in self.problem.abilities

    @cached_property
    def objective_by_entries(self) -> Measured | None:
        """F as linear terms and losses of measurements, all by their entries, if F is such a sum; else None."""
        return measured_objective(self.problem)

    @cached_property
    def face(self) -> Face | None:
        """The face of the cone that constraints ⟨A_t, M⟩ = 0 with A_t ⪰ 0 leave; None without such constraints."""
        return self._found_face(seen=self._face_at_sight is None)

    @cached_property
    def _face_at_sight(self) -> Face | None:
        """The face that is found without a numerical search."""
        return self._found_face(search=False)

    def _found_face(self, **how: bool) -> Face | None:
        if self.fixed_diagonal is not None:
            return None
        face = found_face(self.forms, self.lower, self.upper, **how)
        if face is not None and self.device is not None:
            text = "constraints that confine M to a face of the cone take NumPy arrays only"
            raise IncompatibleError(f"{text}; found the data of F on {self.device}")
        return face

    def rule_out_face(self, M: Array | None) -> None:
        """Without a search: the face is the one at sight if a feasible M (n, n) is shown to be definite within it."""
        if "face" not in vars(self) and self.forms is not None and M is not None:
            face, at = self._face_at_sight, (self.lower, self.upper, M)
            if inside(self.forms, *at) if face is None else face.filled(*at):
                vars(self)["face"] = face

    @cached_property
    def shown(self) -> Self:
        """The same problem with the face that is found without a numerical search."""
        if "face" in vars(self) and (self.face is None or not self.face.searched):
            return self
        _, at_sight = self._implied, self._face_at_sight  # needed by both, and the same for both
        other = copy.copy(self)
        for name in ON_FACE:
            vars(other).pop(name, None)
        vars(other)["face"] = at_sight
        return other

    @cached_property
    def carried(self) -> SparseForms | None:
        """The WᵀA_tW by their entries, W the basis of the face; None without a face or with too many entries."""
        face = self.face
        return None if face is None else face.carried

    @cached_property
    def on_face(self) -> Problem:
        """N ↦ F(W N Wᵀ), W the basis of the face; F itself without one."""
        W = None if self.face is None else self.face.within
        return self.problem if W is None else carried_problem(self.problem, W)

    @cached_property
    def recession_face(self) -> Face | None:
        """The face of directions in which no A_t that is semidefinite, to rounding, bounds the feasible set."""
        along = self.allowed.recession()
        return found_face(self.forms, along.lower, along.upper, search=False, least=rounding(1.0, self.n**2))

    @property
    def only_zero(self) -> bool:
        """Whether the face leaves only M = 0, so that no other matrix can be feasible."""
        return self.face is not None and self.face.order == 0

    @cached_property
    def feasible_factor(self) -> Array | None:
        """Y (n, r) with Y Yᵀ feasible: :func:`~psdopt.constraints.feasible.feasible_factor`."""
        return self.feasible_near(None)

    def feasible_near(self, start: Array | None) -> Array | None:
        """Y (n, r) with Y Yᵀ feasible, from a factor `start`; under a fixed diagonal by the lengths of its rows."""
        if self.fixed_diagonal is not None:
            start = random_directions(self.measurement, device=self.device) if start is None else start
            if (onto := self.at_fixed_diagonal(start)) is not None:
                return onto
        return feasible_factor(self.measurement, self.allowed, self.norms, self.face, self.forms, start, self.device)

    @cached_property
    def scale(self) -> Array:
        """1/|A_t|, (m,): the factors that give every constraint norm 1. They are 1 where A_t = 0."""
        return np.asarray(1.0 / np.where(self.norms > 0.0, self.norms, 1.0))

    @property
    def couples(self) -> bool:
        """Whether Newton steps are possible: entries of the A_t are known, and the curvature of a nonlinear F."""
        return self.forms is not None and (self.conic is not None or Ability.HESSIAN in self.problem.abilities)

    @cached_property
    def trace_limit(self) -> TraceBound | None:
        """The caller's bound on tr M, or one that the constraints imply, or None."""
        if self.given_trace_bound is not None:
            return TraceBound(self.given_trace_bound, 0.0, "given")
        return None if self.contradiction is not None else self._implied

    @cached_property
    def definite_part(self) -> float:
        """c > 0 with C ⪰ c I, for a linear F by entries; 0 if there is none. Then c tr M <= F(M) less its constant."""
        return 0.0 if self.linear is None else definite_part(self.linear[0])

    @cached_property
    def contradiction(self) -> Array | None:
        """w (m,) that proves that no M is feasible, if one is found without a search; else None.

        A*(w) ⪰ I and σ(w) < 0; or w has one entry, its A_t is zero on the face, and its bounds exclude zero, by more
        than rounding of the largest bound.
        """
        implied = self._implied
        if implied is not None and implied.value < 0.0:
            return implied.weights
        if self.carried is None or (self.face is not None and self.face.searched):
            return None
        gone = self.carried.norms == 0.0
        if self.cones is not None:
            gone &= ~self.cones.member  # one value says nothing of its cone
        off = np.where(gone, self.scale * self.violation(np.zeros(self.m)), 0.0)
        worst = int(np.argmax(np.abs(off)))
        bounds = self.scale * np.array([self.lower, self.upper])
        largest = float(np.max(np.abs(bounds), where=np.isfinite(bounds), initial=0.0))
        missed = abs(float(off[worst])) > NEGLIGIBLE * largest
        return np.sign(off) * (np.arange(self.m) == worst) if missed else None

    @cached_property
    def _implied(self) -> TraceBound | None:
        d, forms = self.fixed_diagonal, self.forms
        if d is None or forms is None:
            return found_trace_bound(forms, self.allowed, self.norms)
        total, lost = math.fsum(d), rounding(math.fsum(d), forms.n)
        return TraceBound(total + lost, total - lost, "constraints", 1.0 / forms.B.data)

    def measured(self, Y: Array) -> Array:
        """(⟨A_t, Y Yᵀ⟩)_t, (m,), always on the host. O(p r)."""
        images = Images(self.measurement.maps, Y)
        return np.asarray(on_host(self.measurement.pair(images, images)))

    def violation(self, a: Array) -> Array:
        """a − Π(a), (m,): the signed distances of measured values from their bounds."""
        return self.allowed.violation(a)

    @cached_property
    def homogeneous(self) -> NDArray[np.bool_]:
        """Which constraints are ⟨A_t, M⟩ = 0, (m,)."""
        return np.asarray((self.lower == 0.0) & (self.upper == 0.0))

    def admissible(self, y: Array) -> Array:
        """y moved to where σ is finite (:class:`~psdopt.constraints.allowed.Allowed`)."""
        return self.allowed.admissible(y)

    def support(self, y: Array) -> float:
        """σ(y) = sup ⟨y, a⟩ over the allowed values a, for an admissible y."""
        return self.allowed.support(y)

    def at(self, Y: Array) -> ConstrainedEvaluation:
        there = self.problem.at(Y)
        return ConstrainedEvaluation(self, there.factor, [there])

    def value_at_zero(self) -> float:
        return self.once("value at zero", self.problem.value_at_zero)

    def __repr__(self) -> str:
        return f"Constrained({type(self.problem).__name__}, n={self.n}, m={self.m})"


class ConstrainedEvaluation(CompositeEvaluation):
    """F at M = Y Yᵀ as its own problem evaluates it, and the measurements of the constraints there."""

    @cached_property
    def measured(self) -> Array:
        """(⟨A_t, M⟩)_t, (m,)."""
        return np.asarray(self.problem.measured(self.factor))

    def best_multiple(self) -> float:
        """The alpha >= 0 that brings A(alpha M) nearest to the bounds, in units of |A_t|; 1 if there is none."""
        a, p, scale = self.measured, self.problem, self.problem.scale
        alpha = 1.0
        for _ in range(20):
            target = p.allowed.nearest(alpha * a)
            new = float((scale * target) @ (scale * a)) / max(float((scale * a) @ (scale * a)), np.finfo(float).tiny)
            if not 0.0 < new < math.inf or abs(new - alpha) <= 1e-3 * alpha:
                break
            alpha = new
        return alpha
