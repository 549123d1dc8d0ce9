"""The sweep itself: make the runs that are not there yet, keep each as it ends."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING

from trimtab import __version__
from trimtab.arrays import whole
from trimtab.errors import InvalidInput
from trimtab.parallel.progress import progress_bar
from trimtab.sweeps.cluster import check_client, on_cluster
from trimtab.sweeps.describe.settings import Settings
from trimtab.sweeps.local import on_this_machine
from trimtab.sweeps.plan import Described, Plan, plan
from trimtab.sweeps.results import Results, gather
from trimtab.sweeps.store import Store

if TYPE_CHECKING:
    from distributed import Client


def sweep(
    policies: Mapping[str, Described],
    worlds: Mapping[str, Described],
    *,
    seeds: int | Iterable[int],
    horizon: int,
    checkpoints: Iterable[int] = (),
    final_states: bool = False,
    store: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    client: Client | None = None,
    progress: bool | None = None,
) -> Results:
    """Play every policy in every world with every seed, and gather the results.

    The numbers are the same, to the bit, in one process, in many, or on a cluster. All
    policies see the same worlds and the same noise at the same seed.

    >>> import trimtab as tt
    >>> results = tt.sweep(
    ...     {"stay": {"kind": "FixedState", "start": 0.5},
    ...      "guess": {"kind": "RandomState", "start": 0.5}},
    ...     {"ring": {"kind": "quadratic", "graph": {"kind": "ring", "knobs": 4}}},
    ...     seeds=3, horizon=20, workers=1,
    ... )
    >>> results
    Results(6 runs, 2 policies, 1 worlds)
    >>> results["policy"][:4].tolist(), results["moves"][:4]
    (['stay', 'stay', 'stay', 'guess'], array([ 0,  0,  0, 20]))

    Args:
        policies: by name, a description or a function of (world, seed): docs/sweeps.md.
        worlds: by name, a description or a function of (seed).
        seeds: how many, from 0 on, or which.
        horizon: rounds of every run.
        checkpoints: rounds after which regret and movement are noted too.
        final_states: whether to keep the state that every run ends with.
        store: a file that keeps every run as it ends. Runs it has already are not made again,
            so that a sweep goes on where it was killed. None keeps them in memory.
        workers: processes on this machine, as many as it has cores by default; 1 is this one.
        client: a `dask.distributed.Client`, to make the runs on its cluster instead.
        progress: whether to show a bar; by default if standard error is a terminal.

    Raises:
        InvalidInput: a description names what does not exist, or the store is no store.
        KeyboardInterrupt: with a message that says how many runs the store has.
    """
    asked = plan(
        policies,
        worlds,
        seeds=seeds,
        horizon=horizon,
        checkpoints=checkpoints,
        final_states=final_states,
    )
    if client is not None:
        check_client(client)
        if workers is not None:
            raise InvalidInput("workers and client: give one, the cluster has workers of its own")
    count = (os.cpu_count() or 1) if workers is None else whole(workers, "workers", low=1)
    return conduct(asked, store=store, workers=count, client=client, progress=progress)


def conduct(
    asked: Plan,
    *,
    store: str | os.PathLike[str] | None,
    workers: int,
    client: Client | None,
    progress: bool | None,
) -> Results:
    """The results of a plan, as `sweep` makes them."""
    around = surroundings()
    wanted = {run.digest for _, _, run in asked.rows}
    with Store(store) as kept:
        kept.begin(asked, around)
        done = kept.done() & wanted
        runs = asked.to_do(done)
        failed = 0
        batches = on_this_machine(runs, workers) if client is None else on_cluster(runs, client)
        try:
            with progress_bar(
                "runs", total=len(wanted), done=len(done), unit="runs", shown=progress
            ) as advance:
                for batch in batches:
                    kept.add(asked, batch)
                    failed += sum(outcome.numbers is None for _, outcome in batch)
                    advance(len(batch), f"{failed} failed" if failed else "")
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                _farewell(kept, len(kept.done() & wanted), len(wanted))
            ) from None
        finally:
            batches.close()
        return gather(asked, kept.outcomes(wanted), {"settings": asked.settings, **around})


def _farewell(kept: Store, done: int, total: int) -> str:
    if kept.path is None:
        return (
            f"interrupted after {done} of {total} runs, which are lost; give a store to keep them"
        )
    return (
        f"interrupted: {done} of {total} runs are in {kept.path}; the same call goes on from there"
    )


def surroundings() -> Settings:
    """What the numbers may depend on beside the settings."""
    packages = {name: version(name) for name in ("numpy", "scipy")}
    return {
        "versions": {
            "trimtab": __version__,
            "python": platform.python_version(),
            **packages,
        },
        "platform": platform.platform(),
        "machine": platform.machine(),
        "byte_order": sys.byteorder,
    }
