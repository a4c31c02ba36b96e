"""A run that is stopped, written and resumed takes bitwise the same steps as one that was not."""

import contextlib
import errno
import hashlib
import io
import json
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt import LBFGS, ConjugateGradient, Constrained, FlatQuotient, QuadraticSDP, Status, constraints, solve
from psdopt.errors import CheckpointError, DataFileError, InvalidTypeError, PsdoptError
from psdopt.running.checkpoint import MAGIC, load_checkpoint, save_checkpoint
from psdopt.terms import Entries
from tests.fuzz import examples, mutants
from tests.instances import INSTANCES, symmetric
from tests.running.problems import kta, planted

#: Quadratic problems, and terms that keep features along a line.
MAKES = {
    "planted": lambda: planted(np.random.default_rng(3))[0],
    "kta": lambda: kta(np.random.default_rng(3)),
    "triplets": lambda: INSTANCES["triplets"](np.random.default_rng(1)).problem,
    "distances": lambda: INSTANCES["distances"](np.random.default_rng(1)).problem,
}


METHODS = [ConjugateGradient(), ConjugateGradient("HS", preconditioner="gram"), LBFGS(memory=3)]


@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_resumed_run_is_bitwise_the_uninterrupted_one(tmp_path, method, make):
    def run(steps, **options):
        problem = make()  # a new object, same data
        return solve(problem, FlatQuotient(problem.n, 4), method, tol=1e-9, max_iterations=steps, **options)

    whole, cut = run(20), run(7, checkpoint=tmp_path / "run")
    resumed = run(20, resume=tmp_path / "run")
    assert (cut.iterations, resumed.iterations) == (7, whole.iterations)
    np.testing.assert_array_equal(resumed.matrix.factor, whole.matrix.factor)
    np.testing.assert_array_equal(resumed.history["value"], whole.history["value"])
    assert resumed.history["seconds"][-1] >= cut.history["seconds"][-1] > 0
    assert all(resumed.counts[name] > cut.counts[name] for name in cut.counts)


def test_the_data_are_not_in_the_file(tmp_path):
    """The problem is named, not stored: the file grows with n r, not with n²."""
    rng = np.random.default_rng(0)
    n = 300
    G = rng.standard_normal((n, n))
    problem = QuadraticSDP(G @ G.T, 1.0, -G @ G.T)
    method, path = ConjugateGradient(preconditioner="gram"), tmp_path / "run"
    solve(problem, FlatQuotient(n, 2), method, max_iterations=3, checkpoint=path)
    assert path.stat().st_size < 8 * n * n / 4


def written(tmp_path):
    problem = kta(np.random.default_rng(0))
    path = tmp_path / "run"
    solve(problem, FlatQuotient(8, 4), tol=1e-12, max_iterations=3, checkpoint=path)
    return problem, path


def test_resume_with_another_problem_is_refused(tmp_path):
    _, path = written(tmp_path)
    with pytest.raises(
        CheckpointError, match=r"was written for QuadraticSDP of order 8; found QuadraticSDP of order 12"
    ):
        solve(planted(np.random.default_rng(0))[0], FlatQuotient(12, 4), resume=path)
    with pytest.raises(CheckpointError, match=r"was written for another objective: there F = .*, with this problem"):
        solve(kta(np.random.default_rng(1)), FlatQuotient(8, 4), resume=path)
    with pytest.raises(CheckpointError, match=r"written for QuadraticSDP of order 8; found TermSum of order 7"):
        solve(INSTANCES["triplets"](np.random.default_rng(0)).problem, FlatQuotient(7, 4), resume=path)


@pytest.mark.parametrize("steps", [2, None])
@pytest.mark.parametrize("diagonal", [1.0, np.linspace(1.0, 2.0, 6)])
def test_resume_under_other_constraints_is_refused(tmp_path, steps, diagonal):
    """F is the same at every M, and A(M) meets some of them: the run was called optimal for any of these."""
    n, path = 6, tmp_path / "run"
    F, all_n = QuadraticSDP(None, 0.5, symmetric(np.random.default_rng(0), n)), np.arange(n)
    solve(Constrained(F, constraints.diagonal(n, diagonal)), max_iterations=steps, checkpoint=path)
    others = [
        constraints.diagonal(n, 2.0 * diagonal),
        constraints.diagonal(n, upper=diagonal),
        constraints.trace(n, float(np.sum(diagonal * np.ones(n)))),
        constraints.entries(all_n[::-1], all_n[::-1], n, diagonal),
        constraints.norm_bound(Entries(all_n, all_n, n), diagonal * np.ones(n), 1.0),
        [constraints.diagonal(n, diagonal), constraints.entries([0], [1], n, 0.5)],
    ]
    for other in others:
        with pytest.raises(CheckpointError, match="was written for a problem with other constraints"):
            load_checkpoint(path, Constrained(F, other))
    again = solve(Constrained(F, constraints.diagonal(n, diagonal)), resume=path)
    assert again.optimal


def test_a_proof_from_a_file_is_made_again(tmp_path):
    """At M = 0 all F with F(0) = 0 are alike: only the gradient tells them apart."""
    path, pieces = tmp_path / "run", (FlatQuotient(4, 2), ConjugateGradient())
    solved = solve(QuadraticSDP(None, 1.0, np.eye(4)), *pieces, checkpoint=path)
    assert (solved.status, solved.rank) == (Status.OPTIMAL, 0)
    assert solve(QuadraticSDP(None, 1.0, np.eye(4)), *pieces, resume=path).optimal
    with pytest.raises(CheckpointError, match=r"resumed with another problem: .* F = 0 here, 'optimal' is not proven"):
        solve(QuadraticSDP(None, 1.0, -np.eye(4)), *pieces, resume=path)


def test_a_proof_that_misses_by_little_lets_the_run_go_on(tmp_path):
    """The file holds a proof to a tolerance that its point, whose gap is g, meets to 1.5 times only."""
    problem, _ = planted(np.random.default_rng(3))
    pieces, path = (FlatQuotient(12, 12), ConjugateGradient()), tmp_path / "run"
    first = solve(problem, *pieces, rng=0, tol=1e-4, checkpoint=path)
    assert first.optimal
    run = load_checkpoint(path, problem, *pieces)
    tol = first.certificate.relative / 1.5
    run.ended = (*run.ended[:2], tol)
    save_checkpoint(path, run, problem)
    again = solve(problem, *pieces, tol=tol, resume=path)
    assert again.iterations > first.iterations
    assert again.optimal
    assert again.certificate.proves(tol)
    run.ended = (*run.ended[:2], tol / 100.0)
    save_checkpoint(path, run, problem)
    with pytest.raises(CheckpointError, match="'optimal' is not proven"):
        solve(problem, *pieces, tol=tol / 100.0, resume=path)


@pytest.mark.parametrize("name", ["checkpoint", "resume"])
@pytest.mark.parametrize("path", [3, b"run", True])
def test_a_path_is_text(name, path):
    with pytest.raises(InvalidTypeError, match=f"{name} must be None or the path of a file; found"):
        solve(MAKES["kta"](), **{name: path})


def test_unreadable_checkpoints(tmp_path):
    problem, path = written(tmp_path)
    whole = path.read_bytes()
    for name, told in (("absent", "No such file"), ("a\0b", "embedded null byte")):
        with pytest.raises(DataFileError, match=rf"cannot read checkpoint .*: {told}"):
            solve(problem, FlatQuotient(8, 4), resume=tmp_path / name)
    for bad in (b"", b"hello", pickle.dumps([1, 2]), pickle.dumps({"format": 99}), MAGIC, MAGIC + b"[]\n"):
        path.write_bytes(bad)
        with pytest.raises(CheckpointError, match="is not a psdopt checkpoint"):
            solve(problem, FlatQuotient(8, 4), resume=path)
    for bad in (whole[: len(whole) // 2], whole + b" ", whole[:-1]):
        path.write_bytes(bad)
        with pytest.raises(CheckpointError, match="is damaged: its checksum is not that of its content"):
            solve(problem, FlatQuotient(8, 4), resume=path)
    path.write_bytes(whole.replace(b'"format": 4', b'"format": 9', 1))
    with pytest.raises(
        CheckpointError, match=r"not a psdopt checkpoint of format 4; found format 9, written by psdopt"
    ):
        solve(problem, FlatQuotient(8, 4), resume=path)


def test_a_pickle_is_never_loaded(tmp_path):
    """Neither one that claims to be an older checkpoint nor one within a sound header runs anything."""
    problem, path = written(tmp_path)

    class Touch:
        def __reduce__(self):
            return (open, (str(tmp_path / "touched"), "w"))

    hostile = pickle.dumps(Touch())
    path.write_bytes(hostile)
    with pytest.raises(CheckpointError, match=r"checkpoints of format 1 were pickles, which are not loaded any more"):
        solve(problem, FlatQuotient(8, 4), resume=path)
    path.write_bytes(resealed(hostile, problem))
    with pytest.raises(CheckpointError, match="does not fit, is damaged, or was written by another version"):
        solve(problem, FlatQuotient(8, 4), resume=path)
    assert not (tmp_path / "touched").exists()


def resealed(content, problem):
    """A header with the checksum of `content` before it."""
    header = {"format": 4, "psdopt": "0", "problem": type(problem).__name__, "n": problem.n,
              "sha256": hashlib.sha256(content).hexdigest()}  # fmt: skip
    return MAGIC + json.dumps(header).encode() + b"\n" + content


def test_a_foreign_text_with_a_right_checksum_is_refused(tmp_path):
    problem, path = written(tmp_path)
    for text in ("", "[]", "{}", '{"root": 1, "nodes": []}', '{"root": [0], "nodes": [["array", "a0"]]}',
                 '{"root": [0], "nodes": [["object", "os:system", "true"]]}'):  # fmt: skip
        buffer = io.BytesIO()
        np.savez(buffer, graph=np.frombuffer(text.encode(), dtype=np.uint8))
        path.write_bytes(resealed(buffer.getvalue(), problem))
        with pytest.raises(CheckpointError):
            solve(problem, FlatQuotient(8, 4), resume=path)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    problem, path = written(tmp_path_factory.mktemp("sound"))
    return problem, path.read_bytes()


@settings(max_examples=examples(100, 20_000), deadline=None)
@given(data=st.data())
def test_damaged_checkpoints_are_refused_or_whole(sound, data):
    """Bytes changed anywhere: one error, unless what was changed is a text of the header that nothing depends on."""
    problem, whole = sound
    mutant = data.draw(mutants(whole))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        path.write_bytes(mutant)
        try:
            run = load_checkpoint(path, problem, FlatQuotient(8, 4), ConjugateGradient())
        except PsdoptError as error:
            assert str(path) in str(error)  # noqa: PT017
        else:
            content = whole[whole.index(b"\n", len(MAGIC)) :]
            assert mutant.endswith(content)
            assert run.iteration == 3


@settings(max_examples=examples(60, 10_000), deadline=None)
@given(data=st.data())
def test_damaged_content_with_a_right_checksum_is_refused_or_loads(sound, data):
    problem, whole = sound
    content = whole[whole.index(b"\n", len(MAGIC)) + 1 :]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        path.write_bytes(resealed(data.draw(mutants(content)), problem))
        with contextlib.suppress(PsdoptError):
            load_checkpoint(path, problem, FlatQuotient(8, 4), ConjugateGradient())


def test_a_folder_or_device_is_refused_before_the_run(tmp_path):
    problem, asked = kta(np.random.default_rng(0)), []
    for path, text in ((tmp_path, "it is a folder"), ("/dev/null", "it is a device, FIFO or socket")):
        with pytest.raises(DataFileError, match=text):
            solve(problem, FlatQuotient(8, 4), checkpoint=path, callback=asked.append)
    assert asked == []


@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_a_full_disk_does_not_lose_the_run(tmp_path, monkeypatch, seconds):
    """ENOSPC at every save: a warning, the result with a message that says so, and the last good checkpoint."""
    problem, path = written(tmp_path)
    before = path.read_bytes()

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("psdopt.data.files.os.fsync", full)
    with pytest.warns(RuntimeWarning, match=r"the checkpoint was not written: cannot write .*No space left on device"):
        result = solve(
            problem, FlatQuotient(8, 4), tol=1e-12, max_iterations=3, checkpoint=path, checkpoint_seconds=seconds
        )
    assert result.iterations == 3
    assert "No space left on device" in result.message
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_a_checkpoint_that_cannot_be_written_is_one_clear_error(tmp_path):
    problem = kta(np.random.default_rng(0))
    with pytest.raises(DataFileError, match=r"cannot write .*nowhere"):
        solve(problem, FlatQuotient(8, 4), max_iterations=2, checkpoint=tmp_path / "nowhere" / "run")


def test_checkpoints_are_written_on_the_way(tmp_path):
    """With an interval of zero seconds the file is there before the run ends."""
    path, sizes = tmp_path / "run", []
    result = solve(
        kta(np.random.default_rng(0)), FlatQuotient(8, 4), tol=1e-12, max_iterations=4, checkpoint=path,
        checkpoint_seconds=0.0, callback=lambda s: sizes.append(path.stat().st_size) and None,
    )  # fmt: skip
    assert result.status is Status.ITERATION_LIMIT
    assert len(sizes) == 4
    assert min(sizes) > 0
    assert [p.name for p in tmp_path.iterdir()] == ["run"]  # no temporary file is left
