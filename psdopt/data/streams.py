"""Data that come in batches: arrays, memory-mapped files, pairs, or any iterator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from psdopt.checks import finite, indices, integer, one_of, real, unmasked
from psdopt.devices import as_data, held, is_device_array
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import Array, as_array, is_finite


class Batch(NamedTuple):
    """One mini-batch: rows (p, d), targets (p,), and directions (p,) of −1, 0, +1 if samples are one-sided."""

    rows: Any
    targets: Array
    direction: Array | None = None


class Stream(Protocol):
    """Members of ``problem.stream`` that methods use, for problems with the ability ``stream``. No base class is
    needed.

    Batches are objects with `targets`, whose length is the number of samples in the batch; only
    ``problem.batch_gradient`` uses their other members. Attributes: `size` samples per epoch, None if not known;
    `repeatable`, whether :meth:`sample` costs no batch of the run.
    """

    size: int | None
    repeatable: bool

    def take(self, batch_size: int, start: int, count: int) -> Iterator[Any]:
        """Batches number start, ..., start + count − 1, one at a time; fewer if the source ends."""

    def sample(self, count: int, batch_size: int) -> Iterable[Any]:
        """The first `count` batches, for pre-training; may be iterated again and again. Delivered again by `take`."""


class BatchStream(ABC):
    """A repeatable or one-way source of mini-batches.

    Attributes: `d` columns; `size` samples per epoch, None if not known; `repeatable`, whether the source can be read
    from the start again.
    """

    d: int
    size: int | None = None
    repeatable: bool = True

    @abstractmethod
    def batches(self, batch_size: int, start: int = 0) -> Iterator[Batch]:
        """Batches from number `start` on, epoch after epoch, until the source ends."""

    def take(self, batch_size: int, start: int, count: int) -> Iterator[Batch]:
        """Batches number start, ..., start + count − 1, one at a time; fewer if the source ends.

        Continuing after the last call costs nothing extra; other positions are found by ``batches``.
        """
        live: tuple[int, int, Iterator[Batch]] | None = self.__dict__.get("_live")
        if live is None or live[:2] != (batch_size, start):
            live = (batch_size, start, self.batches(batch_size, start))
        self.__dict__["_live"] = live
        for position, batch in enumerate(islice(live[2], count), start + 1):
            self.__dict__["_live"] = (batch_size, position, live[2])
            yield batch

    def sample(self, count: int, batch_size: int) -> Iterable[Batch]:
        """The first `count` batches, for pre-training; may be iterated again and again. Delivered again by `take`."""
        return _Beginning(self, count, batch_size)


class _Beginning:
    """The first batches of a repeatable stream, read again on each pass and not stored."""

    def __init__(self, stream: BatchStream, count: int, batch_size: int) -> None:
        self.stream, self.count, self.batch_size = stream, count, batch_size

    def __iter__(self) -> Iterator[Batch]:
        return islice(self.stream.batches(self.batch_size), self.count)


class ArrayStream(BatchStream):
    """Rows of X (m, d) with y (m,): ndarray, memory-mapped file, CSR array or array on a device, read batch by batch.

    X is never copied whole. The rows of a batch are on the device of X, its targets and directions on the host.

    Parameters
    ----------
    order : "shuffled" draws a new permutation of the rows per epoch (m integers); "blocks" permutes runs of
        consecutive rows, which suits files (m / batch_size integers, and reads that are contiguous); "given"
        keeps the order (no memory). Default: "blocks" for a memory map, else "shuffled".
    seed : of the permutations; the permutation of epoch e depends on (seed, e) only, so that a run can resume anywhere.
    pairs : (m, 2) integers: sample i is then x_a − x_b, formed batch by batch, and y has length m.
    direction : (m,) of −1, 0, +1, passed on with each batch.
    """

    def __init__(
        self, X: Any, y: Any, *, order: str | None = None, seed: int = 0, pairs: Any = None, direction: Any = None
    ) -> None:
        self.X: Any = _rows_first(X)
        if pairs is not None:
            pairs = indices(pairs, "pairs", self.X.shape[0], columns=2)
        if self.X.ndim != 2 or 0 in self.X.shape:
            raise InvalidInputError(f"X must be an array (m, d), not empty; found shape {self.X.shape}")
        self.pairs = pairs
        self.y = unmasked(y, "y") if isinstance(y, np.ndarray) and y.dtype.kind in "biuf" else finite(y, "y")
        count = self.X.shape[0] if self.pairs is None else len(self.pairs)
        if self.y.shape != (count,):
            raise InvalidInputError(f"y must have shape ({count},); found {self.y.shape}")
        self.direction = None if direction is None else finite(direction, "direction")
        if self.direction is not None and self.direction.shape != (count,):
            raise InvalidInputError(f"direction must have shape ({count},); found {self.direction.shape}")
        if order is None:
            order = "blocks" if isinstance(self.X, np.memmap) else "shuffled"
        self.order, self.seed = one_of(order, "order", ("shuffled", "blocks", "given")), integer(seed, "seed", 0)
        self.size, self.d = count, self.X.shape[1]

    def batches(self, batch_size: int, start: int = 0) -> Iterator[Batch]:
        per_epoch = -(-len(self.y) // batch_size)
        epoch, first = divmod(start, per_epoch)
        while True:
            places = self._places(batch_size, per_epoch, epoch)
            for k in range(first, per_epoch):
                yield self._rows(places(k))
            epoch, first = epoch + 1, 0

    def _places(self, batch_size: int, per_epoch: int, epoch: int) -> Any:
        rng = np.random.default_rng([self.seed, epoch])
        if self.order == "shuffled":
            permuted = rng.permutation(len(self.y))
            return lambda k: permuted[k * batch_size : (k + 1) * batch_size]
        blocks = rng.permutation(per_epoch) if self.order == "blocks" else range(per_epoch)
        return lambda k: slice(int(blocks[k]) * batch_size, (int(blocks[k]) + 1) * batch_size)

    def _rows(self, where: Any) -> Batch:
        targets = np.asarray(self.y[where], dtype=np.float64)
        direction = None if self.direction is None else np.asarray(self.direction[where], dtype=np.float64)
        if self.pairs is not None:
            ends = self.pairs[where]
            return Batch(as_data(self.X[ends[:, 0]] - self.X[ends[:, 1]]), targets, direction)
        rows = self.X[where]
        return Batch(rows if sp.issparse(rows) else as_data(as_array(rows)), targets, direction)


class IteratorStream(BatchStream):
    """Any iterable of (rows (p, d), targets (p,)), or with directions (p,) as a third part: a generator, a data loader,
    a queue. Read once, in order; only batches read for pre-training are stored, until they are delivered.

    Batches keep their sizes. `size` (samples per epoch, for the step schedule) may be given. To resume,
    pass an iterator that continues where the last one stopped. Each batch is checked for shape and finite entries.
    """

    def __init__(self, source: Iterable[Any], d: int, size: int | None = None) -> None:
        if not isinstance(source, Iterable):
            raise InvalidTypeError(f"source must be an iterable of batches; found {type(source).__name__}")
        self._iterator = iter(source)
        self.d, self.size, self.repeatable = int(d), size, False
        self._kept: list[Batch] = []

    def batches(self, batch_size: int, start: int = 0) -> Iterator[Batch]:
        while self._kept:
            yield self._kept.pop(0)
        for number, batch in enumerate(self._iterator):
            yield self._checked(batch, number)

    def sample(self, count: int, batch_size: int) -> list[Batch]:
        """The next `count` batches, stored until they are delivered, since they cannot be read twice."""
        wanted = islice(self._iterator, max(0, count - len(self._kept)))
        self._kept.extend(self._checked(batch, number) for number, batch in enumerate(wanted))
        return self._kept[:count]

    def _checked(self, batch: Any, number: int) -> Batch:
        try:
            rows, targets, *more = batch
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"batch {number} must be a pair (rows, targets)") from error
        rows = _rows_first(rows)
        targets = finite(targets, f"targets of batch {number}")
        direction = finite(more[0], f"directions of batch {number}") if more and more[0] is not None else None
        if rows.ndim != 2 or rows.shape[1] != self.d or targets.shape != (rows.shape[0],):
            raise InvalidInputError(
                f"batch {number} must hold rows (p, {self.d}) and targets (p,); found {rows.shape} and {targets.shape}"
            )
        if direction is not None and direction.shape != targets.shape:
            raise InvalidInputError(
                f"directions of batch {number} must be shaped {targets.shape}; found {direction.shape}"
            )
        if direction is not None and not np.isin(direction, (-1.0, 0.0, 1.0)).all():
            raise InvalidInputError(f"directions of batch {number} must be -1, 0 or +1")
        if not is_finite(rows):
            raise InvalidInputError(f"batch {number} holds NaN or infinite entries")
        return Batch(rows, targets, direction)


def _rows_first(X: Any) -> Any:
    """X as a CSR array if sparse, as it is if an array (a memory map stays one), else as a float array."""
    if isinstance(X, np.ndarray):
        return real(unmasked(X, "X"), "X")
    sparse = sp.issparse(X)
    if sparse:
        return sp.csr_array(real(X, "X"))
    return as_data(held(X, "X")) if is_device_array(X) else finite(X, "X")
