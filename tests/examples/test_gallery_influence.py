"""The gallery's page on the influence of pairs: what it and the guide say about wrong pairs."""

import numpy as np


def test_pairs_of_large_influence_are_wrong_and_harmful(run):
    found = run("distances/plot_influence.py")
    assert found["wrong"].sum() == 50
    assert found["listed"][:50].sum() == 27
    assert round(found["before"]) == 202
    model, pairs, signs = found["model"], found["pairs"], found["signs"]
    kept = np.setdiff1d(np.arange(len(pairs)), np.argsort(-found["influence"])[:50])
    again = found["DistanceRegression"](bounds=model.bounds_, solver_options={"tol": 1e-6})
    again.fit(found["X"], pairs=np.column_stack([pairs, signs])[kept])
    assert round(found["loss_and_derivative"](again.get_mahalanobis_matrix())[0]) == 104
