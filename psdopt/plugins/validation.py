"""Checks of a spec at registration; the error names plugin, spec, field and remedy."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from psdopt.contracts.signatures import accepts, accepts_order, signature_of
from psdopt.errors import PluginError
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

#: The kinds of spec, by the name that ``psdopt list KIND`` takes.
KINDS: dict[str, type[Spec]] = {
    "application": ApplicationSpec,
    "problem": ProblemSpec,
    "geometry": GeometrySpec,
    "method": MethodSpec,
    "dataset": DatasetSpec,
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
    check.require("name", _matches(pattern, spec.name), "use lower-case words joined by hyphens, such as 'metric-kta'")
    check.require("factory", callable(spec.factory), "give a class or function that makes the piece")
    line = isinstance(spec.summary, str) and bool(spec.summary.strip()) and "\n" not in spec.summary
    check.require("summary", line, "write one non-empty line that says what it is")
    check.require("reference", isinstance(spec.reference, str), "give a string, '' if there is none")
    check.optional_callable("example", "give a callable without arguments, or None")
    if isinstance(spec, ApplicationSpec):
        check.optional_callable("report", "give a callable (estimator, dataset, options), or None")
        check.optional_callable("picture", "give a callable (estimator, dataset, **run), or None")
        check.optional_callable("problem", "give the problem builder, or None")
        named = isinstance(spec.default_data, str) and bool(spec.default_data)
        check.require("default_data", named, "name a data set, such as 'digits'")
        known = isinstance(spec.needs, DataNeeds) and spec.needs.labels in LABELS
        check.require("needs", known, f"give a psdopt.plugins.DataNeeds with labels one of {', '.join(LABELS)}")
    check.require("parameters", isinstance(spec.parameters, tuple), "give a tuple of Parameter")
    for index, parameter in enumerate(spec.parameters):
        _check_parameter(check, f"parameters[{index}]", parameter)
    names = [parameter.name for parameter in spec.parameters]
    if isinstance(spec, GeometrySpec):
        remedy = "give a callable (n, **parameters), n the order of M, with no other need"
        check.require("factory", accepts_order(spec.factory, names), remedy)
    twice = sorted({name for name in names if names.count(name) > 1})
    remedy = f"name each parameter once; more than once: {', '.join(twice)}"
    check.require("parameters", not twice, remedy, found=names)
    return spec


class _Fields:
    """Raises for a field of one spec."""

    def __init__(self, plugin: str, spec: Spec) -> None:
        self.plugin, self.spec = plugin, spec

    def require(self, field: str, ok: bool, remedy: str, found: object = ...) -> None:
        """`found` is by default the value of the field."""
        if not ok:
            value = vars(self.spec)[field] if found is ... else found
            raise PluginError(
                f"plugin {self.plugin!r}, {self.spec.kind} {self.spec.name!r}, field {field!r}: "
                f"found {value!r}; {remedy}"
            )

    def optional_callable(self, field: str, remedy: str) -> None:
        found = vars(self.spec)[field]
        self.require(field, found is None or callable(found), remedy)


def _check_parameter(check: _Fields, field: str, parameter: Any) -> None:
    check.require(field, isinstance(parameter, Parameter), "give a psdopt.plugins.Parameter", parameter)
    name, kind, default = parameter.name, parameter.type, parameter.default
    word = isinstance(name, str) and name.isidentifier()
    check.require(f"{field}.name", word, "use the keyword that the factory takes", name)
    check.require(f"{field}.type", kind in PARAMETER_TYPES, "use int, float, str or bool", kind)
    remedy = f"give a {kind.__name__}, or None for the factory's own choice"
    check.require(f"{field}.default", default is None or _fits(default, kind), remedy, default)
    line = isinstance(parameter.help, str) and bool(parameter.help.strip())
    check.require(f"{field}.help", line, "write one line that says what it does", parameter.help)
    factory = check.spec.factory
    remedy = f"the factory takes no keyword {name!r}: rename the parameter or the keyword"
    check.require(f"{field}.name", accepts(factory, name), remedy, name)
    stated = _default_of(factory, name)
    same = default is None or stated is inspect.Parameter.empty or stated == default
    remedy = f"the factory's default for {name!r} is {stated!r}: give the same, or None"
    check.require(f"{field}.default", same, remedy, default)


def _matches(pattern: re.Pattern[str], text: object) -> bool:
    return isinstance(text, str) and pattern.match(text) is not None


def _default_of(factory: Callable[..., Any], keyword: str) -> Any:
    signature = signature_of(factory)
    found = None if signature is None else signature.parameters.get(keyword)
    return inspect.Parameter.empty if found is None else found.default


def _fits(value: object, kind: type) -> bool:
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
