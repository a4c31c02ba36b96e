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
from tests.refusals import refused


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


def steps(*parameters: Any) -> MethodSpec:
    return method(parameters=parameters)


#: (spec, what is told of which field).
BAD = [
    (method(factory=3), "'factory': found 3; give a class or function that makes the piece"),
    (method(summary=""), "'summary': found ''; write one non-empty line that says what it is"),
    (method(summary="a\nb"), "'summary': found 'a\\nb'; write one non-empty line that says what it is"),
    (method(reference=None), "'reference': found None; give a string, '' if there is none"),
    (method(example=1), "'example': found 1; give a callable without arguments, or None"),
    (method(parameters=[]), "'parameters': found []; give a tuple of Parameter"),
    (steps("steps"), "'parameters[0]': found 'steps'; give a psdopt.plugins.Parameter"),
    (steps(Parameter("no name", int, 3, "help")),
     "'parameters[0].name': found 'no name'; use the keyword that the factory takes"),
    (steps(Parameter("steps", list, None, "help")),
     "'parameters[0].type': found <class 'list'>; use int, float, str or bool"),
    (steps(Parameter("steps", int, 0.5, "help")),
     "'parameters[0].default': found 0.5; give a int, or None for the factory's own choice"),
    (steps(Parameter("steps", int, True, "help")),
     "'parameters[0].default': found True; give a int, or None for the factory's own choice"),
    (steps(Parameter("steps", int, 4, "help")),
     "'parameters[0].default': found 4; the factory's default for 'steps' is 3: give the same, or None"),
    (steps(Parameter("steps", int, 3, " ")), "'parameters[0].help': found ' '; write one line that says what it does"),
    (steps(Parameter("stepps", int, 3, "help")),
     "'parameters[0].name': found 'stepps'; the factory takes no keyword 'stepps': "
     "rename the parameter or the keyword"),
    (steps(Parameter("steps", int, 3, "help"), Parameter("steps", int, 3, "help")),
     "'parameters': found ['steps', 'steps']; name each parameter once; more than once: steps"),
    (application(report="text"), "'report': found 'text'; give a callable (estimator, dataset, options), or None"),
    (application(problem=0), "'problem': found 0; give the problem builder, or None"),
    (application(default_data=""), "'default_data': found ''; name a data set, such as 'digits'"),
    (application(picture="text"), "'picture': found 'text'; give a callable (estimator, dataset, **run), or None"),
    (GeometrySpec("fake-geometry", blocks, "a geometry for tests", "", (Parameter("r", int, 2, "rank"),)),
     f"'factory': found {blocks!r}; give a callable (n, **parameters), n the order of M, with no other need"),
    *(
        (method(name=name), f"'name': found {name!r}; use lower-case words joined by hyphens, such as 'metric-kta'")
        for name in ("Fake", "two words", "under_score", "-x", "x-", "", 3, "x\n")
    ),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "text"), BAD)
def test_a_bad_field_is_refused_with_plugin_spec_field_and_remedy(spec: Any, text: str) -> None:
    refused(f"plugin 'mine', {spec.kind} {spec.name!r}, field {text}", PluginError, validate, spec, "mine")


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

    told = (
        "plugin 'mine' yields 'metric-kta', which is no spec; let psdopt_components yield instances of "
        "ApplicationSpec, ProblemSpec, GeometrySpec, MethodSpec, DatasetSpec"
    )
    refused(told, PluginError, validate, "metric-kta", "mine")
    for spec in (OvenSpec("oven", Piece, "bakes"), Spec("plain", Piece, "of no kind")):
        with pytest.raises(PluginError, match="which is no spec"):
            validate(spec, "mine")


@pytest.mark.parametrize("kind", [ApplicationSpec, DatasetSpec, GeometrySpec, MethodSpec, ProblemSpec])
def test_the_kind_of_a_spec_is_in_its_name(kind):
    spec = kind(name="a-name", factory=dict, summary="for tests")
    assert isinstance(spec, Spec)
    assert f"{spec.kind.capitalize()}Spec" == kind.__name__
    assert KINDS[spec.kind] is kind


def test_there_are_no_other_kinds_and_needs_are_the_least_unless_stated():
    assert sorted(KINDS) == ["application", "dataset", "geometry", "method", "problem"]
    needs = DataNeeds()
    assert (needs.samples, needs.labels) == (1, "none")
    assert not needs.symmetric
    assert Parameter("r", int, None, "rank").grid == ()


def test_the_problem_of_an_application_has_its_name_and_reference_unless_others_are_given():
    given = application(problem=list)
    own, problem = given.with_problem(summary="F", example=list)
    assert own is given
    assert isinstance(problem, ProblemSpec)
    assert (problem.name, problem.factory, problem.reference) == (given.name, list, given.reference)
    assert given.with_problem(name="other", summary="F", reference="book", example=list)[1].name == "other"
