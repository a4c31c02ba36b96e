"""Names that are imported only when used, so that listing a plugin's contributions imports nothing."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from importlib import import_module
from types import ModuleType
from typing import Any

from psdopt.errors import PluginError
from psdopt.plugins.specs import Spec


class Deferred:
    """A name of a module that is imported when the name is called, or resolved."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def resolve(self) -> Any:
        """The object itself. Raises what importing its module raises, and AttributeError if the name is missing."""
        return getattr(import_module(self.module), self.name)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.resolve()(*arguments, **keywords)

    def __repr__(self) -> str:
        return f"{self.module}:{self.name}"


class LazyNames:
    """The lazy names of a package as attributes, each a :class:`Deferred`, to be used in specs."""

    def __init__(self, package: str, names: Mapping[str, str]) -> None:
        self._found = {name: Deferred(f"{package}.{module}", name) for name, module in names.items()}

    def __getattr__(self, name: str) -> Deferred:
        try:
            return self._found[name]
        except KeyError:
            raise AttributeError(f"no lazy name {name!r}; there are {', '.join(self._found)}") from None


def lazy_names(package: str, names: Mapping[str, str] | None = None) -> LazyNames:
    """Make `package` import its public names on first access; returns the same names, deferred, for its hook.

        if TYPE_CHECKING:
            from kitchen.kta import KTA as KTA
            from kitchen.kta_problem import kta_problem as kta_problem

        lazy = lazy_names(__name__)

        @hookimpl
        def psdopt_components():
            yield ApplicationSpec("metric-kta", lazy.KTA, ..., problem=lazy.kta_problem)

    `names` : public name -> the module within the package that defines it. None: the imports "as" the same name in the
    package, as above, so that type checkers and editors read the same list. It then becomes ``__all__`` as well. A name
    may equal that of its module: ``from package import kta_problem`` is always the function, even if the module was
    imported first. ``dir(package)`` has its public names first of all, none of which it imports.

    Raises PluginError if the list is to be read from a package that was installed without its source.
    """
    module = sys.modules[package]
    if names is None:
        names = _listed(module)
        vars(module)["__all__"] = sorted(names)
    found = LazyNames(package, names)
    members: dict[str, Any] = {name: _later(deferred) for name, deferred in found._found.items()}
    members["__dir__"] = _offered
    module.__class__ = type("LazyPackage", (type(module),), members)
    return found


def _listed(package: ModuleType) -> dict[str, str]:
    """Name -> module of every ``from package.module import name as name`` in the source of `package`."""
    name = package.__name__
    try:
        source = inspect.getsource(package)
    except OSError as error:
        raise PluginError(f"{name} has no source to read its public names from; pass them to lazy_names") from error
    return {
        alias.name: node.module.removeprefix(f"{name}.")
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(f"{name}.")
        for alias in node.names
        if alias.asname == alias.name
    }


def _offered(package: Any) -> list[str]:
    """``dir(package)``: what completion shows, without the imports that the package makes for itself."""
    lazy = [name for name, member in vars(type(package)).items() if isinstance(member, property)]
    own = [name for name, value in vars(package).items() if name.startswith("__") or _home(value) == package.__name__]
    return sorted({*lazy, *own, *getattr(package, "__all__", ())})


def _home(value: Any) -> str | None:
    """The package of a module, or the module that defined a class or function."""
    return value.__name__.rpartition(".")[0] if isinstance(value, ModuleType) else getattr(value, "__module__", None)


def resolved(spec: Spec) -> Spec:
    """`spec` with every deferred field imported; `spec` itself if there is none."""
    found = {
        field.name: value.resolve()
        for field in fields(spec)
        if isinstance(value := getattr(spec, field.name), Deferred)
    }
    return replace(spec, **found) if found else spec


def _later(deferred: Deferred) -> property:
    """A member of a package that is imported on first access, and may be replaced."""
    name = deferred.name

    def get(package: ModuleType) -> Any:
        kept = vars(package)
        if name not in kept:
            kept[name] = deferred.resolve()
        return kept[name]

    def put(package: ModuleType, value: Any) -> None:
        if not isinstance(value, ModuleType):  # a submodule, set as attribute by its import; keep the public name
            vars(package)[name] = value

    return property(get, put, lambda package: vars(package).pop(name, None))
