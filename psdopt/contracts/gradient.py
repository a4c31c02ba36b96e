"""∇F(M) as an operator on blocks, and as an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from psdopt.devices import Device, held, is_device_array, on_host
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array, as_array
from psdopt.linalg.extreme import DENSE_LIMIT

if TYPE_CHECKING:
    from psdopt.contracts.problem import Evaluation, Problem


class GradientOperator(LinearOperator):
    """S = ∇F(M) as an operator on blocks. Blocks whose product is already known cost nothing.

    `apply` maps a block (n, k) to S times it; `known` holds (block, product) pairs recognised by
    identity, such as the factor of the evaluation itself. `entries` returns S as a new array (n, n), or None if
    products are cheaper. `device` is the device of products, if they are not NumPy arrays. `remote` : whether a
    product is a round of requests to other processes, as dear as S as a whole.
    """

    def __init__(
        self,
        n: int,
        apply: Callable[[Array], Array],
        known: Callable[[Array], Array | None],
        entries: Callable[[], Array | None] = lambda: None,
        device: Device | None = None,
        remote: bool = False,
    ) -> None:
        super().__init__(np.dtype(np.float64), (n, n))  # type: ignore[call-arg]
        self._apply, self._known, self.entries, self.device, self.remote = apply, known, entries, device, remote

    def __matmul__(self, V: Any) -> Any:
        # blocks, the common case, bypass SciPy's dispatch, which costs as much as a small product
        if type(V) is np.ndarray and V.ndim == 2 and V.shape[0] == self.shape[0]:
            return self._matmat(V)
        if is_device_array(V):
            return self._matmat(held(V)) if V.ndim == 2 else self._matvec(held(V))
        return super().__matmul__(V)

    def _matmat(self, V: Array) -> Array:
        product = self._known(V)
        if product is None:
            deadline.ask()
        return self._apply(as_array(V)) if product is None else product

    def _matvec(self, v: Array) -> Array:
        # SciPy sends blocks of one column here as well
        return self._matmat(v) if v.ndim == 2 else self._matmat(v.reshape(-1, 1)).reshape(-1)

    def _adjoint(self) -> GradientOperator:
        return self

    def _transpose(self) -> GradientOperator:
        return self


def is_remote(gradient: LinearOperator) -> bool:
    """Whether a product with S = `gradient` is a round of requests to other processes."""
    return isinstance(gradient, GradientOperator) and gradient.remote


def dense_gradient(evaluation: Evaluation) -> Array:
    """S = ∇F(M) as a new symmetric array (n, n): assembled if its entries are available, else by n products.

    Products are taken DENSE_LIMIT columns at a time.
    """
    operator, n = evaluation.gradient, evaluation.problem.n
    entries = operator.entries() if isinstance(operator, GradientOperator) else None
    if entries is None:
        unit = np.eye(n)
        blocks = [unit[:, start : start + DENSE_LIMIT] for start in range(0, n, DENSE_LIMIT)]
        entries = np.hstack([np.asarray(on_host(operator @ block)) for block in blocks])
    S: Array = np.asarray(entries)
    symmetric: Array = S + S.T
    symmetric *= 0.5
    return symmetric


def value_and_gradient(problem: Problem, Y: Array) -> tuple[float, Array]:
    """F(Y Yᵀ) and ∇F(Y Yᵀ) as a new symmetric array (n, n), for a Y of which nothing else is asked."""
    found = problem.value_and_gradient_at(Y)
    if found is None:
        there = problem.at(Y)
        S = dense_gradient(there)
        found = float(there.value), S
    return found
