"""
A metric for wine
=================

Thirteen chemical measurements of 178 wines from three cultivars. Kernel target alignment learns a Mahalanobis
distance (x − y)ᵀ M (x − y) in which wines of one cultivar lie together. The learned M says which measurements
count, and which count together.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from psdopt_plugins.metric_learning import KTA

wine = load_wine()
train, test, y, y_test = train_test_split(
    wine.data, wine.target, test_size=0.4, stratify=wine.target, random_state=0
)
scaler = StandardScaler().fit(train)
X, X_test = scaler.transform(train), scaler.transform(test)
model = KTA().fit(X, y)
print(model.result_)

# %%
# A nearest-neighbour classifier is as good as its distance. Here it votes with the three nearest training wines.
for name, A, B in [
    ("Euclidean", X, X_test),
    ("learned", model.transform(X), model.transform(X_test)),
]:
    right = KNeighborsClassifier(3).fit(A, y).score(B, y_test)
    print(f"{name:10s} {100 * right:.1f} % of the {len(y_test)} test wines")


# %%
# The test wines on the two axes of greatest variance, before and after; and the matrix M. Red off the diagonal: the
# two measurements count more where they differ in the same direction; blue: in opposite directions.
def principal(A, B):
    centre = A.mean(axis=0)
    axes = np.linalg.svd(A - centre, full_matrices=False)[2][:2].T
    return (B - centre) @ axes


colours = np.array(["#7b1e3a", "#d4a017", "#3f7f93"])
figure, panels = plt.subplots(
    1, 3, figsize=(10.5, 3.6), layout="constrained", width_ratios=[1, 1, 1.3]
)
for panel, title, A, B in [
    (panels[0], "Euclidean distance", X, X_test),
    (
        panels[1],
        "learned distance",
        model.transform(X),
        model.transform(X_test),
    ),
]:
    Z = principal(A, B)
    panel.scatter(
        *Z.T, s=32, c=colours[y_test], edgecolor="white", linewidth=0.6
    )
    panel.set(title=title, xticks=[], yticks=[], xlabel="first principal axis")
    panel.set_box_aspect(1)
panels[0].set_ylabel("second principal axis")
M = model.get_mahalanobis_matrix()
order = np.argsort(-np.diag(M))  # largest first
limit = np.abs(M).max()
image = panels[2].imshow(
    M[np.ix_(order, order)], cmap="RdBu_r", vmin=-limit, vmax=limit
)
names = [
    wine.feature_names[k]
    .replace("_", " ")
    .replace("od280/od315 of diluted wines", "OD280/OD315")
    for k in order
]
panels[2].set(title="M", xticks=[], yticks=range(len(names)))
panels[2].set_yticklabels(names, fontsize=7)
panels[2].spines[:].set_visible(False)
figure.colorbar(image, ax=panels[2], shrink=0.8)
plt.show()
