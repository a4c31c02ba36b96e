"""Problems as functions in JAX: differentiable in reverse mode, under ``jit`` and ``vmap``.

solved = layer(lambda C: Constrained(QuadraticSDP(C=C), constraints.diagonal(n, 1.0)), n)
jax.grad(lambda C: loss(solved(C)))(C)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from psdopt.contracts.problem import Problem
from psdopt.errors import InvalidInputError, MissingDependencyError
from psdopt.interop._layer import Layer

__all__ = ["layer"]


def layer(
    build: Callable[..., Problem], n: int, names: Sequence[str] | None = None, **options: Any
) -> Callable[..., Any]:
    """arrays ↦ the minimiser M (n, n) of build(*arrays), a function of JAX in double precision.

    The run is a callback on the host, and so is the derivative (:class:`psdopt.Adjoint`); ``vmap`` is a loop over them.
    The derivative by a symmetric matrix is symmetric.

    Parameters
    ----------
    build : makes a problem of order `n` from NumPy arrays. names : the names of the arrays among the data of the
        problem, such as "C" or "bounds"; None: those of the arguments of `build`. options : for :func:`psdopt.solve`.

    Raises
    ------
    MissingDependencyError without JAX; InvalidInputError unless ``jax_enable_x64`` is set. Within callbacks JAX
    replaces errors, such as NotDifferentiableError, by its own, which contain their text.
    """
    try:
        jax: Any = import_module("jax")
    except ImportError as error:
        raise MissingDependencyError("psdopt.interop.jax needs JAX: pip install 'psdopt[jax]'") from error
    held = Layer(build, n, names, **options)

    def called(function: Callable[..., Any], shapes: Any, *arrays: Any) -> Any:
        if not jax.config.jax_enable_x64:
            text = "layers need double precision: jax.config.update('jax_enable_x64', True); found single precision"
            raise InvalidInputError(text)
        return jax.pure_callback(function, shapes, *arrays, vmap_method="sequential")

    def shape(*lengths: int) -> Any:
        return jax.ShapeDtypeStruct(lengths, "float64")

    @jax.custom_vjp
    def solved(*arrays: Any) -> Any:
        return called(held.matrix, shape(n, n), *arrays)

    def forth(*arrays: Any) -> Any:
        return solved(*arrays), arrays

    def back(arrays: Any, dM: Any) -> Any:
        return called(held.gradients, tuple(shape(*each.shape) for each in arrays), *arrays, dM)

    solved.defvjp(forth, back)
    return solved  # type: ignore[no-any-return]
