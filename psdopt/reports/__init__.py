"""What `psdopt run` says of an application: tables, a figure, and whether it succeeded.

A plugin's :class:`~psdopt.plugins.ApplicationSpec` names a function (estimator, dataset, options) -> Report. Those
here serve metrics, kernels, embeddings, regression and eigenvectors; a plugin may write its own with the same pieces.
"""

from psdopt.reports.embedding import embedding_report
from psdopt.reports.general import fit_report, run_report
from psdopt.reports.kernel import kernel_report
from psdopt.reports.metric import metric_report
from psdopt.reports.options import RunOptions
from psdopt.reports.record import Report, Table
from psdopt.reports.regression import regression_report
from psdopt.reports.spectral import spectral_report
from psdopt.reports.summary import residual_table, result_rows
from psdopt.reports.trace import CertificateTrace

__all__ = [
    "CertificateTrace",
    "Report",
    "RunOptions",
    "Table",
    "embedding_report",
    "fit_report",
    "kernel_report",
    "metric_report",
    "regression_report",
    "residual_table",
    "result_rows",
    "run_report",
    "spectral_report",
]
