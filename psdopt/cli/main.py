"""The command ``psdopt``: parses arguments, turns errors into one line, and exit codes."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from psdopt.cli.flags import as_flags
from psdopt.cli.plain import plain_streams
from psdopt.errors import PsdoptError
from psdopt.plugins import PluginManager, plugin_manager
from psdopt.version import __version__

CODES = (
    "Exit codes: 0 success; 1 a run that did not converge, a check or benchmark that failed, or a lack of memory; 2 "
    "wrong use or wrong data; 3 an error that psdopt did not foresee, please report it with the output of `psdopt env`;"
    " 130 interrupted."
)
SUCCESS, FAILED, WRONG_USE, UNFORESEEN = 0, 1, 2, 3
INTERRUPTED = 128 + signal.SIGINT  # as shells count a command that a signal ends


class _Parser(argparse.ArgumentParser):
    """Wrong arguments give one line, like every other error."""

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_USE, f"psdopt: error: {message}; `{self.prog} --help` shows the usage\n")


def parser() -> argparse.ArgumentParser:
    """The argument parser with all commands."""
    from psdopt.cli import bench, check, env, list, run

    top = _Parser(
        prog="psdopt",
        description="Optimisation over positive semidefinite matrices, min F(M), M ⪰ 0.",
        epilog=CODES,
    )
    top.add_argument("--version", action="version", version=f"psdopt {__version__}")
    top.add_argument("--debug", action="store_true", help="show the traceback of an error")
    top.set_defaults(command=None, parameters=frozenset())
    commands = top.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    for module in (list, run, check, bench, env):
        name = module.__name__.rpartition(".")[2]
        text = module.HELP
        # "resolve": a command may have a --help of its own
        command = commands.add_parser(
            name, help=text, description=f"{text[:1].upper()}{text[1:]}.", conflict_handler="resolve"
        )
        module.add_arguments(command)
        command.set_defaults(command=module.run, lists_problems=module in (list, env))
        command.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    return top


@plain_streams()
def main(argv: Sequence[str] | None = None, manager: PluginManager | None = None) -> int:
    """Run one command; returns its exit code. `manager` replaces the installed plugins, for tests."""
    try:
        arguments = parser().parse_args(argv)
    except SystemExit as stop:  # --help, --version and wrong arguments have printed their text
        return int(stop.code or 0)
    if arguments.command is None:
        parser().print_help()
        return WRONG_USE
    with _warnings_on_stderr(quiet=arguments.lists_problems):
        return answered(lambda: arguments.command(arguments, manager or plugin_manager()), arguments)


def answered(call: Callable[[], int], arguments: argparse.Namespace) -> int:
    """The exit code of `call()`; its warnings and its error are printed as one line each.

    arguments : with `debug`, the error is raised instead; `parameters`, which the call may set, are the names that
    messages show as options of the command.
    """
    try:
        with _python_warnings_on_stderr(arguments):
            code = call()
            sys.stdout.flush()
            return code
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SUCCESS
    except BaseException as error:  # interrupts too: --debug shows where a command hung
        if arguments.debug:
            raise
        return _told(error, arguments.parameters)


def _told(error: BaseException, parameters: frozenset[str]) -> int:
    """Print one line about `error`, which ended a command; returns the exit code."""
    match error:
        case PsdoptError():
            return _complain(as_flags(str(error), parameters), WRONG_USE)
        case KeyboardInterrupt():
            return _complain("interrupted", INTERRUPTED)
        case MemoryError():
            return _complain(f"out of memory: {str(error) or 'an array does not fit'}", FAILED)
        case SystemExit(code=None | int()):  # raised by a plugin or benchmark, not by the parser
            return int(error.code or SUCCESS)
        case SystemExit():
            return _complain(str(error.code), FAILED)
    text = f"{type(error).__name__}: {error}; psdopt did not foresee this, add --debug to see where it arose"
    return _complain(text, UNFORESEEN)


def _complain(message: str, code: int) -> int:
    print(f"psdopt: error: {' '.join(message.split())}", file=sys.stderr)
    return code


@contextmanager
def _warnings_on_stderr(quiet: bool) -> Iterator[None]:
    """Log records of psdopt as one line each; none if the command lists the problems itself."""
    logger = logging.getLogger("psdopt")
    handler: logging.Handler = logging.NullHandler() if quiet else logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("psdopt: warning: %(message)s"))
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


@contextmanager
def _python_warnings_on_stderr(arguments: argparse.Namespace) -> Iterator[None]:
    """Warnings of estimators as one line each, with command-line options in place of arguments and no line of code.

    Each text is shown once, since the fits of a cross-validation repeat the same warnings.
    """
    shown: set[str] = set()

    def show(message: Warning | str, *where: object, **more: object) -> None:
        text = as_flags(str(message), arguments.parameters)
        if text not in shown:
            shown.add(text)
            print(f"psdopt: warning: {' '.join(text.split())}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
