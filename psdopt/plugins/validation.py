"""Checks of a spec at registration; the error names plugin, spec, field and remedy."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from psdopt.errors import PluginError
from psdopt.plugins.experiments import ExperimentSpec
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
from psdopt.signatures import accepts, accepts_order, signature_of

#: The kinds of spec, by the name that ``psdopt list KIND`` takes.
KINDS: dict[str, type[Spec]] = {
    "application": ApplicationSpec,
    "problem": ProblemSpec,
    "geometry": GeometrySpec,
    "method": MethodSpec,
    "dataset": DatasetSpec,
    "experiment": ExperimentSpec,
}
LABELS = ("none", "classes", "numbers")
PARAMETER_TYPES = (int, float, str, bool)
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")
#: Data sets keep the names that their sources gave them, such as breast_cancer.
_DATASET_NAME = re.compile(r"[a-z][a-z0-9]*([-_.][a-z0-9]+)*\Z")


def validate(spec: Any, plugin: str) -> Spec:
    """`spec` itself if every field is usable, else PluginError with plugin, spec, field and remedy. O(fields)."""
    if not isinstance(spec, Spec) or spec.kind not in KINDS:
        kinds = ", ".join(kind.__name__ for kind in KINDS.values())
        raise PluginError(
            f"plugin {plugin!r} yields {spec!r}, which is no spec; let psdopt_components yield instances of {kinds}"
        )
    check = _Fields(plugin, spec)
    pattern = _DATASET_NAME if isinstance(spec, DatasetSpec) else _NAME
    check.require(
        isinstance(spec.name, str) and pattern.match(spec.name) is not None,
        "name",
        spec.name,
        "use lower-case words joined by hyphens, such as 'metric-kta'",
    )
    check.require(callable(spec.factory), "factory", spec.factory, "give a class or function that makes the piece")
    check.require(
        isinstance(spec.summary, str) and bool(spec.summary.strip()) and "\n" not in spec.summary,
        "summary",
        spec.summary,
        "write one non-empty line that says what it is",
    )
    check.require(isinstance(spec.reference, str), "reference", spec.reference, "give a string, '' if there is none")
    check.optional_callable("example", spec.example, "give a callable without arguments, or None")
    if isinstance(spec, ApplicationSpec):
        check.optional_callable("report", spec.report, "give a callable (estimator, dataset, options), or None")
        check.optional_callable("picture", spec.picture, "give a callable (estimator, dataset, **run), or None")
        check.optional_callable("problem", spec.problem, "give the problem builder, or None")
        check.require(
            isinstance(spec.default_data, str) and bool(spec.default_data),
            "default_data",
            spec.default_data,
            "name a data set, such as 'digits'",
        )
        check.require(
            isinstance(spec.needs, DataNeeds) and spec.needs.labels in LABELS,
            "needs",
            spec.needs,
            f"give a psdopt.plugins.DataNeeds with labels one of {', '.join(LABELS)}",
        )
    if isinstance(spec, ExperimentSpec):
        check.require(
            isinstance(spec.paper, str) and _NAME.match(spec.paper) is not None,
            "paper",
            spec.paper,
            "use lower-case words joined by hyphens, such as 'kl-admm'",
        )
        for name, text in (("title", spec.title), ("differences", spec.differences)):
            check.require(isinstance(text, str), name, text, "give a string, '' if there is nothing to say")
    check.require(isinstance(spec.parameters, tuple), "parameters", spec.parameters, "give a tuple of Parameter")
    for index, parameter in enumerate(spec.parameters):
        _check_parameter(check, index, parameter)
    if isinstance(spec, GeometrySpec):
        check.require(
            accepts_order(spec.factory, [parameter.name for parameter in spec.parameters]),
            "factory",
            spec.factory,
            "give a callable (n, **parameters), n the order of M, with no other need",
        )
    names = [parameter.name for parameter in spec.parameters]
    twice = sorted({name for name in names if names.count(name) > 1})
    check.require(not twice, "parameters", names, f"name each parameter once; more than once: {', '.join(twice)}")
    return spec


class _Fields:
    """Raises for a field of one spec."""

    def __init__(self, plugin: str, spec: Spec) -> None:
        self.plugin, self.spec = plugin, spec

    def require(self, ok: bool, field: str, found: object, remedy: str) -> None:
        if not ok:
            raise PluginError(
                f"plugin {self.plugin!r}, {self.spec.kind} {self.spec.name!r}, field {field!r}: "
                f"found {found!r}; {remedy}"
            )

    def optional_callable(self, field: str, found: object, remedy: str) -> None:
        self.require(found is None or callable(found), field, found, remedy)


def _check_parameter(check: _Fields, index: int, parameter: Any) -> None:
    field = f"parameters[{index}]"
    check.require(isinstance(parameter, Parameter), field, parameter, "give a psdopt.plugins.Parameter")
    name, kind, default = parameter.name, parameter.type, parameter.default
    check.require(
        isinstance(name, str) and name.isidentifier(), f"{field}.name", name, "use the keyword that the factory takes"
    )
    check.require(kind in PARAMETER_TYPES, f"{field}.type", kind, "use int, float, str or bool")
    check.require(
        default is None or _fits(default, kind),
        f"{field}.default",
        default,
        f"give a {kind.__name__}, or None for the factory's own choice",
    )
    check.require(
        isinstance(parameter.help, str) and bool(parameter.help.strip()),
        f"{field}.help",
        parameter.help,
        "write one line that says what it does",
    )
    check.require(
        accepts(check.spec.factory, name),
        f"{field}.name",
        name,
        f"the factory takes no keyword {name!r}: rename the parameter or the keyword",
    )
    stated = _default_of(check.spec.factory, name)
    check.require(
        default is None or stated is inspect.Parameter.empty or stated == default,
        f"{field}.default",
        default,
        f"the factory's default for {name!r} is {stated!r}: give the same, or None",
    )


def _default_of(factory: Callable[..., Any], keyword: str) -> Any:
    signature = signature_of(factory)
    found = None if signature is None else signature.parameters.get(keyword)
    return inspect.Parameter.empty if found is None else found.default


def _fits(value: object, kind: type) -> bool:
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
