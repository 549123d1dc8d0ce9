"""What a subclass of `World` may override, and what happens: docs/adding-a-world.md, row by row."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import trimtab as tt
from tests.sim.test_play import refused
from trimtab.arrays import Array
from trimtab.errors import InvalidInput, OptimumMissed
from trimtab.sim.worlds.check import check_world
from trimtab.solve import Solution

PROBLEM = tt.Problem(tt.Graph.from_scopes([[0], [0, 1]], knobs=2), basis=tt.bases.Quadratic())
LEVELS = tt.Problem(PROBLEM.graph, domain=tt.Box(levels=[(0.0, 0.4, 1.0), (0.0, 0.5)]))
TARGET = np.array([0.3, 0.8])
GAUSSIAN = tt.worlds.Gaussian(0.1)


class Own(tt.worlds.World):
    """Distances that no basis holds: the optimum is the target, with a loss of 0."""

    def __init__(self, problem: tt.Problem = PROBLEM, **options: Any) -> None:
        super().__init__(problem, **({"noise": GAUSSIAN} | options))

    def mean(self, state: Array) -> Array:
        off = np.abs(state - TARGET)
        return np.array([off[0], off.sum()])


def play(world: tt.worlds.World, *, kind: Any = tt.LazyGraphLinUCB, **options: Any) -> tt.Trace:
    policy = kind(world.problem, start=[0.5, 0.5], radius=0.5)
    return tt.play(policy, world, **({"horizon": 200, "seed": 1} | options))


@pytest.mark.parametrize("path", ["rounds", "events"])
@pytest.mark.parametrize("kind", [tt.LazyGraphLinUCB, tt.AsyncLazyGraphLinUCB])
def test_everything_follows_from_mean(kind: Any, path: Any) -> None:
    world = Own()
    trace = play(world, kind=kind, path=path)
    means = np.array([world.mean(state) for state in trace.states])
    np.testing.assert_allclose(trace.rates, means.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(trace.best, 0.0, atol=1e-6)
    drawn = np.array([world.draw(np.zeros(2), np.random.default_rng(n)) for n in range(500)])
    np.testing.assert_allclose(drawn.mean(axis=0), [0.3, 1.1], atol=0.03)


@pytest.mark.parametrize("kind", [tt.LazyGraphLinUCB, tt.AsyncLazyGraphLinUCB])
def test_events_are_those_of_rounds_with_recorded_noise(kind: Any) -> None:
    table = np.random.default_rng(3).normal(scale=0.1, size=(200, 2))
    by = [
        play(Own(noise=tt.worlds.Recorded(table)), kind=kind, path=path)
        for path in ("rounds", "events")
    ]
    np.testing.assert_array_equal(by[0].ends, by[1].ends)
    np.testing.assert_allclose(by[0].states, by[1].states, atol=1e-9)
    assert by[0].regret == pytest.approx(by[1].regret)
    assert by[0].moves > 3


def test_a_mean_that_calls_its_base_is_that_world() -> None:
    class Same(tt.worlds.World):
        def mean(self, state: Array) -> Array:
            return super().mean(state)

    base = tt.worlds.quadratic(tt.Graph.from_edges(3, [(0, 1), (1, 2)]), seed=1)
    theta = np.split(base.theta, base.problem.features.offsets[1:-1])
    same = Same(base.problem, theta=theta, noise=base.noise)
    assert same.optimum.value == pytest.approx(base.optimum.value, abs=1e-9)
    a, b = (
        tt.play(
            tt.LazyGraphLinUCB(world.problem, start=[0.5] * 3, radius=0.5), world, horizon=10**5
        )
        for world in (base, same)
    )
    np.testing.assert_array_equal(a.states, b.states)
    assert a.regret == pytest.approx(b.regret, rel=1e-6)


def test_a_mean_may_read_outside_its_scope() -> None:
    class Wide(Own):
        def mean(self, state: Array) -> Array:
            return np.array([state.sum(), state[1]])  # criterion 0 is said to read knob 0 alone

    trace = play(Wide(), path="events")
    np.testing.assert_allclose(trace.rates, [s.sum() + s[1] for s in trace.states], atol=1e-12)
    assert len(set(trace.states[:, 1])) > 1


def test_levels_are_all_tried() -> None:
    best = Own(LEVELS).optimum
    losses = [Own(LEVELS).loss(np.array([a, b])) for a in (0.0, 0.4, 1.0) for b in (0.0, 0.5)]
    assert best.value == min(losses)
    assert best.gap == 0.0
    assert best.state.tolist() == [0.4, 0.5]


def test_other_domains_are_searched() -> None:
    found = tt.worlds.search(Own().loss, PROBLEM.domain)
    np.testing.assert_allclose(found.solution.state, TARGET, atol=1e-6)
    assert found.solution.gap is None
    assert found.agreed == found.descents == 12


@pytest.mark.slow
def test_a_search_finds_narrow_valleys_and_several_basins() -> None:
    box = tt.Box().bind(3)

    def valley(s: Array) -> float:  # Rosenbrock's, minimum 0 at 0.75 everywhere
        x = 2.0 * s - 0.5
        return float((100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())

    assert tt.worlds.search(valley, box).solution.value < 1e-3

    def waves(s: Array) -> float:  # 125 minima, of which the one at 0.37 is best
        return float((1 - np.cos(10 * np.pi * (s - 0.37))).sum() + 5 * ((s - 0.37) ** 2).sum())

    found = tt.worlds.search(waves, box)
    assert found.solution.value < 1e-6
    assert found.agreed < found.descents


def test_balls_are_searched() -> None:
    problem = tt.Problem(tt.Graph.cliques([2]), basis=tt.bases.Linear(), domain=tt.Balls([[0, 1]]))

    class Round(tt.worlds.World):
        def mean(self, state: Array) -> Array:
            return np.full(2, ((state - np.array([3.0, 4.0])) ** 2).sum())

    best = Round(problem, noise=GAUSSIAN).optimum
    np.testing.assert_allclose(best.state, [0.6, 0.8], atol=1e-3)
    assert best.value == pytest.approx(2 * 16.0, rel=1e-4)


def test_norms_are_refused_with_a_mean_of_its_own() -> None:
    with pytest.raises(InvalidInput, match="Own overrides mean, so that theta does not say"):
        _ = Own().norms
    with pytest.raises(InvalidInput, match="Own was made without theta"):
        _ = Own().theta

    class Known(Own):
        @property
        def norms(self) -> Array:
            return np.array([1.0, 2.0])

    assert Known().norms.tolist() == [1.0, 2.0]


def test_a_better_state_than_the_optimum_is_warned_of() -> None:
    class Wrong(Own):
        @property
        def optimum(self) -> Solution:
            return Solution(state=np.zeros(2), value=self.loss(np.zeros(2)), lower_bound=None)

    with pytest.warns(OptimumMissed, match="less than the world's optimum, 1.4: regret is too"):
        play(Wrong())


class Fickle(Own):
    calls = 0

    def mean(self, state: Array) -> Array:
        self.calls += 1
        return super().mean(state) + self.calls


class Ageing(Own):
    age = 0

    def mean(self, state: Array) -> Array:
        return super().mean(state) + (self.age > 50)

    def draw(self, state: Array, rng: np.random.Generator, t: int = 1) -> Array:
        self.age += 1
        return super().draw(state, rng, t)


class Other(Own):
    """Draws that have nothing to do with the mean, which was forgotten."""

    def draw(self, state: Array, rng: np.random.Generator, t: int = 1) -> Array:
        return np.array([state[0], 2.0]) + 0.1 * rng.standard_normal(2)


class Meant(Other):
    unbiased = False


class Short(Own):
    def draw(self, state: Array, rng: np.random.Generator, t: int = 1) -> Array:
        return np.zeros(1)


class Complete(Own):
    def draw(self, state: Array, rng: np.random.Generator, t: int = 1) -> Array:
        return self.mean(state) + 0.1 * rng.standard_normal(2)


class Outside(Own):
    @property
    def optimum(self) -> Solution:
        return Solution(state=np.array([0.3, 1.8]), value=1.0, lower_bound=None)


class Mismatched(Own):
    @property
    def optimum(self) -> Solution:
        return Solution(state=TARGET, value=1.0, lower_bound=None)


class Elsewhere(Own):
    def at(self, t: int) -> tuple[tt.worlds.World, int | None]:
        return Own(LEVELS), None


class Past(Own):
    def at(self, t: int) -> tuple[tt.worlds.World, int | None]:
        return Own(), 3 if t > 3 else t


class Shapeless(Own):
    def mean(self, state: Array) -> Array:
        return np.zeros(3)


class Endless(Own):
    def mean(self, state: Array) -> Array:
        return np.array([0.0, np.inf])


class Unset(Own):
    def __init__(self) -> None:
        self.colour = "red"


REFUSED: list[tuple[type[Own], dict[str, Any], str]] = [
    (Fickle, {}, "Fickle.mean gives 1.3 for criterion 0 at [0. 0.], and 2.3 when asked again"),
    (Ageing, {}, "Ageing.mean gives 0.3 for criterion 0"),
    (Other, {}, "Other.draw gives losses of criterion 0"),
    (Short, {}, "Short.draw gives losses of shape (1,), expected (2,)"),
    (Complete, {"missing": 0.5}, "missing = 0.5, but Complete.draw leaves nothing out"),
    (Outside, {}, "Outside.optimum.state[1] = 1.8"),
    (Mismatched, {}, "Mismatched.optimum has the value 1, but the loss of its state is 0"),
    (Elsewhere, {}, "Elsewhere.at(1) gives no world of the same problem"),
    (Past, {}, "Past.at(4) says that round 3 is its last"),
    (Shapeless, {}, "Shapeless.mean gives array([0., 0., 0.]) at [0. 0.]; give 2 numbers"),
    (Endless, {}, "Endless.mean gives array([ 0., inf])"),
]


@pytest.mark.parametrize(("kind", "options", "message"), REFUSED, ids=lambda x: str(x)[:20])
def test_contradictions_are_refused(kind: type[Own], options: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        play(kind(**options))


def test_a_world_that_was_not_set_up_is_refused() -> None:
    policy = tt.LazyGraphLinUCB(PROBLEM, start=[0.5, 0.5], radius=0.5)
    with pytest.raises(InvalidInput, match=r"Unset was not set up; call super\(\).__init__"):
        tt.play(policy, Unset(), horizon=5)


def test_a_draw_of_its_own_is_used_and_jumps_are_off() -> None:
    world, heard = Meant(), list[int]()
    trace = play(world, horizon=60, progress=heard.append)
    assert heard == [1] * 60
    assert trace.horizon == 60
    with refused(
        "no jumps here: Meant overrides draw, and only draw knows what a round gives; "
        "use path='rounds'"
    ):
        play(world, path="events")


@pytest.mark.parametrize("seed", range(20))
def test_draws_with_heavy_tails_are_not_refused(seed: int) -> None:
    class Heavy(Own):
        def draw(self, state: Array, rng: np.random.Generator, t: int = 1) -> Array:
            own = np.random.default_rng((seed, int(rng.integers(2**32))))
            return self.mean(state) + 0.1 * own.standard_t(3, 2)

    check_world(Heavy())


def test_a_draw_is_not_asked_before_the_run_by_the_world_itself() -> None:
    class Counted(Own):
        rounds = 0

        def draw(self, state: Array, rng: np.random.Generator, t: int = 1) -> Array:
            self.rounds += 1
            return super().draw(state, rng, t)

    world = Counted()
    play(world, horizon=60)
    assert world.rounds == 60


def test_a_world_that_changes_by_at() -> None:
    class Later(Own):
        def at(self, t: int) -> tuple[tt.worlds.World, int | None]:
            return (Own(), 100) if t <= 100 else (shifted, None)

    class Shifted(Own):
        def mean(self, state: Array) -> Array:
            return super().mean(state) + 5.0

    shifted = Shifted()
    trace = play(Later(), horizon=200)
    np.testing.assert_allclose(trace.best[trace.ends <= 100], 0.0, atol=1e-6)
    np.testing.assert_allclose(trace.best[trace.ends > 100], 10.0, atol=1e-6)
    with refused(
        "no jumps here: Later overrides at, so that nobody knows its rounds beforehand; "
        "use path='rounds'"
    ):
        play(Later(), path="events")


def test_what_follows_is_not_overridden() -> None:
    with refused("Total overrides loss, which follows from mean; override mean instead"):

        class Total(Own):
            def loss(self, state: Array) -> float:
                return 0.0

    with refused("Sums overrides without_sums, which follows from draw; override draw instead"):

        class Sums(Own):
            def without_sums(self) -> str:
                return ""

    with pytest.raises(InvalidInput, match=r"it is called as World.draw\(self, state"):

        class Narrow(Own):
            def draw(self, state: Array) -> Array:  # type: ignore[override]
                return state

    with pytest.raises(InvalidInput, match=r"Static.mean must be a plain method"):

        class Static(Own):
            @staticmethod
            def mean(state: Array) -> Array:
                return state


def test_theta_or_mean_is_needed() -> None:
    with refused("theta is missing; give it, or override mean in a subclass"):
        tt.worlds.World(PROBLEM, noise=GAUSSIAN)


def test_a_method_of_one_object_is_refused() -> None:
    world = Own()
    world.mean = lambda state: np.zeros(2)  # type: ignore[method-assign]
    with refused("mean was set on one Own, where nobody looks for it; override it in a class"):
        play(world)


def test_what_is_no_world_is_refused() -> None:
    class Lookalike:
        problem = PROBLEM

    policy = tt.LazyGraphLinUCB(PROBLEM, start=[0.5, 0.5], radius=0.5)
    with refused(
        "the world is a Lookalike; derive it from tt.worlds.World, which says "
        "what may be overridden"
    ):
        tt.play(policy, Lookalike(), horizon=5)  # type: ignore[arg-type]


def test_worlds_of_a_drifting_one_are_checked() -> None:
    with pytest.raises(InvalidInput, match=r"Other.draw gives losses of criterion 0"):
        play(tt.worlds.Drifting([Own(), Other()], changes=[100]))  # type: ignore[arg-type]
