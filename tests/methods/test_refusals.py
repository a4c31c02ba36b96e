"""What methods refuse: parameters beyond their limits, problems and sets that lack what a method requires."""

import numpy as np
import pytest

from psdopt import Ability, Constrained, FlatQuotient, PSDCone, QuadraticSDP, TermSum, constraints, methods, solve
from psdopt.contracts.quadratic_fit import quadratic_fit_of
from psdopt.contracts.splitting import split_of
from psdopt.errors import IncompatibleError, InvalidInputError, InvalidTypeError
from psdopt.methods.alternating import AfterSteps, Alternating
from psdopt.methods.primal_dual.state import constrained
from psdopt.terms import IdentityForm, LinearTerm
from psdopt_plugins.regression import psd_regression_problem
from tests.methods.constrained import cut
from tests.methods.pairs import pair_problem

CG, GOLDEN = methods.ConjugateGradient(), 0.5 * (1.0 + np.sqrt(5.0))
LIMITS = {
    methods.ADMM: {"rho": (0.0, -1.0, np.inf, "big", True), "switch": (0.0, 1.0), "polish": (3,), "imbalance": (0.5,),
                   "patience": (0,), "restarts": (-1,)},
    methods.AugmentedLagrangian: {"inside_steps": (0,), "max_rank": (0,), "penalty_threshold": (1.0,),
                                  "tightening": (0.0,), "bounds_from": (0.0,), "patience": (0,)},
    methods.BILGO: {"every": (0,), "eigenvectors": (-1,), "local_search": ("lbfgs",), "search_fraction": (1.0,),
                    "first_steps": (0,)},
    methods.BlockConjugateGradient: {"inner_iterations": (0,)},
    methods.BoundaryPoint: {"overshoot": (0.0, GOLDEN, GOLDEN + 1e-6), "factor": (1.0,), "patience": (0,),
                            "depth": (-1,)},
    methods.DualNewton: {"inner": (0,)},
    methods.FrankWolfe: {"corrections": (0,)},
    methods.InteriorPoint: {"share": (1.0,), "patience": (0,)},
    methods.LagrangeNewton: {"steps": (1.5, True), "approach": ("cg",), "patience": (0,)},
    methods.ProjectedGradient: {"accelerated": ("yes",)},
    methods.TruncatedNewton: {"inner": (0, 1.5), "share": (1.0,)},
    methods.TrustRegions: {"kappa": (0.0, 1.0), "theta": (0.0,), "accept": (-1e-9, 0.25), "inner": (0,)},
}  # fmt: skip
TOLD = [
    (methods.BILGO, {"rule": "journe"}, "journee"), (methods.BILGO, {"backend": "lanczo"}, "lanczos"),
    (methods.BlockConjugateGradient, {"preconditioner": "jacobi"}, "unknown preconditioner 'jacobi'"),
    (methods.BoundaryPoint, {"overshoot": 1.7}, r"overshoot must be .* above 0 and below 1\.618.*; found 1\.7"),
    (methods.ConjugateGradient, {"update": "PR"}, r"unknown update 'PR'; known: DY, FR, HS, PR\+"),
    (methods.ConjugateGradient, {"preconditioner": "x"}, "'x'; known: auto, diagonal, gram, none, problem"),
    (methods.FrankWolfe, {"variant": "vanila"}, "vanilla"),
    (methods.LagrangeNewton, {"steps": -1}, "steps must be None or an integer of at least 0; found -1"),
    (methods.LagrangeNewton, {"approach": methods.ADMM()}, "approach must be a method that descends"),
    (methods.LBFGS, {"memory": 0}, "memory must be an integer of at least 1; found 0"),
    (methods.OnlineRiemannianGradient, {"batch_size": 0}, "batch_size must be an integer of at least 1"),
    (methods.OnlineRiemannianGradient, {"scale": 1.0}, "scale and annealing go together"),
    (Alternating, {"first": CG, "second": CG, "switch": 3}, "must be a function of an AlternatingState; found 3"),
    (Alternating, {"first": CG, "second": CG, "switch": AfterSteps(1), "switch_back": 3}, "switch_back must be"),
    *((make, {name: value}, f"^{name}[ ,].*must be") for make in LIMITS for name in LIMITS[make]
      for value in LIMITS[make][name]),
]  # fmt: skip


@pytest.mark.parametrize(("make", "options", "text"), TOLD)
def test_a_parameter_beyond_its_limits_is_named(make, options, text):
    with pytest.raises(InvalidInputError, match=text):
        make(**options)


def test_parameters_at_their_limits_are_accepted_and_other_types_refused():
    assert methods.TrustRegions(accept=0.0).accept == 0.0
    assert methods.BoundaryPoint(overshoot=GOLDEN - 1e-6).overshoot > 1.6
    with pytest.raises(InvalidTypeError, match="local_search"):
        methods.BILGO(local_search=3)
    with pytest.raises(InvalidTypeError, match="second must be a method; found 'cg'"):
        Alternating(CG, "cg", AfterSteps(1))


def without_lines():
    problem = pair_problem()
    problem.abilities -= {Ability.EXACT_LINE}
    return problem


PLAIN, LINEAR = QuadraticSDP(B=1.0, C=-np.eye(4)), TermSum([LinearTerm(IdentityForm(4))])
HELD = Constrained(QuadraticSDP(C=np.eye(4)), constraints.trace(4, 1.0))
NO_FORM = Alternating(CG, methods.EigenSplitting(), AfterSteps(1))
FLAT, WIDE = FlatQuotient(4, 2), FlatQuotient(24, 24)


@pytest.mark.parametrize(
    ("problem", "geometry", "method", "text"),
    [
        (PLAIN, FLAT, methods.ADMM(), "lacks biconvex-split"),
        (without_lines(), WIDE, methods.ADMM(), "polish=ConjugateGradient lacks exact-line"),
        (cut(4), FLAT, methods.AugmentedLagrangian(inside=methods.EigenSplitting()), "inside="),
        (PLAIN, FLAT, methods.AugmentedLagrangian(), "constraints"),
        (LINEAR, FLAT, methods.BlockConjugateGradient(), "restriction"),
        (PLAIN, PSDCone(4), methods.BoundaryPoint(), "BoundaryPoint"),
        (HELD, PSDCone(4), methods.DualNewton(), "equations"),
        (cut(4), FLAT, methods.LagrangeNewton(), "these work: AugmentedLagrangian"),
        (PLAIN, FLAT, methods.LagrangeNewton(), "quadratic-fit"),
        (pair_problem(), PSDCone(24), methods.LagrangeNewton(), Ability.STRAIGHT),
        (pair_problem(), WIDE, methods.LagrangeNewton(methods.BlockConjugateGradient()), "lacks restriction here"),
        (psd_regression_problem(np.eye(4), np.ones(4)), FLAT, methods.OnlineRiemannianGradient(), "lacks stream"),
    ],
)
def test_what_does_not_go_together_is_refused(problem, geometry, method, text):
    with pytest.raises(IncompatibleError, match=text):
        solve(problem, geometry, method)


class Promises(QuadraticSDP):
    """Declares abilities and has none of their parts."""

    def __init__(self):
        super().__init__(B=1.0, C=-np.eye(3))
        self.abilities |= {Ability.NEAREST, Ability.CONSTRAINTS}


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (split_of, "Promises offers no biconvex-split"),
        (lambda _: quadratic_fit_of(object()), "object offers no quadratic-fit"),
        (lambda problem: NO_FORM.init(problem, FlatQuotient(3, 2), np.eye(3)[:, :2]), "second=EigenSplitting lacks"),
        (constrained, "offers no constraints"),
        (lambda problem: constrained(Constrained(problem, constraints.trace(3, 1.0))), "linear objective"),
        *(
            (lambda problem, method=method: method.init(problem, FlatQuotient(3, 3), np.eye(3)),
             r"Promises offers no constraints: .* must have constrained")
            for method in (methods.AugmentedLagrangian(), methods.DualNewton())
        ),
    ],
)  # fmt: skip
def test_a_problem_without_the_parts_is_refused_by_name(ask, text):
    with pytest.raises(IncompatibleError, match=text):
        ask(Promises())
