"""Which variant to use: the paper's Table 1, computed for the problem at hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trimtab.arrays import ArrayLike
from trimtab.errors import InvalidInput
from trimtab.estimators import Confidence
from trimtab.problem import Problem
from trimtab.theory.advice import Advice, figure, sentence
from trimtab.theory.variants import Case, Row


def advise(
    problem: Problem,
    horizon: int,
    *,
    sigma: ArrayLike,
    norm: ArrayLike,
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
) -> Advice:
    """The variant to use on this problem, by the bounds of all of them.

    That is `SteadyGraphLinUCB`, unless the bound of another one, regret and price of movement
    together, is below that of Algorithm 1, which Steady shares. Against an adversary it is
    `LazyOGD`, in a world that drifts Steady with its alarm. Bounds are worst cases, with
    probability 1 - delta and exact solves; they tell variants apart before anything was
    played. A run's own `certificate` is usually far smaller.

    Deviation: the paper's guide names situations, not numbers, and for asynchronous updates an
    assumption that does not hold. Here these have a regret bound only where every component of
    the graph is a clique.

    >>> import trimtab as tt
    >>> ring = tt.Graph.from_edges(6, [(j, (j + 1) % 6) for j in range(6)])
    >>> problem = tt.Problem(ring, move_cost=100.0)
    >>> advice = tt.theory.advise(problem, 10**6, sigma=0.1, norm=1.0)
    >>> print(advice)
    variant                  regret   movement        price     together      looks  holds
      LinUCB                327,358  6,000,006  600,000,600  600,327,958  1,000,000    yes
      LazyGraphLinUCB       367,730      6,105      610,548      978,277      1,017    yes
      AsyncLazyGraphLinUCB        -      3,116      311,574            -      1,017     no
    * SteadyGraphLinUCB     978,301      6,105      610,548      978,301      1,017    yes
      AdaptiveGraphLinUCB         -          -            -            -          -     no
      JointLazyGraphLinUCB        -          -            -            -          -     no
      LazyOGD                     -          -            -            -          -     no
    Why SteadyGraphLinUCB
    - The movement price of Algorithm 1's bound (610,548) exceeds its regret bound
      (367,730): price moves.
    - The start state may be kept for the first rounds, at 12 each.
    - Assumed: noise of scale sigma, parameters within norm; all losses observed.
    Why not
    - LinUCB: It looks in every round, where Algorithm 1 looks at most 1,017 times in
      1,000,000 rounds.
    - LazyGraphLinUCB: It never asks whether a move is worth its price.
    - AsyncLazyGraphLinUCB: Some component of the graph is no clique, and local updates may
      then stop at a state that none of them improves: no regret bound.
    - AdaptiveGraphLinUCB: The graph is known.
    - JointLazyGraphLinUCB: Give factor_norm if criteria share factors (Assumption D).
    - LazyOGD: Give lipschitz if gradients of convex losses can be told.
    >>> policy = getattr(tt, advice.variant)(problem, start=[0.5] * 6, **advice.options)

    Args:
        problem: with its move_cost; on a super-graph if the graph is not known.
        horizon: T, for how many rounds.
        sigma: the noise of each criterion's loss, one number or one each.
        norm: a bound on the length of each criterion's parameter.
        delta: the probability with which the bounds may fail.
        reg: the ridge parameter, one number or one per criterion.
        factor: C. Without this option Steady chooses one of its own.
        worst: the largest total loss of a state less the least one; 2 sum_i w_i norm_i L_i, which
            may be far too large, by default.
        adversarial: whether losses may be anything convex; their gradients must be told then.
        drift: whether the expected losses change now and then.
        graph_known: whether every criterion reads all knobs of its scope.
        gamma: where it does not, the least size of a dependency that is there.
        reads: how many knobs (or balls) a criterion is thought to read then. At 1, learning the
            graph is worth most.
        correlated: whether the noise of criteria that share knobs is.
        factor_norm: if losses are made of shared factors (Assumption D), a bound on the length
            of the parameters of all of them together.
        lipschitz: if gradients of convex losses can be told, their largest length.
        budget: how often the state may change then; in every round by default.
    """
    radius = Confidence(sigma=sigma, norm=norm, delta=delta)
    case = Case(problem, horizon, radius=radius, reg=reg, factor=factor, worst=worst)
    if adversarial and lipschitz is None:
        raise InvalidInput(
            "lipschitz is missing; adversarial losses need gradients: say how long these can be"
        )
    common = {"radius": radius, "reg": reg, "factor": factor}
    offers = [
        _linucb(case, {"radius": radius, "reg": reg}),
        Offer(case.lazy(), common, against="it never asks whether a move is worth its price"),
        _local(case, common),
        _steady(case, common),
        _adaptive(case, common, graph_known, gamma, reads),
        _joint(case, common, factor_norm, correlated),
        _descent(case, lipschitz, budget),
    ]
    if adversarial:
        offers = [_against_adversary(offer) for offer in offers]
    elif drift:
        offers = [_in_drift(offer) for offer in offers]
    chosen = _choice(offers, fixed=adversarial or drift)
    reasons = [*chosen.reasons]
    if correlated and chosen.row.name != "LazyOGD":
        reasons.append("correlated noise does not matter where sigma is that of each criterion")
    least = chosen.row.total
    if least is not None and least > case.T * case.worst:
        reasons.append(
            f"no policy can lose more than {figure(case.T * case.worst)}, which is less than the "
            "bound: at this horizon it says nothing yet, so go by the certificate of the run"
        )
    rows = tuple(
        offer.row if offer is chosen else replace(offer.row, against=_why_not(offer, chosen))
        for offer in offers
    )
    return Advice(
        variant=chosen.row.name,
        options=dict(chosen.options),
        reasons=tuple(map(sentence, reasons)),
        rows=rows,
    )


@dataclass(frozen=True)
class Offer:
    """A variant, how to build it, and what speaks for and against it."""

    row: Row
    options: dict[str, Any]
    reasons: tuple[str, ...] = ()
    against: str = ""
    open: bool = False  # it may take the place of Steady


def _choice(offers: list[Offer], *, fixed: bool) -> Offer:
    """Steady, or what is below the bound that it shares with Algorithm 1."""
    named = {offer.row.name: offer for offer in offers}
    if fixed:
        return next(offer for offer in offers if offer.open)
    best, least = named["SteadyGraphLinUCB"], named["LazyGraphLinUCB"].row.total
    for offer in offers:
        if offer.open and offer.row.total is not None and least is not None:
            best, least = (offer, offer.row.total) if offer.row.total < least else (best, least)
    return best


def _why_not(offer: Offer, chosen: Offer) -> str:
    """What speaks against a variant once another one was chosen."""
    if offer.against:
        return sentence(offer.against)
    mine, theirs = offer.row.total, chosen.row.total
    return f"Its bound is {figure(mine)}, that of {chosen.row.name} {figure(theirs)}."


def _linucb(case: Case, options: dict[str, Any]) -> Offer:
    row, lazy = case.linucb(), case.lazy()
    free = not case.problem.move_cost.any()
    looks = f"{figure(lazy.looks)} times in {figure(case.T)} rounds"
    return Offer(
        row,
        options,
        reasons=(f"moves are free and Algorithm 1 may look {looks}: laziness saves nothing here",),
        against=f"it looks in every round, where Algorithm 1 looks at most {looks}",
        open=free and (lazy.looks or 0.0) >= case.T,
    )


def _local(case: Case, options: dict[str, Any]) -> Offer:
    row, lazy = case.local(), case.lazy()
    if not row.guaranteed:
        against = (
            "some component of the graph is no clique, and local updates may then stop at a state "
            "that none of them improves: no regret bound"
        )
        return Offer(row, options, against=against)
    if len(case.problem.graph.components()) == 1:
        return Offer(row, options, against="the graph is one clique: every update is a global one")
    if row.price == 0.0:
        return Offer(row, options, against="moves are free, so that local ones save nothing")
    reason = (
        "every component of the graph is a clique, so local updates keep the regret bound, and "
        f"the price of movement is at most {figure(row.price)} instead of {figure(lazy.price)}"
    )
    return Offer(row, options, reasons=(reason,), open=True)


def _steady(case: Case, options: dict[str, Any]) -> Offer:
    lazy = case.lazy()
    price, regret = lazy.price or 0.0, lazy.regret or 0.0
    if price == 0.0:
        reason = "moves are free, so it looks as Algorithm 1 does; set move_cost if they are not"
    elif price > regret:
        reason = (
            f"the movement price of Algorithm 1's bound ({figure(price)}) exceeds its regret "
            f"bound ({figure(regret)}): price moves"
        )
    else:
        reason = (
            f"the movement price of Algorithm 1's bound ({figure(price)}) is below its regret "
            f"bound ({figure(regret)}); priced moves have the same bound for both together"
        )
    start = f"the start state may be kept for the first rounds, at {figure(case.worst)} each"
    return Offer(case.steady(), options, reasons=(reason, start), open=True)


def _adaptive(
    case: Case, options: dict[str, Any], known: bool, gamma: ArrayLike | None, reads: int
) -> Offer:
    blank = Row(name="AdaptiveGraphLinUCB")
    if known:
        return Offer(blank, options, against="the graph is known")
    if gamma is None:
        against = "give gamma, the least size of a dependency; a super-graph is safe without it"
        return Offer(blank, options, against=against)
    row, tau, pays = case.adaptive(gamma, reads)
    if not row.guaranteed:
        return Offer(row, options, against=row.against)
    spent = f"the warm-up takes up to {figure(tau)} rounds at {figure(case.worst)} each"
    when = "never pays" if pays == np.inf else f"pays from {figure(pays)} rounds on"
    when += f", if a criterion reads {reads} of up to {case.widest} knobs"
    return Offer(
        row,
        options | {"gamma": gamma},
        reasons=(f"{spent}; knowing the graph {when}",),
        against=f"{spent}; knowing the graph {when}",
        open=tau < case.T,
    )


def _joint(
    case: Case, options: dict[str, Any], factor_norm: float | None, correlated: bool
) -> Offer:
    if factor_norm is None:
        against = "give factor_norm if criteria share factors (Assumption D)"
        return Offer(Row(name="JointLazyGraphLinUCB"), options, against=against)
    row, reg = case.joint(factor_norm, correlated=correlated)
    options = options | {"factor_norm": factor_norm, "factor_reg": reg}
    if correlated:
        options["covariance"] = np.diag(case.covariance())
    reason = (
        f"criteria share factors: learned together they cost at most {figure(row.total)}, one by "
        f"one {figure(case.cost(case.T))}"
    )
    return Offer(row, options, reasons=(reason,), against=row.against, open=row.guaranteed)


def _descent(case: Case, lipschitz: float | None, budget: int | None) -> Offer:
    if lipschitz is None:
        against = "give lipschitz if gradients of convex losses can be told"
        return Offer(Row(name="LazyOGD"), {}, against=against)
    row, step = case.ogd(lipschitz, budget)
    M = case.T if budget is None else budget
    options = {"horizon": case.T, "lipschitz": lipschitz, "budget": M, "step": step}
    reason = (
        f"gradients are told: at most {figure(row.regret)} above the best fixed state and "
        f"{figure(row.price)} of movement, in {figure(row.looks)} changes at most"
    )
    return Offer(row, options, reasons=(reason,), against=row.against, open=row.guaranteed)


def _against_adversary(offer: Offer) -> Offer:
    """What is left of an offer if losses are anything: the bounds that ask nothing of them."""
    if offer.row.name == "LazyOGD":
        if not offer.open:
            raise InvalidInput(
                f"nothing has a bound against an adversary here: {offer.row.against}; use "
                "intervals, and round what LazyOGD says"
            )
        told = "losses are adversarial, and only gradient descent has a bound then"
        return replace(offer, reasons=(told, *offer.reasons))
    return _without(offer, "its bounds need losses with fixed means")


def _in_drift(offer: Offer) -> Offer:
    """What is left of an offer if the world changes."""
    if offer.row.name == "SteadyGraphLinUCB":
        told = (
            "the world drifts: it restarts a criterion whose losses contradict what was learned",
            "no bound covers a change; one that does not show at the state deployed is seen only "
            "with period=",
        )
        row = replace(_without(offer, "").row, assumes="changes show at the state deployed")
        return replace(offer, row=row, options=offer.options | {"alarm": True}, reasons=told)
    if offer.row.name == "LazyOGD":
        return replace(offer, open=False, against=offer.against or "its rival is a fixed state")
    return _without(offer, "the world drifts, and it never forgets")


def _without(offer: Offer, against: str) -> Offer:
    """The offer without its regret bound.

    Determinants grow whatever the losses are, so that bounds on looks and movement stay, but not
    those of policies that restart criteria or choose their graph by the losses.
    """
    row = replace(offer.row, regret=None, total=None, guaranteed=False)
    if row.name in ("SteadyGraphLinUCB", "AdaptiveGraphLinUCB"):
        row = replace(row, movement=None, price=None, looks=None)
    if offer.row.total is None and offer.against:  # there was no bound anyway
        against = offer.against
    return replace(offer, row=row, reasons=(), against=against, open=False)
