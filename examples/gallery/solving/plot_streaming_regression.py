"""
Learning from a stream
======================

Rows arrive sixteen at a time and are used for one step. ``partial_fit`` updates the model, y ≈ xᵀ W x with W ⪰ 0
of rank two, by a step whose length is safe for that batch; it is the mean of the iterates. Halfway the
law of the targets changes, and the model follows.
"""

import matplotlib.pyplot as plt
import numpy as np

from psdopt_plugins.regression import PSDRegressor

rng = np.random.default_rng(0)
d, batch, steps = 8, 16, 240
laws = rng.standard_normal((2, d, 2))
model = PSDRegressor(
    rank=2, fit_intercept=False, batch_size=batch, random_state=0
)
errors = []
for step in range(steps):
    law = laws[int(step >= steps // 2)]
    X = rng.standard_normal((batch, d))
    y = ((X @ law) ** 2).sum(axis=1)
    if step:
        errors.append(
            np.sqrt(np.mean((model.predict(X) - y) ** 2) / np.mean(y**2))
        )
    model.partial_fit(X, y)
print(
    "relative error on the last ten batches, before they were learned:",
    f"{np.mean(errors[-10:]):.3f}",
)

# %%
# Each batch is predicted before it is learned. Right: W after the last batch, beside the law.
figure, panels = plt.subplots(
    1, 3, figsize=(11, 3.3), layout="constrained", width_ratios=[2.2, 1, 1]
)
panels[0].semilogy(errors, ".", color="#9cc3cf", markersize=4)
smooth = np.exp(np.convolve(np.log(errors), np.ones(9) / 9, "valid"))
panels[0].semilogy(np.arange(4, 4 + len(smooth)), smooth, color="#1f6f8b")
panels[0].axvline(steps // 2, color="#d03030", linewidth=1)
panels[0].text(
    steps // 2 + 2,
    max(errors),
    "the law changes",
    color="#d03030",
    fontsize=9,
    va="top",
)
panels[0].set(
    title="relative error of the next batch", xlabel="batch of 16 rows"
)
W, law = model.components_.T @ model.components_, laws[1] @ laws[1].T
for panel, matrix, title in [
    (panels[1], W, "learned W"),
    (panels[2], law, "law"),
]:
    image = panel.imshow(
        matrix, cmap="RdBu_r", vmin=-np.abs(law).max(), vmax=np.abs(law).max()
    )
    panel.set(title=title, xticks=[], yticks=[])
    panel.spines[:].set_visible(False)
figure.colorbar(image, ax=panels[1:], shrink=0.75)
plt.show()
