"""The league's rivals: plans for every horizon, a search of that length, and no handicaps."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest

from benchmarks.league import pilot, rivals
from benchmarks.league.bluefin import BlueFin
from benchmarks.league.bonsai import Ax
from benchmarks.league.match import match
from benchmarks.league.place import Place
from benchmarks.league.plans import HORIZONS, PLANS, Plan, planned
from benchmarks.league.rivals import Searcher
from benchmarks.league.roster import RIVALS
from benchmarks.league.travel import Xopt
from benchmarks.league.worlds import settings
from trimtab.arrays import Array

Kind = type[Searcher]
PRESENT = [kind for kind in RIVALS if all(find_spec(package) for package in kind.needs)]
FAST = [kind for kind in PRESENT if not kind.slow]
TARGET = np.array([0.3, -0.4])


@cache
def place_of(name: str) -> Place:
    """A world of the league, made once."""
    return next(setting for setting in settings(300) if setting.name == name).make(1)


def name_of(kind: Kind) -> str:
    return kind.name


class Path:
    """A rival, and the states that it plays."""

    def __init__(self, player: Searcher) -> None:
        self._player = player
        self.states: list[Array] = []

    def ask(self) -> Array:
        self.states.append(np.array(self._player.ask()))
        return self.states[-1]

    def tell(self, losses: Array, played: Array) -> None:
        self._player.tell(losses, played)

    @property
    def moves(self) -> list[bool]:
        return [
            not np.array_equal(a, b) for a, b in zip(self.states, self.states[1:], strict=False)
        ]


# Plans.


@pytest.mark.parametrize("kind", RIVALS, ids=name_of)
def test_every_rival_has_a_plan_for_every_horizon(kind: Kind) -> None:
    assert tuple(PLANS[kind.name]) == HORIZONS
    for horizon, plan in PLANS[kind.name].items():
        trials = plan.share * horizon / plan.hold
        assert 4 <= trials <= (20 if kind.slow else 500) or plan.share == 1.0
        assert plan.options.keys() <= kind.DEFAULTS.keys()
    assert len({kind.name for kind in RIVALS}) == len(RIVALS) == len(PLANS)


def test_a_horizon_between_has_the_plan_of_the_nearest_by_ratio() -> None:
    known = PLANS["SPSA"]
    for horizon, nearest in [(10, 300), (540, 300), (560, 1_000), (2_200, 1_000), (2_300, 5_000)]:
        assert planned("SPSA", horizon) is known[nearest]
    player = rivals.SPSA(place_of("recommender"), horizon=4_000, seed=1)
    assert (player.share, player.hold) == (known[5_000].share, known[5_000].hold)


# All rivals.


@pytest.mark.parametrize("kind", PRESENT, ids=name_of)
@pytest.mark.parametrize("missing", [False, True])
def test_rivals_search_for_their_share_and_stay_in_the_domain(kind: Kind, missing: bool) -> None:
    place = place_of("30 % missing" if missing and not kind.slow else "recommender")
    plan = Plan(0.25, 2, planned(kind.name, 80).options)
    player = kind(place, horizon=80, seed=1, plan=plan)
    path = Path(player)
    match(path, place, horizon=60, seed=1)
    assert player.search == 20
    assert sum(path.moves[:20]) >= 6
    assert path.moves[19]  # to what it recommends
    assert not any(path.moves[20:])
    assert all(place.problem.domain.contains(state) for state in path.states)


@pytest.mark.parametrize("kind", PRESENT, ids=name_of)
def test_the_same_seed_gives_the_same_path(kind: Kind) -> None:
    place = place_of("recommender")
    paths = []
    for seed in (1, 1, 2):
        player = kind(place, horizon=40, seed=seed, plan=Plan(0.5, 2, {}))
        paths.append(Path(player))
        match(paths[-1], place, horizon=21, seed=1)
    np.testing.assert_array_equal(paths[0].states, paths[1].states)
    assert not np.array_equal(paths[0].states, paths[2].states)


@pytest.mark.parametrize("kind", PRESENT, ids=name_of)
def test_who_has_heard_nothing_stays_with_the_start(kind: Kind) -> None:
    place = place_of("recommender")
    player = kind(place, horizon=20, seed=1, plan=Plan(0.5, 2))
    for _ in range(12):
        player.tell(np.full(place.problem.graph.criteria, np.nan), player.ask())
    np.testing.assert_array_equal(player.ask(), place.start)


@pytest.mark.parametrize("kind", FAST, ids=name_of)
def test_rivals_find_the_bottom_of_a_bowl(kind: Kind) -> None:
    """Without noise, from another place of the disc."""
    place = place_of("one clique (paper)")
    player = kind(place, horizon=5_000, seed=1, plan=Plan(0.2, 5, bowl(kind)))
    assert ((place.start - TARGET) ** 2).sum() > 0.1
    for _ in range(1_001):
        state = player.ask()
        player.tell(np.array([float(((state - TARGET) ** 2).sum())]), state)
    np.testing.assert_allclose(player.ask(), TARGET, atol=0.2)


def bowl(kind: Kind) -> dict[str, float]:
    """BlueFin's defaults are for rewards that differ by more."""
    return {"eta": 0.1} if kind is BlueFin else {}


def test_a_missing_loss_counts_as_the_mean_so_far() -> None:
    total = rivals.Total(np.array([1.0, 2.0]))
    assert np.isnan(total.of(np.array([1.0, np.nan])))
    assert total.of(np.array([3.0, 5.0])) == 13.0
    assert total.of(np.array([np.nan, 1.0])) == 2.0 + 2.0


def test_trials_are_judged_by_the_mean_of_their_own_rounds() -> None:
    class Judge(rivals.HillClimbing):
        heard: list[float]

        def judge(self, value: float) -> None:
            self.heard = [*getattr(self, "heard", []), value]
            super().judge(value)

    place = place_of("one clique (paper)")
    player = Judge(place, horizon=100, seed=1, plan=Plan(0.5, 5))
    for n in range(5):
        assert np.array_equal(player.ask(), place.start)
        player.tell(np.array([float(n)]), place.start)
        player.tell(np.array([99.0]), place.start + 0.01)  # of another state
    assert player.heard == [2.0]
    assert not np.array_equal(player.ask(), place.start)


# BlueFin.


def test_bluefin_never_stops() -> None:
    place = place_of("recommender")
    for horizon in HORIZONS:
        assert planned("BlueFin", horizon).share == 1.0
    player = BlueFin(place, horizon=300, seed=1)
    path = Path(player)
    match(path, place, horizon=300, seed=1)
    last = path.moves[-2 * player.hold :]
    assert sum(last) >= 2
    assert all(place.problem.domain.contains(state) for state in path.states)


@pytest.mark.parametrize(("points", "gradient"), [(2, (5.0 - 3.0) / 0.2), (1, -3.0 / 0.1)])
def test_bluefin_steps_as_its_formula_says(points: int, gradient: float) -> None:
    place = place_of("one clique (paper)")
    plan = Plan(1.0, 1, {"points": points, "eta": 0.01, "delta": 0.1, "decay": 0.5, "rms": 0})
    player = BlueFin(place, horizon=100, seed=1, plan=plan)
    centre = player.unit(np.zeros(2))
    player._w = centre
    player.go(centre + 0.1 * player._u)
    along = player._u
    assert np.linalg.norm(along) == pytest.approx(1.0)
    player.tell(np.array([3.0]), player.ask())
    if points == 2:
        np.testing.assert_allclose(player.unit(player.ask()), centre - 0.1 * along)
        player.tell(np.array([5.0]), player.ask())
    np.testing.assert_allclose(player._w, centre + 0.01 * gradient * along)
    reach = np.linalg.norm(player.unit(player.ask()) - player._w)
    assert reach == pytest.approx(0.1 * np.sqrt(0.5))  # the radius falls with the root


# Ax and Xopt, where they are installed.


def test_ax_leaves_knobs_alone_and_xopt_goes_only_so_far() -> None:
    place = place_of("recommender")
    for kind in {Ax, Xopt}.intersection(PRESENT):
        player = kind(place, horizon=20, seed=1, plan=Plan(0.5, 1))
        path = Path(player)
        match(path, place, horizon=10, seed=1)
        states = np.array([player.unit(state) for state in path.states])
        if kind is Ax:  # six trials of its model, pruned against the start
            np.testing.assert_array_equal(states[1], 0.5)
            assert np.isclose(states[5:], states[0], rtol=0, atol=1e-9).sum() >= 2
            assert not np.isclose(states[1:5], states[0], rtol=0, atol=1e-9).any()
        else:
            assert np.abs(np.diff(states, axis=0)).max() <= player.options["travel"] + 1e-9


# The pilot.


def test_the_rounds_that_the_pilot_does_not_play_cost_what_they_would() -> None:
    place = pilot.place("cliff, 7 knobs", 900)
    for kind in FAST[:3]:
        full, short = (kind(place, horizon=300, seed=900) for _ in range(2))
        paid = match(full, place, horizon=300, seed=900).total
        assert pilot.total(short, place, horizon=300, seed=900) == pytest.approx(paid)


def test_the_pilot_prints_what_it_chose_from(capsys: pytest.CaptureFixture[str]) -> None:
    pilot.main(["--player", "SPSA", "--horizon", "300", "--worlds", "scopes", "--seeds", "1"])
    rows = [line.split("|")[3:5] for line in capsys.readouterr().out.splitlines()[2:]]
    costs = {plan.strip(): float(cost) for plan, cost in rows if cost.strip()}
    assert len(costs) == len(rows) - 1 >= 23
    best = min(costs, key=lambda plan: costs[plan])
    assert rows[-1][0].strip() == f"**{best}**"


def test_the_pilot_tries_what_the_rivals_have() -> None:
    for name, options in pilot.OPTIONS.items():
        assert options.keys() <= pilot.PLAYERS[name].DEFAULTS.keys()
        for option, values in options.items():
            assert pilot.PLAYERS[name].DEFAULTS[option] not in values
    assert pilot.OPTIONS.keys() == PLANS.keys()
