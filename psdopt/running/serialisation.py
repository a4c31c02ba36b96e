"""Objects as plain JSON text and arrays, and back: the content of checkpoints, instead of a pickle.

Decoding calls no function that the file names: it makes instances of allowed classes without their constructors and
sets their attributes.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from collections import deque
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import Any

import numpy as np

from psdopt.devices import Deferred, Device, DeviceArray, DeviceMatrix, is_device_array, on_host
from psdopt.errors import CheckpointError

_SEQUENCES: dict[str, type] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": deque,
}
_SCALARS = (type(None), bool, int, float, str)
#: Sources of random numbers whose state is plain.
_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
#: Modules of these packages may be imported to find a class; of other packages only modules that are already imported.
_OWN = ("psdopt", "psdopt_plugins")
_SPARSE = "scipy.sparse"


def encode(root: Any, named: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """(text, arrays) from which :func:`decode` makes `root`; the objects in `named` are replaced by their names.

    An object that occurs twice is written once. An array on a device is copied to the host.

    Raises CheckpointError for an object of a kind that cannot be written: functions, classes, local classes, arrays of
    objects, classes with a ``__reduce__`` of their own.
    """
    encoder = _Encoder(named)
    root_value = encoder.value(root)
    return json.dumps({"root": root_value, "nodes": encoder.nodes}), encoder.arrays


def decode(
    text: str,
    array: Callable[[str], Any],
    named: Mapping[str, Any],
    packages: Collection[str],
    device: Device | None = None,
) -> Any:
    """The object written by :func:`encode`; `array` gives the array of a name.

    Arrays that were on a device when they were written are placed on `device`, or are NumPy arrays if it is None.

    Classes come from the top-level `packages`, from psdopt and from scipy.sparse. Raises CheckpointError for another
    class, for a name that is not in `named`, and for any other error in `text`.
    """
    try:
        content = json.loads(text)
        return _Decoder(content["nodes"], array, named, packages, device).value(content["root"])
    except (CheckpointError, MemoryError):
        raise
    except Exception as error:  # text not written by encode may cause any error
        raise CheckpointError(f"the content makes no run ({type(error).__name__}: {error})") from error


class _Encoder:
    """A value is encoded as a JSON scalar, or as [k] for node number k."""

    def __init__(self, named: Mapping[str, Any]) -> None:
        self.nodes: list[Any] = []
        self.arrays: dict[str, Any] = {}
        self._names = {id(piece): name for name, piece in named.items()}
        self._known: dict[int, int] = {}
        self._kept: list[Any] = []  # keeps objects alive, so that no id is used twice

    def value(self, obj: Any) -> Any:
        if type(obj) in _SCALARS:
            return obj
        if id(obj) not in self._known:
            self._known[id(obj)] = len(self.nodes)
            self._kept.append(obj)
            self.nodes.append(None)
            at = len(self.nodes) - 1
            self.nodes[at] = self._node(obj)
        return [self._known[id(obj)]]

    def _node(self, obj: Any) -> list[Any]:
        kind = type(obj)
        if id(obj) in self._names:
            return ["named", self._names[id(obj)]]
        if kind.__name__ in _SEQUENCES and _SEQUENCES[kind.__name__] is kind:
            return [kind.__name__, [self.value(item) for item in obj]]
        if kind is dict:
            return ["dict", [[self.value(key), self.value(item)] for key, item in obj.items()]]
        if kind is slice:
            return ["slice", [self.value(part) for part in (obj.start, obj.stop, obj.step)]]
        if kind is complex:
            return ["complex", [obj.real, obj.imag]]
        if isinstance(obj, np.dtype):
            return ["dtype", obj.str]
        if isinstance(obj, (np.ndarray, np.generic)):
            return self._array(obj)
        if isinstance(obj, Deferred):
            return ["same", self.value(obj.value)]
        if is_device_array(obj):
            return ["on device", kind.__name__ if isinstance(obj, DeviceArray) else "", self.value(on_host(obj))]
        if isinstance(obj, np.random.Generator):
            source = obj.bit_generator
            return ["generator", type(source).__name__, self.value(dict(source.state))]
        if inspect.isclass(obj) or inspect.isroutine(obj) or inspect.ismodule(obj):
            raise _not_written(obj)
        if isinstance(obj, Enum):
            return ["enum", _class_name(kind), obj.name]
        if isinstance(obj, tuple):
            return ["named tuple", _class_name(kind), [self.value(item) for item in obj]]
        return self._object(obj)

    def _array(self, obj: Any) -> list[Any]:
        if obj.dtype.hasobject:
            raise _not_written(obj)
        name = f"a{len(self.arrays)}"
        self.arrays[name] = np.asarray(obj)
        return ["array" if isinstance(obj, np.ndarray) else "scalar", name]

    def _object(self, obj: Any) -> list[Any]:
        kind = type(obj)
        plain = not any("__reduce__" in vars(base) or "__reduce_ex__" in vars(base) for base in kind.__mro__[:-1])
        if not plain or isinstance(obj, (*_SEQUENCES.values(), dict, str, int, float, bytes)):
            raise _not_written(obj)
        return ["object", _class_name(kind), self.value(obj.__getstate__())]


class _Decoder:
    def __init__(
        self,
        nodes: list[Any],
        array: Callable[[str], Any],
        named: Mapping[str, Any],
        packages: Collection[str],
        device: Device | None,
    ) -> None:
        self.nodes, self.array, self.named, self.device = nodes, array, named, device
        self.packages = {*packages, *_OWN}
        self._made: dict[int, Any] = {}
        self._begun: set[int] = set()

    def value(self, value: Any) -> Any:
        if type(value) in _SCALARS:
            return value
        (k,) = value
        if k not in self._made:
            if k in self._begun or not 0 <= k < len(self.nodes):
                raise CheckpointError(f"the content refers to {k!r}, which is not there yet")
            self._begun.add(k)
            made = self._make(k, *self.nodes[k])
            self._made.setdefault(k, made)
        return self._made[k]

    def _make(self, k: int, kind: str, *parts: Any) -> Any:
        if kind == "object":
            return self._object(k, *parts)
        if kind == "list":
            made = self._made[k] = []
            made.extend(map(self.value, parts[0]))
            return made
        if kind == "dict":
            table = self._made[k] = {}
            table.update((self.value(key), self.value(item)) for key, item in parts[0])
            return table
        if kind in _SEQUENCES:
            return _SEQUENCES[kind](map(self.value, parts[0]))
        makers: dict[str, Callable[..., Any]] = {
            "named": self._named,
            "array": self.array,
            "scalar": lambda name: self.array(name)[()],
            "slice": lambda ends: slice(*map(self.value, ends)),
            "complex": lambda ends: complex(*map(float, ends)),
            "dtype": np.dtype,
            "generator": self._generator,
            "enum": lambda name, member: self._class(name, Enum)[member],
            "same": self.value,
            "on device": self._on_device,
            "named tuple": lambda name, items: tuple.__new__(self._class(name, tuple), map(self.value, items)),
        }
        return makers[kind](*parts)

    def _on_device(self, name: str, stored: Any) -> Any:
        """A DeviceArray of the class `name`, or the library's own array where that is empty."""
        host = self.value(stored)
        if self.device is None:
            return host
        kinds = {"": lambda raw, device: raw, "DeviceArray": DeviceArray, "DeviceMatrix": DeviceMatrix}
        return kinds[name](self.device.send(host, host.dtype), self.device)

    def _named(self, name: str) -> Any:
        if name not in self.named:
            raise CheckpointError(f"the checkpoint refers to {name!r}, which the given problem does not have")
        return self.named[name]

    def _generator(self, name: str, state: Any) -> np.random.Generator:
        if name not in _BIT_GENERATORS:
            raise CheckpointError(f"{name!r} is no source of random numbers")
        source = getattr(np.random, name)(0)
        source.state = self.value(state)
        return np.random.default_rng(source)

    def _object(self, k: int, name: str, state: Any) -> Any:
        kind = self._class(name, object)
        made = self._made[k] = object.__new__(kind)
        filled = self.value(state)
        if hasattr(kind, "__setstate__"):
            made.__setstate__(filled)
            return made
        attributes, slots = filled if isinstance(filled, tuple) else (filled, None)
        for table in (attributes, slots):
            for attribute, value in (table or {}).items():
                object.__setattr__(made, attribute, value)
        return made

    def _class(self, name: str, base: type) -> Any:
        module, _, path = name.partition(":")
        package = module.partition(".")[0]
        sparse = module == _SPARSE or module.startswith(f"{_SPARSE}.")
        if package not in self.packages and not sparse:
            raise CheckpointError(f"class {name!r} is of neither psdopt nor the package of the problem or method")
        if package in _OWN:
            importlib.import_module(module)
        found: Any = sys.modules[module]
        for part in path.split("."):
            found = vars(found)[part]
            if not isinstance(found, type):
                raise CheckpointError(f"{name!r} is no class")
        if not issubclass(found, base) or (sparse and not _is_sparse(found)):
            raise CheckpointError(f"{name!r} is no class whose instances a run holds")
        return found


def _is_sparse(kind: type) -> bool:
    import scipy.sparse

    return issubclass(kind, (scipy.sparse.sparray, scipy.sparse.spmatrix))


def _class_name(kind: type) -> str:
    if "<locals>" in kind.__qualname__:
        raise CheckpointError(
            f"a checkpoint cannot hold an instance of {kind.__qualname__}, a class within a function; "
            "define the class at the top of a module"
        )
    return f"{kind.__module__}:{kind.__qualname__}"


def _not_written(obj: Any) -> CheckpointError:
    return CheckpointError(
        f"a checkpoint cannot hold {type(obj).__name__} {obj!r}; let the state hold numbers, arrays and dataclasses"
    )
