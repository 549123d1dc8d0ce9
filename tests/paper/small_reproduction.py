"""Both synthetic experiments on a small scale, for the tests of reports."""

from __future__ import annotations

from functools import cache

from trimtab.paper import heterogeneous, single_clique
from trimtab.parallel.pool import Pool

ALONE = Pool(1)

CLIQUE = single_clique.Settings(
    rounds=30, runs=3, laws=("sphere", "fixed"), long_rounds=60, long_runs=2
)
CLIQUES = heterogeneous.Settings(rounds=25, runs=3, standard_runs=2)


def silent(part: float) -> None:
    """A progress bar that nobody sees."""


@cache
def small_results(
    seed: int = 0,
) -> tuple[single_clique.SingleClique, heterogeneous.Heterogeneous]:
    """What comes of them."""
    return (
        single_clique.run(CLIQUE, seed=seed, pool=ALONE, progress=silent),
        heterogeneous.run(CLIQUES, seed=seed, pool=ALONE, progress=silent),
    )
