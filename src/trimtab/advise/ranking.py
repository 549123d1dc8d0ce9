"""Which variant to use: all of them, played in worlds like the one that is to come."""

from __future__ import annotations

from typing import Any

import numpy as np

from trimtab.advise.advice import Advice, Row, figure, sentence
from trimtab.advise.contenders import DESCENT, EAGER, STAY, Contender, contenders
from trimtab.advise.simulation import Runs, Simulation, eager_rounds, rounds_for
from trimtab.advise.situation import (
    Situation,
    budget_of,
    gamma_of,
    noise_of,
    reads_of,
    some,
    start_of,
)
from trimtab.advise.worlds import PHASES
from trimtab.arrays import ArrayLike, number, whole
from trimtab.errors import InvalidInput
from trimtab.learn import Confidence, Prior
from trimtab.model.problem import Problem
from trimtab.theory.variants import Bound, Case, descent

EAGER_LEAST = 100  # rounds that a variant which looks in every round must play to be compared
CLEAR = 1.0  # standard errors: what costs more by this plays no more
SURE = 2.5  # as many for staying put, or if the best looks in every round


def advise(
    problem: Problem,
    horizon: int,
    *,
    start: ArrayLike | None = None,
    prior: Prior | None = None,
    seed: int = 0,
    sigma: ArrayLike | None = None,
    norm: ArrayLike | None = None,
    delta: float = 0.05,
    reg: ArrayLike = 1.0,
    factor: float = 2.0,
    worst: float | None = None,
    adversarial: bool = False,
    drift: bool = False,
    graph_known: bool = True,
    gamma: ArrayLike | None = None,
    reads: int = 1,
    correlated: bool = False,
    factor_norm: float | None = None,
    lipschitz: float | None = None,
    budget: int | None = None,
    effort: float = 1.0,
) -> Advice:
    """The variant to use on this problem, by what all of them cost in simulated worlds.

    Every variant plays, as its constructor makes it of the problem and the start alone, in
    the same worlds, which are drawn from the prior that the policies learn with. It is ranked by
    total cost: regret and price of movement. The cheapest is recommended if it costs less than
    staying put (`FixedState`) by more than noise, and `LinUCB`, which looks in every round, if it
    costs less than all others by more than noise. It takes a few seconds, and longer for bases
    that are not made of powers; the same seed gives the same advice. Horizons beyond 1,000 rounds,
    fewer on large problems, are not played to their end: costs are carried on, and it says so.

    With sigma and norm the bounds of all variants are shown beside. They are worst cases, far
    above what runs cost, and do not enter the choice.

    Deviation: the paper's guide names situations, not numbers, and for asynchronous updates an
    assumption that does not hold. Here these have a regret bound only where every component of
    the graph is a clique.

    >>> import trimtab as tt
    >>> ring = tt.Graph.from_edges(3, [(0, 1), (1, 2), (2, 0)])
    >>> problem = tt.Problem(ring, move_cost=1.0)
    >>> advice = tt.theory.advise(problem, 100, start=[0.1, 0.1, 0.9])
    >>> advice.row(advice.variant).ratio < 0.5  # of what staying put costs
    True
    >>> policy = getattr(tt, advice.variant)(problem, start=[0.1, 0.1, 0.9], **advice.options)

    Where a move costs more than it can bring in so few rounds, it says so.

    >>> dear = tt.Problem(ring, move_cost=1000.0)
    >>> tt.theory.advise(dear, 100).variant
    'FixedState'

    Args:
        problem: with its move_cost; on a super-graph if the graph is not known.
        horizon: T, for how many rounds.
        start: the state the system is in now; the middle of the domain by default.
        prior: what worlds are drawn from and what policies are told, `Prior()` by default. What it
            leaves open is drawn: a spread of about 1 / weight, a noise of about a twelfth of it.
        seed: of the worlds and their noise.
        sigma: the noise of each objective's loss, one number or one each, if it is known. Worlds
            have it, policies are not told, and bounds need it.
        norm: for bounds, one on the length of each objective's parameter.
        delta: the probability with which the bounds may fail.
        reg: the ridge parameter of the bounds, one number or one per objective.
        factor: C of the bounds.
        worst: the largest total loss of a state less the least one, if it is known. Losses of the
            worlds drawn change by no more; bounds take 2 sum_i w_i norm_i L_i otherwise.
        adversarial: whether losses may be anything convex; their gradients must be told then.
        drift: whether the expected losses change: two times in the rounds played.
        graph_known: whether every objective reads all knobs of its scope. If not, each reads
            some of them in the worlds drawn.
        gamma: the least size of a dependency then.
        reads: how many knobs (or balls) an objective reads then.
        correlated: whether the noise of objectives that share knobs is correlated.
        factor_norm: if losses are made of shared factors (Assumption D), a bound on the length
            of the parameters of all of them together.
        lipschitz: if gradients of convex losses can be told, their largest length.
        budget: how often the state may change then; in every round by default.
        effort: how much is simulated, as a share of the usual; less of it leaves more open.
    """
    if adversarial and lipschitz is None:
        raise InvalidInput(
            "lipschitz is missing; adversarial losses need gradients: say how long these can be"
        )
    beliefs = Prior() if prior is None else prior
    situation = Situation(
        problem=problem,
        horizon=whole(horizon, "horizon", low=1),
        start=start_of(problem, start),
        prior=beliefs,
        seed=whole(seed, "seed", low=0),
        sigma=noise_of(problem, sigma, beliefs),
        worst=some(worst, "worst"),
        drift=bool(drift),
        graph_known=bool(graph_known),
        gamma=gamma_of(problem, gamma),
        reads=reads_of(problem, reads),
        correlated=bool(correlated),
        factor_norm=some(factor_norm, "factor_norm", strict=False),
        lipschitz=some(lipschitz, "lipschitz"),
        budget=budget_of(budget, horizon),
    )
    case = None
    if norm is not None:
        if situation.sigma is None:
            raise InvalidInput("norm without sigma; bounds need both: give the noise too")
        radius = Confidence(sigma=situation.sigma, norm=norm, delta=delta)
        case = Case(problem, horizon, radius=radius, reg=reg, factor=factor, worst=worst)
    effort = number(effort, "effort", low=0.0, strict=True)
    rounds = rounds_for(problem, situation.horizon, effort)
    played = eager_rounds(problem, situation.horizon, effort)
    eager = played >= (rounds if drift else min(rounds, EAGER_LEAST))
    entered = contenders(situation, eager=eager)
    if adversarial and entered[-1].absent:
        raise InvalidInput(
            f"nothing plays against an adversary here: {entered[-1].absent}; use intervals, and "
            "round what LazyOGD says"
        )
    simulation = Simulation(situation, entered, adversarial=adversarial, effort=effort)
    ready = {each.name for each in entered}
    simulation.play()
    while not simulation.exhausted:
        open_ = _open(simulation.runs(), ready)
        if not open_:
            break
        simulation.retired = simulation.runs().keys() - open_
        simulation.play()
    runs = simulation.runs()
    chosen = _choice(runs, ready)
    bounds = _bounds(situation, case, adversarial=adversarial)
    named = {each.name: each for each in entered}
    rows = [
        _row(each, runs, chosen, bounds.get(each.name), _absence(each, simulation, adversarial))
        for each in entered
    ]
    return Advice(
        variant=chosen,
        options=_options(named[chosen], situation),
        reasons=tuple(map(sentence, _reasons(chosen, runs, ready, simulation, bounds))),
        rows=tuple(rows),
        worlds=simulation.worlds,
        rounds=simulation.rounds,
    )


# The choice.


def _best(runs: dict[str, Runs], ready: set[str]) -> str:
    """The cheapest variant but staying put; one that always looks must be so by more than noise."""
    lazy = {
        name: _share(each, runs[STAY])[0]
        for name, each in runs.items()
        if name in ready and name not in (STAY, EAGER)
    }
    best = min(lazy, key=lambda name: lazy[name])
    if EAGER in runs:
        share, error = _share(runs[EAGER], runs[best])
        return EAGER if share + error < 1.0 else best
    return best


def _choice(runs: dict[str, Runs], ready: set[str]) -> str:
    best = _best(runs, ready)
    share, error = _share(runs[best], runs[STAY])
    return best if share + error < 1.0 else STAY


def _open(runs: dict[str, Runs], ready: set[str]) -> set[str]:
    """The variants between which more worlds may decide; none if the choice is clear."""
    best = _best(runs, ready)
    shares = {name: _share(runs[name], runs[best]) for name in ready & runs.keys() - {best}}
    clear = SURE if best == EAGER else CLEAR
    found = {name for name, (share, error) in shares.items() if share - 1.0 <= clear * error}
    share, error = shares.get(STAY, (np.inf, 0.0))
    if abs(share - 1.0) > SURE * error:
        found -= {STAY}
    found -= {EAGER}  # it plays on only as the best
    return found | {best, STAY} if found else found


def _share(mine: Runs, theirs: Runs) -> tuple[float, float]:
    """The cost of one variant over that of another in the same worlds, and its standard error."""
    n = min(mine.cost.size, theirs.cost.size)
    a, b = mine.cost[:n], theirs.cost[:n]
    if not b.mean() > 0.0:  # nothing to be saved, or an adversary that was tracked too well
        return (1.0 if a.mean() <= b.mean() else np.inf), 0.0
    share = float(a.mean() / b.mean())
    left = a - share * b
    return share, float(left.std(ddof=1) / np.sqrt(n) / b.mean())


def _options(chosen: Contender, situation: Situation) -> dict[str, Any]:
    """What a user passes to the constructor of the variant."""
    told = situation.told if chosen.learns else {}
    return {**told, **chosen.options}


# What is said of it.


def _row(
    each: Contender, runs: dict[str, Runs], chosen: str, bound: Bound | None, absence: str
) -> Row:
    name = each.name
    if name not in runs:
        return Row(name=name, bound=bound, against=sentence(absence))
    mine, against = runs[name], ""
    times, doubt = _share(mine, runs[chosen])
    if name != chosen:
        against = (
            f"it costs {times:.2f} times what {chosen} does in the same worlds (+-{doubt:.2f})"
        )
        if times == np.inf:
            against = f"it costs more than {chosen} in the same worlds"
    ratio, error = _share(mine, runs[STAY])
    return Row(
        name=name,
        cost=ratio * float(runs[STAY].cost.mean()),  # also if it did not play in all worlds
        ratio=ratio,
        error=error,
        regret=float(mine.regret.mean()),
        price=float(mine.price.mean()),
        movement=float(mine.movement.mean()),
        looks=float(mine.looks.mean()),
        bound=bound,
        against=sentence(against),
        times=times if np.isfinite(times) else None,
        times_error=doubt if np.isfinite(doubt) else None,
    )


def _absence(each: Contender, simulation: Simulation, adversarial: bool) -> str:
    if adversarial and each.name not in (STAY, DESCENT):
        return "it needs losses with fixed means"
    return each.absent or simulation.failed.get(each.name, "")


def _reasons(
    chosen: str,
    runs: dict[str, Runs],
    ready: set[str],
    simulation: Simulation,
    bounds: dict[str, Bound],
) -> list[str]:
    best = _best(runs, ready)
    share, error = _share(runs[best], runs[STAY])
    if chosen == STAY:
        said = [
            "nothing costs less than staying put by more than noise: "
            f"the best, {best}, costs {share:.3f} of it (+-{error:.3f})"
        ]
    else:
        said = [f"it costs {share:.3f} of staying put (+-{error:.3f})"]
    said += _played(simulation)
    if chosen in bounds and bounds[chosen].guaranteed:
        said.append(f"its bound assumes {bounds[chosen].assumes}")
    return said


def _played(simulation: Simulation) -> list[str]:
    """What was simulated, and what was not."""
    situation, n = simulation.situation, simulation.rounds
    if simulation.adversarial:
        said = [f"{simulation.worlds} runs of {n:,} rounds were played against six adversaries"]
    else:
        said = [
            f"{simulation.worlds} worlds were drawn from the prior, {n:,} rounds played in each"
        ]
    if situation.drift:
        said.append(f"each was {PHASES} worlds, one after the other")
    if n < situation.horizon:
        said.append(
            f"costs are carried on to {figure(situation.horizon)} rounds from the last half played"
        )
    if EAGER in simulation.runs() and simulation.eager_rounds < n:
        said.append(
            f"{EAGER}, which looks in every round, played {simulation.eager_rounds} of them"
        )
    return said


def _bounds(situation: Situation, case: Case | None, *, adversarial: bool) -> dict[str, Bound]:
    """What is proven of the variants, where enough is known."""
    found: list[Bound] = []
    if situation.lipschitz is not None:
        G, M = situation.lipschitz, situation.budget
        found.append(descent(situation.problem, situation.horizon, lipschitz=G, budget=M)[0])
    if case is not None and not adversarial and not situation.drift:
        found += [case.linucb(), case.lazy(), case.local(), case.steady()]
        if situation.gamma is not None and not situation.graph_known:
            found.append(case.adaptive(situation.gamma, situation.reads)[0])
        if situation.factor_norm is not None:
            joint, _ = case.joint(situation.factor_norm, correlated=situation.correlated)
            found.append(joint)
    return {bound.name: bound for bound in found}
