"""The same m updates per round by the libraries a user would otherwise pick.

Equal: m = 1000 ridge regressions with d = 7 features and reg = 1, one observation each per round;
the same features and losses, from a world on a ring, for everybody. After ten rounds at ten states
the estimates are compared with trimtab's; where a library computes something else, the table
says so. Libraries that take many rows get a round in one call.

Different: the peers know no state that stays, so each of them pays for every round. A peer's
round is timed (the median of at least ten) and multiplied by T = 10^6. Ours is the whole run of
`play_events.py` without solves, timed in the same process: flushes, triggers and the drawing of
losses are included; of the peers only the updates are timed. Nobody decides anything.

A peer that is not installed is named. All of them:

    pip install river mabwiser contextualbandits vowpalwabbit botorch
    python benchmarks/peers.py
"""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from eager import eager_rounds, inverses
from play_events import K, T, lazy_without_solves

import trimtab as tt
from trimtab.arrays import Array

ROUNDS, LONGEST = 10, 1.0  # rounds of a lap; and seconds that laps go on for
Learner = tuple[Callable[[Array, Array], object], Callable[[], Array]]


def river_regression(problem: tt.Problem) -> Learner:
    """One BayesianLinearRegression per criterion."""
    from river.linear_model import BayesianLinearRegression

    models = [BayesianLinearRegression(alpha=1, beta=1) for _ in range(problem.criteria)]

    def learn(phi: Array, losses: Array) -> None:
        for model, x, y in zip(models, phi.tolist(), losses.tolist(), strict=True):
            model.learn_one(dict(enumerate(x)), y)

    return learn, lambda: river_theta(models, problem)


def river_theta(models: Sequence[Any], problem: tt.Problem) -> Array:
    """What river's regressions predict where one feature is 1 and the others 0."""
    each = [dict(enumerate(row)) for row in np.eye(int(problem.dims[0])).tolist()]
    return np.array([[model.predict_one(x) for x in each] for model in models])


def river_linucb(problem: tt.Problem) -> Learner:
    """LinUCBDisjoint, one arm per criterion."""
    from river.bandit import LinUCBDisjoint

    bandit = LinUCBDisjoint(alpha=1, beta=1, seed=0)
    models = bandit._bayes_lin_regs

    def learn(phi: Array, losses: Array) -> None:
        for arm, (x, y) in enumerate(zip(phi.tolist(), losses.tolist(), strict=True)):
            bandit.update(arm, dict(enumerate(x)), y)

    return learn, lambda: river_theta([models[i] for i in range(problem.criteria)], problem)


def mabwiser_linucb(problem: tt.Problem) -> Learner:
    """LinUCB, one arm per criterion, a round in one partial_fit."""
    from mabwiser.mab import MAB, LearningPolicy

    arms = list(range(problem.criteria))
    bandit = MAB(arms=arms, learning_policy=LearningPolicy.LinUCB(alpha=0.5, l2_lambda=1.0))

    def learn(phi: Array, losses: Array) -> None:
        bandit.partial_fit(decisions=arms, rewards=losses, contexts=phi)  # the first one fits

    return learn, lambda: np.array([bandit._imp.arm_to_model[arm].beta for arm in arms])


def contextualbandits_linucb(problem: tt.Problem) -> Learner:
    """LinUCB by Sherman-Morrison, one arm per criterion, a round in one partial_fit."""
    from contextualbandits.online import LinUCB

    arms = np.arange(problem.criteria)
    options = {"fit_intercept": False, "use_float": False, "method": "sm"}
    bandit = LinUCB(nchoices=arms.size, alpha=0.5, lambda_=1.0, **options)

    def theta() -> Array:
        return np.array([bandit._oracles.algos[i].model.coef_ for i in arms])

    return lambda phi, losses: bandit.partial_fit(phi, arms, losses), theta


def vowpal_wabbit(problem: tt.Problem) -> Learner:
    """Gradient steps on text lines, with features of its own for every criterion."""
    from vowpalwabbit import Workspace

    d = int(problem.dims[0])
    learner = Workspace("--quiet --noconstant -b 18")
    names = [[f"{i * d + f}" for f in range(d)] for i in range(problem.criteria)]

    def learn(phi: Array, losses: Array) -> None:
        for name, x, y in zip(names, phi.tolist(), losses.tolist(), strict=True):
            learner.learn(f"{y} | " + " ".join(map("{}:{}".format, name, x)))

    def theta() -> Array:
        return np.reshape([learner.get_weight_from_name(x) for row in names for x in row], (-1, d))

    return learn, theta


def botorch_gp(problem: tt.Problem) -> Learner:
    """One Gaussian process per criterion in a batch, linear kernel, conditioned on every round."""
    import torch
    from botorch.models import SingleTaskGP
    from gpytorch.kernels import LinearKernel
    from gpytorch.means import ZeroMean

    torch.set_num_threads(1)
    m, d = problem.criteria, int(problem.dims[0])
    as_rows = {"dtype": torch.float64}
    model: SingleTaskGP | None = None

    def learn(phi: Array, losses: Array) -> None:
        nonlocal model
        X, Y = torch.tensor(phi[:, None], **as_rows), torch.tensor(losses[:, None, None], **as_rows)
        noise = torch.ones_like(Y)
        if model is None:
            kernel = LinearKernel(batch_shape=torch.Size([m])).to(**as_rows)
            kernel.variance = 1.0
            parts = {"covar_module": kernel, "mean_module": ZeroMean(), "outcome_transform": None}
            model = SingleTaskGP(X, Y, noise, input_transform=None, **parts)
            model.eval()
            model.posterior(X)  # conditioning needs its caches
        else:
            model = model.condition_on_observations(X, Y, noise=noise)

    def theta() -> Array:
        assert model is not None
        with torch.no_grad():
            each = torch.eye(d, **as_rows).expand(m, d, d)  # the posterior mean is linear
            return np.asarray(model.posterior(each).mean[..., 0])

    return learn, theta


def numpy_batched(problem: tt.Problem) -> Learner:
    """Sherman-Morrison on all inverses at once, by einsum."""
    m, d = problem.criteria, int(problem.dims[0])
    P, b = np.tile(np.eye(d), (m, 1, 1)), np.zeros((m, d))

    def learn(phi: Array, losses: Array) -> None:
        nonlocal P, b
        u = np.einsum("ijk,ik->ij", P, phi)
        w = 1.0 + np.einsum("ij,ij->i", u, phi)
        P -= np.einsum("ij,ik->ijk", u / w[:, None], u)
        b += losses[:, None] * phi

    return learn, lambda: np.einsum("ijk,ik->ij", P, b)


def numba_eager(problem: tt.Problem) -> Learner:
    """Sherman-Morrison on the lower half of each inverse, compiled; tests its triggers too."""
    d, offsets = int(problem.dims[0]), problem.features.offsets
    starts, P, b = inverses(problem, 1.0)

    def learn(phi: Array, losses: Array) -> None:
        eager_rounds(1, losses, 0.0, phi.ravel(), offsets, starts, P, b)

    def theta() -> Array:
        full = np.zeros((problem.criteria, d, d))
        full[:, *np.tril_indices(d)] = P.reshape(problem.criteria, -1)
        full += np.tril(full, -1).transpose(0, 2, 1)
        return np.einsum("ijk,ik->ij", full, b.reshape(-1, d))

    return learn, theta


class Peer(NamedTuple):
    """A library, what of it is used, and what is not equal."""

    package: str
    part: str
    make: Callable[[tt.Problem], Learner]
    differs: str
    must: int | None = None


PEERS = (
    Peer("numba", "eager, compiled", numba_eager, "also tests triggers", 100),
    Peer("numpy", "einsum over all criteria", numpy_batched, "no triggers"),
    Peer("river", "BayesianLinearRegression", river_regression, "a Python call per update", 1000),
    Peer("river", "LinUCBDisjoint", river_linucb, "also keeps a mean reward per arm", 1000),
    Peer("contextualbandits", "LinUCB", contextualbandits_linucb, "a round in one call", 1000),
    Peer("mabwiser", "LinUCB", mabwiser_linucb, "a fresh inverse per update", 1000),
    Peer("vowpalwabbit", "defaults", vowpal_wabbit, "gradient steps: no ridge, no covariance"),
    Peer("botorch", "SingleTaskGP, linear kernel", botorch_gp, "keeps every loss: grows with t"),
)


def rounds_of(world: tt.worlds.World) -> list[tuple[Array, Array, Array]]:
    """States, their features (m, d), and losses drawn there."""
    rng = np.random.default_rng(0)
    states = rng.random((ROUNDS, K))
    return [(x, world.problem.phi(x).reshape(K, -1), world.draw(x, rng)) for x in states]


def our_theta(world: tt.worlds.World, data: list[tuple[Array, Array, Array]]) -> Array:
    """What trimtab has learned from the same rounds."""
    policy = tt.LazyGraphLinUCB(
        world.problem, start=np.full(K, 0.4), radius=0.5, cold_start="keep", review=False
    )
    for state, _, losses in data:
        policy.tell(losses, played=state)
    return np.array([policy.learner.estimators.theta(i) for i in range(K)])


def timed(learner: Learner, data: list[tuple[Array, Array, Array]]) -> tuple[float, Array]:
    """Seconds of a round, the median, and the estimates after the first lap."""
    learn, theta = learner
    seconds: list[float] = []
    found = np.empty(0)
    while sum(seconds) < LONGEST:
        for _, phi, losses in data:
            begin = time.perf_counter()
            learn(phi, losses)
            seconds.append(time.perf_counter() - begin)
        if not found.size:
            found = theta()
    return float(np.median(seconds)), found


def lasting(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def main() -> None:
    """Print the table."""
    graph = tt.Graph.from_edges(K, [(j, (j + 1) % K) for j in range(K)])
    world = tt.worlds.quadratic(graph, seed=3, basis=tt.bases.PairwiseQuadratic())
    d = int(world.problem.dims[0])
    lazy_without_solves(world, 1000)
    ours, epochs = lazy_without_solves(world, T)
    data = rounds_of(world)
    reference = our_theta(world, data)
    print("## The same updates by other libraries (`peers.py`)\n")
    print(
        f"Ring, m = {K:,} ridge regressions of d = {d} features, reg = 1, T = 10^6 rounds. The\n"
        f"run of trimtab without solves: {ours:.2f} s for {epochs} epochs, losses drawn and\n"
        "triggers tested. The peers: a round of m updates, times T. Same features, losses and\n"
        "order for all; the last column is the largest difference from trimtab's estimates\n"
        f"after {ROUNDS} rounds.\n"
    )
    print("| peer | us an update | 10^6 rounds | times trimtab | not equal | estimates differ by |")
    print("|---|--:|--:|--:|---|--:|")
    for peer in PEERS:
        name = f"{peer.package}, {peer.part}"
        try:
            version = importlib.metadata.version(peer.package)
            learner = peer.make(world.problem)
        except (ImportError, importlib.metadata.PackageNotFoundError):
            print(f"| {name} | not installed | | | {peer.differs} | |")
            continue
        seconds, theta = timed(learner, data)
        ratio = f"{seconds * T / ours:,.0f}"
        if peer.must:
            ratio += f" (must reach {peer.must:,})"
        print(
            f"| {peer.package} {version}, {peer.part} | {seconds / K * 1e6:,.2f} "
            f"| {lasting(seconds * T)} | {ratio} | {peer.differs} "
            f"| {np.abs(theta - reference).max():.0e} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
