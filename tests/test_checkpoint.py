"""A run that is stopped, written and resumed takes bitwise the same steps as one that was not."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from psdopt import LBFGS, ConjugateGradient, FlatQuotient, QuadraticSDP, Status, solve
from psdopt.errors import CheckpointError, DataFileError

from .instances import INSTANCES, N
from .test_solve import kta, planted

METHODS = [ConjugateGradient(), ConjugateGradient("HS", preconditioner="gram"), LBFGS(memory=3)]


def iterates(problem, method, **kwargs):
    seen = []
    result = solve(
        problem, FlatQuotient(problem.n, 4), method, tol=1e-9,
        callback=lambda s: seen.append(s.state.evaluation.factor.copy()) and None, **kwargs,
    )  # fmt: skip
    return seen, result


@pytest.mark.parametrize("make", [lambda: planted(np.random.default_rng(3))[0], lambda: kta(np.random.default_rng(3))])
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_resumed_run_is_bitwise_the_uninterrupted_one(tmp_path, method, make):
    path = tmp_path / "run.checkpoint"
    whole, reference = iterates(make(), method, max_iterations=20)
    first, _ = iterates(make(), method, max_iterations=7, checkpoint=path)
    second, resumed = iterates(make(), method, max_iterations=20, resume=path)  # a new problem object, same data
    assert len(first) == 7
    assert len(first) + len(second) == len(whole)
    for there, here in zip(whole, [*first, *second], strict=True):
        np.testing.assert_array_equal(there, here)
    assert resumed.iterations == reference.iterations
    np.testing.assert_array_equal(resumed.history["value"], reference.history["value"])
    assert resumed.seconds > 0


@pytest.mark.parametrize("name", ["triplets", "distances", "kta"])
def test_problems_with_features_resume_too(tmp_path, name):
    def make():
        return INSTANCES[name](np.random.default_rng(1)).problem

    path = tmp_path / "run"
    whole = solve(make(), FlatQuotient(N, 3), LBFGS(), tol=1e-9, max_iterations=8).matrix.factor
    solve(make(), FlatQuotient(N, 3), LBFGS(), tol=1e-9, max_iterations=3, checkpoint=path)
    resumed = solve(make(), FlatQuotient(N, 3), LBFGS(), tol=1e-9, max_iterations=8, resume=path)
    np.testing.assert_array_equal(resumed.matrix.factor, whole)


def test_resume_after_an_escape_goes_on_at_the_wider_rank(tmp_path):
    problem, best = planted(np.random.default_rng(5), n=15, rank=4)
    path = tmp_path / "run"
    first = solve(problem, FlatQuotient(15, 1), escape=True, tol=1e-7, checkpoint=path, max_iterations=40)
    resumed = solve(problem, FlatQuotient(15, 1), escape=True, tol=1e-7, resume=path)
    assert resumed.optimal
    assert abs(resumed.value - best) <= 4e-7 * abs(best)
    assert resumed.iterations >= first.iterations


def test_the_data_are_not_in_the_file(tmp_path):
    """The problem is named, not stored: the file grows with n r, not with n²."""
    rng = np.random.default_rng(0)
    n = 300
    G = rng.standard_normal((n, n))
    problem = QuadraticSDP(G @ G.T, 1.0, -G @ G.T)
    solve(
        problem,
        FlatQuotient(n, 2),
        ConjugateGradient(preconditioner="gram"),
        max_iterations=3,
        checkpoint=tmp_path / "run",
    )
    assert (tmp_path / "run").stat().st_size < 8 * n * n / 4


def test_counts_and_seconds_add_up(tmp_path):
    problem = kta(np.random.default_rng(0))
    first = solve(problem, FlatQuotient(8, 4), tol=1e-12, max_iterations=5, checkpoint=tmp_path / "run")
    second = solve(problem, FlatQuotient(8, 4), tol=1e-12, max_iterations=9, resume=tmp_path / "run")
    assert second.counts["operator_applications"] > first.counts["operator_applications"]
    assert second.history["seconds"][-1] >= first.history["seconds"][-1]


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


def test_unreadable_checkpoints(tmp_path):
    problem, path = written(tmp_path)
    whole = path.read_bytes()
    with pytest.raises(DataFileError, match=r"cannot read checkpoint .*: No such file"):
        solve(problem, FlatQuotient(8, 4), resume=tmp_path / "absent")
    for bad in (b"", b"hello", whole[: len(whole) // 2], pickle.dumps([1, 2]), pickle.dumps({"format": 99})):
        path.write_bytes(bad)
        with pytest.raises(CheckpointError, match="is not a psdopt checkpoint"):
            solve(problem, FlatQuotient(8, 4), resume=path)
    header = pickle.loads(whole)
    header["run"] = header["run"][: len(header["run"]) // 2]
    path.write_bytes(pickle.dumps(header))
    with pytest.raises(CheckpointError, match=r"is damaged, or was written by another version"):
        solve(problem, FlatQuotient(8, 4), resume=path)


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
