"""The dependency graph of a spec as text: a line per objective across the lines of the knobs."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.live.spec.spec import Spec

MOST_KNOBS = 24  # side by side
MARKS = {"read": "●", "past": "┼", "along": "─", "knob": "│"}
PLAIN_MARKS = {"read": "o", "past": "+", "along": "-", "knob": "|"}


def diagram(spec: Spec, *, plain: bool = False) -> str:
    """The objectives and the knobs they read, part by part; knobs are numbered as in the file.

    A part shares no knob with another. A part of more than 24 knobs is a list instead.

    >>> from trimtab.live.spec.spec import example
    >>> print(diagram(Spec.parse(example())))
    cache_ttl      1
    candidates     │  2
    freshness      │  │  3
    latency_p99    ●──●  │
    click_rate     │  ●──●
    stale_results  ●──┼──●

    Args:
        spec: the spec.
        plain: whether to draw in ASCII.
    """
    marks = PLAIN_MARKS if plain else MARKS
    parts = []
    for knobs, objectives in spec.problem.graph.components():
        names = [(int(j) + 1, spec.knobs[j].name) for j in knobs]
        rows = {
            spec.objectives[i].name: set(spec.problem.graph.scope(int(i)).tolist())
            for i in objectives
        }
        if not rows:
            parts.append(f"{names[0][1]}  {names[0][0]}  (no objective depends on it)")
        elif len(names) > MOST_KNOBS:
            parts.append(_listed(spec, rows))
        else:
            parts.append(_drawn(names, rows, marks))
    return "\n\n".join(parts)


def _drawn(
    names: Sequence[tuple[int, str]], rows: dict[str, set[int]], marks: dict[str, str]
) -> str:
    wide = max(len(name) for name in (*rows, *(name for _, name in names)))
    lines = []
    for at, (number, name) in enumerate(names):  # the heads, as steps
        lines.append(f"{name:<{wide}}  " + f"{marks['knob']}  " * at + str(number))
    for name, scope in rows.items():
        places = [at for at, (number, _) in enumerate(names) if number - 1 in scope]
        cells = []
        for at in range(len(names)):
            inside = places[0] <= at < places[-1]
            mark = "read" if at in places else "past" if places[0] < at < places[-1] else "knob"
            cells.append(marks[mark] + (marks["along"] * 2 if inside else "  "))
        lines.append(f"{name:<{wide}}  " + "".join(cells).rstrip())
    return "\n".join(lines)


def _listed(spec: Spec, rows: dict[str, set[int]]) -> str:
    return "\n".join(
        f"{name} <- {', '.join(spec.knobs[j].name for j in sorted(scope))}"
        for name, scope in rows.items()
    )
