"""Functions written with PyTorch, on the processor or on a device where all arrays stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import torch

from psdopt.devices import device_of
from psdopt.linalg.arrays import Array
from psdopt.problems.functions.backend import Backend, Local


class Torch(Backend):
    """PyTorch's autograd in float64. NumPy arrays and tensors of the processor share their memory.

    `device` : None for NumPy arrays outside, else the device on which every array is and stays.
    """

    name: ClassVar[str] = "torch"
    single: ClassVar[str] = "turn its tensors and modules into double precision, by .double()"
    failures: tuple[type[Exception], ...] = (np.linalg.LinAlgError, torch.linalg.LinAlgError)

    def __init__(self, function: Callable[..., Any], parameters: Any = None, device: Any = None) -> None:
        super().__init__(function, parameters)
        self.outside = device is None
        if device is not None:
            sample = torch.zeros(1, dtype=torch.float64, device=device)
            self.device = device_of(sample, "device")

    def checked(self, found: Any) -> Any:
        number = isinstance(found, (int, float))
        return super().checked(torch.tensor(float(found), dtype=torch.float64) if number else found)

    def _taken(self, x: Any) -> torch.Tensor:
        return torch.from_numpy(np.require(x, requirements=["C", "W"])) if self.outside else x

    def _given(self, t: torch.Tensor) -> Any:
        return t.detach().numpy() if self.outside else t.detach()

    def plain_value(self, x: Array) -> float:
        with torch.no_grad():
            return float(self(self._taken(x)))

    def plain_first_order(self, x: Array) -> tuple[float, Array]:
        at = self._taken(x).detach().requires_grad_()
        with torch.enable_grad():
            value = self(at)
            G: Array = self._given(_derivative(value, at, again=False))
        return float(value.detach()), G

    def plain_second_order(self, x: Array) -> Local:
        at = self._taken(x).detach().requires_grad_()
        with torch.enable_grad():
            value = self(at)
            G = _derivative(value, at)

        def product(D: Array) -> Array:
            found: Array = self._given(_derivative(G, at, self._taken(D), again=False))
            return found

        return Local(float(value.detach()), self._given(G), product)

    def plain_outward(self, Z: Array, C: Array) -> tuple[Any, Any]:
        Z, C = self._taken(Z), self._taken(C)
        t = torch.zeros((), dtype=Z.dtype, device=Z.device, requires_grad=True)
        with torch.enable_grad():
            second = _twice(self(torch.cat([Z, t * C], dim=1)), t)
            return second.detach(), _twice(second, t).detach()

    def plain_parameter_gradient(self, x: Array, D: Array | None) -> Any:
        parameters, leaves = self._leaves()
        at = self._taken(x).detach().requires_grad_()
        with torch.enable_grad():
            slope = self(at, parameters)
            if D is not None:
                slope = (_derivative(slope, at) * self._taken(D)).sum()
        found = iter([_derivative(slope, leaf).detach() for leaf in leaves])
        return _mapped(self.parameters, lambda _: next(found))

    def plain_parameter_force(self, x: Array, along: Any) -> Array:
        parameters, leaves = self._leaves()
        tangents: list[torch.Tensor] = []
        _mapped(along, lambda t: tangents.append(torch.as_tensor(t)))
        at = self._taken(x).detach().requires_grad_()
        with torch.enable_grad():
            value = self(at, parameters)
            slope = sum((_derivative(value, p) * t).sum() for p, t in zip(leaves, tangents, strict=True))
            moved: Array = self._given(_derivative(slope, at, again=False))
        return moved

    def _leaves(self) -> tuple[Any, list[torch.Tensor]]:
        """The parameters as new leaves of a graph, and these in order."""
        leaves: list[torch.Tensor] = []

        def leaf(t: torch.Tensor) -> torch.Tensor:
            leaves.append(t.detach().requires_grad_())
            return leaves[-1]

        return _mapped(self.parameters, leaf), leaves


def _derivative(y: Any, x: Any, along: Any = None, again: bool = True) -> Any:
    """∂⟨y, along⟩/∂x, zero where y does not depend on x; the graph stays for more of them."""
    if not y.requires_grad:
        return torch.zeros_like(x)
    found = torch.autograd.grad(y, x, along, retain_graph=True, create_graph=again, materialize_grads=True)
    return found[0]


def _twice(y: Any, x: Any) -> Any:
    return _derivative(_derivative(y, x), x)


def _mapped(tree: Any, change: Callable[[Any], Any]) -> Any:
    """The dicts, lists and tuples of `tree`, with their tensors changed in order."""
    if isinstance(tree, dict):
        return {key: _mapped(value, change) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(_mapped(value, change) for value in tree)
    return change(tree)
