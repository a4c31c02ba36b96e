"""Random command lines on random files: exit code 0, 1 or 2, one line on standard error, never a traceback.

PSDOPT_FUZZ=long runs many thousands.
"""

import io
import tempfile
import warnings
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from psdopt.cli.main import main
from psdopt.plugins import Parameter, plugin_manager
from tests.fuzz import examples, mutants

#: Applications with the parameters that make runs short.
NUMBERS = (
    "0", "1", "-1", "2", "1e-3", "0.5", "1e300", "-1e-320", "nan", "inf", "x", "", "99999999999999999999", "é", "1,5",
)  # fmt: skip
WORDS = ("true", "no", "auto", "flat", "polar", "none", "identity", "frobenius", "∇", "\udcff", "--", "=")


@cache
def names(kind: str) -> tuple[str, ...]:
    return plugin_manager().names(kind)


def setting(role: str, parameters: tuple[Parameter, ...]) -> st.SearchStrategy[list[str]]:
    known = [parameter.name for parameter in parameters] or ["x"]
    prefix = f"{role}." if role else ""
    return st.builds(
        lambda name, value: ["--set", f"{prefix}{name}={value}"],
        st.sampled_from([*known, *known, "no_such"]), st.sampled_from([*NUMBERS, *WORDS]),
    )  # fmt: skip


@st.composite
def run_arguments(draw: st.DrawFn, folder: Path) -> list[str]:
    application = draw(st.sampled_from([*names("application"), "metric-ktaa"]))
    argv = ["run", application, "--data", draw(data_files(folder)), "--quiet", "--max-iterations", "4"]
    spec = plugin_manager().get("application", application) if application in names("application") else None
    if draw(st.integers(0, 2)) == 0 and spec is not None:
        argv += draw(setting("", spec.parameters))
    for kind in ("method", "geometry"):
        if draw(st.integers(0, 4)) == 0:
            name = draw(st.sampled_from(names(kind)))
            argv += [f"--{kind}", name]
            if draw(st.integers(0, 3)) == 0:
                argv += draw(setting(kind, plugin_manager().get(kind, name).parameters))
    for option in ("--rank", "--tol", "--seed", "--max-time"):
        if draw(st.integers(0, 4)) == 0:
            argv += [option, draw(st.sampled_from((*("1", "2", "0.1") * 5, *NUMBERS)))]
    for option, suffixes in (("--output", (".npz", ".json", ".txt", "")), ("--plot", (".png", ".jpg"))):
        if draw(st.integers(0, 9)) == 0:
            place = draw(st.sampled_from((folder, folder / "absent", Path("/dev/null"))))
            argv += [option, str(place / f"o{draw(st.sampled_from(suffixes))}")]
    return argv


@st.composite
def data_files(draw: st.DrawFn, folder: Path) -> str:
    """A file of samples of any size, scale and kind, sound or damaged; rarely a name."""
    kind = draw(
        st.sampled_from(("npz",) * 8 + ("csv", "csv", "sparse", "sparse", "sparse", "K", "npy", "damaged", "name"))
    )
    if kind == "name":
        return draw(st.sampled_from(("iris", "no_such", "", ".", "a\0b.csv", "\udcff.csv", str(folder))))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    m, d = draw(st.sampled_from((1, 2, 3, 4, 5, 6, 8, 12, 12, 20, 20))), draw(st.integers(1, 5))
    scale = draw(st.sampled_from((1.0, 1.0, 1.0, 0.0, 1e-200, 1e8, 1e150, 1e300)))
    X = scale * rng.standard_normal((m, d))
    if draw(st.integers(0, 3)) == 0:
        X[:, draw(st.integers(0, d - 1))] = draw(st.sampled_from((0.0, 1.0, -1e200, 5e-324)))
    if draw(st.integers(0, 4)) == 0:
        X = np.repeat(X[:1], m, axis=0)
    labels = draw(st.sampled_from(("classes", "classes", "one", "each", "numbers", "text", "text", "huge", "bool")))
    y = {
        "classes": np.arange(m) % 2, "one": np.zeros(m), "each": np.arange(m), "numbers": rng.standard_normal(m),
        "text": np.array([f"k{i % 2}" for i in range(m)]), "huge": np.full(m, 1e300), "bool": np.arange(m) % 2 == 0,
    }[labels]  # fmt: skip
    if kind == "csv":
        path = folder / "d.csv"
        rows = [",".join([*map(repr, map(float, row)), str(label)]) for row, label in zip(X, y, strict=True)]
        path.write_text("\n".join(rows))
        return str(path)
    if kind == "npy":
        np.save(folder / "d.npy", X)
        return str(folder / "d.npy")
    path = folder / "d.npz"
    if kind == "sparse":
        S = scipy.sparse.csr_array(np.where(rng.random(X.shape) < 0.5, X, 0.0))
        np.savez(path, data=S.data, indices=S.indices, indptr=S.indptr, shape=S.shape, y=y)
    elif kind == "K":
        G = X @ X.T if scale < 1e100 else X[:, :1] * 0.0 @ X[:, :1].T
        np.savez(path, K=G)
    elif draw(st.integers(0, 5)) == 0:
        np.savez(path, X=X)
    else:
        np.savez_compressed(path, X=X, y=y)
    if kind == "damaged":
        path.write_bytes(draw(mutants(path.read_bytes())))
    return str(path)


@st.composite
def any_arguments(draw: st.DrawFn, folder: Path) -> list[str]:
    """Commands with wrong, missing and surplus arguments."""
    words = st.sampled_from(
        ("run", "list", "env", "bench", "check", "--help", "--version", "--quiet", "--rank", "--set", "metric-kta",
         "lam=1", "methods", "iris", "--data", "--", "-h", "", "⪰", "\udcff", "no-such", "--seed", "-1", "--debu",
         str(folder))
    )  # fmt: skip
    argv = draw(st.lists(words, max_size=6))
    heavy = {"check", "bench"} & set(argv) or "run" in argv
    return [word for word in argv if word not in ("check", "bench")] + ["--max-iterations", "x"] if heavy else argv


def outcome(argv: list[str]) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = main(argv)
    return code, err.getvalue()


def foreseen(argv: list[str]) -> None:
    code, err = outcome(argv)
    assert code in (0, 1, 2), (argv, err)
    assert "Traceback" not in err
    if code == 2 and argv:
        assert sum(line.startswith("psdopt: error: ") for line in err.splitlines()) <= 1


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("application", "method", "geometry"):
        plugin_manager().get(kind, names(kind)[0])  # imports that draw random numbers are over before a strategy draws
    monkeypatch.setattr("psdopt.running.plotting.style.RESOLUTION_DPI", 30)


@settings(max_examples=examples(40, 5_000), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_runs_on_any_data_end_in_a_code_that_is_foreseen(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        foreseen(data.draw(run_arguments(Path(folder))))


@settings(max_examples=examples(40, 5_000), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_arguments_end_in_a_code_that_is_foreseen(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        foreseen(data.draw(any_arguments(Path(folder))))
