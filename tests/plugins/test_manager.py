"""Loading through entry points: order, isolation of broken plugins, clashes, unknown names, lateness."""

import logging
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from psdopt.errors import PluginError, UnknownNameError
from psdopt.plugins import GeometrySpec, MethodSpec, PluginManager, Spec, hookimpl, plugin_manager
from tests.refusals import refused

Install = Callable[..., EntryPoint]


def piece() -> None:
    return None


def spec(name: str, **changes: Any) -> MethodSpec:
    return MethodSpec(**{"name": name, "factory": piece, "summary": "for tests", **changes})


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Make a module that yields `specs` (or does `body`) importable; returns its entry point."""

    def make(name: str, *specs: Any, body: Callable[[], Iterable[Spec]] | None = None) -> EntryPoint:
        module = ModuleType(f"fake_{name}")

        @hookimpl
        def psdopt_components() -> Iterable[Any]:
            return body() if body is not None else iter(specs)

        module.psdopt_components = psdopt_components  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return EntryPoint(name, module.__name__, "psdopt")

    return make


def messages(manager: PluginManager) -> list[str]:
    return [str(problem) for problem in manager.problems]


def test_specs_come_by_kind_sorted_and_know_their_plugin(install: Install) -> None:
    manager = PluginManager([install("one", spec("zeta"), spec("alpha")), install("two", spec("beta"))], core=False)
    assert manager.names("method") == ("alpha", "beta", "zeta")
    assert manager.names("geometry") == ()
    assert manager.plugins() == ("one", "two")
    assert [manager.plugin_of(found) for found in manager.specs("method")] == ["one", "two", "one"]
    assert manager.get("method", "beta").summary == "for tests"
    assert manager.problems == ()


def test_nothing_is_loaded_before_the_first_question_and_there_is_one_manager() -> None:
    loaded = []
    entry = SimpleNamespace(name="late", value="late", dist=None, load=lambda: loaded.append(1))
    manager = PluginManager([entry], core=False)  # type: ignore[list-item]
    assert loaded == []
    manager.names("method")
    manager.names("method")
    assert loaded == [1]
    assert plugin_manager() is plugin_manager()


class Odd(BaseException):
    pass


def failing(error: BaseException) -> Callable[[], Iterable[Spec]]:
    def body() -> Iterable[Spec]:
        yield spec("half")
        raise error

    return body


def test_a_broken_plugin_is_reported_once_and_the_rest_load(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever is raised, at import and in the hook: SystemExit and other BaseExceptions, too."""
    (tmp_path / "psdopt_test_quits.py").write_text("import sys\nsys.exit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    entries = [
        EntryPoint("absent", "no_such_module_of_psdopt", "psdopt"),
        EntryPoint("at_import", "psdopt_test_quits", "psdopt"),
        install("bad_field", spec("never"), spec("bad", summary="")),
        install("crash", body=failing(KeyError("no such\nthing"))),
        install("good", spec("fine")),
        install("in_hook", body=failing(SystemExit(3))),
        install("odd", body=failing(Odd("no Exception"))),
        install("returns_none", body=lambda: None),  # type: ignore[arg-type,return-value]
        install("returns_number", body=lambda: 3),  # type: ignore[arg-type,return-value]
        install("text", "method"),
    ]
    manager = PluginManager(entries, core=False)
    with caplog.at_level(logging.WARNING, logger="psdopt.plugins"):
        assert manager.names("method") == ("fine",)
        assert manager.plugins() == ("good",)
    told = [
        "'absent': cannot import no_such_module_of_psdopt: "
        "ModuleNotFoundError: No module named 'no_such_module_of_psdopt'",
        "'at_import': cannot import psdopt_test_quits: SystemExit: 3",
        "'bad_field', method 'bad', field 'summary': found ''; write one non-empty line that says what it is",
        "'crash': psdopt_components failed: KeyError: 'no such\\nthing'",
        "'in_hook': psdopt_components failed: SystemExit: 3",
        "'odd': psdopt_components failed: Odd: no Exception",
        "'returns_none': psdopt_components returned None; let it yield specs, or return a list of them",
        "'returns_number': psdopt_components failed: TypeError: 'int' object is not iterable",
        "'text' yields 'method', which is no spec; let psdopt_components yield instances of "
        "ApplicationSpec, ProblemSpec, GeometrySpec, MethodSpec, DatasetSpec",
    ]
    assert messages(manager) == [f"not loaded: plugin {each}" for each in told]
    assert [record.getMessage() for record in caplog.records] == messages(manager)
    assert manager.problems[1].module == "psdopt_test_quits"


def test_an_interruption_during_an_import_is_the_users(install: Install) -> None:
    with pytest.raises(KeyboardInterrupt):
        PluginManager([install("slow", body=failing(KeyboardInterrupt()))], core=False).names("method")


def test_specs_whose_fields_fail_when_they_are_looked_at_are_reported(install: Install) -> None:
    class Trap:
        def __call__(self) -> None: ...

        def __repr__(self) -> str:
            raise RuntimeError("no repr")

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("no comparison")

    bad = spec("bad", summary=Trap())
    manager = PluginManager([install("bad", bad), install("worse", Trap()), install("good", spec("fine"))], core=False)
    assert manager.names("method") == ("fine",)
    assert [problem.plugin for problem in manager.problems] == ["bad", "worse"]


def test_a_name_used_twice_names_both_plugins_and_the_later_one_is_skipped(install: Install) -> None:
    told = "not loaded: plugin {!r}, method 'same': plugin 'a' has that name already; rename one"
    manager = PluginManager([install("b", spec("other"), spec("same")), install("a", spec("same"))], core=False)
    assert manager.names("method") == ("same",)
    assert manager.plugin_of(manager.get("method", "same")) == "a"
    assert messages(manager) == [told.format("b")]
    within_one = PluginManager([install("a", spec("same"), spec("same"))], core=False)
    assert messages(within_one) == [told.format("a")]
    kinds = spec("same"), GeometrySpec("same", lambda n: None, "for tests")
    assert PluginManager([install("a", *kinds)], core=False).problems == ()


def test_others_cannot_shadow_the_core_or_the_first_party_plugins(install: Install) -> None:
    outside, own = install("aaa", spec("lbfgs")), install("zzz", spec("mine"))
    first = SimpleNamespace(name="zzz", value=own.value, load=own.load, dist=SimpleNamespace(name="psdopt"))
    thief = install("bbb", spec("mine"))
    manager = PluginManager([outside, thief, first])  # type: ignore[list-item]
    assert manager.plugins() == ("psdopt", "zzz")
    assert messages(manager) == [
        "not loaded: plugin 'aaa', method 'lbfgs': plugin 'psdopt' has that name already; rename one",
        "not loaded: plugin 'bbb', method 'mine': plugin 'zzz' has that name already; rename one",
    ]


def test_a_plugin_without_the_hook_or_with_an_unknown_one() -> None:
    class Misspelt:
        @hookimpl
        def psdopt_component(self) -> list[Spec]:
            return []

    class Greedy:
        @hookimpl
        def psdopt_components(self, config: object) -> list[Spec]:
            return []

    manager = PluginManager([], core=False)
    told = "plugin 'empty' implements no hook; mark its function psdopt_components with psdopt.plugins.hookimpl"
    refused(told, PluginError, manager.register, SimpleNamespace(), "empty")
    told = "plugin 'misspelt' implements unknown hook psdopt_component; psdopt has only psdopt_components"
    refused(told, PluginError, manager.register, Misspelt(), "misspelt")
    with pytest.raises(PluginError, match=r"plugin 'greedy': PluginValidationError: .*config"):
        manager.register(Greedy(), "greedy")
    assert manager.plugins() == ()


def test_register_refuses_a_second_plugin_of_one_name_and_leaves_nothing_of_a_failed_one(install: Install) -> None:
    manager = PluginManager([], core=False)
    good = install("good", spec("fine")).load()
    bad = install("bad", spec("lost"), spec("Bad")).load()
    with pytest.raises(PluginError):
        manager.register(bad, "plugin")
    assert manager.names("method") == ()
    assert manager.register(good, "plugin") == (spec("fine"),)
    told = "a plugin named 'plugin' is registered already; give this one another name"
    refused(told, PluginError, manager.register, bad, "plugin")
    assert manager.names("method") == ("fine",)


def test_unknown_names_get_near_matches_and_the_broken_plugins(install: Install) -> None:
    entries = [install("good", spec("gradient"))]
    told = "unknown method 'gradiant'; did you mean 'gradient'?"
    refused(told, UnknownNameError, PluginManager(entries, core=False).get, "method", "gradiant")
    entries.append(EntryPoint("absent", "no_such_module_of_psdopt", "psdopt"))
    told = "unknown method 'xyz'; known: gradient; not loaded: 'absent' (`psdopt list` says why)"
    refused(told, UnknownNameError, PluginManager(entries, core=False).get, "method", "xyz")
    told = "unknown kind 'methods'; did you mean 'method'?"
    refused(told, UnknownNameError, PluginManager([], core=False).specs, "methods")
