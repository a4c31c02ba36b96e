"""``--set``: texts are split by role and converted to their types; the help of an application; words as options."""

import pytest

from psdopt.cli.flags import as_flags
from psdopt.cli.main import main
from psdopt.cli.parameters import parse_settings
from psdopt.cli.run_help import application_help
from psdopt.plugins import MethodSpec, Parameter
from psdopt.plugins.manager import plugin_manager

PARAMETERS = (
    Parameter("count", int, 1, "how many"), Parameter("lam", float, 0.1, "weight"),
    Parameter("fast", bool, False, "whether"), Parameter("name", str, "", "a word"),
)  # fmt: skip
SPEC = MethodSpec("sample", dict, "for tests", parameters=PARAMETERS)


def test_values_have_the_types_of_their_parameters() -> None:
    settings = parse_settings(["method.count=3", "method.lam = 1e-2", "method.fast=Yes", "method.name=a=b", "lam=5"])
    values = settings.values("method", SPEC)
    assert values == {"count": 3, "lam": 0.01, "fast": True, "name": "a=b"}
    assert [type(value) for value in values.values()] == [int, float, bool, str]
    assert settings.values("application", SPEC) == {"lam": 5.0}
    assert settings.values("geometry", SPEC) == {}
    settings.refuse("geometry", "--geometry NAME")  # there is nothing to refuse


GENERAL = ("--max-iterations", "Exit codes: 0")


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        (("sdp", "--help"), ("usage: psdopt run sdp", "trace_bound=FLOAT", ".dat-s[.gz]")),
        (("metric-kta", "-h"), ("lam=FLOAT", "(default: 0.01)", "(default: concealed)")),
        (("--help",), GENERAL), (("nonsense", "--help"), GENERAL), (("--help", "sdp"), GENERAL),
    ],
)  # fmt: skip
def test_an_application_has_its_own_help_and_without_a_known_name_before_it_it_is_the_commands(capsys, words, texts):
    assert main(["run", *words]) == 0
    out = capsys.readouterr().out
    assert [text for text in texts if text not in out] == []
    shown = "concealed" if words[0] == "metric-kta" else "digits"
    assert (shown in out) == (words[0] != "sdp")


def test_all_helps_fit_a_narrow_screen(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "79")
    for spec in plugin_manager().specs("application"):
        text = application_help(spec)
        assert all(name.name in text for name in spec.parameters)
        assert max(map(len, text.splitlines())) <= 79


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("if it is not a limit you want, pass escape=True or a larger rank",
         "if it is not a limit you want, leave out --rank and --geometry, or give a larger --rank"),
        ("; pass a larger max_iterations or tol", "; give a larger --max-iterations or --tol"),
        ("(or pass disconnected='separate')", "(or add --set disconnected=separate)"),
        ("give max_iterations=100", "give --max-iterations 100"),
        ("tol=1e-3 is too coarse", "--tol 1e-3 is too coarse"),
        ("FlatQuotient(n=4, r=4)", "FlatQuotient(n=4, r=4)"),
        ("K = 3, k == 2, a<=b", "K = 3, k == 2, a<=b"),
        ("--set lam=2", "--set lam=2"),
    ],
)  # fmt: skip
def test_keyword_arguments_become_options(text: str, options: str) -> None:
    assert as_flags(text, frozenset({"disconnected"})) == options


def test_a_former_parameter_is_left_out_with_a_warning() -> None:
    settings = parse_settings(["method.search=armijo", "method.memory=3"])
    spec = plugin_manager().get("method", "lbfgs")
    with pytest.warns(DeprecationWarning, match=r"method\.search is deprecated"):
        assert settings.values("method", spec) == {"memory": 3}
