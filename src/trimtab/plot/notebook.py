"""Objects as small tables, for notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

MOST = 12  # rows of a table
STYLE = "text-align:left;padding:.15em .9em .15em 0"

Row = Sequence[object]


def html(thing: Any) -> str:
    """The object as HTML: its name, what counts of it, and no more than a dozen rows.

    >>> import trimtab as tt
    >>> html(tt.Graph.complete(2))
    '<div><b>Graph</b>, 2 knobs, 2 objectives<table>...
    """
    for kind in type(thing).__mro__:
        if kind.__name__ in _SHOWN:
            title, heads, rows = _SHOWN[kind.__name__](thing)
            return table(title, heads, rows)
    return f"<pre>{escape(repr(thing))}</pre>"


def table(title: str, heads: Row, rows: Iterable[Row]) -> str:
    """A small table under its title; text is escaped here."""
    listed = list(rows)
    body = "".join(_line(row, "td") for row in listed[:MOST])
    more = f"<i>and {len(listed) - MOST:,} more</i>" if len(listed) > MOST else ""
    head = f"<thead>{_line(heads, 'th')}</thead>" if heads else ""
    name, _, rest = title.partition(", ")
    words = f"<b>{escape(name)}</b>{escape(f', {rest}') if rest else ''}"
    return f"<div>{words}<table>{head}<tbody>{body}</tbody></table>{more}</div>"


def _line(row: Row, tag: str) -> str:
    cells = (f'<{tag} style="{STYLE}">{escape(_text(x))}</{tag}>' for x in row)
    return f"<tr>{''.join(cells)}</tr>"


def _text(x: object) -> str:
    if isinstance(x, float | np.floating):
        return f"{x:.4g}"
    return f"{x:,}" if isinstance(x, int | np.integer) and not isinstance(x, bool) else str(x)


Shown = tuple[str, Row, Iterable[Row]]


def _graph(graph: Any) -> Shown:
    rows = (
        (f"objective {i}", ", ".join(map(str, graph.scope(i).tolist()[:MOST])))
        for i in range(min(graph.criteria, MOST + 1))
    )
    return f"Graph, {graph.knobs:,} knobs, {graph.criteria:,} objectives", ("", "reads knobs"), rows


def _problem(problem: Any) -> Shown:
    rows = [
        ("graph", f"{problem.knobs:,} knobs, {problem.criteria:,} objectives"),
        ("basis", repr(problem.basis)),
        ("domain", type(problem.domain).__name__.removeprefix("Bound")),
        ("features", f"{int(problem.dims.sum()):,} in all"),
        ("move_cost", _range(problem.move_cost)),
        ("weights", _range(problem.weights)),
    ]
    return "Problem", (), rows


def _policy(policy: Any) -> Shown:
    state, start = policy.ask(), policy.start
    rows = [(f"knob {j}", float(start[j]), float(state[j])) for j in range(state.size)]
    title = f"{type(policy).__name__}, {policy.rounds:,} rounds told"
    return title, ("", "start", "now"), rows


def _world(world: Any) -> Shown:
    problem, best = world.problem, world.optimum
    rows = [
        ("problem", repr(problem)),
        ("noise", repr(world.noise)),
        ("loss at the best state", float(best.value)),
    ]
    return type(world).__name__, (), rows


def _trace(trace: Any) -> Shown:
    rows = [
        ("loss", trace.loss),
        ("regret", trace.regret),
        ("moves", trace.moves),
        ("knobs changed", trace.knobs_changed),
        ("movement", trace.movement),
        ("price of it", trace.move_cost),
        ("looks", trace.solves),
    ]
    return f"Trace, {trace.horizon:,} rounds", (), rows


def _record(record: Any) -> Shown:
    rows = [
        (f"knob {j}", float(x), float(y))
        for j, x, y in zip(record.knobs.tolist(), record.before, record.after, strict=True)
    ]
    done = "hold" if record.held else ("improve" if record.improves else "learn")
    title = f"Record, round {record.round:,}, {record.cause}: {done}; it {record.worth}"
    return title, ("", "from", "to") if rows else (), rows


def _certificate(certificate: Any) -> Shown:
    proven = "proven" if certificate.certified else "not proven"
    return f"Certificate, regret at most {certificate.bound:.4g}, {proven}", (), ()


def _spec(spec: Any) -> Shown:
    rows = [
        (knob.name, f"{knob.low:g} to {knob.show(knob.high)}", knob.show(knob.start), knob.scale)
        for knob in spec.knobs
    ]
    rows += [
        (each.name, f"{each.low:g} to {each.high:g} {each.unit}".rstrip(), "", each.direction)
        for each in spec.objectives
    ]
    title = f"Spec, {spec.name}: {len(spec.knobs)} knobs, {len(spec.objectives)} objectives"
    return title, ("", "range", "start", ""), rows


def _tuner(tuner: Any) -> Shown:
    status = tuner.status()
    rows = [
        (knob.name, knob.show(knob.start), knob.show(status.values[knob.name]))
        for knob in tuner.spec.knobs
    ]
    title = f"Tuner, {status.name}: {status.mode}, {status.rounds:,} rounds, {status.moves:,} moves"
    return title, ("knob", "start", "now"), rows


def _decision(decision: Any) -> Shown:
    rows = [
        (name, decision.previous[name], value, "changed" if name in decision.changed else "")
        for name, value in decision.values.items()
    ]
    title = f"Decision, {decision.id}: {decision.reason}, round {decision.round:,}"
    return title, ("knob", "before", "now", ""), rows


def _range(x: Any) -> str:
    low, high = float(np.min(x)), float(np.max(x))
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


_SHOWN: dict[str, Callable[[Any], Shown]] = {
    "Certificate": _certificate,
    "Decision": _decision,
    "Graph": _graph,
    "Policy": _policy,
    "Problem": _problem,
    "Record": _record,
    "Spec": _spec,
    "Trace": _trace,
    "Tuner": _tuner,
    "World": _world,
}
