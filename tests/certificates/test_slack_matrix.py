"""certificate.slack() : S = ∇F(M) + A*(y) of the very M and y, sparse where F is linear, and not in copies."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Constrained, QuadraticSDP, TermSum, certify, constraints, solve
from psdopt.constraints import Constraint
from psdopt.errors import InvalidInputError
from psdopt.linalg.operators import LinearMap
from psdopt.running.certificate_files import restored, stored
from psdopt.terms import LinearTerm, MatrixForm, QuadraticForms
from tests.instances import INSTANCES, N, symmetric

MISSING = r"slack\(\) needs the problem"


@pytest.mark.parametrize("name", sorted(INSTANCES))
def test_without_constraints_it_is_the_gradient(name) -> None:
    instance = INSTANCES[name](np.random.default_rng(0))
    Y = np.random.default_rng(1).standard_normal((N, 2))
    S, certificate = certify(instance.problem, Y).slack(), certify(instance.problem, Y)
    dense = S.toarray() if sp.issparse(S) else S
    expected = instance.twin.dense_gradient(Y @ Y.T)
    assert np.allclose(dense, expected, rtol=0.0, atol=1e-10 * np.linalg.norm(expected))
    least = np.linalg.eigvalsh(dense)[0]
    assert certificate.lower_bound - 1e-10 * np.linalg.norm(dense) <= least
    assert least <= certificate.smallest_eigenvalue + 1e-10 * np.linalg.norm(dense)


def linear(rng: np.random.Generator) -> tuple[Constrained, np.ndarray]:
    C = sp.random_array((8, 8), density=0.3, rng=rng)
    C = sp.csr_array(C + C.T)
    return Constrained(TermSum([LinearTerm(MatrixForm(LinearMap(C, "C")))]), constraints.diagonal(8, 1.0)), C.toarray()


def test_of_a_linear_objective_it_is_sparse_and_of_the_multipliers_handed_out() -> None:
    problem, C = linear(np.random.default_rng(0))
    certificate = solve(problem, tol=1e-8).certificate
    S = certificate.slack()
    assert isinstance(S, sp.csr_array)
    assert np.allclose(S.toarray(), C + np.diag(certificate.constraints.multipliers), rtol=0.0, atol=1e-14)
    assert np.linalg.eigvalsh(S.toarray())[0] >= -1e-6


@pytest.mark.parametrize("entries", [True, False])
def test_of_a_curved_objective_it_is_dense_and_taken_at_the_point(entries) -> None:
    rng = np.random.default_rng(2)
    C, X = symmetric(rng, 6), rng.standard_normal((3, 6))
    held = constraints.diagonal(6, 1.0) if entries else Constraint(QuadraticForms(X), np.ones(3), np.ones(3))
    problem = Constrained(QuadraticSDP(B=0.5, C=-C), held)
    Y, y = rng.standard_normal((6, 2)), rng.standard_normal(6 if entries else 3)
    certificate = certify(problem, Y, dual=y)
    S = certificate.slack()
    adjoint = np.diag(y) if entries else X.T @ np.diag(y) @ X
    M = Y @ Y.T
    assert isinstance(S, np.ndarray)
    y = certificate.constraints.multipliers  # y itself, or 0 where that proves more
    adjoint = np.diag(y) if entries else X.T @ np.diag(y) @ X
    assert np.allclose(S, M - 2.0 * C + adjoint, rtol=0.0, atol=1e-11 * np.linalg.norm(S))
    assert np.linalg.norm(S @ Y) == pytest.approx(certificate.stationarity)


def test_copies_keep_the_numbers_and_say_that_the_problem_is_gone() -> None:
    problem, _ = linear(np.random.default_rng(3))
    certificate = certify(problem, np.eye(8), dual=np.ones(8))
    copies = [copy.copy(certificate), copy.deepcopy(certificate), pickle.loads(pickle.dumps(certificate))]
    for other in [*copies, restored(stored(certificate))]:
        assert (other.value, other.gap, other.unit) == (certificate.value, certificate.gap, certificate.unit)
        with pytest.raises(InvalidInputError, match=MISSING + r".*dual=certificate\.constraints\.multipliers"):
            other.slack()
    assert "slack" not in repr(certificate)
    assert "_slack" not in certificate.as_dict()
    with pytest.raises(InvalidInputError, match=MISSING + r".*certify\(problem, M\)"):
        copy.copy(certify(problem.problem, np.eye(8))).slack()
