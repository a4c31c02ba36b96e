"""Pictures of samples, and the library of arrays of an answer."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_iris

from psdopt_plugins.kernel_learning import DistanceKernel, QuadraticKernel
from psdopt_plugins.manifold_learning import SSTRESS, MaximumVarianceUnfolding
from psdopt_plugins.metric_learning import KTA, LMNN, NCA, DistanceRegression, Linearity, PSDBoost
from psdopt_plugins.pictures import plot_metric
from tests.running.plotting.test_convergence import png


def classes(k: int, m: int = 60, d: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(k)
    return rng.standard_normal((m, d)), np.arange(m) % k


def halves(*parts: Any, at: int = 40) -> list[tuple[Any, Any]]:
    return [(part[:at], part[at:]) for part in parts]


def test_metric_panels() -> None:
    X, y = classes(3)
    words: Any = {"title": "T", "scaling": "standardised features", "label_text": lambda c: f"class {c}"}
    figure = plot_metric(*halves(X, X[:, :2], y), errors=(0.25, 0.125), **words)
    before, after = figure.axes
    assert before.get_title() == "Before: standardised features\n3-NN test error 25.0 %"
    assert after.get_title() == "After: learned metric\n3-NN test error 12.5 %"
    assert before.get_xlabel().startswith("principal axis 1 (")
    legend = after.get_legend()
    assert legend.get_title().get_text() == "class"
    assert [text.get_text() for text in legend.get_texts()] == ["class 0", "class 1", "class 2", "training", "test"]
    shown = sum(len(collection.get_offsets()) for collection in before.collections)
    assert shown == 60
    assert png(figure).startswith(b"\x89PNG")


@pytest.mark.parametrize("case", ["rank 1", "rank 0", "zero", "sparse", "30 classes", "text labels"])
def test_odd_data_is_drawn_without_a_warning(case: str) -> None:
    X, y = classes(30 if case == "30 classes" else 2)
    after: Any = {"rank 1": X[:, :1], "rank 0": X[:, :0]}.get(case, X)
    if case == "zero":
        after = np.zeros((60, 1))
    if case == "text labels":
        y = np.array(["no", "yes"])[y]
    before: Any = scipy.sparse.csr_array(X) if case == "sparse" else X
    figure = plot_metric(*halves(before, after, y))
    assert png(figure).startswith(b"\x89PNG")
    names = [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    assert names[-2:] == ["training", "test"]
    assert len(names) == (2 if case == "30 classes" else 4)


def test_a_far_sample_does_not_squeeze_the_others_and_is_counted() -> None:
    X, y = classes(2, m=600, d=2)
    X = np.clip(X, -1.5, 1.5)
    X[0] = 1e4
    axes = plot_metric(*halves(X, X, y, at=400)).axes[0]
    assert np.ptp(axes.get_xlim()) < 100.0
    assert [text.get_text() for text in axes.texts] == ["1 sample outside"]


def test_many_samples_are_thinned() -> None:
    X, y = classes(2, m=20_000, d=2)
    figure = plot_metric(*halves(X, X, y, at=10_000))
    assert sum(len(collection.get_offsets()) for collection in figure.axes[0].collections) <= 6100


X, Y = load_iris(return_X_y=True)
X, Y = X[::5], Y[::5]
QUICK = {"max_iterations": 5}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator",
    [
        KTA(rank=2), Linearity(), LMNN(n_neighbors=1), NCA(), PSDBoost(), DistanceRegression(random_state=0),
        QuadraticKernel(rank=2), DistanceKernel(rank=2, random_state=0, solver_options=QUICK),
        SSTRESS(solver_options=QUICK), MaximumVarianceUnfolding(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)  # fmt: skip
def test_columns_have_names_and_come_as_a_frame(estimator):
    pandas = pytest.importorskip("pandas")
    plain = np.asarray(estimator.fit_transform(X, Y))
    names = list(estimator.get_feature_names_out())
    assert names == [f"{type(estimator).__name__.lower()}{k}" for k in range(plain.shape[1])]
    framed = estimator.set_output(transform="pandas").fit_transform(X, Y)
    assert isinstance(framed, pandas.DataFrame)
    assert list(framed.columns) == names
