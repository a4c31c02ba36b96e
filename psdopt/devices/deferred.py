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

from psdopt.errors import InvalidTypeError

#: NumPy's ufuncs of arithmetic and comparison -> the operator, for arrays of any library.
OPERATORS: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.power: operator.pow,
    np.negative: operator.neg,
    np.absolute: operator.abs,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
}


#: NumPy function or ufunc -> its counterpart for arrays on a device; :mod:`psdopt.devices.functions` fills it in.
NUMPY: dict[Any, Callable[..., Any]] = {}


def _direct(operation: Callable[..., Any]) -> Any:
    return lambda self, *others: self.computed(operation, self, *others)


def _reflected(operation: Callable[..., Any]) -> Any:
    return lambda self, other: self.computed(operation, other, self)


class Operators:
    """The operators of a class, all by its method ``computed(operation, *operands)``."""

    __slots__ = ()
    __add__, __sub__, __mul__, __truediv__ = map(_direct, (operator.add, operator.sub, operator.mul, operator.truediv))
    __radd__, __rsub__, __rmul__ = map(_reflected, (operator.add, operator.sub, operator.mul))
    __rtruediv__, __rmatmul__ = map(_reflected, (operator.truediv, operator.matmul))
    __pow__, __matmul__ = _direct(operator.pow), _direct(operator.matmul)
    __neg__, __abs__ = _direct(operator.neg), _direct(operator.abs)
    __lt__, __le__, __gt__, __ge__ = map(_direct, (operator.lt, operator.le, operator.gt, operator.ge))
    __eq__, __ne__ = map(_direct, (operator.eq, operator.ne))
    __hash__ = object.__hash__


class OnDevice:
    """Arrays that stay on a device, and to which NumPy dispatches; :class:`Deferred` leaves operations to them."""

    __slots__ = ()

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise InvalidTypeError(
            f"a NumPy array is needed here; found an array of {getattr(self, 'device', None)}. Hand the data in as "
            "NumPy arrays, or choose pieces that take arrays on a device (docs/guide/large_data.md)"
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        known = NUMPY.get(ufunc)
        if known is None or method != "__call__" or options:
            return self.__array__() if known is None else NotImplemented
        return known(*inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        known = NUMPY.get(function)
        return self.__array__() if known is None else known(*args, **options)


class Deferred(Operators):
    """A number or small array, computed on a device or from other Deferred values, and fetched when it is needed.

    Arithmetic and NumPy's ufuncs make another Deferred and fetch nothing. ``float``, ``bool``, entries, methods and all
    other functions of NumPy fetch it. `raw` is the array on the device; None once fetched, or if the value is computed
    on the host.
    """

    __slots__ = ("__weakref__", "_found", "_make", "_there", "raw")
    _make: Any

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
        self._found, self.raw, self._make, self._there = value, None, None, None

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

    def computed(self, operation: Callable[..., Any], *operands: Any) -> Any:
        """A number or an array if all operands are on the host, else another Deferred."""
        if any(isinstance(x, OnDevice) for x in operands):
            return NotImplemented
        if any(isinstance(x, Deferred) and x._found is None for x in operands):
            there = None if isinstance(operation, np.ufunc) else partial(_computed_there, operation, operands)
            return Deferred(lambda: operation(*map(here, operands)), there=there)
        return operation(*map(here, operands))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.value, dtype=dtype) if copy else np.asarray(self.value, dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(x, OnDevice) for x in inputs):
            return NotImplemented
        if method == "__call__" and not options and all(isinstance(x, _HELD) for x in inputs):
            return self.computed(OPERATORS.get(ufunc, ufunc), *inputs)
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


def _computed_there(operation: Callable[..., Any], inputs: tuple[Any, ...]) -> Any:
    """An operation on the device; None if it would require sending an array from the host."""
    parts = []
    for part in inputs:
        if isinstance(part, Deferred):
            part = part._found if part.is_here else part.there()
        if part is None or isinstance(part, np.ndarray):
            return None
        parts.append(float(part) if isinstance(part, np.generic) else part)
    return operation(*parts)


def _all_here(x: Any) -> Any:
    return type(x)(map(here, x)) if isinstance(x, (list, tuple)) else here(x)


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
