"""Problems, and what they keep, are freed when the last name for them is gone, not when the collector comes by."""

import gc
import weakref

import numpy as np
import pytest

from psdopt import ConjugateGradient, FlatQuotient, LagrangeNewton, solve
from psdopt.methods.admm import ADMM
from psdopt.problems import QuadraticSDP
from psdopt.problems.entry_fit import EntryFit
from psdopt.testing.gallery import with_spectrum
from psdopt_plugins.kernel_learning.pairwise_problem import pairwise_kernel_problem


def entry_fit():
    i, j = np.triu_indices(9)
    T = with_spectrum(np.linspace(-1.0, 2.0, 9), 4)
    return EntryFit(with_spectrum(np.linspace(0.1, 0.5, 9), 5), i, j, T[i, j])


def pairs():
    return pairwise_kernel_problem(with_spectrum(np.linspace(0.0, 1.0, 9), 5), [[0, 1], [1, 2], [3, 5]], [1, 0, 1], 2.0)


def quadratic():
    return QuadraticSDP(with_spectrum(np.linspace(0.5, 2.0, 9), 1), 1.0, with_spectrum(np.linspace(-2.0, 1.0, 9), 2))


@pytest.mark.parametrize(
    ("make", "methods"),
    [
        (entry_fit, (ADMM(), ConjugateGradient(), LagrangeNewton(steps=1))),
        (pairs, (ADMM(), ConjugateGradient(), LagrangeNewton(steps=1))),
        (quadratic, (ConjugateGradient(),)),
    ],
)
def test_nothing_keeps_a_problem_that_was_solved(make, methods):
    problem = make()
    for method in methods:
        assert solve(problem, FlatQuotient(9, 4), method, rng=0).converged
    known = weakref.ref(problem)
    gc.collect()
    gc.disable()
    try:
        del problem
        assert known() is None
    finally:
        gc.enable()
