"""Results on their way from a device: NumPy's numbers in the end, in one transfer for all that were asked for."""

import math
import operator
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from psdopt.devices import Deferred, DeviceArray, held, here
from tests.devices.libraries import BINARY, sent

Y = np.arange(12.0).reshape(6, 2) - 5.25
Z = np.cos(Y)


def blocks(library: str) -> tuple[DeviceArray, DeviceArray]:
    found = held(sent(library, Y)), held(sent(library, Z))
    found[0].device.transfers.clear()
    return found


def test_all_that_are_asked_for_come_in_one_transfer(library: str) -> None:
    U, V = blocks(library)
    transfers = U.device.transfers
    product, number, size = U.T @ V, (U * V).sum(), U.dot(U)
    forgotten = V.T @ V
    del forgotten
    assert transfers.to_host == 0
    assert not product.is_here
    assert float(number) == pytest.approx(np.sum(Y * Z), rel=1e-13)
    assert transfers.to_host == 1
    assert product.is_here
    np.testing.assert_allclose(product.value, Y.T @ Z, rtol=1e-13)
    assert float(size) == pytest.approx(np.sum(Y * Y), rel=1e-13)
    assert (transfers.to_host, transfers.most_rows) == (1, 2)
    assert size.raw is None  # nothing on the device is kept


def test_the_square_of_an_array_is_computed_once_until_the_array_changes(library: str) -> None:
    U, V = blocks(library)
    assert U.dot(U) is U.dot(U)
    before = float(U.dot(U))
    U += V
    assert float(U.dot(U)) == pytest.approx(np.sum((Y + Z) ** 2), rel=1e-13)
    U[:, :1] = np.zeros((6, 1))
    assert float(U.dot(U)) == pytest.approx(np.sum((Y + Z)[:, 1] ** 2), rel=1e-13) != before


@pytest.mark.parametrize("operation", [*BINARY, operator.matmul, np.maximum, np.multiply])
@pytest.mark.parametrize("other", [Y.T @ Y + 8.0, 2.0, np.float64(3.0), "later"])
def test_arithmetic_waits_and_is_numpys(library: str, operation: Callable[[Any, Any], Any], other: Any) -> None:
    if operation is operator.matmul and np.ndim(other) != 2:
        other = Z.T @ Z
    U, V = blocks(library)
    known = Y.T @ Z
    for left in (True, False):
        small, right = U.T @ V, V.T @ V if isinstance(other, str) else other
        wanted = Z.T @ Z if isinstance(other, str) else other
        U.device.transfers.clear()
        found = operation(small, right) if left else operation(right, small)
        assert U.device.transfers.to_host == 0
        expected = operation(known, wanted) if left else operation(wanted, known)
        for _ in range(2):
            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)
            found = operation(small, right) if left else operation(right, small)  # where all is here by now
        assert type(found) is not Deferred
        assert U.device.transfers.to_host == 1


def test_what_a_caller_does_with_numbers_and_small_arrays_fetches_them(library: str) -> None:
    U, V = blocks(library)
    expected, size = Y.T @ Z, float(np.sum(Y * Y))
    uses: tuple[tuple[Callable[[Any], Any], Any], ...] = (
        (lambda a: a[0, 1], expected[0, 1]),
        (lambda a: a.T[0, 1], expected[1, 0]),
        (lambda a: a.trace(), expected.trace()),
        (lambda a: np.trace(a), expected.trace()),
        (lambda a: np.linalg.norm(a), np.linalg.norm(expected)),
        (lambda a: np.vstack([a, a])[2, 1], expected[0, 1]),
        (lambda a: (-a)[1, 1], -expected[1, 1]),
        (lambda a: (abs(a) ** 2)[1, 1], expected[1, 1] ** 2),
        (lambda a: np.array(a, copy=True)[1, 0], expected[1, 0]),
        (lambda a: np.add.reduce(a, axis=None), expected.sum()),
        (lambda a: pickle.loads(pickle.dumps(a))[0, 0], expected[0, 0]),
    )
    for use, wanted in uses:
        assert float(use(U.T @ V)) == pytest.approx(wanted, rel=1e-12)
    for number, wanted in (
        (math.sqrt(U.dot(V) ** 2), abs(np.sum(Y * Z))),
        (max(0.0, held(U).dot(U)), size),
        (1.0 - U.dot(U), 1.0 - size),
        (2.0 / U.dot(U), 2.0 / size),
        (sum([U.dot(U), V.dot(V)]), size + np.sum(Z * Z)),
    ):
        assert float(number) == pytest.approx(wanted, rel=1e-12)
    total = U.dot(V)
    assert f"{total:.3f}" == f"{np.sum(Y * Z):.3f}"
    assert repr(U.T @ V).startswith("array([[")
    assert bool(total == total)
    assert (len(U.T @ V), (U.T @ V).shape, (U.T @ V).ndim) == (2, (2, 2), 2)
    assert ((U.T @ V) * 2.0).shape == (2, 2)
    assert here(3.0) == 3.0
    with pytest.raises(AttributeError):
        _ = total.no_such_method
    with pytest.raises(AttributeError):
        _ = total.__no_such_hook__


def in_another_thread(work: Callable[[], Any]) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def test_each_thread_fetches_its_own_and_a_result_of_one_is_found_by_another() -> None:
    U, V = blocks("strict")
    mine = U.T @ V
    assert in_another_thread(lambda: float(U.dot(V))) == pytest.approx(np.sum(Y * Z))
    assert not mine.is_here
    np.testing.assert_allclose(mine, Y.T @ Z, rtol=1e-13)
    assert U.device.transfers.to_host == 2
    other = U.T @ V
    np.testing.assert_allclose(in_another_thread(lambda: other.value), Y.T @ Z, rtol=1e-13)
    assert float(U.dot(V)) == pytest.approx(np.sum(Y * Z))
