"""Why a decision was made, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trimtab.live.helping import Helping
from trimtab.live.spec.spec import Spec
from trimtab.live.state.decision import Decision
from trimtab.live.state.measurement import Told
from trimtab.live.store.event import Event

SCHEMA = "trimtab.explain/1"
CAUSES = {
    "trigger": "enough was learned",
    "review": "a review was due",
    "alarm": "the system seems to have changed",
    "failed": "a search for a better state failed",
}


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A decision, the look it rests on, what was told of it; whether the tuner helps now."""

    decision: Decision
    look: dict[str, Any] | None  # None before the first one
    told: Told
    text: str
    helping: Helping | None = None  # now, as in `Status`; None before anything can be said

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain data, for other programs."""
        told = {
            name: None if x is None else {"mean": x[0], "sem": x[1], "count": x[2]}
            for name, x in self.told.items()
        }
        return {
            "schema": SCHEMA,
            "decision": self.decision.to_dict(),
            "look": self.look,
            "told": told,
            "helping": None if self.helping is None else self.helping.to_dict(),
            "text": self.text,
        }


def explained(
    spec: Spec, decision: Decision, source: Event | None, told: Told, helping: Helping | None
) -> Explanation:
    """The explanation of a decision; `source` is the decision that reported the last look."""
    look = None if source is None else source.payload.get("look")
    if look is not None and "goal" in look:
        look = look | {"goal": spec.values(look["goal"])}
    by = "" if decision.actor is None else f", by {decision.actor}"
    lines = [f"{decision.id}, round {decision.round:,}, {decision.at:%Y-%m-%d %H:%M:%S} UTC{by}"]
    lines += [f"  {line}" for line in (*_done(spec, decision), *_why(decision, look))]
    for name, content in told.items():
        if content is None:
            lines.append(f"  told: {name}, taken back")
        else:
            mean, error, count = content
            sem = "" if error is None else f" +- {error:.6g}"
            of = "" if count == 1 else f", the mean of {count:,}"
            lines.append(f"  told: {name} = {mean:.6g}{sem}{of}")
    if not told:
        lines.append("  nothing was told of it yet")
    if helping is not None:
        lines.append(f"  is it helping now? {helping}")
    text = "\n".join(lines)
    return Explanation(decision=decision, look=look, told=told, text=text, helping=helping)


def _done(spec: Spec, decision: Decision) -> list[str]:
    """What was changed."""
    knobs = {knob.name: knob for knob in spec.knobs}
    steps = [
        f"{name}: {_brief(decision.previous[name])} -> {_brief(decision.values[name])} "
        f"{knobs[name].unit}".rstrip()
        for name in decision.changed
    ]
    return [f"{decision.reason}: " + ("; ".join(steps) if steps else "nothing was changed")]


def _why(decision: Decision, look: dict[str, Any] | None) -> list[str]:
    lines = [f"guard: {note}" for note in decision.notes]
    if decision.proposal is not None:
        lines.append(f"it proposes {_listed(decision.proposal)}")
    if look is None:
        return [*lines, "no look yet: what was told so far is not enough for a first one"]
    who = ", ".join(look.get("objectives", ()))
    lines.append(f"last look: {CAUSES[look['cause']]}" + (f" of {who}" if who else ""))
    if look.get("cut"):
        lines.append(f"wild measurements were cut: {', '.join(look['cut'])}")
    if look.get("gain") is not None and look.get("price") is not None:
        better = f"the best move {look['worth']}"
        lines.append(
            better if look["gain"] > 0.0 else "it found nothing better than the state then"
        )
    if look.get("goal"):
        lines.append(
            "its goal: " + ", ".join(f"{k} = {_brief(x)}" for k, x in look["goal"].items())
        )
    return lines


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {_brief(x)}" for name, x in values.items())


def _brief(value: float) -> str:
    return f"{value:.6g}"
