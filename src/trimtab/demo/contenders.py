"""Who tunes the recommender of the demo: a live tuner, and rivals from the same losses."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from trimtab.arrays import Array
from trimtab.learn import Confidence
from trimtab.live.spec.spec import Spec
from trimtab.live.tuner import Tuner
from trimtab.plot.sources import axes_of, rounds
from trimtab.plot.table import Rounds
from trimtab.policies import LinUCB
from trimtab.sim import play
from trimtab.sim.recommender import recommender
from trimtab.sim.worlds import World

NOISE = 0.1
MOVE_COST = 2.0  # of turning one knob across its whole range: a little more than a round's loss
REG = 0.01
ROUND = timedelta(minutes=15)
SEARCHED = 3  # Optuna searches for one round in three, then stays at the best it has seen


def service() -> tuple[Spec, World]:
    """The recommender, as its spec describes it and as it really is."""
    text = files("trimtab.demo").joinpath("recommender.toml").read_text(encoding="utf-8")
    return Spec.parse(text), recommender(noise=NOISE, move_cost=MOVE_COST)


@contextmanager
def tuned(
    spec: Spec, world: World, *, horizon: int, seed: int, advance: Callable[[int], None]
) -> Iterator[Tuner]:
    """A live tuner with a journal of its own, after its rounds; the journal goes with it."""
    rng = np.random.default_rng(seed)
    now = datetime.now(UTC) - horizon * ROUND
    names = [objective.name for objective in spec.objectives]
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{Path(folder) / 'recommender.db'}"
        with Tuner(spec, storage=storage, seed=seed, clock=lambda: now) as tuner:
            for t in range(1, horizon + 1):
                decision = tuner.ask()
                losses = world.draw(np.asarray(spec.state(decision.values)), rng, t)
                now += ROUND
                tuner.tell(decision.id, dict(zip(names, losses.tolist(), strict=True)))
                advance(1)
            yield tuner


def as_expected(table: Rounds, world: World) -> Rounds:
    """The same run with the losses that were expected, which only a simulation knows."""
    loss = np.array([world.loss(state) for state in table.states])
    n = loss.size
    stay, best = np.full(n, world.loss(table.start)), np.full(n, world.optimum.value)
    return replace(table, loss=loss, stay=stay, stay_error=0.0, best=best, measured=False)


def linucb(spec: Spec, world: World, *, horizon: int, seed: int) -> Rounds:
    """Standard LinUCB, told the noise and how much losses may change."""
    radius = Confidence(sigma=NOISE, norm=world.norms)
    policy = LinUCB(world.problem, start=spec.start, radius=radius, reg=REG)
    trace = play(policy, world, horizon=horizon, seed=seed)
    return replace(rounds(trace, name="LinUCB"), knobs=axes_of(spec), metrics=())


def optuna_is_here() -> bool:
    """Whether Optuna is installed."""
    return find_spec("optuna") is not None


def optuna(spec: Spec, world: World, *, horizon: int, seed: int) -> Rounds:
    """Optuna's TPE: a trial a round for a third of the rounds, then the best it has seen."""
    import optuna as library

    library.logging.set_verbosity(library.logging.ERROR)
    study = library.create_study(sampler=library.samplers.TPESampler(seed=seed))
    names = [knob.name for knob in spec.knobs]
    study.enqueue_trial(dict(zip(names, spec.start.tolist(), strict=True)))
    rng = np.random.default_rng(seed)
    states = list[Array]()
    for t in range(1, max(horizon // SEARCHED, 1) + 1):
        trial = study.ask()
        state = np.array([trial.suggest_float(name, 0.0, 1.0) for name in names])
        study.tell(trial, float(world.problem.weights @ world.draw(state, rng, t)))
        states.append(state)
    best = np.array([study.best_params[name] for name in names])
    states += [best] * (horizon - len(states))
    return _played(spec, world, np.array(states), name="Optuna TPE")


def _played(spec: Spec, world: World, states: Array, *, name: str) -> Rounds:
    n = len(states)
    before = np.vstack((spec.start, states[:-1]))
    moved = (states != before).any(axis=1)
    table = Rounds(
        name=name,
        knobs=axes_of(spec),
        metrics=(),
        start=np.asarray(spec.start),
        first=np.arange(1, n + 1),
        count=np.ones(n, np.int64),
        states=states,
        kinds=tuple("move" if each else "" for each in moved),
        why=("",) * n,
        loss=np.zeros(n),
        stay=None,
    )
    return as_expected(table, world)
