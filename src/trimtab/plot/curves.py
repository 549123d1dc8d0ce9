"""What is known: how each objective responds to each knob it reads, and how surely."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.plot import theme
from trimtab.plot.sources import Source, axes_of, names_of, tuner_of
from trimtab.plot.table import KnobAxis
from trimtab.plot.theme import BANDS, BLUE, FAINT, escape
from trimtab.policies import Policy, restore
from trimtab.sim import Trace

POINTS = 61  # of a curve
MOST = 12  # curves that are drawn if nobody says which
SURE = 1.96  # posterior standard deviations of the band
PANEL = 190  # pixels


@dataclass(frozen=True, kw_only=True, eq=False)
class Response:
    """An objective over one knob, the others where they are now."""

    objective: str
    knob: KnobAxis
    now: float  # the knob's value, in its unit
    x: Array
    mean: Array
    half: Array  # of the band
    share: float  # of all losses, weights included: how much of it this curve decides


def responses(
    source: Source,
    *,
    knobs: Sequence[str] | None = None,
    objectives: Sequence[str] | None = None,
) -> Any:
    """Curves of each objective over each knob it reads, others as they are now, with 95 % bands.

    The strongest come first. Where a policy was given a radius, the band is its confidence
    bound.

    Args:
        source: a `Tuner`, a spec or its path, or a policy that has learned.
        knobs: names for the knobs of a policy; of a tuner, those to draw.
        objectives: the same of objectives.
    """
    found = known(source, knobs=knobs, objectives=objectives)[:MOST]
    if not found:
        raise InvalidInput("no objective reads such a knob; check the names")
    go, columns = theme.graph_objects(), min(2, len(found))
    from plotly.subplots import make_subplots

    rows = ceil(len(found) / columns)
    figure = make_subplots(
        rows=rows,
        cols=columns,
        vertical_spacing=min(64 / (PANEL * rows), 0.9 / max(rows - 1, 1)),
        horizontal_spacing=0.14,
    )
    theme.finish(figure, height=PANEL * rows + 96, top=72)
    for place, each in enumerate(found):
        where = {"row": place // columns + 1, "col": place % columns + 1}
        for edge, fill in ((each.mean - each.half, None), (each.mean + each.half, "tonexty")):
            figure.add_trace(
                go.Scatter(
                    x=each.x,
                    y=edge,
                    mode="lines",
                    line={"width": 0},
                    fill=fill,
                    fillcolor=BANDS[BLUE],
                    name="95 % band",
                    legendgroup="band",
                    showlegend=fill is not None and place == 0,
                    hoverinfo="skip",
                ),
                **where,
            )
        figure.add_trace(
            go.Scatter(
                x=each.x,
                y=each.mean,
                mode="lines",
                line={"color": BLUE, "width": 2.2},
                name="estimate",
                legendgroup="mean",
                showlegend=place == 0,
                customdata=each.half,
                hovertemplate="%{x:.4g}: %{y:.4g} ± %{customdata:.2g}<extra></extra>",
            ),
            **where,
        )
        figure.add_vline(x=each.now, line={"color": FAINT, "width": 1.2, "dash": "dot"}, **where)
        axis = figure.get_subplot(**where)
        figure.add_annotation(
            text=f"<b>{escape(each.objective)}</b><br>by {escape(each.knob.title)}",
            x=0,
            y=1,
            xref=f"{axis.yaxis.anchor} domain",
            yref=f"{axis.xaxis.anchor} domain",
            xanchor="left",
            yanchor="bottom",
            align="left",
            showarrow=False,
            font={"size": 11},
        )
        scale = theme.ticks(each.knob.low, each.knob.high) if each.knob.log else {"nticks": 4}
        figure.update_xaxes(**scale, **where)
    return theme.described(figure, _alt(found))


def known(
    source: Source,
    *,
    knobs: Sequence[str] | None = None,
    objectives: Sequence[str] | None = None,
) -> list[Response]:
    """The curves as numbers, the strongest first."""
    if hasattr(source, "learner"):
        problem = source.problem
        axes = tuple(KnobAxis(name=name) for name in names_of(knobs, problem.knobs, "knob"))
        names = names_of(objectives, problem.criteria, "objective")
        return _curves(source, axes, names, [lambda loss: loss] * problem.criteria)
    if isinstance(source, Trace):
        raise InvalidInput(
            "a Trace holds nothing that was learned; give the policy that was played"
        )
    with tuner_of(source) as tuner:
        spec = tuner.spec
        scales: list[Callable[[float], float]] = [each.value for each in spec.objectives]
        named = [each.name for each in spec.objectives]
        found = _curves(tuner.policy, axes_of(spec), named, scales)
    return [
        each
        for each in found
        if (knobs is None or each.knob.name in knobs)
        and (objectives is None or each.objective in objectives)
    ]


def _curves(
    policy: Policy,
    axes: Sequence[KnobAxis],
    objectives: Sequence[str],
    values: Sequence[Callable[[float], float]],
) -> list[Response]:
    problem = policy.problem
    learner = restore(problem, policy.snapshot()).learner  # a copy: it is to absorb what it saw
    learner.absorb(problem.all_criteria)
    scales, offset = learner.scales, learner.estimators.stats.offset  # what counts as 0, if any
    deviations = learner.lcb.radii if scales is None else SURE * scales.sigma
    here = policy.ask()
    found = []
    for i, objective in enumerate(objectives):
        unit = abs(values[i](1.0) - values[i](0.0))
        for j in problem.graph.scope(i).tolist():
            grid = np.linspace(*_ends(problem.domain, j), POINTS)
            losses, halves = np.empty(POINTS), np.empty(POINTS)
            for p, u in enumerate(grid.tolist()):
                state = here.copy()
                state[j] = u
                mean, spread = learner.lcb.predict(state, np.array([i]))
                losses[p] = mean[0] + (offset[i] if offset.size else 0.0)
                halves[p] = deviations[i] * np.sqrt(spread[0])
            found.append(
                Response(
                    objective=objective,
                    knob=axes[j],
                    now=float(axes[j].value(here[j])),
                    x=axes[j].value(grid),
                    mean=np.array([values[i](loss) for loss in losses.tolist()]),
                    half=unit * halves,
                    share=float(problem.weights[i] * np.ptp(losses)),
                )
            )
    return sorted(found, key=lambda each: -each.share)


def _ends(domain: Any, j: int) -> tuple[float, float]:
    low, high = getattr(domain, "low", None), getattr(domain, "high", None)
    if low is None or high is None:
        raise InvalidInput(
            f"curves need knobs with two ends, and a {type(domain).__name__} has none; use a Box"
        )
    return float(low[j]), float(high[j])


def _alt(found: Sequence[Response]) -> str:
    words = "; ".join(
        f"{each.objective} by {each.knob.title}: {each.mean[0]:.3g} at {each.x[0]:.3g}, "
        f"{each.mean[-1]:.3g} at {each.x[-1]:.3g}, now at {each.now:.3g}"
        for each in found
    )
    return f"Estimated responses with bands. {words}."
