"""The gallery's pages on Hermitian matrices run, and say what is so."""

import numpy as np


def test_states_a_channel_and_an_image(run):
    page = run("graphs_and_matrices/plot_hermitian.py")
    pure = page["pure"]
    assert all(page[name].result.optimal for name in ("state", "likeliest", "channel"))
    assert np.vdot(pure, page["likeliest"].matrix @ pure).real > 0.95
    assert page["found"].certificate.gap_relative < 1e-6
    assert np.abs(page["turned"] - page["image"].ravel()).max() < 1e-9


def test_the_power_flow_is_balanced_and_as_cheap_as_the_bound(run):
    page = run("graphs_and_matrices/plot_power_flow.py")
    fed, v = page["fed"], page["v"]
    assert page["result"].optimal
    assert page["sizes"][1] ** 2 < 1e-5 * page["sizes"][0] ** 2
    assert np.all(np.abs(fed[[1, 2, 4]]) < 1e-4)
    assert np.all((np.abs(v) > 0.95 - 1e-5) & (np.abs(v) < 1.05 + 1e-5))
    assert abs(page["price"] @ fed.real - page["result"].certificate.dual_value) < 1e-4
