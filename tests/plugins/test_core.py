"""The core registers its own pieces: every shipped method and geometry, with true defaults and examples."""

import inspect

import pytest

import psdopt
from psdopt.errors import UnknownNameError
from psdopt.plugins import PluginManager


def test_the_core_registers_its_own_pieces_and_every_example_is_one() -> None:
    from psdopt.data.datasets import Dataset
    from psdopt.methods import shipped_methods

    manager = PluginManager([])
    kinds = {
        "geometry": psdopt.Geometry, "method": psdopt.Method, "problem": psdopt.Problem, "dataset": Dataset,
    }  # fmt: skip
    for kind, expected in kinds.items():
        for found in manager.specs(kind):
            assert isinstance((found.example or found.factory)(), expected), found.name
    registered = {found.factory for found in manager.specs("method")}
    missing = {type(method).__name__ for method in shipped_methods() if type(method) not in registered}
    assert not missing, f"add a MethodSpec to psdopt/plugins/core.py for: {missing}"


def test_parameters_of_the_core_have_the_defaults_of_their_factories() -> None:
    for kind in ("method", "geometry"):
        for found in PluginManager([]).specs(kind):
            signature = inspect.signature(found.factory)
            for parameter in found.parameters:
                default = signature.parameters[parameter.name].default
                given = None if default is inspect.Parameter.empty else default
                assert parameter.default == given, (found.name, parameter.name)


def test_help_names_every_value_that_a_parameter_takes() -> None:
    checked = set()
    for kind in ("method", "geometry"):
        for found in PluginManager([]).specs(kind):
            for parameter in found.parameters:
                if parameter.type is str:
                    sizes = {"n": 6, "r": 2} if kind == "geometry" else {}
                    known = inspect.signature(found.factory).parameters
                    accepted = {name: size for name, size in sizes.items() if name in known}
                    with pytest.raises(UnknownNameError) as error:
                        found.factory(**accepted, **{parameter.name: "?"})
                    allowed = str(error.value).partition(": ")[2].split(", ")
                    assert len(allowed) > 1
                    assert [name for name in allowed if name not in parameter.help] == [], (found.name, parameter)
                    checked.add(parameter.name)
    assert {"metric", "update", "variant"} <= checked
