r"""What every contender costs in the same worlds.

The cost of a run is its regret, expected weighted losses above those of the best state, and the
price of its movement. Where the horizon T is too long to be played, the last half of the n rounds
that were played tells the rest. With A its cost,

    A (T^p - n^p) / (n^p - (n / 2)^p),    p = 1 - min(1, 1 - a / s) / 2,

where a and s are mean costs of a round in that half, of the variant and of staying put: who has
learned much pays with the root of the rounds, as the bounds do, and who has learned nothing yet
in proportion, as staying put does and all do in a world that drifts.

How much is played depends on counted work, never on the clock: the same question has the same
answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.advise.contenders import DESCENT, EAGER, STAY, Contender
from trimtab.advise.descent import adversarial_pair, descend
from trimtab.advise.situation import Situation
from trimtab.advise.worlds import STRATA, world_number
from trimtab.arrays import Array
from trimtab.errors import InvalidInput, SolverFailed
from trimtab.model.bases import Monomials
from trimtab.model.problem import Problem
from trimtab.sim.play import play
from trimtab.sim.trace import Trace
from trimtab.sim.worlds import Drifting, World

ROUNDS, LEAST_ROUNDS = 1000, 30  # played at most, and at least if the horizon has as many
WORK = 8.0  # seconds, about and at most
PER_LOOK, PER_FEATURE = 1.2e-3, 5e-6  # of work: of a look, and of each of its features
PER_ROUND = 2e-5  # of a run
OTHER_FEATURES = 30.0  # times as much work where features are not powers of knobs
LOOKS = 100  # of all variants in a world, about
EAGER_WORK = 0.45  # of all work, that a variant which looks in every round may take
MOST_WORLDS = 96


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of one variant, world by world: (n,) each. Who retires early has fewer."""

    cost: Array  # at the horizon
    regret: Array  # of the rounds played, as are the others
    price: Array
    movement: Array
    looks: Array


class Simulation:
    """Runs of all contenders in the same worlds.

    Args:
        situation: the problem, and what is known of it.
        contenders: who plays; those that are absent do not.
        adversarial: whether losses are chosen by adversaries.
        effort: how much is simulated, as a share of the usual.
    """

    def __init__(
        self,
        situation: Situation,
        contenders: list[Contender],
        *,
        adversarial: bool = False,
        effort: float = 1.0,
    ) -> None:
        self.situation = situation
        self.contenders = [each for each in contenders if not each.absent]
        self.adversarial = adversarial
        self.effort = effort
        self.rounds = rounds_for(situation.problem, situation.horizon, effort)
        self.eager_rounds = eager_rounds(situation.problem, situation.horizon, effort)
        self.worlds, self.work = 0, 0.0
        self.failed: dict[str, str] = {}
        self.retired: set[str] = set()  # who plays no more: it is clearly not the cheapest
        self._traces: dict[str, list[Trace]] = {}

    @property
    def exhausted(self) -> bool:
        """Whether as much was played as may be."""
        return self.work >= self.effort * WORK or self.worlds >= MOST_WORLDS

    def play(self) -> None:
        """Play in some more worlds."""
        for n in range(self.worlds, self.worlds + STRATA):
            if self.adversarial:
                stayed, moving = adversarial_pair(self.situation, n, self.rounds)
                self._keep(STAY, stayed)
                self._keep(DESCENT, moving)
                continue
            world = world_number(n, self.situation, self.rounds)
            for contender in self.contenders:
                if contender.name not in self.failed and contender.name not in self.retired:
                    self._play(contender, world, n)
        self.worlds += STRATA

    def _play(self, contender: Contender, world: World | Drifting, n: int) -> None:
        now, _ = world.at(1)
        try:
            if contender.name == DESCENT:
                trace = descend(self.situation, world, self.rounds)
            else:
                policy = contender.policy(self.situation, now)
                noise = np.random.default_rng((self.situation.seed, 13, n))  # the same for all
                rounds = self.eager_rounds if contender.name == EAGER else self.rounds
                trace = play(policy, world, horizon=rounds, seed=noise)
        except (InvalidInput, SolverFailed) as error:
            self.failed[contender.name] = f"it is not possible here: {error}"
            self._traces.pop(contender.name, None)
            return
        self._keep(contender.name, trace)

    def _keep(self, name: str, trace: Trace) -> None:
        self._traces.setdefault(name, []).append(trace)
        looks = 0 if name == DESCENT else trace.solves
        self.work += looks * work_per_look(self.situation.problem) + PER_ROUND * self.rounds

    def runs(self) -> dict[str, Runs]:
        """What came of it, by variant."""
        stayed = self._traces[STAY]
        rate = float(np.mean([_cost(trace) / trace.horizon for trace in stayed]))
        return {name: self._carried_on(traces, rate) for name, traces in self._traces.items()}

    def _carried_on(self, traces: list[Trace], rate: float) -> Runs:
        """The runs of a variant, at the horizon; rate is what a round of staying put costs."""
        T, n = self.situation.horizon, traces[0].horizon
        cost = np.array([_cost(trace) for trace in traces])
        late = np.array([late_cost(trace) for trace in traces])
        share = float(late.mean()) / (n - n // 2) / rate if rate > 0.0 else 1.0
        if self.situation.drift or self.adversarial:
            share = 1.0
        return Runs(
            cost=cost + late * growth(n, T, share),
            regret=np.array([trace.regret for trace in traces]),
            price=np.array([trace.move_cost for trace in traces]),
            movement=np.array([trace.movement for trace in traces]),
            looks=np.array([trace.solves for trace in traces], np.float64),
        )


def work_per_look(problem: Problem) -> float:
    """The seconds that a look takes, about."""
    each = PER_LOOK + PER_FEATURE * int(problem.dims.sum())
    return each if isinstance(problem.features, Monomials) else OTHER_FEATURES * each


def rounds_for(problem: Problem, horizon: int, effort: float = 1.0) -> int:
    """How many rounds are played: all, if that takes no more than a few seconds."""
    share = min(effort * WORK / (STRATA * LOOKS * work_per_look(problem)), 1.0)
    return min(horizon, max(LEAST_ROUNDS, int(ROUNDS * share**2)))


def eager_rounds(problem: Problem, horizon: int, effort: float = 1.0) -> int:
    """How many rounds are played by a variant that looks in each of them."""
    most = int(EAGER_WORK * effort * WORK / (STRATA * work_per_look(problem)))
    return min(rounds_for(problem, horizon, effort), most)


def growth(n: int, horizon: int, share: float) -> float:
    """What the rounds from n on cost, over the cost of the last half of n.

    Args:
        n: rounds played.
        horizon: T.
        share: the cost of a round then, over that of staying put.

    >>> growth(100, 1000, 1.0), round(growth(100, 400, 0.0), 3)
    (18.0, 3.414)
    """
    half = n // 2
    if horizon <= n or half == 0:
        return 0.0
    p = 1.0 - 0.5 * min(max(1.0 - share, 0.0), 1.0)
    return float((float(horizon) ** p - n**p) / (n**p - half**p))


def late_cost(trace: Trace) -> float:
    """What the last half of a run has cost: regret, and the price of its moves."""
    half = trace.horizon // 2
    states = np.vstack((trace.start, trace.states))
    begun = np.concatenate(([0], trace.ends[:-1])) >= half
    paid = (np.abs(np.diff(states, axis=0)) @ trace.prices)[begun].sum()
    return float(trace.regret - trace.regret_at(half)[0] + paid)


def _cost(trace: Trace) -> float:
    return trace.regret + trace.move_cost
