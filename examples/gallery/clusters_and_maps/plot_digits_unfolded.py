"""
Handwritten twos, unfolded
==========================

Each image has 64 pixels, but a handwritten two has few degrees of freedom: slant, loop, width. Maximum variance
unfolding keeps the distances between similar images and spreads the rest. Isomap and locally linear embedding on the
same neighbours are shown for comparison.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from sklearn.datasets import load_digits
from sklearn.manifold import Isomap, LocallyLinearEmbedding

from psdopt_plugins.manifold_learning import MaximumVarianceUnfolding

images, labels = load_digits(return_X_y=True)
X = images[labels == 2]
mvu = MaximumVarianceUnfolding(n_components=2).fit(X)
print(mvu.result_)
share = mvu.eigenvalues_ / mvu.eigenvalues_.sum()
print(
    f"{100 * share[:2].sum():.0f} % of the variance in two axes,",
    f"{100 * share[:4].sum():.0f} % in four",
)

# %%
# An image is drawn unless another one is too close.
embeddings = {
    "maximum variance unfolding": mvu.embedding_,
    "Isomap": Isomap(n_neighbors=6).fit_transform(X),
    "locally linear embedding": LocallyLinearEmbedding(
        n_neighbors=6, random_state=0
    ).fit_transform(X),
}
figure, panels = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
for panel, (title, Z) in zip(panels, embeddings.items(), strict=True):
    Z = (Z - Z.min(axis=0)) / np.ptp(Z, axis=0)
    panel.scatter(*Z.T, s=5, color="0.75", linewidth=0)
    drawn = np.empty((0, 2))
    for position, pixels in zip(Z, X, strict=True):
        if len(drawn) == 0 or np.abs(drawn - position).max(axis=1).min() > 0.09:
            drawn = np.vstack([drawn, position])
            picture = OffsetImage(pixels.reshape(8, 8), cmap="bone_r", zoom=2.2)
            panel.add_artist(
                AnnotationBbox(
                    picture,
                    position,
                    frameon=True,
                    pad=0.05,
                    bboxprops={"edgecolor": "0.85"},
                )
            )
    panel.set(
        title=title,
        xticks=[],
        yticks=[],
        xlim=(-0.06, 1.06),
        ylim=(-0.06, 1.06),
    )
    panel.spines[:].set_visible(False)
plt.show()
