"""Two methods that take turns: whose turn it is, what is handed over, how runs end."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from psdopt import FlatQuotient, Method, Outcome, QuadraticSDP, Status, TermSum, solve
from psdopt.methods import ADMM, LBFGS, AugmentedLagrangian, ConjugateGradient, TruncatedNewton, TrustRegions
from psdopt.methods.alternating import STEP, AfterProducts, AfterSteps, Alternating, Confined, Settled
from psdopt.terms import LinearTerm, MeasuredTerm, SquaredHinge, TripletDifferences

N, R = 12, 4


def problem(seed=0):
    rng = np.random.default_rng(seed)
    A, C = rng.standard_normal((2, N, N))
    return QuadraticSDP(A=A @ A.T, B=0.5, C=C + C.T)


def turns(count=2, back=3, first=None, second=None):
    second = LBFGS() if second is None else second
    return Alternating(first or ConjugateGradient(), second, AfterSteps(count), back and AfterSteps(back))


def start(seed=1):
    return np.random.default_rng(seed).standard_normal((N, R))


def states_of(method, steps, p=None):
    states = [method.init(p or problem(), FlatQuotient(N, R), start())]
    for _ in range(steps):
        states.append(method.step(states[-1]))
    return states


def test_a_turn_ends_once_its_steps_and_hessian_products_have_cost_so_much():
    """Every step counts, and the products that truncated Newton reports; a turn does not pay for the one before."""
    newton = TruncatedNewton(share=0.1)
    alone = states_of(newton, 4)
    costs = np.cumsum([STEP + state.extras["products"] for state in alone[1:]])
    assert costs[0] > STEP + 1.0  # a step took several products
    for count in (costs[1], costs[1] + 0.5):
        method = Alternating(newton, ConjugateGradient(), AfterProducts(count), AfterProducts(2.0 * STEP))
        phases = [state.turns for state in states_of(method, 6)]
        last = int(np.argmax(costs >= count)) + 1
        assert phases == [0] * last + [1, 1] + [2] * (5 - last)


def test_a_turn_is_the_method_itself():
    together, alone = states_of(turns(4, None), 4), states_of(ConjugateGradient(), 4)
    for ours, its in zip(together, alone, strict=True):
        np.testing.assert_array_equal(ours.point, its.point)
        assert ours.evaluation.value == its.evaluation.value
        assert ours.gradient_norm == its.gradient_norm
    assert [s.extras["phase"] for s in together] == [0.0] * 5
    p, here = problem(), together[-1].point
    second = LBFGS().step(LBFGS().init(p, FlatQuotient(N, R), here))
    np.testing.assert_allclose(turns(4, None).step(together[-1]).point, second.point, rtol=1e-9)


def test_turns_alternate_and_double():
    """A round is a turn of each; steps are counted from the start of a turn, phases on in a method that alternates."""
    states = states_of(turns(2, 3), 15)
    assert [s.extras["phase"] for s in states] == [0.0] * 3 + [1.0] * 3 + [0.0] * 4 + [1.0] * 6
    assert [s.steps for s in states[:9]] == [0, 1, 0, 1, 2, 0, 1, 2, 3]
    assert [s.turns for s in states[:9]] == [0, 0, 1, 1, 1, 2, 2, 2, 2]
    assert [replace(states[0], turns=k).rounds for k in range(7)] == [0, 0, 1, 1, 2, 2, 3]
    assert [s.extras["phase"] for s in states_of(turns(2, None), 6)] == [0.0] * 3 + [1.0] * 4
    zero = [s.extras["phase"] for s in states_of(turns(0, 1), 6)]
    assert zero == [0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0]  # no step, then one, two, ...
    nested = Alternating(ConjugateGradient(), turns(2, None), AfterSteps(1))
    assert [s.extras["phase"] for s in states_of(nested, 5)] == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]


def test_a_value_that_has_settled_ends_a_turn():
    method = Alternating(ConjugateGradient(), LBFGS(), Settled(1e-2, 100))
    states = states_of(method, 40)
    change = -np.diff([s.evaluation.value for s in states])
    drop = [s.problem.value_at_zero() - s.evaluation.value for s in states[1:]]
    last = int(np.argmax([s.extras["phase"] for s in states])) - 1  # the last step of the first turn
    assert change[last - 1] <= 1e-2 * drop[last - 1]
    assert np.all(change[1 : last - 1] > 1e-2 * np.array(drop)[1 : last - 1])
    short = states_of(Alternating(ConjugateGradient(), LBFGS(), Settled(1e-300, 3)), 4)
    assert [s.extras["phase"] for s in short] == [0.0] * 4 + [1.0]


def hinges(n=12, units=1.5):
    """Hinges of triplets, many of which switch in a step, of features whose units differ by 10^units."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, n)) * 10.0 ** np.linspace(0.0, units, n)
    i, j, k = np.array([rng.choice(60, 3, replace=False) for _ in range(300)]).T
    push = MeasuredTerm(TripletDifferences(i, j, k, X), SquaredHinge(1.0), 1.0 / 300)
    return TermSum([push, LinearTerm(np.diag(X.var(axis=0)), 1e-3)], preconditioner=None), X.std(axis=0)


def test_newton_gives_way_while_its_model_holds_only_nearby_and_turns_grow():
    method = Alternating(ConjugateGradient(), TruncatedNewton(share=0.1), Settled(0.1, 20, again=4), Confined(2))
    problem, scale = hinges()
    state = method.init(
        problem, FlatQuotient(12, 12), np.random.default_rng(1).standard_normal((12, 12)) / scale[:, None]
    )
    lengths: list[int] = []
    for _ in range(200):
        before, state = state, method.step(state)
        if state.turns > before.turns:
            lengths.append(before.steps + 1)
            if before.turns % 2:  # the step that ended the turn is one more
                assert before.inner.cut == 2 ** (before.turns // 2 + 1) - 1
    assert len(lengths) >= 5
    again, newton = lengths[2::2], lengths[1::2]
    assert again == [4 * 2**k for k in range(len(again))]
    assert all(length >= 2 ** (k + 1) for k, length in enumerate(newton))


@dataclass(frozen=True)
class Ends(Method):
    """Makes `steps` steps of conjugate gradient, then reports `outcome` without a move."""

    steps: int
    outcome: Outcome = Outcome.STALLED
    descends = True
    requires = ConjugateGradient.requires

    def init(self, problem, geometry, start, evaluation=None):
        state = ConjugateGradient().init(problem, geometry, start, evaluation)
        return replace(state, extras={"made": 0.0})

    def step(self, state):
        made = state.extras["made"]
        if made >= self.steps:
            return replace(state, outcome=self.outcome)
        return replace(ConjugateGradient().step(state), extras={"made": made + 1.0})


@pytest.mark.parametrize("outcome", [Outcome.STALLED, Outcome.FINISHED])
def test_where_one_method_has_no_next_step_the_other_goes_on_at_no_cost(outcome):
    states = states_of(turns(9, 9, first=Ends(2, outcome)), 6)
    assert [s.extras["phase"] for s in states] == [0.0] * 3 + [1.0] * 4
    values = [s.evaluation.value for s in states]
    assert np.all(np.diff(values) < 0.0)  # every step has moved
    assert all(s.outcome is Outcome.RUNNING for s in states)


def test_the_run_ends_where_neither_has_a_next_step():
    method = turns(9, 9, Ends(2), Ends(1))
    states = states_of(method, 6)
    assert states[5].outcome is Outcome.RUNNING  # 2, 1 and 2 steps: both begin anew after a move of the other
    stuck = turns(9, 9, Ends(0), Ends(0))
    ended = stuck.step(stuck.init(problem(), FlatQuotient(N, R), start()))
    assert ended.outcome is Outcome.STALLED
    alone = turns(1, None, second=Ends(1))
    assert [s.outcome for s in states_of(alone, 3)][-1] is Outcome.STALLED


@pytest.mark.parametrize("outcome", [Outcome.UNBOUNDED, Outcome.DIVERGED])
def test_other_outcomes_end_the_run(outcome):
    assert states_of(turns(9, 9, first=Ends(1, outcome)), 2)[-1].outcome is outcome


def test_added_columns_go_to_the_second_method_or_begin_anew():
    p, wide = problem(), FlatQuotient(N, R + 1)
    for method, phases in ((turns(2, None), (0.0, 1.0)), (turns(2, 3), (0.0, 0.0))):
        for steps, phase in zip((1, 3), phases, strict=True):  # after one step the first method has another one left
            state = states_of(method, steps, p)[-1]
            Y = np.column_stack([state.point, np.full(N, 1e-3)])
            after = method.widened(state, wide, Y, p.at(Y))
            assert after.extras["phase"] == phase
            assert after.steps == (1 if steps == 1 and method.switch_back is None else 0)
            np.testing.assert_array_equal(after.point, Y)
            assert method.step(after).evaluation.value < p.at(Y).value


def test_it_is_a_method_like_any_other():
    method = turns(3, None, second=TrustRegions())
    result = solve(problem(), FlatQuotient(N, N), method, tol=1e-6, rng=0)
    assert result.status is Status.OPTIMAL
    assert method.descends
    assert not turns(second=ADMM()).descends
    needs = {str(need) for need in turns(second=ADMM()).requires["problem"]}
    assert {"exact-line", "biconvex-split"} <= needs


def test_points_are_ranked_by_value_where_both_methods_rank_them_so():
    apart = AugmentedLagrangian()
    assert not apart.ranks_by_value
    for first, second in ((apart, LBFGS()), (LBFGS(), apart), (apart, apart)):
        assert not Alternating(first, second, AfterSteps(1)).ranks_by_value
    assert turns().ranks_by_value
