"""Tables 1 and 2 of Hao et al.: LMNN, and KTA by BILGO with local search, errors and seconds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.papers.data import dense, load, needs
from benchmarks.reproduction.experiments import Comparison, Experiment, ExperimentCase, Findings, ResultTable
from psdopt import BILGO, PSDCone, solve
from psdopt_plugins.metric_learning import LMNN, kta_problem

#: Errors (%) of BILGO-LMNN and BILGO-KTA-LS with their deviations, and their seconds.
PAPER = {
    "splice": ((18.1, 1.9), (20.4, 1.6), 15.0, 0.2),
    "isolet": ((7.8, 2.1), (5.4, 1.2), 107.0, 107.0),
    "optdigits": ((2.4, 0.2), (2.5, 0.5), 33.0, 0.3),
    "dna": ((5.2, 0.5), (4.8, 0.2), 202.0, 2.0),
    "a1a": ((18.3, 1.2), (18.2, 1.0), 310.0, 6.0),
    "protein_libsvm_val": ((40.1, 2.3), (36.9, 2.3), 76.0, 31.0),
    "mushrooms": ((0.0, 0.0), (0.0, 0.0), 50.0, 2.0),
    "w1a": ((1.2, 0.1), (2.1, 0.0), 213.0, 8.0),
    "usps": ((5.2, 1.0), (5.1, 0.9), 53.0, 28.0),
    "mnist10k": ((6.1, 0.8), (5.3, 1.2), 612.0, 301.0),
}
#: KTA to a certificate takes minutes here.
WITHOUT_KTA = ("isolet", "mnist10k")
LAM = 1e-3


def errors_and_seconds() -> Experiment:
    """Tables 1 and 2; one split 70/30, three neighbours."""
    return Experiment(_cases, _measure, _present)


def _cases(quick: bool) -> list[ExperimentCase]:
    return [
        ExperimentCase(name, {"kta": name not in WITHOUT_KTA}, needs(name))
        for name in (("wine",) if quick else tuple(PAPER))
    ]


def _measure(case: ExperimentCase) -> dict[str, Any]:
    X, y, _ = load(case.name)
    X = dense(X)
    A, B, a, b = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)

    def error(train: Any, test: Any) -> float:
        return 100.0 * (1.0 - float(KNeighborsClassifier(3).fit(train, a).score(test, b)))

    begin = time.process_time()
    model = LMNN(n_neighbors=3).fit(A, a)
    found: dict[str, Any] = {"samples": len(A), "features": A.shape[1], "Euclidean": error(A, B)}
    found["LMNN"] = [0.0, time.process_time() - begin]
    found["LMNN"][0] = error(model.transform(A), model.transform(B))
    if case.settings["kta"]:
        begin = time.process_time()
        problem = kta_problem(A, a, LAM)
        result = solve(problem, PSDCone(problem.n), BILGO(), rng=0, max_time=60.0)
        seconds = time.process_time() - begin
        Y = result.matrix.factor
        found["KTA"] = [error(A @ Y, B @ Y), seconds, result.status.label, result.rank]
    return found


def _present(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows, comparisons = [], []
    for name, found in measured.items():
        lmnn, kta, lmnn_s, kta_s = PAPER.get(name, (None, None, None, None))
        error, seconds = found["LMNN"]
        cells = [f"{error:.2f}{_paper(lmnn)}", f"{seconds:.2f}{_seconds(lmnn_s)}"]
        if lmnn and lmnn_s:
            comparisons.append(Comparison(f"error of LMNN on {name}", error, lmnn[0], level=lmnn[1], unit="%"))
            comparisons.append(Comparison(f"seconds of LMNN on {name}", seconds, lmnn_s, unit="s"))
        if "KTA" in found:
            error, seconds, status, rank = found["KTA"]
            cells += [f"{error:.2f}{_paper(kta)}", f"{seconds:.2f}{_seconds(kta_s)}", f"{rank}, {status}"]
            if kta and kta_s:
                comparisons.append(Comparison(f"error of KTA on {name}", error, kta[0], level=kta[1], unit="%"))
                comparisons.append(Comparison(f"seconds of KTA on {name}", seconds, kta_s, unit="s"))
        else:
            cells += ["", "", ""]
        rows.append((name, f"{found['samples']:,} × {found['features']}", f"{found['Euclidean']:.2f}", *cells))
    columns = (
        "data",
        "training samples × features",
        "Euclidean",
        "LMNN, error",
        "seconds",
        "KTA by BILGO, error",
        "seconds",
        "rank, end",
    )
    caption = "3-NN test error in % and processor seconds (the paper's BILGO-LMNN and BILGO-KTA-LS in brackets)"
    return Findings((ResultTable(caption, columns, tuple(rows)),), tuple(comparisons))


def _paper(found: tuple[float, float] | None) -> str:
    return "" if found is None else f" ({found[0]:.1f} ± {found[1]:.1f})"


def _seconds(found: float | None) -> str:
    return "" if found is None else f" ({found:g})"
