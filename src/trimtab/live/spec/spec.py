"""The spec of a live tuner: named knobs, objectives and constraints, in the user's units."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.resources import files
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from trimtab.display import displayed
from trimtab.errors import InvalidInput
from trimtab.live.spec.basis_and_policy import BasisChoice, PolicyChoice
from trimtab.live.spec.connect.connection import Source, Target, Webhook
from trimtab.live.spec.constraint import Constraint
from trimtab.live.spec.duration import Duration
from trimtab.live.spec.knob import Knob
from trimtab.live.spec.objective import HOUR, Objective
from trimtab.live.spec.reader import beside, parts_of, tables_of, text_of
from trimtab.plain.faults import Fault, refuse
from trimtab.registry import suggestion

if TYPE_CHECKING:  # the numerics are loaded by those who learn: not by a tell or a pause
    from trimtab.arrays import Array, ArrayLike
    from trimtab.live.spec.problem_and_policy import Beliefs
    from trimtab.model.problem import Problem
    from trimtab.policies import Policy

Mode = Literal["auto", "approve"]
VALUES = ("low", "high", "weight", "noise", "norm")  # of an objective: what its losses are worth


@displayed
@dataclass(frozen=True, kw_only=True, repr=False)
class Spec:
    """Everything a tuner must know about the system it tunes.

    Made by `read` (a file), `parse` (TOML text) or `from_dict` (plain tables), which check
    everything and name all that is wrong at once; the constructor itself trusts its arguments.
    The order of knobs and objectives is that of the file, and that of the arrays.

    >>> spec = Spec.parse('''
    ... name = "cache"
    ... [knobs.ttl]
    ... low = 30
    ... high = 3000
    ... start = 300
    ... scale = "log"
    ... unit = "s"
    ... [objectives.misses]
    ... knobs = ["ttl"]
    ... low = 0.0
    ... high = 0.5
    ... ''')
    >>> spec.start, spec.values([1.0]), spec.losses({"misses": 0.2})
    (array([0.5]), {'ttl': 3000.0}, array([0.4]))
    >>> spec.problem
    Problem(Graph(knobs=1, criteria=1), basis=Quadratic(powers=6, normalize=True))
    >>> type(spec.new_policy(seed=1)).__name__
    'SteadyGraphLinUCB'
    """

    name: str
    knobs: tuple[Knob, ...]
    objectives: tuple[Objective, ...]
    metrics: Mapping[str, str] = field(default_factory=dict)  # names and units of all others
    metric_knobs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # all if not here
    constraints: tuple[Constraint, ...] = ()
    basis: BasisChoice = field(default_factory=BasisChoice)
    policy: PolicyChoice = field(default_factory=PolicyChoice)
    storage: str = field(default="sqlite:///trimtab.db", repr=False)  # may have a password
    baseline_observations: int = 8  # at the start state, of which a baseline is the mean
    control: bool = False  # whether a share of the traffic stays at the start state
    mode: Mode = "auto"  # whether moves are made, or proposed and made when a person approves
    approve_within: Duration = field(default_factory=lambda: Duration.of("1d"))
    source: Source | None = None  # these three are for `trimtab run`
    target: Target | None = None
    webhooks: tuple[Webhook, ...] = ()

    def __repr__(self) -> str:
        sizes = f"{len(self.knobs)} knobs, {len(self.objectives)} objectives"
        return f"<Spec {self.name!r}: {sizes}, {len(self.constraints)} constraints>"

    # Making one.

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The spec in a TOML file; a relative path of its storage is relative to the file.

        Raises:
            InvalidInput: the file cannot be read, or is no valid spec: all faults, each with its
                path inside the file. Or the storage is not there, and one of that path is in the
                working directory.
        """
        spec = cls.parse(text_of(path), source=str(path))
        return replace(spec, storage=beside(Path(path), spec.storage))

    @classmethod
    def parse(cls, text: str, *, source: str = "spec") -> Self:
        """The spec in a TOML text; `source` is what a message calls it.

        Raises:
            InvalidInput: no valid spec: all faults, each with its path inside the text.
        """
        spec, faults = cls.examine(text)
        refuse(faults, source)
        return spec

    @classmethod
    def examine(cls, text: str) -> tuple[Self, list[Fault]]:
        """The spec in a TOML text and all its faults; the spec is of use only if there are none."""
        plain, faults = tables_of(text)
        if faults:
            return cls(name="", knobs=(), objectives=()), faults
        parts, faults = parts_of(plain)
        return cls(**{"name": "", "knobs": (), "objectives": (), **parts}), faults

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """The spec that plain tables describe, as `to_dict` gives them.

        Raises:
            InvalidInput: no valid spec: all faults, each with its path inside the tables.
        """
        parts, faults = parts_of(plain)
        refuse(faults, "spec")
        return cls(**parts)

    def to_dict(self) -> dict[str, Any]:
        """The spec as plain tables, in the layout of the file."""
        connections: dict[str, Any] = {
            key: each.to_dict()
            for key, each in (("source", self.source), ("target", self.target))
            if each is not None
        }
        if self.webhooks:
            connections["webhook"] = [each.to_dict() for each in self.webhooks]
        return {
            "name": self.name,
            "storage": self.storage,
            "baseline_observations": self.baseline_observations,
            "control": self.control,
            "mode": self.mode,
            "approve_within": self.approve_within.plain,
            "knobs": {knob.name: knob.to_dict() for knob in self.knobs},
            "objectives": {each.name: each.to_dict() for each in self.objectives},
            "metrics": {
                name: {"unit": unit, "knobs": list(self.metric_knobs[name])}
                if name in self.metric_knobs
                else unit
                for name, unit in self.metrics.items()
            },
            "constraints": [constraint.to_dict() for constraint in self.constraints],
            "basis": self.basis.to_dict(),
            "policy": self.policy.to_dict(),
            **connections,
        }

    @cached_property
    def covariates(self) -> list[str]:
        """The covariates that are told, of all objectives, each once."""
        names = dict.fromkeys(name for each in self.objectives for name in each.covariates)
        return [name for name in names if name != HOUR]

    @cached_property
    def fingerprint(self) -> str:
        """A digest of what decides the learning problem: two specs share it only if their data mix.

        That is the knobs' names, ranges, scales and prices, the objectives' names, knobs,
        ranges, directions and weights, and the basis. It is not the start, the limits on
        moves, noise, constraints, policy, units or storage, which may change at any time.
        """
        knobs = [
            [k.name, k.scale, float(k.low), float(k.high), k.step, k.stability.move_cost]
            for k in self.knobs
        ]
        objectives = [
            [o.name, sorted(o.knobs), o.direction, float(o.low), float(o.high), o.weight]
            for o in self.objectives
        ]
        basis = sorted(self.resolved_basis.to_dict().items())
        plain = json.dumps([knobs, objectives, basis], separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(plain.encode()).hexdigest()

    @cached_property
    def identity(self) -> tuple[object, ...]:
        """What a tuner keeps for life: its knobs, what objectives depend on, basis and policy."""
        knobs = [(k.name, k.scale, float(k.low), float(k.high), k.step) for k in self.knobs]
        objectives = [(o.name, sorted(o.knobs), o.direction) for o in self.objectives]
        return knobs, objectives, self.resolved_basis.to_dict(), self.policy.to_dict()

    def valued_as(self, other: Self) -> Self:
        """This spec with the other's ranges, weights and noise of objectives, and prices of moves.

        Both have the same identity.
        """
        knobs = [
            replace(mine, stability=replace(mine.stability, move_cost=its.stability.move_cost))
            for mine, its in zip(self.knobs, other.knobs, strict=True)
        ]
        objectives = [
            replace(mine, **{name: getattr(its, name) for name in VALUES})
            for mine, its in zip(self.objectives, other.objectives, strict=True)
        ]
        return replace(self, knobs=tuple(knobs), objectives=tuple(objectives))

    def is_valued_as(self, other: Self) -> bool:
        """Whether all these are equal."""
        return self.valued_as(other) == self

    # What learns.

    @property
    def resolved_basis(self) -> BasisChoice:
        """The basis, with ``auto`` decided."""
        widest = max(len(objective.knobs) for objective in self.objectives)
        return self.basis.resolved(widest, bends=self.policy.recommended)

    @cached_property
    def problem(self) -> Problem:
        """The problem in normalised units: knobs in [0, 1], losses 0 (best) to 1 (worst)."""
        from trimtab.live.spec.problem_and_policy import problem_of

        return problem_of(self.knobs, self.objectives, self.resolved_basis)

    @cached_property
    def beliefs(self) -> Beliefs:
        """Noise, norms and ridge parameters of the objectives, in units of loss."""
        from trimtab.live.spec.problem_and_policy import beliefs_of

        return beliefs_of(self.objectives, self.resolved_basis, self.policy)

    def scope(self, constraint: Constraint) -> list[int]:
        """The knobs that what a constraint reads depends on: their places, in order."""
        known = dict(self.metric_knobs) | {each.name: each.knobs for each in self.objectives}
        names = [knob.name for knob in self.knobs]
        read = set[str]().union(*(known.get(name, names) for name in constraint.metrics))
        return [j for j, name in enumerate(names) if name in read]

    def new_policy(self, *, seed: int = 0) -> Policy:
        """A new policy of the kind that the spec chooses, at the start state.

        Raises:
            InvalidInput: this policy does not go with this problem.
        """
        from trimtab.live.spec.problem_and_policy import policy_of

        return policy_of(self.problem, self.policy, self.beliefs, start=self.start, seed=seed)

    # Between the user's units and arrays.

    @cached_property
    def start(self) -> Array:
        """The start values as a state: (k,), read-only."""
        import numpy as np

        from trimtab.arrays import read_only

        return read_only(np.array(self.start_place))

    @property
    def start_place(self) -> list[float]:
        """The start values as a state, a plain list."""
        return [knob.normalise(knob.start) for knob in self.knobs]

    def state(self, values: Mapping[str, float]) -> Array:
        """Values of all knobs, by name and in their units, as a state: (k,).

        Raises:
            InvalidInput: an unknown or missing knob, or a value out of its range.
        """
        import numpy as np

        return np.array(self.place(values))

    def place(self, values: Mapping[str, float]) -> list[float]:
        """The same as a plain list."""
        names = [knob.name for knob in self.knobs]
        for name in values:
            if name not in names:
                raise InvalidInput(f"{name!r} is no knob; {suggestion(str(name), names)}")
        for name in names:
            if name not in values:
                raise InvalidInput(f"the value of {name} is missing; give one for every knob")
        return [knob.normalise(values[knob.name]) for knob in self.knobs]

    def values(self, state: ArrayLike) -> dict[str, float]:
        """The values of all knobs at a state, by name and in their units.

        Raises:
            InvalidInput: the state is none of the problem's.
        """
        given: Any = state
        plain = isinstance(given, list) and all(isinstance(u, float) for u in given)
        if not plain or len(given) != len(self.knobs) or not all(map(isfinite, given)):
            from trimtab.arrays import vector

            given = vector(state, len(self.knobs), "state", "knob").tolist()
        return {knob.name: knob.value(u) for knob, u in zip(self.knobs, given, strict=True)}

    def losses(self, measured: Mapping[str, float]) -> Array:
        """Measurements of objectives, by name and in their units, as losses: (m,).

        NaN where one is missing; names that are no objectives are passed over.

        Raises:
            InvalidInput: a measurement that is no number, or out of all proportion.
        """
        import numpy as np

        return np.array([each.loss(measured.get(each.name, nan)) for each in self.objectives])


def example() -> str:
    """The text of a small, valid spec that explains every section.

    >>> from trimtab.live import Spec
    >>> Spec.parse(example()).name
    'search'
    """
    return files("trimtab.live.spec").joinpath("example.toml").read_text(encoding="utf-8")
