"""Names that are imported when they are used, and specs that hold them."""

import sys
from importlib import import_module
from types import ModuleType

import pytest

from psdopt.errors import PluginError
from psdopt.plugins import Deferred, MethodSpec, Parameter, PluginManager, hookimpl, lazy_names
from psdopt.plugins.lazy import resolved


def write(folder, package, oven):
    """A package of two files: what it holds itself, and its module `oven`."""
    folder.mkdir()
    (folder / "__init__.py").write_text(package)
    (folder / "oven.py").write_text(oven)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package `lazily` whose module `oven` has a function of the same name, and `Pan`."""
    write(
        tmp_path / "lazily",
        "from psdopt.plugins import lazy_names\n"
        "lazy = lazy_names(__name__, {'oven': 'oven', 'Pan': 'oven', 'absent': 'oven', 'broken': 'nowhere'})\n",
        "def oven(heat=3):\n    return heat\n\nclass Pan:\n    pass\n",
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("lazily")
    for name in [name for name in sys.modules if name.partition(".")[0] == "lazily"]:
        del sys.modules[name]


def yielding(*specs):
    class Plugin:
        @hookimpl
        def psdopt_components(self):
            return specs

    return Plugin()


@pytest.mark.parametrize("first", ["module", "name"])
def test_a_name_is_imported_when_it_is_asked_for_and_may_be_that_of_its_module(package, first):
    assert "lazily.oven" not in sys.modules
    if first == "module":
        import_module("lazily.oven")
    assert package.Pan.__name__ == "Pan"
    assert "lazily.oven" in sys.modules
    assert not isinstance(package.oven, ModuleType)
    assert package.oven() == 3
    import_module("lazily.oven")
    assert package.oven() == 3


def test_a_name_can_be_replaced_and_put_back(package, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(package, "oven", lambda: 7)
        assert package.oven() == 7
    assert package.oven() == 3
    del package.oven
    assert package.oven() == 3


def test_completion_shows_what_the_package_offers_and_imports_nothing(package):
    shown = [name for name in dir(package) if not name.startswith("__")]
    assert shown == ["Pan", "absent", "broken", "oven"]
    assert {"__doc__", "__name__", "__path__"} <= set(dir(package))
    import_module("lazily.oven")
    assert [name for name in dir(package) if not name.startswith("__")] == shown
    assert "lazily.nowhere" not in sys.modules


def test_registering_a_lazy_package_imports_nothing_of_it(tmp_path, monkeypatch):
    write(
        tmp_path / "idle",
        "from psdopt.plugins import hookimpl, lazy_names\n"
        "lazy = lazy_names(__name__, {'Pan': 'oven'})\n"
        "@hookimpl\n"
        "def psdopt_components():\n"
        "    return []\n",
        "raise RuntimeError('imported')\n",
    )
    monkeypatch.syspath_prepend(tmp_path)
    idle = import_module("idle")
    assert [name for name in dir(idle) if not name.startswith("__")] == ["Pan", "psdopt_components"]
    assert PluginManager([], core=False).register(idle, "idle") == ()


def test_missing_names_and_modules_are_told_when_asked_for(package):
    with pytest.raises(AttributeError, match="absent"):
        _ = package.absent
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        _ = package.broken
    with pytest.raises(AttributeError, match="no lazy name 'pot'; there are oven, Pan"):
        _ = package.lazy.pot


def test_specs_are_listed_as_they_are_and_resolved_when_they_are_used(package):
    spec = MethodSpec("oven", package.lazy.oven, "bakes", parameters=(Parameter("heat", int, 3, "of the oven"),))
    manager = PluginManager([], core=False)
    manager.register(yielding(spec), "kitchen")
    (listed,) = manager.listed("method")
    assert listed.name == "oven"
    assert manager.names("method") == ("oven",)
    assert "lazily.oven" not in sys.modules
    ready = manager.get("method", "oven")
    assert ready.factory is package.oven
    assert manager.get("method", "oven") is ready
    assert manager.plugin_of(ready) == "kitchen"
    assert resolved(ready) is ready


def test_what_does_not_fit_once_it_is_imported_is_left_out_and_told(package):
    wrong = MethodSpec("oven", package.lazy.oven, "bakes", parameters=(Parameter("cold", int, 3, "of the oven"),))
    absent = MethodSpec("pot", package.lazy.broken, "boils")
    manager = PluginManager([], core=False)
    manager.register(yielding(wrong, absent), "kitchen")
    assert manager.names("method") == ("oven", "pot")
    with pytest.raises(PluginError, match="takes no keyword 'cold'"):
        manager.get("method", "oven")
    with pytest.raises(PluginError, match=r"method 'pot': ModuleNotFoundError: No module named 'lazily\.nowhere'"):
        manager.get("method", "pot")
    assert manager.specs("method") == ()
    assert [problem.plugin for problem in manager.problems] == ["kitchen", "kitchen"]


def test_names_are_read_from_the_imports_of_the_package(package, tmp_path):
    folder = tmp_path / "lazily" / "frozen"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "from psdopt.plugins import lazy_names\n"
        "if TYPE_CHECKING:\n"
        "    from math import pi as pi\n"
        "    from lazily.frozen.ice import ice as ice\n"
        "    from lazily.frozen.ice import Cube as Cube, _crack\n"
        "lazy = lazy_names(__name__)\n"
    )
    (folder / "ice.py").write_text("def ice():\n    return 0\n\nclass Cube:\n    pass\n\n_crack = 1\n")
    frozen = import_module("lazily.frozen")
    assert frozen.__all__ == ["Cube", "ice"]
    assert "lazily.frozen.ice" not in sys.modules
    assert repr(frozen.lazy.Cube) == "lazily.frozen.ice:Cube"
    assert frozen.ice() == 0
    with pytest.raises(AttributeError):
        _ = frozen._crack
    (folder / "__init__.py").unlink()
    with pytest.raises(PluginError, match=r"lazily\.frozen has no source to read its public names from; pass them"):
        lazy_names("lazily.frozen")


def test_a_deferred_name_is_called_as_what_it_stands_for():
    assert Deferred("math", "gcd")(12, 18) == 6
    assert repr(Deferred("math", "gcd")) == "math:gcd"
    assert lazy_names(__name__, {}).__class__.__name__ == "LazyNames"
