"""``psdopt run APPLICATION``: fits an application to data, prints a report, writes files, draws a figure."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from psdopt.cli.flags import as_flags
from psdopt.cli.needs import check_needs, library_errors
from psdopt.cli.outputs import check_output, write_output
from psdopt.cli.parameters import Settings, parse_settings
from psdopt.cli.run_help import ApplicationHelp
from psdopt.cli.sdp import SPEC, sdp_report
from psdopt.cli.tables import show_table
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method
from psdopt.data.columns import Choice
from psdopt.errors import DataFileError, InvalidInputError
from psdopt.plugins import ApplicationSpec, PluginManager
from psdopt.plugins.datasets import load_dataset
from psdopt.reports import Report, RunOptions, fit_report
from psdopt.running.plotting import plot_run
from psdopt.running.plotting.style import PLOT_SUFFIXES, write_plot

HELP = "run an application on data"
EPILOG = """\
examples:
  psdopt run metric-kta --data digits --plot metric.png
  psdopt run metric-kta --data mine.csv --label kind --drop id --drop note
  psdopt run metric-kta --data mine.csv --set lam=0.1 --method lbfgs --rank 5 --output metric.npz
  psdopt run sdp --data problem.dat-s.gz --output solution.npz

data files:
  .csv, .tsv  one sample per line; the label is --label, or the column called label, target or y, else the last one;
              also with .gz, .bz2 or .xz
  .npz        X (m, d) and y (m,), or data, indices, indptr, shape of a CSR X, or symmetric K (topk, ...); .npy: X alone
  .parquet, .zarr, .h5, .npy over 64 MB  rows read in blocks (psd-regression, metric-...); labels as above, or y
  .dat-s, .dat  a semidefinite program in SDPA's format (for sdp), also with .gz

`psdopt list` names the applications, `psdopt list --all` also methods, geometries and data sets.
Exit codes: 0 the run converged; 1 it did not; 2 wrong use or wrong data; 3 an error that psdopt did not foresee,
please report it with the output of `psdopt env`; 130 interrupted.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog, parser.formatter_class = EPILOG, argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("-h", "--help", action=ApplicationHelp, nargs=0, help="this help; after APPLICATION, what that one takes")
    add("application", metavar="APPLICATION", help="name of an application, such as metric-kta")
    add("--data", metavar="FILE|NAME", help="name of a data set, or a file (default: the application's)")
    add("--label", metavar="NAME", help="column of the labels in a table (default: label, target or y, else the last)")
    add(
        "--drop",
        metavar="NAME",
        action="append",
        default=[],
        help="column of a table to leave out; may be repeated, or hold several with commas",
    )
    add("--method", metavar="NAME", help="method (default: conjugate gradient)")
    add("--geometry", metavar="NAME", help="geometry (default: factors whose rank grows until optimality is proved)")
    add(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="settings",
        help="a parameter of the application, or method.NAME=VALUE, geometry.NAME=VALUE; may be repeated",
    )
    add("--rank", type=int, metavar="R", help="keep M at rank at most R")
    add("--tol", type=float, help="relative tolerance of the certificate (default: the application's own, mostly 1e-6)")
    add("--max-iterations", type=int, metavar="N", help="stop after N iterations")
    add("--max-time", type=float, metavar="SECONDS", help="stop after so many seconds")
    add("--seed", type=int, default=0, help="seed of split, sampled pairs and start (default: %(default)s)")
    add("--output", metavar="FILE", help="write the result: .npz (factor, history, numbers) or .json (numbers)")
    add("--plot", metavar="FILE", help="draw the data and the answer: .png, .pdf or .svg")
    add("--plot-run", metavar="FILE", help="draw the convergence of the run and its certificate")
    add("--quiet", action="store_true", help="no progress bar and no tables")


def run(arguments: argparse.Namespace, manager: PluginManager) -> int:
    """0 if the run converged, else 1. Everything that can be checked is checked before the long computation."""
    program = arguments.application == SPEC.name  # a program in a file: no samples and no estimator
    spec = SPEC if program else manager.get("application", arguments.application)
    arguments.parameters = frozenset(parameter.name for parameter in spec.parameters)
    settings = parse_settings(arguments.settings)
    options = run_options(arguments, settings, manager)
    check_output(arguments.output)
    check_output(arguments.plot, "--plot", PLOT_SUFFIXES)
    check_output(arguments.plot_run, "--plot-run", PLOT_SUFFIXES)
    if isinstance(spec, ApplicationSpec):
        report = _fit(arguments, manager, spec, settings.values("application", spec), options)
    else:
        if Choice(arguments.label, tuple(arguments.drop)):
            raise InvalidInputError("--label and --drop name columns of samples; sdp takes a program")
        report = sdp_report(arguments.data, settings, options)
    if not arguments.quiet:
        show_report(report, arguments.parameters)
    if arguments.output is not None:
        try:
            write_output(report, arguments.output)
        except DataFileError:  # a full disk, say: the report is still shown
            if arguments.quiet:
                show_report(report, arguments.parameters)
            raise
        _note(arguments, f"Result written to {arguments.output}")
    of_run = report.run_figure or partial(plot_run, report.result, title=report.title)
    for path, draw in ((arguments.plot, report.figure or of_run), (arguments.plot_run, of_run)):
        if path is not None:
            write_plot(draw(), path)
            _note(arguments, f"Figure written to {path}")
    return 0 if report.success else 1


def _fit(
    arguments: argparse.Namespace,
    manager: PluginManager,
    spec: ApplicationSpec,
    parameters: dict[str, Any],
    options: RunOptions,
) -> Report:
    """The report of the application, fitted to its data."""
    grid = {p.name: p.grid for p in spec.parameters if p.grid and p.name not in parameters}
    options = replace(options, grid=grid, default_method=spec.default_method and spec.default_method())
    source = spec.default_data if arguments.data is None else arguments.data
    dataset = load_dataset(source, manager, Choice(arguments.label, tuple(arguments.drop)))
    check_needs(spec, dataset)
    with library_errors(dataset.name):
        fit_and_tell = spec.report or partial(fit_report, picture=spec.picture)
        report: Report = fit_and_tell(spec.factory(**parameters), dataset, options)
    return replace(report, rows=[*(("file", note) for note in dataset.notes), *report.rows])


def run_options(arguments: argparse.Namespace, settings: Settings, manager: PluginManager) -> RunOptions:
    """Checked options of the run; errors name the command-line argument."""
    tol, steps, seconds, rank = arguments.tol, arguments.max_iterations, arguments.max_time, arguments.rank
    for bounds, found, inside in (
        ("--tol must lie between 0 and 1", tol, tol is None or 0.0 < tol < 1.0),
        ("--max-iterations must be at least 0", steps, steps is None or steps >= 0),
        ("--max-time (seconds) must be at least 0", seconds, seconds is None or 0.0 <= seconds < math.inf),
        ("--rank must be at least 1", rank, rank is None or rank >= 1),
        ("--seed must lie between 0 and 2^32 - 1", arguments.seed, 0 <= arguments.seed < 2**32),
    ):
        if not inside:
            raise InvalidInputError(f"{bounds}; found {found if isinstance(found, int) else format(found, '.10g')}")
    return RunOptions(
        method=_method(arguments, settings, manager),
        geometry=_geometry(arguments, settings, manager),
        rank=rank,
        tol=tol,
        max_iterations=steps,
        max_time=seconds,
        seed=arguments.seed,
        progress=not arguments.quiet and sys.stderr.isatty(),
    )


def _method(arguments: argparse.Namespace, settings: Settings, manager: PluginManager) -> Method | None:
    if arguments.method is None:
        settings.refuse("method", "--method NAME")
        return None
    spec = manager.get("method", arguments.method)
    method: Method = spec.factory(**settings.values("method", spec))
    return method


def _geometry(
    arguments: argparse.Namespace, settings: Settings, manager: PluginManager
) -> Callable[[int], Geometry] | None:
    if arguments.geometry is None:
        settings.refuse("geometry", "--geometry NAME")
        return None
    spec = manager.get("geometry", arguments.geometry)
    values = settings.values("geometry", spec)
    takes_rank = any(parameter.name == "r" for parameter in spec.parameters)
    if arguments.rank is not None and takes_rank:
        values.setdefault("r", arguments.rank)
    if takes_rank and "r" not in values:
        raise InvalidInputError(f"--geometry {spec.name} needs a rank; add --rank R")
    if arguments.rank is not None and not takes_rank:
        raise InvalidInputError(f"--geometry {spec.name} has no rank; leave out --rank")
    factory = spec.factory
    return lambda n: factory(n, **values)


def show_report(report: Report, parameters: frozenset[str] = frozenset()) -> None:
    """The tables of a report on standard output; keyword arguments in its texts become options."""
    rows = [(label, as_flags(text, parameters)) for label, text in report.rows]
    show_table(report.title, ("", ""), rows, headings=False)
    for table in report.tables:
        show_table(table.title, table.columns, table.rows)


def _note(arguments: argparse.Namespace, text: str) -> None:
    if not arguments.quiet:
        print(text)
