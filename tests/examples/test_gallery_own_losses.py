"""Pages on losses of one's own, and on networks: what they say is proven is proven, and bounds hold."""

import numpy as np

from psdopt import Status


def test_the_metric_on_features_is_proven_and_is_right_more_often(run):
    page = run("distances/plot_metric_head.py")
    assert page["result"].optimal
    assert page["after"] > page["before"] + 0.05


def test_heavy_tails_spoil_the_gaussian_estimate_and_no_convexity_is_proven(run):
    page = run("graphs_and_matrices/plot_heavy_tails.py")
    errors = {name: np.linalg.norm(result.matrix.to_dense() - page["truth"]) for name, result in page["found"].items()}
    assert 2.0 * errors["Student"] < errors["Gauss"]
    assert page["found"]["Student"].status is Status.STATIONARY
    assert page["claimed"].negative_curvature < 0.0


def test_no_slope_of_the_network_exceeds_the_proven_bound(run):
    page = run("graphs_and_matrices/plot_lipschitz.py")
    assert page["result"].optimal
    assert page["slopes"].max() < page["bound"] < 0.6 * page["product"]
