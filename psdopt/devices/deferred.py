"""Deferred device results: all pending ones are copied to the host in one transfer, when the first is used.

A step of a method needs a dozen numbers and small matrices from a device. Each transfer waits until the device has
finished all earlier work, so that a dozen transfers leave the device idle a dozen times. A :class:`Deferred` is a
result that has been requested but not yet used.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Self
from weakref import ReferenceType, ref

import numpy as np
from numpy.typing import NDArray


class OnDevice:
    """Marker for arrays that stay on a device; :class:`Deferred` leaves binary operations to them."""

    __slots__ = ()


class Deferred:
    """A number or small array, computed on a device or from other Deferred values, and fetched when it is needed.

    Arithmetic and NumPy's ufuncs make another Deferred and fetch nothing. ``float``, ``bool``, entries, methods and all
    other functions of NumPy fetch it. `raw` is the array on the device; None once fetched, or if the value is computed
    on the host.
    """

    __slots__ = ("__weakref__", "_found", "_make", "_there", "raw")

    def __init__(self, make: Callable[[], Any], raw: Any = None, there: Callable[[], Any] | None = None) -> None:
        self.raw, self._make, self._found, self._there = raw, make, None, there

    @property
    def value(self) -> Any:
        """The NumPy array, or the number."""
        if self._found is None:
            self.arrive(self._make())
        return self._found

    @property
    def is_here(self) -> bool:
        return self._found is not None

    def arrive(self, value: Any) -> None:
        """Set the value, and release the operands it is computed from."""
        self._found, self.raw, self._make, self._there = value, None, _made_already, None

    def there(self) -> Any:
        """The array on the device, computed there if needed, for arithmetic that stays there; None if impossible.

        A number that only scales an array of the device need not come to the host.
        """
        if self.raw is None and self._there is not None:
            self.raw = self._there()
        return self.raw

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(np.shape(self.value) if self.raw is None else self.raw.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def T(self) -> Deferred:
        return Deferred(lambda: self.value.T)

    def _with(self, operation: Callable[..., Any], *others: Any) -> Any:
        """operation(self, *others): a number or an array if all operands are on the host, else another Deferred."""
        if any(isinstance(other, OnDevice) for other in others):
            return NotImplemented
        if self._found is None or any(isinstance(other, Deferred) and other._found is None for other in others):
            there = partial(self._apply, operation, others)
            return Deferred(lambda: operation(self.value, *map(here, others)), there=there)
        return operation(self._found, *map(here, others))

    def _apply(self, operation: Callable[..., Any], others: tuple[Any, ...]) -> Any:
        """operation on the device; None if it would require sending an array from the host."""
        parts = []
        for part in (self, *others):
            if isinstance(part, Deferred):
                part = part.there() if part._found is None else part._found
            if part is None or isinstance(part, np.ndarray):
                return None
            parts.append(float(part) if isinstance(part, np.generic) else part)
        return operation(*parts)

    def __add__(self, other: Any) -> Any:
        return self._with(operator.add, other)

    def __sub__(self, other: Any) -> Any:
        return self._with(operator.sub, other)

    def __rsub__(self, other: Any) -> Any:
        return self._with(lambda a, b: b - a, other)

    def __mul__(self, other: Any) -> Any:
        return self._with(operator.mul, other)

    def __truediv__(self, other: Any) -> Any:
        return self._with(operator.truediv, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with(lambda a, b: b / a, other)

    def __pow__(self, other: Any) -> Any:
        return self._with(operator.pow, other)

    def __matmul__(self, other: Any) -> Any:
        return self._with(operator.matmul, other)

    def __rmatmul__(self, other: Any) -> Any:
        return self._with(lambda a, b: b @ a, other)

    def __lt__(self, other: Any) -> Any:
        return self._with(operator.lt, other)

    def __le__(self, other: Any) -> Any:
        return self._with(operator.le, other)

    def __gt__(self, other: Any) -> Any:
        return self._with(operator.gt, other)

    def __ge__(self, other: Any) -> Any:
        return self._with(operator.ge, other)

    def __eq__(self, other: Any) -> Any:
        return self._with(operator.eq, other)

    def __ne__(self, other: Any) -> Any:
        return self._with(operator.ne, other)

    def __neg__(self) -> Any:
        return self._with(operator.neg)

    def __abs__(self) -> Any:
        return self._with(abs)

    __radd__, __rmul__, __hash__ = __add__, __mul__, object.__hash__

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.value, dtype=dtype) if copy else np.asarray(self.value, dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(x, OnDevice) for x in inputs):
            return NotImplemented
        waits = any(isinstance(x, Deferred) and not x.is_here for x in inputs)
        if waits and method == "__call__" and not options and all(isinstance(x, _HELD) for x in inputs):
            return Deferred(lambda: ufunc(*map(here, inputs)))
        return getattr(ufunc, method)(*map(here, inputs), **options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if any(issubclass(kind, OnDevice) for kind in types):
            return NotImplemented
        return function(*map(_all_here, args), **{key: _all_here(value) for key, value in options.items()})

    def __float__(self) -> float:
        return float(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        return self.value[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.value, name)

    def __repr__(self) -> str:
        return repr(self.value)

    def __format__(self, specification: str) -> str:
        return format(self.value, specification)

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        return np.asarray, (self.value,)


_HELD = (Deferred, np.ndarray, np.generic, int, float)


def here(x: Any) -> Any:
    """The value of a Deferred; anything else as it is."""
    return x.value if isinstance(x, Deferred) else x


def _all_here(x: Any) -> Any:
    return type(x)(map(here, x)) if isinstance(x, (list, tuple)) else here(x)


def _made_already() -> Any:
    raise AssertionError("a result that is here is not computed again")


class Waiting(threading.local):
    """The results of one device that have been requested and not yet fetched, separately for each thread."""

    def __init__(self) -> None:
        self._waiting: list[ReferenceType[Deferred]] = []

    def ask(self, raw: Any, fetch: Callable[[list[Any]], Iterable[Any]]) -> Deferred:
        """`raw` as a Deferred that shares a transfer with all others of this thread; `fetch` copies a list of them."""

        def gather() -> Any:
            asked, self._waiting = [known() for known in self._waiting], []
            leaves = [leaf for leaf in asked if leaf is not None and not leaf.is_here and leaf is not result()]
            first, *others = fetch([raw, *(leaf.raw for leaf in leaves)])
            for leaf, value in zip(leaves, others, strict=True):
                leaf.arrive(value)
            return first

        leaf = Deferred(gather, raw)
        result = ref(leaf)
        self._waiting.append(result)
        return leaf
