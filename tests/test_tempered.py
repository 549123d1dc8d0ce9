"""The tempered radius: a fixed share of the proven one, everywhere, and never certified."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trimtab as tt
from trimtab.estimators.confidence import TEMPER

RING = tt.Graph.from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
KINDS = (tt.LinUCB, tt.LazyGraphLinUCB, tt.AsyncLazyGraphLinUCB, tt.SteadyGraphLinUCB)


def told(form: Any, *, kind: Any = tt.SteadyGraphLinUCB, sigma: float | None = 0.1) -> Any:
    """A policy that has stayed at its start for thirty rounds, then been asked for its radii."""
    world = tt.worlds.quadratic(RING, seed=4, move_cost=1e6)
    radius = tt.Confidence(sigma=sigma, norm=world.norms, form=form)
    policy = kind(world.problem, start=[0.5] * 4, radius=radius, reg=0.02)
    rng = np.random.default_rng(1)
    for _ in range(30):
        policy.tell(rng.normal(1.0, 0.1, 4), played=np.full(4, 0.5))
    policy.learner.absorb(world.problem.all_criteria)
    return policy


@pytest.mark.parametrize("sigma", [0.1, None])
def test_it_is_a_share_of_the_proven_radius(sigma: float | None) -> None:
    proven, tempered = (told(form, sigma=sigma).learner.lcb for form in ("logdet", "tempered"))
    assert np.array_equal(proven.estimators.book.gain, tempered.estimators.book.gain)
    assert TEMPER == 0.15
    np.testing.assert_allclose(tempered.radii, 0.15 * proven.radii, rtol=1e-14)
    assert (proven.radii > 0.1).all()


@pytest.mark.parametrize("kind", KINDS)
def test_its_certificates_say_that_nothing_is_proven(kind: Any) -> None:
    radius = told("tempered", kind=kind).learner.lcb.radius
    assert not radius.certified
    assert told("logdet", kind=kind).learner.lcb.radius.certified
    world = tt.worlds.quadratic(tt.Graph.complete(2), seed=1)
    known = {"sigma": 0.1, "norm": world.norms}
    for form, certified in (("logdet", True), ("tempered", False)):
        rule = tt.Confidence(form=form, **known)  # type: ignore[arg-type]
        policy = tt.SteadyGraphLinUCB(
            world.problem, start=[0.5, 0.5], radius=rule, certify=0.5, alarm=False
        )
        trace = tt.play(policy, world, horizon=200)
        assert policy.certificate.certified == certified
        assert {record.certified for record in trace.records} == {certified}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sigma", [0.1, None])
def test_it_is_restored_with_everything_else(kind: Any, sigma: float | None) -> None:
    if kind is tt.LinUCB and sigma is None:
        return  # LinUCB refuses to estimate
    policy = told("tempered", kind=kind, sigma=sigma)
    again: Any = tt.restore(policy.problem, policy.snapshot())
    assert again.learner.lcb.radius.form == "tempered"
    for _ in range(20):
        losses = np.full(4, 0.7)
        policy.tell(losses)
        again.tell(losses)
        assert np.array_equal(policy.ask(), again.ask())
    assert np.array_equal(policy.learner.lcb.radii, again.learner.lcb.radii)


def test_asynchronous_runs_use_it() -> None:
    """Compiled updates know the proven radius only; here they must give way to the plain ones."""
    world = tt.worlds.quadratic(RING, seed=4)
    lcbs = []
    for form in ("logdet", "tempered"):
        radius = tt.Confidence(sigma=0.1, norm=world.norms, form=form)
        policy = tt.AsyncLazyGraphLinUCB(world.problem, start=[0.5] * 4, radius=radius, reg=0.02)
        tt.play(policy, world, horizon=300)
        policy.learner.absorb(world.problem.all_criteria)
        lcbs.append(policy.learner.lcb)
    for lcb, share in zip(lcbs, (1.0, TEMPER), strict=True):
        gain = lcb.estimators.book.gain
        proven = 0.1 * np.sqrt(gain + 2.0 * np.log(4 / 0.05)) + np.sqrt(0.02) * world.norms
        np.testing.assert_allclose(lcb.radii, share * proven, rtol=1e-12)


def test_pooled_criteria_keep_it() -> None:
    world = tt.worlds.quadratic(tt.Graph.complete(3), seed=1)
    found = []
    for form in ("logdet", "tempered"):
        radius = tt.Confidence(sigma=0.1, norm=world.norms, form=form)
        pooled = tt.PooledGraphLinUCB(
            world.problem, start=[0.5] * 3, radius=radius, noise="independent"
        )
        found.append(pooled.inner.learner.lcb)
    np.testing.assert_allclose(found[1].radii, 0.15 * found[0].radii, rtol=1e-14)
    assert [lcb.radius.certified for lcb in found] == [True, False]
