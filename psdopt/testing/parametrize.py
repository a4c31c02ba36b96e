"""The kit under pytest: one test per object and check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from psdopt.errors import MissingDependencyError
from psdopt.testing.record import CheckStatus
from psdopt.testing.registry import check_named
from psdopt.testing.runner import BoundCheck, yield_checks
from psdopt.testing.subjects import name_of_subject


def parametrize_with_checks(
    objects: Sequence[Any],
    *,
    expected_failures: Mapping[str, str] | Callable[[Any], Mapping[str, str]] | None = None,
    profile: str = "ci",
    **options: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a test that takes `check`; it is run once for every check of every object to which it applies.

        @parametrize_with_checks([MyProblem(...), MyGeometry(...)], expected_failures={"geometry.transport": "todo"})
        def test_conformance(check):
            check()

    expected_failures : {check name: reason}, or a function object -> such a mapping. Strict: a check that
    is expected to fail and passes is a failure. Calling `check` raises AssertionError with the record's text
    if it fails, and skips the test with the reason if every sample is trivial. Options as for :func:`yield_checks`.
    """
    pytest = _pytest()
    parameters = []
    for number, obj in enumerate(objects):
        expected = expected_failures(obj) if callable(expected_failures) else (expected_failures or {})
        for name in expected:
            check_named(name)
        for bound in yield_checks(obj, profile=profile, **options):
            if bound.inapplicable:
                continue
            marks = []
            if bound.name in expected:
                marks.append(pytest.mark.xfail(strict=True, reason=expected[bound.name], raises=AssertionError))
            label = f"{number}-{name_of_subject(obj)}-{bound.name}"
            parameters.append(pytest.param(AssertedCheck(bound), id=label, marks=marks))

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        decorated: Callable[..., Any] = pytest.mark.parametrize("check", parameters)(function)
        return decorated

    return decorate


class AssertedCheck:
    """A check that raises AssertionError when it fails; a trivial or waived one skips the test with its reason."""

    def __init__(self, bound: BoundCheck) -> None:
        self.bound = bound
        self.name = bound.name

    def __call__(self) -> None:
        record = self.bound()
        if record.verdict is CheckStatus.SKIPPED:
            _pytest().skip(record.diagnosis)
        if record.verdict is CheckStatus.WAIVED:
            _pytest().skip(f"waived in {'; '.join(record.waived)}")
        if record.verdict is CheckStatus.FAILED:
            raise AssertionError(str(record))

    def __repr__(self) -> str:
        return repr(self.bound)


def _pytest() -> Any:
    try:
        import pytest
    except ImportError as error:
        raise MissingDependencyError("parametrize_with_checks needs pytest: pip install 'psdopt[testing]'") from error
    return pytest
