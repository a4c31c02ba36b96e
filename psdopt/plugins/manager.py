"""The plugin manager: loads plugins on demand, validates what they yield, leaves out and lists broken ones."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any, Literal, overload

import pluggy

from psdopt.deprecated import former_component
from psdopt.errors import PluginError, UnknownNameError, unknown_name
from psdopt.plugins.hookspec import GROUP, PsdoptHooks
from psdopt.plugins.lazy import resolved
from psdopt.plugins.specs import ApplicationSpec, Spec
from psdopt.plugins.validation import KINDS, validate

HOOK = "psdopt_components"
#: The plugin under which the core's own pieces are listed.
CORE = "psdopt"
logger = logging.getLogger("psdopt.plugins")


class _Hooks(pluggy.PluginManager):
    """Looks for hooks among what a plugin holds, not among the names that it imports on first access."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        if isinstance(getattr(type(plugin), name, None), property):
            return None
        return super().parse_hookimpl_opts(plugin, name)


@dataclass(frozen=True)
class PluginProblem:
    """A plugin that was left out: its name, the reason, and its module if it came from an entry point."""

    plugin: str
    message: str
    module: str = ""

    def __str__(self) -> str:
        return f"not loaded: {self.message}"


class PluginManager:
    """All contributions by kind and name.

    Nothing is imported before the first access. Then the core's own plugin is loaded first, the plugins that
    ship with psdopt next, all others by name. If two plugins use the same name, the later one is
    refused as a whole and listed in `problems`.

    Parameters
    ----------
    entry_points : what to load; default: the installed entry points of group ``psdopt``. Tests pass their own.
    core : whether the core's own pieces are registered.

    Attributes: `problems`, the plugins that were left out, with reasons (also logged, once each).
    """

    def __init__(self, entry_points: Iterable[metadata.EntryPoint] | None = None, *, core: bool = True) -> None:
        self._pluggy = _Hooks(GROUP)
        self._pluggy.add_hookspecs(PsdoptHooks)
        self._pending: list[metadata.EntryPoint] | None = None if entry_points is None else list(entry_points)
        self._core = core
        self._loaded = False
        self._specs: dict[str, dict[str, Spec]] = {kind: {} for kind in KINDS}
        self._owners: dict[tuple[str, str], str] = {}
        self._problems: list[PluginProblem] = []

    def register(self, plugin: Any, name: str) -> tuple[Spec, ...]:
        """Add the contributions of `plugin`, a module or object with a hook implementation, under `name`.

        Raises PluginError, and adds nothing, if the plugin has no implementation of the hook, fails while
        yielding, yields something invalid, or uses a name that another plugin has.
        """
        if self._pluggy.has_plugin(name):
            raise PluginError(f"a plugin named {name!r} is registered already; give this one another name")
        try:
            with _named(f"plugin {name!r}"):
                self._pluggy.register(plugin, name)
            specs = self._collect(plugin, name)
        except BaseException:  # it may be registered with pluggy already
            if self._pluggy.has_plugin(name):
                self._pluggy.unregister(name=name)
            raise
        for spec in specs:
            self._specs[spec.kind][spec.name] = spec
            self._owners[spec.kind, spec.name] = name
        return specs

    def listed(self, kind: str) -> tuple[Spec, ...]:
        """All specs of `kind`, a key of KINDS, sorted by name; deferred names are not imported."""
        self._load()
        if kind not in KINDS:
            raise unknown_name("kind", kind, KINDS)
        return tuple(spec for _, spec in sorted(self._specs[kind].items()))

    def specs(self, kind: str) -> tuple[Spec, ...]:
        """All specs of `kind`, such as "application" or "dataset", ready for use and sorted by name.

        One whose deferred names cannot be imported is left out, and listed in `problems`.
        """
        found = []
        for spec in self.listed(kind):
            try:
                found.append(self._ready(spec))
            except PluginError as error:
                self._report(self.plugin_of(spec), str(error))
                del self._specs[kind][spec.name]
        return tuple(found)

    def names(self, kind: str) -> tuple[str, ...]:
        """Names of all specs of `kind`, sorted."""
        return tuple(spec.name for spec in self.listed(kind))

    @overload
    def get(self, kind: Literal["application"], name: str) -> ApplicationSpec: ...

    @overload
    def get(self, kind: str, name: str) -> Spec: ...

    def get(self, kind: str, name: str) -> Spec:
        """The spec called `name`, ready for use; UnknownNameError with near matches if there is none.

        Raises PluginError if a deferred name cannot be imported, or does not fit its parameters.
        """
        name, names = former_component(kind, name), self.names(kind)
        if name in names:
            return self._ready(self._specs[kind][name])
        error = unknown_name(kind, name, names)
        if not self._problems:
            raise error
        broken = ", ".join(repr(problem.plugin) for problem in self._problems)
        raise UnknownNameError(f"{error}; not loaded: {broken} (`psdopt list` says why)")

    def _ready(self, spec: Spec) -> Spec:
        """`spec` with its deferred names imported, once, and validated again with their signatures."""
        plugin = self.plugin_of(spec)
        with _named(f"plugin {plugin!r}, {spec.kind} {spec.name!r}"):
            ready = resolved(spec)
        if ready is not spec:
            self._specs[spec.kind][spec.name] = validate(ready, plugin)
        return ready

    def plugin_of(self, spec: Spec) -> str:
        """Name of the plugin that contributed `spec`."""
        return self._owners[spec.kind, spec.name]

    def plugins(self) -> tuple[str, ...]:
        """Names of all loaded plugins, in the order of loading."""
        self._load()
        return tuple(name for name, _ in self._pluggy.list_name_plugin())

    def modules(self) -> tuple[Any, ...]:
        """The loaded plugins themselves, modules or objects, in the order of loading."""
        self._load()
        return tuple(plugin for _, plugin in self._pluggy.list_name_plugin())

    @property
    def problems(self) -> tuple[PluginProblem, ...]:
        """The plugins that were left out, with reasons."""
        self._load()
        return tuple(self._problems)

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        if self._core:
            from psdopt.plugins import core

            self.register(core, CORE)
        found = metadata.entry_points(group=GROUP) if self._pending is None else self._pending
        for entry in sorted(found, key=_order):
            try:
                with _named(f"plugin {entry.name!r}: cannot import {entry.value}"):
                    self.register(entry.load(), entry.name)
            except PluginError as error:
                self._report(entry.name, str(error), entry.value)

    def _report(self, plugin: str, message: str, module: str = "") -> None:
        problem = PluginProblem(plugin, message, module)
        self._problems.append(problem)
        logger.warning("%s", problem)

    def _collect(self, plugin: Any, name: str) -> tuple[Spec, ...]:
        self._check_hooks(plugin, name)
        others = [other for other in self._pluggy.get_plugins() if other is not plugin]
        call = self._pluggy.subset_hook_caller(HOOK, remove_plugins=others)
        with _named(f"plugin {name!r}: {HOOK} failed"):
            parts = call()
            specs = tuple(validate(spec, name) for part in parts for spec in part)
        if not parts:  # pluggy leaves out None
            raise PluginError(f"plugin {name!r}: {HOOK} returned None; let it yield specs, or return a list of them")
        seen: set[tuple[str, str]] = set()
        for spec in specs:
            key = spec.kind, spec.name
            owner = name if key in seen else self._owners.get(key)
            if owner is not None:
                raise PluginError(
                    f"plugin {name!r}, {spec.kind} {spec.name!r}: plugin {owner!r} has that name already; rename one"
                )
            seen.add(key)
        return specs

    def _check_hooks(self, plugin: Any, name: str) -> None:
        callers = self._pluggy.get_hookcallers(plugin) or []
        unknown = sorted(caller.name for caller in callers if not caller.has_spec())
        if unknown:
            raise PluginError(f"plugin {name!r} implements unknown hook {', '.join(unknown)}; psdopt has only {HOOK}")
        if not callers:
            raise PluginError(
                f"plugin {name!r} implements no hook; mark its function {HOOK} with psdopt.plugins.hookimpl"
            )


@cache
def plugin_manager() -> PluginManager:
    """The manager of the installed plugins, one per process."""
    return PluginManager()


def _order(entry: metadata.EntryPoint) -> tuple[bool, str]:
    distribution = entry.dist.name if entry.dist is not None else ""
    return distribution != CORE, entry.name


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Errors of a plugin's code become a PluginError that begins with `what`, in one line."""
    try:
        yield
    except (PluginError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit too: a plugin must not end the program that lists it
        text = " ".join([f"{type(error).__name__}:", *str(error).split()]).rstrip(":")
        raise PluginError(f"{what}: {text}") from error
