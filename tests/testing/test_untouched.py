"""Snapshots: what is changed in place is seen, what is kept for later under a private name is allowed."""

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from psdopt.contracts.images import Images
from psdopt.linalg.operators import LinearMap
from psdopt.testing.untouched import changes, snapshot


@dataclass
class Held:
    numbers: np.ndarray
    seen: list = field(default_factory=list)
    _kept: object = None


def test_a_last_bit_a_list_and_a_type_are_seen():
    held = Held(np.ones(3), [1.0])
    before = snapshot(held)
    assert changes(before, snapshot(held)) == []
    held.numbers[1] = np.nextafter(1.0, 2.0)
    assert changes(before, snapshot(held)) == ["numbers"]
    held.numbers = np.ones(3, dtype=np.float32)
    assert changes(before, snapshot(held)) == ["numbers"]
    held.numbers = np.ones(3)
    held.seen.append(2.0)
    assert set(changes(before, snapshot(held), caches=True)) == {"seen.length", "seen.1"}


def test_results_that_are_kept_are_no_change():
    held = Held(np.ones(3))
    before = snapshot(held)
    held._kept = np.zeros(2)
    assert changes(before, snapshot(held), caches=True) == []
    assert changes(before, snapshot(held)) == ["_kept"]


def test_images_and_sparse_data_are_walked():
    A = LinearMap(sp.csr_array(np.eye(3)), "A")
    images = Images([A], np.ones((3, 1)))
    before = snapshot({"images": images, "data": A.data}, skip=(LinearMap,))
    images.of(A)
    assert changes(before, snapshot({"images": images, "data": A.data}, skip=(LinearMap,)), caches=True) == []
    A.data.data[0] = 2.0
    assert "'data'.data" in changes(
        before, snapshot({"images": images, "data": A.data}, skip=(LinearMap,)), caches=True
    )
