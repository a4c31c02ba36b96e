"""BLAS threads: one while a problem is solved, and afterwards as many as there were."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from psdopt import ConjugateGradient, FlatQuotient, QuadraticSDP, solve
from psdopt.linalg import threads, top_eigenpairs
from psdopt.problems.autograd_problem import AutogradProblem
from psdopt.problems.entry_fit import EntryFit

BLAS = threads.libraries().select(user_api="blas")


def set_to(number):
    for library in BLAS.lib_controllers:
        library.set_num_threads(number)
        if hasattr(library, "clear_controlling_thread"):  # else threads of Python other than this one could set nothing
            library.clear_controlling_thread(force=True)


def counts():
    return {library["num_threads"] for library in BLAS.info() if library["filepath"] in TWO}


BEFORE = [library["num_threads"] for library in BLAS.info()]
set_to(2)
TWO = [library["filepath"] for library in BLAS.info() if library["num_threads"] == 2]  # some know only one
for library, number in zip(BLAS.lib_controllers, BEFORE, strict=True):
    library.set_num_threads(number)


@pytest.fixture(autouse=True)
def two_threads():
    if not TWO:
        pytest.skip("no BLAS that can have two threads")
    set_to(2)
    try:
        yield
        assert counts() == {2}
    finally:
        for library, number in zip(BLAS.lib_controllers, BEFORE, strict=True):
            library.set_num_threads(number)


def test_a_stretch_has_one_thread_and_nothing_is_left_behind():
    with threads.one_blas_thread():
        with threads.one_blas_thread():
            assert counts() == {1}
        assert counts() == {1}
    assert counts() == {2}
    with pytest.raises(KeyError), threads.one_blas_thread(), threads.one_blas_thread():
        raise KeyError
    assert counts() == {2}


@pytest.mark.parametrize("first_out", ["main", "other"])
@pytest.mark.parametrize("first_in", ["main", "other"])
def test_of_stretches_that_overlap_the_first_sets_and_the_last_restores(first_in, first_out):
    begun, end, seen = threading.Event(), threading.Event(), []

    def other():
        with threads.one_blas_thread():
            seen.append(counts())
            begun.set()
            end.wait(60)
            seen.append(counts())

    def begin():
        thread.start()
        assert begun.wait(60)

    def finish():
        end.set()
        thread.join()

    thread = threading.Thread(target=other)
    if first_in == "other":
        begin()
    with threads.one_blas_thread():
        if first_in == "main":
            begin()
        assert counts() == {1}
        if first_out == "other":
            finish()
            assert counts() == {1}
    if first_out == "main":
        assert counts() == {1}
        finish()
    assert counts() == {2}
    assert seen == [{1}, {1}]


def diagonal_fit(n=12):
    return EntryFit(None, np.arange(n), np.arange(n), np.arange(1.0, n + 1.0), 1.0, n=n)


def test_runs_in_a_pool_have_one_thread_each_and_leave_nothing_behind():
    fit, barrier = diagonal_fit(), threading.Barrier(4)

    def run(k):
        seen = set()

        def look(snapshot):
            if snapshot.iteration == 1:
                barrier.wait(60)  # all four are under way
            seen.update(counts())

        solve(fit, FlatQuotient(fit.n, 3), ConjugateGradient(), callback=look, max_iterations=3, tol=1e-300, rng=k)
        return seen

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(4))) == [{1}] * 4
    assert counts() == {2}


def test_a_number_that_another_thread_holds_is_left_alone():
    holders = [library for library in BLAS.lib_controllers if hasattr(library, "clear_controlling_thread")]
    if not holders:
        pytest.skip("no BLAS whose number a thread can hold")
    held, end = threading.Event(), threading.Event()

    def hold():
        for library in holders:
            library.set_num_threads(2)
        held.set()
        end.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)
    with threads.one_blas_thread():
        assert {library.get_num_threads() for library in holders if library.filepath in TWO} == {2}
    end.set()
    thread.join()
    assert counts() == {2}


def test_solve_takes_one_thread_whatever_the_size_of_the_arrays():
    """In the choice of the pieces too, which may decompose matrices, and where the arrays are unknown."""

    class Seen(QuadraticSDP):
        def solve_in_closed_form(self, rank=None):
            seen.update(counts())
            return super().solve_in_closed_form(rank)

    def look(snapshot):
        seen.update(counts())

    tall = diagonal_fit()
    tall.rows = 10**12
    hidden = AutogradProblem(lambda M: 0.5 * ((M - np.diag([4.0, 3.0, 2.0, 1.0])) ** 2).sum(), 4)
    assert hidden.rows is None
    for problem, geometry in (
        (tall, FlatQuotient(12, 3)),
        (hidden, FlatQuotient(4, 2)),
        (Seen(None, 1.0, -np.eye(3)), None),
    ):
        seen = set()
        solve(problem, geometry, callback=look, max_iterations=3)
        assert seen == {1}


def test_leading_eigenpairs_take_one_thread():
    seen = set()

    class Map:
        shape, K = (300, 300), np.diag(np.arange(300.0))

        def __matmul__(self, X):
            seen.update(counts())
            return self.K @ X

    top_eigenpairs(Map(), 3)
    assert seen == {1}
