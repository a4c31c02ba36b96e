"""The backends by name, each imported when it is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from psdopt.errors import MissingDependencyError
from psdopt.problems.functions.backend import Backend

BACKENDS = ("autograd", "torch", "jax")


def backend_of(name: str, function: Callable[..., Any], parameters: Any, device: Any) -> Backend:
    """The function with the derivatives of a library. Raises MissingDependencyError if it is not installed."""
    try:
        if name == "torch":
            from psdopt.problems.functions.with_torch import Torch

            return Torch(function, parameters, device)
        if name == "jax":
            from psdopt.problems.functions.with_jax import Jax

            return Jax(function, parameters)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != name:
            raise
        raise MissingDependencyError(f"backend={name!r} is not installed: pip install 'psdopt[{name}]'") from error
    from psdopt.problems.functions.with_autograd import Autograd

    return Autograd(function, parameters)
