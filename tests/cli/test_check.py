"""``psdopt check`` calls the conformance kit, or says what is missing."""

import sys
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

import pytest

from psdopt.cli import check
from psdopt.cli.main import main
from psdopt.plugins import PluginManager


def test_check_hands_over_to_the_kit(psdopt_command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kit, calls = ModuleType("fake_kit"), []
    kit.run_check = lambda target, **rest: calls.append((target, sorted(rest))) or 1  # type: ignore[attr-defined]
    kit.__spec__ = object()  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, "fake_kit", kit)
    monkeypatch.setattr(check, "KIT", "fake_kit")
    assert psdopt_command("check", "fake", "--seed", "3")[0] == 1
    assert calls == [("fake", ["manager", "profile", "seed", "up_to"])]


def test_check_fails_where_the_plugin_was_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the plugin's name and by its module, though every piece that can be made passes."""
    kit = ModuleType("fake_kit")
    kit.run_check = lambda target, **rest: 0  # type: ignore[attr-defined]
    kit.__spec__ = object()  # type: ignore[assignment]
    monkeypatch.setitem(sys.modules, "fake_kit", kit)
    monkeypatch.setattr(check, "KIT", "fake_kit")
    broken = PluginManager([EntryPoint("absent", "no_such_module_of_psdopt", "psdopt")])
    for target, code in (("absent", 1), ("no_such_module_of_psdopt", 1), ("other", 0)):
        assert main(["check", target], broken) == code
        out = capsys.readouterr().out
        assert ("! not loaded: plugin 'absent'" in out) == (code == 1)


def test_check_without_the_kit(psdopt_command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "KIT", "psdopt.no_such_kit")
    code, _, err = psdopt_command("check", "fake")
    assert (code, err) == (
        2, "psdopt: error: psdopt check needs the conformance kit: pip install 'psdopt[testing]'\n"
    )  # fmt: skip
