"""The fairness study on Adult: the pilot, the peer, the runs, and what is asked of Steady."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import trimtab as tt
from tests.small_reproduction import silent
from trimtab.errors import InvalidInput
from trimtab.graph import Graph
from trimtab.paper import adult_data, fairness
from trimtab.paper.fairness.peer import Peer, threshold_optimizer
from trimtab.paper.fairness.pilot import chosen, piloted
from trimtab.paper.fairness.play import (
    Job,
    Knowledge,
    Scopes,
    Settings,
    Shape,
    group_links,
    group_names,
    groups_of,
    play_one,
    world_of,
)
from trimtab.paper.products import Products
from trimtab.paper.results import to_json
from trimtab.paper.scores import Classifier, scored
from trimtab.solvers import solve

CUBIC = Shape("logit", "cubic")
SMALL = Settings(rounds=60, eager_rounds=30, runs=2)


def test_groups_and_links() -> None:
    adult, ages = adult_data.load(), Settings().ages
    groups, names = groups_of(adult, ages), group_names(ages)
    young = (adult.numbers["age"] < 35) & (adult.words["sex"] == "Female")
    assert (groups == names.index("women < 35")).tolist() == young.tolist()
    oldest = (adult.numbers["age"] >= 55) & (adult.words["sex"] == "Male")
    assert (groups == names.index("men 55+")).tolist() == oldest.tolist()
    for a, b in group_links(4):
        same_age, same_sex = a // 2 == b // 2, a % 2 == b % 2
        assert same_age != same_sex
    assert len(group_links(4)) == 10


def test_products_of_degree_two_are_the_quadratic_basis() -> None:
    graph = Graph.complete(3)
    mine, theirs = (tt.Problem(graph, basis=basis) for basis in (Products(2), tt.bases.Quadratic()))
    state = np.array([0.2, 0.5, 0.9])
    np.testing.assert_allclose(np.sort(mine.phi(state)), np.sort(theirs.phi(state)))
    cubic = tt.Problem(Graph.complete(2), basis=Products(3, normalize=False)).phi(
        np.array([2, 3.0]) / 4
    )
    powers = sorted((2 / 4) ** p * (3 / 4) ** q for p in range(4) for q in range(4) if p + q <= 3)
    np.testing.assert_allclose(np.sort(cubic[:10]), powers)


def test_the_solver_minimises_over_products() -> None:
    world = world_of(Settings(), CUBIC, "known", training=False)
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


def test_the_pilot_knows_the_training_split_only(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def noted(
        settings: Settings, shape: Shape, scopes: Scopes, *, training: bool
    ) -> tt.worlds.Fairness:
        asked.append(training)
        return world_of(settings, shape, scopes, training=training)

    monkeypatch.setattr("trimtab.paper.fairness.pilot.world_of", noted)
    piloted(Settings(pilot_states=10, pilot_rounds=2), CUBIC, seed=0)
    assert asked == [True]


# The peer.


@cache
def peer() -> Peer:
    adult, settings = adult_data.load(), Settings()
    world, test = world_of(settings, CUBIC, "known", training=False), adult.test
    groups = groups_of(adult, settings.ages)[test]
    return threshold_optimizer(world, scored(Classifier())[test], adult.rich[test], groups)


def test_threshold_optimizer_equalises_the_rates() -> None:
    world = world_of(Settings(), CUBIC, "known", training=False)
    assert peer().losses[8:].max() < 1e-12
    np.testing.assert_allclose(peer().chances.sum(axis=1), 1.0)
    # It minimises everybody's errors, not their sum over groups: near the best, not below it.
    assert 0.0 < peer().losses.sum() - world.optimum.value < 0.01


# What is asked of Steady, in one run; the study plays five.


def test_steady_ends_near_the_best_and_moves_little() -> None:
    settings = Settings()
    found = piloted(settings, CUBIC, seed=1)
    known = Knowledge(CUBIC, found.sigma, settings.margin * found.length)
    world = world_of(settings, CUBIC, "known", training=False)
    way = world.loss(world.state(settings.start)) - world.optimum.value
    advice = tt.theory.advise(
        world.problem, settings.rounds, sigma=known.sigma, norm=known.norm, reg=known.reg
    )
    assert advice.variant == "SteadyGraphLinUCB"
    steady = play_one(Job(settings, known, advice.variant, "known", 1, 0))
    short = Settings(eager_rounds=150)
    eager = play_one(Job(short, known, "LinUCB", "known", 1, 0))
    assert steady.late <= 0.05 * way
    assert steady.movement[-1] <= eager.movement[-1] / 3  # in 150 rounds, and movement only grows
    assert steady.regret[-1] > 0.0


# The report.


@cache
def small(workers: int) -> fairness.FairnessStudy:
    return fairness.run(SMALL, seed=0, workers=workers, progress=silent)


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
    graphs = {row[0]: row[7] for row in study.tables[2].rows}
    assert (graphs["as it is"], graphs["too sparse"], graphs["too dense"]) == (28, 18, 64)
    (figure,) = study.figures
    assert len(figure.draw(2).axes) == 4
