"""A zoo of broken objects, one sin each: every check must reject at least one of them.

`ZOO` lists the classes. Each is made without arguments, says its sin in its docstring, and names in
`rejected_by` exactly the checks that fail on it; a test holds the kit to that.
"""

from __future__ import annotations

from typing import Any

from tests.testing.zoo import (
    abilities,
    applications,
    builders,
    constrained,
    constructors,
    duality,
    geometries,
    measured,
    members,
    methods,
    oracles,
    problems,
    searches,
    splits,
    states,
    terms,
    words,
)

#: Every broken class, by kind.
ZOO: dict[str, tuple[type[Any], ...]] = {
    "problem": (
        *(problems.ALL + searches.ALL + abilities.ALL + duality.ALL),
        *(members.PROBLEMS + constrained.PROBLEMS + constructors.PROBLEMS),
    ),
    "geometry": geometries.ALL + words.ALL + oracles.ALL + members.GEOMETRIES,
    "method": methods.ALL + states.ALL + constrained.METHODS,
    "application": applications.ALL,
    "term": terms.ALL,
    "measurement": measured.MEASUREMENTS + constructors.MEASUREMENTS,
    "loss": measured.LOSSES + constructors.LOSSES,
    "builder": builders.ALL,
    "split": splits.ALL,
}

__all__ = [
    "ZOO",
    "abilities",
    "applications",
    "builders",
    "constrained",
    "constructors",
    "duality",
    "geometries",
    "measured",
    "members",
    "methods",
    "oracles",
    "problems",
    "searches",
    "splits",
    "states",
    "terms",
    "words",
]
