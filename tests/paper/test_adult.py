"""The third experiment: the world of one threshold, and what is reported of it."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

import trimtab as tt
from tests.paper.small_reproduction import ALONE, silent
from trimtab.arrays import Array
from trimtab.paper import adult, adult_data
from trimtab.paper.adult.play import TENTHS, Job, Settings, Threshold, Variant, fit_of, play_one
from trimtab.paper.adult.published import PUBLISHED
from trimtab.paper.figures import in_lane
from trimtab.paper.results import to_json
from trimtab.paper.scores import Classifier, scored

SMALL = Settings(
    runs=2,
    variants=(
        Variant(name="[0, 1]", rounds=60),
        Variant(name="0, .1, ..., .9", levels=TENTHS, batch=256, rounds=60),
    ),
)


def loss_by_hand(threshold: float) -> float:
    people = adult_data.load()
    test, rich = people.test, people.rich
    said = scored(Classifier()) >= threshold
    male = people.words["sex"] == "Male"
    gap = said[test & rich & male].mean() - said[test & rich & ~male].mean()
    return float((said != rich)[test].mean() + abs(gap))


def test_the_loss_by_hand() -> None:
    world = Threshold(SMALL, SMALL.variants[0])
    for x in (0.0, 0.2, 0.55, 0.9, 1.0):
        assert world.loss(np.array([x])) == pytest.approx(loss_by_hand(x), abs=1e-12)
    # The values found by an independent program: .388, .233, .221.
    assert [round(loss_by_hand(x), 2) for x in (0.2, 0.5, 0.9)] == [0.39, 0.23, 0.22]
    best = world.optimum
    assert best.value <= min(loss_by_hand(x) for x in np.linspace(0, 1, 21))


def test_batches_and_noise() -> None:
    rng = np.random.default_rng(1)
    state = np.array([0.4])
    plain = Threshold(SMALL, Variant(name="", rounds=1))
    drawn = np.array([plain.draw(state, rng)[0] for _ in range(400)])
    # False alarm 6e-5 each: four standard errors.
    assert abs(drawn.mean() - plain.loss(state)) < 4 * 0.05 / 20
    assert abs(drawn.std() / 0.05 - 1) < 4 / np.sqrt(800)
    batched = Threshold(SMALL, Variant(name="", batch=256))
    both = np.array([batched.draw(state, rng)[0] for _ in range(400)])
    assert both.std() > 1.5 * drawn.std()
    huge = Threshold(SMALL, Variant(name="", batch=10**8))  # nothing but the noise that is added
    added = np.array([huge.draw(state, rng)[0] for _ in range(400)])
    assert abs(added.std() / 0.05 - 1) < 4 / np.sqrt(800)
    tiny = Threshold(SMALL, Variant(name="", batch=2))
    assert np.isnan([tiny.draw(state, rng)[0] for _ in range(50)]).sum() > 40


def test_a_run_by_hand() -> None:
    variant = SMALL.variants[1]
    run = play_one(Job(SMALL, variant, 3, 1))
    world = Threshold(SMALL, variant)
    policies = [
        tt.LinUCB(world.problem, start=[0.2], radius=0.5, reg=5.0),
        tt.LazyGraphLinUCB(
            world.problem, start=[0.2], radius=0.5, reg=5.0, cold_start="keep", review=False
        ),
    ]
    for n, policy in enumerate(policies):
        rng = np.random.default_rng((3, 1, 1))
        path: list[Array] = [np.array([0.2])]
        for t in range(1, variant.rounds + 1):
            path.append(policy.ask())
            policy.tell(world.draw(path[-1], rng, t))
        np.testing.assert_array_equal(run.threshold[n], np.concatenate(path)[1:])
        moved = np.abs(np.diff(np.concatenate(path))).cumsum()
        np.testing.assert_allclose(run.movement[n][1:], moved, atol=1e-12)
        assert run.end[n] == policy.ask()[0]
    # The path of Algorithm 1 on the truncated set: .2, .9, 0, .9.
    assert run.movement[1, -1] == pytest.approx(2.5)


def test_the_parabola_is_rejected() -> None:
    fit = fit_of(SMALL, 2, seed=0)
    assert fit.rejected
    assert fit.statistic > 10 * fit.critical


@cache
def small() -> adult.AdultThreshold:
    return adult.run(SMALL, seed=0, pool=ALONE, progress=silent)


def test_the_same_numbers_again() -> None:
    again = adult.run(SMALL, seed=0, pool=ALONE, progress=silent)
    assert to_json([again], seed=0) == to_json([small()], seed=0)
    other = adult.run(SMALL, seed=1, pool=ALONE, progress=silent)
    assert to_json([other], seed=1) != to_json([small()], seed=0)


def test_published_numbers_are_compared_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    before = small()
    said, shown = list(before.remarks), before.tables
    changed = tuple(dataclasses.replace(p, value=99.0) for p in PUBLISHED)
    monkeypatch.setattr("trimtab.paper.adult.result.PUBLISHED", changed)
    after = adult.run(SMALL, seed=0, pool=ALONE, progress=silent)
    assert (list(after.remarks), after.tables) == (said, shown)
    assert [each.published.value for each in after.comparisons] == [99.0] * 5


def test_only_the_papers_domain_is_stated() -> None:
    stated = {setting.name: setting.stated for setting in small().settings}
    assert stated == {"[0, 1]": True, "0, .1, ..., .9": False}


def test_the_pictures_are_drawn() -> None:
    paths, loss = small().figures
    assert [len(each.draw(2).axes) for each in (paths, loss)] == [3, 2]
    assert "standard LinUCB moves" in paths.alt
    assert f"least at {small().best:.2f}" in loss.alt
    first = paths.draw(2).axes[0]
    played = small().played["[0, 1]"]
    drawn = [np.asarray(line.get_ydata(), float) for line in first.lines]
    lines = [y for y in drawn if y.size == 60]
    assert len(lines) == 2 * (len(played) + 1)  # every run, and the median, in a lane each
    for j in range(2):
        wanted = [in_lane(j, run.threshold[j]) for run in played]
        found = lines[j * (len(played) + 1) :][: len(played)]
        np.testing.assert_array_equal(found, wanted)
    assert [text.get_text() for text in first.get_yticklabels()] == ["standard", "lazy"]
