"""Former names: they still work, and their warnings give the new names."""

import inspect
from importlib import import_module

import numpy as np
import pytest

from psdopt import LBFGS, ColumnGeneration, ConjugateGradient, FrankWolfe, TermSum
from psdopt.deprecated import FORMER_MODULES, former_argument, former_component, former_names
from psdopt.terms import LinearTerm

FORMER = {
    "psdopt.ClosedForm": "psdopt.methods.EigenSplitting",
    "psdopt.methods.ClosedForm": "psdopt.methods.EigenSplitting",
    "psdopt.ConstrainedGradient": "psdopt.methods.DualNewton",
    "psdopt.methods.ConstrainedGradient": "psdopt.methods.DualNewton",
    "psdopt.RiemannianGradient": "psdopt.methods.ConjugateGradient",
    "psdopt.methods.RiemannianGradient": "psdopt.methods.ConjugateGradient",
    "psdopt.problems.MarginProblem": "psdopt.MarginProblem",
    "psdopt.plotting.plot_embedding": "psdopt_plugins.pictures.plot_embedding",
    "psdopt.plotting.plot_metric": "psdopt_plugins.pictures.plot_metric",
    "psdopt.plotting.plot_prediction": "psdopt_plugins.pictures.plot_prediction",
    "psdopt.reports.embedding_report": "psdopt_plugins.manifold_learning.report.embedding_report",
    "psdopt.reports.kernel_report": "psdopt_plugins.kernel_learning.report.kernel_report",
    "psdopt.reports.metric_report": "psdopt_plugins.metric_learning.report.metric_report",
    "psdopt.reports.regression_report": "psdopt_plugins.regression.report.regression_report",
    "psdopt.reports.spectral_report": "psdopt_plugins.spectral.report.spectral_report",
    "psdopt.testing.Measurement": "psdopt.testing.Deviation",
    "psdopt.testing.Verdict": "psdopt.testing.CheckStatus",
    **{
        f"{old}.{name.split('=')[0]}": f"{new}.{name.split('=')[-1]}"
        for old, places in FORMER_MODULES.items()
        for new, names in places.items()
        for name in names.split()
    },
}


@pytest.mark.parametrize(("old", "new"), FORMER.items())
def test_a_former_name_is_the_object_of_the_new_name(old: str, new: str) -> None:
    (old_module, _, old_name), (new_module, _, new_name) = old.rpartition("."), new.rpartition(".")
    with pytest.warns(DeprecationWarning, match=f"{old} is now {new}"):
        found = getattr(import_module(old_module), old_name)
    assert found is getattr(import_module(new_module), new_name)


def test_a_former_module_lists_its_names_and_has_no_others() -> None:
    import psdopt.oracles as former

    from psdopt import plotting

    assert former.__all__ == ["BACKENDS", "least_eigenpairs"]
    with pytest.warns(DeprecationWarning, match=r"psdopt.plotting.plot_run is now psdopt.plugins.plot_run"):
        assert plotting.plot_run is import_module("psdopt.plugins").plot_run
    with pytest.raises(AttributeError, match=r"module 'psdopt\.oracles' has no attribute 'Split'"):
        former.Split  # noqa: B018
    with pytest.raises(ModuleNotFoundError):
        import_module("psdopt.oraclesandmore")


def test_a_former_component_is_the_one_of_the_new_name() -> None:
    with pytest.warns(DeprecationWarning, match="the method 'closed-form' is now 'eigen-splitting'"):
        assert former_component("method", "closed-form") == "eigen-splitting"
    assert former_component("geometry", "closed-form") == "closed-form"
    assert former_component("method", ["lbfgs"]) == ["lbfgs"]  # type: ignore[arg-type, comparison-overlap]  # refused later


def test_former_arguments_are_taken_as_the_new_ones_or_have_no_effect() -> None:
    with pytest.warns(DeprecationWarning, match=r"FrankWolfe\(step=...\) is deprecated: the exact line search is used"):
        assert FrankWolfe(step="hazan") == FrankWolfe()  # type: ignore[call-arg]
    for former in (ConjugateGradient, LBFGS):
        with pytest.warns(DeprecationWarning, match=r"\(search=...\) is deprecated: the exact search is used"):
            assert former(search="armijo") == former()
    assert list(inspect.signature(FrankWolfe).parameters) == ["variant", "corrections"]
    with pytest.warns(DeprecationWarning, match=r"ColumnGeneration\(solver=...\) is deprecated"):
        assert ColumnGeneration(solver="clarabel") == ColumnGeneration()  # type: ignore[call-arg]
    with pytest.warns(DeprecationWarning, match=r"TermSum\(curvature=...\) is deprecated: Hessians are computed term"):
        assert TermSum([LinearTerm(np.eye(2))], curvature=None).n == 2  # type: ignore[call-arg]


def test_other_names_and_arguments_are_missing_as_anywhere() -> None:
    with pytest.raises(AttributeError, match="module 'somewhere' has no attribute 'other'"):
        former_names("somewhere", {"old": "psdopt:FrankWolfe"})("other")

    @former_argument("size", "length", "use length=...")
    class Rod:
        def __init__(self, length: float) -> None:
            self.length = length

    assert Rod(2.0).length == 2.0
    with pytest.raises(TypeError, match="width"):
        Rod(width=2.0)  # type: ignore[call-arg]
