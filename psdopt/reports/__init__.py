"""What `psdopt run` says of an application: tables, a figure, and whether it succeeded.

A plugin's :class:`~psdopt.plugins.ApplicationSpec` names a function (estimator, dataset, options) -> Report. Those
here serve metric learners, spectral and kernel applications; a plugin may write its own with the same pieces.
"""

from psdopt.reports.general import fit_report
from psdopt.reports.kernel import kernel_report
from psdopt.reports.metric import metric_report
from psdopt.reports.options import RunOptions
from psdopt.reports.record import Report, Table
from psdopt.reports.spectral import spectral_report
from psdopt.reports.summary import residual_table, result_rows
from psdopt.reports.trace import CertificateTrace

__all__ = [
    "CertificateTrace",
    "Report",
    "RunOptions",
    "Table",
    "fit_report",
    "kernel_report",
    "metric_report",
    "residual_table",
    "result_rows",
    "spectral_report",
]
