"""Pauli strings: the kit, Kronecker products, entries, pickles and refusals."""

import pickle

import numpy as np
import pytest

from psdopt.constraints import explicit_forms
from psdopt.contracts.images import Images
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.terms import embedded
from psdopt.testing import parametrize_with_checks
from psdopt_plugins.hermitian import pauli as module
from psdopt_plugins.hermitian.pauli import PauliStrings
from tests.psdopt_plugins.hermitian.dense import all_strings, pauli, random_state

RNG = np.random.default_rng(0)
CASES = [all_strings(1), all_strings(2), all_strings(3)[5:40], ["XYZ", "XYZ", "YYY"], ["Z"], ["YI", "IY"]]


@parametrize_with_checks([PauliStrings(case) for case in CASES])
def test_conformance(check):
    check()


@pytest.mark.parametrize("strings", CASES)
def test_expectations_and_sums_are_those_of_kronecker_products(strings):
    measurement = PauliStrings(strings)
    Z = random_state(RNG, measurement.states, 3)
    expected = [np.trace(pauli(s) @ Z @ Z.conj().T).real for s in strings]
    assert np.allclose(measurement.of(Z), expected, rtol=1e-13, atol=1e-15)
    w = RNG.standard_normal(len(strings))
    real, imaginary = measurement.parts(w)
    assert np.allclose(real + 1j * imaginary, sum(a * pauli(s) for a, s in zip(w, strings, strict=True)), atol=1e-14)
    forms = explicit_forms(measurement)
    assert np.allclose(forms.matrix(w).toarray(), embedded(real + 1j * imaginary), atol=1e-14)


def test_many_strings_have_no_entries(monkeypatch):
    monkeypatch.setattr(module, "MOST_ENTRIES", 100)
    assert explicit_forms(PauliStrings(all_strings(3))) is None


def test_sums_of_other_weights_replace_those_kept():
    measurement = PauliStrings(all_strings(2))
    first = [each.copy() for each in measurement.parts(np.ones(16))]
    measurement.parts(np.arange(16.0))
    loaded = pickle.loads(pickle.dumps(measurement))
    assert loaded._last is None
    for each, again in zip(first, loaded.parts(np.ones(16)), strict=True):
        assert np.array_equal(each, again)


def test_ten_qubits_need_no_matrix_of_a_string():
    strings = ["".join(each) for each in RNG.choice(list("IXYZ"), (300, 10))]
    measurement = PauliStrings(strings)
    Z = random_state(RNG, 1024, 2)
    U = Images((), np.concatenate([Z.real, Z.imag]))
    found = measurement.pair(U, U)
    for k in (0, 17, 250):
        V = Z.reshape([2] * 10 + [2])
        for axis, letter in enumerate(strings[k]):
            V = np.moveaxis(np.tensordot(pauli(letter), V, axes=(1, axis)), 0, axis)
        assert np.isclose(found[k], np.vdot(Z, V.reshape(Z.shape)).real, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    ("strings", "kind", "text"),
    [
        ([], InvalidInputError, "strings must hold at least one string; found none"),
        ("XYZ", InvalidTypeError, "strings must be a sequence of strings; found 'XYZ'"),
        (["X", 1], InvalidTypeError, "strings must be strings of the letters IXYZ; found 1 at position 1"),
        (["XA"], InvalidInputError, "strings must be of the letters IXYZ; found 'XA' at position 0"),
        (["XX", "X"], InvalidInputError, "strings must have one length; found 2 letters at position 0 and 1 at 1"),
        ([""], InvalidInputError, "strings must be of the letters IXYZ; found '' at position 0"),
    ],
)
def test_bad_input(strings, kind, text):
    with pytest.raises(kind, match=text):
        PauliStrings(strings)


def test_a_factor_of_another_order_is_refused():
    with pytest.raises(InvalidInputError, match=r"factor must be \(2, r\); found shape \(3, 1\)"):
        PauliStrings(["X"]).of(np.ones((3, 1)))
