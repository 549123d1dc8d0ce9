"""Runs on a Dask cluster."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import islice
from typing import Any

from trimtab.errors import InvalidInput, TrimtabError
from trimtab.sweeps.local import Batch
from trimtab.sweeps.run import Outcome, SweepRun, carry_out

Client = Any  # Dask's own types say too little
AHEAD = 2  # runs submitted per thread of the cluster: one is made while another waits


def connect(address: str) -> Client:
    """A client of the Dask scheduler at the address."""
    try:
        import distributed
    except ImportError:
        raise InvalidInput(
            "a cluster needs Dask; install it with: pip install 'trimtab[cluster]'"
        ) from None
    try:
        return distributed.Client(address)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InvalidInput(f"no Dask scheduler at {address}: {error}") from None


def check_client(client: Any) -> None:
    """Refuse what is no Dask client, or one whose answers must be awaited."""
    if not hasattr(client, "submit") or not hasattr(client, "nthreads"):
        raise InvalidInput(f"client = {client!r}; give a dask.distributed.Client")
    if getattr(client, "asynchronous", False):
        raise InvalidInput("the client is asynchronous; give one that is not")


def on_cluster(runs: Sequence[SweepRun], client: Client) -> Generator[Batch, None, None]:
    """The outcomes of runs made by the cluster's workers.

    The scheduler makes the runs of a dead worker again elsewhere; a run during which
    workers die too often (Dask's ``allowed-failures``) has failed.
    """
    import distributed

    todo, flying = iter(runs), dict[str, tuple[SweepRun, Any]]()
    completed: Any = distributed.as_completed()  # type: ignore[no-untyped-call]

    def submit(count: int) -> None:
        for run in islice(todo, count):
            future = client.submit(carry_out, run, pure=False)
            flying[future.key] = run, future
            completed.add(future)

    try:
        submit(_room(client))
        for finished in completed.batches():
            batch = []
            for future in finished:
                run, _ = flying.pop(future.key)
                batch.append((run, _outcome(future)))
            submit(max(_room(client) - len(flying), 0))
            yield batch
    finally:
        client.cancel([future for _, future in flying.values()])


def _room(client: Client) -> int:
    """How many runs may be under way; workers come and go."""
    return AHEAD * max(int(sum(client.nthreads().values())), 1)


def _outcome(future: Any) -> Outcome:
    if future.status == "cancelled":
        raise TrimtabError(
            "the cluster was lost, or has cancelled the runs; those that ended are kept, so run "
            "the sweep again"
        )
    error = future.exception()
    if error is None:
        outcome: Outcome = future.result()
        return outcome
    return Outcome(numbers=None, error=f"{type(error).__name__}: {error}")
