"""Each field of a spec is checked at registration; each error names plugin, spec, field and remedy."""

from dataclasses import dataclass
from typing import Any

import pytest

from psdopt.errors import PluginError
from psdopt.plugins import (
    ApplicationSpec,
    DatasetSpec,
    GeometrySpec,
    MethodSpec,
    Parameter,
    ProblemSpec,
    Spec,
    validate,
)
from psdopt.plugins.specs import DataNeeds
from psdopt.plugins.validation import KINDS


class Piece:
    def __init__(self, steps: int = 3) -> None:
        self.steps = steps


def blocks(k: int, d: int, r: int) -> Piece:
    """A geometry that is not made from the order of M."""
    return Piece(k * d * r)


def method(**changes: Any) -> MethodSpec:
    fields = {"name": "fake-method", "factory": Piece, "summary": "a method for tests", **changes}
    return MethodSpec(**fields)


def application(**changes: Any) -> ApplicationSpec:
    fields = {"name": "fake-app", "factory": Piece, "summary": "an application for tests", **changes}
    return ApplicationSpec(**fields)


HEAD = "plugin 'mine', method 'fake-method', field "
BAD = [
    (method(factory=3), HEAD + "'factory': found 3; give a class or function that makes the piece"),
    (method(summary=""), HEAD + "'summary': found ''; write one non-empty line that says what it is"),
    (method(summary="a\nb"), HEAD + "'summary': found 'a\\nb'; write one non-empty line that says what it is"),
    (method(reference=None), HEAD + "'reference': found None; give a string, '' if there is none"),
    (method(example=1), HEAD + "'example': found 1; give a callable without arguments, or None"),
    (method(parameters=[]), HEAD + "'parameters': found []; give a tuple of Parameter"),
    (method(parameters=("steps",)), HEAD + "'parameters[0]': found 'steps'; give a psdopt.plugins.Parameter"),
    (
        method(parameters=(Parameter("no name", int, 3, "help"),)),
        HEAD + "'parameters[0].name': found 'no name'; use the keyword that the factory takes",
    ),
    (
        method(parameters=(Parameter("steps", list, None, "help"),)),
        HEAD + "'parameters[0].type': found <class 'list'>; use int, float, str or bool",
    ),
    (
        method(parameters=(Parameter("steps", int, 0.5, "help"),)),
        HEAD + "'parameters[0].default': found 0.5; give a int, or None for the factory's own choice",
    ),
    (
        method(parameters=(Parameter("steps", int, True, "help"),)),
        HEAD + "'parameters[0].default': found True; give a int, or None for the factory's own choice",
    ),
    (
        method(parameters=(Parameter("steps", int, 4, "help"),)),
        HEAD + "'parameters[0].default': found 4; the factory's default for 'steps' is 3: give the same, or None",
    ),
    (
        method(parameters=(Parameter("steps", int, 3, " "),)),
        HEAD + "'parameters[0].help': found ' '; write one line that says what it does",
    ),
    (
        method(parameters=(Parameter("stepps", int, 3, "help"),)),
        HEAD + "'parameters[0].name': found 'stepps'; the factory takes no keyword 'stepps': "
        "rename the parameter or the keyword",
    ),
    (
        method(parameters=(Parameter("steps", int, 3, "help"), Parameter("steps", int, 3, "help"))),
        HEAD + "'parameters': found ['steps', 'steps']; name each parameter once; more than once: steps",
    ),
    (
        application(report="text"),
        "plugin 'mine', application 'fake-app', field 'report': found 'text'; "
        "give a callable (estimator, dataset, options), or None",
    ),
    (
        application(problem=0),
        "plugin 'mine', application 'fake-app', field 'problem': found 0; give the problem builder, or None",
    ),
    (
        application(default_data=""),
        "plugin 'mine', application 'fake-app', field 'default_data': found ''; name a data set, such as 'digits'",
    ),
    (
        application(picture="text"),
        "plugin 'mine', application 'fake-app', field 'picture': found 'text'; "
        "give a callable (estimator, dataset, **run), or None",
    ),
    (
        GeometrySpec("fake-geometry", blocks, "a geometry for tests", "", (Parameter("r", int, 2, "rank"),)),
        f"plugin 'mine', geometry 'fake-geometry', field 'factory': found {blocks!r}; "
        "give a callable (n, **parameters), n the order of M, with no other need",
    ),
    (
        "metric-kta",
        "plugin 'mine' yields 'metric-kta', which is no spec; let psdopt_components yield instances of "
        "ApplicationSpec, ProblemSpec, GeometrySpec, MethodSpec, DatasetSpec",
    ),
]


@pytest.mark.parametrize(("spec", "text"), BAD)
def test_a_bad_field_is_refused_with_plugin_spec_field_and_remedy(spec: Any, text: str) -> None:
    with pytest.raises(PluginError) as caught:
        validate(spec, "mine")
    assert str(caught.value) == text


@pytest.mark.parametrize("name", ["Fake", "two words", "under_score", "-x", "x-", "", 3, "x\n"])
def test_names_are_lower_case_words_joined_by_hyphens(name: Any) -> None:
    with pytest.raises(PluginError) as caught:
        validate(method(name=name), "mine")
    assert str(caught.value) == (
        f"plugin 'mine', method {name!r}, field 'name': found {name!r}; "
        "use lower-case words joined by hyphens, such as 'metric-kta'"
    )


def test_good_specs_pass_unchanged() -> None:
    for spec in (
        method(),
        method(parameters=(Parameter("steps", int, None, "help"),)),
        method(factory=lambda **rest: Piece(), parameters=(Parameter("anything", float, 1, "help"),)),
        application(report=print, problem=Piece),
        DatasetSpec("breast_cancer", dict, "data sets keep their source's name"),
    ):
        assert validate(spec, "mine") is spec


def test_a_spec_of_no_known_kind_is_refused() -> None:
    @dataclass(frozen=True)
    class OvenSpec(Spec):
        pass

    with pytest.raises(PluginError, match="which is no spec"):
        validate(OvenSpec("oven", Piece, "bakes"), "mine")
    with pytest.raises(PluginError, match="which is no spec"):
        validate(Spec("plain", Piece, "of no kind"), "mine")


@pytest.mark.parametrize("kind", [ApplicationSpec, DatasetSpec, GeometrySpec, MethodSpec, ProblemSpec])
def test_the_kind_of_a_spec_is_in_its_name(kind):
    spec = kind(name="a-name", factory=dict, summary="for tests")
    assert isinstance(spec, Spec)
    assert f"{spec.kind.capitalize()}Spec" == kind.__name__
    assert KINDS[spec.kind] is kind


def test_there_are_no_other_kinds():
    assert sorted(KINDS) == ["application", "dataset", "geometry", "method", "problem"]


def test_needs_are_the_least_unless_stated():
    needs = DataNeeds()
    assert (needs.samples, needs.labels) == (1, "none")
    assert not needs.symmetric
    assert Parameter("r", int, None, "rank").grid == ()
