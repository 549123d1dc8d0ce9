"""The league: equal feedback for everybody, scores that add up, and runs that are kept."""

from __future__ import annotations

import os
import runpy
from dataclasses import astuple
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks.league import report, rivals, run, training
from benchmarks.league.match import Score, match
from benchmarks.league.players import ENTRIES, Entry, Ours
from benchmarks.league.run import Job, Run, Store
from benchmarks.league.standings import MAIN, interval, tables
from benchmarks.league.worlds import Place, Setting, settings
from trimtab.arrays import Array
from trimtab.estimators import confidence
from trimtab.estimators.confidence import BoundConfidence
from trimtab.sim.recommender import START
from trimtab.sim.worlds import Drifting

ROUNDS = 12
PRESENT = [entry for entry in ENTRIES if entry.installed()]
WORLDS = {setting.name: setting for setting in settings(ROUNDS)}


class Seen:
    """A player that another one plays through, and what it was told."""

    def __init__(self, player: object) -> None:
        self._player = player
        self.played: list[Array] = []
        self.told: list[tuple[Array, Array]] = []

    def ask(self) -> Array:
        state: Array = self._player.ask()  # type: ignore[attr-defined]
        self.played.append(np.array(state))
        return state

    def tell(self, losses: Array, played: Array) -> None:
        self.told.append((losses.copy(), played.copy()))
        self._player.tell(losses, played)  # type: ignore[attr-defined]


@cache
def place_of(name: str) -> Place:
    """The world of a seed, made once: finding its best state takes longer than a match."""
    return WORLDS[name].make(3)


def met(entry: Entry, setting: Setting, *, rounds: int = ROUNDS) -> tuple[Place, Seen, Score]:
    """A short match."""
    place = place_of(setting.name)
    seen = Seen(entry.make(place, horizon=10 * rounds, seed=3))  # rivals search all the time
    score = match(seen, place, horizon=rounds, seed=3, delay=setting.delay)
    return place, seen, score


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("entry", PRESENT, ids=lambda entry: entry.name)
def test_everybody_plays_everywhere(entry: Entry, name: str) -> None:
    if entry.slow and not WORLDS[name].small:
        return  # not part of the league
    place, seen, score = met(entry, WORLDS[name])
    assert all(place.problem.domain.contains(state) for state in seen.played)
    assert len(seen.played) == ROUNDS
    assert score.told == len(seen.told) == max(ROUNDS - WORLDS[name].delay, 0)
    assert score.regret >= -1e-9 or name.startswith(("Adult", "fairness"))  # best found by search
    assert score.total == score.regret + score.price


@pytest.mark.parametrize("name", ["degree 2, k = 10, dear", "30 % missing", "drift"])
def test_noise_and_gaps_are_the_same_for_everybody(name: str) -> None:
    chance = []
    for entry in PRESENT:
        if entry.slow:
            continue
        place, seen, _ = met(entry, WORLDS[name])
        noise = [
            losses - place.world.at(t)[0].mean(played)
            for t, (losses, played) in enumerate(seen.told, start=1)
        ]
        chance.append(np.array(noise))
    assert len(chance) >= 6
    for other in chance[1:]:
        np.testing.assert_allclose(other, chance[0], rtol=0, atol=1e-12)  # NaN at the same places
    assert np.isnan(chance[0]).any() == (name == "30 % missing")


def test_delayed_losses_are_told_with_their_state() -> None:
    rounds = 40
    delayed = WORLDS["delay of 20"]
    steady = next(entry for entry in ENTRIES if entry.name == "SPSA")
    _, seen, _ = met(steady, delayed, rounds=rounds)
    assert len(seen.told) == rounds - delayed.delay
    for t, (_, played) in enumerate(seen.told):
        assert np.array_equal(played, seen.played[t])


def test_a_policy_learns_of_an_earlier_state_what_belongs_to_it() -> None:
    place = WORLDS["degree 2, k = 10, cheap"].make(0)
    steady = next(entry for entry in ENTRIES if entry.name == "Steady")
    player = steady.make(place, horizon=100, seed=0)
    assert isinstance(player, Ours)
    losses = np.full(10, 0.5)
    player.tell(losses, np.zeros(10))
    assert player.policy.rounds == 0  # of another state: the clock stands still
    player.tell(losses, np.array(player.ask()))
    assert player.policy.rounds == 1


@pytest.mark.parametrize(("name", "least"), [("Async", 4), ("fixed defaults", 0)])
def test_scores_are_what_was_played(name: str, least: int) -> None:
    setting = WORLDS["drift"]  # changes within the first twelve rounds
    entry = next(entry for entry in ENTRIES if entry.name == name)
    place, seen, score = met(entry, setting, rounds=30)
    path = np.array([place.start, *seen.played])
    steps = np.abs(np.diff(path, axis=0))
    assert score.movement == pytest.approx(steps.sum())
    assert score.price == pytest.approx((steps @ place.problem.move_cost).sum())
    assert score.moves == (steps.sum(axis=1) > 0).sum() >= least
    worlds = [place.world.at(t)[0] for t in range(1, 31)]
    assert isinstance(place.world, Drifting)
    assert len({id(world) for world in worlds}) == 3
    losses = [world.loss(state) for world, state in zip(worlds, seen.played, strict=True)]
    assert score.loss == pytest.approx(sum(losses))
    assert score.regret == pytest.approx(score.loss - sum(w.optimum.value for w in worlds))
    assert score.final == pytest.approx(np.mean(losses[-3:]))
    best = [w.optimum.value for w in worlds]
    total = np.cumsum(np.array(losses) - best + steps @ place.problem.move_cost)
    assert len(score.curve) == 50
    assert score.curve[-1] == pytest.approx(total[-1], rel=1e-5) == pytest.approx(score.total)
    assert score.curve[24] == pytest.approx(total[14], rel=1e-5)  # half of the match
    assert score.curve[0] == pytest.approx(total[0], rel=1e-5)


# Ours.


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.ours], ids=lambda e: e.name)
def test_our_policies_have_one_configuration(entry: Entry) -> None:
    """The same radius, reg and factor, but for what the entry's name says."""
    place = place_of("recommender")
    player = entry.make(place, horizon=100, seed=0)
    assert isinstance(player, Ours)
    learner = player.policy.learner
    radius = learner.lcb.radius
    assert isinstance(radius, BoundConfidence)
    assert radius.form == ("logdet" if "proven" in entry.name else "tempered")
    if "estimated" in entry.name:
        assert radius.sigma is None
    else:
        assert radius.sigma is not None
        np.testing.assert_array_equal(radius.sigma, place.sigma)
    np.testing.assert_array_equal(radius.norm, place.norm)
    reg = 1.0 if "reg 1" in entry.name else (place.sigma / place.norm) ** 2
    np.testing.assert_allclose(learner.estimators.reg, reg)
    if "chosen" in entry.name:
        assert learner.estimators.factor != 2.0
    else:
        assert learner.estimators.factor == (1.0 if entry.name == "LinUCB" else 2.0)
    np.testing.assert_array_equal(player.ask() if "Steady" in entry.name else place.start, START)


# Rivals.


def test_a_missing_loss_counts_as_the_mean_so_far() -> None:
    total = rivals.Total(np.array([1.0, 2.0]))
    assert np.isnan(total.of(np.array([1.0, np.nan])))
    assert total.of(np.array([3.0, 5.0])) == 13.0
    assert total.of(np.array([np.nan, 1.0])) == 2.0 + 2.0


@pytest.mark.parametrize("kind", [rivals.HillClimbing, rivals.SPSA])
def test_rivals_find_the_bottom_of_a_bowl_and_stay(kind: type[rivals.Searcher]) -> None:
    place = WORLDS["one clique (paper)"].make(1)
    player = kind(place, horizon=20_000, seed=1)
    search = int(kind.SHARE * 20_000)
    target = np.array([0.3, -0.4])
    states = []
    for _ in range(search + 50):
        state = player.ask()
        states.append(state)
        player.tell(np.array([float(((state - target) ** 2).sum())]), state)
    np.testing.assert_allclose(player.ask(), target, atol=0.05)
    assert len(np.unique(states[:search], axis=0)) > 50
    assert len(np.unique(states[search:], axis=0)) == 1


@pytest.mark.parametrize(
    "entry", [e for e in PRESENT if not e.ours and e.name != "fixed defaults"], ids=lambda e: e.name
)
@pytest.mark.parametrize("horizon", [2000, 10])  # with trials, and too short for any
def test_rivals_stay_with_what_they_recommend(entry: Entry, horizon: int) -> None:
    place = place_of("30 % missing")
    player = entry.make(place, horizon=horizon, seed=1)
    assert isinstance(player, rivals.Searcher)
    seen = Seen(player)
    search = int(player.SHARE * horizon)
    match(seen, place, horizon=search + 20, seed=1)
    moves = np.abs(np.diff(seen.played, axis=0)).sum(axis=1) > 0
    assert moves[:search].sum() >= (5 if horizon == 2000 else 0)
    assert not moves[search:].any()


def test_trials_are_judged_by_the_mean_of_their_own_rounds() -> None:
    class Judge(rivals.HillClimbing):
        heard: list[float]

        def judge(self, value: float) -> None:
            self.heard = [*getattr(self, "heard", []), value]
            super().judge(value)

    place = WORLDS["one clique (paper)"].make(1)
    player = Judge(place, horizon=10_000, seed=1)
    hold = player.HOLD
    assert hold > 1
    for n in range(hold):
        assert np.array_equal(player.ask(), place.start)
        player.tell(np.array([float(n)]), place.start)
        player.tell(np.array([99.0]), place.start + 0.01)  # of another state
    assert player.heard == [(hold - 1) / 2]
    assert not np.array_equal(player.ask(), place.start)


# Runs.

FEW = run.jobs(ROUNDS, 2, worlds=["recommender", "drift"], players=["Steady", "SPSA", "LinUCB"])


def test_slow_players_take_part_in_small_worlds_only() -> None:
    assert {(job.world, job.player) for job in FEW} == {
        ("recommender", "Steady"),
        ("recommender", "SPSA"),
        ("recommender", "LinUCB"),
        ("drift", "Steady"),
        ("drift", "SPSA"),
    }
    assert [job.seed for job in FEW] == [100] * 5 + [101] * 5  # seed after seed
    last = run.jobs(ROUNDS, 3, worlds=["recommender"])[-1]
    slow = {entry.name for entry in ENTRIES if entry.slow}
    assert last.seed == 102
    assert not slow & {j.player for j in run.jobs(ROUNDS, 3) if j.seed == 102}


def test_a_stopped_league_goes_on_and_gives_the_same(tmp_path: Path) -> None:
    whole = Store(tmp_path / "whole.jsonl")
    assert run.conduct(FEW, whole, workers=1) == []
    part = Store(tmp_path / "part.jsonl")
    run.conduct(FEW[:4], part, workers=1)
    content = part.path.read_text()
    part.path.write_text(content[:-20])  # killed while it wrote
    again = Store(part.path)
    assert len(again.runs) == 3
    played = []
    kept = run.play
    try:
        run.play = lambda job: played.append(job) or kept(job)  # type: ignore[func-returns-value]
        run.conduct(FEW, again, workers=1)
    finally:
        run.play = kept
    assert played == FEW[3:]
    scores = [[r.score for r in Store(s.path).of(FEW)] for s in (whole, again)]
    assert len(scores[0]) == len(FEW)
    assert scores[0] == scores[1]


def test_a_match_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    wrong = Job("recommender", "Steady", 0, 0)  # no rounds
    store = Store(tmp_path / "runs.jsonl")
    errors = run.conduct([wrong, FEW[0]], store, workers=1)
    assert len(errors) == 1
    assert len(store.runs) == 1


def test_matches_side_by_side_have_one_thread_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")  # so that it is put back
    monkeypatch.delenv("OMP_NUM_THREADS")
    small = ["--horizon", "20", "--seeds", "1", "--workers", "1", "--worlds", "drift"]
    run.main([*small, "--players", "Steady", "SPSA", "--out", str(tmp_path)])
    assert os.environ["OMP_NUM_THREADS"] == "1"


def test_jobs_have_keys_of_their_own() -> None:
    assert len({job.key for job in FEW}) == len(FEW)


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("worlds", ["Steady", "SPSA"]),
        ("match", ["Steady", "SPSA"]),
        ("players", ["Steady"]),
        ("rivals", ["SPSA"]),
        ("gaussian_process", ["SPSA"]),
        ("report", []),
    ],
)
def test_a_changed_file_makes_those_play_again_whom_it_concerns(
    file: str, changed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [Job("recommender", player, 0, 10) for player in ("Steady", "SPSA")]
    before = [job.key for job in jobs]
    kept = run._source
    monkeypatch.setattr(run, "_source", lambda name: kept(name) + "#" * (name == file))
    assert [j.player for j, key in zip(jobs, before, strict=True) if j.key != key] == changed


# Standings.


def made_up(world: str, player: str, totals: list[float]) -> list[Run]:
    return [
        Run(
            Job(world, player, run.FIRST + seed, 100),
            Score(
                loss=x,
                price=1.0,
                regret=x - 1.0,
                movement=1.0,
                moves=2,
                final=0.1,
                told=100,
                curve=tuple(x * n / 50 for n in range(1, 51)),
            ),
            0.5,
        )
        for seed, x in enumerate(totals)
    ]


def test_intervals_are_students() -> None:
    found = interval(np.array([1.0, 2.0, 6.0]))
    assert found.mean == 3.0
    assert found.half == pytest.approx(4.302653 * np.sqrt(7.0 / 3.0))


def test_verdicts() -> None:
    runs = [
        *made_up("recommender", "Steady", [10.0, 12.0]),
        *made_up("recommender", "Steady, proven radius", [5.0, 6.0]),
        *made_up("recommender", "SPSA", [11.0, 11.2]),  # better in one seed, worse on average
        *made_up("recommender", "LinUCB", [11.0]),  # compared by the seed that it has played
        *made_up("drift", "Steady", [10.0, 12.0]),
        *made_up("drift", "SPSA", [9.5, 11.5]),  # within a tenth, where that will do
        *made_up("degree 3, k = 20", "Steady", [10.0, 12.0]),
        *made_up("degree 3, k = 20", "SPSA", [9.5, 11.5]),  # where it will not
    ]
    found = {table.setting.name: table for table in tables(runs, settings(100))}
    names = ["Steady, proven radius", "Steady", "SPSA", "LinUCB"]
    assert found["recommender"].players == names
    assert found["recommender"].others == ["SPSA", "LinUCB"]
    assert found["recommender"].ratio("SPSA", "Steady").mean == pytest.approx((1.1 + 11.2 / 12) / 2)
    assert {name: table.kept for name, table in found.items()} == {
        "recommender": True,
        "drift": True,
        "degree 3, k = 20": False,
    }


def test_report_says_plainly_where_the_promise_is_broken(tmp_path: Path) -> None:
    runs = [
        *made_up("recommender", "Steady", [10.0, 12.0]),
        *made_up("recommender", "SPSA", [5.0, 6.0]),
        *made_up("recommender", "Steady, proven radius", [2.5, 3.0]),
        *made_up("drift", "Steady", [1.0, 1.0]),
        *made_up("drift", "SPSA", [2.0, 2.0]),
        *made_up("drift", "Async", [1.5, 1.5]),
        *made_up("degree 3, k = 20", "Steady", [3.0, 1.0]),
        *made_up("degree 3, k = 20", "Async", [1.0, 1.2]),
    ]
    path = report.write(runs, tmp_path)
    text = path.read_text()
    assert "Not kept in 2 of 3 worlds" in text
    assert "seeds 100 to 101, 16 matches." in text
    assert " 30 of SPSA" in text  # seventeen worlds, two seeds, four matches played
    parts = "regret 10.0 against 4.5, price 1.0 against 1.0"
    assert f"- recommender: 2.00 ± 0.00 times the cost of SPSA ({parts}).\n" in text
    parts = "regret 1.0 against 0.1, price 1.0 against 1.0"
    assert f" times the cost of Async ({parts}); so few seeds do not exclude a draw.\n" in text
    spsa = "SPSA: 5.50 ± 6.35 | 2.00 ± 0.00"
    assert f"| recommender | hold | 11.0 ± 12.7 | {spsa} | {spsa} | **no** |" in text
    drift = "Async: 1.50 ± 0.00 | 0.67 ± 0.00 | SPSA: 2.00 ± 0.00 | 0.50 ± 0.00 | yes |"
    assert f"| drift | the world changes twice | 1.00 ± 0.00 | {drift}" in text
    assert "| SPSA | 2.5 | 2 | 2 |  | 3 |" in text  # degree 3 without it
    for name in ("relative", "parts", "time"):
        assert (tmp_path / "figures" / f"{name}.png").stat().st_size > 5000
        assert f"figures/{name}.png" in text


def test_everybody_has_a_mark_of_their_own() -> None:
    marks = report.markers()
    assert {MAIN, *marks} == {entry.name for entry in ENTRIES}
    for ours in (True, False):
        mine = [marks[e.name] for e in ENTRIES if e.ours == ours and e.name != MAIN]
        assert len(set(mine)) == len(mine)


def test_what_the_command_has_played_is_not_left_out() -> None:
    """Python makes the command a second module, whose jobs are of another class."""
    command = runpy.run_path(run.__file__)
    runs = [
        Run(command["Job"](*astuple(made.job)), made.score, 0.0)
        for world in settings(ROUNDS)
        for made in made_up(world.name, "SPSA", [1.0, 1.0])
    ]
    text = report.text([], runs)
    assert "Matches left out" in text
    assert "SPSA" not in text.partition("Matches left out")[2].partition("\n")[0]


# Training.


def test_training_tries_every_choice(capsys: pytest.CaptureFixture[str]) -> None:
    training.main(["--horizon", "150", "--worlds", "ring 8, price 1"])
    head, _, row = capsys.readouterr().out.splitlines()
    assert head.count("|") == row.count("|") == 14
    cells = [float(cell.replace(",", "")) for cell in row.split("|")[2:-1]]
    fixed, chosen = cells[1:6], cells[6:11]
    assert all(0.0 < x < 10.0 for x in (*fixed, *chosen))
    assert len(set(fixed)) >= 3  # the radius matters
    assert fixed != chosen  # and so does the factor
    assert confidence.TEMPER == 0.15  # put back


def test_training_is_not_in_the_league() -> None:
    assert not training.WORLDS.keys() & WORLDS.keys()
    assert training.FIRST >= run.FIRST + 100
