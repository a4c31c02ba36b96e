"""Objects as text and arrays: they come back as they were, and nothing but allowed instances is made."""

import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse

from psdopt.errors import CheckpointError
from psdopt.running.result import Status
from psdopt.running.serialisation import decode, encode


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass(frozen=True)
class Frozen:
    x: Any
    y: Any = None


@dataclass(slots=True)
class Slotted:
    x: Any
    rest: list[Any] = field(default_factory=list)


class Counted:
    """Leaves its cache out, as states do that hold what cannot be written."""

    def __init__(self) -> None:
        self.kept, self.cache = 3, print

    def __getstate__(self) -> dict[str, Any]:
        return {"kept": self.kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.kept, self.cache = state["kept"], print


class Reduced:
    def __reduce__(self) -> Any:
        return print, ("reduced",)


def back(obj: Any, named: dict[str, Any] | None = None, packages: tuple[str, ...] = ("tests",)) -> Any:
    text, arrays = encode(obj, named or {})
    return decode(text, arrays.__getitem__, named or {}, packages)


@pytest.mark.parametrize("obj", [
    None, True, 3, 10**30, -0.0, 0.1, float("inf"), "ä", 1j, [1, [2.5]], (1, (2,)), {1, 2}, frozenset({"a"}),
    {"a": 1, (1, 2): None, 3: [4]}, deque([1, 2]), slice(1, None, 2), Pair(1, [2]), Status.OPTIMAL,
    Frozen(1, (2,)), Slotted(5, [6]), np.dtype("f4"),
])  # fmt: skip
def test_values_come_back(obj: Any) -> None:
    found = back(obj)
    assert type(found) is type(obj)
    assert found == obj


def test_arrays_come_back_with_type_order_and_bits() -> None:
    rng = np.random.default_rng(0)
    F = np.asfortranarray(rng.standard_normal((3, 4)))
    for array in (F, F.T, F[::2], np.float32(1.5), np.array(2), np.zeros((0, 3)), np.array([True]), np.array([np.nan])):
        found = back(array)
        assert type(found) is type(array)
        assert found.dtype == array.dtype
        assert found.shape == array.shape
        assert found.tobytes() == array.tobytes()
    assert back(F).flags.f_contiguous
    S = scipy.sparse.csr_array(np.array([[0.0, 2.0]]))
    assert np.array_equal(back(S).toarray(), S.toarray())


def test_shared_objects_stay_shared_and_circles_close() -> None:
    shared = np.arange(3.0)
    found = back([shared, Frozen(shared)])
    assert found[0] is found[1].x
    circle = Slotted(1)
    circle.rest.append(circle)
    found = back(circle)
    assert found.rest[0] is found
    with pytest.raises(CheckpointError, match="is not there yet"):
        decode('{"root": [0], "nodes": [["tuple", [[0]]]]}', {}.__getitem__, {}, ())


def test_a_generator_goes_on_where_it_was() -> None:
    for rng in (np.random.default_rng(3), np.random.Generator(np.random.MT19937(3))):
        rng.standard_normal(5)
        found = back(rng)
        assert np.array_equal(found.standard_normal(4), rng.standard_normal(4))


def test_named_objects_are_not_written() -> None:
    data = object()
    text, arrays = encode([data, Frozen(data)], {"problem": data})
    assert arrays == {}
    found = decode(text, arrays.__getitem__, {"problem": "mine"}, ("tests",))
    assert found[0] == found[1].x == "mine"
    with pytest.raises(CheckpointError, match="refers to 'problem', which the given problem does not have"):
        decode(text, arrays.__getitem__, {}, ("tests",))


def test_a_state_of_its_own_is_respected() -> None:
    assert back(Counted()).kept == 3


def test_what_cannot_be_written_is_refused_when_writing() -> None:
    class Local:
        pass

    for obj in (print, lambda: 1, Status, Reduced(), np.array([None]), b"bytes", Local(), Counted):
        with pytest.raises(CheckpointError, match="a checkpoint cannot hold"):
            encode([obj], {})


@pytest.mark.parametrize("node", [
    ["object", "os:system", None],
    ["object", "subprocess:Popen", {}],
    ["object", "builtins:object", None],
    ["object", "psdopt.solve:solve", None],
    ["object", "psdopt.data.files:os.system", None],
    ["object", "scipy.sparse:linalg.LinearOperator", None],
    ["object", "psdopt.no_such_module:X", None],
    ["enum", "psdopt.running.run:Run", "x"],
    ["enum", "psdopt.running.result:Status", "NO_SUCH"],
    ["named tuple", "psdopt.running.run:Run", []],
    ["generator", "seed", {}],
    ["dtype", "no such"],
    ["pickle", "x"],
    ["object", "psdopt.running.run:Run", 3],
])  # fmt: skip
def test_what_was_not_written_by_encode_is_refused(node: list[Any]) -> None:
    text = json.dumps({"root": [1], "nodes": [["dict", []], node]})
    with pytest.raises(CheckpointError):
        decode(text, {}.__getitem__, {}, ())


def test_classes_of_other_packages_need_the_piece_that_brings_them() -> None:
    text, arrays = encode(Frozen(1), {})
    with pytest.raises(CheckpointError, match="is of neither psdopt nor the package of the problem or method"):
        decode(text, arrays.__getitem__, {}, ())
