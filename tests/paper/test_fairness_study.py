"""The fairness study on Adult: the pilot, the peer, the runs, and what is asked of Steady."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.paper.small_reproduction import silent
from trimtab.arrays import Bools
from trimtab.errors import InvalidInput
from trimtab.paper import adult_data, fairness
from trimtab.paper.fairness.groups import KINDS, By, group_links, group_names, groups_of
from trimtab.paper.fairness.peer import Peer, threshold_optimizer
from trimtab.paper.fairness.pilot import chosen, piloted
from trimtab.paper.fairness.play import (
    Job,
    Knowledge,
    Scopes,
    Settings,
    Shape,
    checkpoints,
    play_one,
    world_of,
)
from trimtab.paper.results import to_json
from trimtab.parallel.pool import Pool
from trimtab.solve import solve

CUBIC = Shape("logit", "cubic")
SMALL = Settings(rounds=60, eager_rounds=30, runs=2)


def test_groups_and_links() -> None:
    adult = adult_data.load()
    women, age = adult.words["sex"] == "Female", adult.numbers["age"]
    hours, race = adult.numbers["hours-per-week"], adult.words["race"]
    by_hand: dict[By, dict[str, Bools]] = {
        "age": {"women, under 35": women & (age < 35), "men, 55+": ~women & (age >= 55)},
        "hours": {"women, 40 hours": women & (hours == 40), "men, longer": ~women & (hours > 40)},
        "race": {
            "men, black": ~women & (race == "Black"),
            "women, other": women & ~np.isin(race, ("White", "Black")),
        },
    }
    for by, some in by_hand.items():
        groups, names = groups_of(adult, by), group_names(by)
        assert np.unique(groups).tolist() == list(range(2 * len(KINDS[by])))
        for name, members in some.items():
            assert (groups == names.index(name)).tolist() == members.tolist()
    for a, b in group_links(4):
        same_kind, same_sex = a // 2 == b // 2, a % 2 == b % 2
        assert same_kind != same_sex
    assert len(set(group_links(4))) == 10


def test_the_world_is_of_the_settings() -> None:
    settings = Settings(by="race", gap="selection", power=1)
    test, training = (world_of(settings, CUBIC, training=each) for each in (False, True))
    assert (test.population.size, training.population.size) == (16_281, 32_561)
    assert test.problem.knobs == 6
    assert test.names[-1] == "absolute selection gap 3 - 5"
    assert world_of(settings, CUBIC, training=False) is test


@pytest.mark.parametrize("rounds", [1, 2, 30, 30_000])
def test_checkpoints_reach_from_the_start_to_the_end(rounds: int) -> None:
    at = checkpoints(rounds)
    assert (at[0], at[1], at[-1]) == (0, 1, rounds)
    assert (np.diff(at) > 0).all()


def test_the_solver_minimises_over_products() -> None:
    world = world_of(Settings(), CUBIC, training=False)
    policy = tt.LazyGraphLinUCB(
        world.problem, start=world.state(0.5), radius=0.1, reg=0.01, cold_start="keep"
    )
    tt.play(policy, world, horizon=60)
    policy.settle()
    found = solve(policy.learner.lcb, policy.ask())
    assert found.value == pytest.approx(policy.learner.lcb.value(found.state))
    rng = np.random.default_rng(0)
    assert all(policy.learner.lcb.value(rng.random(8)) >= found.value for _ in range(3000))


# The pilot.


def test_scores_need_another_basis_and_log_odds_are_cubic() -> None:
    settings = Settings()
    found = {
        shape: piloted(settings, shape, seed=0)
        for shape in (Shape("score", "quadratic"), Shape("logit", "quadratic"), CUBIC)
    }
    assert found[Shape("score", "quadratic")].rejected.sum() > 12
    assert 0 < found[Shape("logit", "quadratic")].rejected.sum() < 9
    assert found[CUBIC].adequate
    known = chosen(settings, list(found.values()))
    assert known.shape == CUBIC
    np.testing.assert_allclose(known.norm, 1.5 * found[CUBIC].length)
    with pytest.raises(InvalidInput, match="no basis passes"):
        chosen(settings, [found[Shape("score", "quadratic")]])


def test_a_graph_that_is_too_sparse_is_rejected_where_it_is() -> None:
    found = piloted(Settings(), CUBIC, seed=0, scopes="sparse")
    assert found.rejected[8:].all()
    assert not found.rejected[:8].any()


@pytest.fixture
def splits(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For every world that is asked for, whether it is of the training split."""
    asked = []

    def noted(
        settings: Settings, shape: Shape, scopes: Scopes = "known", *, training: bool
    ) -> tt.worlds.Fairness:
        asked.append(training)
        return world_of(settings, shape, scopes, training=training)

    for module in ("pilot", "play"):
        monkeypatch.setattr(f"trimtab.paper.fairness.{module}.world_of", noted)
    return asked


def test_the_pilot_knows_the_training_split_only(splits: list[bool]) -> None:
    piloted(Settings(pilot_states=10, pilot_rounds=2), CUBIC, seed=0)
    assert splits == [True]


@pytest.mark.parametrize("training", [False, True])
def test_runs_are_of_the_split_in_the_settings(splits: list[bool], training: bool) -> None:
    known = Knowledge(CUBIC, np.full(18, 0.05), np.ones(18))
    settings = Settings(rounds=5, eager_rounds=5, training=training)
    play_one(Job(settings, known, "LazyGraphLinUCB", "known", 0, 0))
    assert splits == [training]


# The peer.


@cache
def peer() -> Peer:
    return threshold_optimizer(world_of(Settings(), CUBIC, training=False))


def test_threshold_optimizer_equalises_the_rates() -> None:
    world = world_of(Settings(), CUBIC, training=False)
    assert peer().losses[8:].max() < 1e-12
    np.testing.assert_allclose(peer().chances.sum(axis=1), 1.0)
    # It minimises everybody's errors, not their sum over groups: near the best, not below it.
    assert 0.0 < peer().losses.sum() - world.optimum.value < 0.01


@pytest.mark.parametrize("gap", ["fpr", "selection"])
def test_threshold_optimizer_equalises_what_gaps_compare(gap: Any) -> None:
    found = threshold_optimizer(world_of(Settings(by="hours", gap=gap), CUBIC, training=False))
    assert found.losses[6:].max() < 1e-12


# What is asked of Steady, in one run; the study plays five.


def test_steady_ends_near_the_best_and_moves_little() -> None:
    settings = Settings()
    found = piloted(settings, CUBIC, seed=1)
    known = Knowledge(CUBIC, found.sigma, settings.margin * found.length)
    world = world_of(settings, CUBIC, training=False)
    way = world.loss(world.state(settings.start)) - world.optimum.value
    steady = play_one(Job(settings, known, "SteadyGraphLinUCB", "known", 1, 0))
    short = Settings(eager_rounds=150)
    eager = play_one(Job(short, known, "LinUCB", "known", 1, 0))
    assert steady.late <= 0.05 * way
    assert steady.movement[-1] <= eager.early / 3  # in 150 rounds, and movement only grows
    assert steady.regret[-1] > 0.0


# The report.


@cache
def small(workers: int) -> fairness.FairnessStudy:
    with Pool(workers) as pool:
        return fairness.run(SMALL, seed=0, pool=pool, progress=silent)


def test_the_study_is_the_same_again_and_with_more_workers() -> None:
    fairness.play.world_of.cache_clear()
    assert to_json([small(1)], seed=0) == to_json([small(2)], seed=0)


def test_the_study_says_what_it_found() -> None:
    study = small(1)
    assert study.comparisons == []
    assert [table.name for table in study.tables] == ["bases", "policies", "graphs", "thresholds"]
    assert study.late.shape == study.movement_ratio.shape == (2,)
    assert not study.holds  # 60 rounds are too few
    assert "They do not both hold" in study.remarks[1]
    rounds = [run.early for run in study.of("SteadyGraphLinUCB")]
    eager = study.of("LinUCB")[0]
    assert eager.early == eager.movement[-1]
    np.testing.assert_allclose(study.early_ratio, np.array(rounds) / eager.early)
    assert (study.early_ratio <= study.movement_ratio).all()
    graphs = {row[0]: row[7] for row in study.tables[2].rows}
    assert (graphs["as it is"], graphs["too sparse"], graphs["too dense"]) == (28, 18, 64)
    (figure,) = study.figures
    assert len(figure.draw(2).axes) == 6
