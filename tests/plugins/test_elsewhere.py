"""Names that are asked of psdopt and live elsewhere."""

import sys
from importlib import import_module

import pytest

import psdopt
from psdopt.plugins import plugin_manager
from psdopt.plugins.elsewhere import homes


def shipped():
    """(package, name) of all that the shipped plugins offer."""
    packages = [module for module in plugin_manager().modules() if module.__name__.startswith("psdopt_plugins.")]
    return [(package.__name__, name) for package in packages for name in package.__all__]


def test_every_name_of_the_shipped_plugins_is_told_where_it_lives():
    found = shipped()
    assert {"KTA", "MaxCut", "PSDRegressor", "TopKEigen", "mvu_problem", "PairwiseKernel", "SparsePrecision"} <= {
        name for _, name in found
    }
    for package, name in found:
        with pytest.raises(ImportError, match=rf"write .*`from {package} import {name}`"):
            exec(f"from psdopt import {name}")


def test_names_of_public_modules_are_told_too_and_all_homes_are_named():
    with pytest.raises(ImportError, match=r"`from psdopt\.terms import LinearTerm`"):
        import_module("psdopt.LinearTerm")
    assert homes("Verdict") == ["psdopt"]


def test_other_names_and_questions_are_answered_as_by_any_module():
    assert not hasattr(psdopt, "KTA")
    with pytest.raises(ImportError, match="cannot import name 'Nonsense'"):
        exec("from psdopt import Nonsense")
    with pytest.raises(ModuleNotFoundError):
        import_module("psdopt.problems.KTA")
    exec("from psdopt import testing")
    assert "psdopt.testing" in sys.modules
