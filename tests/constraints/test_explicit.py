"""Entries of measurements and objectives, slack and blocks: against the matrices and what F itself gives."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.constraints import SparseForms, explicit
from psdopt.constraints.conic import Conic, diagonal_blocks
from psdopt.constraints.measurements import Stacked, Trace
from psdopt.contracts.images import Images
from psdopt.errors import InvalidInputError
from psdopt.problems.term_sum import TermSum
from psdopt.terms.forms import GramForm, IdentityForm, MatrixForm, SumForm
from psdopt.terms.losses import LeastSquares
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import Entries, Measurement, PairDistances, QuadraticForms
from psdopt.terms.quadratic import LinearTerm, ProductTerm
from psdopt.testing import parametrize_with_checks
from tests.instances import symmetric

N = 5
RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, N))
MEASUREMENTS: list[Measurement] = [
    Trace(N),
    Entries([0, 1, 4], [0, 3, 2], N),
    Entries(range(N), range(N), N),
    PairDistances([0, 1], [2, 4], None, N),
    QuadraticForms(X),
    QuadraticForms(sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))),
    constraints.SparseForms.of([np.eye(N), np.ones((N, N))]),
    constraints.SparseForms([0, 1, 1], [1, 0, 1], [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]], N),
    Stacked([Trace(N), Entries([1], [3], N), PairDistances([0], [3], None, N), QuadraticForms(sp.csr_array(X))]),
]


@pytest.mark.parametrize("measurement", MEASUREMENTS, ids=lambda each: type(each).__name__)
def test_entries_measure_what_the_measurement_does_and_have_its_adjoint_and_norms(measurement) -> None:
    forms = explicit.explicit_forms(measurement)
    Y = np.random.default_rng(1).standard_normal((N, 3))
    images = Images(measurement.maps, Y)
    expected = measurement.pair(images, images)
    A = [forms.matrix(e).toarray() for e in np.eye(forms.size)]
    assert np.allclose([np.sum(a * (Y @ Y.T)) for a in A], expected, rtol=1e-12, atol=1e-13)
    w = np.random.default_rng(2).standard_normal(forms.size)
    assert np.allclose(forms.matrix(w).toarray(), np.einsum("t,tij->ij", w, A), rtol=0, atol=1e-13)
    assert np.allclose(explicit.form_norms(measurement), [np.linalg.norm(a) for a in A], rtol=1e-12)


def test_what_is_at_hand_through_data_alone_has_no_entries_but_has_norms() -> None:
    distances = PairDistances([0, 1], [2, 3], X, None)
    assert explicit.explicit_forms(distances) is None
    assert explicit.explicit_forms(Stacked([Trace(N), distances])) is None
    found = explicit.form_norms(distances)
    exact = [np.sum((X[a] - X[b]) ** 2) for a, b in ((0, 2), (1, 3))]
    assert np.allclose(found, exact, rtol=0.5)


def test_too_many_entries_are_not_written_out(monkeypatch) -> None:
    monkeypatch.setattr(explicit, "NUMBERS", 30)
    forms = QuadraticForms(X)  # 60 entries
    assert explicit.explicit_forms(forms) is None
    assert np.allclose(explicit.form_norms(forms), np.sum(X**2, axis=1), rtol=1e-12)
    assert explicit.explicit_forms(Stacked([Trace(N), Entries([0] * 40, [1] * 40, N)])) is None


@pytest.mark.parametrize("form", [
    MatrixForm(symmetric(np.random.default_rng(3), N), 0.7),
    IdentityForm(N, -2.0),
    GramForm(X, 0.3),
    SumForm([MatrixForm(symmetric(np.random.default_rng(4), N)), IdentityForm(N, 0.5)]),
], ids=lambda form: type(form).__name__)  # fmt: skip
def test_a_linear_objective_is_its_matrix_and_its_constant(form) -> None:
    F = TermSum([LinearTerm(form, 1.5), LinearTerm(MatrixForm(symmetric(np.random.default_rng(5), N)))], 2.5)
    found = explicit.linear_objective(F)
    C, constant = found
    assert constant == 2.5
    Y = np.random.default_rng(6).standard_normal((N, 2))
    assert np.sum(C.toarray() * (Y @ Y.T)) + constant == pytest.approx(F.at(Y).value, rel=1e-12)
    assert abs(C - C.T).max() == 0.0


def test_curved_objectives_are_not_linear() -> None:
    assert explicit.linear_objective(QuadraticSDP(B=1.0, C=symmetric(np.random.default_rng(0), N))) is None
    assert explicit.linear_objective(TermSum([MeasuredTerm(Trace(N), LeastSquares(np.ones(1)))])) is None


def test_a_distance_is_found_with_its_scale_and_centre() -> None:
    G = symmetric(np.random.default_rng(7), N)
    F = QuadraticSDP(B=0.8, C=-G)
    found = explicit.nearest_objective(F)
    Y = np.random.default_rng(8).standard_normal((N, 3))
    M = Y @ Y.T
    expected = 0.5 * found.rho * np.sum(M * M) + np.sum(found.C * M) + found.constant
    assert F.at(Y).value == pytest.approx(expected, rel=1e-12)
    assert explicit.nearest_objective(QuadraticSDP(C=G)) is None  # linear
    weighted = TermSum([ProductTerm(MatrixForm(np.diag(np.arange(1.0, N + 1.0))), IdentityForm(N))])
    assert explicit.nearest_objective(weighted) is None


def test_losses_of_measurements_are_found_with_their_places_among_the_terms() -> None:
    terms = [
        LinearTerm(IdentityForm(N, 2.0), 0.5),
        MeasuredTerm(Entries([0, 1], [1, 1], N), LeastSquares(np.ones(2))),
        MeasuredTerm(Trace(N), LeastSquares(np.ones(1))),
    ]
    found = explicit.measured_objective(TermSum(terms))
    assert found.terms == (1, 2)
    assert np.array_equal(found.diagonal, np.ones(N))
    assert found.forms.size == 3
    linear = explicit.measured_objective(TermSum(terms[:1]))
    assert linear.forms is None
    assert explicit.measured_objective(QuadraticSDP(B=1.0, C=symmetric(np.random.default_rng(1), N))) is None


def conic_of(C: np.ndarray, *groups: constraints.Constraint) -> Conic:
    return Constrained(QuadraticSDP(C=0.5 * C), list(groups)).conic


def test_blocks_are_what_either_the_objective_or_a_constraint_connects() -> None:
    C = np.zeros((7, 7))
    C[0, 3] = C[3, 0] = 1.0
    conic = conic_of(C, constraints.diagonal(7, 1.0), constraints.entries([3, 5], [1, 6], 7, 0.0))
    assert sorted(sorted(rows.tolist()) for rows in conic.blocks) == [[0, 1, 3], [2], [4], [5, 6]]


def test_stored_zeros_connect_nothing_and_are_left_in_place() -> None:
    S = sp.csr_array((np.array([1.0, 0.0, 0.0, 2.0]), ([0, 0, 1, 1], [0, 1, 0, 1])), shape=(3, 3))
    assert [rows.tolist() for rows in diagonal_blocks(S)] == [[0], [1], [2]]
    assert S.nnz == 4


def test_every_row_is_in_one_block() -> None:
    rng = np.random.default_rng(1)
    for density in (0.0, 0.02, 0.1, 1.0):
        S = sp.random(30, 30, density=density, random_state=rng, format="csr")
        S = sp.csr_array(S + S.T)
        blocks = diagonal_blocks(S)
        assert sorted(np.concatenate(blocks).tolist()) == list(range(30))
        label = np.empty(30)
        for k, rows in enumerate(blocks):
            label[rows] = k
        i, j = S.nonzero()
        assert np.array_equal(label[i], label[j])


def test_blocks_are_found_again_after_a_copy_by_pickle() -> None:
    conic = conic_of(np.eye(3), constraints.trace(3, 1.0))
    before = [rows.tolist() for rows in conic.blocks]
    assert [rows.tolist() for rows in pickle.loads(pickle.dumps(conic)).blocks] == before


@pytest.mark.parametrize("n", [1, 4, 12])
def test_forms_of_matrices_are_the_matrices(n):
    """A single entry, a diagonal, a full one and one of a zero matrix beside them."""
    rng = np.random.default_rng(n)
    G = rng.standard_normal((n, n))
    single = np.zeros((n, n))
    single[0, -1] = single[-1, 0] = 2.5
    given = [G + G.T, single, np.diag(rng.standard_normal(n)), np.zeros((n, n))]
    for matrices in (given, [sp.csr_array(A) for A in given], [single]):
        forms = SparseForms.of(matrices)
        dense = [A if isinstance(A, np.ndarray) else A.toarray() for A in matrices]
        assert (forms.n, forms.size) == (n, len(dense))
        for t, A in enumerate(dense):
            np.testing.assert_allclose(forms.matrix(np.eye(len(dense))[t]).toarray(), A, atol=1e-14)
        np.testing.assert_allclose(forms.norms, [np.linalg.norm(A) for A in dense], rtol=1e-13)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1]], ids=["ascending", "in another order"])
def test_places_come_in_any_order(order) -> None:
    i, j, B = np.array([0, 0, 1, 3]), np.array([1, 3, 2, 3]), sp.csr_array(np.arange(1.0, 9.0).reshape(2, 4))
    B.data[[0, 5]] = 0.0  # stored zeros
    forms = SparseForms(j[order], i[order], B[:, order], 4)
    assert np.array_equal(forms.i, i)
    assert np.array_equal(forms.j, j)
    assert np.array_equal(forms.B.toarray(), B.toarray())
    assert forms.B.nnz == 6
    assert B.nnz == 8


PLACES = np.array(np.triu_indices(20))
FEW, MANY = (SparseForms(*PLACES[:, :p], RNG.standard_normal((3, p)), 20) for p in (1, 210))
JOINED = SparseForms([0, 1, 1], [1, 0, 1], [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]], 6)


@parametrize_with_checks([FEW, MANY, JOINED, SparseForms.of([np.eye(1)])])
def test_places_gathered_one_by_one_or_read_from_all_entries_or_joined(check):
    check()


def test_repeated_places_are_joined() -> None:
    assert np.array_equal(JOINED.matrix(np.eye(2)[0]).toarray()[:2, :2], [[0.0, 1.5], [1.5, 3.0]])


def test_a_form_that_is_nearly_symmetric_is_taken_and_all_zero_forms_are_refused():
    A = np.array([[1.0, 2.0], [2.0 * (1.0 + 1e-15), 3.0]])
    assert SparseForms.of([A]).size == 1
    with pytest.raises(InvalidInputError, match="symmetric"):
        SparseForms.of([np.array([[1.0, 2.0], [2.1, 3.0]])])
    with pytest.raises(InvalidInputError, match="zero"):
        SparseForms.of([np.zeros((2, 2)), np.zeros((2, 2))])
    with pytest.raises(InvalidInputError, match="matrices\\[1\\] must be of order 2"):
        SparseForms.of([np.eye(2), np.eye(3)])


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_trace_is_added_to_arrays_stored_in_any_way(order):
    S = np.ones((3, 3), order=order)
    Trace(3).add_to(S, np.array([2.0]))
    np.testing.assert_array_equal(S, np.ones((3, 3)) + 2.0 * np.eye(3))
