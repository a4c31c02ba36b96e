"""``--set name=value``: split, matched with a spec's parameters, converted to their types."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psdopt.deprecated import FORMER_PARAMETERS
from psdopt.errors import InvalidInputError, unknown_name
from psdopt.plugins import Parameter, Spec

_TRUTH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_ROLES = ("application", "method", "geometry")


@dataclass(frozen=True)
class Settings:
    """Texts given by --set: role (application, method, geometry) -> name -> text."""

    texts: dict[str, dict[str, str]]

    def values(self, role: str, spec: Spec) -> dict[str, Any]:
        """The settings of `role` as keyword arguments of ``spec.factory``.

        Those of earlier versions are left out, with a warning. Raises UnknownNameError for a name that is no parameter
        of `spec`, InvalidInputError for a wrong value.
        """
        known = {parameter.name: parameter for parameter in spec.parameters}
        found, former = dict(self.texts[role]), FORMER_PARAMETERS.get((spec.kind, spec.name), ())
        for name in list(found):
            if name in former:
                warnings.warn(f"--set {role}.{name} is deprecated, without effect", DeprecationWarning, stacklevel=2)
                del found[name]
            elif name not in known:
                raise unknown_name(f"parameter of {spec.kind} {spec.name}", name, known)
        return {name: _converted(known[name], text) for name, text in found.items()}

    def refuse(self, role: str, needed: str) -> None:
        """InvalidInputError if anything was set for `role`, which needs an argument that was not given."""
        for name in self.texts[role]:
            raise InvalidInputError(f"--set {role}.{name}=... needs {needed}")


def parse_settings(items: Sequence[str]) -> Settings:
    """Settings from texts ``name=value``, ``method.name=value``, ``geometry.name=value``."""
    texts: dict[str, dict[str, str]] = {role: {} for role in _ROLES}
    for item in items:
        name, equals, text = item.partition("=")
        role, dot, rest = name.strip().rpartition(".")
        role = role if dot else "application"
        if not equals or not rest:
            raise InvalidInputError(f"--set takes NAME=VALUE, such as --set lam=0.1; found {item!r}")
        if role not in _ROLES:
            raise InvalidInputError(f"--set {name}: the part before the dot must be method or geometry; found {role!r}")
        if rest in texts[role]:
            raise InvalidInputError(f"--set {name} is given twice")
        texts[role][rest] = text.strip()
    return Settings(texts)


def _converted(parameter: Parameter, text: str) -> Any:
    try:
        return _TRUTH[text.lower()] if parameter.type is bool else parameter.type(text)
    except (KeyError, ValueError):
        kinds = {int: "an integer", float: "a number", bool: "true or false", str: "text"}
        raise InvalidInputError(
            f"--set {parameter.name}: expected {kinds[parameter.type]} ({parameter.help}); found {text!r}"
        ) from None
