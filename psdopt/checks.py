"""Checks of arguments: each returns the checked value, or raises one error that says what was found and allowed.

Every function takes the value and the argument's name, with which the message begins. None changes its argument.
Plugins may use them for messages in the style of the library.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from psdopt.devices import require_host
from psdopt.errors import InvalidInputError, InvalidTypeError, unknown_name

__all__ = [
    "CheckedIndices",
    "boolean",
    "brief",
    "classes",
    "finite",
    "indices",
    "instance",
    "instances",
    "integer",
    "integer_or_none",
    "is_name",
    "number",
    "number_or_none",
    "one_of",
    "order_of",
    "positive",
    "real",
    "real_array",
    "shown",
    "squares_finite",
    "unmasked",
    "vector",
    "weight",
]

#: Most characters of a foreign text in a message.
BRIEF = 120

_Name = TypeVar("_Name")
_Kind = TypeVar("_Kind")


def shown(value: Any) -> str:
    """`value` for a message: NumPy scalars like Python's, ``'a'`` and not ``np.str_('a')``."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def instance(value: _Kind, name: str, kind: type[Any]) -> _Kind:
    """`value`, an instance of `kind`. Raises InvalidTypeError."""
    if isinstance(value, kind):
        return value
    hint = "; call it to make an instance" if isinstance(value, type) else ""
    raise InvalidTypeError(f"{name} must be a {kind.__name__}; found {brief(value)}{hint}")


def instances(values: Iterable[_Kind], name: str, kind: type[Any]) -> tuple[_Kind, ...]:
    """A sequence of at least one instance of `kind`, as a tuple.

    Raises InvalidTypeError for anything else, InvalidInputError for an empty sequence.
    """
    try:
        found = tuple(values)
    except TypeError as error:
        wanted = f"a sequence of {kind.__name__} objects"
        raise InvalidTypeError(f"{name} must be {wanted}; found {brief(values)}") from error
    if not found:
        raise InvalidInputError(f"{name} must hold at least one {kind.__name__}; found none")
    return tuple(instance(value, f"{name}[{k}]", kind) for k, value in enumerate(found))


def boolean(value: Any, name: str) -> bool:
    """`value` as a bool. Raises InvalidTypeError for anything but a Python or NumPy bool."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise InvalidTypeError(f"{name} must be True or False; found {brief(value)}")


def brief(value: Any) -> str:
    """`value`, of any type, for a message; a long text is shortened."""
    text = shown(value)
    return text if len(text) <= BRIEF else text[:BRIEF] + "..."


def integer(value: Any, name: str, least: int = 1, most: int | None = None, most_name: str = "", also: str = "") -> int:
    """`value` as an int with least <= value <= most; a bool is refused.

    most_name : name of `most` in the message: ``most_name="n"`` gives "between 1 and n = 5". also : what the caller
    allows as well, for the message: ``also="None or "``.

    Raises InvalidInputError.
    """
    whole = isinstance(value, (int, Integral)) and not isinstance(value, (bool, np.bool_))
    if whole and int(value) >= least and (most is None or int(value) <= most):
        return int(value)
    upper = f"{most_name} = {most}" if most_name else str(most)
    allowed = f"of at least {least}" if most is None else f"between {least} and {upper}"
    raise InvalidInputError(f"{name} must be {also}an integer {allowed}; found {brief(value)}")


def integer_or_none(value: Any, name: str, least: int = 1, most: int | None = None, most_name: str = "") -> int | None:
    """:func:`integer`, but None is returned unchanged, and the error message says that None is allowed."""
    return None if value is None else integer(value, name, least, most, most_name, "None or ")


def number(
    value: Any,
    name: str,
    also: str = "",
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
) -> float:
    """`value` as a finite float with least <= value <= most and above < value < below; `also` as for `integer`.

    Raises InvalidInputError, also for a bool or a string.
    """
    if isinstance(value, (float, Real)) and not isinstance(value, (bool, np.bool_)) and math.isfinite(value):
        x = float(value)
        inside = (least is None or x >= least) and (above is None or x > above)
        if inside and (most is None or x <= most) and (below is None or x < below):
            return x
    bounds = (("of at least", least), ("above", above), ("at most", most), ("below", below))
    allowed = " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)
    wanted = f"{also}a finite number {allowed}".rstrip()
    raise InvalidInputError(f"{name} must be {wanted}; found {brief(value)}")


def number_or_none(value: Any, name: str, **bounds: float | None) -> float | None:
    """:func:`number` and its bounds, but None is returned unchanged, and the error message says that it is allowed."""
    return None if value is None else number(value, name, "None or ", **bounds)


def order_of(value: Any, name: str, known: int, what: str) -> int:
    """`known`, the order given by other arguments, if `value` is None or equal to it; else InvalidInputError."""
    if value is not None and integer(value, name) != known:
        raise InvalidInputError(f"{name} must be {known}, {what}; found {brief(value)}")
    return known


def weight(value: Any, name: str = "weight") -> float:
    """`value` as a finite float of at least 0. Raises InvalidInputError."""
    return number(value, name, least=0.0)


def positive(value: Any, name: str) -> float:
    """`value` as a finite float above 0. Raises InvalidInputError."""
    return number(value, name, above=0.0)


def finite(values: Any, name: str) -> NDArray[np.float64]:
    """`values` as a float64 array without NaN and infinity; a float64 array is not copied. One pass.

    Raises InvalidInputError with the count of bad entries, InvalidTypeError if the entries are not real numbers.
    """
    array: NDArray[np.float64] = values
    if type(values) is not np.ndarray or values.dtype != np.float64:
        array = real_array(values, name)
        try:
            if array.dtype.kind not in "biufO":
                raise TypeError
            array = np.asarray(array, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidTypeError(f"{name} must hold real numbers; found dtype {array.dtype}") from error
    if bad := array.size - int(np.count_nonzero(np.isfinite(array))):
        raise InvalidInputError(f"{name} must be finite; found {bad} NaN or infinite entries")
    return array


def vector(values: Any, name: str, size: int, of: str = "") -> NDArray[np.float64]:
    """`values` as a new finite array (size,); a single number means `size` equal entries.

    of : meaning of the entries, for the message: ``of="one per sample"``. Raises InvalidInputError.
    """
    array = finite(values, name)
    if array.ndim == 0:
        return np.full(size, float(array))
    if array.shape != (size,):
        shape = f"({size},), {of}" if of else f"({size},)"
        raise InvalidInputError(f"{name} must be a number or have shape {shape}; found shape {array.shape}")
    return array.copy()


@dataclass(frozen=True, eq=False)
class CheckedIndices:
    """Indices that have already been checked; :func:`indices` does not check them again.

    array : integers (m,) or (m, columns), read-only. below : all of them lie between 0 and below − 1; None if the range
    is unknown. distinct : whether indices in the same row differ. Parts ``checked[key]`` count as checked too.
    """

    array: NDArray[np.intp]
    below: int | None
    distinct: bool = False

    def __post_init__(self) -> None:
        if self.array.flags.writeable or self.array.dtype != np.intp:
            array = np.array(self.array, dtype=np.intp)
            array.flags.writeable = False
            object.__setattr__(self, "array", array)

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, key: Any) -> CheckedIndices:
        return CheckedIndices(self.array[key], self.below, self.distinct)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.array, dtype) if copy else np.asarray(self.array, dtype)


def indices(
    values: Any,
    name: str,
    below: int | None = None,
    columns: int | None = None,
    empty: bool = True,
    floats: bool = False,
) -> NDArray[np.intp]:
    """`values` as an integer array (m,), or (m, columns), with entries from 0 to below − 1. One pass.

    values : or :class:`CheckedIndices`, whose array is returned without a pass unless their range is too large.
    below : number of indexed objects; None means that the caller checks the range.
    empty : whether m = 0 is allowed. floats : whether whole numbers stored as floats are accepted.

    Raises InvalidInputError for a wrong shape or an index out of range, InvalidTypeError for other entries.
    """
    checked = isinstance(values, CheckedIndices)
    array, known = (values.array, values.below) if checked else (real_array(values, name), None)
    shape = "(m,)" if columns is None else f"(m, {columns})"
    if array.size == 0:
        if not empty:
            one = "index" if columns is None else f"row of {columns} indices"
            raise InvalidInputError(f"{name} must hold at least one {one}; found none")
        return np.empty((0,) if columns is None else (0, columns), dtype=np.intp)
    if array.ndim != (1 if columns is None else 2) or (columns is not None and array.shape[1] != columns):
        raise InvalidInputError(f"{name} must have shape {shape}; found {array.shape}")
    whole = array.dtype.kind in "iu" or (floats and array.dtype.kind == "f" and bool(np.all(array == np.floor(array))))
    if not whole:
        raise InvalidTypeError(f"{name} must hold integers; found dtype {array.dtype}")
    if below is not None and (known is None or known > below) and (wrong := _outside(array, below)) is not None:
        raise InvalidInputError(f"{name} must hold indices between 0 and {below - 1}; found {wrong}")
    return array.astype(np.intp, copy=False)


def _outside(array: NDArray[Any], below: int) -> int | None:
    """An entry that does not lie between 0 and below − 1, None if all do."""
    low, high = int(array.min()), int(array.max())
    return low if low < 0 else high if high >= below else None


def one_of(value: _Name, name: str, allowed: Iterable[Any]) -> _Name:
    """`value`, if it is among `allowed`; else UnknownNameError with the near matches, or with all that are allowed."""
    known = list(allowed)
    if isinstance(value, str) and value in known:
        return value
    raise unknown_name(name, value.item() if isinstance(value, np.generic) else value, map(str, known))


def is_name(value: Any, name: str) -> bool:
    """Whether `value` is the string `name`, for parameters that take a name or something else, such as an array."""
    return isinstance(value, str) and value == name


def classes(labels: Any, name: str = "y", size: int | None = None) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """(the c >= 2 classes of the labels, sorted; each label's position among them, (m,)). O(m log m).

    size : m, if known.

    Raises InvalidInputError for labels that are not a vector, not finite, not (m,), or all of one class.
    """
    array = real_array(labels, name)
    if array.ndim != 1 or (size is not None and len(array) != size):
        wanted = "m" if size is None else str(size)
        raise InvalidInputError(f"{name} must hold one label per sample, shape ({wanted},); found shape {array.shape}")
    if array.dtype.kind == "f":
        finite(array, name)
    found, codes = np.unique(array, return_inverse=True)
    if len(found) < 2:
        only = f"found only {shown(found[0])}" if len(found) else "found none"
        raise InvalidInputError(f"{name} must hold at least 2 classes; {only}")
    return found, codes.ravel()


def unmasked(values: Any, name: str) -> Any:
    """`values` of any kind; InvalidInputError for masked entries of a NumPy array, because hidden values would count.

    Arrays in a list or tuple are checked too.
    """
    arrays = values if isinstance(values, (list, tuple)) else (values,)
    masks = [np.ma.getmaskarray(array) for array in arrays if isinstance(array, np.ma.MaskedArray)]
    if count := sum(int(np.sum(mask)) for mask in masks):
        raise InvalidInputError(f"{name} must have no masked entries; found {count}. Fill them or leave them out")
    return values


def real_array(values: Any, name: str) -> NDArray[Any]:
    """`values` as a NumPy array, not copied if it is one: the door through which small data enter.

    Raises InvalidInputError for masked entries and rows of different lengths, InvalidTypeError for sparse arrays and
    complex numbers. The caller checks other types of entries.
    """
    require_host(values, name)
    if issparse(unmasked(values, name)):
        raise InvalidTypeError(f"{name} must be a dense array; found a sparse {type(values).__name__}. Use toarray()")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InvalidInputError(f"{name} must have rows of one length; {error}") from error
    real(array, name)
    return array


def real(array: Any, name: str) -> Any:
    """`array`, dense or sparse; InvalidTypeError for complex entries, whose imaginary parts would be lost."""
    objects = array.flat if array.dtype.kind == "O" and isinstance(array, np.ndarray) else ()
    if array.dtype.kind == "c" or any(isinstance(entry, (complex, np.complexfloating)) for entry in objects):
        raise InvalidTypeError(f"{name} must hold real numbers; found dtype {array.dtype}")
    return array


def squares_finite(values: NDArray[Any], shape: tuple[int, ...], name: str) -> NDArray[Any]:
    """`values`, the finite entries of an array X of the `shape`, if XᵀX and squared distances of rows cannot overflow.

    They cannot if max |values| <= √(f / max(shape)) / 4, f the largest number of the type. Values of other than
    floating-point types pass. O(size). Raises InvalidInputError for larger values.
    """
    if values.dtype.kind != "f" or values.size == 0:
        return values
    largest = max(abs(float(values.min())), abs(float(values.max())))
    limit = math.sqrt(float(np.finfo(values.dtype).max) / max(shape)) / 4.0
    if largest > limit:
        raise InvalidInputError(
            f"{name} must have entries of at most {limit:.2g}, or squared distances overflow; found {largest:.2g}. "
            "Scale the data"
        )
    return values
