"""Reports of `psdopt run` on an application: tables, a figure, and whether the run succeeded.

A plugin's :class:`~psdopt.plugins.ApplicationSpec` names a function (estimator, dataset, options) -> Report. The pieces
common to all reports are here and public in :mod:`psdopt.plugins`; reports of metrics, kernels and embeddings are in
the plugins of their estimators.
"""

from psdopt.deprecated import former_names
from psdopt.reports.general import fit_report, run_report
from psdopt.reports.options import RunOptions, fitted, seeded
from psdopt.reports.record import Report, Table
from psdopt.reports.summary import error_text, residual_table, result_rows
from psdopt.reports.trace import CertificateTrace

__all__ = [
    "CertificateTrace",
    "Report",
    "RunOptions",
    "Table",
    "error_text",
    "fit_report",
    "fitted",
    "residual_table",
    "result_rows",
    "run_report",
    "seeded",
]

_PLUGINS = {
    "embedding": "manifold_learning",
    "kernel": "kernel_learning",
    "metric": "metric_learning",
    "regression": "regression",
    "spectral": "spectral",
}
__getattr__ = former_names(
    __name__, {f"{kind}_report": f"psdopt_plugins.{plugin}.report:{kind}_report" for kind, plugin in _PLUGINS.items()}
)
