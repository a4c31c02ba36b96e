"""Checkpoints: a run on disk, without its problem, that can be continued with the same iterates."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from psdopt.constraints.problem import constrained_of
from psdopt.contracts.abilities import Ability
from psdopt.contracts.problem import Problem
from psdopt.data.archives import Archive
from psdopt.data.files import atomic_write, read_bytes
from psdopt.devices import is_device_array
from psdopt.errors import CheckpointError, PsdoptError
from psdopt.linalg.arrays import Array
from psdopt.running.serialisation import decode, encode
from psdopt.version import __version__

#: The first bytes of every checkpoint; then one line of JSON, the header, then the content, a .npz archive.
MAGIC = b"psdopt checkpoint\n"
CHECKPOINT_FORMAT = 4
#: Name of the array that holds the text of the object graph.
_GRAPH = "graph"
#: Name of the array (4, m) of what tells constraints from others: A at one matrix, bounds below and above, offsets.
_CONSTRAINTS = "constraints"
#: Relative difference that other processors make at most: F, A and bounds beyond it are those of another problem.
ALIKE = 1e-8


def save_checkpoint(path: str | Path, run: Any, problem: Problem) -> None:
    """Write `run` to `path`, completely or not at all. Memory: the images, O((n + m) r).

    The header holds format, version of psdopt, problem and the SHA-256 of the content; the content is JSON text and
    arrays (:mod:`psdopt.running.serialisation`). Raises DataFileError if the file cannot be written, CheckpointError if
    the run holds an object that cannot be stored.
    """
    text, arrays = encode(run, _pieces(problem))
    buffer = io.BytesIO()
    told = _constraints(problem)
    named: dict[str, Any] = {_GRAPH: np.frombuffer(text.encode(), dtype=np.uint8), _CONSTRAINTS: told, **arrays}
    np.savez(buffer, **named)
    content = buffer.getbuffer()
    header = {
        "format": CHECKPOINT_FORMAT,
        "psdopt": __version__,
        "problem": type(problem).__name__,
        "n": problem.n,
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    with atomic_write(Path(path)) as handle:
        handle.write(MAGIC + json.dumps(header).encode() + b"\n")
        handle.write(content)


def load_checkpoint(path: str | Path, problem: Problem, *pieces: Any) -> Any:
    """The run stored in `path`, attached to `problem`; `pieces` are the geometry and the method that will continue.

    No code is loaded from the file: it holds numbers, text and names of classes, and only classes of psdopt and of the
    packages of `problem` and `pieces` are instantiated. The checksum detects damage, not forgery, so load only your
    own.

    Raises CheckpointError if the file is damaged or foreign, or was written for another problem, DataFileError
    if it cannot be read.
    """
    header, content = _read(path)
    expected = (type(problem).__name__, problem.n)
    if (header["problem"], header["n"]) != expected:
        raise CheckpointError(
            f"{path} was written for {header['problem']} of order {header['n']}; "
            f"found {expected[0]} of order {expected[1]}"
        )
    packages = {kind.__module__.partition(".")[0] for piece in (problem, *pieces) for kind in type(piece).__mro__}
    try:
        archive = Archive(content, str(path))
        text = archive.read(_GRAPH).tobytes().decode()
        run = decode(text, archive.read, _pieces(problem), packages - {"builtins"}, problem.device)
        if problem.device is not None and not is_device_array(run.state.evaluation.factor):
            raise CheckpointError(f"it holds NumPy arrays, and the data are on a device ({problem.device})")
        told, found = archive.read(_CONSTRAINTS), _constraints(problem)
        written, fresh = run.state.evaluation.value, problem.at(run.state.evaluation.factor).value
    except PsdoptError as error:
        raise CheckpointError(
            f"{path} does not fit, is damaged, or was written by another version of psdopt: {error}"
        ) from error
    except MemoryError:
        raise
    except Exception as error:  # if classes have changed since, even an intact file may cause any error
        raise CheckpointError(
            f"{path} was written by psdopt {header['psdopt']}, whose classes differ from those of {__version__}: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not _alike(told, found):
        raise CheckpointError(f"{path} was written for a problem with other constraints")
    scale = max(abs(fresh), abs(written), abs(problem.value_at_zero()))
    if abs(fresh - written) > ALIKE * scale:
        raise CheckpointError(
            f"{path} was written for another objective: there F = {written:.10g}, with this problem {fresh:.10g}"
        )
    return run


def _read(path: str | Path) -> tuple[dict[str, Any], bytes]:
    """Header and content of an intact checkpoint: magic, format and checksum are compared first."""
    whole = read_bytes(path, "checkpoint ")
    if not whole.startswith(MAGIC):
        older = "; checkpoints of format 1 were pickles, which are not loaded any more" if whole[:1] == b"\x80" else ""
        raise CheckpointError(f"{path} is not a psdopt checkpoint{older}")
    end = whole.find(b"\n", len(MAGIC))
    try:
        header = json.loads(whole[len(MAGIC) : end])
        known = {key: header[key] for key in ("format", "psdopt", "problem", "n", "sha256")}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CheckpointError(f"{path} is not a psdopt checkpoint, or its header is damaged") from error
    if known["format"] != CHECKPOINT_FORMAT:
        raise CheckpointError(
            f"{path} is not a psdopt checkpoint of format {CHECKPOINT_FORMAT}; found format {known['format']!r}, "
            f"written by psdopt {known['psdopt']}"
        )
    content = whole[end + 1 :]
    if hashlib.sha256(content).hexdigest() != known["sha256"]:
        raise CheckpointError(f"{path} is damaged: its checksum is not that of its content")
    return known, content


def _constraints(problem: Problem) -> Array:
    """A(v vᵀ) for a random v, lower and upper bounds, offsets of cones (0 elsewhere), (4, m); m = 0 without any."""
    if Ability.CONSTRAINTS not in problem.abilities:
        return np.zeros((4, 0))
    model = constrained_of(problem)
    offset = np.zeros(model.m) if model.cones is None else model.cones.offset
    v = problem.check_factor(np.random.default_rng(0).standard_normal((problem.n, 1)))
    return np.stack([model.measured(v), model.lower, model.upper, offset])


def _alike(told: Array, found: Array) -> bool:
    """Whether rows are equal, infinite entries too, up to a minor share of their largest finite entries."""
    if told.shape != found.shape or not np.array_equal(np.isfinite(told), np.isfinite(found)):
        return False
    finite = np.isfinite(told)
    if not np.array_equal(told[~finite], found[~finite]):
        return False
    here, there = np.where(finite, told, 0.0), np.where(finite, found, 0.0)
    sizes = np.max(np.abs(here), axis=1, keepdims=True, initial=0.0)
    return bool(np.all(np.abs(here - there) <= ALIKE * sizes))


def _pieces(problem: Problem) -> dict[str, Any]:
    """The problem and its data, which a checkpoint names but does not store."""
    maps = problem.maps
    device = {} if problem.device is None else {"device": problem.device}
    named = {f"map {k}": linear_map for k, linear_map in enumerate(maps)}
    return {"problem": problem, **device, **named, **problem.pieces()}
