"""The gallery's optimal design and smallest ellipsoid, against CVXPY with Clarabel."""

import numpy as np
import pytest

cp = pytest.importorskip("cvxpy")
FOLDER = "graphs_and_matrices"


def test_the_design_is_as_good_as_clarabels_and_its_predictions_have_variance_k(run):
    found = run(f"{FOLDER}/plot_optimal_design.py")
    A, share, k = found["A"], found["share"], found["k"]
    assert found["result"].optimal
    assert share.min() >= 0.0
    assert share.sum() == pytest.approx(1.0)
    x = cp.Variable(len(A), nonneg=True)
    peer = cp.Problem(cp.Maximize(cp.log_det(A.T @ cp.diag(x) @ A)), [cp.sum(x) == 1])
    peer.solve(solver=cp.CLARABEL)
    assert found["value"] == pytest.approx(peer.value, abs=1e-5)
    assert found["efficiency"] == pytest.approx(1.0, abs=1e-7)
    assert found["variance"].max() == pytest.approx(k, rel=1e-5)
    np.testing.assert_allclose(found["variance"][found["used"]], k, rtol=1e-4)


def test_the_ellipse_has_clarabels_area_and_holds_all_points(run):
    found = run(f"{FOLDER}/plot_smallest_ellipsoid.py")
    assert found["result"].optimal
    points = found["points"]
    B, b = cp.Variable((2, 2), symmetric=True), cp.Variable(2)
    peer = cp.Problem(cp.Maximize(cp.log_det(B)), [cp.norm(points @ B + b[None, :], axis=1) <= 1])
    peer.solve(solver=cp.CLARABEL)
    assert found["area"] == pytest.approx(np.pi / np.linalg.det(B.value), rel=1e-5)
    np.testing.assert_allclose(found["centre"], -np.linalg.solve(B.value, b.value), atol=1e-4)
    assert found["inside"].max() <= 1.0 + 1e-7
    assert found["touching"].sum() >= 3
    np.testing.assert_allclose(found["inside"][found["touching"]], 1.0, atol=1e-5)
    assert found["area"] < found["wider"]
