"""A problem from a plain NumPy function of M: the slow reference for tests of hand-written problems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from psdopt.problems.functions.problem import FunctionProblem


class AutogradProblem(FunctionProblem):
    """A function of the dense matrix M written with ``autograd.numpy``: the NumPy case of `FunctionProblem`.

    Every quantity is computed from scratch at O(n²) memory and the cost of `function`: use it for n up to a few
    hundred, to try an idea, and as an oracle in tests.

    Parameters
    ----------
    function : callable M (n, n) -> scalar. Where it raises ``numpy.linalg.LinAlgError``, as a Cholesky factor of a
        singular M does, F is +inf.
    n : order of M.
    convex : whether F is convex; without it a certificate never proves global optimality.
    """

    def __init__(self, function: Callable[[Any], Any], n: int, convex: bool = False) -> None:
        super().__init__(function, n, convex=convex)
