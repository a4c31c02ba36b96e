"""Passes over rows that are read in blocks: a progress bar, and rows that are standardised as they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
    with pass_bar(progress) as observe, watching(observe):
        mean, scale = mean_and_scale(training)
        taken = dataset.X.take
        yield Standardized(training, mean, scale), dataset.y[training.kept], lambda rows: (taken(rows) - mean) / scale


@contextmanager
def pass_bar(shown: bool) -> Iterator[Callable[[str, int, int], None]]:
    """An observer that draws a progress bar over the rows of each pass; silent unless `shown`."""
    from tqdm import tqdm

    with tqdm(desc="rows", unit="row", unit_scale=True, leave=False, disable=not shown) as bar:

        def observe(name: str, done: int, rows: int) -> None:
            if bar.n >= done:
                bar.reset(rows)
            bar.update(done - bar.n)

        yield observe
