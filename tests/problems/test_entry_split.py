"""The bi-convex split of a fit to entries against the plain formula."""

from __future__ import annotations

import autograd.numpy as anp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from psdopt import AutogradProblem
from psdopt.linalg.tolerances import EPS
from tests.methods.pairs import pair_problem


@pytest.mark.parametrize("as_data", [sp.csr_array, np.asarray, lambda L: aslinearoperator(sp.csr_array(L))])
def test_entry_fit_equals_the_plain_formula(as_data):
    problem = pair_problem(n=9, as_data=as_data)
    L = problem.L.to_dense()
    i, j, t, w = problem.i, problem.j, problem.targets, problem.weights
    reference = AutogradProblem(lambda M: anp.sum(L * M) + anp.sum(w * (M[i, j] - t) ** 2), 9)
    rng = np.random.default_rng(1)
    Y, D = rng.standard_normal((9, 3)), rng.standard_normal((9, 3))
    ours, theirs = problem.at(Y), reference.at(Y)
    assert ours.value == pytest.approx(theirs.value, rel=1e3 * EPS)
    np.testing.assert_allclose(ours.factor_gradient(), theirs.factor_gradient(), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(ours.hessian_vector(D), theirs.hessian_vector(D), rtol=1e-10, atol=1e-10)
    assert problem.split().coupling_bound >= np.linalg.eigvalsh(L)[-1] * (1 - 1e-12)
    assert problem.split().coupling_bound <= 1.1 * np.linalg.eigvalsh(L)[-1]
