"""Specs name their kind, and there is one kind of spec for each kind of piece."""

import pytest

from psdopt.plugins import ApplicationSpec, DatasetSpec, GeometrySpec, MethodSpec, ProblemSpec
from psdopt.plugins.specs import DataNeeds, Parameter, Spec
from psdopt.plugins.validation import KINDS


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
