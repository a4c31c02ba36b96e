"""Checks that data meet the requirements of an application; an error is raised before the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb

from psdopt.data.datasets import Dataset
from psdopt.errors import InvalidInputError, PsdoptError
from psdopt.plugins import ApplicationSpec


def check_needs(spec: ApplicationSpec, dataset: Dataset) -> None:
    """InvalidInputError, naming the application, if `dataset` does not meet ``spec.needs``. O(m)."""
    needs, name = spec.needs, dataset.name
    m = dataset.X.shape[0]
    if dataset.symmetric and not needs.symmetric:
        raise InvalidInputError(
            f"{name} holds a symmetric matrix K and no samples, but {spec.name} needs samples X; save them as X"
        )
    if dataset.in_blocks and not needs.blocks:
        raise InvalidInputError(
            f"{name} has {m} rows, which are read in blocks, but {spec.name} needs all of them in memory; "
            "take fewer rows, or an application that reads blocks (psd-regression, metric-...)"
        )
    if dataset.sparse and not needs.sparse:
        raise InvalidInputError(
            f"{name} holds a sparse X, but {spec.name} needs a dense one (each sample is compared with each); "
            "save X as an array"
        )
    if m < needs.samples:
        raise InvalidInputError(f"{spec.name} needs at least {needs.samples} samples; {name} has {m}")
    if needs.labels == "none":
        return
    if dataset.y is None:
        raise InvalidInputError(f"{name} has no labels y, which {spec.name} needs")
    if needs.labels == "classes":
        dataset.classes(needs.per_class)
    elif dataset.y.dtype.kind not in "buif":
        raise InvalidInputError(f"{name}: y must hold a number per sample for {spec.name}; found {str(dataset.y[0])!r}")


@contextmanager
def library_errors(name: str) -> Iterator[None]:
    """Turns scikit-learn's ValueError about the data `name`, and a MemoryError, into an InvalidInputError."""
    try:
        yield
    except PsdoptError:
        raise
    except ValueError as error:
        *_, (frame, _) = walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] != "sklearn":
            raise
        raise InvalidInputError(f"{name}: scikit-learn refuses the data: {error}") from error
    except MemoryError as error:
        raise InvalidInputError(f"{name} is too large for the memory of this machine: {error}") from error
