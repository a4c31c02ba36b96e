"""The derivatives of powers and of sums in autograd: products and views in the place of powers and copies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd.core import primitive_vjps
from autograd.extend import defvjp_argnums

#: autograd's own rules: (numbers of the arguments, result, arguments, named arguments) to the derivative's pull-back.
Rule = Callable[[Sequence[int], Any, Sequence[Any], dict[str, Any]], Callable[[Any], Any]]
POWER: Rule = primitive_vjps[anp.power]
SUM: Rule = primitive_vjps[anp.sum]


def register() -> None:
    """Let autograd, in this process, differentiate xᵖ for a number p, and sums of real arrays, by the rules below.

    The derivatives are those of its own rules, which serve everything else. For xᵖ these take p − 1 from an array, so
    that NumPy computes a power of every entry where p = 2 needs none; for sums they write the number that entries share
    into an array of their own. A product with the Hessian of a sum of squares takes half the time, or a little more.
    """
    defvjp_argnums(anp.power, _power)
    defvjp_argnums(anp.sum, _sum)


def _power(argnums: Sequence[int], ans: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Callable[[Any], Any]:
    """∂xᵖ/∂x = p x^(p−1), for a number p that is not differentiated."""
    if tuple(argnums) != (0,) or kwargs or not isinstance(args[1], (int, float)):
        return POWER(argnums, ans, args, kwargs)
    x, p = args
    if p in (0, 1):
        return lambda g: (p * g,)
    return lambda g: (g * (p * (x if p == 2 else anp.power(x, p - 1))),)


def _sum(argnums: Sequence[int], ans: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Callable[[Any], Any]:
    """Every entry has the derivative of the sum it is in: a view of these."""
    x, shape = args[0], anp.shape(args[0])
    if len(args) > 2 or not math.prod(shape) or not shape or anp.iscomplexobj(x):
        return SUM(argnums, ans, args, kwargs)
    axis = args[1] if len(args) == 2 else kwargs.get("axis")
    kept = np.array(shape)
    kept[slice(None) if axis is None else np.array(axis, dtype=int)] = 1
    return lambda g: (anp.broadcast_to(anp.reshape(g, tuple(kept)), shape),)
