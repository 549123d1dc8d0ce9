"""The plan of a sweep: which runs there are, checked before any is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from trimtab import __version__
from trimtab.arrays import whole
from trimtab.errors import InvalidInput
from trimtab.plain.faults import Fault, refuse
from trimtab.sweeps.describe.functions import describe
from trimtab.sweeps.describe.policies import policy_faults
from trimtab.sweeps.describe.settings import Settings, digest, expand, plain
from trimtab.sweeps.describe.worlds import world_faults
from trimtab.sweeps.run import FORMAT, SweepRun

Described = Mapping[str, Any] | Callable[..., Any]


@dataclass(frozen=True)
class Entry:
    """A policy or a world of the plan."""

    settings: Settings
    function: Callable[..., Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Policies x worlds x seeds."""

    policies: Mapping[str, Entry]
    worlds: Mapping[str, Entry]
    seeds: tuple[int, ...]
    horizon: int
    checkpoints: tuple[int, ...] = ()
    final_states: bool = False

    @cached_property
    def settings(self) -> Settings:
        """Everything that decides the results, as plain values."""
        return {
            "policies": {name: part.settings for name, part in self.policies.items()},
            "worlds": {name: part.settings for name, part in self.worlds.items()},
            "seeds": list(self.seeds),
            "horizon": self.horizon,
            "checkpoints": list(self.checkpoints),
            "final_states": self.final_states,
            "version": __version__,
            "format": FORMAT,
        }

    @cached_property
    def digest(self) -> str:
        """What the sweep goes by in a store."""
        return digest(self.settings)

    @cached_property
    def rows(self) -> list[tuple[str, str, SweepRun]]:
        """The name of the policy, that of the world, and the run; in the order of the results."""
        return [
            (policy, world, self._run(policy, world, seed))
            for policy, world, seed in product(self.policies, self.worlds, self.seeds)
        ]

    def to_do(self, done: set[str]) -> list[SweepRun]:
        """The runs that are still to be made, each once.

        Seed by seed, so that what an unfinished sweep has can be compared, and world by
        world, so that a worker need not build the same one again.
        """
        n, m = len(self.seeds), len(self.worlds)
        order = sorted(range(len(self.rows)), key=lambda at: (at % n, at // n % m))
        runs = {self.rows[at][2].digest: self.rows[at][2] for at in order}
        return [run for key, run in runs.items() if key not in done]

    def _run(self, policy: str, world: str, seed: int) -> SweepRun:
        parts = {"policy": self.policies[policy], "world": self.worlds[world]}
        return SweepRun(
            policy=parts["policy"].settings,
            world=parts["world"].settings,
            seed=seed,
            horizon=self.horizon,
            checkpoints=self.checkpoints,
            final_state=self.final_states,
            functions={role: part.function for role, part in parts.items() if part.function},
        )


def plan(
    policies: Mapping[str, Described],
    worlds: Mapping[str, Described],
    *,
    seeds: int | Iterable[int],
    horizon: int,
    checkpoints: Iterable[int] = (),
    final_states: bool = False,
) -> Plan:
    """The plan that `sweep` is given, or an error that says what is wrong with it."""
    T = whole(horizon, "horizon", low=1)
    if isinstance(seeds, Iterable):
        each = [whole(seed, f"seeds[{i}]", low=0) for i, seed in enumerate(seeds)]
    else:
        each = list(range(whole(seeds, "seeds", low=1)))
    if len(set(each)) < len(each) or not each:
        raise InvalidInput(f"seeds = {each}; list each seed once, and at least one")
    at = [whole(t, f"checkpoints[{i}]", low=0) for i, t in enumerate(checkpoints)]
    for i, t in enumerate(at):
        if t > T:
            raise InvalidInput(f"checkpoints[{i}] = {t} is beyond the horizon, {T}")
    return Plan(
        policies=_parts(policies, "policies", policy_faults),
        worlds=_parts(worlds, "worlds", world_faults),
        seeds=tuple(each),
        horizon=T,
        checkpoints=tuple(at),
        final_states=bool(final_states),
    )


def _parts(
    described: Mapping[str, Described], role: str, faults_of: Callable[[Settings, str], list[Fault]]
) -> dict[str, Entry]:
    """All policies or worlds by name, those that `each` stands for included."""
    if not isinstance(described, Mapping) or not described:
        raise InvalidInput(f"{role} = {described!r}; give a table of at least one, by name")
    parts: dict[str, Entry] = {}
    faults: list[Fault] = []
    for name, value in described.items():
        where = f"{role}.{name}"
        if not isinstance(name, str) or not name:
            raise InvalidInput(f"{role} has the name {name!r}; names are strings")
        if callable(value):
            found = {name: Entry(describe(value, where), value)}
        else:
            if not isinstance(value, Mapping):
                raise InvalidInput(f"{where} = {value!r}; describe it by a table with a kind")
            expanded = expand(name, plain(value, where))
            for label, settings in expanded.items():
                faults += faults_of(settings, f"{role}.{label}")
            found = {label: Entry(settings) for label, settings in expanded.items()}
        for label in found.keys() & parts.keys():
            raise InvalidInput(f"{role} has two of the name {label!r}; rename one")
        parts.update(found)
    refuse(faults)
    return parts
