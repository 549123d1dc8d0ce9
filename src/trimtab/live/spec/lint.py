"""What a careful colleague would say about a valid spec."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from math import isinf
from typing import Literal

from trimtab.live.spec.knob import Knob
from trimtab.live.spec.spec import Spec

Level = Literal["ok", "warn", "error"]
MANY_FEATURES = 100  # of one objective: it has to be seen in about as many states
FEW_KNOBS = 6  # of a guardrail: more are learned slowly
LOUD = 0.5  # noise, in ranges of the objective, above which learning is slow


@dataclass(frozen=True)
class Check:
    """One thing that was checked: where in the file, and what came of it."""

    level: Level
    where: str
    text: str


def checks(spec: Spec) -> Iterator[Check]:
    """Everything there is to say about a valid spec, section by section."""
    for knob in spec.knobs:
        yield from _of_knob(spec, knob)
    yield from _of_prices(spec)
    yield from _of_noise(spec)
    yield from _of_norms(spec)
    yield from _of_features(spec)
    yield from _of_constraints(spec)
    yield from _of_policy(spec)
    yield from _of_storage(spec)


def _of_knob(spec: Spec, knob: Knob) -> Iterator[Check]:
    where = f"knobs.{knob.name}"
    if not any(knob.name in objective.knobs for objective in spec.objectives):
        text = "no objective depends on it: it stays where it is; name it in one, or drop it"
        yield Check("warn", where, text)
    elif isinf(knob.max_step) and knob.stability.move_cost == 0.0 and isinf(knob.budget):
        text = "it may move across its whole range at once, for nothing; give max_step or move_cost"
        yield Check("warn", f"{where}.stability", text)
    elif not isinf(knob.max_step):
        steps = -int(-(1.0 - 1e-12) // knob.max_step)
        within = f", {steps} x {knob.stability.per}" if knob.stability.per else ""
        text = f"from one end to the other it takes at least {steps:,} steps{within}"
        yield Check("ok", f"{where}.stability", text)


def _of_prices(spec: Spec) -> Iterator[Check]:
    prices = {knob.name: knob.stability.move_cost for knob in spec.knobs}
    free = [name for name, price in prices.items() if price == 0.0]
    if len(free) == len(prices):
        text = "moves are free: every improvement is taken; give knobs a stability.move_cost"
        yield Check("warn", "knobs", text)
    elif free:
        yield Check("warn", "knobs", f"moves of {', '.join(free)} are free, those of others not")


def _of_noise(spec: Spec) -> Iterator[Check]:
    unknown = [objective.name for objective in spec.objectives if objective.noise is None]
    for objective in spec.objectives:
        if objective.sigma is not None and objective.sigma > LOUD:
            text = (
                f"one measurement is off by {objective.sigma:.2g} of the range from low to high: "
                "report means of several, or check the units"
            )
            yield Check("warn", f"objectives.{objective.name}.noise", text)
    if unknown and len(unknown) < len(spec.objectives):
        text = f"unknown for {', '.join(unknown)}, and therefore estimated for all objectives"
        yield Check("warn", "objectives: noise", text)
    elif unknown:
        learned = "learned from the first rounds on"
        text = learned if spec.policy.recommended else "estimated from the first 21 rounds"
        yield Check("ok", "objectives: noise", text)
    else:
        yield Check("ok", "objectives: noise", "given for every objective")


def _of_norms(spec: Spec) -> Iterator[Check]:
    for objective in spec.objectives:
        if objective.norm is not None and objective.norm < 1.0:
            text = (
                f"with {objective.norm:g} its loss could never reach 1, the worse end of its "
                "range, and a bound that is too small voids all others: raise it or drop it"
            )
            yield Check("warn", f"objectives.{objective.name}.norm", text)


def _of_features(spec: Spec) -> Iterator[Check]:
    basis = spec.resolved_basis
    most = max(spec.objectives, key=lambda objective: len(objective.knobs))
    d = basis.features(len(most.knobs))
    if d > MANY_FEATURES:
        text = (
            f"{basis.kind}: {d} features for {most.name}, which must be seen in about as many "
            "states; name fewer knobs or a simpler basis"
        )
        yield Check("warn", "basis", text)
        return
    why = "as given"
    if spec.basis.kind == "auto" and basis.kind == "quadratic":
        why = "which learns how two knobs act together, as no objective has too many for it"
    elif spec.basis.kind == "auto":
        why = f"without products of knobs, of which {most.name} has {len(most.knobs)}"
    yield Check("ok", "basis", f"{basis.kind}, {why}; at most {d} features per objective")


def _of_constraints(spec: Spec) -> Iterator[Check]:
    kinds = [constraint.kind for constraint in spec.constraints]
    if "guardrail" not in kinds:
        text = "no guardrail: nothing rolls a bad move back; add one for what must not break"
        yield Check("warn", "constraints", text)
    for i, constraint in enumerate(spec.constraints):
        based = [f"the baseline of {name}" for name in constraint.baselines]
        needs = ", ".join((*constraint.metrics, *based))
        yield Check("ok", f"constraints[{i}]", f"{constraint.rule} ({constraint.kind}): {needs}")
        if constraint.learned:
            scope = [spec.knobs[j].name for j in spec.scope(constraint)]
            unsaid = [x for x in constraint.metrics if x in spec.metrics.keys() - spec.metric_knobs]
            if unsaid and len(scope) > FEW_KNOBS:
                text = (
                    f"what it reads is learned over all {len(scope)} knobs, which takes long; say "
                    f"which knobs matter: [metrics.{unsaid[0]}] knobs = [...]"
                )
                yield Check("warn", f"constraints[{i}]", text)
        elif constraint.kind == "guardrail":
            text = "safety = 0: nothing is learned of it, so that a breach may be repeated"
            yield Check("warn", f"constraints[{i}]", text)
    read = {name for constraint in spec.constraints for name in constraint.metrics}
    for name in spec.metrics:
        if name not in read:
            text = "no constraint reads it; use it in one, or drop it"
            yield Check("warn", f"metrics.{name}", text)


def _of_policy(spec: Spec) -> Iterator[Check]:
    if spec.policy.fixed_radius is not None:
        text = "a fixed radius covers nothing: no bound is proven, and no alarm rings; drop it"
        yield Check("warn", "policy.radius", text)
    if spec.policy.options.get("cold_start") == "solve":
        text = "it moves to a corner before it has learned anything; 'keep' the start instead"
        yield Check("warn", "policy.cold_start", text)


def _of_storage(spec: Spec) -> Iterator[Check]:
    if spec.storage.startswith("postgres") and find_spec("psycopg") is None:
        text = "PostgreSQL needs psycopg: pip install 'trimtab[postgres]'"
        yield Check("warn", "storage", text)
