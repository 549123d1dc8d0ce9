"""The fairness world: its losses are those of the data, its noise is that of batches."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import trimtab as tt
from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.sim.worlds.fairness import Fairness


def people(n: int = 900, seed: int = 0) -> tuple[Array, Any, Any]:
    """Scores, labels and three groups of different size and quality."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    labels = rng.random(n) < np.where(groups == "a", 0.4, 0.25)
    z = rng.normal(np.where(labels, 1.0, -1.0) + 0.5 * (groups == "b"))
    return 1.0 / (1.0 + np.exp(-z)), labels, groups


DATA = people()


def by_hand(thresholds: dict[str, float], gap: str, power: int) -> list[float]:
    scores, labels, groups = DATA
    said = scores >= np.array([thresholds[g] for g in groups])
    rates = []
    errors = []
    for g in "abc":
        own = groups == g
        errors.append(float((said != labels)[own].mean()))
        of = own & {"tpr": labels, "fpr": ~labels, "selection": labels | ~labels}[gap]
        rates.append(float(said[of].mean()))
    pairs = ((0, 1), (0, 2), (1, 2))
    return errors + [abs(rates[i] - rates[j]) ** power for i, j in pairs]


@pytest.mark.parametrize(("gap", "power"), [*product(("tpr", "fpr", "selection"), (1, 2))])
def test_means_by_hand(gap: Any, power: int) -> None:
    world = Fairness(*DATA, gap=gap, power=power, error_weight=[1, 2, 3], gap_weight=0.5)
    state = np.array([0.3, 0.62, 0.5])
    expected = by_hand(dict(zip("abc", state, strict=True)), gap, power)
    np.testing.assert_allclose(world.mean(state), expected, atol=1e-12)
    np.testing.assert_array_equal(
        world.expected(state, np.array([4, 0])), world.mean(state)[[4, 0]]
    )
    weighed = np.array([1, 2, 3, 0.5, 0.5, 0.5]) @ expected
    assert world.loss(state) == pytest.approx(weighed)


def test_criteria_read_what_they_depend_on() -> None:
    world = Fairness(*DATA, links=[("c", "a")])
    graph = world.problem.graph
    assert [graph.scope(i).tolist() for i in range(4)] == [[0], [1], [2], [0, 2]]
    assert world.names[3] == "squared tpr gap c - a"
    state = np.array([0.4, 0.5, 0.6])
    for knob in range(3):
        other = state.copy()
        other[knob] = 0.45
        changed = np.flatnonzero(world.mean(other) != world.mean(state))
        assert set(changed) <= set(graph.readers(np.array([knob])))
    chain = Fairness(*DATA, links="chain").problem.graph
    assert [chain.scope(i).tolist() for i in (3, 4)] == [[0, 1], [1, 2]]


def test_a_false_graph_changes_what_is_said_not_what_is() -> None:
    true = Fairness(*DATA, links="chain")
    told = Fairness(*DATA, links="chain", reads=[[0], [1], [2], [0], [2, 1, 0]])
    state = np.array([0.4, 0.5, 0.6])
    np.testing.assert_array_equal(true.mean(state), told.mean(state))
    assert [told.problem.graph.scope(i).tolist() for i in (3, 4)] == [[0], [0, 1, 2]]


def test_thresholds_and_states() -> None:
    world = Fairness(*DATA, units="logit", low=0.1, high=0.9)
    np.testing.assert_allclose(world.thresholds([0.0, 0.5, 1.0]), [0.1, 0.5, 0.9])
    np.testing.assert_allclose(world.state(world.thresholds([0.2, 0.3, 0.7])), [0.2, 0.3, 0.7])
    np.testing.assert_allclose(Fairness(*DATA, low=-1.0, high=3.0).state(0.0), [0.25] * 3)
    plain = Fairness(*DATA)
    np.testing.assert_allclose(
        plain.mean(world.thresholds([0.2, 0.3, 0.7])), world.mean(np.array([0.2, 0.3, 0.7]))
    )
    with pytest.raises(InvalidInput, match="outside"):
        world.state(0.95)


# Batches.


@pytest.mark.parametrize("power", [1, 2])
def test_a_batch_is_rows_drawn_with_replacement(power: int) -> None:
    scores, labels, groups = DATA
    world = Fairness(*DATA, batch=60, power=power)
    state = np.array([0.5, 0.4, 0.6])
    rounds = 4000
    mine = world.draws(state, np.random.default_rng(1), rounds)
    rng = np.random.default_rng(2)
    theirs = []
    for _ in range(rounds):
        rows = rng.integers(len(scores), size=60)
        s, y, g = scores[rows], labels[rows], groups[rows]
        said = s >= state[np.searchsorted(["a", "b", "c"], g)]
        errors, rates, counts = [], [], []
        for name in "abc":
            own = g == name
            errors.append((said != y)[own].mean() if own.any() else np.nan)
            positive = said[own & y]
            counts.append(positive.size)
            rates.append(positive.mean() if positive.size else np.nan)
        gaps = []
        for i, j in ((0, 1), (0, 2), (1, 2)):
            x, n = [rates[i], rates[j]], [counts[i], counts[j]]
            gap = abs(x[0] - x[1])
            if power == 2:
                few = min(n) < 2
                off = sum(p * (1 - p) / (c - 1) for p, c in zip(x, n, strict=True) if c > 1)
                gap = np.nan if few else gap**2 - off
            gaps.append(gap)
        theirs.append(errors + gaps)
    other = np.array(theirs)
    for i in range(6):
        a, b = (each[:, i][~np.isnan(each[:, i])] for each in (mine, other))
        # False alarm over all 24 comparisons below 24 * 6e-5 = 0.0015: four standard errors.
        share = 4 * np.sqrt(2 * 0.25 / rounds)
        assert abs(a.size - b.size) / rounds < share
        error = np.sqrt(a.var() / a.size + b.var() / b.size)
        assert abs(a.mean() - b.mean()) < 4 * error + 1e-12
        spread = [(np.abs(x - x.mean())) for x in (a, b)]
        error = np.sqrt(sum(x.var() / x.size for x in spread))
        assert abs(spread[0].mean() - spread[1].mean()) < 4 * error + 1e-12


def test_losses_are_right_on_average() -> None:
    world = Fairness(*DATA, batch=40)
    state = np.array([0.5, 0.3, 0.7])
    drawn = world.draws(state, np.random.default_rng(3), 40_000)
    seen = (~np.isnan(drawn)).sum(axis=0)
    error = np.nanstd(drawn, axis=0) / np.sqrt(seen)
    # False alarm 6 * 6e-5: four standard errors.
    assert (np.abs(np.nanmean(drawn, axis=0) - world.mean(state)) < 4 * error).all()
    plain = Fairness(*DATA, batch=40, power=1)
    small = np.nanmean(plain.draws(state, np.random.default_rng(3), 4000), axis=0)
    large = Fairness(*DATA, batch=40_000, power=1)
    many = np.nanmean(large.draws(state, np.random.default_rng(3), 400), axis=0)
    gap = plain.mean(state)[3:]
    assert (small[3:] > gap).all()  # as documented: too large in small batches
    assert (np.abs(many[3:] - gap) < 0.2 * np.abs(small[3:] - gap)).all()


def test_what_a_batch_does_not_show_is_missing() -> None:
    _, labels, groups = DATA
    world = Fairness(*DATA, batch=20, links=[("b", "c")])
    rounds = 20_000
    missing = np.isnan(world.draws(np.full(3, 0.5), np.random.default_rng(4), rounds)).mean(axis=0)
    for j, g in enumerate("abc"):
        exact = (1.0 - (groups == g).mean()) ** 20
        # False alarm 6e-5 each.
        assert abs(missing[j] - exact) < 4 * np.sqrt(exact * (1 - exact) / rounds) + 1e-12
    shares = [((groups == g) & labels).mean() for g in "bc"]
    either = [binom.cdf(1, 20, p) for p in shares]
    assert max(either) < missing[3] < sum(either)
    policy = tt.SteadyGraphLinUCB(world.problem, start=[0.5] * 3, radius=0.3)
    trace = tt.play(policy, world, horizon=300, seed=1)
    stats = policy.learner.estimators.stats
    assert trace.horizon == 300
    assert int(stats.data[3]) < int(stats.data[0])


# The best thresholds.


@pytest.mark.parametrize(("power", "units"), [*product((1, 2), ("score", "logit"))])
def test_the_best_fixed_thresholds_by_exhaustion(power: int, units: Any) -> None:
    data = people(60, seed=5)
    world = Fairness(*data, power=power, gap_weight=[0.1, 8, 1], units=units, low=0.05, high=0.95)
    best = world.best_fixed()
    knobs = []
    for j, g in enumerate(np.unique(data[2])):
        own = np.sort(data[0][data[2] == g])
        edges = np.concatenate(([0.05], own[(own > 0.05) & (own < 0.95)], [0.95]))
        between = np.concatenate(([0.05], (edges[:-1] + edges[1:]) / 2, [0.95]))
        knobs.append([world.state(np.full(3, t))[j] for t in between])
    least = min(world.loss(np.array(state)) for state in product(*knobs))
    assert best.loss == pytest.approx(least, abs=1e-12)
    assert world.optimum.value == best.loss == world.loss(best.state)
    np.testing.assert_allclose(world.thresholds(best.state), best.thresholds)
    assert 1 <= best.agreed <= best.restarts


def test_no_state_is_better_than_the_best() -> None:
    world = Fairness(*DATA, units="logit", low=0.1, high=0.9)
    rng = np.random.default_rng(6)
    assert all(world.loss(rng.random(3)) >= world.optimum.value - 1e-12 for _ in range(500))


def test_theta_is_the_projection_of_the_losses() -> None:
    world = Fairness(*DATA, units="logit", low=0.2, high=0.8)
    states = np.random.default_rng(7).random((300, 3))
    phi = np.array([world.problem.phi(s) for s in states])
    losses = np.array([world.mean(s) for s in states])
    offsets = world.problem.features.offsets
    for i in range(world.problem.criteria):
        own = slice(offsets[i], offsets[i + 1])
        best = np.linalg.lstsq(phi[:, own], losses[:, i], rcond=None)[0]
        residual = [np.std(phi[:, own] @ x - losses[:, i]) for x in (world.theta[own], best)]
        assert residual[0] < 1.1 * residual[1] + 1e-3
    assert world.norms.shape == (6,)


# In play.


@pytest.mark.parametrize(
    "kind",
    [tt.LinUCB, tt.LazyGraphLinUCB, tt.AsyncLazyGraphLinUCB, tt.SteadyGraphLinUCB],
)
def test_policies_play_in_it(kind: Any) -> None:
    world = Fairness(*DATA, links="chain", units="logit", low=0.2, high=0.8, batch=500)
    ends = []
    for _ in range(2):
        policy = kind(world.problem, start=[0.0] * 3, radius=0.2, reg=0.1)
        trace = tt.play(policy, world, horizon=200, seed=3)
        ends.append((trace.loss, trace.movement))
    assert ends[0] == ends[1]
    assert trace.regret >= 0.0
    if kind is not tt.LinUCB:
        with pytest.raises(InvalidInput, match="no jumps here"):
            tt.play(policy, world, horizon=10, path="events")


def test_it_may_drift() -> None:
    worlds = [Fairness(*people(seed=s), links="chain") for s in (0, 1)]
    world = tt.worlds.Drifting(worlds, changes=[101])
    policy = tt.LazyGraphLinUCB(world.problem, start=[0.5] * 3, radius=0.3)
    assert tt.play(policy, world, horizon=200).horizon == 200


def test_its_noise_cannot_be_drawn_without_a_state() -> None:
    world = Fairness(*DATA)
    with pytest.raises(InvalidInput, match="use the world's draw"):
        world.noise.draw(np.random.default_rng(0), world.problem.graph, 1)
    scales = world.noise.scales(world.problem.graph)
    assert (scales > 0).all()
    assert scales[2] > scales[0]  # the small group


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [0.1, 0.2]}, "have shapes"),
        ({"scores": [0.1, np.nan, 0.3, 0.4]}, r"scores\[1\] = nan"),
        ({"labels": [0, 1, 2, 1]}, r"labels\[2\] = 2"),
        ({"labels": ["x", "y", "x", "y"]}, "give 0 and 1"),
        ({"labels": [0, 0, 0, 1]}, "group a has nobody of label 1"),
        ({"gap": "ppv"}, "gap = 'ppv'"),
        ({"power": 3}, "power = 3"),
        ({"batch": 0}, "batch = 0"),
        ({"links": "ring"}, "links = 'ring'"),
        ({"links": [("a", "d")]}, r"links\[0\] = \('a', 'd'\)"),
        ({"links": [("a", "a")]}, "with itself"),
        ({"links": [("a",)]}, r"links\[0\]"),
        ({"units": "percent"}, "units = 'percent'"),
        ({"units": "logit"}, "low = 0; it must be"),
        ({"low": 0.5, "high": 0.5}, "low must be below high"),
        ({"reads": [[0]]}, "reads has 1 scopes, expected 3"),
        ({"gap_weight": -1.0}, r"gap_weight\[0\]"),
    ],
)
def test_bad_input_is_refused(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "scores": [0.1, 0.6, 0.3, 0.8],
        "labels": [0, 1, 0, 1],
        "groups": ["a", "a", "b", "b"],
    }
    Fairness(**given)
    with pytest.raises(InvalidInput, match=message):
        Fairness(**given | change)
