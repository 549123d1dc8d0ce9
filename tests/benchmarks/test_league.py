"""The league: equal feedback for everybody, scores that add up, and runs that are kept."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks.league import baseline, report, run, training
from benchmarks.league.match import Score, match
from benchmarks.league.place import Now, Place, Setting
from benchmarks.league.players import (
    ENTRIES,
    EVERYTHING,
    FIXED,
    MIDDLE,
    NOTHING,
    TUNER,
    Entry,
    ToldEverything,
)
from benchmarks.league.rivals import Searcher
from benchmarks.league.run import Job, Run, Store
from benchmarks.league.standings import Row, Standings, interval
from benchmarks.league.worlds import settings
from trimtab.arrays import Array
from trimtab.sim.worlds import Drifting
from trimtab.solve import Solution

ROUNDS = 12
PRESENT = [entry for entry in ENTRIES if entry.installed()]
WORLDS = {setting.name: setting for setting in settings(ROUNDS)}
QUICK = [entry for entry in PRESENT if not entry.slow]


def entry_of(name: str) -> Entry:
    return next(entry for entry in ENTRIES if entry.name == name)


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
    """The world of a seed, made once."""
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
    if (entry.slow and not WORLDS[name].small) or (entry.boxes and not WORLDS[name].box):
        return  # not part of the league
    place, seen, score = met(entry, WORLDS[name])
    assert all(place.problem.domain.contains(state) for state in seen.played)
    assert len(seen.played) == ROUNDS
    assert score.told == len(seen.told) == max(ROUNDS - WORLDS[name].delay, 0)
    assert score.regret >= -1e-9 or not WORLDS[name].holds  # elsewhere the best is found by search
    assert score.total == score.regret + score.price


def noise_met(place: Place, seen: Seen) -> Array:
    """What was told beyond the expected losses: (rounds, m)."""
    return np.array(
        [
            losses - place.world.at(t)[0].mean(played)
            for t, (losses, played) in enumerate(seen.told, start=1)
        ]
    )


@pytest.mark.parametrize(
    "name", ["degree 2, k = 10, dear", "30 % missing", "drift", "spikes", "cliff", "daily cycle"]
)
def test_noise_and_gaps_are_the_same_for_everybody(name: str) -> None:
    chance = [noise_met(*met(entry, WORLDS[name])[:2]) for entry in QUICK]
    assert len(chance) >= 6
    for other in chance[1:]:
        np.testing.assert_allclose(other, chance[0], rtol=0, atol=1e-12)  # NaN at the same places
    assert np.isnan(chance[0]).any() == (name == "30 % missing")


def test_everybody_is_told_the_very_losses_of_the_round() -> None:
    """Rivals see every criterion, not a total: nobody is told less than another."""
    for entry in QUICK:
        place, seen, _ = met(entry, WORLDS["degree 3, k = 20"])
        for t, (losses, played) in enumerate(seen.told, start=1):
            expected = place.world.at(t)[0].draw(played, np.random.default_rng((3, t)), t)
            np.testing.assert_array_equal(losses, expected)


def test_rivals_are_told_domain_start_weights_and_horizon() -> None:
    place = place_of("fairness, 6 groups")
    weights, losses = place.problem.weights, np.arange(1.0, place.problem.criteria + 1.0)
    assert weights.max() > weights.min()
    for entry in (entry for entry in PRESENT if entry.rival and entry.name != MIDDLE):
        players = [entry.make(place, horizon=horizon, seed=0) for horizon in (300, 5000)]
        first, longer = (player for player in players if isinstance(player, Searcher))
        assert first.share * 300 < longer.share * 5000  # they know how long the match is
        assert np.abs(first.ask() - place.start).max() < 0.5  # and begin around what runs
        heard: list[float] = []
        first.judge = heard.append  # type: ignore[assignment,method-assign]
        while not heard:
            first.tell(losses, first.ask())
        assert heard[0] == pytest.approx(weights @ losses)


class Higher:
    """A world with a constant added to every loss."""

    def __init__(self, now: Now, constant: float) -> None:
        self._now, self._constant, self.problem = now, constant, now.problem

    def mean(self, state: Array) -> Array:
        return self._now.mean(state) + self._constant

    def loss(self, state: Array) -> float:
        return float(self.problem.weights @ self.mean(state))

    def draw(self, state: Array, rng: np.random.Generator, t: int = 1) -> Array:
        return self._now.draw(state, rng, t) + self._constant

    @property
    def optimum(self) -> Solution:
        best = self._now.optimum
        return replace(best, value=best.value + self._constant * float(self.problem.weights.sum()))

    def at(self, t: int) -> tuple[Higher, int | None]:
        return self, None


@pytest.mark.parametrize("entry", [e for e in QUICK if not e.ours], ids=lambda e: e.name)
def test_a_constant_added_to_every_loss_changes_no_score(entry: Entry) -> None:
    place = place_of("cliff")
    higher = replace(place, world=Higher(place.world.at(1)[0], 1024.0))
    scores = [
        match(entry.make(each, horizon=300, seed=1), each, horizon=100, seed=1)
        for each in (place, higher)
    ]
    assert scores[0].total > 0.0
    for what in ("total", "price", "movement", "moves"):
        assert getattr(scores[1], what) == pytest.approx(getattr(scores[0], what), rel=1e-6)
    assert scores[1].loss > scores[0].loss + 1e5


def test_delayed_losses_are_told_with_their_state() -> None:
    rounds = 40
    delayed = WORLDS["delay of 20"]
    for name in ("SPSA", TUNER):
        _, seen, _ = met(entry_of(name), delayed, rounds=rounds)
        assert len(seen.told) == rounds - delayed.delay
        for t, (_, played) in enumerate(seen.told):
            assert np.array_equal(played, seen.played[t])


def test_a_policy_learns_of_an_earlier_state_what_belongs_to_it() -> None:
    place = WORLDS["degree 2, k = 10, cheap"].make(0)
    player = entry_of(EVERYTHING).make(place, horizon=100, seed=0)
    assert isinstance(player, ToldEverything)
    losses = np.full(10, 0.5)
    player.tell(losses, np.zeros(10))
    assert player.policy.rounds == 0  # of another state: the clock stands still
    player.tell(losses, np.array(player.ask()))
    assert player.policy.rounds == 1


@pytest.mark.parametrize(("name", "least"), [("Async, told everything", 4), (FIXED, 0)])
def test_scores_are_what_was_played(name: str, least: int) -> None:
    setting = WORLDS["drift"]  # changes within the first twelve rounds
    place, seen, score = met(entry_of(name), setting, rounds=30)
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


# Runs.

FEW = run.jobs([ROUNDS], 2, worlds=["recommender", "drift"], players=[EVERYTHING, "SPSA"])


def test_who_takes_part_where() -> None:
    assert [(job.world, job.player, job.seed) for job in FEW] == [
        (world, player, seed)
        for seed in (100, 101)
        for world in ("recommender", "drift")
        for player in (EVERYTHING, "SPSA")
    ]
    everything = run.jobs([300, 1000], 1)
    slow = {entry.name for entry in PRESENT if entry.slow}
    assert not [job for job in everything if job.player in slow and job.horizon == 1000]
    assert not [job for job in everything if job.player in slow and not job.setting.small]
    tuned = {job.world for job in everything if job.player == TUNER}
    assert tuned == {setting.name for setting in settings(300) if setting.box}
    assert len(tuned) == len(settings(300)) - 2  # the paper's discs


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
    wrong = Job("recommender", EVERYTHING, 0, 0)  # no rounds
    store = Store(tmp_path / "runs.jsonl")
    errors = run.conduct([wrong, FEW[0]], store, workers=1)
    assert len(errors) == 1
    assert len(store.runs) == 1


def test_matches_side_by_side_have_one_thread_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")  # so that it is put back
    monkeypatch.delenv("OMP_NUM_THREADS")
    small = ["--horizons", "20", "--seeds", "1", "--workers", "1", "--worlds", "drift"]
    run.main([*small, "--players", FIXED, "SPSA", "--out", str(tmp_path)])
    assert os.environ["OMP_NUM_THREADS"] == "1"


def test_jobs_have_keys_of_their_own() -> None:
    assert len({job.key for job in FEW}) == len(FEW)


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("worlds.py", [EVERYTHING, TUNER, "SPSA"]),
        ("match.py", [EVERYTHING, TUNER, "SPSA"]),
        ("shapes.py", [EVERYTHING, TUNER, "SPSA"]),
        ("disturbed.py", []),
        ("players.py", [EVERYTHING, TUNER]),
        ("live.py", [TUNER]),
        ("rivals.py", ["SPSA"]),
        ("report.py", []),
    ],
)
def test_a_changed_file_makes_those_play_again_whom_it_concerns(
    file: str, changed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [Job("cliff", player, 0, 10) for player in (EVERYTHING, TUNER, "SPSA")]
    before = [job.key for job in jobs]
    kept = run._digest
    monkeypatch.setattr(run, "_digest", lambda name: kept(name) + "#" * (name == file))
    assert [j.player for j, key in zip(jobs, before, strict=True) if j.key != key] == changed


def test_a_changed_library_makes_everybody_play_again(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [job.key for job in FEW]
    monkeypatch.setattr(run, "library_digest", lambda: "another")
    assert not {job.key for job in FEW} & set(before)


def test_the_digest_of_the_library_sees_every_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "trimtab"
    (copy / "live").mkdir(parents=True)
    (copy / "__init__.py").write_text("")
    (copy / "live" / "tuner.py").write_text("x = 1\n")
    monkeypatch.setattr("trimtab.__file__", str(copy / "__init__.py"))
    digests = []
    for content in ("x = 1\n", "x = 2\n"):
        (copy / "live" / "tuner.py").write_text(content)
        digests.append(run.library_digest.__wrapped__())
    assert digests[0] != digests[1]


# Standings.


def made_up(world: str, player: str, totals: list[float], *, horizon: int = 300) -> list[Row]:
    return [
        Row(
            world=world,
            player=player,
            horizon=horizon,
            seed=100 + n,
            total=x,
            price=1.0,
            movement=2.0 * x,
            moves=3,
            final=0.1,
            seconds=0.5,
        )
        for n, x in enumerate(totals)
    ]


MADE_UP = [
    *made_up("recommender", FIXED, [10.0, 20.0]),
    *made_up("recommender", NOTHING, [2.0, 4.0]),
    *made_up("recommender", "SPSA", [1.0, 1.4]),
    *made_up("drift", FIXED, [10.0, 10.0]),
    *made_up("drift", NOTHING, [5.0, 11.0]),
    *made_up("drift", "SPSA", [30.0]),  # compared by the seed that it has played
]


def test_intervals_are_students() -> None:
    found = interval(np.array([1.0, 2.0, 6.0]))
    assert found.mean == 3.0
    assert found.half == pytest.approx(4.302653 * np.sqrt(7.0 / 3.0))


def test_standings() -> None:
    found = Standings(300, MADE_UP)
    assert found.ratio("recommender", NOTHING) == pytest.approx(6.0 / 30.0)
    assert found.ratio("drift", "SPSA") == pytest.approx(3.0)
    assert found.mean(NOTHING) == pytest.approx(np.sqrt(0.2 * 0.8))
    assert found.mean(NOTHING, ["drift"]) == pytest.approx(0.8)
    world, worst = found.worst(NOTHING)
    assert (world, worst) == ("drift", 0.8)
    assert found.dearer(NOTHING) == 0.25
    assert found.dearer("SPSA") == pytest.approx(1.0 / 3.0)
    assert found.median(NOTHING, "movement") == pytest.approx((6.0 + 16.0) / 2.0)
    assert found.best("drift", ["SPSA", FIXED]) == FIXED
    assert found.best("drift", ["nobody"]) is None
    difference = found.difference("recommender", NOTHING, "SPSA")
    assert difference.mean == pytest.approx(6.0 / 2.4)  # the ratio of sums
    assert not Standings(1000, MADE_UP).players


def test_report_says_plainly_where_the_product_loses(tmp_path: Path) -> None:
    rows = [*MADE_UP, *made_up("drift", FIXED, [1.0], horizon=1000)]
    rows += made_up("drift", TUNER, [1.5], horizon=1000)
    text = report.write(rows, tmp_path).read_text()
    assert "14 matches" not in text
    assert "13 matches, seeds 100 to 101." in text
    assert "*told nothing* costs more than leaving the knobs alone in 0 of 2 worlds." in text
    assert "A rival is cheaper than *told nothing* in 1 of 2 worlds (the best one" in text
    assert "recommender: SPSA, 2.50" in text
    assert "*Tuner* costs more than leaving the knobs alone in 1 of 1 worlds (drift: 1.50)." in text
    assert "| **told nothing** | 2 | 0.400 | 0.200 | 0.80 (drift) | 11.0 | 3 | 25% | 0.5 |" in text
    assert "| recommender | 0.20 | 0.08 |" in text
    for horizon in (300, 1000):
        assert (tmp_path / "figures" / f"cost-{horizon}.png").stat().st_size > 5000


# The baseline.


def some_runs() -> list[Run]:
    jobs = run.jobs([ROUNDS], 1, worlds=["recommender"], players=[FIXED, EVERYTHING, "SPSA"])
    return [run.play(job) for job in jobs]


def test_the_baseline_stands_beside_what_is_played(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    runs = some_runs()
    assert baseline.beside(runs, path) == [baseline.row_of(r) for r in runs]  # none yet
    baseline.freeze(runs, path)
    assert sorted(map(str, baseline.frozen(path))) == sorted(
        str(baseline.row_of(each)) for each in runs
    )
    mine = [each for each in runs if each.job.player == EVERYTHING]
    beside = baseline.beside(mine, path)
    assert [row.player for row in beside] == [
        EVERYTHING,
        "SPSA",
        FIXED,
        EVERYTHING + baseline.SUFFIX,
    ]


def test_rows_of_a_world_that_has_changed_are_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    runs = some_runs()
    baseline.freeze(runs, path)
    plain = json.loads(path.read_text())
    sample = next(iter(plain["samples"].values()))
    sample[0] += 0.01
    other = tmp_path / "other.json"
    other.write_text(json.dumps(plain))
    mine = [each for each in runs if each.job.player == EVERYTHING]
    assert baseline.beside(mine, other) == [baseline.row_of(mine[0])]


def test_the_shipped_baseline_is_complete_and_of_these_worlds() -> None:
    rows = baseline.frozen()
    have = {(row.world, row.player, row.horizon, row.seed) for row in rows}
    for horizon in run.HORIZONS:
        for setting in settings(horizon):
            for entry in ENTRIES:
                if run._takes_part(entry, setting, horizon):
                    wanted = {
                        (setting.name, entry.name, horizon, run.FIRST + n) for n in range(run.SEEDS)
                    }
                    assert wanted <= have, (setting.name, entry.name, horizon)
    for setting in settings(run.HORIZONS[0]):
        assert not baseline.changed(setting.name, run.HORIZONS[0]), setting.name


# Training.


def test_training_prints_what_everybody_pays(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ["--horizon", "40", "--seeds", "1", "--worlds", "scopes", "two discs"]
    training.main([*chosen, "--players", TUNER, "SPSA"])
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head == "| world | Tuner | SPSA |"
    assert [row.split(" | ")[0] for row in rows] == ["| scopes", "| two discs", "| geometric mean"]
    assert rows[1].split(" | ")[1] == ""  # a ball is no box


def test_training_is_not_in_the_league() -> None:
    names = {setting.name for setting in training.worlds(300)}
    assert not names & WORLDS.keys()
    assert training.FIRST >= run.FIRST + 100
    league = {baseline.sample(s.make(5), seed=5)[2] for s in WORLDS.values()}
    assert not league & {baseline.sample(s.make(5), seed=5)[2] for s in training.worlds(300)}
