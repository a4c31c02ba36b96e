"""Plugins: typed specs, the hook that yields them, and the manager that loads and checks them.

It also has the pieces of reports and pictures of applications: a report is a function (estimator, dataset, options)
that fits, measures and returns a :class:`Report`; :func:`run_report` makes one from rows, a picture and the run itself.
"""

from psdopt import reports
from psdopt.data.datasets import Dataset
from psdopt.plugins import specs
from psdopt.plugins.hookspec import GROUP, hookimpl
from psdopt.plugins.installed import examples
from psdopt.plugins.lazy import Deferred, LazyNames, lazy_names
from psdopt.plugins.manager import PluginManager, PluginProblem, plugin_manager
from psdopt.plugins.specs import *  # noqa: F403
from psdopt.plugins.validation import validate
from psdopt.reports import *  # noqa: F403
from psdopt.running import compatibility, plotting
from psdopt.running.plotting import *  # noqa: F403

__all__ = [
    "GROUP",
    "Dataset",
    "Deferred",
    "LazyNames",
    "PluginManager",
    "PluginProblem",
    "hookimpl",
    "lazy_names",
    "plugin_manager",
    "validate",
]
__all__ += plotting.__all__
__all__ += reports.__all__
__all__ += specs.__all__

compatibility.known = examples
