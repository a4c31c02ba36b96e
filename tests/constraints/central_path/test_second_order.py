"""Second-order cones in standard form: every member against its formula, in the interior and near the boundary."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.constraints.central_path.second_order import SecondOrder, SecondOrderMetric
from psdopt.linalg.arrays import norm
from psdopt.linalg.tolerances import EPS

M, K, D = 5, 4, 3
ROWS = np.array([[7, 0, 5], [1, 11, 2], [3, 6, 4], [10, 8, 9]])


def part_of(seed: int = 0) -> tuple[SecondOrder, np.ndarray]:
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((M, K * D)) * (rng.random((M, K * D)) < 0.7)
    return SecondOrder(ROWS, rng.standard_normal((K, D)), sp.csr_array(B)), B


def inside(seed: int, depth: float = 0.3, d: int = D) -> np.ndarray:
    """K points with x_0 − |x_1| = `depth` x_0; x_1 = 0 in the last one."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((K, d))
    x[-1, 1:] = 0.0
    x[:, 0] = np.linalg.norm(x[:, 1:], axis=1) / (1.0 - depth)
    x[-1, 0] = 0.7
    return x


def arrow(x: np.ndarray) -> np.ndarray:
    """The matrix of y ↦ x ∘ y, whose eigenvalues are x_0 ± |x_1| and x_0."""
    A = x[0] * np.eye(len(x))
    A[0, 1:] = A[1:, 0] = x[1:]
    return A


def quadratic(x: np.ndarray) -> np.ndarray:
    """The matrix of y ↦ 2 x ∘ (x ∘ y) − (x ∘ x) ∘ y."""
    return 2.0 * arrow(x) @ arrow(x) - arrow(arrow(x) @ x)


def matrices(metric: SecondOrderMetric, inverse: bool | None = None) -> list[np.ndarray]:
    """H of each cone, or W, or W⁻¹, column by column."""
    count, d = metric.w.shape
    columns = []
    for e in np.eye(d):
        at = np.tile(e, (count, 1))
        columns.append(metric.times(at) if inverse is None else metric.root_times(at, inverse))
    return [np.stack([column[k] for column in columns], axis=1) for k in range(count)]


def scaling(part: SecondOrder, x: np.ndarray, z: np.ndarray) -> SecondOrderMetric:
    local = part.local(x, z, part.factor(x), part.factor(z), None, False)
    assert isinstance(local.metric, SecondOrderMetric)
    return local.metric


def test_products_are_those_of_the_formulas() -> None:
    part, B = part_of()
    x, v = inside(1), np.random.default_rng(2).standard_normal(M)
    assert (part.degree, part.half.tolist()) == (K, [1.0] * (K * D))
    assert np.allclose(part.measure(x), B @ x.ravel(), rtol=0, atol=1e-14)
    assert np.allclose(part.adjoint(v), (B.T @ v).reshape(K, D), rtol=0, atol=1e-14)
    assert part.largest(x) == pytest.approx(np.linalg.norm(x, axis=1).max(), rel=1e-15)


def test_starts_are_multiples_of_the_unit_that_grow_with_the_data() -> None:
    part, B = part_of()
    b = 100.0 * np.arange(1.0, M + 1.0)
    x, z = part.start(b)
    assert not np.any(x[:, 1:])
    assert not np.any(z[:, 1:])
    lengths = np.linalg.norm(B.reshape(M, K, D), axis=2)
    reach = np.max(np.where(lengths > 0.0, (1.0 + b[:, None]) / (1.0 + lengths), 0.0), axis=0)
    assert np.allclose(x[:, 0], np.maximum(10.0, math.sqrt(D) * reach), rtol=1e-14, atol=0)
    assert np.allclose(z[:, 0], 10.0, rtol=0, atol=0)
    part.C[1] *= 1e3
    assert part.start(b)[1][1, 0] == pytest.approx(math.sqrt(D) * np.linalg.norm(part.C[1]), rel=1e-14)


@pytest.mark.parametrize("bad", [
    [1.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.8, 0.7], [np.nan, 0.0, 0.0], [1.0, np.nan, 0.0],
])  # fmt: skip
def test_what_is_not_inside_has_no_factor(bad) -> None:
    part, _ = part_of()
    x = inside(3)
    x[2] = bad
    with pytest.raises(np.linalg.LinAlgError, match="not inside"):
        part.factor(x)


@pytest.mark.parametrize("depth", [0.3, 1e-6, 1e-12])
def test_factors_are_those_of_a_matrix_with_this_trace_and_these_entries(depth) -> None:
    part, _ = part_of()
    x = inside(4, depth)
    H = part.factor(x)
    Y = H @ H.mT
    assert H.shape == (K, D, 2)
    assert np.allclose(np.trace(Y, axis1=1, axis2=2), x[:, 0], rtol=8 * EPS, atol=0)
    assert np.allclose(2.0 * Y[:, 1:, 0], x[:, 1:], rtol=0, atol=8 * EPS * norm(x))
    out = np.full((12, 3), -1.0)
    part.placed(out, H)
    assert np.array_equal(out[ROWS, :2], H)
    assert np.all(out[:, 2] == -1.0)
    edge = np.array([[5.0, 3.0, 4.0], [0.0, 0.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0 + EPS, 0.0]])
    H = part.root(edge)
    assert np.all(np.isfinite(H))
    assert np.allclose(2.0 * (H @ H.mT)[:, 1:, 0], edge[:, 1:], rtol=0, atol=8 * EPS * 5.0)


@pytest.mark.parametrize("depth", [0.3, 1e-6])
def test_blocks_with_these_traces_and_entries_are_definite(depth) -> None:
    part, _ = part_of()
    x = inside(5, depth)
    whole = np.zeros((12, 12))
    part.spread(whole, x)
    seen = np.zeros((12, 12), dtype=bool)
    for rows, each in zip(ROWS, x, strict=True):
        Y = whole[np.ix_(rows, rows)]
        seen[np.ix_(rows, rows)] = True
        assert np.array_equal(Y, Y.T)
        assert np.trace(Y) == pytest.approx(each[0], rel=1e-14)
        assert np.allclose(2.0 * Y[0, 1:], each[1:], rtol=0, atol=1e-15 * each[0])
        assert np.linalg.eigvalsh(Y)[0] >= 0.1 * depth * each[0] / D
    assert not np.any(whole[~seen])


@pytest.mark.parametrize("depth", [0.3, 1e-3, 1e-9])
@pytest.mark.parametrize("seed", range(4))
def test_a_step_reaches_the_boundary_that_bisection_finds(depth, seed) -> None:
    part, _ = part_of()
    x, d = inside(seed, depth), np.random.default_rng(100 + seed).standard_normal((K, D))
    d[:, 0] -= 1.0

    def depths(alpha: float) -> float:
        """min x_0 − |x_1| along d, in extended precision."""
        at = x.astype(np.longdouble) + np.longdouble(alpha) * d.astype(np.longdouble)
        return float(np.min(at[:, 0] - np.sqrt(np.sum(at[:, 1:] ** 2, axis=1))))

    low, high = 0.0, 10.0 * norm(x)
    assert depths(high) < 0.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if depths(middle) >= 0.0 else (low, middle)
    assert part.reach(part.factor(x), d) == pytest.approx(low, rel=100.0 * EPS / depth + 1e-13)


def test_a_step_into_the_cone_has_no_end() -> None:
    part, _ = part_of()
    x, d = inside(6), inside(7)
    assert part.reach(part.factor(x), d) == math.inf
    d = np.zeros((K, D))
    assert part.reach(part.factor(x), d) == math.inf
    d[-1, 1] = 1.0  # from x_1 = 0, across every axis alike
    assert part.reach(part.factor(x), d) == pytest.approx(0.7, rel=1e-14)


def test_the_two_parts_of_a_vector_are_orthogonal_points_of_the_cones() -> None:
    part, _ = part_of()
    w = np.array([[1.0, 3.0, -4.0], [6.0, 3.0, 4.0], [-6.0, 3.0, 4.0], [0.5, 0.0, 0.0]])
    up, down, H = part.split(w)
    assert np.allclose(up - down, w, rtol=0, atol=1e-15 * 7.0)
    for each in (up, down):
        assert np.all(each[:, 0] - np.linalg.norm(each[:, 1:], axis=1) >= -8 * EPS * 7.0)
    assert np.all(np.abs(np.einsum("kd,kd->k", up, down)) <= 8 * EPS * 49.0)
    assert np.allclose(up[0], [3.0, 1.8, -2.4], rtol=1e-14, atol=0)  # ½ (x_0 + |x_1|) (1, x_1 / |x_1|)
    assert np.array_equal(down[3], np.zeros(D))
    Y = H @ H.mT
    assert np.allclose(np.trace(Y, axis1=1, axis2=2), down[:, 0], rtol=0, atol=1e-14)
    assert np.allclose(2.0 * Y[:, 1:, 0], down[:, 1:], rtol=0, atol=1e-14)


@pytest.mark.parametrize("mu", [0.0, 1e-12, 0.3])
def test_points_of_a_path_differ_by_a_vector(mu) -> None:
    part, _ = part_of()
    w = np.array([[1.0, 3.0, -4.0], [6.0, 3.0, 4.0], [-6.0, 3.0, 4.0], [0.5, 0.0, 0.0]])
    x, z = part.smoothed(w)(mu)
    np.testing.assert_allclose(x - z, w, rtol=0, atol=1e-14)
    for each in (x, z):
        assert np.all(each[:, 0] - np.linalg.norm(each[:, 1:], axis=1) >= -8 * EPS * 7.0)
    product = x[:, :1] * z[:, 1:] + z[:, :1] * x[:, 1:]
    np.testing.assert_allclose(np.einsum("kd,kd->k", x, z), mu, rtol=0, atol=1e-14)
    np.testing.assert_allclose(product, 0.0, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("depth", "size", "known"), [
    (1e-6, 1e4, True), (1e-14, 1e4, False), (-1e-6, 1e4, False), (0.0, 0.0, False), (1e-6, 0.0, True),
])  # fmt: skip
def test_definite_means_beyond_rounding(depth, size, known) -> None:
    part, B = part_of()
    v = size * np.random.default_rng(8).standard_normal(M)
    slack = inside(9)
    slack[2] = [5.0 + depth, 3.0, 4.0]
    part.C = (B.T @ v).reshape(K, D) + slack
    assert part.definite(v) is known


@pytest.mark.parametrize("depths", [(0.3, 0.4), (1e-6, 0.3), (0.3, 1e-6), (1e-6, 1e-6), (1e-12, 0.3), (0.3, 1e-12)])
def test_the_scaling_takes_z_to_x_by_a_root_of_itself(depths) -> None:
    """x_0 − |x_1|, and with it the scaling, has lost as many digits as it is smaller than x_0."""
    part, _ = part_of()
    x, z = inside(10, depths[0]), 3.0 * inside(11, depths[1])
    metric = scaling(part, x, z)
    lost = 100.0 * EPS / min(depths)
    assert np.allclose(metric.times(z), x, rtol=0, atol=lost * norm(x))
    for H, W, V, w in zip(matrices(metric), matrices(metric, False), matrices(metric, True), metric.w, strict=True):
        size = np.linalg.norm(H, 2)
        assert np.allclose(W, W.T, rtol=0, atol=EPS * norm(W))
        assert np.allclose(W @ W, H, rtol=0, atol=lost * size)
        assert np.allclose(W @ V, np.eye(D), rtol=0, atol=lost * norm(W) * norm(V))
        assert w[0] ** 2 - w[1:] @ w[1:] == pytest.approx(1.0, abs=lost * w[0] ** 2)
    scaled = metric.root_times(z)  # W z = W⁻¹ x
    assert np.allclose(scaled, metric.root_times(x, inverse=True), rtol=0, atol=lost * norm(scaled))


def test_metrics_are_the_quadratic_representations() -> None:
    """P(x) takes x⁻¹ = J x / det x, in the product with unit (1, 0), to x."""
    part, B = part_of()
    x = inside(12)
    root = np.sqrt(x[:, 0] ** 2 - np.sum(x[:, 1:] ** 2, axis=1))
    metric = SecondOrderMetric(part, root, x / root[:, None])
    for H, each in zip(matrices(metric), x, strict=True):
        assert np.allclose(H, quadratic(each), rtol=0, atol=1e-13)
    whole = np.zeros((K * D, K * D))
    for k, H in enumerate(matrices(metric)):
        whole[k * D : (k + 1) * D, k * D : (k + 1) * D] = H
    expected, v = B @ whole @ B.T, np.random.default_rng(13).standard_normal(M)
    assert sp.issparse(metric.sparse())
    assert np.allclose(metric.sparse().toarray(), expected, rtol=0, atol=1e-12)
    for fresh, base in ((True, 0.0), (False, 3.0)):
        found = np.full((M, M), base)
        metric.add_to(found, fresh)
        assert np.allclose(np.triu(found), np.triu(base + expected), rtol=0, atol=1e-12)
    G = metric.root()
    assert G.shape == (M, K * D)
    assert np.allclose(G @ G.T, expected, rtol=0, atol=1e-12)
    assert np.allclose(metric.moved(v), (whole @ B.T @ v).reshape(K, D), rtol=0, atol=1e-13)


@pytest.mark.parametrize("depth", [0.3, 1e-4])
def test_the_second_order_term_is_that_of_the_scaled_product(depth) -> None:
    part, _ = part_of()
    x, z = inside(14, depth), inside(15, 0.2)
    metric = scaling(part, x, z)
    dx, dz = np.random.default_rng(16).standard_normal((2, K, D))
    found = metric.corrected(dx, dz, z)
    for k, (W, V) in enumerate(zip(matrices(metric, False), matrices(metric, True), strict=True)):
        product = arrow(V @ dx[k]) @ (W @ dz[k])
        term = W @ np.linalg.solve(arrow(W @ z[k]), product)
        assert np.allclose(found[k], term, rtol=0, atol=1e-13 / depth**2 * norm(product))


def test_directions_lead_to_the_centre_and_meet_the_dual_equation() -> None:
    part, _ = part_of(17)
    x, z, v, dv = inside(18), inside(19), *np.random.default_rng(20).standard_normal((2, M))
    rest = part.C - part.adjoint(v) - z
    local = part.local(x, z, part.factor(x), part.factor(z), rest, False)
    metric = scaling(part, x, z)
    inverse = np.stack([np.linalg.solve(arrow(each), np.eye(D)[0]) for each in z])
    (known,) = local.terms
    assert np.allclose(known, part.measure(metric.times(rest)), rtol=0, atol=1e-12)
    assert np.allclose(local.inverse, part.measure(inverse), rtol=0, atol=1e-12)
    term = np.zeros((K, D))
    for _ in range(2):
        dx, dz = local.along(0.3, dv)
        assert np.allclose(dz, rest - part.adjoint(dv), rtol=0, atol=1e-13)
        assert np.allclose(dx + metric.times(dz), 0.3 * inverse - x - term, rtol=0, atol=1e-12)
        for k, (W, V) in enumerate(zip(matrices(metric, False), matrices(metric, True), strict=True)):
            # λ ∘ (W⁻¹dx + W dz) = t (1, 0) − λ ∘ λ, less the product of the last direction
            left = arrow(W @ z[k]) @ (V @ (dx[k] + term[k]) + W @ dz[k] + W @ z[k])
            assert np.allclose(left, 0.3 * np.eye(D)[0], rtol=0, atol=1e-11)
        local.correct(dx, dz)
        term = metric.corrected(dx, dz, z)
        assert len(local.terms) == 2
        assert np.allclose(local.terms[1], part.measure(term), rtol=0, atol=1e-11)


def test_the_centre_of_the_path_needs_no_move() -> None:
    part, _ = part_of(21)
    z = inside(22)
    x = np.stack([0.3 * np.linalg.solve(arrow(each), np.eye(D)[0]) for each in z])
    assert np.allclose(np.einsum("kd,kd->k", x, z), 0.3, rtol=1e-12, atol=0)
    v = np.zeros(M)
    part.C = z.copy()
    dx, dz = part.local(x, z, part.factor(x), part.factor(z), None, False).along(0.3, v)
    assert not np.any(dz)
    assert np.abs(dx).max() <= 1e-13 * norm(x)


@pytest.mark.parametrize("shared", [1, 2, 60])
def test_cones_in_few_rows_are_added_to_a_large_sum_as_blocks_or_entry_by_entry(shared) -> None:
    """60 cones, a row of each, or the first two rows in all; or one cone in 60 rows."""
    rng, m, cones = np.random.default_rng(14), 200, 60 if shared < 60 else 1
    rows = 5 + (np.arange(cones)[:, None] + np.arange(shared)) * (shared != 2) + np.arange(shared) * (shared == 2)
    numbers = rng.standard_normal((cones, shared, D))
    at = np.broadcast_to((np.arange(cones) * D)[:, None, None] + np.arange(D), numbers.shape)
    B = sp.csr_array((numbers.ravel(), (np.repeat(rows.ravel(), D), at.ravel())), shape=(m, cones * D))
    part = SecondOrder(np.arange(cones * D).reshape(cones, D), np.zeros((cones, D)), B)
    part.forth, part.back = B, sp.csr_array(B.T)  # as for larger numbers of rows
    x = np.abs(rng.standard_normal((cones, D)))
    x[:, 0] += 2.0 * D
    metric = scaling(part, x, x[::-1])
    expected, found = metric.sparse().toarray(), np.full((m, m), 3.0)
    metric.add_to(found, False)
    assert np.count_nonzero(expected) == {1: 60, 2: 4, 60: 3600}[shared]
    assert np.allclose(found - 3.0, expected, rtol=0, atol=1e-13 * np.abs(expected).max() + 1e-14)
