"""The states of BILGO: of its atoms and of its local search."""

from __future__ import annotations

import math
from dataclasses import dataclass

from psdopt.linalg.arrays import Array
from psdopt.method import Method, State


@dataclass(kw_only=True)
class AtomState(State):
    """The iterate and the least eigenvectors of S there.

    `gradient_norm` is 2 max(|S Y|, max(0, −λ_min(S)) |Y|): the residual of *both* optimality conditions, in
    the units of the factor gradient, so that a small one means optimal and not only stationary.
    `waiting` : whether more atoms follow before the next local search. `due` : whether a local search begins here, from
    the `block` of atoms that the problem proposed or from others. `resumed` : the search that continues instead of
    atoms.
    """

    vectors: Array
    smallest: float = math.nan
    atoms: int = 0
    iteration: int = 0
    waiting: bool = True
    proven_at: float = math.inf
    due: bool = False
    block: bool = False
    resumed: SearchState | None = None


@dataclass(kw_only=True)
class SearchState(State):
    """A local search: the state `inner` of its method, what was `known` of eigenvectors at its start.

    It is `over` at the residual `goal` (|S Y| / |Y|), after `limit` steps, or where its method ends. `growing` : the
    rank is still far from right.
    """

    inner: State
    searcher: Method
    known: AtomState
    goal: float
    limit: int
    growing: bool
    iteration: int
    steps: int = 0
    over: bool = False
