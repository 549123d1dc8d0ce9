"""A run by objective, and as tables: what `Trace` shows beyond its totals."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from trimtab.arrays import Array
from trimtab.errors import InvalidInput
from trimtab.sim.losses import Means
from trimtab.sim.worlds import Drifting, World

if TYPE_CHECKING:
    import pandas as pd

    from trimtab.sim.trace import Trace

Table = Literal["stretches", "objectives", "looks", "certificate"]


def losses_by_objective(trace: Trace, world: World | Drifting) -> tuple[Array, Array]:
    """The expected loss of a round by stretch and objective, and at the best state: (r, m)."""
    shape = trace.ends.size, world.problem.criteria
    losses, best = np.empty(shape), np.empty(shape)
    now: World | None = None
    for j, (end, state) in enumerate(zip(trace.ends.tolist(), trace.states, strict=True)):
        here, _ = world.at(max(end, 1))
        if here is not now:
            now, means = here, Means(here)
            at_best = now.expected(np.array(now.optimum.state))
        means.visit(state)
        losses[j], best[j] = means.values, at_best
    return losses, best


def table(trace: Trace, what: Table) -> pd.DataFrame:
    """One of the tables of `Trace.to_pandas`."""
    if what not in TABLES:
        raise InvalidInput(f"what = {what!r}; choose one of {', '.join(map(repr, TABLES))}")
    try:
        import pandas as pd
    except ImportError as error:
        raise InvalidInput("tables need pandas; install trimtab[plot]") from error
    return pd.DataFrame(TABLES[what](trace))


def _stretches(trace: Trace) -> dict[str, Any]:
    """One row per stretch: when, where, at what cost."""
    moved = np.add.reduceat(np.append(trace.steps, 0.0), trace.offsets[:-1])
    moved[np.diff(trace.offsets) == 0] = 0.0
    columns: dict[str, Any] = {
        "first": trace.ends - trace.lengths + 1,
        "last": trace.ends,
        "rounds": trace.lengths,
        "loss": trace.rates,
        "best": trace.best,
        "regret": trace.lengths * (trace.rates - trace.best),
        "movement": moved,
        "price": trace.paid,
    }
    columns |= {f"knob {j}": x for j, x in enumerate(trace.states.T)}
    if trace.world is not None:
        columns |= {f"objective {i}": x for i, x in enumerate(trace.losses.T)}
    return columns


def _objectives(trace: Trace) -> dict[str, Any]:
    """One row per objective: losses unweighted, regret as it counts in the total."""
    lengths = trace.lengths
    return {
        "objective": np.arange(trace.losses.shape[1]),
        "loss": lengths @ trace.losses,
        "best": lengths @ trace.best_losses,
        "regret": trace.regrets,
        "attributions": trace.attributions,
    }


def _looks(trace: Trace) -> dict[str, Any]:
    """One row per look, of policies that give records."""
    names = ("round", "cause", "information", "gain", "expected", "rounds", "price", "gap")
    more = ("certified", "held", "next_review")
    rows: dict[str, Any] = {
        name: [getattr(record, name) for record in trace.records] for name in (*names, *more)
    }
    rows["objectives"] = [tuple(record.criteria.tolist()) for record in trace.records]
    rows["knobs"] = [tuple(record.knobs.tolist()) for record in trace.records]
    rows["text"] = [str(record) for record in trace.records]
    return rows


def _certificate(trace: Trace) -> dict[str, Any]:
    """One row per look at which the certificate was noted."""
    return {
        "round": trace.bounded,
        "bound": trace.bounds,
        "certified": trace.certified,
        "regret": trace.regret_at(trace.bounded),
    }


TABLES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "stretches": _stretches,
    "objectives": _objectives,
    "looks": _looks,
    "certificate": _certificate,
}
