"""A learner as plain scalars and arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from trimtab.arrays import read_only
from trimtab.learn import Confidence, Prior
from trimtab.learn.confidence import radius_from_plain, radius_to_plain
from trimtab.learn.empirical_bayes import prior_from_plain, prior_to_plain
from trimtab.learn.window import Window
from trimtab.model.domain import BoundBox
from trimtab.model.problem import Problem
from trimtab.policies.pending import Pending

if TYPE_CHECKING:
    from trimtab.policies.learner.learner import Learner

_SCALARS = ("clock", "solved")
_STATES = ("origin", "state")


def to_plain(learner: Learner) -> dict[str, Any]:
    """Everything the learner remembers; nothing may be owed."""
    estimators, beliefs = learner.estimators, learner.beliefs
    saved: dict[str, Any] = {name: getattr(learner, name) for name in _SCALARS}
    saved |= learner.account.to_plain()
    saved |= {name: getattr(learner, name).copy() for name in ("start", *_STATES)}
    saved["seed"] = learner.seed
    saved |= {"reg": estimators.reg.copy(), "factor": estimators.factor}
    plain = radius_to_plain(learner.lcb.radius)
    saved |= {f"radius.{name}": value for name, value in plain.items()}
    saved["radii"] = learner.lcb.radii.copy()
    box = learner.limits or learner.problem.domain
    saved["limits"] = np.array([box.low, box.high])
    saved |= learner.pending.to_plain()
    if estimators.prior is not None:
        saved |= prior_to_plain(estimators.prior)
    if beliefs is not None:
        saved |= beliefs.to_plain()
    if learner.window is not None:
        saved |= learner.window.to_plain()
    return saved | estimators.snapshot()


def arguments(saved: Mapping[str, Any]) -> dict[str, Any]:
    """What the learner was made with."""
    plain = {name[7:]: value for name, value in saved.items() if name.startswith("radius.")}
    kept = {name: saved[name] for name in ("start", "reg", "factor", "seed")}
    if "prior.spread" in saved:
        given = {"reg": None, "prior": prior_from_plain(saved)}
        return kept | given | {"radius": radius_from_plain(plain) if plain else None}
    return kept | {"radius": radius_from_plain(plain)}


def usual_arguments(problem: Problem, saved: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a learner whose snapshot has the same entries."""
    prior, proven = "prior.spread" in saved, "radius.form" in saved
    return {
        "start": problem.domain.anchor,
        "radius": Confidence(sigma=1.0, norm=1.0) if proven else None if prior else 0.0,
        "reg": None if prior else 1.0,
        "prior": Prior(spread=1.0, sigma=1.0) if prior else None,
        "factor": 2.0,
        "seed": 0,
    }


def recall(learner: Learner, saved: Mapping[str, Any]) -> None:
    """A learner with these arguments has seen and done all this since."""
    problem = learner.problem
    for name in _STATES:
        setattr(learner, name, read_only(problem.domain.check(saved[name], name)))
    for name in _SCALARS:
        setattr(learner, name, saved[name])
    learner.account.recall(saved)
    learner.lcb.radii[:] = saved["radii"]
    domain, limits = problem.domain, np.asarray(saved["limits"])
    if isinstance(domain, BoundBox) and not np.array_equal(limits, [domain.low, domain.high]):
        learner.limits = domain.narrowed(*limits)
    if learner.beliefs is not None:
        learner.beliefs.recall(saved)
    sizes = {"knobs": problem.knobs, "criteria": problem.criteria}
    learner.pending = Pending.from_plain(saved, **sizes)
    learner.window = Window.from_plain(saved, **sizes)
    learner.estimators.restore(saved)
