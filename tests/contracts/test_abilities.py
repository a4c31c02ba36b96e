"""Needs as data, in words and in verdicts; abilities that are members, and who is told that there are none."""

import functools
from pathlib import Path

import numpy as np
import pytest

import psdopt
from psdopt.contracts.abilities import MEMBERS, Verdict, as_text, missing_needs, name_of, require_inner
from psdopt.contracts.constrained_fit import OffersConstrainedFit, constrained_fit_of
from psdopt.contracts.quadratic_fit import OffersQuadraticFit, quadratic_fit_of
from psdopt.contracts.signatures import accepts, accepts_order
from psdopt.contracts.splitting import BiconvexSplit
from psdopt.errors import IncompatibleError
from psdopt.methods.admm import ADMM

REQUIRES = {"problem": ("gradient", ("quadratic", "margins")), "geometry": ("factor",)}


@pytest.mark.parametrize(
    ("role", "offered", "missing"),
    [
        ("problem", {"gradient", "margins"}, []), ("problem", {"gradient"}, ["quadratic or margins"]),
        ("problem", set(), ["gradient", "quadratic or margins"]), ("geometry", {"straight-lines"}, ["factor"]),
        ("method", set(), []),
    ],
)  # fmt: skip
def test_missing_needs(role, offered, missing):
    assert missing_needs(REQUIRES, role, offered) == missing


def test_verdicts_speak_and_raise():
    yes, no = Verdict(True, subject="A, B and C"), Verdict(False, ("x", "y"), "Try D.", "A, B and C")
    assert bool(yes)
    assert not no
    assert yes.message == "A, B and C work together"
    assert no.message == "A, B and C do not work together; missing: x; y. Try D."
    yes.require()
    with pytest.raises(IncompatibleError, match="missing: x; y"):
        no.require()


class Piece:
    requires = REQUIRES
    device, takes_device_arrays = None, False

    def __init__(self, *abilities: str, name: str = "") -> None:
        self.abilities, self.name = abilities, name


def test_a_method_within_a_method_is_refused_by_its_argument():
    require_inner("polish", Piece(), Piece("gradient", "margins"), Piece("factor"))
    with pytest.raises(IncompatibleError, match="polish=Piece lacks quadratic or margins, factor here; pass another"):
        require_inner("polish", Piece(), Piece("gradient"), Piece())
    there = Piece("gradient", "margins")
    there.device = "cuda"
    with pytest.raises(IncompatibleError, match=r"polish=Piece takes NumPy arrays only, .* on a device \(cuda\); pass"):
        require_inner("polish", Piece(), there, Piece("factor"))


def test_names_of_pieces_and_needs_as_text():
    assert name_of(Piece()) == "Piece"
    assert name_of(Piece(name="mine")) == "mine"
    assert as_text("factor") == "factor"
    assert as_text(("a", "b", "c")) == "a or b or c"


def test_the_page_on_contracts_names_every_ability_with_its_members():
    page = (Path(__file__).parents[2] / "docs" / "extend" / "contracts.md").read_text(encoding="utf-8")
    for ability, members in MEMBERS.items():
        (row,) = [line for line in page.splitlines() if line.startswith("| ") and f'"{ability}"' in line.split("|")[1]]
        assert [name for name in members if f"`{name}" not in row.split("|")[2]] == []


@pytest.mark.parametrize("value", [None, 3])
def test_the_fit_is_what_the_member_returns_and_without_one_a_problem_is_refused(value):
    class Offers:
        def quadratic_fit(self):
            return "a fit"

    class Lacks:
        quadratic_fit = value

    assert isinstance(Offers(), OffersQuadraticFit)
    assert quadratic_fit_of(Offers()) == "a fit"
    for problem in (Lacks(), object()):
        with pytest.raises(IncompatibleError, match=f"{type(problem).__name__} offers no quadratic-fit: a problem"):
            quadratic_fit_of(problem)


def test_a_constrained_problem_offers_one_and_keeps_it() -> None:
    problem = psdopt.Constrained(psdopt.QuadraticSDP(C=np.eye(3)), psdopt.constraints.diagonal(3, 1.0))
    assert isinstance(problem, OffersConstrainedFit)
    fit = constrained_fit_of(problem)
    assert fit is constrained_fit_of(problem)
    assert fit.norms.tolist() == [1.0, 1.0, 1.0]


def test_others_are_told_the_member_that_is_missing() -> None:
    with pytest.raises(
        IncompatibleError, match=r"must have constrained_fit\(\), which returns a psdopt.contracts.ConstrainedFit"
    ):
        constrained_fit_of(psdopt.QuadraticSDP(C=np.eye(3)))
    assert MEMBERS[psdopt.Ability.CONSTRAINED_FIT] == ("constrained_fit", "constrained")


def test_data_whose_entries_are_not_at_hand_have_none() -> None:
    X = np.random.default_rng(0).standard_normal((6, 3))
    problem = psdopt.Constrained(
        psdopt.QuadraticSDP(C=np.eye(3)), psdopt.constraints.distances([0, 1], [2, 3], 1.0, X=X)
    )
    assert psdopt.Ability.CONSTRAINED_FIT not in problem.abilities
    with pytest.raises(IncompatibleError, match="entries"):
        problem.constrained_fit()


def test_curvature_of_any_kind_will_do() -> None:
    torch = pytest.importorskip("torch")
    problem = psdopt.Constrained(
        psdopt.AutogradProblem(lambda M: torch.sum(M**2), 3, convex=True), psdopt.constraints.diagonal(3, 1.0)
    )
    assert psdopt.Ability.CONSTRAINED_FIT in problem.abilities


class Squared(BiconvexSplit):
    """F(V, U) = |V Uᵀ − K|²/4 + |U Vᵀ − K|²/4 for a dense K: no coupling, one (r, r) system for all rows."""

    def __init__(self, problem, K):
        self.problem, self.K, self.n = problem, K, len(K)
        self.coupling_bound, self.scale = 0.0, float(np.linalg.norm(K, 2))

    def image(self, Y):
        return np.zeros_like(Y)

    def update(self, U, LU, anchor, rho):
        return np.linalg.solve(U.T @ U + rho * np.eye(U.shape[1]), (self.K @ U + rho * anchor).T).T

    def value(self, V, U, LU):
        return 0.5 * float(np.sum((V @ U.T - self.K) ** 2))

    def evaluation(self, Y, LY):
        return self.problem.at(Y)


class NearestPSD(psdopt.QuadraticSDP):
    """½ |M − K|² with a split of its own."""

    def __init__(self, K):
        super().__init__(B=0.5, C=-0.5 * K, constant=0.5 * float(np.sum(K**2)))
        self.abilities |= {psdopt.Ability.SPLIT}
        self._own = Squared(self, K)

    def split(self):
        return self._own


def test_any_problem_that_declares_a_split_will_do():
    rng = np.random.default_rng(2)
    K = rng.standard_normal((10, 10))
    K = K + K.T
    result = psdopt.solve(NearestPSD(K), psdopt.FlatQuotient(10, 10), ADMM())
    assert result.optimal
    values = np.linalg.eigvalsh(K)
    assert result.value == pytest.approx(0.5 * np.sum(np.minimum(values, 0.0) ** 2), rel=1e-6)


def positional_only(dual, /): ...


def named(n, *, dual=None): ...


def anything(n, **rest): ...


def variadic(*dual): ...


class Opaque:
    """A callable without a signature."""

    __signature__ = "none"

    def __call__(self, *args, **kwargs): ...


@pytest.mark.parametrize(
    ("factory", "expected"),
    [(named, True), (anything, True), (positional_only, False), (variadic, False), (lambda n: n, False)],
)
def test_a_keyword_is_accepted_if_a_call_with_it_binds(factory, expected):
    assert accepts(factory, "dual") is expected
    assert accepts(functools.partial(factory), "dual") is expected


def test_the_order_is_the_first_argument():
    assert accepts_order(named, ["dual"])
    assert accepts_order(anything, ["r", "s"])
    assert not accepts_order(named, ["r"])
    assert not accepts_order(lambda *, n: n, [])
    assert not accepts_order(lambda n, m: n, [])


def test_what_python_cannot_inspect_is_accepted():
    assert accepts(Opaque(), "dual")
    assert accepts_order(Opaque(), ["dual"])
