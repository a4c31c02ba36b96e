"""Plugins: typed specs, the hook that yields them, and the manager that loads and checks them.

Also the pieces of reports and pictures of applications: a report is a function (estimator, dataset, options) that
fits, measures and returns a :class:`Report`; :func:`run_report` makes one from rows, a picture and the run itself.
"""

from psdopt.datasets import Dataset
from psdopt.plotting import (
    BLUE,
    COLOURS,
    GREY,
    MARKERS,
    draw_certificate,
    draw_gap,
    new_figure,
    plot_convergence,
    plot_run,
)
from psdopt.plugins.experiments import (
    Comparison,
    Experiment,
    ExperimentCase,
    ExperimentSpec,
    Findings,
    ResultTable,
)
from psdopt.plugins.hookspec import GROUP, hookimpl
from psdopt.plugins.lazy import Deferred, LazyNames, lazy_names
from psdopt.plugins.manager import PluginManager, PluginProblem, plugin_manager
from psdopt.plugins.specs import (
    ApplicationSpec,
    DataNeeds,
    DatasetSpec,
    GeometrySpec,
    MethodSpec,
    Parameter,
    ProblemSpec,
    Spec,
)
from psdopt.plugins.validation import validate
from psdopt.reports import (
    CertificateTrace,
    Report,
    RunOptions,
    Table,
    error_text,
    fit_report,
    fitted,
    residual_table,
    result_rows,
    run_report,
    seeded,
)

__all__ = [
    "BLUE",
    "COLOURS",
    "GREY",
    "GROUP",
    "MARKERS",
    "ApplicationSpec",
    "CertificateTrace",
    "Comparison",
    "DataNeeds",
    "Dataset",
    "DatasetSpec",
    "Deferred",
    "Experiment",
    "ExperimentCase",
    "ExperimentSpec",
    "Findings",
    "GeometrySpec",
    "LazyNames",
    "MethodSpec",
    "Parameter",
    "PluginManager",
    "PluginProblem",
    "ProblemSpec",
    "Report",
    "ResultTable",
    "RunOptions",
    "Spec",
    "Table",
    "draw_certificate",
    "draw_gap",
    "error_text",
    "fit_report",
    "fitted",
    "hookimpl",
    "lazy_names",
    "new_figure",
    "plot_convergence",
    "plot_run",
    "plugin_manager",
    "residual_table",
    "result_rows",
    "run_report",
    "seeded",
    "validate",
]
