"""
A learned metric before t-SNE
=============================

t-SNE depends on distances only. Here 64 pixels of a digit come with 64 columns of noise, which spoil the distances.
LMNN learns from the labels of 600 images a linear map under which neighbours share their label. t-SNE then
draws 600 other images, whose labels determine only the colours.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from sklearn.neighbors import KNeighborsClassifier

from psdopt_plugins.metric_learning import LMNN

rng = np.random.default_rng(0)
images, labels = load_digits(return_X_y=True)
X = np.hstack(
    [images / 16, 1.5 * rng.random((len(images), 64))]
)  # 64 pixels, 64 columns of noise
order = rng.permutation(len(X))
train, test = order[:600], order[600:1200]
model = LMNN(rank=20).fit(X[train], labels[train])
print(model.result_)

# %%
# The same pictures with and without the metric.
figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.6), layout="constrained")
for panel, title, Z in [
    (panels[0], "as measured", X),
    (panels[1], "under the learned metric", model.transform(X)),
]:
    right = (
        KNeighborsClassifier(3)
        .fit(Z[train], labels[train])
        .score(Z[test], labels[test])
    )
    map_ = TSNE(random_state=0, perplexity=30, init="pca").fit_transform(
        Z[test]
    )
    panel.scatter(*map_.T, c=labels[test], cmap="tab10", s=12, linewidth=0)
    for digit in range(10):
        x, y = np.median(map_[labels[test] == digit], axis=0)
        box = {
            "boxstyle": "circle,pad=0.2",
            "facecolor": "white",
            "edgecolor": "0.6",
            "alpha": 0.85,
        }
        panel.text(
            x, y, str(digit), ha="center", va="center", fontsize=10, bbox=box
        )
    panel.set(
        title=f"{title}: 3-NN error {100 * (1 - right):.1f} %",
        xticks=[],
        yticks=[],
    )
    panel.spines[:].set_visible(False)
plt.show()
