"""From a trace, a tuner or a journal to the table that figures read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.plot.table import Kind, KnobAxis, Limit, Metric, Rounds

if TYPE_CHECKING:
    from trimtab.live.history import HistoryRow
    from trimtab.live.spec.constraint import Constraint
    from trimtab.live.spec.duration import Duration
    from trimtab.live.spec.spec import Spec
    from trimtab.live.tuner import Tuner
    from trimtab.policies import Record
    from trimtab.sim import Trace
    from trimtab.sim.worlds import World

Source = Any  # Rounds, Trace, Tuner, Spec, or the path of a spec

REASONS: dict[str, Kind] = {
    "guard": "guard",
    "rollback": "rollback",
    "manual": "person",
}


def rounds(
    source: Source,
    *,
    knobs: Sequence[str] | None = None,
    objectives: Sequence[str] | None = None,
    name: str | None = None,
) -> Rounds:
    """The plain table of a run; every figure takes it in place of its source.

    >>> import trimtab as tt
    >>> world = tt.worlds.quadratic(tt.Graph.from_edges(2, [(0, 1)]), seed=4)
    >>> policy = tt.SteadyGraphLinUCB(world.problem, start=[0.5, 0.5])
    >>> trace = tt.play(policy, world, horizon=50, seed=1)
    >>> table = rounds(trace, knobs=["mix", "rate"])
    >>> table.horizon, [knob.name for knob in table.knobs], len(table.metrics)
    (50, ['mix', 'rate'], 2)

    Args:
        source: a `Trace`, a `Tuner`, a `Spec` or the path of one whose journal is read.
        knobs: names for the knobs of a trace.
        objectives: names for the objectives of a trace.
        name: of the run, in legends.
    """
    if isinstance(source, Rounds):
        return source
    from trimtab.sim import Trace

    if isinstance(source, Trace):
        return _of_trace(source, knobs, objectives, name or "this run")
    with tuner_of(source) as tuner:
        return _of_tuner(tuner, name or "trimtab")


def several(source: Source | Mapping[str, Source]) -> dict[str, Rounds]:
    """Tables by name, of one source or of several to be compared."""
    if isinstance(source, Mapping):
        if not source:
            raise InvalidInput("there is nothing to draw; give at least one run")
        return {name: rounds(each, name=name) for name, each in source.items()}
    table = rounds(source)
    return {table.name: table}


@contextmanager
def tuner_of(source: Source) -> Iterator[Tuner]:
    """A tuner: the one given, or one that reads the journal of a spec."""
    from trimtab.live.spec.spec import Spec
    from trimtab.live.tuner import Tuner

    if isinstance(source, Tuner):
        yield source
    elif isinstance(source, Spec | str | Path):
        with Tuner(source, read_only=True) as tuner:
            yield tuner
    else:
        raise InvalidInput(
            f"a {type(source).__name__} has no rounds to draw; give a Trace, a Tuner, or the path "
            "of a spec"
        )


# A simulated run.


def _of_trace(
    trace: Trace,
    knobs: Sequence[str] | None,
    objectives: Sequence[str] | None,
    name: str,
) -> Rounds:
    states = trace.states
    labels = names_of(knobs, trace.start.size, "knob")
    axes = tuple(
        KnobAxis(name=label, price=float(price))
        for label, price in zip(labels, trace.prices.tolist(), strict=True)
    )
    world, stay = trace.world, None
    if world is not None:
        then = (world.at(max(end, 1))[0] for end in trace.ends.tolist())
        stay = np.array([each.loss(np.array(trace.start)) for each in then])
    elif trace.offsets[1] == 0:  # the first stretch is at the start
        stay = np.full(trace.ends.size, trace.rates[0])
    first = trace.ends - trace.lengths + 1
    records = {record.round + 1: record for record in trace.records if not record.held}
    moved = np.diff(trace.offsets) > 0
    found = [records.get(int(t)) if m else None for t, m in zip(first, moved, strict=True)]
    return Rounds(
        name=name,
        knobs=axes,
        metrics=() if world is None else _expected(trace, world.at(1)[0], objectives),
        start=trace.start,
        first=first,
        count=trace.lengths,
        states=states,
        kinds=tuple(_kind(record, bool(m)) for record, m in zip(found, moved, strict=True)),
        why=tuple("" if record is None else record.worth for record in found),
        loss=trace.rates,
        stay=stay,
        expected=np.array([np.nan if each is None else each.expected for each in found]),
        best=trace.best,
    )


def _kind(record: Record | None, moved: bool) -> Kind:
    if record is None:
        return "move" if moved else ""
    return "improve" if record.improves else "learn"


def _expected(trace: Trace, world: World, names: Sequence[str] | None) -> tuple[Metric, ...]:
    problem = world.problem
    labels = names_of(names, problem.criteria, "objective")
    losses = trace.losses
    scales = np.broadcast_to(world.noise.scales(problem.graph), (problem.criteria,))
    return tuple(
        Metric(
            name=label,
            values=losses[:, i],
            weight=float(problem.weights[i]),
            noise=float(scales[i]),
            reads=tuple(problem.graph.scope(i).tolist()),
        )
        for i, label in enumerate(labels)
    )


def names_of(given: Sequence[str] | None, n: int, what: str) -> Sequence[str]:
    """The names given, one each, or numbers."""
    if given is None:
        return [f"{what} {j}" for j in range(n)]
    if len(given) != n:
        raise InvalidInput(f"{len(given)} names of {what}s, expected {n}; give one each")
    return given


# A live one.


def _of_tuner(tuner: Tuner, name: str) -> Rounds:
    spec, status = tuner.spec, tuner.status()
    decided: list[HistoryRow] = []
    told: dict[str, dict[str, float]] = {}
    for row in tuner.history():
        if row.kind == "decide":
            decided.append(row)
        elif row.kind in ("tell", "correct") and row.id is not None:
            known = told.setdefault(row.id, {})
            known |= {key: float("nan") if x is None else x[0] for key, x in row.told.items()}
    n = len(decided)
    states = np.array([spec.state(row.values) for row in decided]).reshape(n, len(spec.knobs))
    measured = [told.get(row.id or "", {}) for row in decided]
    losses = np.array([spec.losses(metrics) for metrics in measured])
    weights = np.array([objective.weight for objective in spec.objectives])
    loss = losses.reshape(n, weights.size) @ weights  # NaN where one of them is
    steps = (np.diff(states, axis=0, prepend=spec.start[None, :]) != 0.0).any(axis=1)
    at_start = (states == states[:1]).all(axis=1) & ~np.isnan(loss)
    metrics = _metrics(spec, measured, tuner, status.baselines)
    noises = [each.weight * each.noise / unit for each, unit in _units(spec, metrics)]
    noise = None if len(noises) < weights.size else float(np.sqrt(np.square(noises).sum()))
    stay = np.full(n, loss[at_start].mean()) if at_start.any() else None
    error = 0.0 if noise is None or stay is None else noise / float(np.sqrt(at_start.sum()))
    return Rounds(
        name=name,
        knobs=axes_of(spec),
        metrics=metrics,
        start=np.asarray(spec.start),
        first=np.array([row.round for row in decided], np.int64),
        count=np.ones(n, np.int64),
        states=states,
        kinds=tuple(
            _why_moved(row) if step else ""
            for row, step in zip(decided, steps.tolist(), strict=True)
        ),
        why=tuple(_words(row) for row in decided),
        loss=loss,
        stay=stay,
        stay_error=error,
        expected=np.array([_expectation(row) for row in decided], np.float64),
        at=tuple(row.at for row in decided),
        measured=True,
        noise=noise,
    )


def _why_moved(row: HistoryRow) -> Kind:
    if row.reason in REASONS:
        return REASONS[row.reason]
    look = row.look or {}
    expected, rounds, price = (look.get(key) or 0.0 for key in ("expected", "rounds", "price"))
    return "improve" if expected > 0.0 and expected * rounds >= price else "learn"


def _expectation(row: HistoryRow) -> float:
    """By how much the estimates say that the move lowers the loss; NaN if it rests on none."""
    expected = (row.look or {}).get("expected") if row.changed else None
    return float("nan") if expected is None else float(expected)


def _units(spec: Spec, metrics: tuple[Metric, ...]) -> Iterator[tuple[Any, float]]:
    """The objectives whose noise is known, and the range of each."""
    for each, metric in zip(spec.objectives, metrics, strict=False):
        if metric.noise is not None:
            yield metric, each.high - each.low


def _words(row: HistoryRow) -> str:
    worth = (row.look or {}).get("worth")
    parts = [f"the move {worth}" if worth and row.changed else "", *row.notes]
    return "; ".join(part for part in parts if part)


def axes_of(spec: Spec) -> tuple[KnobAxis, ...]:
    """The knobs of a spec."""
    return tuple(
        KnobAxis(
            name=knob.name,
            unit=knob.unit,
            low=float(knob.low),
            high=float(knob.high),
            log=knob.scale == "log",
            price=knob.stability.move_cost,
            budget=None if knob.stability.budget is None else knob.budget,
            window=str(knob.stability.budget_per or ""),
            **_window(knob.stability.budget_per),
        )
        for knob in spec.knobs
    )


def _window(window: Duration | None) -> dict[str, Any]:
    """How long a budget counts, as an axis has it."""
    if window is None:
        return {}
    return {"rounds": window.amount} if window.seconds is None else {"seconds": window.seconds}


def _metrics(
    spec: Spec, told: list[dict[str, float]], tuner: Tuner, baselines: Mapping[str, float]
) -> tuple[Metric, ...]:
    place = {knob.name: j for j, knob in enumerate(spec.knobs)}
    scales = tuner.policy.learner.scales
    found = []
    for i, each in enumerate(spec.objectives):
        noise = each.noise
        if noise is None and scales is not None:
            noise = float(scales.sigma[i]) * (each.high - each.low)
        found.append(
            Metric(
                name=each.name,
                unit=each.unit,
                values=_column(told, each.name),
                weight=each.weight,
                better="lower" if each.direction == "minimise" else "higher",
                noise=noise,
                reads=tuple(place[knob] for knob in each.knobs),
                limits=tuple(_limits(spec.constraints, each.name, baselines)),
            )
        )
    for name, unit in spec.metrics.items():
        values, limits = _column(told, name), tuple(_limits(spec.constraints, name, baselines))
        found.append(Metric(name=name, unit=str(unit), values=values, limits=limits))
    return tuple(found)


def _column(told: list[dict[str, float]], name: str) -> Array:
    return np.array([metrics.get(name, np.nan) for metrics in told], np.float64)


def _limits(
    constraints: Iterable[Constraint], name: str, baselines: Mapping[str, float]
) -> Iterator[Limit]:
    """The rules that compare this metric alone with a number or with its baseline."""
    for rule in constraints:
        if rule.metrics == (name,):
            sides = rule.sides({name: 1.0}, baselines), rule.sides({name: 2.0}, baselines)
            if None in sides:
                continue
            (left, value), (other, same) = sides  # type: ignore[misc]  # neither is None
            if (left, other) == (1.0, 2.0) and value == same:
                yield Limit(rule=rule.rule, kind=rule.kind, value=value)
