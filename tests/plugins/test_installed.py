"""Where compatible() looks for other pieces."""

import pytest

from psdopt import ConjugateGradient, Geometry, Method
from psdopt.plugins import MethodSpec, PluginManager, hookimpl
from psdopt.plugins.installed import examples
from psdopt.running import compatibility


class Broken:
    """A plugin of two methods, one of which cannot be made."""

    @hookimpl
    def psdopt_components(self):
        yield MethodSpec("fails", dict, "no example", example=lambda: 1 // 0)
        yield MethodSpec("works", ConjugateGradient, "an example")


def test_every_installed_method_and_geometry_is_among_them() -> None:
    assert compatibility.known is examples
    assert {type(method).__name__ for method in examples("method")} >= {"ConjugateGradient", "MatrixGeneration"}
    assert all(isinstance(method, Method) for method in examples("method"))
    assert all(isinstance(geometry, Geometry) for geometry in examples("geometry"))


def test_a_broken_example_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = PluginManager([], core=False)
    manager.register(Broken(), "broken")
    monkeypatch.setattr("psdopt.plugins.installed.plugin_manager", lambda: manager)
    assert [type(method).__name__ for method in examples("method")] == ["ConjugateGradient"]
