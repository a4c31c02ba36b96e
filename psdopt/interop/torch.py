"""Problems as differentiable functions in PyTorch.

solved = layer(lambda C: Constrained(QuadraticSDP(C=C), constraints.diagonal(n, 1.0)), n)
loss(solved(C)).backward()
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from psdopt.contracts.problem import Problem
from psdopt.errors import InvalidInputError, MissingDependencyError
from psdopt.interop._layer import Layer

__all__ = ["layer"]


def layer(
    build: Callable[..., Problem], n: int, names: Sequence[str] | None = None, **options: Any
) -> Callable[..., Any]:
    """Tensors ↦ the minimiser M (n, n) of build(*arrays), a float64 tensor with a gradient.

    The run and the derivative (:class:`psdopt.Adjoint`) are on the host; M is on the device of the first tensor. A
    batch is a loop: ``torch.stack([solved(C) for C in batch])``. The derivative by a symmetric matrix is symmetric.

    Parameters
    ----------
    build : makes a problem of order `n` from NumPy arrays. names : the names of the arrays among the data of the
        problem, such as "C" or "bounds"; None: those of the arguments of `build`. options : for :func:`psdopt.solve`.

    Raises
    ------
    MissingDependencyError without PyTorch; InvalidInputError for tensors that are not float64;
    NotDifferentiableError where the minimiser has no derivative.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingDependencyError("psdopt.interop.torch needs PyTorch: pip install 'psdopt[torch]'") from error
    held = Layer(build, n, names, **options)

    def on_host(tensor: Any) -> Any:
        if tensor.dtype != torch.float64:
            raise InvalidInputError(f"layers need double precision, tensor.double(); found {tensor.dtype}")
        return tensor.detach().cpu().numpy()

    class Solved(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, *tensors: Any) -> Any:
            context.save_for_backward(*tensors)
            M = held.matrix(*map(on_host, tensors))
            return torch.as_tensor(M, device=tensors[0].device)

        @staticmethod
        def backward(context: Any, dM: Any) -> Any:
            tensors = context.saved_tensors
            found = held.gradients(*map(on_host, tensors), on_host(dM))
            pairs = zip(found, tensors, strict=True)
            return tuple(torch.as_tensor(np.array(each), device=tensor.device) for each, tensor in pairs)

    return Solved.apply  # type: ignore[no-any-return]
