"""Bilateral greedy optimisation on the PSD cone: atoms and local search on the factor take turns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

from psdopt.checks import integer, is_name, number, one_of
from psdopt.contracts.abilities import Requires
from psdopt.contracts.method import Method, Residual, State
from psdopt.contracts.problem import Problem
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.least import BACKENDS
from psdopt.methods.alternating import Alternating, AlternatingState, InTurns
from psdopt.methods.bilgo.atoms import ALPHA_BOUNDS, GreedyAtoms
from psdopt.methods.bilgo.search import AtomState, LocalSearch, SearchState
from psdopt.methods.conjugate_gradient import ConjugateGradient


@dataclass(frozen=True)
class BILGO(InTurns[State]):
    """M⁺ = alpha M + Σ beta_i v_i v_iᵀ, v the leading eigenvectors of −∇F(M) (Hao et al., algorithm 1).

    Both weights are found exactly: the minimiser over alpha, beta >= 0 of a quadratic in two variables, or
    by projected Newton steps if F is not quadratic. alpha <= 1 is *not* imposed: the best alpha may be larger, and the
    bound makes warm starts slow. M stays factored; columns that M does not need are dropped without applying a map.
    Every step of the local search is a step of the method.

    Without a local search the greedy rule is sublinear (O(1/k)). With a local search the method is as fast as
    that search, and still global: at a stationary point of too low a rank the certificate fails, and atoms lower F
    further. After a search only directions outside the span of M become atoms; otherwise the same search continues.
    From M = 0 the first step takes the block of atoms that the problem proposes, if it proposes one
    (:meth:`psdopt.contracts.roles.Starts.first_atoms`), since growing a nearly full rank block by block costs more
    than a whole search at that rank.

    Parameters
    ----------
    local_search : method for the factor between atoms (ConjugateGradient(), LBFGS(), ...); "default" is
        ConjugateGradient(), None is the plain greedy method of the paper.
    every : least number of atoms between local searches, unless S offers fewer.
    eigenvectors : largest number of atoms from one eigensolve; 1 in the paper. 0 means the number still missing before
        the next local search or the number of columns of M, whichever is larger, and at M = 0 the problem's block. Each
        atom has its own bilateral search; if a local search follows, atoms beyond `every` enter as one block.
    rule : "bilgo"; or, for comparison, "journee" (alpha = 1), "random-conic" (random conic pursuit: v is
        drawn from N(0, (M + I)/2)), "laue" (0 <= alpha <= 1, local search after every atom).
    backend : eigensolver, see :func:`psdopt.linalg.least_eigenpairs`.
    seed : for the random rule and starting vectors.
    search_fraction : in (0, 1); while the rank grows, a local search ends when |S Y| is this fraction of
        |λ_min(S)| |Y|.
    first_steps : most steps of a local search before the eigenvectors of S are computed again; half of them while the
        rank grows, and twice as many each time that a search continues, up to 200.

    Atoms and local search are two methods that take turns (:class:`~psdopt.methods.alternating.Alternating`). In steps
    of the search the history's column `phase` is 1.

    Start it from M = 0 (``start=np.zeros((n, 1))``) or from any M, of any rank.

    Cost of an atom: one eigensolve with S, warm-started, one application of the maps to one column, O(n r).
    """

    local_search: Method | str | None = "default"
    every: int = 5
    eigenvectors: int = 0
    rule: str = "bilgo"
    backend: str = "auto"
    seed: int = 0
    search_fraction: float = 0.3
    first_steps: int = 16

    starts_at_zero: ClassVar[bool] = True
    requires: ClassVar[Requires] = GreedyAtoms.requires
    descends: ClassVar[bool] = True
    scale_invariant: ClassVar[bool] = True
    unit_invariant: ClassVar[bool] = True
    residual: ClassVar[Residual] = Residual.OPTIMALITY

    def __post_init__(self) -> None:
        if isinstance(self.local_search, str) and self.local_search != "default":
            raise InvalidInputError(f"local_search must be a method, None or 'default'; found {self.local_search!r}")
        if not (self.local_search is None or isinstance(self.local_search, (str, Method))):
            raise InvalidTypeError(f"local_search must be a method, None or 'default'; found {self.local_search!r}")
        integer(self.every, "every")
        integer(self.eigenvectors, "eigenvectors", 0)
        one_of(self.rule, "rule", ALPHA_BOUNDS)
        if is_name(self.backend, "lobpcg"):
            warnings.warn("BILGO(backend='lobpcg') is deprecated: 'auto' is used", DeprecationWarning, stacklevel=3)
            object.__setattr__(self, "backend", "auto")
        one_of(self.backend, "backend", BACKENDS)
        number(self.search_fraction, "search_fraction", above=0.0, below=1.0)
        integer(self.first_steps, "first_steps")

    @property
    def searcher(self) -> Method | None:
        """The local search as a method, or None."""
        return ConjugateGradient() if isinstance(self.local_search, str) else self.local_search

    def turns(self, problem: Problem, columns: int) -> Method:
        """Atoms alone, or atoms and local search in turn."""
        searcher = self.searcher
        every = 1 if self.rule == "laue" else self.every
        atoms = GreedyAtoms(searcher is not None, every, self.eigenvectors, self.rule, self.backend, self.seed)
        if searcher is None:
            return atoms
        search = LocalSearch(searcher, self.search_fraction, self.first_steps)
        return Alternating(atoms, search, _search_is_due, switch_back=_search_is_over)


def _search_is_due(state: AlternatingState) -> bool:
    return isinstance(state.inner, AtomState) and state.inner.due


def _search_is_over(state: AlternatingState) -> bool:
    return isinstance(state.inner, SearchState) and state.inner.over
