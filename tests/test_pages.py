"""Every example in the pages runs and prints what it shows, and every call in a table of the guide can be made."""

import ast
import doctest
import importlib
import re
from pathlib import Path
from typing import Any

import autograd.numpy as anp
import numpy as np
import pytest

import psdopt
from psdopt import terms
from psdopt.cli.main import main
from psdopt.problems.distributed import Here
from psdopt_plugins.kernel_learning.graphs import knn_laplacian
from psdopt_plugins.manifold_learning.graph import nearest_neighbour_edges

ROOT = Path(psdopt.__file__).resolve().parents[1]
PAGES = [
    page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if ">>> " in page.read_text("utf-8")
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_examples_run_as_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failures, examples = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert examples > 0
    assert failures == 0


def test_the_first_command_of_the_readme_prints_what_it_shows(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    block = (ROOT / "README.md").read_text("utf-8").partition("and prints\n\n")[2].partition("\n\n")[0]
    *shown, dots, bound = [line.split() for line in block.splitlines()]
    assert (len(shown), dots) == (4, ["..."])
    assert main(["run", "metric-kta", "--data", "wine"]) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in shown if line not in printed] == []
    (found,) = [line for line in printed if line[:-2] == bound[:-2]]
    assert float(found[-2]) <= 1e-6  # the bound that the text below states; its digits are rounding


def test_the_snippets_of_the_readme_run_and_print_what_they_say(capsys):
    for snippet in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL):
        exec(snippet, {})
        printed = capsys.readouterr().out.splitlines()
        said = re.findall(r"^print\(.*\)(?:  # (.*))?$", snippet, re.MULTILINE)
        assert len(said) == len(printed)
        assert all(text in ("", line) for text, line in zip(said, printed, strict=True))


GUIDE = ROOT / "docs" / "guide"
MODULES = [
    "psdopt",
    *(f"psdopt.{part}" for part in ("terms", "constraints", "methods", "problems", "problems.distributed")),
    "psdopt.running.result",
    *(f"psdopt_plugins.{part}_learning" for part in ("metric", "kernel", "manifold")),
    *(f"psdopt_plugins.{part}" for part in ("covariance", "hermitian", "regression", "relaxations", "spectral")),
    "psdopt_plugins.manifold_learning.unfolding_newton",
]
CALL, CLASS = re.compile(r"[A-Za-z_]\w*\(.*\)"), re.compile(r"[A-Z]\w*[a-z]\w*")

RNG = np.random.default_rng(0)
N, M = 5, 12
X = RNG.standard_normal((M, N))
A = X.T @ X
I_M, PAIRS = np.arange(M), np.column_stack([np.arange(M), (np.arange(M) + 1) % M])
SQUARES = ((X[:, None] - X) ** 2).sum(axis=2)
GRAPH = (np.median(SQUARES) > SQUARES).astype(float) - np.eye(M)
FIT = terms.MeasuredTerm(terms.QuadraticForms(X), terms.LeastSquares(np.ones(M)))
PROBLEM = psdopt.QuadraticSDP(B=1.0, C=-A)
#: What the names in calls stand for; for some functions they stand for something else.
STANDARD: dict[str, Any] = {
    "S": A, "alpha": 0.1,
    "n": N, "r": 2, "t": 1.0, "trace": 1.0, "weight": 0.5, "metric": "von-neumann", "problem": PROBLEM,
    "A": A, "B": np.eye(N), "C": -A, "A_1": A, "A_2": np.eye(N), "F": lambda M: anp.sum(M**2),
    "i": np.arange(N), "j": (np.arange(N) + 1) % N, "X": X, "a": 0.5, "d": 1.0, "b": np.ones(M),
    "lower": 0.0, "upper": 1.0, "delta": 0.1, "set": psdopt.constraints.Zero(), "target": 0.0, "offset": np.zeros(2),
    "sizes": [2],
    "measurement": terms.Entries([0, 1], [0, 1], N), "parts": [PROBLEM, PROBLEM], "engine": Here(), "lam": 0.1,
    "y": I_M % 2, "pairs": PAIRS, "W": GRAPH, "graph": GRAPH, "G": np.eye(N), "weights": None, "fixed": None, "nu": 0.1,
}  # fmt: skip
SPECIAL: dict[str, dict[str, Any]] = {
    "Constrained": {"...": psdopt.constraints.trace(N, 1.0)},
    "TermSum": {"...": FIT},
    "norm_bound": {"b": np.ones(2)},
    "SparseForms": {"B": np.ones((2, N))},
    "sparse_forms": {"b": np.ones(3), "...": 2.0 * np.eye(N)},
    "PositiveDefinite": {"...": "von-neumann"},
    "linearity_problem": {"pairs": np.column_stack([PAIRS, np.where(I_M % 2, 1, -1)])},
    "lmnn_problem": {"targets": PAIRS, "triplets": np.column_stack([PAIRS, (I_M + 3) % M])},
    "nca_problem": {"candidates": PAIRS},
    "triplet_margin_problem": {"C": 1.0, "triplets": np.column_stack([PAIRS, (I_M + 3) % M])},
    "topk_problem": {"K": A, "k": 2},
    "pair_distance_problem": {"...": (X, np.column_stack([PAIRS, np.where(I_M % 2, 1, -1)]))},
    "pairwise_kernel_problem": {"L": knn_laplacian(X, 3), "targets": np.ones(M), "gamma": 1.0},
    "quadratic_kernel_problem": {"N": A, "T": np.eye(N), "tau": 1.0},
    "distance_kernel_problem": {"...": (M, PAIRS, np.ones(M))},
    "sstress_problem": {"...": (SQUARES,)},
    "state_problem": {"strings": ["XX", "ZI"], "values": [0.5, 0.2]},
    "counts_problem": {"bases": ["X", "Z"], "counts": [[3, 1], [2, 2]]},
    "process_problem": {"transfer": np.eye(4)},
    "phase_problem": {"squares": np.ones(M)},
    "mvu_problem": {"distances": nearest_neighbour_edges(X, 4).matrix()},
    "sensor_problem": {
        "n": 3, "pairs": np.array([[0, 1], [1, 2], [0, 3], [1, 4], [2, 5]]), "distances": np.ones(5),
        "anchors": np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
    },
}  # fmt: skip


def public() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in MODULES:
        module = importlib.import_module(name)
        names = getattr(module, "__all__", None) or [key for key in vars(module) if not key.startswith("_")]
        found |= {key: getattr(module, key) for key in names}
    return found


def spans() -> list[Any]:
    found = {}
    for page in sorted(GUIDE.glob("*.md")):
        for line in page.read_text(encoding="utf-8").splitlines():
            for span in re.findall(r"`([^`]+)`", line) if line.startswith("|") else ():
                if CALL.fullmatch(span) or CLASS.fullmatch(span):
                    found[f"{page.stem}: {span}"] = span
    assert len(found) > 80
    return [pytest.param(span, id=name) for name, span in found.items()]


def made(text: str, names: dict[str, Any]) -> Any:
    """The value of a call `text` whose function is a public name, and whose arguments stand for small data."""
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    own = SPECIAL.get(call.func.id, {})
    known = {**STANDARD, **own}

    def value(node: ast.expr) -> Any:
        if isinstance(node, ast.Constant) and node.value is ...:
            return own["..."]
        if isinstance(node, ast.List):
            return [value(entry) for entry in node.elts]
        return known[node.id] if isinstance(node, ast.Name) else ast.literal_eval(node)

    arguments = [value(node) for node in call.args]
    if len(arguments) == 1 and isinstance(arguments[0], tuple):
        arguments = list(arguments[0])
    return names[call.func.id](*arguments, **{str(word.arg): value(word.value) for word in call.keywords})


@pytest.mark.parametrize("span", spans())
def test_what_a_table_names_exists_and_can_be_called(span: str) -> None:
    if CLASS.fullmatch(span):
        assert span in public()
    else:
        assert made(span, public()) is not None


APPLICATIONS = [path for path in sorted((ROOT / "docs" / "applications").glob("*.md")) if path.stem != "index"]


@pytest.mark.parametrize("page", APPLICATIONS, ids=lambda page: page.stem)
def test_a_page_of_an_application_has_a_picture_and_code_that_fits(page: Path) -> None:
    text = page.read_text("utf-8")
    assert "```{figure}" in text or "![" in text
    assert text.count("$$") % 2 == 0
    index = (ROOT / "docs" / "applications" / "index.md").read_text("utf-8")
    assert f"({page.name})" in index
    assert f"<{page.stem}>" in index
    assert [line for line in text.splitlines() if line.startswith((">>> ", "... ")) and len(line) > 100] == []
