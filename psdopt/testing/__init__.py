"""The conformance kit: proves a problem, geometry, method or estimator right, or shows where it is wrong.

    from psdopt.testing import run_checks
    for record in run_checks(MyGeometry(6, 2)):
        print(record)

Each check is a theorem about the object, tried where it is not trivial, with a tolerance computed from
eps, conditioning and scale. Under pytest use :func:`parametrize_with_checks`; on the command line
``psdopt check PLUGIN_OR_MODULE``. Hypothesis strategies are in :mod:`psdopt.testing.strategies`, naive twins
in :mod:`psdopt.testing.reference`.
"""

from psdopt.deprecated import former_names
from psdopt.testing.builders import Builder
from psdopt.testing.parametrize import parametrize_with_checks
from psdopt.testing.record import CheckStatus, Deviation, Record, Trivial
from psdopt.testing.regimes import REGIMES, Case
from psdopt.testing.registry import CHECKS, Check, check
from psdopt.testing.runner import PROFILES, BoundCheck, replay, run_checks, yield_checks
from psdopt.testing.splits import Split

__all__ = [
    "CHECKS",
    "PROFILES",
    "REGIMES",
    "BoundCheck",
    "Builder",
    "Case",
    "Check",
    "CheckStatus",
    "Deviation",
    "Record",
    "Split",
    "Trivial",
    "check",
    "parametrize_with_checks",
    "replay",
    "run_checks",
    "yield_checks",
]

# psdopt and psdopt.terms use these names for other objects
__getattr__ = former_names(__name__, {"Measurement": f"{__name__}:Deviation", "Verdict": f"{__name__}:CheckStatus"})
