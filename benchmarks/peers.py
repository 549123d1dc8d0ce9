"""The same m updates per round by the libraries a user would otherwise pick.

Equal: one ridge regression with d = 7 features per criterion, one observation each per
round. Different: the peers know no state that stays, so each of them pays for every
update; they are timed over a few thousand updates and multiplied by m T. Ours is the whole
run of `play_events.py` without solves, flushes, sums and triggers included, timed as a
whole in the same process. MABWiser and contextualbandits fit arms of one bandit, so one
arm stands for a criterion; river learns one regression per criterion.

    pip install river mabwiser contextualbandits
    python benchmarks/peers.py
"""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Callable

import numpy as np
from play_events import K, T, lazy_without_solves

import trimtab as tt
from trimtab.arrays import Array

UPDATES = 3000


def river_update(phi: Array) -> Callable[[float], None]:
    """river.linear_model.BayesianLinearRegression, one observation at a time."""
    from river.linear_model import BayesianLinearRegression

    model = BayesianLinearRegression()
    x = {str(f): float(value) for f, value in enumerate(phi)}
    return lambda y: model.learn_one(x, y)


def mabwiser_update(phi: Array) -> Callable[[float], None]:
    """MABWiser's LinUCB with one arm, partial_fit of one row."""
    from mabwiser.mab import MAB, LearningPolicy

    bandit = MAB(arms=[0], learning_policy=LearningPolicy.LinUCB(alpha=0.5))
    bandit.fit(decisions=[0], rewards=[0.0], contexts=[phi.tolist()])
    return lambda y: bandit.partial_fit(decisions=[0], rewards=[y], contexts=[phi.tolist()])


def contextualbandits_update(phi: Array) -> Callable[[float], None]:
    """contextualbandits' LinUCB with two arms, its least; one of them gets every row."""
    from contextualbandits.online import LinUCB

    bandit = LinUCB(nchoices=2, alpha=0.5)
    X, arm = phi[None], np.zeros(1, np.int64)
    return lambda y: bandit.partial_fit(X, arm, np.array([y]))


PEERS = {
    "river": river_update,
    "mabwiser": mabwiser_update,
    "contextualbandits": contextualbandits_update,
}


def main() -> None:
    """Print the table."""
    graph = tt.Graph.from_edges(K, [(j, (j + 1) % K) for j in range(K)])
    world = tt.worlds.quadratic(graph, seed=3, basis=tt.bases.PairwiseQuadratic())
    lazy_without_solves(world, 1000)
    seconds, epochs = lazy_without_solves(world, T)
    print(f"ring, k = m = {K}, T = 10^6: trimtab {seconds:.2f} s for {epochs} epochs")
    phi = world.problem.phi(np.full(K, 0.4))[: int(world.problem.dims[0])]
    losses = np.random.default_rng(0).normal(size=UPDATES).tolist()
    for name, make in PEERS.items():
        try:
            update = make(phi)
            version = importlib.metadata.version(name)
        except ImportError as missing:
            print(f"  {name}: not installed ({missing})")
            continue
        update(0.0)
        begin = time.perf_counter()
        for y in losses:
            update(y)
        each = (time.perf_counter() - begin) / UPDATES
        whole = each * K * T
        print(
            f"  {name} {version}: {each * 1e6:.1f} us an update, {whole / 3600:.1f} h for the run; "
            f"{whole / seconds:,.0f} times trimtab (must reach 1,000)"
        )


if __name__ == "__main__":
    main()
