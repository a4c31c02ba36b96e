"""Checkpoints: a run on disk, without its problem, that goes on exactly where it stopped."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

from psdopt.errors import CheckpointError, DataFileError
from psdopt.files import atomic_write
from psdopt.problem import Problem

FORMAT = 1
#: What unpickling a damaged file raises.
UNREADABLE = (
    pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, ValueError, KeyError, TypeError,
)  # fmt: skip


class _Pickler(pickle.Pickler):
    """Leaves problem and data out: they are named, not stored."""

    def __init__(self, file: Any, problem: Problem) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._names = {id(piece): name for name, piece in _pieces(problem).items()}

    def persistent_id(self, obj: Any) -> Any:
        return self._names.get(id(obj))


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: Any, problem: Problem) -> None:
        super().__init__(file)
        self._known = _pieces(problem)

    def persistent_load(self, pid: Any) -> Any:
        if pid not in self._known:
            raise CheckpointError(f"the checkpoint refers to {pid!r}, which the given problem does not have")
        return self._known[pid]


def _pieces(problem: Problem) -> dict[str, Any]:
    maps = getattr(problem, "maps", ())
    return {"problem": problem, **{f"map {k}": m for k, m in enumerate(maps)}}


def save_checkpoint(path: str | Path, run: Any, problem: Problem) -> None:
    """Write `run` to `path`, completely or not at all. Memory: the images, O((n + m) r)."""
    buffer = io.BytesIO()
    _Pickler(buffer, problem).dump(run)
    header = {"format": FORMAT, "problem": type(problem).__name__, "n": problem.n, "run": buffer.getvalue()}
    with atomic_write(Path(path)) as handle:
        pickle.dump(header, handle, protocol=pickle.HIGHEST_PROTOCOL)


def load_checkpoint(path: str | Path, problem: Problem) -> Any:
    """The run stored in `path`, attached to `problem`.

    Raises CheckpointError if the file is damaged or was written for another problem, DataFileError
    if it cannot be read. As with any pickle, load only files that you trust.
    """
    try:
        with open(path, "rb") as handle:
            header = pickle.load(handle)
    except OSError as error:
        raise DataFileError(f"cannot read checkpoint {path}: {error.strerror or error}") from error
    except UNREADABLE as error:
        raise CheckpointError(f"{path} is not a psdopt checkpoint, or is damaged: {error}") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise CheckpointError(f"{path} is not a psdopt checkpoint of format {FORMAT}")
    expected = (type(problem).__name__, problem.n)
    if (header["problem"], header["n"]) != expected:
        raise CheckpointError(
            f"{path} was written for {header['problem']} of order {header['n']}; "
            f"found {expected[0]} of order {expected[1]}"
        )
    try:
        run = _Unpickler(io.BytesIO(header["run"]), problem).load()
    except UNREADABLE as error:
        raise CheckpointError(f"{path} is damaged, or was written by another version of psdopt: {error}") from error
    _check_same_objective(path, run, problem)
    return run


def _check_same_objective(path: str | Path, run: Any, problem: Problem) -> None:
    evaluation = run.state.evaluation
    fresh = problem.at(evaluation.factor).value
    scale = max(abs(fresh), abs(evaluation.value), abs(problem.value_at_zero()))
    if abs(fresh - evaluation.value) > 1e-8 * scale:
        raise CheckpointError(
            f"{path} was written for another objective: "
            f"there F = {evaluation.value:.10g}, with this problem {fresh:.10g}"
        )
