"""Plugins: typed specs, the hook that yields them, and the manager that loads and checks them."""

from psdopt.plugins.hookspec import GROUP, hookimpl
from psdopt.plugins.manager import PluginManager, PluginProblem, plugin_manager
from psdopt.plugins.specs import (
    ApplicationSpec,
    DatasetSpec,
    GeometrySpec,
    MethodSpec,
    Parameter,
    ProblemSpec,
    Spec,
)
from psdopt.plugins.validation import validate

__all__ = [
    "GROUP",
    "ApplicationSpec",
    "DatasetSpec",
    "GeometrySpec",
    "MethodSpec",
    "Parameter",
    "PluginManager",
    "PluginProblem",
    "ProblemSpec",
    "Spec",
    "hookimpl",
    "plugin_manager",
    "validate",
]
