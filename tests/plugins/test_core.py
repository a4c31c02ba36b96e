"""The hook, the core's own pieces with true defaults and examples, installed pieces, data sets by name."""

import inspect
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import psdopt
from psdopt import ConjugateGradient, Geometry, Method
from psdopt.data.datasets import Dataset
from psdopt.errors import UnknownNameError
from psdopt.methods import shipped_methods
from psdopt.plugins import MethodSpec, Parameter, PluginManager, hookimpl
from psdopt.plugins.datasets import load_dataset
from psdopt.plugins.hookspec import GROUP
from psdopt.plugins.installed import examples
from psdopt.running import compatibility
from tests.data.test_data_files import csv_file
from tests.refusals import refused


def test_the_core_registers_its_own_pieces_and_every_example_is_one() -> None:
    manager = PluginManager([])
    kinds = {"geometry": psdopt.Geometry, "method": psdopt.Method, "problem": psdopt.Problem, "dataset": Dataset}
    for kind, expected in kinds.items():
        for found in manager.specs(kind):
            assert isinstance((found.example or found.factory)(), expected), found.name
    registered = {found.factory for found in manager.specs("method")}
    missing = {type(method).__name__ for method in shipped_methods() if type(method) not in registered}
    assert not missing, f"add a MethodSpec to psdopt/plugins/core.py for: {missing}"


def core_parameters() -> Iterator[tuple[Any, Any, Parameter]]:
    """(spec, parameters of its factory, one of the spec's) for every method and geometry of the core."""
    for kind in ("method", "geometry"):
        for found in PluginManager([]).specs(kind):
            for parameter in found.parameters:
                yield found, inspect.signature(found.factory).parameters, parameter


def test_parameters_of_the_core_have_the_defaults_of_their_factories() -> None:
    for found, known, parameter in core_parameters():
        default = known[parameter.name].default
        expected = None if default is inspect.Parameter.empty else default
        assert parameter.default == expected, (found.name, parameter.name)


def test_help_names_every_value_that_a_parameter_takes() -> None:
    checked = set()
    for found, known, parameter in core_parameters():
        if parameter.type is str:
            sizes = {name: size for name, size in {"n": 6, "r": 2}.items() if name in known}
            with pytest.raises(UnknownNameError) as error:
                found.factory(**sizes, **{parameter.name: "?"})
            allowed = str(error.value).partition(": ")[2].split(", ")
            assert len(allowed) > 1
            assert [name for name in allowed if name not in parameter.help] == [], (found.name, parameter)
            checked.add(parameter.name)
    assert {"metric", "update", "variant"} <= checked


class Broken:
    """A plugin of two methods, one of which cannot be made."""

    @hookimpl
    def psdopt_components(self):
        yield MethodSpec("fails", dict, "no example", example=lambda: 1 // 0)
        yield MethodSpec("works", ConjugateGradient, "an example")


def test_every_installed_method_and_geometry_is_among_them() -> None:
    assert compatibility.known is examples
    assert {type(method).__name__ for method in examples("method")} >= {"ConjugateGradient", "MatrixGeneration"}
    assert all(isinstance(method, Method) for method in examples("method"))
    assert all(isinstance(geometry, Geometry) for geometry in examples("geometry"))


def test_a_broken_example_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = PluginManager([], core=False)
    manager.register(Broken(), "broken")
    monkeypatch.setattr("psdopt.plugins.installed.plugin_manager", lambda: manager)
    assert [type(method).__name__ for method in examples("method")] == ["ConjugateGradient"]


def test_names_come_before_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = PluginManager([])
    assert load_dataset("iris", manager).name == "iris"
    csv_file(tmp_path, "1,2,a\n3,4,b\n")
    assert load_dataset(str(tmp_path / "d.csv"), manager).X.shape == (2, 2)
    monkeypatch.chdir(tmp_path)
    assert load_dataset("d.csv", manager).X.shape == (2, 2)
    hint = "a file must end in .npz, .npy, .csv, .tsv, .parquet, .zarr, .h5"
    told = f"unknown data set 'wines'; did you mean 'wine'?; {hint}"
    refused(told, UnknownNameError, load_dataset, "wines", manager)


def test_the_plugins_of_the_package_are_entry_points_of_the_group():
    names = {entry.name for entry in metadata.entry_points(group=GROUP)}
    assert {"metric_learning", "kernel_learning", "regression", "spectral", "covariance"} <= names
