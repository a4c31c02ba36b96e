"""Ctrl-C, a lack of memory, the end of the time and kills at any moment of a run: nothing is lost."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import psdopt.running.beginning
from psdopt import LBFGS, ConjugateGradient, FlatQuotient, LowRankPSD, QuadraticSDP, Result, Status, methods, solve
from psdopt.linalg.deadline import OutOfTime
from psdopt.linalg.tolerances import EPS
from psdopt.running.driver import Driver
from psdopt.running.verdicts import CUTS
from psdopt.testing.gallery import instances_for
from psdopt_plugins.manifold_learning import MaximumVarianceUnfolding
from psdopt_plugins.metric_learning import KTA, LMNN

#: Moments at which each run is cut; PSDOPT_CUTS=all takes every one.
MOMENTS = 8
METHODS = [(method, instances_for(method)[0]) for method in methods.shipped_methods()]


class Alarm:
    """Stands for ``deadline.ask``: counts the questions, and raises `kind` at question number `moment` and `again`."""

    def __init__(self, monkeypatch, kind=OutOfTime, moment=math.inf, again=math.inf):
        self.kind, self.moments, self.asked = kind, (moment, again), 0
        monkeypatch.setattr("psdopt.linalg.deadline.ask", self)

    def __call__(self):
        self.asked += 1
        if self.asked in self.moments:
            raise self.kind


def moments(total):
    if os.environ.get("PSDOPT_CUTS") == "all" or total <= MOMENTS:
        return range(1, total + 1)
    return sorted({round(k) for k in np.linspace(1, total, MOMENTS)})


@pytest.mark.parametrize(("method", "instance"), METHODS, ids=[method.name for method, _ in METHODS])
def test_a_run_cut_at_any_moment_keeps_its_best_point_and_goes_on(monkeypatch, tmp_path, method, instance):
    pieces, file = (instance.problem, instance.geometry, method), tmp_path / "run.ckpt"
    start = instance.geometry.random_point(np.random.default_rng(3))
    options = {"start": start, "tol": 1e-6, "max_iterations": 8}
    solve(*pieces, **options)  # what the problem computes once is known from now on
    count = Alarm(monkeypatch)
    whole = solve(*pieces, **options)
    last_bits = 16.0 * EPS * float(np.max(np.abs(whole.history["value"])))
    for k in moments(count.asked):
        kind, status = list(CUTS.items())[k % len(CUTS)]
        file.unlink(missing_ok=True)
        Alarm(monkeypatch, kind, k)
        result = solve(*pieces, checkpoint=file, **options)
        assert isinstance(result, Result)
        # a point that was certified before the cut, or could still be, is optimal whatever came between; a run that had
        # ended by its limit when its certificate was cut says so
        limit = result.status is Status.ITERATION_LIMIT and result.iterations == options["max_iterations"]
        at_its_limit = limit and result.certificate is None and "no certificate" in result.message
        assert result.status in (status, whole.status) or result.optimal or at_its_limit
        if not len(result.history):
            assert np.isnan(result.value)
            assert not file.exists()
            continue
        if method.ranks_by_value:
            assert result.value <= float(np.min(result.history["value"])) + last_bits
        assert result.value == pytest.approx(instance.problem.at(result.matrix.factor).value, rel=1e-9, abs=last_bits)
        Alarm(monkeypatch)
        resumed = solve(*pieces, tol=1e-6, max_iterations=8, resume=file)
        assert resumed.status is whole.status, f"cut at {k} of {count.asked}"
        assert len(resumed.history) == len(whole.history)
        np.testing.assert_allclose(resumed.history["value"], whole.history["value"], rtol=0.0, atol=last_bits)


#: Files whose every call is cut: what solve() does around the steps.
AROUND = (
    *(f"running/{name}" for name in ("beginning", "checkpoint", "driver", "judge", "progress", "run", "starts")),
    "data/files", "linalg/threads",
)  # fmt: skip


class Calls:
    """Counts the calls of functions in AROUND since the arguments were checked; raises `kind` in call number `moment`.

    Within, it is the profiler of Python, which sees every call at its first line.
    """

    def __init__(self, kind=KeyboardInterrupt, moment=math.inf):
        root = Path(psdopt.__file__).parent
        self.files = {str(root / f"{name}.py") for name in AROUND}
        assert all(map(os.path.exists, self.files))
        self.kind, self.moment, self.seen = kind, moment, 0

    def __call__(self, frame, event, argument):
        if event == "call" and frame.f_code.co_filename in self.files and frame.f_code.co_name != "__init__":
            self.seen += 1
            if self.seen == self.moment:
                raise self.kind

    def __enter__(self):
        sys.setprofile(self)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)


@pytest.mark.filterwarnings("ignore:the checkpoint was not written")
@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("start", [None, LowRankPSD(np.arange(1.0, 9.0).reshape(4, 2))])
def test_a_cut_in_any_call_of_the_run_is_a_result_with_its_best_point(tmp_path, kind, start):
    """Before F is known that is the start that was given; without one it is zero until a point is drawn."""
    C, file = np.diag([-3.0, -1.0, 2.0, 5.0]), tmp_path / "run.ckpt"
    pieces = QuadraticSDP(B=1.0, C=C), FlatQuotient(4, 2), LBFGS()
    options = {"start": start, "rng": 1, "max_iterations": 1, "checkpoint": file}
    with Calls() as calls:
        whole = solve(*pieces, **options)
    assert calls.seen > 50
    threads = psdopt.linalg.threads.libraries().info()
    kept: list[np.ndarray] = []
    for k in range(2, calls.seen + 1):  # the first is solve() asking for the time
        file.unlink(missing_ok=True)
        with Calls(kind, k):
            cut = solve(*pieces, **options)
        assert isinstance(cut, Result), k
        assert cut.status in (CUTS[kind], whole.status), k
        assert cut.as_dict()["status"] == cut.status.label
        if not len(cut.history):
            assert np.isnan(cut.value), k
            kept.append(cut.matrix.to_dense())
        else:
            assert cut.value == pytest.approx(float(np.min(cut.history["value"])), rel=1e-12), k
            assert cut.value == pytest.approx(pieces[0].at(cut.matrix.factor).value, rel=1e-12), k
        if file.exists():
            resumed = solve(*pieces, max_iterations=1, resume=file)
            assert (resumed.status, resumed.value) == (whole.status, whole.value), k
            assert np.array_equal(resumed.history["value"], whole.history["value"]), k
    assert psdopt.linalg.threads.libraries().info() == threads
    first = np.zeros((4, 4)) if start is None else start.to_dense()
    assert np.array_equal(kept[0], first)
    assert start is None or all(np.array_equal(M, first) for M in kept)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("estimator", [
    KTA(regularizer="trace"), LMNN(), MaximumVarianceUnfolding(),
    MaximumVarianceUnfolding(solver_options={"method": ConjugateGradient(preconditioner="none")}),
], ids=["KTA", "LMNN", "MVU", "MVU by conjugate gradient"])  # fmt: skip
def test_a_cut_ends_the_fit_of_an_estimator_of_several_runs(monkeypatch, kind, estimator):
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    record, begin = Driver._record, Driver.__init__
    records, runs_after, cut_at = [], [], [math.inf]

    def recorded(self):
        records.append(0)
        if len(records) == cut_at[0]:
            raise kind
        return record(self)

    def begun(self, *args, **options):
        if len(records) >= cut_at[0]:
            runs_after.append(0)
        begin(self, *args, **options)

    monkeypatch.setattr(Driver, "_record", recorded)
    monkeypatch.setattr(Driver, "__init__", begun)
    estimator.fit(X, y)
    for moment in moments(len(records))[:-1]:
        cut_at[0] = moment
        records.clear()
        estimator.fit(X, y)
        assert estimator.result_.status is CUTS[kind]
        assert not runs_after


ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_a_killed_run_is_resumed_bit_by_bit():
    command = [sys.executable, "-m", "tests.integration.kills", "--kills", "4", "--cases", "lbfgs", "samples"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "different: none" in done.stdout
