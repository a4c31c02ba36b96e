"""Messages of the library in the words of the command line."""

import pytest

from psdopt.cli.flags import as_flags


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("if it is not a limit you want, pass escape=True or a larger rank",
         "if it is not a limit you want, leave out --rank and --geometry, or give a larger --rank"),
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
