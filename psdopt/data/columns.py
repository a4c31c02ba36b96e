"""Which column of a table is the label, which are features, and which are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psdopt.errors import InvalidInputError, unknown_name

#: Headers that mark the column of labels, in upper or lower case, in order of precedence.
LABEL_NAMES = ("label", "target", "y")
#: Headers of a first column of row names, as pandas and R write them for an index.
INDEX_NAMES = ("", "unnamed: 0")


@dataclass(frozen=True)
class Choice:
    """What the user says of the columns of a table, by name, or by number from 1 where the table has no header.

    label : the column of labels; None: the one called label, target or y, else the last one that is not dropped.
    drop : columns that are neither label nor feature. An empty choice is false.
    """

    label: str | None = None
    drop: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.label is not None or bool(self.drop)


#: No choice: the label is found by its name or place.
FOUND = Choice()


@dataclass(frozen=True)
class Columns:
    """The columns of a table by position: the `label`, the `features`, names of rows (`index`), and those `dropped`.

    names : as given, or None for a table without a header. chosen : for messages, how the label was found.
    """

    names: Sequence[str] | None
    label: int
    chosen: str
    features: Sequence[int]
    index: Sequence[int]
    dropped: Sequence[int]

    def name(self, k: int) -> str:
        """Column k, for a message."""
        return f"column {k + 1}" if self.names is None else f"column {self.names[k]!r}"

    def notes(self) -> tuple[str, ...]:
        """One line each on the label and on what was left out."""
        unnamed = "the first column, which has no name"
        index = (unnamed if self.names and self.names[k].lower() in INDEX_NAMES else self.name(k) for k in self.index)
        return (
            f"label: {self.name(self.label)}{self.chosen}",
            *(f"left out: {column}, as names of rows" for column in index),
            *(f"left out: {self.name(k)}, as asked" for k in self.dropped),
        )

    def hint(self) -> str:
        """What to do if a column that was taken as a feature is none."""
        taken = f"{self.name(self.label)}{self.chosen}{',' * bool(self.chosen)} was taken as the label"
        return f"{taken[0].upper()}{taken[1:]}; --label NAME names another, --drop NAME leaves a column out"


def columns_of(where: str, names: Sequence[str] | None, width: int, choice: Choice, index: Sequence[int]) -> Columns:
    """The columns of a table of `width` columns, which `choice` and their `names` tell apart.

    where : begins the messages. index : positions of columns that may hold names of rows.

    Raises UnknownNameError for a name in `choice` that no column has, InvalidInputError where a label or a feature is
    lacking.
    """
    known = [str(k + 1) for k in range(width)] if names is None else list(names)
    drop = [part for name in choice.drop for part in ([name] if name in known else name.split(","))]
    asked = [("--drop", name) for name in drop] + ([] if choice.label is None else [("--label", choice.label)])
    for option, name in asked:
        if name not in known:
            raise unknown_name(f"{option} column", name, known)
    if choice.label in drop:
        raise InvalidInputError(f"--label and --drop both name {choice.label!r}")
    dropped = [k for k, name in enumerate(known) if name in drop]
    kept = [k for k in range(width) if k not in dropped]
    lower = [] if names is None else [known[k].lower() for k in kept]
    label, chosen = next((kept[lower.index(name)] for name in LABEL_NAMES if name in lower), None), ""
    if choice.label is not None:
        label = known.index(choice.label)
    elif label is None and kept:
        label, chosen = kept[-1], ", the last one"
    index = [k for k in index if k in kept and k != label]
    features = [k for k in kept if k != label and k not in index]
    if label is None or not features:
        lost = "".join([", one of them an index"] * bool(index) + [f", {len(dropped)} of them dropped"] * bool(dropped))
        raise InvalidInputError(
            f"{where}: expected features and a label; found {width} column{'s' * (width > 1)}{lost}"
        )
    return Columns(names, label, chosen, features, index, dropped)
