from collections.abc import Callable

import pytest

from psdopt.cli.main import main
from tests.cli.fakes import fake_manager

Outcome = tuple[int, str, str]


@pytest.fixture
def psdopt_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Runs the command in this process with the fake plugin; (exit code, standard output, standard error)."""

    monkeypatch.setattr("psdopt.running.plotting.style.RESOLUTION_DPI", 30)  # drawn fast

    def run(*argv: str) -> Outcome:
        code = main([*map(str, argv)], fake_manager())
        out, err = capsys.readouterr()
        return code, out, err

    return run
