"""The hook: its name, its group of entry points, and that a module of a plugin implements it."""

import types
from importlib import metadata

import pluggy
import pytest

from psdopt.plugins import MethodSpec, hookimpl
from psdopt.plugins.hookspec import GROUP, PsdoptHooks
from psdopt.plugins.manager import HOOK


def test_the_manager_calls_the_hook_that_is_specified():
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(PsdoptHooks)
    plugin = types.ModuleType("plugin")

    @hookimpl
    def psdopt_components():
        yield MethodSpec("a-method", dict, "for tests")

    setattr(plugin, HOOK, psdopt_components)
    manager.register(plugin)
    manager.check_pending()  # raises for a name that is not specified
    (specs,) = getattr(manager.hook, HOOK)()
    assert [spec.name for spec in specs] == ["a-method"]


def test_the_plugins_of_the_package_are_entry_points_of_the_group():
    names = {entry.name for entry in metadata.entry_points(group=GROUP)}
    assert {"metric_learning", "kernel_learning", "regression", "spectral"} <= names


def test_the_specification_itself_does_nothing():
    with pytest.raises(NotImplementedError):
        PsdoptHooks().psdopt_components()
