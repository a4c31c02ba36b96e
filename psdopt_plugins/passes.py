"""Passes over rows that are read in blocks: a progress bar, and rows that are standardised as they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from psdopt.linalg import Array, Standardized, WithoutRows, mean_and_scale, watching
from psdopt.plugins import Dataset


@contextmanager
def standardised(
    dataset: Dataset, test: Array, progress: bool
) -> Iterator[tuple[Standardized, Array, Callable[..., Array]]]:
    """(rows without those of `test`, standardised by their mean and deviation; their labels; this scaling of any rows).

    One pass; this one and later ones show a bar, if `progress` says so.
    """
    training = WithoutRows(dataset.X, test)
    with PassBar(progress) as observe, watching(observe):
        mean, scale = mean_and_scale(training)
        taken = dataset.X.take
        yield Standardized(training, mean, scale), dataset.y[training.kept], lambda rows: (taken(rows) - mean) / scale


class PassBar:
    """A progress bar over the rows of each pass, as an observer; silent unless `shown`."""

    def __init__(self, shown: bool) -> None:
        self.shown, self.bar = shown, None

    def __enter__(self) -> Any:
        if self.shown:
            from tqdm import tqdm

            self.bar = tqdm(desc="rows", unit="row", unit_scale=True, leave=False)
        return self._observe

    def _observe(self, name: str, done: int, rows: int) -> None:
        if self.bar is not None:
            if self.bar.n >= done:
                self.bar.reset(rows)
            self.bar.update(done - self.bar.n)

    def __exit__(self, *exception: Any) -> None:
        if self.bar is not None:
            self.bar.close()
