"""Certificates as JSON text and arrays, for saved results: every field of the certificate's own class."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from psdopt.certificates.certificate import Certificate, ConstraintRecord
from psdopt.devices import on_host
from psdopt.errors import DataFileError
from psdopt.linalg.arrays import Array

#: Version of the form that :func:`stored` writes; files of versions before 2 have :func:`from_numbers` instead.
CERTIFICATE_FORMAT = 2
#: Member with the JSON text, and the prefix of members that are arrays.
TEXT, PREFIX = "certificate", "certificate_"
#: Names of the fields about linear constraints, stored beside the other fields as in :meth:`Certificate.as_dict`.
RECORD = frozenset(field.name for field in fields(ConstraintRecord))
#: Array fields that old files of constrained problems store as lists.
LISTS = ("multipliers", "infeasibility_proof", "ray")
#: The class of certificates of constrained problems in files of development versions.
FORMER = "ConstrainedCertificate"


def stored(certificate: Certificate) -> dict[str, Any]:
    """The members of an archive that hold `certificate`: its class, its numbers as JSON, and its arrays."""
    numbers: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    known = certificate.constraints
    members = {field.name: getattr(certificate, field.name) for field in fields(certificate)}
    members |= {} if known is None else {name: getattr(known, name) for name in RECORD}
    for name in ("constraints", "_slack", "_found"):
        members.pop(name)
    for name, each in members.items():
        value = on_host(each)
        if isinstance(value, np.ndarray):
            arrays[PREFIX + name] = value
        else:
            numbers[name] = value
    text = json.dumps({"format": CERTIFICATE_FORMAT, "class": type(certificate).__name__, "numbers": numbers})
    return {TEXT: np.array(text), **arrays}


def restored(arrays: Mapping[str, Array]) -> Certificate:
    """The certificate that :func:`stored` put into `arrays`; nothing outside psdopt is imported."""
    plain = json.loads(str(arrays[TEXT]))
    if plain["format"] != CERTIFICATE_FORMAT:
        raise DataFileError(
            f"its certificate has format {plain['format']}; this version of psdopt reads {CERTIFICATE_FORMAT}"
        )
    known, name = _kinds(), "Certificate" if plain["class"] == FORMER else plain["class"]
    if name not in known:
        raise DataFileError(
            f"its certificate is a {name}, found are {', '.join(known)}; import the package that defines it"
        )
    own: dict[str, Any] = {
        name.removeprefix(PREFIX): array for name, array in arrays.items() if name.startswith(PREFIX)
    }
    numbers = {name: _in_tuples(value) for name, value in plain["numbers"].items()}
    return _made(known[name], {**numbers, **own})


def _made(kind: type[Certificate], members: Mapping[str, Any]) -> Certificate:
    """The certificate with these members; those about constraints go into its record."""
    record = {name: members[name] for name in RECORD if "primal_infeasibility" in members}
    others = {name: each for name, each in members.items() if name not in RECORD}
    return kind(**others, constraints=ConstraintRecord(**record) if record else None)


def from_numbers(numbers: Mapping[str, Any], eigenvector: Array) -> Certificate:
    """The certificate of a file of psdopt 0.1 or of a development version, from the numbers of its summary."""
    names = {*(field.name for field in fields(Certificate)), *RECORD} - {"eigenvector", "descent", "constraints"}
    found = {name: value for name, value in numbers.items() if name in names}
    for name in LISTS:
        if found.get(name) is not None:
            found[name] = np.asarray(found[name], dtype=np.float64)
    gap, relative = found["gap"], found["gap_relative"]
    if "unit" not in found and gap and relative:
        found["unit"] = gap / relative
    numbers = {name: _in_tuples(value) for name, value in found.items()}
    return _made(Certificate, {**numbers, "eigenvector": eigenvector})


def _in_tuples(value: Any) -> Any:
    """Lists as tuples: JSON has no tuples, but the fields of a frozen class are tuples."""
    return tuple(_in_tuples(each) for each in value) if isinstance(value, list) else value


def _kinds() -> dict[str, type[Certificate]]:
    """Certificate and all classes derived from it by name, those of psdopt and of packages imported by the caller."""
    found: dict[str, type[Certificate]] = {}
    waiting: list[type[Certificate]] = [Certificate]
    while waiting:
        kind = waiting.pop(0)
        found.setdefault(kind.__name__, kind)
        waiting += kind.__subclasses__()
    return found
