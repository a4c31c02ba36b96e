"""Former names, each with a DeprecationWarning that gives the new one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)
#: Former module -> where its names are now: module -> names, "old=new" where the name is another.
FORMER_MODULES: dict[str, dict[str, str]] = {
    "psdopt.methods.closed_form": {"psdopt.methods.splitting": "ClosedForm=EigenSplitting"},
    "psdopt.methods.riemannian_gradient": {"psdopt.methods.conjugate_gradient": "RiemannianGradient=ConjugateGradient"},
    "psdopt.oracles": {"psdopt.linalg": "BACKENDS least_eigenpairs"},
    "psdopt.plotting": {
        "psdopt.plugins": "BLUE COLOURS GREY MARKERS draw_certificate draw_gap new_figure plot_convergence plot_run",
        "psdopt_plugins.pictures": "plot_embedding plot_metric plot_prediction",
    },
}
#: Former name of a component, as (kind, name) -> its name now.
FORMER_COMPONENTS = {
    ("method", "closed-form"): "eigen-splitting",
    ("method", "constrained-gradient"): "dual-newton",
    ("method", "riemannian-gradient"): "conjugate-gradient",
}
#: Parameters of components without effect now, as (kind, name) -> their names.
FORMER_PARAMETERS = {
    ("method", "conjugate-gradient"): ("search", "sufficient", "first", "change_tol"),
    ("method", "lbfgs"): ("search",),
    ("method", "frank-wolfe"): ("rule", "step"),
}
#: Former name of a method -> "module:name" now.
FORMER_METHODS = {
    "ClosedForm": "psdopt.methods:EigenSplitting",
    "ConstrainedGradient": "psdopt.methods:DualNewton",
    "RiemannianGradient": "psdopt.methods:ConjugateGradient",
}


def former_component(kind: str, name: str) -> str:
    """The name now of the component called `name`, with a warning if that is a former one."""
    new = FORMER_COMPONENTS.get((kind, str(name)), name)
    if new != name:
        warnings.warn(f"the {kind} {name!r} is now {new!r}", DeprecationWarning, stacklevel=3)
    return new


def former_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of `module` for its former `names`, name -> "module:new name"."""

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        where, _, new = names[name].partition(":")
        warnings.warn(f"{module}.{name} is now {where}.{new}", DeprecationWarning, stacklevel=2)
        return getattr(import_module(where), new)

    return find


def former_argument(old: str, new: str | None, hint: str) -> Callable[[Class], Class]:
    """A class decorator: the constructor still takes `old` and passes it as `new`; ignored if `new` is None.

    Several names in `old` are separated by blanks.
    """

    def decorate(cls: Class) -> Class:
        initialise: Callable[..., None] = cls.__dict__["__init__"]

        @wraps(initialise)
        def __init__(self: Any, *args: Any, **named: Any) -> None:
            for name in set(old.split()) & named.keys():
                warnings.warn(f"{cls.__name__}({name}=...) is deprecated: {hint}", DeprecationWarning, stacklevel=2)
                value = named.pop(name)
                named |= {} if new is None else {new: value}
            initialise(self, *args, **named)

        type.__setattr__(cls, "__init__", __init__)
        return cls

    return decorate


class FormerModules(MetaPathFinder, Loader):
    """Finds the modules that have moved; using one of their names warns and gives its new place."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in FORMER_MODULES else None

    def exec_module(self, module: ModuleType) -> None:
        places = FORMER_MODULES[module.__name__].items()
        pairs = [(where, pair.split("=")) for where, found in places for pair in found.split()]
        names = {pair[0]: f"{where}:{pair[-1]}" for where, pair in pairs}
        vars(module).update(__doc__="Moved.", __all__=sorted(names), __getattr__=former_names(module.__name__, names))
