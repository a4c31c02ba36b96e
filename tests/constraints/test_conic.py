"""What is known of explicit constraints before any method: blocks of one order, dense parts, systems of multipliers."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.constraints.allowed import Allowed
from psdopt.constraints.central_path.coupled_systems import Metric, schur_solver
from psdopt.constraints.central_path.interior_steps import Iterate, first_iterate
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.conic import Conic
from psdopt.constraints.limits import SPARSE
from psdopt.constraints.measurements import SparseForms
from psdopt.linalg.limits import ITERATED_ORDER

SIZES = (3, 1, 2, 3, 5, 2, 3, 1)


def scattered(seed: int = 0) -> tuple[Conic, list[np.ndarray]]:
    """Blocks of these orders whose rows lie apart from each other; a third of the forms has entries in each."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(sum(SIZES))
    rows = [np.sort(each) for each in np.split(order, np.cumsum(SIZES)[:-1])]

    def blocks(kept: np.ndarray) -> sp.csr_array:
        A = np.zeros((len(order), len(order)))
        for at, held in zip(rows, kept, strict=True):
            G = rng.standard_normal((len(at), len(at)))
            A[np.ix_(at, at)] = held * (G + G.T)
        return sp.csr_array(A)

    everywhere = np.ones(len(SIZES))
    forms = [blocks(rng.random(len(SIZES)) < 0.4) for _ in range(7)] + [blocks(everywhere)]
    problem = QuadraticSDP(C=0.5 * blocks(everywhere))
    return Constrained(problem, constraints.sparse_forms(forms, np.ones(8))).conic, rows


def test_sizes_and_slacks_are_those_of_the_matrices() -> None:
    rng = np.random.default_rng(0)
    C = rng.standard_normal((7, 7)) * (rng.random((7, 7)) < 0.4)
    problem = Constrained(QuadraticSDP(C=C + C.T), constraints.diagonal(7, 1.0))
    conic, d, y = problem.conic, rng.random(7), rng.standard_normal(7)
    assert conic.size(d) == pytest.approx(d @ np.abs(2.0 * (C + C.T)) @ d)
    np.testing.assert_allclose(conic.dense_slack(y), conic.slack(y).toarray(), atol=1e-14)
    np.testing.assert_allclose(conic.dense_slack(y), 2.0 * (C + C.T) + np.diag(y), atol=1e-14)


def test_places_are_those_of_forms_and_objective_once_each() -> None:
    forms = SparseForms(np.array([0, 2]), np.array([1, 2]), np.array([[1.0, 1.0]]), 4)
    C = sp.csr_array(np.array([[0.0, 2.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 3.0], [0.0, 0.0, 3.0, 5.0]]))
    C.data[C.data == 5.0] = 0.0  # a stored zero is no entry
    conic = Conic(C, 0.0, forms, Allowed(np.ones(1), np.ones(1)))
    i, j, numbers, at = conic.places
    assert list(zip(i.tolist(), j.tolist(), numbers.tolist(), strict=True)) == [(0, 1, 2.0), (2, 2, 0.0), (2, 3, 3.0)]
    assert at.tolist() == [0, 1]
    assert conic.label.tolist() == [0, 0, 1, 1]
    assert conic.entries(np.array([4.0])).tolist() == [4.0, 4.0, 3.0]


def metrics_at(form: StandardForm, at: Iterate) -> list[Metric]:
    """Those of the linearised equations, D ↦ X D Z⁻¹."""
    states = zip(form.parts, at.X, at.Z, at.Lx, at.Lz, strict=True)
    return [part.local(X, Z, L, K, None, False).metric for part, X, Z, L, K in states]


def complement(conic: Conic) -> sp.csr_array:
    """The Schur complement at the start of the path."""
    form = StandardForm(conic)
    at = Iterate.of(form, *first_iterate(form), np.zeros(form.m))
    metrics = metrics_at(form, at)
    return sp.csr_array(sum((metric.sparse() for metric in metrics[1:]), metrics[0].sparse()))


def pattern(problem: Constrained) -> int:
    """The number of pairs of rows of the standard form with entries in a common block, by its definition."""
    conic = problem.conic
    form = StandardForm(conic)
    held = np.zeros((form.m, len(conic.blocks)), dtype=bool)
    for t, source in enumerate(form.source):
        A = conic.forms.matrix(np.eye(conic.m)[source]).toarray()
        held[t] = [bool(np.any(A[np.ix_(at, at)])) for at in conic.blocks]
    return int(np.count_nonzero(held.astype(int) @ held.T.astype(int)))


def neighbours(count: int, lower: float, upper: float, seed: int = 0) -> Constrained:
    """Blocks of order 2, each with the next in an equation or between these bounds."""
    rng = np.random.default_rng(seed)
    forms = []
    for k in range(count - 1):
        G = rng.standard_normal((2, 2, 2))
        at = 2 * k + np.arange(4).reshape(2, 2)  # the rows of both blocks
        i, j = np.broadcast_arrays(at[:, :, None], at[:, None])
        forms.append(sp.csr_array(((G + G.mT).ravel(), (i.ravel(), j.ravel())), shape=(2 * count, 2 * count)))
    group = constraints.sparse_forms(forms, lower=lower, upper=upper)
    return Constrained(QuadraticSDP(C=sp.eye_array(2 * count, format="csr")), group)


@pytest.mark.parametrize(("lower", "upper"), [(1.0, 1.0), (-1.0, 1.0), (-np.inf, 1.0), (-1.0, np.inf)])
def test_meetings_bound_the_nonzeros_of_the_complement(lower, upper) -> None:
    """Whatever the constraints are: an interval makes two rows, and four entries of one."""
    problem = neighbours(12, lower, upper)
    conic, M = problem.conic, complement(problem.conic)
    each = 2 if np.isfinite([lower, upper]).all() and lower < upper else 1
    assert len(conic.blocks) == 12
    assert conic.equations.tolist() == [each] * 11
    assert M.shape[0] == conic.equations.sum()
    M.eliminate_zeros()
    assert M.nnz <= pattern(problem) <= conic.meetings
    assert conic.meetings <= 2.0 * pattern(problem)  # a pair that meets in two blocks counts twice


@pytest.mark.parametrize("seed", range(4))
def test_meetings_bound_the_nonzeros_where_blocks_have_any_order(seed) -> None:
    conic, _ = scattered(seed)
    M = complement(conic)
    M.eliminate_zeros()
    assert M.nnz <= conic.meetings
    held = [[np.any(conic.forms.matrix(e).toarray()[np.ix_(at, at)]) for at in conic.blocks] for e in np.eye(conic.m)]
    assert conic.meetings == np.square(np.sum(held, axis=0)).sum() + conic.m


def test_constraints_without_bounds_or_entries_make_no_equation() -> None:
    forms = [np.eye(2), np.zeros((2, 2)), np.ones((2, 2)), np.diag([1.0, 0.0])]
    lower, upper = [1.0, 0.0, -np.inf, 0.0], [1.0, 0.0, np.inf, 2.0]
    group = constraints.sparse_forms(forms, lower=np.array(lower), upper=np.array(upper))
    conic = Constrained(QuadraticSDP(C=np.eye(2)), group).conic
    assert conic.equations.tolist() == [1, 0, 0, 2]
    assert StandardForm(conic).m == 3


@pytest.mark.parametrize(("lower", "upper"), [(1.0, 1.0), (-1.0, 1.0)])
def test_complements_are_sparse_where_that_is_cheaper(lower, upper) -> None:
    """Many equations of which each meets few others. The estimated work is then that of a sparse factor."""
    few, many = neighbours(20, lower, upper).conic, neighbours(ITERATED_ORDER + 2, lower, upper).conic
    assert not few.sparse
    assert few.complement_flops == few.m**3 / 3.0
    assert many.sparse
    assert SPARSE * many.meetings <= many.equations.sum() ** 2
    assert many.complement_flops < 0.1 * many.m**3 / 3.0
    whole = Constrained(QuadraticSDP(C=np.eye(40)), constraints.diagonal(40, 1.0)).conic
    assert not whole.sparse
    held = [constraints.diagonal(310, 1.0), constraints.entries(np.arange(0, 310, 62), np.arange(1, 310, 62), 310, 0.0)]
    C = sp.block_diag([sp.csr_array(np.ones((62, 62)))] * 5, format="csr")
    fifths = Constrained(QuadraticSDP(C=C), held).conic  # a fifth of the pairs meet: few, not few enough
    assert len(fifths.blocks) == 5
    assert fifths.meetings < fifths.m**2 < SPARSE * fifths.meetings
    assert not fifths.sparse
    n = ITERATED_ORDER + 10
    dense = Constrained(QuadraticSDP(C=np.ones((n, n))), constraints.diagonal(n, 1.0)).conic  # all in one block
    assert not dense.sparse
    assert dense.complement_flops == n**3 / 3.0


def test_sparse_and_dense_complements_solve_the_same_system(monkeypatch) -> None:
    conic = neighbours(12, -1.0, 1.0).conic
    form = StandardForm(conic)
    at = Iterate.of(form, *first_iterate(form), np.zeros(form.m))
    metrics = metrics_at(form, at)
    right = np.random.default_rng(0).standard_normal(form.m)
    dense = schur_solver(form, metrics)(right)
    monkeypatch.setattr(Conic, "sparse", True)
    assert np.allclose(schur_solver(form, metrics)(right), dense, rtol=0, atol=1e-10 * np.abs(dense).max())
